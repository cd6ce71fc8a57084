// Recognises text formats that are not delimited tables: ARFF, JSON, HTML, word2vec.
#pragma once

#include <string>
#include <string_view>

namespace kith::data {

/// What the text is and the command that converts it, "an ARFF file; convert it: ..."; empty if it may be a
/// table. `begin`: the first bytes of the text, whole or at least a few lines.
std::string foreign_text(std::string_view begin);

}  // namespace kith::data
