// Ranges of numbers, and numbers far outside them that programs write where there is no value.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

namespace kith::data {

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void add(const Range& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

/// Numbers that programs write where there is no value, among those of a column.
class StandIns {
 public:
  static bool is_one(double value) { return std::ranges::find(kNumbers, value) != std::end(kNumbers); }
  void add(double value) {
    const auto* known = std::find(std::begin(kNumbers), std::end(kNumbers), value);
    if (known == std::end(kNumbers)) return rest_.add(value);
    occur_ |= 1U << (known - std::begin(kNumbers));
  }
  void add(const StandIns& other) {
    occur_ |= other.occur_;
    rest_.add(other.rest_);
  }
  /// The numbers without them.
  const Range& rest() const { return rest_; }
  /// One that stands far from all others; empty if there is none.
  std::string far_value() const {
    unsigned left = occur_;
    for (const double number : kNumbers) {
      const bool occurs = (left & 1) != 0;
      left >>= 1;
      constexpr double kNear = 10;
      const double distance = number < rest_.least ? rest_.least - number : number - rest_.most;
      const bool is_far = rest_.most > rest_.least && distance > rest_.most - rest_.least;
      if (occurs && is_far && (std::abs(number) >= kNear || rest_.least >= kNear)) return fmt::format("{}", number);
    }
    return "";
  }

 private:
  static constexpr double kNumbers[] = {-1,      -9,     -99,     -999,   -9999,    -99999, 999,    9999,
                                        99999,   999999, -99.9,   99.9,   -99.99,   99.99,  -999.9, 999.9,
                                        -999.99, 999.99, -9999.9, 9999.9, -9999.99, 9999.99};
  unsigned occur_ = 0;  // a bit for each of kNumbers
  Range rest_;
};

}  // namespace kith::data
