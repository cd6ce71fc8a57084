// Points that do not fit into memory: which of their rows stay there, and which are read again in each pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/common_options.h"
#include "app/run/weighting.h"
#include "data/format/point_source.h"

namespace kith::app {

/// How the rows of points are kept.
struct StreamPlan {
  std::int64_t held_rows = 0;    // the first rows, which stay in memory; at least one
  std::int64_t block_bytes = 0;  // of each buffer for the other rows
  std::int64_t bytes = 0;        // of the rows that stay and the buffers
};

/// Why the rows of these points cannot be read more than once; empty if they can.
std::string why_not_streamed(const data::PointSource& source, const CommonOptions& common,
                             const std::optional<Weighting>& weighting);

/// A plan for `bytes` of memory for values; nothing if they do not suffice for the buffers.
std::optional<StreamPlan> plan_stream(const data::PointSource& source, std::int64_t bytes);

}  // namespace kith::app
