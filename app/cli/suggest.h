// What a user may have meant by an unknown option, value or command.
#pragma once

#include <string>
#include <vector>

namespace kith::app {

/// The known name that means the same in other programs (gpu: cuda, --random-state: --seed), else the one that is
/// similar in its letters; else empty.
std::string known_name(const std::string& typed, const std::vector<std::string>& known);

/// "; the nearest is NAME" if there is one; else empty. For the end of a message.
std::string suggestion(const std::string& typed, const std::vector<std::string>& known);

}  // namespace kith::app
