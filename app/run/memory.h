// Host memory of a run: the check that it fits before it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/common_options.h"
#include "app/run/weighting.h"
#include "data/format/point_source.h"
#include "data/io/memory_limit.h"

namespace kith::app {

/// `requested` bytes if not 0, else what is free now; with several processes, the least that one of them had free when
/// use_agreed_memory() was called, so that all of them decide alike.
data::MemoryLimit memory_limit(std::int64_t requested);
void use_agreed_memory();

/// Throws as data::require_memory() does if a run does not fit; `needed` are all of its bytes, also those that it holds
/// already.
void require_memory(std::int64_t needed, const std::string& what, std::int64_t requested);

/// Largest resident size of this process so far, in bytes.
std::int64_t peak_memory();

/// How the rows of points are kept.
struct StreamPlan {
  std::int64_t held_rows = 0;    // the first rows, which stay in memory; at least one
  std::int64_t block_bytes = 0;  // of each buffer for the other rows
  std::int64_t bytes = 0;        // of the rows that stay, with what a backend takes for them, and the buffers
  bool spools = false;           // all rows are written to a file of --scratch first, and read from there
  /// The memory suffices: the plan is only for a device with its own memory that reads the rows from the file itself.
  bool optional = false;
  /// As in PointBlock: the rows are read by the first search, without passes before it.
  bool only_searched = false;
};

/// Why the rows of these points cannot be read in passes at all; empty if they can.
std::string why_not_streamed(const std::optional<Weighting>& weighting);
/// Why the rows and their number are known only after all of them have been read; empty if they are known before.
std::string why_counted(const CommonOptions& common);
/// Why they cannot be read from their own file in passes, but from one of --scratch; empty if they can.
std::string why_spooled(const data::PointSource& source, const CommonOptions& common, bool prepared);

/// The plan for rows that fit into memory, by which a device with its own memory may read them from the file.
StreamPlan optional_stream();

/// The least memory for values with which rows are read in passes.
std::int64_t least_stream_bytes(const data::PointSource& source);

/// A plan for `rows` rows of a source and `bytes` of memory for values, and for held_row_bytes of each row that stays;
/// nothing if they do not suffice for the buffers.
std::optional<StreamPlan> plan_stream(const data::PointSource& source, std::int64_t rows, std::int64_t held_row_bytes,
                                      std::int64_t bytes);

/// Rows behind the held ones that the page cache cannot keep from pass to pass are read past it from now on: a scan
/// of more than it holds finds nothing in it.
void bypass_full_cache(data::PointSource& source, std::int64_t held_rows);

}  // namespace kith::app
