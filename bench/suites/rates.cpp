// Rates of the operations for `kith plan`: short runs of k-means and searches over a grid of columns and sizes.
#include "bench/suites/rates.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/kmeans/kmeans.h"
#include "core/neighbors/neighbors.h"
#include "core/runtime/clock.h"
#include "core/scores/silhouette.h"
#include "data/source.h"

namespace kith::app {
namespace {

constexpr int kIterations = 6;
constexpr std::int64_t kMinRows = 32;                                  // for each cluster
constexpr std::int64_t kMeasuredColumns[] = {2, 8, 16, 32, 128, 512};  // screens multiply up to 16 in the same time
constexpr std::int64_t kQueries[] = {64, 2048}, kClusters[] = {8, 64, 512, 4096};
constexpr std::int64_t kSeeds = 64, kCandidates = 6;  // of the run with k-means++

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

/// The shortest of several durations of `work`, in seconds.
template <class Work>
double least_seconds(int times, const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) {
    const auto begin = Clock::now();
    work();
    least = std::min(least, seconds_since(begin));
  }
  return least;
}

/// About 2^23 values, or 2^26 for a GPU, whose launches would take most of the time; of few columns less, but so many
/// rows that the start of threads takes little of a step.
std::int64_t rows_for(const BenchRun& run, std::int64_t columns) {
  const int bits = run.on_gpu() ? 26 : 23;
  return std::clamp<std::int64_t>((std::int64_t{1} << bits) / columns, 4096, std::int64_t{1} << (bits - 3));
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
    // The first search chooses its method, which takes little of a search of more rows.
    const double seconds = least_seconds(2, [&] {
      nearest_neighbors(
          held.points(), queries.view(), {.neighbors = 10}, [](std::int64_t, const NeighborLists&) {}, none);
    });
    rates.add(Operation::search, {columns, count, seconds / static_cast<double>(rows)});
  }
}

/// Searches sets of several sizes in themselves, as many rows as take about a second.
void add_joins(Rates& rates, BenchRun& run, std::int64_t columns) {
  const double most = run.on_gpu() ? 0x1p42 : 0x1p38;  // multiply-adds of all pairs
  constexpr double kLong = 0.3;                        // seconds that are not repeated
  for (std::int64_t rows = std::int64_t{1} << 13; rows <= std::int64_t{1} << 17; rows *= 4) {
    if (static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(columns) > most) return;
    BenchPoints held(run);
    held.make({rows, columns, {kClusters[0]}}, kinds().front());
    Observer none;
    double least = 0.0;
    for (int i = 0; i < 3 && (i == 0 || least < kLong); ++i) {
      held.points().prepare(held.plan());  // which forgets a tree
      const auto begin = Clock::now();
      nearest_neighbors(
          held.points(), held.values(), {.neighbors = 10, .base_is_queries = true},
          [](std::int64_t, const NeighborLists&) {}, none);
      least = i == 0 ? seconds_since(begin) : std::min(least, seconds_since(begin));
    }
    rates.add(Operation::join, {columns, rows, least / static_cast<double>(rows)});
  }
}

/// Measures distances to a few means.
void add_measuring(Rates& rates, BenchPoints& held) {
  const std::int64_t rows = held.values().rows, columns = held.values().columns;
  const std::vector<std::int32_t> labels(static_cast<std::size_t>(rows), 0);
  for (const std::int64_t clusters : {kClusters[0], kClusters[1]}) {
    const Matrix<double> means = held.first_rows(clusters);
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(clusters), 1);
    const auto begin = Clock::now();
    centroid_distances(held.points(), means.view(), {.labels = labels, .counts = counts});
    rates.add(Operation::measure, {columns, clusters, seconds_since(begin) / static_cast<double>(rows)});
  }
}

/// Reads a .npy file in memory, as points, into memory that is used for the first time, then again.
void add_reading(Rates& rates, const CommonOptions& common) {
  constexpr std::int64_t kRows = std::int64_t{1} << 18, kFileColumns = 128;
  const int file = memfd_create("kith", MFD_CLOEXEC);
  if (file < 0) return;
  std::string head =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", kRows, kFileColumns);
  head.resize(117, ' ');
  head = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head + "\n";
  const std::vector<float> rows(kFileColumns << 10, 0.5F);  // 1024 rows
  bool written = write(file, head.data(), head.size()) == std::ssize(head);
  for (std::int64_t row = 0; row < kRows && written; row += 1024) {
    written = write(file, rows.data(), 4 * rows.size()) == std::ssize(rows) * 4;
  }
  if (written) {
    const auto source = data::open_points(fmt::format("/proc/self/fd/{}", file), read_options(common));
    Matrix<float> memory(kRows, kFileColumns);
    const auto rate = [&] {
      const auto begin = Clock::now();
      source->read(0, memory.view());
      return 4.0 * static_cast<double>(memory.size()) / seconds_since(begin);
    };
    rates.load = rate();
    rates.reread = rate();
  }
  close(file);
}

}  // namespace

Rates measure_rates(BenchRun& run, double memory_rate) {
  Rates rates;
  rates.memory = memory_rate;
  add_reading(rates, run.options.common);
  BenchPoints held(run);
  for (const std::int64_t columns : kMeasuredColumns) {
    held.make({rows_for(run, columns), columns, {kClusters[0]}}, kinds().front());
    const double seconds = least_seconds(3, [&] {
      make_plan(held.points());
      held.points().prepare(held.plan());
    });
    rates.add(Operation::prepare, {columns, 0, seconds / static_cast<double>(held.values().rows)});
    for (const std::int64_t clusters : kClusters) {
      if (kMinRows * clusters <= held.values().rows) add_kmeans(rates, held, clusters);
    }
    add_searches(rates, held);
    add_measuring(rates, held);
    add_joins(rates, run, columns);
  }
  return rates;
}

}  // namespace kith::app
