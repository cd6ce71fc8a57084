// Suite `scale`: later iterations of a run, or searches, on 1, 2, 4 ... devices, or threads of the processor.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "bench/suites/bench.h"
#include "core/kmeans/kmeans.h"

namespace kith::app {
namespace {

constexpr std::array kCpuScaleShapes{"200000x128,256", "1000000x16,64", "200000x128,2000,10"};
constexpr std::array kGpuScaleShapes{"1000000x128,1024", "10000000x128,1024", "1000000x128,65536",
                                     "10000000x128,10000,10"};

/// 1, 2, 4 ... and all.
std::vector<int> numbers_up_to(int most) {
  std::vector<int> numbers;
  for (int number = 1; number < most; number *= 2) numbers.push_back(number);
  numbers.push_back(most);
  return numbers;
}

class Times final : public Observer {
 public:
  void iteration(const IterationRecord& record) override { seconds.push_back(record.seconds); }
  std::vector<double> seconds;
};

template <class T>
bool same_bits(const Matrix<T>& a, const Matrix<T>& b) {
  const std::size_t bytes = static_cast<std::size_t>(a.size()) * sizeof(T);
  return a.size() == b.size() && (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0);
}

/// What some devices computed, and the seconds that each repetition took.
struct Outcome {
  Matrix<double> numbers;      // centroids, or distances
  Matrix<std::int64_t> index;  // of neighbours
  std::vector<double> seconds;
};

Outcome iterate(const BenchRun& run, const BenchPoints& held, std::int64_t clusters) {
  Times times;
  KMeansResult result = kmeans(held.points(), held.plan(),
                               {.clusters = clusters,
                                .init = Init::random,
                                .max_iterations = static_cast<int>(2 * run.options.repeat) + 1,
                                .tolerance = 0},
                               times);
  if (times.seconds.size() > 1) times.seconds.erase(times.seconds.begin());
  return {std::move(result.centroids), {}, std::move(times.seconds)};
}

Outcome search(const BenchRun& run, const BenchPoints& held, std::int64_t count, std::int64_t neighbors) {
  const Matrix<double> queries = held.queries(count);
  NeighborLists lists;
  std::vector<double> seconds = time_repeats(
      run.options.repeat, [&] { lists = NeighborLists(queries.rows(), neighbors); },
      [&] { held.points().search({.values = queries.view()}, lists); });
  return {std::move(lists.distance), std::move(lists.index), std::move(seconds)};
}

/// What `number` devices should take: their share of the time of one, and for iterations on GPUs one meeting and the
/// exchange of 64-bit sums and of centroids, at the measured 200 GB/s of an H200 or H100.
double modelled(double alone, int number, const BenchShape& shape, bool on_gpu) {
  constexpr double kMeeting = 30e-6, kBytesPerSecond = 200e9, kBytes = 16.0;
  const double share = alone / number;
  if (!on_gpu || number == 1 || shape.counts.size() > 1) return share;
  const double cells = static_cast<double>(shape.counts[0]) * static_cast<double>(shape.columns);
  return share + kMeeting + kBytes * cells * (number - 1) / number / kBytesPerSecond;
}

/// One row for each number of devices. All must compute the bits of the first.
void measure_shape(BenchRun& run, const BenchShape& shape, const Kind& kind, std::vector<BenchRow>& rows) {
  std::optional<Outcome> expected;
  double alone = 0.0;
  for (const int number : numbers_up_to(most_devices(run.job))) {
    run.backend = open_devices(run.job, number);
    BenchPoints held(run);
    held.make(shape, kind);
    Outcome outcome = shape.counts.size() == 1 ? iterate(run, held, shape.counts[0])
                                               : search(run, held, shape.counts[0], shape.counts[1]);
    BenchRow row{.name = fmt::format("{}, {} {}{}", shape.counts.size() == 1 ? "iteration" : "search", number,
                                     run.on_gpu() ? "GPU" : "thread", number == 1 ? "" : "s"),
                 .shape = show_shape(shape),
                 .data = held.data()};
    row.timing = timing_of(outcome.seconds);
    if (number == 1) {
      alone = row.timing->median;
      expected = std::move(outcome);
    } else {
      const double faster = alone / row.timing->median;
      row.note = fmt::format("{:.2f} times as fast as one, {:.0f} % of {}; model {:.4g} ms", faster,
                             100.0 * faster / number, number, 1e3 * modelled(alone, number, shape, run.on_gpu()));
      if (!same_bits(expected->numbers, outcome.numbers) || !same_bits(expected->index, outcome.index)) {
        row.wrong = "another result than that of one";
      }
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<BenchRow> bench_scale(BenchRun& run) {
  std::vector<BenchRow> rows;
  for (const BenchShape& shape : shapes_of(run, kCpuScaleShapes, kGpuScaleShapes)) {
    for (const Kind* kind : run.kinds) measure_shape(run, shape, *kind, rows);
  }
  return rows;
}

}  // namespace kith::app
