// The plan of a run, from its sizes and the rates of the machine, and its comparison with the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/plan/plan.h"
#include "app/run/job.h"
#include "app/run/memory.h"

namespace kith::app {

/// Host bytes of a run at its peak.
struct MemoryUse {
  std::int64_t least = 0, most = 0;  // by the values of the points
  std::string reason;                // what the difference depends on, as in "by the search that the data allow"
};

/// A run before it reads values; its backend is open.
struct PlanRequest {
  const data::PointSource* source = nullptr;   // null: no points
  const data::PointSource* queries = nullptr;  // null: none
  std::vector<Work> work;                      // empty: times and passes are not known
  std::optional<StreamPlan> stream;
  std::int64_t required_bytes = 0;  // of host memory with all rows in memory
  MemoryUse use;                    // the same as the run will use it; in passes only required_bytes counts
  std::int64_t held_row_bytes = 0;  // of these, for each row, those that only rows in memory take
  std::int64_t program_bytes = 0;   // of host memory that is in use already
  data::MemoryLimit limit;          // of the required bytes
  std::int64_t result_bytes = 0;    // of the output
};

Plan estimate(const PlanRequest& request, const Job& job);

/// The plan beside what the report measured, for as many iterations as there were.
std::string compared(const Plan& plan, const Report& report);

}  // namespace kith::app
