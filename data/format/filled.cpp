// Finds what replaces the missing values of each column, in the order of the rows, and replaces them as rows are read.
#include "data/format/filled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/format/source_filter.h"

namespace kith::data {
namespace {

class Filled final : public SourceFilter {
 public:
  Filled(std::unique_ptr<PointSource> inner, Fill fill) : SourceFilter(std::move(inner)), fill_(fill) {}

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = inner_->remarks();
    if (!remark_.empty()) remarks.push_back(remark_);
    return remarks;
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    std::call_once(found_, [this] { find_values<T>(); });
    inner_->read(first, out);
    for (std::int64_t i = 0; i < out.rows; ++i) {
      for (std::int64_t j = 0; j < out.columns; ++j) {
        if (!std::isfinite(out(i, j))) out(i, j) = static_cast<T>(value_[static_cast<std::size_t>(j)]);
      }
    }
  }

  template <class T>
  void find_values() {
    const auto d = static_cast<std::size_t>(columns());
    value_.assign(d, 0.0);
    std::vector<std::int64_t> present(d, 0);
    fill_ == Fill::mean ? find_means<T>(present) : find_medians<T>(present);
    describe(present);
  }

  /// present: counts the values of each column that are there.
  template <class T>
  void find_means(std::vector<std::int64_t>& present) {
    constexpr std::int64_t kBlockValues = std::int64_t{1} << 20;
    Matrix<T> block(std::clamp<std::int64_t>(kBlockValues / columns(), 1, rows()), columns());
    for (std::int64_t first = 0; first < rows(); first += block.rows()) {
      const MatrixView<T> some = block.view().middle(0, std::min(block.rows(), rows() - first));
      inner_->read(first, some);
      for (std::int64_t i = 0; i < some.rows; ++i) {
        for (std::int64_t j = 0; j < some.columns; ++j) {
          if (!std::isfinite(some(i, j))) continue;
          // A running mean, which cannot overflow.
          double& mean = value_[static_cast<std::size_t>(j)];
          const auto count = static_cast<double>(++present[static_cast<std::size_t>(j)]);
          mean += (static_cast<double>(some(i, j)) - mean) / count;
        }
      }
    }
  }

  template <class T>
  void find_medians(std::vector<std::int64_t>& present) {
    Matrix<T> all(rows(), columns());
    inner_->read(0, all.view());
    std::vector<T> column;
    for (std::int64_t j = 0; j < columns(); ++j) {
      column.clear();
      for (std::int64_t i = 0; i < rows(); ++i) {
        if (std::isfinite(all(i, j))) column.push_back(all(i, j));
      }
      present[static_cast<std::size_t>(j)] = std::ssize(column);
      if (column.empty()) continue;
      const auto middle = column.begin() + std::ssize(column) / 2;
      std::nth_element(column.begin(), middle, column.end());
      const auto upper = static_cast<double>(*middle);
      const double lower =
          column.size() % 2 == 1 ? upper : static_cast<double>(*std::max_element(column.begin(), middle));
      value_[static_cast<std::size_t>(j)] = lower + (upper - lower) / 2;
    }
  }

  /// Says what was replaced; refuses columns without values.
  void describe(const std::vector<std::int64_t>& present) {
    constexpr std::size_t kShown = 8;
    std::int64_t missing = 0;
    std::vector<std::string> shown;
    for (std::int64_t j = 0; j < columns(); ++j) {
      const std::int64_t here = present[static_cast<std::size_t>(j)];
      if (here == rows()) continue;
      if (here == 0) {
        throw Error(ExitCode::data,
                    fmt::format("{}: expected values in {}, found none; leave it out with "
                                "--drop-columns {}",
                                name(), show_column(column_names(), j), option_text(column_names(), j)));
      }
      missing += rows() - here;
      shown.push_back(fmt::format("{}: {}", show_column(column_names(), j), value_[static_cast<std::size_t>(j)]));
    }
    if (missing == 0) return;
    remark_ = fmt::format("{} missing values were replaced by the {} of their column ({})", missing,
                          fill_ == Fill::mean ? "mean" : "median", show_list(shown, kShown));
  }

  Fill fill_;
  std::once_flag found_;
  std::vector<double> value_;  // (columns)
  std::string remark_;
};

}  // namespace

std::unique_ptr<PointSource> filled(std::unique_ptr<PointSource> source, Fill fill) {
  const bool is_float = source->held_as() == Number::float32 || source->held_as() == Number::float64;
  if (fill == Fill::none || !is_float) return source;
  return std::make_unique<Filled>(std::move(source), fill);
}

}  // namespace kith::data
