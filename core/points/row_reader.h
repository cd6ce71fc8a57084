// Rows that are read from a file block by block, once in each pass.
#pragma once

#include <cstddef>
#include <cstdint>
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
};

}  // namespace kith
