// Writes the rows of a source to a scratch file while the next ones are read, and reads them from there.
#include "data/spooled_rows.h"

#include <algorithm>
#include <future>

#include "core/points/row_reader.h"

namespace kith::data {
namespace {

std::int64_t rows_of_block(const PointSource& source, const SpoolOptions& options) {
  const std::int64_t row_bytes = std::max<std::int64_t>(source.columns() * size_of(source.held_as()), 1);
  const std::int64_t rows = std::max({options.block_bytes / row_bytes, options.least_rows, std::int64_t{1}});
  const std::int64_t even = rows < kRowsOfBlocks ? rows : rows / kRowsOfBlocks * kRowsOfBlocks;
  return std::min(even, std::max<std::int64_t>(source.rows(), 1));
}

}  // namespace

SpooledRows::SpooledRows(PointSource& source, const SpoolOptions& options,
                         const std::function<void(std::int64_t rows)>& progress)
    : source_(source), file_(options.folder), columns_(source.columns()), block_rows_(rows_of_block(source, options)) {
  if (options.drop_missing) missing_.emplace(source);
  const std::int64_t all = source.rows();
  file_.require_space(checked_product(all, row_bytes(), source.name().c_str()));
  PointsMatrix buffers[] = {allocate_points(source, block_rows_), allocate_points(source, block_rows_)};
  std::future<void> written;  // of the block before
  for (std::int64_t first = 0; first < all; first += block_rows_) {
    const auto fill = [&](auto& values) {
      const auto block = values.view().middle(0, std::min(block_rows_, all - first));
      source.read(first, block);
      const std::int64_t kept = drop_missing(block, first);
      if (written.valid()) written.get();
      written = std::async(
          [this, block, kept, at = rows_] { file_.write(at * row_bytes(), block.data, kept * row_bytes()); });
      rows_ += kept;
      progress(first + block.rows);
    };
    std::visit(fill, buffers[first / block_rows_ % 2]);
  }
  if (written.valid()) written.get();
  if (missing_) missing_->check();
}

/// Moves the rows that are kept to the front of the block, and returns their number.
template <class T>
std::int64_t SpooledRows::drop_missing(MatrixView<T> block, std::int64_t first) {
  if (!missing_) return block.rows;
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    if (!missing_->keep<T>(block.row(i), first + i)) continue;
    if (kept < i) std::copy(block.row(i).begin(), block.row(i).end(), block.row(kept).begin());
    ++kept;
  }
  return kept;
}

void SpooledRows::for_blocks(const Visit& visit) {
  for (std::int64_t first = 0; first < rows_; first += block_rows_) {
    PointsMatrix block = allocate_points(*this, std::min(block_rows_, rows_ - first));
    std::visit([&](auto& values) { read(first, values.view()); }, block);
    visit(block, first);
  }
}

void SpooledRows::rewrite(const Visit& change) {
  std::int64_t columns = columns_;
  for_blocks([&](PointsMatrix& block, std::int64_t first) {
    change(block, first);
    std::visit(
        [&](const auto& values) {
          columns = values.columns();
          const std::int64_t of_row = columns * size_of(held_as());
          file_.write(first * of_row, values.data(), values.rows() * of_row);  // not beyond what has been read
        },
        block);
  });
  columns_ = columns;
}

}  // namespace kith::data
