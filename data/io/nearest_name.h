// The known name that is nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

namespace kith {

/// The known name with the fewest letters to insert, delete, replace or swap; a name that begins with the typed letters
/// comes first, and of equal ones a name of the same letters. Empty when nothing is known.
std::string nearest_name(const std::string& typed, const std::vector<std::string>& known);

/// The same, if at least half of the typed letters, dashes before them aside, are as in that name; else empty.
std::string similar_name(const std::string& typed, const std::vector<std::string>& known);

/// Whether at most two letters make the difference.
bool is_misspelt(const std::string& typed, const std::string& known);

}  // namespace kith
