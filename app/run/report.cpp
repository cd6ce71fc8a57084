// The report of a run as JSON.
#include "app/run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/memory.h"
#include "data/io/file_kind.h"
#include "data/io/memory_limit.h"

namespace kith::app {
namespace {

using Json = nlohmann::ordered_json;

Json to_object(const PointsReport& points) {
  Json object{{"name", points.name},
              {"rows", points.rows},
              {"columns", points.columns},
              {"type", points.type},
              {"kept_as_bytes", points.kept_as_bytes}};
  if (points.skipped.comments > 0) object["comment_lines"] = points.skipped.comments;
  if (points.skipped.blank > 0) object["blank_lines"] = points.skipped.blank;
  return object;
}

Json to_object(const Phase& phase) {
  Json object{{"name", phase.name}, {"seconds", phase.seconds}};
  if (phase.busy_seconds > 0.0) object["busy_seconds"] = phase.busy_seconds;
  if (phase.bytes > 0) object["bytes"] = phase.bytes;
  if (phase.flops > 0.0) object["flops"] = phase.flops;
  return object;
}

Json to_object(const kith::Option& option) {
  Json object{{"method", option.method}};
  if (option.seconds > 0.0) object["seconds"] = option.seconds;
  if (option.bytes > 0) object["bytes"] = option.bytes;
  if (!option.excluded.empty()) object["excluded"] = option.excluded;
  return object;
}

Json to_object(const Decision& decision) {
  Json object{{"subject", decision.subject},
              {"method", decision.method},
              {"reason", decision.reason},
              {"times", decision.times},
              {"considered", Json::array()}};
  for (const kith::Option& option : decision.considered) object["considered"].push_back(to_object(option));
  return object;
}

Json to_object(const ProcessReport& process) {
  Json object{{"rows", process.rows},
              {"messages", process.messages},
              {"bytes", process.bytes},
              {"waiting_seconds", process.waiting},
              {"phases", Json::array()}};
  for (const auto& [name, seconds] : process.phases) {
    object["phases"].push_back({{"name", name}, {"seconds", seconds}});
  }
  return object;
}

Json to_object(const IterationRecord& record) {
  return {{"inertia", record.inertia},
          {"changed", record.changed},
          {"shift", record.shift},
          {"seconds", record.seconds},
          {"assign_seconds", record.assign_seconds},
          {"screened", record.screened},
          {"products", record.products},
          {"pairs", record.pairs},
          {"ambiguous", record.ambiguous},
          {"candidates", record.candidates},
          {"relocated", record.relocated}};
}

Json to_object(const RunRecord& record) {
  return {{"inertia", record.inertia},
          {"iterations", record.iterations},
          {"stopped_by", record.stopped_by},
          {"empty", record.empty_clusters}};
}

Json to_object(const EvaluationReport& evaluation) {
  Json object{{"labels", evaluation.labels}, {"rows", evaluation.rows}, {"clusters", evaluation.clusters}};
  if (!evaluation.truth.empty()) {
    object["truth"] = evaluation.truth;
    object["classes"] = evaluation.classes;
  }
  for (const auto& [name, value] : evaluation.scores) object[name] = value;
  if (!evaluation.silhouette_per_cluster.empty()) {
    object["silhouette_per_cluster"] = evaluation.silhouette_per_cluster;
  }
  if (!evaluation.contingency.empty()) object["contingency"] = evaluation.contingency;
  return object;
}

Json to_object(const ClassScores& scores) {
  return {{"precision", scores.precision}, {"recall", scores.recall}, {"f1", scores.f1}, {"rows", scores.rows}};
}

Json to_object(const ClassificationReport& report) {
  Json object{{"truth", report.truth},
              {"rows", report.scores.rows},
              {"right", report.scores.right},
              {"accuracy", report.scores.accuracy()},
              {"macro", to_object(report.scores.mean)},
              {"classes", Json::array()},
              {"confusion", Json::array()}};
  for (std::size_t c = 0; c < report.names.size(); ++c) {
    Json one = to_object(report.scores.classes[c]);
    one["name"] = report.names[c];
    object["classes"].push_back(one);
  }
  for (const Contingency::Cell& cell : report.confusion) {
    object["confusion"].push_back({{"known", cell.cluster}, {"found", cell.class_label}, {"rows", cell.rows}});
  }
  return object;
}

Json to_object(const SweepReport& sweep) {
  Json object{{"silhouette", sweep.silhouette}, {"rows", Json::array()}, {"criteria", Json::object()}};
  for (const SweepReport::Row& row : sweep.rows) {
    Json line{{"k", row.clusters}, {"iterations", row.iterations}, {"stopped_by", row.stopped_by}};
    for (const auto& [name, value] : row.scores) line[name] = value;
    object["rows"].push_back(line);
  }
  for (const auto& [name, clusters] : sweep.criteria) object["criteria"][name] = clusters;
  if (sweep.suggested > 0) {
    object["suggested"] = sweep.suggested;
    object["reason"] = sweep.reason;
  }
  return object;
}

template <class T>
Json to_array(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_object(value));
  return array;
}

std::string phases_of(const Report& report) {
  constexpr std::int64_t kLeastBytes = 10'000'000;  // the rate of fewer bytes is mostly the time to open a file
  std::string out;
  for (const Phase& phase : report.phases) {
    std::string text = fmt::format("{} {}", shown_phase(phase.name), show_seconds(phase.seconds));
    if (phase.busy_seconds > 0.0 && phase.bytes >= kLeastBytes) {
      text += fmt::format(" at {:.3g} GB/s", phase.rate() * 1e-9);
    }
    out += (out.empty() ? "" : ", ") + unbreakable(text);
  }
  return out;
}

/// Why the iterations ended.
std::string stop_of(const Report& report) {
  if (report.stopped_by == "labels") return "converged (no label changed)";
  if (report.stopped_by == "tolerance") {
    return fmt::format("converged (squared shift {:.3g}, threshold {:.3g})", report.stopped_value,
                       report.shift_threshold);
  }
  if (report.stopped_by == "epochs") return "all epochs done (--epochs)";
  if (report.stopped_by == "splits") return fmt::format("in {:g} splits", report.stopped_value);
  const char* why = report.stopped_by == "interrupted" ? "interrupted" : "stopped at the limit (--max-iterations)";
  if (report.changed == 0 && report.stopped_by == "max-iterations") {
    return fmt::format("{}; no label changed in the last assignment", why);
  }
  return fmt::format("{}; {} label{} still changed", why, report.changed, report.changed == 1 ? "" : "s");
}

/// The share of the variance that the clusters explain: betweenss / totss in R's kmeans.
std::string explained_by(const Report& report) {
  if (!report.total_inertia || !(*report.total_inertia > 0.0)) return "";
  return fmt::format("; the clusters explain {:.1f} % of the variance",
                     100.0 * (*report.total_inertia - *report.inertia) / *report.total_inertia);
}

std::string runs_of(const Report& report) {
  const auto worst = std::max_element(report.runs.begin(), report.runs.end(),
                                      [](const RunRecord& a, const RunRecord& b) { return a.inertia < b.inertia; });
  return fmt::format("{}; run {} has the lowest inertia, the highest is {}", report.runs.size(), report.kept_run + 1,
                     unbreakable(shown_number(worst->inertia)));
}

std::string points_of(const PointsReport& points) {
  const std::string skipped = show_skipped(points.skipped);
  return fmt::format("{}, {} {}{}", visible(points.name), show_shape(points.rows, points.columns), visible(points.type),
                     skipped.empty() ? "" : "; " + skipped);
}

/// The file, marked as HDF5 if its name does not show that.
std::string result_of(const Report& report) {
  const auto ends = [&report](const char* ending) { return data::has_ending(report.output, ending); };
  const bool is_shown = ends(".h5") || ends(".hdf5") || ends(".h5ad");
  return visible(report.output) + (is_shown || !data::has_hdf5_signature(report.output) ? "" : ", HDF5");
}

}  // namespace

double Phase::rate() const {
  const double during = busy_seconds > 0.0 ? busy_seconds : seconds;
  return bytes > 0 && during > 0.0 ? static_cast<double>(bytes) / during : 0.0;
}

Phase& Report::phase(const std::string& name) {
  const auto found = std::find_if(phases.begin(), phases.end(), [&](const Phase& p) { return p.name == name; });
  if (found != phases.end()) return *found;
  phases.push_back({name});
  return phases.back();
}

double Report::seconds() const {
  return std::accumulate(phases.begin(), phases.end(), 0.0, [](double sum, const Phase& p) { return sum + p.seconds; });
}

std::string to_json(const Report& report) {
  Json object{{"command", report.command},
              {"version", KITH_VERSION},
              {"backend", report.backend},
              {"device", report.device},
              {"threads", report.threads}};
  if (report.seed) object["seed"] = *report.seed;
  if (report.points) object["points"] = to_object(*report.points);
  if (!report.prepared.empty()) object["prepared"] = report.prepared;
  if (report.queries) object["queries"] = to_object(*report.queries);
  if (report.streamed) {
    object["streamed"] = {{"held_rows", report.streamed->held_rows},
                          {"passes", report.streamed->passes},
                          {"bytes", report.streamed->bytes},
                          {"spooled_bytes", report.streamed->spooled_bytes}};
  }
  if (!report.processes.empty()) object["processes"] = to_array(report.processes);
  if (report.weights) {
    object["weights"] = {
        {"name", report.weights->name}, {"total", report.weights->total}, {"rows_of_weight_0", report.weights->absent}};
  }
  if (report.plan) object["plan"] = to_object(*report.plan);
  object["decisions"] = to_array(report.decisions);
  object["phases"] = to_array(report.phases);
  object["iterations"] = to_array(report.iterations);
  if (!report.runs.empty()) {
    object["runs"] = to_array(report.runs);
    object["run"] = report.kept_run;
  }
  if (report.clusters) {
    object["clusters"] = {{"count", report.clusters->clusters},
                          {"smallest", report.clusters->smallest},
                          {"largest", report.clusters->largest},
                          {"empty", report.clusters->empty},
                          {"imbalance", report.clusters->imbalance}};
  }
  if (report.density) {
    object["density"] = {{"clusters", report.density->clusters},
                         {"core", report.density->core},
                         {"border", report.density->border},
                         {"noise", report.density->noise}};
  }
  if (report.inertia) object["inertia"] = *report.inertia;
  if (report.total_inertia) {
    object["totss"] = *report.total_inertia;
    object["betweenss"] = *report.total_inertia - *report.inertia;
  }
  if (!report.method.empty()) object["method"] = report.method;
  if (!report.stopped_by.empty()) {
    object["stopped_by"] = report.stopped_by;
    object["stopped_value"] = report.stopped_value;
    object["shift_threshold"] = report.shift_threshold;
    object["changed"] = report.changed;
  }
  if (report.profile && report.explains) object["profile"] = profile_json(*report.profile);
  if (report.truth) {
    object["truth"] = {{"lists", report.truth->lists},
                       {"equal", report.truth->equal},
                       {"ties", report.truth->ties},
                       {"recall", report.truth->recall},
                       {"recall_with_ties", report.truth->recall_with_ties},
                       {"largest_excess", report.truth->largest_excess}};
  }
  if (report.radius) {
    object["radius"] = report.radius->radius;
    if (report.radius->cosine) object["cosine"] = *report.radius->cosine;
  }
  if (report.edges) object[report.has_pairs ? "pairs" : "edges"] = *report.edges;
  if (report.components) object["components"] = *report.components;
  for (const AccuracyReport& one : report.accuracy) {
    object["accuracy"].push_back(
        {{"neighbors", one.neighbors}, {"equal", one.equal}, {"by_distance", one.by_distance}});
  }
  if (report.sweep) object["sweep"] = to_object(*report.sweep);
  if (report.classification) object["classification"] = to_object(*report.classification);
  if (report.evaluation) object["evaluation"] = to_object(*report.evaluation);
  object["memory"] = {{"host", report.host_memory > 0 ? report.host_memory : peak_memory()},
                      {"device", report.device_memory}};
  object["output"] = report.output.empty() ? Json(nullptr) : Json(report.output);
  for (const auto& [name, file] : report.beside) object["outputs"][name] = file;
  object["warnings"] = report.warnings;
  // File names need not be UTF-8; JSON must be.
  return printable_json(object.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string show_skipped(const data::SkippedLines& skipped) {
  const auto count = [](std::int64_t lines, const char* kind) {
    return fmt::format("{} {} line{}", lines, kind, lines == 1 ? "" : "s");
  };
  if (skipped.comments == 0 && skipped.blank == 0) return "";
  if (skipped.comments == 0) return count(skipped.blank, "blank") + " skipped";
  return count(skipped.comments, "comment") + (skipped.blank > 0 ? " and " + count(skipped.blank, "blank") : "") +
         " skipped";
}

std::vector<std::string> decision_lines(const std::vector<Decision>& decisions) {
  std::vector<std::string> lines;
  for (const Decision& decision : decisions) {
    std::string text = decision.method;
    if (decision.times > 1) text += fmt::format(", {} times", decision.times);
    if (!decision.reason.empty()) text += fmt::format(" ({})", decision.reason);
    std::vector<std::string> considered;
    for (const kith::Option& option : decision.considered) {
      std::string one = option.method;
      if (option.seconds > 0.0) one += " " + show_seconds(option.seconds);
      if (option.bytes > 0) one += fmt::format(" with {}", data::show_bytes(option.bytes));
      if (!option.excluded.empty()) one += fmt::format(" (not possible: {})", option.excluded);
      considered.push_back(one);
    }
    if (considered.size() > 1) text += fmt::format("; considered: {}", fmt::join(considered, ", "));
    const std::string subject = decision.subject + ": ";
    lines.push_back(hang(subject, wrap(visible(text), prose_width(Stream::error) - subject.size())));
  }
  return lines;
}

std::string summary(const Report& report, const std::string& next) {
  std::string out;
  const std::size_t width = prose_width(Stream::error);
  const auto line = [&](const std::string& name, const std::string& value) { out += named_text(name, value, width); };
  if (report.points) line("points", points_of(*report.points));
  if (report.queries) line("queries", points_of(*report.queries));
  if (report.streamed) {
    const StreamReport& s = *report.streamed;
    const std::string spooled =
        s.spooled_bytes > 0 ? fmt::format(" in {} of --scratch", data::show_bytes(s.spooled_bytes)) : "";
    line("memory",
         fmt::format("{} of {} rows stayed in memory; {} were read in {} passes over the others{}", s.held_rows,
                     report.points ? report.points->rows : 0, data::show_bytes(s.bytes), s.passes, spooled));
  }
  if (!report.processes.empty()) {
    const ProcessReport& first = report.processes.front();
    line("processes", fmt::format("{}, which exchanged {} in {} messages", report.processes.size(),
                                  data::show_bytes(first.bytes), first.messages));
  }
  if (!report.prepared.empty()) line("prepared", report.prepared);
  if (report.weights) {
    const WeightReport& w = *report.weights;
    line("weights", fmt::format("{}; {} in total, {} rows of weight 0", visible(w.name), w.total, w.absent));
  }
  if (report.clusters) {
    const ClusterReport& c = *report.clusters;
    const std::string imbalance = c.largest == 0 ? "" : fmt::format(", imbalance {:.3g}", c.imbalance);
    line("clusters",
         fmt::format("{}; {} to {} points each, {} empty{}", c.clusters, c.smallest, c.largest, c.empty, imbalance));
  }
  if (report.density) {
    const DensityReport& d = *report.density;
    line("clusters",
         fmt::format("{}; {} core points, {} border points, {} of noise", d.clusters, d.core, d.border, d.noise));
  }
  if (report.profile && !report.explains) {
    const std::vector<std::string> lines = profile_lines(*report.profile);
    for (std::size_t c = 0; c < lines.size(); ++c) line(fmt::format("cluster {}", c), lines[c]);
  }
  if (report.inertia) line("inertia", unbreakable(shown_number(*report.inertia)) + explained_by(report));
  if (!report.method.empty()) line("method", report.method);
  if (report.runs.size() > 1) line("runs", runs_of(report));
  if (!report.stopped_by.empty()) line("iterations", fmt::format("{}; {}", report.iterations_done, stop_of(report)));
  if (report.seed) line("seed", std::to_string(*report.seed));
  if (report.truth) {
    line("truth", fmt::format("{} of {} lists equal, {} with ties; recall {:.6f}", report.truth->equal,
                              report.truth->lists, report.truth->ties, report.truth->recall));
  }
  if (report.classification) {
    const ClassificationReport& c = *report.classification;
    line("truth", fmt::format("{}; accuracy {:.6g}, {} of {} right", visible(c.truth), c.scores.accuracy(),
                              c.scores.right, c.scores.rows));
  }
  if (report.radius && report.radius->cosine) {
    line("radius", fmt::format("{:.6g}, a cosine of {:.6g}", report.radius->radius, *report.radius->cosine));
  }
  if (report.edges) line(report.has_pairs ? "pairs" : "edges", std::to_string(*report.edges));
  if (report.components) line("components", std::to_string(*report.components));
  if (report.evaluation) {
    const EvaluationReport& e = *report.evaluation;
    line("labels", fmt::format("{}; {} rows in {} clusters", visible(e.labels), e.rows, e.clusters));
    if (!e.truth.empty()) line("truth", fmt::format("{}; {} classes", visible(e.truth), e.classes));
  }
  line("time", fmt::format("{} ({})", show_seconds(report.seconds()), phases_of(report)));
  if (!report.output.empty()) line("result", result_of(report));
  for (const auto& [name, file] : report.beside) line(name, visible(file));
  if (!next.empty()) {
    out += hang(fmt::format("{:<{}}", "next", kNameWidth), wrap_command(visible(next), width - kNameWidth));
  }
  return out;
}

}  // namespace kith::app
