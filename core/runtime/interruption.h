// Asks the caller of a long computation, from time to time, whether it should go on.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace kith {

/// While it exists, poll() on the thread that made it calls `ask` every 20 ms at most. What `ask` throws ends the
/// computation, at any place between two tasks: what it was computing with has to be made anew.
class Interruption {
 public:
  explicit Interruption(std::function<void()> ask) : ask_(std::move(ask)), outer_(std::exchange(current(), this)) {}
  ~Interruption() { current() = outer_; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static void poll() {
    constexpr std::chrono::milliseconds kBetween(20);
    Interruption* const here = current();
    if (here == nullptr || !here->ask_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - here->asked_ < kBetween) return;
    here->asked_ = now;
    here->ask_();
  }

 private:
  static Interruption*& current() {
    thread_local Interruption* of_thread = nullptr;
    return of_thread;
  }

  std::function<void()> ask_;
  Interruption* outer_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace kith
