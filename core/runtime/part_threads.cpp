// Threads that wait for work on the parts of composed points.
#include "core/runtime/part_threads.h"

#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace kith {
namespace {

/// Waits until the value is another one. Parts end at about the same time, and the next round follows soon, so a thread
/// polls the value for some ten microseconds before it sleeps.
void wait_while(const std::atomic<std::int64_t>& value, std::int64_t old) {
  constexpr int kPolls = 100;
  for (int poll = 0; poll < kPolls; ++poll) {
    if (value != old) return;
    std::this_thread::yield();
  }
  value.wait(old);
}

}  // namespace

PartThreads::PartThreads(std::size_t parts) : failures_(parts) {
  try {
    for (std::size_t p = 1; p < parts; ++p) threads_.emplace_back([this, p] { serve(p); });
  } catch (const std::system_error& error) {
    end_threads();  // the destructor does not run, and those that wait are joined
    throw Error(ExitCode::device, "expected " + std::to_string(parts - 1) + " threads for the devices, found that " +
                                      std::to_string(threads_.size()) + " can be started: " + error.code().message() +
                                      "; name fewer devices, or raise the limits of processes and memory (ulimit -u, "
                                      "ulimit -v, pids.max of the control group)");
  } catch (...) {
    end_threads();
    throw;
  }
}

PartThreads::~PartThreads() { end_threads(); }

void PartThreads::end_threads() {
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
