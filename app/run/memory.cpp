// Host memory of a run: the check that it fits before it starts.
#include "app/run/memory.h"

#include <sys/resource.h>

#include <algorithm>

#include "app/run/dropped_rows.h"
#include "app/run/preparation.h"
#include "app/run/processes.h"
#include "data/file_rows.h"

namespace kith::app {
namespace {

std::int64_t agreed_bytes = 0;  // free memory that every process assumes; 0: there is one process

constexpr std::int64_t kLeastBlock = std::int64_t{1} << 20, kMostBlock = std::int64_t{64} << 20;
constexpr std::int64_t kUses = data::FileRows::kBlocks + 3;  // buffers, and what a backend keeps of two blocks

std::int64_t row_bytes_of(const data::PointSource& source) {
  return source.columns() * data::size_of(source.held_as());
}

}  // namespace

void use_agreed_memory() {
  if (processes().is_alone()) return;
  double least = -static_cast<double>(data::free_memory().bytes / sharing().memory);
  processes().take_largest({&least, 1});
  agreed_bytes = static_cast<std::int64_t>(-least);
}

data::MemoryLimit memory_limit(std::int64_t requested) {
  if (requested > 0) return {requested, "allowed by --memory"};
  return agreed_bytes > 0 ? data::MemoryLimit{agreed_bytes, "free for each process"} : data::free_memory();
}

void require_memory(std::int64_t needed, const std::string& what, std::int64_t requested) {
  data::require_memory(needed, what, memory_limit(requested));
}

std::int64_t peak_memory() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_maxrss) * 1024 : 0;
}

std::string why_not_streamed(const std::optional<Weighting>& weighting) {
  if (weighting && weighting->absent > 0) return "rows of weight 0 need all rows in memory; remove them from the file";
  return "";
}

std::string why_counted(const CommonOptions& common) {
  if (may_drop_rows(common)) {  // rows without any value, too
    return "--nan " + common.nan + " changes the numbers of rows" +
           (common.nan == "drop" ? "" : " if some have no value");
  }
  return common.precision == "f32" ? "--precision f32 counts the values that it changes" : "";
}

std::string why_spooled(const data::PointSource& source, const CommonOptions& common, bool prepared) {
  if (const std::string kind = source.only_in_order(); !kind.empty()) return kind;
  if (prepared || prepares(common)) return "rows are prepared once, after they have been read";
  return why_counted(common);
}

void bypass_full_cache(data::PointSource& source, std::int64_t held_rows) {
  constexpr double kShare = 0.8;  // of the free memory: the cache also keeps other files
  const double row_bytes = static_cast<double>(source.file_bytes()) / static_cast<double>(source.rows());
  const double cached = kShare * static_cast<double>(data::free_memory().bytes) / row_bytes;
  if (static_cast<double>(source.rows() - held_rows) <= cached) return;
  source.bypass_cache_from(held_rows + static_cast<std::int64_t>(cached));
}

StreamPlan optional_stream() { return {.held_rows = 1, .block_bytes = kMostBlock, .optional = true}; }

std::int64_t least_stream_bytes(const data::PointSource& source) {
  const std::int64_t row_bytes = row_bytes_of(source);
  return kUses * std::max(kLeastBlock, row_bytes) + row_bytes;
}

std::optional<StreamPlan> plan_stream(const data::PointSource& source, std::int64_t rows, std::int64_t held_row_bytes,
                                      std::int64_t bytes) {
  constexpr std::int64_t kShare = 16;  // of the memory for a buffer
  const std::int64_t row_bytes = row_bytes_of(source);
  const std::int64_t block = std::max(std::clamp(bytes / kShare, kLeastBlock, kMostBlock), row_bytes);
  const std::int64_t left = bytes - kUses * block;
  if (left < row_bytes) return std::nullopt;
  const std::int64_t held = std::clamp<std::int64_t>(left / (row_bytes + held_row_bytes), 1, rows);
  return StreamPlan{held, block, held * (row_bytes + held_row_bytes) + data::FileRows::kBlocks * block};
}

}  // namespace kith::app
