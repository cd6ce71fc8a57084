// Some of the rows of a reader, as rows of their own.
#pragma once

#include "core/points/row_reader.h"

namespace kith {

/// Rows first .. first + count - 1 of a reader, of which several threads read() at a time; not read in passes.
class PartReader final : public RowReader {
 public:
  PartReader(RowReader& all, std::int64_t first, std::int64_t count) : all_(all), first_(first), count_(count) {}
  std::int64_t rows() const override { return count_; }
  std::int64_t columns() const override { return all_.columns(); }
  void begin(std::int64_t) override { refuse(); }
  PointsView next() override { refuse(); }
  PointsMatrix gather(std::span<const std::int64_t>) override { refuse(); }
  bool is_shared() const override { return true; }
  void read(std::int64_t first, std::int64_t count, std::byte* out) override { all_.read(first_ + first, count, out); }

 private:
  [[noreturn]] static void refuse() { throw Error(ExitCode::internal, "parts of rows are not read in passes"); }

  RowReader& all_;
  std::int64_t first_, count_;
};

}  // namespace kith
