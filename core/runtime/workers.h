// The interface for parallel work over rows: callers provide the threads.
#pragma once

#include <cstdint>
#include <functional>

namespace kith {

struct Workers {
  int count = 1;
  /// Calls work(task, worker) once for every task in [0, tasks), 0 <= worker < count. Returns when all tasks are done.
  std::function<void(std::int64_t tasks, const std::function<void(std::int64_t task, int worker)>& work)> run =
      [](std::int64_t tasks, const std::function<void(std::int64_t, int)>& work) {
        for (std::int64_t task = 0; task < tasks; ++task) work(task, 0);
      };
};

}  // namespace kith
