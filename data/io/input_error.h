// The error that every reader throws for an input that it cannot use.
#pragma once

#include <string>

#include "core/error.h"

namespace kith::data {

/// Throws Error(data) with the message "`place`: `problem`". `place` is a file, or a dataset or row in it.
[[noreturn]] inline void refuse_input(const std::string& place, const std::string& problem) {
  throw Error(ExitCode::data, place + ": " + problem);
}

/// A file that could be one of points, if it had rows: a part of a set may be empty.
class NoRows final : public Error {
 public:
  NoRows(const std::string& place, const std::string& problem) : Error(ExitCode::data, place + ": " + problem) {}
};

/// The same about a value that was read but cannot be used.
[[noreturn]] inline void refuse_value(const std::string& place, const std::string& problem) {
  throw Error(ExitCode::data, place + ": " + problem, Cause::value);
}

}  // namespace kith::data
