// The thread pool: tasks on simulated memory nodes, and the nodes that the system lists.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/runtime/threads.h"
#include "kernels/cpu/points.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/kmeans_runs.h"

using namespace kith;
using namespace kith::cpu;
using kith::testing::Scratch;

namespace {

struct Topology {
  const char* name;
  int nodes;
  std::function<int(int thread)> node_of;
};

std::vector<Topology> topologies() {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  return {{"one node", 1, [](int) { return 0; }},
          {"two nodes", 2, [](int thread) { return thread % 2; }},
          {"a node without threads", 3, [](int thread) { return 2 * (thread % 2); }},
          {"more nodes than threads", 9, [](int thread) { return 8 - thread; }},
          {"threads that move", 4, [calls](int) { return (*calls)++ % 4; }}};
}

/// First task of the range of a node.
std::int64_t begin_of(int node, int nodes, std::int64_t tasks) { return tasks * node / nodes; }

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("every task runs once on any topology", "[threads]") {
  for (const Topology& topology : topologies()) {
    for (const int count : {1, 2, 5}) {
      Threads threads(count, {topology.nodes, topology.node_of});
      for (const std::int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 10, 64, 1000}) {
        INFO(topology.name << ", " << count << " threads, " << tasks << " tasks");
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
        std::atomic<int> invalid_threads = 0;
        threads.run(tasks, [&](std::int64_t task, int thread) {
          ++done[task];
          if (thread < 0 || thread >= count) ++invalid_threads;
        });
        CHECK(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
        CHECK(invalid_threads == 0);
      }
    }
  }
}

TEST_CASE("a thread takes the tasks of its node first, and in order", "[threads]") {
  constexpr std::int64_t kTasks = 600;
  for (const int nodes : {2, 3, 4}) {
    Threads threads(4, {nodes, [nodes](int thread) { return thread % nodes; }});
    std::vector<std::vector<std::int64_t>> taken(4);
    threads.run(kTasks, [&](std::int64_t task, int thread) {
      taken[thread].push_back(task);
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    });
    for (int thread = 0; thread < 4; ++thread) {
      INFO(nodes << " nodes, thread " << thread);
      // Relative to the first task of its own node, modulo the number of tasks, its tasks ascend.
      std::vector<std::int64_t>& own = taken[thread];
      for (std::int64_t& task : own) task = (task - begin_of(thread % nodes, nodes, kTasks) + kTasks) % kTasks;
      CHECK(std::is_sorted(own.begin(), own.end()));
    }
  }
}

TEST_CASE("a slow thread does not delay other tasks of its node", "[threads]") {
  constexpr std::int64_t kTasks = 40;
  for (const Topology& topology : topologies()) {
    INFO(topology.name);
    Threads threads(2, {topology.nodes, topology.node_of});
    std::atomic<std::int64_t> started = 0, other_tasks = 0;
    bool others_ran = false;
    threads.run(kTasks, [&](std::int64_t, int) {
      if (started++ > 0) {
        ++other_tasks;
        return;
      }
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (other_tasks < kTasks - 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      others_ran = other_tasks == kTasks - 1;
    });
    CHECK(others_ran);
  }
}

TEST_CASE("an exception stops the tasks of all nodes and reaches the caller", "[threads]") {
  for (const Topology& topology : topologies()) {
    INFO(topology.name);
    Threads threads(3, {topology.nodes, topology.node_of});
    std::atomic<std::int64_t> done = 0;
    constexpr std::int64_t kTasks = 1'000'000'000;  // too many to finish
    CHECK_THROWS_AS(threads.run(kTasks,
                                [&](std::int64_t, int) {
                                  if (++done == 100) throw std::runtime_error("the hundredth");
                                }),
                    std::runtime_error);
    CHECK(done < kTasks);
    done = 0;
    threads.run(50, [&](std::int64_t, int) { ++done; });
    CHECK(done == 50);
  }
}

TEST_CASE("work on each thread runs at the same time, and the error of the lowest one reaches the caller",
          "[threads]") {
  for (const int count : {1, 2, 5}) {
    Threads threads(count, {.nodes = 1});
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> here = 0, sum = 0;
      threads.run_on_each([&](std::size_t thread) {
        ++here;
        while (here < count) std::this_thread::yield();  // none goes on before all have come
        sum += static_cast<int>(thread) + 1;
      });
      CHECK(sum == count * (count + 1) / 2);
    }
    std::atomic<int> ended = 0;
    const auto failing = [&](std::size_t thread) {
      ++ended;
      while (ended < count) std::this_thread::yield();
      if (thread + 2 >= static_cast<std::size_t>(count)) throw std::runtime_error(std::to_string(thread));
    };
    CHECK_THROWS_WITH(threads.run_on_each(failing), std::to_string(std::max(count - 2, 0)));
    CHECK(ended == count);
    std::atomic<std::int64_t> tasks = 0;  // the pool goes on
    threads.run(100, [&](std::int64_t task, int) { tasks += task; });
    CHECK(tasks == 4950);
  }
}

TEST_CASE("clusters do not depend on the topology", "[threads]") {
  const Matrix<double> values = test::kinds()[1].make(6000, 24, 1);
  const PointsMatrix points = test::as_class(values.view(), ValueClass::f32);
  const PointBlock block{.values = view_of(points)};
  const BackendOptions options{.block_rows = 100};
  const KMeansOptions requested{.clusters = 40, .seed = 1, .keep_distances = true};
  Threads alone(1, {});
  const KMeansResult expected = test::run(*hold_points(block, instructions(), alone, options, {}), requested);
  for (const Topology& topology : topologies()) {
    INFO(topology.name);
    Threads threads(5, {topology.nodes, topology.node_of});
    test::check_same(expected, test::run(*hold_points(block, instructions(), threads, options, {}), requested));
  }
}

TEST_CASE("nodes_of lists the nodes of the allowed processors", "[threads]") {
  const Scratch folder;
  const auto nodes = [&](std::initializer_list<int> processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
    return numa_nodes_of(set, folder.path().string());
  };
  CHECK(nodes({0, 1}).empty());                 // a system without node information
  write(folder.path() / "has_cpu", "0,2-3\n");  // node 1 has only memory
  write(folder.path() / "node0/cpulist", "0-1,8-9\n");
  write(folder.path() / "node1/cpulist", "\n");
  write(folder.path() / "node2/cpulist", "2,10\n");
  write(folder.path() / "node3/cpulist", "3-7,11-1100\n");
  CHECK(nodes({}).empty());
  CHECK(nodes({9}) == std::vector<int>{0});
  CHECK(nodes({0, 1, 8}) == std::vector<int>{0});
  CHECK(nodes({2, 8}) == std::vector<int>{0, 2});
  CHECK(nodes({1, 10, 11}) == std::vector<int>{0, 2, 3});
  CHECK(nodes({5, 1023}) == std::vector<int>{3});
}

TEST_CASE("current_node is one of the nodes of the process", "[threads]") {
  REQUIRE(numa_nodes() >= 1);
  const int node = current_numa_node();
  CHECK((node >= 0 && node < numa_nodes()));
}
