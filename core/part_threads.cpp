// Threads that wait for work on the parts of composed points.
#include "core/part_threads.h"

#include <utility>

namespace kith {

PartThreads::~PartThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  begins_.notify_all();
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
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    running_ = threads_.size();
    ++round_;
  }
  begins_.notify_all();
  attempt(work, 0);
  {
    std::unique_lock lock(mutex_);
    ends_.wait(lock, [this] { return running_ == 0; });
  }
  std::exception_ptr first;
  for (std::exception_ptr& failure : failures_) {
    const std::exception_ptr one = std::exchange(failure, nullptr);
    if (!first) first = one;
  }
  if (first) std::rethrow_exception(first);
}

void PartThreads::serve(std::size_t part) {
  for (std::int64_t round = 0;;) {
    const std::function<void(std::size_t)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      begins_.wait(lock, [&] { return stopped_ || round_ > round; });
      if (stopped_) return;
      round = round_;
      work = work_;
    }
    attempt(*work, part);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) ends_.notify_one();
  }
}

}  // namespace kith
