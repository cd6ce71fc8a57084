// The report of a run as JSON.
#include "app/run/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/cli/terminal.h"
#include "app/run/memory.h"

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

Json to_object(const Explanation& explanation) {
  return {{"cluster", explanation.cluster},
          {"column", explanation.column},
          {"centroid", explanation.centroid},
          {"mean", explanation.mean},
          {"difference", explanation.difference}};
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
  if (!report.explanations.empty()) object["explanations"] = to_array(report.explanations);
  if (report.truth) {
    object["truth"] = {{"lists", report.truth->lists},
                       {"equal", report.truth->equal},
                       {"ties", report.truth->ties},
                       {"recall", report.truth->recall},
                       {"recall_with_ties", report.truth->recall_with_ties},
                       {"largest_excess", report.truth->largest_excess}};
  }
  if (report.edges) object["edges"] = *report.edges;
  if (report.components) object["components"] = *report.components;
  for (const AccuracyReport& one : report.accuracy) {
    object["accuracy"].push_back(
        {{"neighbors", one.neighbors}, {"equal", one.equal}, {"by_distance", one.by_distance}});
  }
  if (report.sweep) object["sweep"] = to_object(*report.sweep);
  if (report.evaluation) object["evaluation"] = to_object(*report.evaluation);
  object["memory"] = {{"host", peak_memory()}, {"device", report.device_memory}};
  object["output"] = report.output.empty() ? Json(nullptr) : Json(report.output);
  object["warnings"] = report.warnings;
  // File names need not be UTF-8; JSON must be.
  return printable_json(object.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace kith::app
