// Tasks that threads share out, on as many memory nodes as a test pretends, and the nodes that a system lists.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernels/cpu/points.h"
#include "kernels/cpu/runtime/threads.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/kmeans_runs.h"

using namespace kith;
using namespace kith::cpu;
using kith::testing::Scratch;

namespace {

struct Pretended {
  const char* what;
  int nodes;
  std::function<int(int thread)> node_of;
};

std::vector<Pretended> pretended() {
  const auto moves = std::make_shared<std::atomic<int>>(0);
  return {{"one node", 1, [](int) { return 0; }},
          {"two nodes", 2, [](int thread) { return thread % 2; }},
          {"a node without threads", 3, [](int thread) { return 2 * (thread % 2); }},
          {"more nodes than threads", 9, [](int thread) { return 8 - thread; }},
          {"threads that move", 4, [moves](int) { return (*moves)++ % 4; }}};
}

/// Where the equal part of a node begins.
std::int64_t begin_of(int node, int nodes, std::int64_t tasks) { return tasks * node / nodes; }

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("every task is done once, wherever threads are", "[threads]") {
  for (const Pretended& near : pretended()) {
    for (const int count : {1, 2, 5}) {
      Threads threads(count, {near.nodes, near.node_of});
      for (const std::int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 10, 64, 1000}) {
        INFO(near.what << ", " << count << " threads, " << tasks << " tasks");
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
        std::atomic<int> strangers = 0;
        threads.run(tasks, [&](std::int64_t task, int thread) {
          ++done[task];
          if (thread < 0 || thread >= count) ++strangers;
        });
        CHECK(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
        CHECK(strangers == 0);
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
      // Seen from the beginning of its own part, and round from the last task to the first, it only goes forward.
      std::vector<std::int64_t>& mine = taken[thread];
      for (std::int64_t& task : mine) task = (task - begin_of(thread % nodes, nodes, kTasks) + kTasks) % kTasks;
      CHECK(std::is_sorted(mine.begin(), mine.end()));
    }
  }
}

TEST_CASE("a thread that is slow holds no task of its node up", "[threads]") {
  constexpr std::int64_t kTasks = 40;
  for (const Pretended& near : pretended()) {
    INFO(near.what);
    Threads threads(2, {near.nodes, near.node_of});
    std::atomic<std::int64_t> begun = 0, others = 0;
    bool waited_for_others = false;
    threads.run(kTasks, [&](std::int64_t, int) {
      if (begun++ > 0) {
        ++others;
        return;
      }
      const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (others < kTasks - 1 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
      waited_for_others = others == kTasks - 1;
    });
    CHECK(waited_for_others);
  }
}

TEST_CASE("an exception ends the tasks of all nodes and reaches who asked", "[threads]") {
  for (const Pretended& near : pretended()) {
    INFO(near.what);
    Threads threads(3, {near.nodes, near.node_of});
    std::atomic<std::int64_t> done = 0;
    constexpr std::int64_t kTasks = 1'000'000'000;  // which nobody could do
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

TEST_CASE("clusters do not depend on the nodes that threads are on", "[threads]") {
  const Matrix<double> values = test::kinds()[1].make(6000, 24, 1);
  const PointsMatrix points = test::as_class(values.view(), ValueClass::f32);
  const PointBlock block{.values = view_of(points)};
  const BackendOptions options{.block_rows = 100};
  const KMeansOptions wanted{.clusters = 40, .seed = 1, .keep_distances = true};
  Threads alone(1, {});
  const KMeansResult expected = test::run(*hold_points(block, instructions(), alone, options), wanted);
  for (const Pretended& near : pretended()) {
    INFO(near.what);
    Threads threads(5, {near.nodes, near.node_of});
    test::check_same(expected, test::run(*hold_points(block, instructions(), threads, options), wanted));
  }
}

TEST_CASE("nodes are those of the processors that may be used", "[threads]") {
  const Scratch folder;
  const auto nodes = [&](std::initializer_list<int> processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
    return numa_nodes_of(set, folder.path().string());
  };
  CHECK(nodes({0, 1}).empty());                 // a system that says nothing
  write(folder.path() / "has_cpu", "0,2-3\n");  // node 1 is memory alone
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

TEST_CASE("a thread is on one of the nodes of the process", "[threads]") {
  REQUIRE(numa_nodes() >= 1);
  const int node = current_numa_node();
  CHECK((node >= 0 && node < numa_nodes()));
}
