// A pool of threads that share out numbered tasks, and how many threads this process may use.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kith::cpu {

/// Threads that the process may run at once: its affinity mask and the quota of its control group.
int usable_threads();

class Threads {
 public:
  /// count 0: usable_threads(). The calling thread is one of them. Throws Error(usage) when the system refuses threads.
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls work(task, thread) once for every task in [0, tasks), 0 <= thread < count(). Returns when all are done; the
  /// first exception is rethrown here. A single task runs on the calling thread and wakes nobody.
  void run(std::int64_t tasks, const std::function<void(std::int64_t task, int thread)>& work);

 private:
  void serve(int thread);
  void take_tasks(int thread);
  void stop();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, finish_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> busy_{0};
  bool closing_ = false;
  const std::function<void(std::int64_t, int)>* work_ = nullptr;
  std::int64_t tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::exception_ptr failure_;
};

}  // namespace kith::cpu
