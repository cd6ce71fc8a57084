// Reads rows in parts that stay in the cache, and converts and scales each part with several threads.
#include "data/format/directions.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/numbers/metric.h"
#include "data/format/source_filter.h"
#include "data/io/block_readers.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

class WideRows final : public SourceFilter {
 public:
  WideRows(std::unique_ptr<PointSource> inner, const ReadOptions& options)
      : SourceFilter(std::move(inner)),
        scales_(options.form == RowForm::directions),
        drops_(options.missing == Missing::keep && options.fill == Fill::none),
        offers_(options.missing != Missing::refuse),
        threads_(options.threads) {
    constexpr std::int64_t kLeast = std::int64_t{256} << 10, kMost = std::int64_t{16} << 20, kShare = 64;
    part_bytes_ = std::clamp(memory_limit() / kShare, kLeast, kMost);
  }

  Number held_as() const override { return Number::float64; }
  std::int64_t held_bytes() const override { return inner_->held_bytes() + part_bytes_; }
  void read(std::int64_t, MatrixView<float>) override {
    throw Error(ExitCode::internal, name() + ": cannot read float32 values: the rows are held as float64");
  }
  void read(std::int64_t first, MatrixView<double> out) override {
    check_request(*this, first, out);
    if (value_class() == ValueClass::f64) {
      inner_->read(first, out);
      return convert_rows<double>(first, out, out);
    }
    const std::int64_t row_bytes = std::max<std::int64_t>(columns() * 4, 1);
    const std::int64_t part = std::clamp<std::int64_t>(part_bytes_ / row_bytes, 1, std::max<std::int64_t>(out.rows, 1));
    const auto narrow = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(part * columns()));
    for (std::int64_t begin = 0; begin < out.rows; begin += part) {
      const std::int64_t rows = std::min(part, out.rows - begin);
      const MatrixView<float> in{narrow.get(), rows, columns()};
      inner_->read(first + begin, in);
      convert_rows<float>(first + begin, in, out.middle(begin, rows));
    }
  }

 private:
  template <class T>
  void convert_rows(std::int64_t first, MatrixView<const T> in, MatrixView<double> out) {
    constexpr std::int64_t kBlockBytes = std::int64_t{256} << 10;
    const std::int64_t block = std::max<std::int64_t>(kBlockBytes / std::max<std::int64_t>(columns() * 8, 1), 1);
    read_in_blocks((in.rows + block - 1) / block, threads_, [&](std::int64_t number, Matrix<std::byte>&) {
      const std::int64_t begin = number * block, rows = std::min(block, in.rows - begin);
      const MatrixView<const T> some = in.middle(begin, rows);
      const MatrixView<double> to = out.middle(begin, rows);
      if (scales_) {
        const RowPlace place{name(), first + begin, "--metric cosine",
                             offers_ ? "remove the row, or give --nan drop" : "remove the row"};
        write_directions(some, to, place, drops_);
      } else if constexpr (std::is_same_v<T, float>) {
        std::copy(some.data, some.data + some.size(), to.data);
      }
    });
  }

  bool scales_, drops_, offers_;
  int threads_;
  std::int64_t part_bytes_ = 0;  // of rows that are converted at a time
};

}  // namespace

std::unique_ptr<PointSource> in_form(std::unique_ptr<PointSource> source, const ReadOptions& options) {
  const bool is_wide = source->held_as() == Number::float64;
  if (options.form == RowForm::as_read || (options.form == RowForm::wide && is_wide)) return source;
  return std::make_unique<WideRows>(std::move(source), options);
}

}  // namespace kith::data
