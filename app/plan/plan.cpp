// The plan of a run as text and as JSON; the operations of k-means on all rows, the passes over rows that are not in
// memory (docs/architecture.md), and the operations of a processor or GPU of which they consist.
#include "app/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"

namespace kith::app {

namespace {

std::string device_memory_of(const Plan& plan) {
  if (plan.device_bytes == 0) return "";
  if (plan.devices == 1) return fmt::format("; {} on the GPU", show_bytes(plan.device_bytes));
  return fmt::format("; {} on each of {} GPUs", show_bytes(plan.device_bytes / plan.devices), plan.devices);
}

std::string times_of(const PlannedPhase& phase) {
  return phase.times == 0 ? "" : fmt::format("{}{}", phase.at_most ? "at most " : "", phase.times);
}

}  // namespace

std::string shown_phase(const std::string& name) { return name == "seed" ? "choose centroids" : name; }

double Plan::seconds() const {
  double sum = 0.0;
  for (const PlannedPhase& phase : phases) sum += phase.seconds;
  return sum;
}

bool Plan::is_limit() const {
  return std::any_of(phases.begin(), phases.end(), [](const PlannedPhase& phase) { return phase.at_most; });
}

std::string Plan::show_memory() const {
  return has_range() ? fmt::format("{} to {}", show_bytes(least_bytes), show_bytes(host_bytes))
                     : show_bytes(host_bytes);
}

std::string as_text(const Plan& plan, std::size_t width) {
  std::string out;
  const auto line = [&](const char* name, const std::string& value) { out += named_text(name, value, width); };
  const auto table = [&](TextTable cells) {
    cells.indent = kNameWidth;
    out += lay_out(cells, width);
  };
  if (!plan.points.empty()) line("points", visible(plan.points));
  if (!plan.backend.empty()) line("backend", fmt::format("{}: {}", plan.backend, plan.device));
  line("memory",
       fmt::format("{} at the peak{}, {} of them for the program; {} {}{}", plan.show_memory(),
                   plan.has_range() ? fmt::format(" ({})", plan.memory_reason) : "", show_bytes(plan.program_bytes),
                   show_bytes(plan.limit.bytes), plan.limit.source, device_memory_of(plan)));
  if (!plan.tiers.empty()) {
    TextTable cells{{Align::left, Align::right, Align::right}, {{"rows in", "rows", "bytes"}}};
    for (const Tier& tier : plan.tiers) {
      cells.rows.push_back({tier.name, std::to_string(tier.rows), show_bytes(tier.bytes)});
    }
    table(cells);
  }
  if (!plan.phases.empty()) {
    const bool reads = std::any_of(plan.phases.begin(), plan.phases.end(), [](const auto& p) { return p.passes > 0; });
    TextTable cells{{Align::left, Align::right}, {{"phase", "times"}}};
    if (reads) cells.rows[0].emplace_back("passes");
    if (plan.timed) cells.rows[0].insert(cells.rows[0].end(), {"time", "bound by"});
    for (const PlannedPhase& phase : plan.phases) {
      std::vector<std::string> row{shown_phase(phase.name), times_of(phase)};
      if (reads) row.push_back(std::to_string(phase.passes));
      if (plan.timed) row.insert(row.end(), {phase.seconds > 0.0 ? show_seconds(phase.seconds) : "", phase.bound_by});
      cells.rows.push_back(std::move(row));
    }
    cells.columns.assign(cells.rows[0].size(), Align::right);
    cells.columns.front() = Align::left;
    if (plan.timed) cells.columns.back() = Align::left;
    table(cells);
  }
  const std::string total = fmt::format("{}{}; ", plan.is_limit() ? "at most " : "", show_seconds(plan.seconds()));
  if (!plan.basis.empty()) line("time", (plan.timed ? total : "") + plan.basis);
  if (!plan.advice.empty()) line("advice", plan.advice);
  return out;
}

nlohmann::ordered_json to_object(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json object{{"backend", plan.backend}, {"device", plan.device}, {"threads", plan.threads}};
  object["memory"] = {{"host", plan.host_bytes},
                      {"host_least", plan.least_bytes},
                      {"program", plan.program_bytes},
                      {"limit", plan.limit.bytes},
                      {"device", plan.device_bytes}};
  object["tiers"] = Json::array();
  for (const Tier& tier : plan.tiers) {
    object["tiers"].push_back({{"name", tier.name}, {"rows", tier.rows}, {"bytes", tier.bytes}});
  }
  object["phases"] = Json::array();
  for (const PlannedPhase& phase : plan.phases) {
    Json entry{{"name", phase.name}, {"times", phase.times}, {"at_most", phase.at_most}, {"passes", phase.passes}};
    if (plan.timed && phase.seconds > 0.0) {
      entry["seconds"] = phase.seconds;
      entry["bound_by"] = phase.bound_by;
    }
    object["phases"].push_back(std::move(entry));
  }
  if (plan.timed) object["seconds"] = plan.seconds();
  object["basis"] = plan.basis;
  object["advice"] = plan.advice;
  return object;
}

namespace {

/// k-means|| of so many seeds: all rows are weighed by 1, k + 1, 2 k + 1 and 4 k + 1 candidates.
std::vector<Work> parallel_seeding(std::int64_t seeds, std::int64_t runs) {
  std::vector<Work> rounds;
  for (const std::int64_t candidates : {std::int64_t{1}, seeds, 2 * seeds, 4 * seeds}) {
    rounds.push_back(
        {.phase = "seed", .operation = Operation::assign, .times = runs, .size = candidates, .passes = runs});
  }
  return rounds;
}

// Operations besides the products and differences of the columns themselves.
constexpr double kPrepared = 40;   // of a value: conversion, range, integer grid and sums, as columns of definitions
constexpr double kPacked = 20;     // of a column: centring, rounding, norms and transposing, as float32 multiply-adds
constexpr double kScore = 9;       // of a product: comparing it and moving it through the cache, as the same
constexpr double kBeginning = 20;  // of a row: the beginning and end of its loops, in columns
constexpr double kSeedState = 24;  // bytes of a row in a step of k-means++: its distance, read twice and written

}  // namespace

Cost cost_of(const Work& work, std::int64_t rows, std::int64_t columns, std::int64_t row_bytes,
             const Machine& machine) {
  const auto n = static_cast<double>(rows) * static_cast<double>(work.times);
  const auto d = static_cast<double>(columns), size = static_cast<double>(work.size);
  const double definition = n * (d + kBeginning);
  Cost cost{{.copied = n * static_cast<double>(row_bytes)}};
  cost.steps = static_cast<double>(work.times);
  switch (work.operation) {
    case Operation::prepare:
      cost.copied *= 2.0;
      cost.definitions = n * d * kPrepared;
      return cost;
    case Operation::seed:
      cost.copied += n * kSeedState;
      cost.float32 = n * (kBeginning + size * (d + kScore));
      cost.steps = static_cast<double>(work.passes);
      return cost;
    case Operation::measure:
      cost.definitions = definition * size;
      return cost;
    case Operation::search:
    case Operation::join:
      if (work.at_most) return {};
      [[fallthrough]];
    case Operation::iterate:
    case Operation::assign:
    case Operation::finish:
      // Each row is packed and multiplied with all others, and the distance of the nearest is computed.
      cost.float32 = n * (kPacked * (d + kBeginning) + kScore * size);
      (machine.fp16 > 0.0 ? cost.fp16 : cost.float32) += n * d * size;
      cost.definitions = definition * (work.operation == Operation::finish ? 2.0 : 1.0);
      return cost;
  }
  return cost;
}

Work preparing() { return {.phase = "prepare", .operation = Operation::prepare, .passes = 2}; }

Work simplified_silhouettes(std::int64_t clusters) {
  return {.phase = "score", .operation = Operation::measure, .size = clusters};
}

std::vector<Work> kmeans_work(const KMeansOptions& options) {
  const std::int64_t k = options.clusters, runs = options.runs, iterations = runs * options.max_iterations;
  const std::int64_t seeds = runs * (k - options.frozen.rows - options.known.rows);
  // The inertia around the mean, and with cosine around its direction.
  const std::int64_t spreads = takes_directions(options.metric) ? 2 : 1;
  std::vector<Work> work{
      {.phase = "prepare", .operation = Operation::assign, .times = spreads, .size = 1, .passes = spreads}};
  const auto seed = [&](Operation operation, std::int64_t times, std::int64_t size, std::int64_t passes) {
    work.push_back({.phase = "seed", .operation = operation, .times = times, .size = size, .passes = passes});
  };
  if (seeds > 0 && options.init == Init::kmeans_plus_plus) {
    // Each seed is the best of its candidates: they are read, and then the chosen one.
    const auto candidates = static_cast<std::int64_t>(2 + std::floor(std::log(static_cast<double>(k))));
    seed(Operation::seed, seeds, candidates, 2 * seeds - runs);
  } else if (seeds > 0 && options.init == Init::kmeans_parallel) {
    const std::vector<Work> rounds = parallel_seeding(seeds / runs, runs);
    work.insert(work.end(), rounds.begin(), rounds.end());
  } else if (seeds > 0 && options.init == Init::farthest) {
    seed(Operation::seed, seeds, 1, seeds);
  }
  work.push_back({.phase = "iterate",
                  .operation = Operation::iterate,
                  .times = iterations,
                  .size = k,
                  .passes = iterations,
                  .at_most = true});
  // The nearest rows are those of the best run.
  work.push_back({.phase = "assign", .operation = Operation::finish, .times = runs, .size = k, .passes = runs + 1});
  return work;
}

std::vector<Work> with_parallel_seeding(const std::vector<Work>& work) {
  std::vector<Work> other;
  for (const Work& part : work) {
    const bool is_plus_plus = part.operation == Operation::seed && part.size > 1;
    const std::int64_t runs = 2 * part.times - part.passes;
    const std::vector<Work> parts = is_plus_plus ? parallel_seeding(part.times / runs, runs) : std::vector<Work>{part};
    other.insert(other.end(), parts.begin(), parts.end());
  }
  return other;
}

}  // namespace kith::app
