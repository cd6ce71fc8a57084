// The thread pool: workers sleep between rounds; within a round, threads claim tasks from one counter per memory node.
#include "core/runtime/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/runtime/interruption.h"

namespace kith {
namespace {

constexpr int kNoQuota = 1 << 20;

int processors(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period + 0.5)) : kNoQuota;
}

/// The path of this process in the tree of control groups: "/" in most containers.
std::string group_path() {
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return "/";
}

/// The quota of the control group and its ancestors, in processors, or kNoQuota.
int group_quota() {
  int granted = kNoQuota;
  for (std::string path = group_path();; path.erase(path.rfind('/'))) {
    std::string quota;
    double period = 0;
    std::ifstream limit("/sys/fs/cgroup" + path + "/cpu.max");
    if (limit >> quota >> period && quota != "max") granted = std::min(granted, processors(std::stod(quota), period));
    if (path.find('/') == std::string::npos) break;
  }
  double quota = 0, period = 0;  // control groups version 1
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period) granted = std::min(granted, processors(quota, period));
  return granted;
}

/// Spins a few microseconds before the caller sleeps: rounds follow each other faster than sleeping threads wake up.
template <class Condition>
void spin_until(const Condition& condition) {
  constexpr int kSpins = 300;
  for (int spin = 0; spin < kSpins && !condition(); ++spin) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
}

constexpr std::int64_t kNoTask = -1;

}  // namespace

int usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int allowed = static_cast<int>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) allowed = CPU_COUNT(&set);
  return std::max(1, std::min(allowed, group_quota()));
}

Threads::Threads(int count, MemoryTopology topology, const char* remedy)
    : topology_(std::move(topology)), ranges_(static_cast<std::size_t>(topology_.nodes)) {
  const int requested = count == 0 ? usable_threads() : std::abs(count);
  try {
    for (int thread = 1; thread < requested; ++thread) workers_.emplace_back([this, thread] { work_loop(thread); });
  } catch (const std::exception& error) {  // the destructor does not run if the constructor throws
    if (count <= 0) return;                // nobody asked for a number: those that started do the work
    const int started = this->count();
    stop();
    throw Error(ExitCode::device, fmt::format("the system let only {} of {} threads start ({}); {}, or raise the limit "
                                              "of processes (ulimit -u) or of the control group (pids.max)",
                                              started, requested, error.what(), remedy));
  }
}

Threads::~Threads() { stop(); }

void Threads::stop() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Threads::run(std::int64_t tasks, const std::function<void(std::int64_t, int)>& work) {
  if (tasks <= 1 || workers_.empty()) {
    for (std::int64_t task = 0; task < tasks; ++task) {
      Interruption::poll();
      work(task, 0);
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    const std::int64_t nodes = std::ssize(ranges_);
    for (std::int64_t node = 0; node < nodes; ++node) {
      ranges_[node].next = tasks * node / nodes;
      ranges_[node].end = tasks * (node + 1) / nodes;
    }
    start_round();
  }
  finish_round();
}

void Threads::run_on_each(const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    each_ = &work;
    start_round();
  }
  finish_round();
}

/// Called with the lock held.
void Threads::start_round() {
  failure_ = nullptr;
  busy_ = static_cast<int>(workers_.size());
  ++round_;
  start_.notify_all();
}

void Threads::finish_round() {
  run_tasks(0);
  spin_until([this] { return busy_ == 0; });
  std::unique_lock lock(mutex_);
  finish_.wait(lock, [this] { return busy_ == 0; });
  each_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Threads::work_loop(int thread) {
  std::uint64_t last_round = 0;
  for (;;) {
    spin_until([&] { return round_ != last_round; });
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return closing_ || round_ != last_round; });
      if (closing_) return;
      last_round = round_;
    }
    run_tasks(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finish_.notify_one();
  }
}

void Threads::run_tasks(int thread) {
  try {
    if (each_ != nullptr) return (*each_)(static_cast<std::size_t>(thread));
    for (std::int64_t task = claim_task(thread); task != kNoTask; task = claim_task(thread)) (*work_)(task, thread);
  } catch (...) {
    for (TaskRange& range : ranges_) range.next = range.end;  // skip the remaining tasks
    const std::lock_guard lock(mutex_);
    if (failure_ && (each_ == nullptr || failed_ < thread)) return;
    failure_ = std::current_exception();
    failed_ = thread;
  }
}

std::int64_t Threads::claim_task(int thread) {
  if (thread == 0) Interruption::poll();  // the caller of run()
  const std::size_t nodes = ranges_.size();
  std::size_t node = nodes > 1 ? static_cast<std::size_t>(topology_.node_of(thread)) : 0;
  for (std::size_t tried = 0; tried < nodes; ++tried) {
    TaskRange& range = ranges_[node];
    const std::int64_t task = range.next++;
    if (task < range.end) return task;
    if (++node == nodes) node = 0;
  }
  return kNoTask;
}

}  // namespace kith
