// A pool of threads that share out numbered tasks, each the nearest ones first, and how many threads this process may
// use.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/numa.h"

namespace kith::cpu {

/// Threads that the process may run at once: its affinity mask and the quota of its control group.
int usable_threads();

/// Memory nodes, and where threads are among them: as the machine has them, or as a test pretends.
struct NearMemory {
  int nodes = numa_nodes();
  std::function<int(int thread)> node_of = [](int) {
    return current_numa_node();
  };  // at this moment; asked where nodes > 1
};

class Threads {
 public:
  /// count 0: usable_threads(). The calling thread is one of them. Throws Error(usage) when the system refuses threads.
  explicit Threads(int count, NearMemory near = {});
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls work(task, thread) once for every task in [0, tasks), 0 <= thread < count(). Returns when all are done; the
  /// first exception is rethrown here. A single task runs on the calling thread and wakes nobody.
  ///
  /// Each memory node has an equal part of the tasks, in order, as it has of arrays (core/large_pages.h). A thread
  /// takes those of the node that it runs on, and when none is left those of others, so that nobody waits for a slow
  /// one.
  void run(std::int64_t tasks, const std::function<void(std::int64_t task, int thread)>& work);

 private:
  struct alignas(64) Part {  // a cache line for each
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  void serve(int thread);
  void take_tasks(int thread);
  std::int64_t take_task(int thread);
  void stop();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, finish_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> busy_{0};
  bool closing_ = false;
  const std::function<void(std::int64_t, int)>* work_ = nullptr;
  NearMemory near_;
  std::vector<Part> parts_;  // of the tasks, one for each memory node
  std::exception_ptr failure_;
};

}  // namespace kith::cpu
