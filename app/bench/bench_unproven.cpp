// `kith bench iteration --without PART`: iterations that leave out a part of the contract, to be held against those
// that do not. Their labels and means are not exact; how many labels are wrong is shown.
#include <fmt/format.h>

#include "app/bench/bench.h"
#include "core/seeding.h"

namespace kith::app {
namespace {

/// Iterations from a start, by the backend alone: no check of a whole run may stop what is not exact.
class UnprovenRun {
 public:
  UnprovenRun(BenchPoints& held, std::int64_t clusters, int run)
      : points_(held.points()),
        state_{Matrix<double>(clusters, points_.columns()),
               ClusterSums(clusters, points_.columns(), held.plan().scales.limbs),
               std::vector<std::int64_t>(static_cast<std::size_t>(clusters))} {
    points_.copy_rows(random_rows(points_.rows(), clusters, {0, static_cast<std::uint64_t>(run)}),
                      state_.centroids.view());
    points_.reset();
  }

  MatrixView<const double> centroids() const { return state_.centroids.view(); }

  /// What each of up to `count` iterations took; fewer where no label changed, or a cluster was empty.
  std::vector<double> iterate(std::int64_t count) {
    std::vector<double> seconds;
    const StopRule stop{.threshold = -1.0, .max_iterations = count};
    for (;;) {
      const auto done = static_cast<std::int64_t>(seconds.size());
      const IterateResult steps = points_.iterate({.stop = stop, .iterations = done, .spread = 0.0}, state_);
      for (const IterationRecord& record : steps.records) seconds.push_back(record.seconds);
      if (steps.records.empty() || steps.unfinished) return seconds;
      if (stop.test(static_cast<std::int64_t>(seconds.size()), steps.records.back()) != Stop::none) return seconds;
    }
  }

 private:
  Points& points_;
  LloydState state_;
};

std::string note_of(const BenchRun& run, const LabelCheck& check) {
  const std::string what =
      run.options.common.without == "all" ? "certificate, recheck and integer sums" : run.options.common.without;
  return fmt::format("not exact: without {}; {} of {} labels wrong", what, check.wrong, check.rows);
}

}  // namespace

std::vector<BenchRow> bench_unproven(BenchRun& run) {
  std::vector<BenchRow> rows;
  BenchPoints held(run);
  for (const BenchShape& shape : iteration_shapes(run)) {
    make_points(run, shape, held);
    const std::int64_t clusters = shape.counts[0];
    std::vector<double> first;
    LabelCheck check;
    for (int run_number = 0; run_number < kFirstRuns; ++run_number) {
      UnprovenRun one(held, clusters, run_number);
      Matrix<double> start(clusters, shape.columns);
      std::copy_n(one.centroids().data, start.size(), start.data());
      const std::vector<double> seconds = one.iterate(1);
      if (run_number > 0) first.insert(first.end(), seconds.begin(), seconds.end());
      check = compare_labels(held.values(), start.view(), labels_of(held.points()), run.threads);
    }
    std::vector<double> later = UnprovenRun(held, clusters, 0).iterate(later_iterations(run) + 1);
    if (!later.empty()) later.erase(later.begin());
    for (const auto& [name, seconds] : {std::pair{"first", &first}, std::pair{"later", &later}}) {
      if (seconds->empty()) continue;
      rows.push_back(timed_row(run, name, shape, *seconds));
      rows.back().exact = false;
      rows.back().note = note_of(run, check);
    }
  }
  return rows;
}

}  // namespace kith::app
