// The plan of a run as text and as JSON.
#include "app/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
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
  constexpr std::size_t kNameWidth = 11;
  std::string out;
  const auto line = [&](const char* name, const std::string& value) {
    out += hang(fmt::format("{:<{}}", name, kNameWidth), wrap(value, width - kNameWidth));
  };
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

}  // namespace kith::app
