// Threads that wait for work on the parts of composed points.
#include "core/part_threads.h"

#include <limits>
#include <utility>

namespace kith {
namespace {

/// Waits until the value is another one. Parts end at about the same time, and the next round follows soon, so a thread
/// looks again and again for some ten microseconds before it sleeps.
void wait_while(const std::atomic<std::int64_t>& value, std::int64_t old) {
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; ++look) {
    if (value != old) return;
    std::this_thread::yield();
  }
  value.wait(old);
}

}  // namespace

PartThreads::~PartThreads() {
  round_ = std::numeric_limits<std::int64_t>::min();
  round_.notify_all();
}

void PartThreads::attempt(const std::function<void(std::size_t)>& work, std::size_t part) noexcept {
  try {
    work(part);
  } catch (...) {
    failures_[part] = std::current_exception();
  }
}

void PartThreads::run(const std::function<void(std::size_t)>& work) {
  if (failures_.empty()) return;
  work_ = &work;
  running_ = static_cast<std::int64_t>(threads_.size());
  ++round_;
  round_.notify_all();
  attempt(work, 0);
  for (std::int64_t running = running_; running != 0; running = running_) wait_while(running_, running);
  std::exception_ptr first;
  for (std::exception_ptr& failure : failures_) {
    const std::exception_ptr one = std::exchange(failure, nullptr);
    if (!first) first = one;
  }
  if (first) std::rethrow_exception(first);
}

void PartThreads::serve(std::size_t part) {
  for (std::int64_t round = 0;;) {
    wait_while(round_, round);
    round = round_;
    if (round < 0) return;
    attempt(*work_, part);
    if (--running_ == 0) running_.notify_one();
  }
}

}  // namespace kith
