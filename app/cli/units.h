// Numbers as people write and read them: strict parsing with the place in every error, and short forms for output.
#pragma once

#include <cstdint>
#include <string>

#include "data/io/memory_limit.h"

namespace kith::app {

/// Whole numbers allowed for an option, both ends included.
struct Range {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

/// Throws Error(usage). `where` names the option, variable or line.
[[noreturn]] void refuse_value(const std::string& where, const std::string& expected, const std::string& found);

/// `where` names the option, variable or line for the message. All throw Error(usage) naming expected and found; the
/// whole text must be used up.
std::int64_t parse_integer(const std::string& text, const std::string& where, Range range);
std::uint64_t parse_seed(const std::string& text, const std::string& where);  // any of 64 bits
double parse_number(const std::string& text, const std::string& where);       // finite
/// Bytes: "4GB" (powers of 1000), "512MiB" (powers of 1024), "123" (bytes); more than 0.
std::int64_t parse_size(const std::string& text, const std::string& where);
/// Seconds: "2h", "90min", "30s", "500ms", "30" (seconds); 0 or more.
double parse_seconds(const std::string& text, const std::string& where);
bool parse_switch(const std::string& text, const std::string& where);  // true/false, yes/no, on/off, 1/0

using data::show_bytes;
std::string show_seconds(double seconds);                         // "2.5 ms", "1.42 s", "3 min 20 s"
std::string show_shape(std::int64_t rows, std::int64_t columns);  // "1797 x 64"

}  // namespace kith::app
