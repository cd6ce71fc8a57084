// Rows in memory behind the interface of rows in a file.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <span>

#include "core/points/row_reader.h"

namespace kith::test {

/// Rows in memory, read in blocks of a few.
class MemoryReader final : public RowReader {
 public:
  MemoryReader(PointsView values, std::int64_t block) : values_(values), block_(block) {}
  std::int64_t rows() const override { return rows_of(values_); }
  std::int64_t columns() const override { return columns_of(values_); }
  void begin(std::int64_t first) override {
    next_ = first;
    ++passes;
  }
  PointsView next() override {
    const std::int64_t first = next_;
    next_ = std::min(first + block_, rows());
    return part(first, next_ - first);
  }
  PointsMatrix gather(std::span<const std::int64_t> chosen) override {
    return std::visit(
        [&]<class T>(MatrixView<const T> all) -> PointsMatrix {
          Matrix<T> copy(std::ssize(chosen), all.columns);
          for (std::int64_t i = 0; i < copy.rows(); ++i) {
            const auto row = all.row(chosen[static_cast<std::size_t>(i)]);
            std::copy(row.begin(), row.end(), copy.row(i).begin());
          }
          return copy;
        },
        values_);
  }
  PointsView part(std::int64_t first, std::int64_t count) const {
    return std::visit([&](const auto& all) -> PointsView { return all.middle(first, count); }, values_);
  }

  bool is_shared() const override { return true; }
  void read(std::int64_t first, std::int64_t count, std::byte* out) override {
    if (reads++ >= most_reads) throw Error(ExitCode::data, "the file has changed");
    std::visit(
        [&]<class T>(MatrixView<const T> all) {
          std::memcpy(out, all.row(first).data(), static_cast<std::size_t>(count * all.columns) * sizeof(T));
        },
        values_);
  }
  /// (n, d) without memory, as for points that are read by a device.
  PointsView shape() const {
    return std::visit(
        [&]<class T>(MatrixView<const T> all) -> PointsView {
          return MatrixView<const T>{nullptr, all.rows, all.columns};
        },
        values_);
  }

  std::int64_t passes = 0;
  std::atomic<std::int64_t> reads = 0;
  std::int64_t most_reads = std::numeric_limits<std::int64_t>::max();  // by several threads, before one fails

 private:
  PointsView values_;
  std::int64_t block_, next_ = 0;
};

}  // namespace kith::test
