// Suite `scale`: the later iterations of a run on 1, 2, 4 ... devices, or threads of the processor.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "app/bench/bench.h"
#include "core/kmeans.h"

namespace kith::app {
namespace {

constexpr std::array kCpuShapes{"200000x128,256", "1000000x16,64"};
constexpr std::array kGpuShapes{"1000000x128,1024", "10000000x128,1024", "1000000x128,65536"};

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

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

/// One row for each number of devices. The centroids after the last iteration must have the same bits.
void measure_shape(BenchRun& run, const BenchShape& shape, const Kind& kind, std::vector<BenchRow>& rows) {
  Matrix<double> expected;
  double alone = 0.0;
  for (const int number : numbers_up_to(most_devices(run.job))) {
    run.backend = open_devices(run.job, number);
    BenchPoints held(run);
    held.make(shape, kind);
    Times times;
    KMeansResult result = kmeans(held.points(), held.plan(),
                                 {.clusters = shape.counts[0],
                                  .init = Init::random,
                                  .max_iterations = static_cast<int>(2 * run.options.repeat) + 1,
                                  .tolerance = 0},
                                 times);
    BenchRow row{.name = fmt::format("{} {}{}", number, run.on_gpu() ? "GPU" : "thread", number == 1 ? "" : "s"),
                 .shape = show_shape(shape),
                 .data = held.data()};
    if (times.seconds.size() > 1) times.seconds.erase(times.seconds.begin());
    row.timing = timing_of(times.seconds);
    if (number == 1) {
      alone = row.timing->median;
      expected = std::move(result.centroids);
    } else {
      const double faster = alone / row.timing->median;
      row.note = fmt::format("{:.2f} times as fast as one, {:.0f} % of {}", faster, 100.0 * faster / number, number);
      if (!same_bits(expected, result.centroids)) row.wrong = "other centroids than those of one";
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<BenchRow> bench_scale(BenchRun& run) {
  std::vector<BenchRow> rows;
  for (const BenchShape& shape : shapes_of(run, kCpuShapes, kGpuShapes)) {
    for (const Kind* kind : run.kinds) measure_shape(run, shape, *kind, rows);
  }
  return rows;
}

}  // namespace kith::app
