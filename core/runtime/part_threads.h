// Threads that wait for work on the parts of composed points.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace kith {

class PartThreads {
 public:
  /// parts: the calling thread takes the first one, so there are parts - 1 threads. Throws Error(device) if the system
  /// does not start one of them.
  explicit PartThreads(std::size_t parts);
  ~PartThreads();
  PartThreads(const PartThreads&) = delete;
  PartThreads& operator=(const PartThreads&) = delete;

  /// Calls work(p) for every part p at the same time. Rethrows the error of the first part that failed, once all have
  /// ended. One caller at a time.
  void run(const std::function<void(std::size_t part)>& work);

 private:
  void serve(std::size_t part);
  void end_threads();
  void attempt(const std::function<void(std::size_t)>& work, std::size_t part) noexcept;

  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::int64_t> round_ = 0;    // of run(); negative: there are no more
  std::atomic<std::int64_t> running_ = 0;  // parts of the round that have not ended, but for the first
  std::vector<std::exception_ptr> failures_;
  std::vector<std::jthread> threads_;  // last: they use the members above
};

}  // namespace kith
