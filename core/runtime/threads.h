// A pool of threads that share numbered tasks, those of their memory node first, and the number of usable threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/runtime/large_pages.h"

namespace kith {

/// The number of threads that this process may run at once, by its affinity mask and the quota of its control group.
int usable_threads();

/// The memory nodes of the machine and the current node of each thread; tests simulate others.
struct MemoryTopology {
  int nodes = numa_nodes();
  std::function<int(int thread)> node_of = [](int) {
    return current_numa_node();
  };  // the current node; called if nodes > 1
};

class Threads {
 public:
  /// count 0: usable_threads(), or as many as the system lets start; below 0: at most -count, likewise. The calling
  /// thread is one of them. Throws Error(device) with the remedy if a given number of threads cannot be started.
  explicit Threads(int count, MemoryTopology topology = {}, const char* remedy = "give a smaller --threads");
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls work(task, thread) once for every task in [0, tasks), 0 <= thread < count(), and returns when all are done.
  /// Rethrows the first exception. A single task runs on the calling thread without waking others.
  ///
  /// Each memory node has an equal, contiguous range of tasks, as it has of arrays (core/runtime/large_pages.h). A
  /// thread first takes tasks of its own node, then those of other nodes, so that no node waits for a slow thread.
  void run(std::int64_t tasks, const std::function<void(std::int64_t task, int thread)>& work);

  /// Calls work(thread) once on each thread, all at the same time, so that they may wait for each other. Rethrows the
  /// error of the lowest thread that failed, once all have ended.
  void run_on_each(const std::function<void(std::size_t thread)>& work);

 private:
  struct alignas(64) TaskRange {  // one per cache line
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  void start_round();
  void finish_round();
  void work_loop(int thread);
  void run_tasks(int thread);
  std::int64_t claim_task(int thread);
  void stop();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, finish_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> busy_{0};
  bool closing_ = false;
  const std::function<void(std::int64_t, int)>* work_ = nullptr;  // of run(), or of run_on_each():
  const std::function<void(std::size_t)>* each_ = nullptr;
  MemoryTopology topology_;
  std::vector<TaskRange> ranges_;  // one range of tasks per memory node
  std::exception_ptr failure_;     // the first, or in run_on_each() that of the lowest thread
  int failed_ = 0;                 // the thread of `failure_`
};

}  // namespace kith
