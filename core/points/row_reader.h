// Rows that are visited block by block, once in each pass: those of a file, some of these, or those of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/error.h"
#include "core/points/matrix.h"

namespace kith {

/// Reads the rows of a data set in order, as often as they are needed. One caller at a time.
class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  /// Begins a pass at row `first`; a pass that has not reached the last row ends.
  virtual void begin(std::int64_t first) = 0;
  /// The next rows of the pass, valid until the next call; no rows after the last one. Throws Error(data) if the file
  /// cannot be read or is not that of the passes before.
  virtual PointsView next() = 0;
  /// Rows with these numbers, in this order: (rows.size(), d), of the type of the blocks.
  virtual PointsMatrix gather(std::span<const std::int64_t> rows) = 0;
  /// Whether read() works, and may be called by several threads at the same time.
  virtual bool is_shared() const { return false; }
  /// Copies rows first .. first + count - 1, of the type of the blocks, outside of any pass. Throws as next().
  virtual void read(std::int64_t /*first*/, std::int64_t /*count*/, std::byte* /*out*/) {
    throw Error(ExitCode::internal, "these rows are read by one thread");
  }
  /// The rows (n, d) in the memory of a GPU, where a backend reads them itself; null: they are elsewhere.
  virtual const void* gpu_memory() const { return nullptr; }
};

/// Rows that several threads read() at a time, and nobody in passes.
class SharedReader : public RowReader {
 public:
  void begin(std::int64_t) override { refuse(); }
  PointsView next() override { refuse(); }
  PointsMatrix gather(std::span<const std::int64_t>) override { refuse(); }
  bool is_shared() const override { return true; }

 private:
  [[noreturn]] static void refuse() { throw Error(ExitCode::internal, "these rows are not read in passes"); }
};

/// Rows first .. first + count - 1 of a reader, of which several threads read() at a time.
class RangeReader final : public SharedReader {
 public:
  RangeReader(RowReader& all, std::int64_t first, std::int64_t count) : all_(all), first_(first), count_(count) {}
  std::int64_t rows() const override { return count_; }
  std::int64_t columns() const override { return all_.columns(); }
  void read(std::int64_t first, std::int64_t count, std::byte* out) override { all_.read(first_ + first, count, out); }

 private:
  RowReader& all_;
  std::int64_t first_, count_;
};

struct RowBlocks {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  /// Calls visit(block) for blocks of rows in order. All blocks but the last have a multiple of kRowsOfBlocks rows.
  std::function<void(const std::function<void(const PointsView& block)>& visit)> pass;
};

inline constexpr std::int64_t kRowsOfBlocks = 256;

/// All rows of a matrix as one block.
inline RowBlocks one_block(const PointsView& values) {
  return {rows_of(values), columns_of(values), [values](const auto& visit) { visit(values); }};
}

}  // namespace kith
