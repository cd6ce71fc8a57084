// The kinds of files that kith does not read, by their first bytes, with the commands that convert them.
#pragma once

#include <string_view>

namespace kith::data {

struct Kind {
  const char* name = nullptr;  // "a Stata file"; null: unknown
  /// The command that makes a file of a known format of it, with IN and OUT for the names; empty if none is known.
  const char* convert = "";
};

/// The kind of a file with these first bytes, of which there may be up to a few thousand.
Kind kind_of(std::string_view bytes);

/// Whether the bytes begin with the signature of a kind that is no text.
bool has_signature(std::string_view bytes);

}  // namespace kith::data
