// A step of an algorithm that did not pay is left out for a while, each time for twice as long.
#pragma once

#include <algorithm>

namespace kith {

class Backoff {
 public:
  Backoff() = default;
  /// first: of the times that the step is left out after it did not pay once.
  explicit Backoff(int first) : first_(first), next_(first) {}
  /// How many more times the step is left out.
  int left() const { return left_; }
  /// Whether the step is left out this time.
  bool skips() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  /// The step did not pay: leaves it out `first` times, and after each further call twice as often, at most `most`
  /// times.
  void delay(int most) {
    left_ = next_;
    next_ = std::min(2 * next_, most);
  }
  /// Leaves the step out `times` times, whether or not it paid.
  void wait(int times) { left_ = times; }
  /// The step paid: the next delay is the shortest.
  void reward() { next_ = first_; }

 private:
  int first_ = 1, left_ = 0, next_ = 1;
};

}  // namespace kith
