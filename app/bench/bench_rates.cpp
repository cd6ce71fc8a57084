// Rates of the operations for `kith plan`: short runs of k-means and searches over a grid of columns and sizes.
#include "app/bench/bench_rates.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "core/kmeans.h"
#include "core/neighbors.h"

namespace kith::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kIterations = 4;
constexpr std::int64_t kMinRows = 32;  // for each cluster
constexpr std::int64_t kQueries[] = {64, 2048}, kClusters[] = {8, 64, 512, 4096};
constexpr std::int64_t kSeeds = 64, kCandidates = 6;  // of the run with k-means++

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Adds up the time of each phase.
class PhaseTimes final : public Observer {
 public:
  void phase(const std::string& name, std::int64_t) override {
    end();
    name_ = name;
  }
  void end() {
    seconds[name_] += seconds_since(begin_);
    begin_ = Clock::now();
  }
  std::map<std::string, double> seconds;

 private:
  std::string name_;
  Clock::time_point begin_ = Clock::now();
};

/// About 2^23 values, or 2^26 for a GPU, whose launches would take most of the time.
std::int64_t rows_for(const BenchRun& run, std::int64_t columns) {
  const int bits = run.on_gpu() ? 26 : 23;
  return std::clamp<std::int64_t>((std::int64_t{1} << bits) / columns, 4096, std::int64_t{1} << (bits - 4));
}

void add_kmeans(Rates& rates, BenchPoints& held, std::int64_t clusters) {
  const std::int64_t rows = held.values().rows, columns = held.values().columns;
  const bool seeds = clusters == kSeeds;
  PhaseTimes times;
  const KMeansResult result = kmeans(held.points(), held.plan(),
                                     {.clusters = clusters,
                                      .init = seeds ? Init::kmeans_plus_plus : Init::random,
                                      .max_iterations = kIterations,
                                      .tolerance = 0.0,
                                      .seed = kBenchSeed},
                                     times);
  times.end();
  const auto add = [&](Operation operation, std::int64_t size, double seconds, std::int64_t count) {
    rates.add(operation, {columns, size, seconds / static_cast<double>(rows * count)});
  };
  if (seeds) add(Operation::seed, kCandidates, times.seconds["seed"], clusters);
  add(Operation::iterate, clusters, times.seconds["iterate"], std::max<std::int64_t>(result.iterations, 1));
  add(Operation::finish, clusters, times.seconds["assign"], 1);
  const auto begin = Clock::now();
  Observer none;
  assign_only(held.points(), held.plan(), result.centroids.view(), none);
  add(Operation::assign, clusters, seconds_since(begin), 1);
}

void add_searches(Rates& rates, BenchPoints& held) {
  const std::int64_t rows = held.values().rows, columns = held.values().columns;
  for (const std::int64_t count : kQueries) {
    const Matrix<double> queries = held.first_rows(count);
    Observer none;
    const auto begin = Clock::now();
    nearest_neighbors(
        held.points(), queries.view(), {.neighbors = 10}, [](std::int64_t, const NeighborLists&) {}, none);
    rates.add(Operation::search, {columns, count, seconds_since(begin) / static_cast<double>(rows)});
  }
}

/// Reads a file of the page cache into memory that is used for the first time, then again.
void add_reading(Rates& rates, cpu::Threads& threads) {
  constexpr std::int64_t kBytes = std::int64_t{128} << 20, kPart = std::int64_t{4} << 20;
  const int file = memfd_create("kith", MFD_CLOEXEC);
  if (file < 0) return;
  std::vector<char> part(static_cast<std::size_t>(kPart), 1);
  for (std::int64_t first = 0; first < kBytes; first += kPart) {
    if (pwrite(file, part.data(), part.size(), first) != kPart) break;
  }
  Matrix<char> memory(kBytes / kPart, kPart);
  const auto rate = [&] {
    const auto begin = Clock::now();
    threads.run(memory.rows(), [&](std::int64_t task, int) {
      if (pread(file, memory.row(task).data(), kPart, task * kPart) < 0) return;
    });
    return static_cast<double>(kBytes) / seconds_since(begin);
  };
  rates.load = rate();
  rates.reread = rate();
  close(file);
}

}  // namespace

Rates measure_rates(BenchRun& run, double memory_rate) {
  Rates rates;
  rates.memory = memory_rate;
  add_reading(rates, run.threads);
  BenchPoints held(run);
  for (std::int64_t columns = 2; columns <= 512; columns *= 4) {
    held.make({rows_for(run, columns), columns, {kClusters[0]}}, kinds().front());
    double least = 0.0;
    for (int i = 0; i < 3; ++i) {
      const auto begin = Clock::now();
      make_plan(held.points());
      held.points().prepare(held.plan());
      least = i == 0 ? seconds_since(begin) : std::min(least, seconds_since(begin));
    }
    rates.add(Operation::prepare, {columns, 0, least / static_cast<double>(held.values().rows)});
    for (const std::int64_t clusters : kClusters) {
      if (kMinRows * clusters <= held.values().rows) add_kmeans(rates, held, clusters);
    }
    add_searches(rates, held);
  }
  return rates;
}

}  // namespace kith::app
