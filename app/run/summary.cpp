// The closing summary on standard error: what came out, where it is, which command comes next.
#include "app/run/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "data/io/file_kind.h"

namespace kith::app {
namespace {

std::string phases_of(const Report& report) {
  constexpr std::int64_t kWorthARate = 10'000'000;  // bytes: below, the rate is that of opening a file
  std::string out;
  for (const Phase& phase : report.phases) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", phase.name, show_seconds(phase.seconds));
    if (phase.busy_seconds > 0.0 && phase.bytes >= kWorthARate) {
      out += fmt::format(" at {:.3g} GB/s", phase.rate() * 1e-9);
    }
  }
  return out;
}

std::string stop_of(const Report& report) {
  if (report.stopped_by == "labels") return "no label changed";
  if (report.stopped_by == "tolerance") {
    return fmt::format("centroids moved by {:.3g} squared, {:.3g} or less stops", report.stopped_value,
                       report.shift_threshold);
  }
  if (report.stopped_by == "epochs") return "the batches alone were asked for";
  if (report.stopped_by == "splits") return fmt::format("those of {:g} splits", report.stopped_value);
  return fmt::format("the limit was reached before convergence; {} labels still changed", report.changed);
}

/// The share of the variance that the clusters explain, R's betweenss / totss.
std::string explained_by(const Report& report) {
  if (!report.total_inertia || !(*report.total_inertia > 0.0)) return "";
  return fmt::format("; the clusters explain {:.1f} % of the variance",
                     100.0 * (*report.total_inertia - *report.inertia) / *report.total_inertia);
}

std::string runs_of(const Report& report) {
  const auto worst = std::max_element(report.runs.begin(), report.runs.end(),
                                      [](const RunRecord& a, const RunRecord& b) { return a.inertia < b.inertia; });
  return fmt::format("{}, of which run {} is kept; the worst inertia is {}", report.runs.size(), report.kept_run + 1,
                     worst->inertia);
}

std::string points_of(const PointsReport& points) {
  return fmt::format("{}, {} {}{}", visible(points.name), show_shape(points.rows, points.columns), points.type,
                     points.kept_as_bytes ? ", kept as bytes" : "");
}

/// The file, and that it is HDF5 where its name does not say so.
std::string result_of(const Report& report) {
  const auto ends = [&report](const char* ending) { return data::has_ending(report.output, ending); };
  const bool says_it = ends(".h5") || ends(".hdf5") || ends(".h5ad");
  return visible(report.output) + (says_it || !data::has_hdf5_signature(report.output) ? "" : ", HDF5");
}

}  // namespace

std::string summary(const Report& report, const std::string& next) {
  std::string out;
  const auto line = [&out](const char* name, const std::string& value) {
    out += fmt::format("{}{:<11}{}", out.empty() ? "" : "\n", name, value);
  };
  if (report.points) line("points", points_of(*report.points));
  if (report.queries) line("queries", points_of(*report.queries));
  if (!report.prepared.empty()) line("prepared", report.prepared);
  if (report.weights) {
    const WeightReport& w = *report.weights;
    line("weights", fmt::format("{}, {} in all, {} rows of weight 0", visible(w.name), w.total, w.absent));
  }
  if (report.clusters) {
    const ClusterReport& c = *report.clusters;
    line("clusters", fmt::format("{}, with {} to {} points, {} empty, imbalance {:.3g}", c.clusters, c.smallest,
                                 c.largest, c.empty, c.imbalance));
  }
  if (report.inertia) line("inertia", fmt::format("{}{}", *report.inertia, explained_by(report)));
  if (!report.method.empty()) line("method", report.method);
  if (report.runs.size() > 1) line("runs", runs_of(report));
  if (!report.stopped_by.empty()) line("iterations", fmt::format("{}, {}", report.iterations_done, stop_of(report)));
  if (report.seed) line("seed", std::to_string(*report.seed));
  if (report.truth) {
    line("truth", fmt::format("{} of {} lists equal, {} with ties, recall {:.6f}", report.truth->equal,
                              report.truth->lists, report.truth->ties, report.truth->recall));
  }
  if (report.edges) line("edges", std::to_string(*report.edges));
  if (report.components) line("components", std::to_string(*report.components));
  if (report.evaluation) {
    const EvaluationReport& e = *report.evaluation;
    line("labels", fmt::format("{}, {} rows in {} clusters", visible(e.labels), e.rows, e.clusters));
    if (!e.truth.empty()) line("truth", fmt::format("{}, {} classes", visible(e.truth), e.classes));
  }
  line("time", fmt::format("{} ({})", show_seconds(report.seconds()), phases_of(report)));
  if (!report.output.empty()) line("result", result_of(report));
  if (!next.empty()) line("next", visible(next));
  return out;
}

}  // namespace kith::app
