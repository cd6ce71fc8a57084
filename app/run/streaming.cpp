// Divides the memory for values between rows that stay and the buffers for the others.
#include "app/run/streaming.h"

#include <algorithm>

#include "app/run/preparation.h"
#include "data/file_rows.h"

namespace kith::app {

std::string why_not_streamed(const data::PointSource& source, const CommonOptions& common,
                             const std::optional<Weighting>& weighting) {
  if (!source.reads_any_rows()) {
    return "text, sparse, transposed and compressed files cannot be read more than once; convert the points with "
           "numpy.save or h5py";
  }
  if (!preparation_request(common).is_none()) return "--scale and --pca need all rows in memory";
  if (common.nan == "drop") return "--nan drop needs all rows in memory";
  if (common.precision == "f32") return "--precision f32 counts the values that it changes in memory";
  if (weighting && weighting->absent > 0) return "rows of weight 0 need all rows in memory; remove them from the file";
  return "";
}

std::optional<StreamPlan> plan_stream(const data::PointSource& source, std::int64_t bytes) {
  constexpr std::int64_t kLeastBlock = std::int64_t{1} << 20, kMostBlock = std::int64_t{64} << 20;
  constexpr std::int64_t kShare = 16;                          // of the memory for a buffer
  constexpr std::int64_t kUses = data::FileRows::kBlocks + 3;  // buffers, and what a backend keeps of two blocks
  const std::int64_t row_bytes = source.columns() * data::size_of(source.held_as());
  const std::int64_t block = std::max(std::clamp(bytes / kShare, kLeastBlock, kMostBlock), row_bytes);
  const std::int64_t left = bytes - kUses * block;
  if (left < row_bytes) return std::nullopt;
  const std::int64_t held = std::clamp<std::int64_t>(left / row_bytes, 1, source.rows());
  return StreamPlan{held, block, held * row_bytes + data::FileRows::kBlocks * block};
}

}  // namespace kith::app
