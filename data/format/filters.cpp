// Choose columns, exchange rows and columns, fill in missing values, and scale rows, block by block as rows are read.
#include "data/format/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "core/numbers/metric.h"
#include "core/numbers/places.h"
#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/format/table_model.h"
#include "data/io/input_bytes.h"
#include "data/io/memory_limit.h"
#include "data/io/scratch_file.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

/// A column as an option names it.
std::string option_of(const ColumnModel& column) {
  const bool usable = !column.name.empty() && option_text({column.name}, 0) == column.name;
  return usable ? column.name : std::to_string(column.number);
}

/// Some columns of another source.
class ChosenColumns final : public SourceFilter {
 public:
  ChosenColumns(std::unique_ptr<PointSource> inner, std::vector<std::int64_t> chosen, Missing missing)
      : SourceFilter(std::move(inner)), chosen_(std::move(chosen)), missing_(missing) {
    constexpr std::int64_t kLeast = std::int64_t{1} << 20, kMost = std::int64_t{32} << 20, kShare = 16;
    block_bytes_ = std::clamp(memory_limit() / kShare, kLeast, kMost);
  }

  std::int64_t columns() const override { return std::ssize(chosen_); }
  std::int64_t held_bytes() const override { return inner_->held_bytes() + block_bytes_; }
  bool is_shared() const override { return false; }  // each thread would hold whole rows
  bool has_chosen_columns() const override { return true; }
  std::vector<std::string> column_names() const override {
    const std::vector<std::string> all = inner_->column_names();
    std::vector<std::string> names;
    if (all.empty()) return names;
    for (const std::int64_t j : chosen_) names.push_back(all[static_cast<std::size_t>(j)]);
    return names;
  }
  std::shared_ptr<const TableModel> table() const override {
    const TableModel whole = table_of(*inner_);
    TableModel table{.table_columns = whole.table_columns};
    std::vector<bool> is_chosen(whole.columns.size());
    for (const std::int64_t j : chosen_) {
      table.columns.push_back(whole.columns[static_cast<std::size_t>(j)]);
      is_chosen[static_cast<std::size_t>(j)] = true;
    }
    for (std::size_t j = 0; j < is_chosen.size(); ++j) {
      if (!is_chosen[j] && !whole.columns[j].name.empty()) table.excluded.push_back(whole.columns[j].name);
    }
    return std::make_shared<const TableModel>(std::move(table));
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    const std::int64_t row_bytes = inner_->columns() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t block =
        std::clamp<std::int64_t>(block_bytes_ / row_bytes, 1, std::max<std::int64_t>(1, out.rows));
    Matrix<T> whole(block, inner_->columns());
    for (std::int64_t begin = 0; begin < out.rows; begin += block) {
      const std::int64_t rows = std::min(block, out.rows - begin);
      bool are_finite = true;
      inner_->read(first + begin, whole.view().middle(0, rows));
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < chosen_.size(); ++j) {
          const T value = whole(i, chosen_[j]);
          are_finite = are_finite & (value - value == T{0});
          out(begin + i, static_cast<std::int64_t>(j)) = value;
        }
      }
      if (!are_finite) require_finite(out.middle(begin, rows), missing_, name(), first + begin, chosen_);
    }
  }

  std::vector<std::int64_t> chosen_;
  Missing missing_;               // of the chosen columns: the source may keep what all columns lack
  std::int64_t block_bytes_ = 0;  // of whole rows at a time
};

}  // namespace

std::int64_t RowRange::file_bytes() const {
  const double share = static_cast<double>(count_) / static_cast<double>(std::max<std::int64_t>(inner_->rows(), 1));
  return static_cast<std::int64_t>(static_cast<double>(inner_->file_bytes()) * share);
}

std::unique_ptr<PointSource> with_columns(std::unique_ptr<PointSource> source, const ReadOptions& given) {
  if (source->has_chosen_columns()) return source;
  const std::vector<std::string> names = source->column_names();
  const ReadOptions options = with_columns_of_model(without_id_of_model(given), !names.empty(), source->columns());
  refuse_kept_columns(options, source->name());
  const bool chooses = !options.columns.empty() || !options.drop_columns.empty();
  if (!chooses && names == options.like) return source;
  ReadOptions of_numbers = options;  // joined columns hold texts, which are elsewhere
  of_numbers.joined.clear();
  ColumnChoice choice = choose_columns(of_numbers, names, source->columns(), source->name());
  const bool are_all = std::ssize(choice.points) == source->columns() && std::ranges::is_sorted(choice.points);
  if (are_all && !chooses) return source;
  return std::make_unique<ChosenColumns>(std::move(source), std::move(choice.points), given.missing);
}

std::unique_ptr<PointSource> with_checked_values(std::unique_ptr<PointSource> source, Missing missing) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(source->columns()));
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<ChosenColumns>(std::move(source), std::move(all), missing);
}

namespace {

class WideRows final : public SourceFilter {
 public:
  WideRows(std::unique_ptr<PointSource> inner, const ReadOptions& options)
      : SourceFilter(std::move(inner)),
        form_(options.form),
        drops_(options.missing == Missing::keep),
        offers_(options.missing != Missing::refuse),
        threads_(options.threads) {
    constexpr std::int64_t kLeast = std::int64_t{256} << 10, kMost = std::int64_t{16} << 20, kShare = 64;
    part_bytes_ = std::clamp(memory_limit() / kShare, kLeast, kMost);
  }

  Number held_as() const override { return Number::float64; }
  std::int64_t columns() const override { return are_places() ? kPlaceColumns : inner_->columns(); }
  std::int64_t columns_in_file() const override { return inner_->columns(); }
  /// Places have their distances in float64, whatever their degrees are.
  ValueClass value_class() const override { return are_places() ? ValueClass::f64 : inner_->value_class(); }
  std::int64_t held_bytes() const override { return inner_->held_bytes() + part_bytes_; }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> all = inner_->remarks();
    if (are_places() && !are_degrees_ && rows() >= kFewPlaces) all.emplace_back(kLikeRadians);
    return all;
  }
  void read(std::int64_t, MatrixView<float>) override {
    throw Error(ExitCode::internal, name() + ": cannot read float32 values: the rows are held as float64");
  }
  void read(std::int64_t first, MatrixView<double> out) override {
    check_request(*this, first, out);
    if (inner_->value_class() == ValueClass::f32) return read_parts<float>(first, out);
    if (are_places()) return read_parts<double>(first, out);
    inner_->read(first, out);
    convert_rows<double>(first, out, out);
  }

 private:
  bool are_places() const { return form_ == RowForm::places; }

  template <class T>
  void read_parts(std::int64_t first, MatrixView<double> out) {
    const std::int64_t columns = inner_->columns(), row_bytes = std::max<std::int64_t>(columns * sizeof(T), 1);
    const std::int64_t part = std::clamp<std::int64_t>(part_bytes_ / row_bytes, 1, std::max<std::int64_t>(out.rows, 1));
    const auto read = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(part * columns));
    for (std::int64_t begin = 0; begin < out.rows; begin += part) {
      const std::int64_t rows = std::min(part, out.rows - begin);
      const MatrixView<T> in{read.get(), rows, columns};
      inner_->read(first + begin, in);
      convert_rows<T>(first + begin, in, out.middle(begin, rows));
    }
  }

  template <class T>
  void convert_rows(std::int64_t first, MatrixView<const T> in, MatrixView<double> out) {
    constexpr std::int64_t kBlockBytes = std::int64_t{256} << 10;
    const std::int64_t block = std::max<std::int64_t>(kBlockBytes / std::max<std::int64_t>(columns() * 8, 1), 1);
    read_in_blocks((in.rows + block - 1) / block, threads_, [&](std::int64_t number, Matrix<std::byte>&) {
      const std::int64_t begin = number * block, rows = std::min(block, in.rows - begin);
      const MatrixView<const T> some = in.middle(begin, rows);
      const MatrixView<double> to = out.middle(begin, rows);
      const RowPlace place{name(), first + begin,
                           form_ == RowForm::deviations ? "--metric correlation" : "--metric cosine",
                           offers_ ? "remove the row, or give --nan drop" : "remove the row"};
      if (are_places()) {
        write_places(some, to, place, drops_);
        if (!are_degrees_ && exceed_radians<T>(some)) are_degrees_ = true;
      } else if (form_ != RowForm::wide) {
        write_directions(some, to, place, {.drops = drops_, .deviates = form_ == RowForm::deviations});
      } else if constexpr (std::is_same_v<T, float>) {
        std::copy(some.data, some.data + some.size(), to.data);
      }
    });
  }

  RowForm form_;
  bool drops_, offers_;
  int threads_;
  std::int64_t part_bytes_ = 0;            // of rows that are converted at a time
  std::atomic<bool> are_degrees_ = false;  // of places: no radians
};

}  // namespace

std::unique_ptr<PointSource> in_form(std::unique_ptr<PointSource> source, const ReadOptions& options) {
  if (options.form == RowForm::bits) return as_bits(std::move(source), options);
  const bool is_wide = source->held_as() == Number::float64;
  if (options.form == RowForm::as_read || (options.form == RowForm::wide && is_wide)) return source;
  if (options.form == RowForm::places && source->columns() != 2) {
    throw Error(ExitCode::usage,
                fmt::format("{}: expected two columns for --metric haversine, latitude and longitude in "
                            "degrees, found {}; give --columns LATITUDE,LONGITUDE",
                            source->name(), source->columns()));
  }
  return std::make_unique<WideRows>(std::move(source), options);
}

namespace {

class WithoutNumbers final : public SourceFilter {
 public:
  WithoutNumbers(std::unique_ptr<PointSource> inner, std::vector<double> numbers)
      : SourceFilter(std::move(inner)), numbers_(std::move(numbers)) {}

  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    inner_->read(first, out);
    for (const double number : numbers_) {  // -999.9 of float32 values is the float32 nearest to it
      std::replace(out.data, out.data + out.size(), static_cast<T>(number), std::numeric_limits<T>::quiet_NaN());
    }
  }

  std::vector<double> numbers_;
};

}  // namespace

std::unique_ptr<PointSource> without_numbers(std::unique_ptr<PointSource> source, std::vector<double> numbers) {
  return std::make_unique<WithoutNumbers>(std::move(source), std::move(numbers));
}

// Finds what replaces the missing values of each column, in the order of the rows, and replaces them as rows are read.

namespace {

class Filled final : public SourceFilter {
 public:
  Filled(std::unique_ptr<PointSource> inner, Fill fill)
      : SourceFilter(std::move(inner)), fill_(fill), table_(std::make_shared<TableModel>(table_of(*inner_))) {}
  Filled(std::unique_ptr<PointSource> inner, const std::shared_ptr<const TableModel>& model)
      : SourceFilter(std::move(inner)), table_(std::make_shared<TableModel>(*model)), value_(model->fills()) {}

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = inner_->remarks();
    if (!remark_.empty()) remarks.push_back(remark_);
    return remarks;
  }
  std::shared_ptr<const TableModel> table() const override { return table_; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    std::call_once(found_, [this] {
      if (fill_ != Fill::none) find_values<T>();
    });
    inner_->read(first, out);
    for (std::int64_t i = 0; i < out.rows; ++i) {
      if (!has_value<T>(out.row(i))) continue;  // the row is dropped
      for (std::int64_t j = 0; j < out.columns; ++j) {
        if (!std::isfinite(out(i, j))) out(i, j) = static_cast<T>(value_[static_cast<std::size_t>(j)]);
      }
    }
  }

  template <class T>
  static bool has_value(std::span<const T> row) {
    return std::any_of(row.begin(), row.end(), [](T value) { return std::isfinite(value); });
  }

  template <class T>
  void find_values() {
    const auto d = static_cast<std::size_t>(columns());
    value_.assign(d, 0.0);
    std::vector<std::int64_t> present(d, 0);
    fill_ == Fill::mean ? find_means<T>(present) : find_medians<T>(present);
    find_commonest<T>();
    std::size_t feature = 0;
    for (ColumnModel& column : table_->columns) {
      const auto begin = value_.begin() + static_cast<std::ptrdiff_t>(feature);
      if (column.fill.empty()) column.fill.assign(begin, begin + column.width());
      feature += static_cast<std::size_t>(column.width());
    }
    describe(present);
  }

  template <class T, class Visit>
  void for_rows(const Visit& visit) {
    constexpr std::int64_t kBlockValues = std::int64_t{1} << 20;
    Matrix<T> block(std::clamp<std::int64_t>(kBlockValues / columns(), 1, rows()), columns());
    for (std::int64_t first = 0; first < rows(); first += block.rows()) {
      const MatrixView<T> some = block.view().middle(0, std::min(block.rows(), rows() - first));
      inner_->read(first, some);
      for (std::int64_t i = 0; i < some.rows; ++i) visit(some.row(i));
    }
  }

  /// present: counts the values of each column that are there.
  template <class T>
  void find_means(std::vector<std::int64_t>& present) {
    for_rows<T>([&](std::span<const T> row) {
      with_values_ += has_value(row) ? 1 : 0;
      for (std::size_t j = 0; j < row.size(); ++j) {
        if (!std::isfinite(row[j])) continue;
        // A running mean, which cannot overflow.
        value_[j] += (static_cast<double>(row[j]) - value_[j]) / static_cast<double>(++present[j]);
      }
    });
  }

  template <class T>
  void find_medians(std::vector<std::int64_t>& present) {
    Matrix<T> all(rows(), columns());
    inner_->read(0, all.view());
    for (std::int64_t i = 0; i < rows(); ++i) with_values_ += has_value<T>(std::as_const(all).row(i)) ? 1 : 0;
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

  /// A mean of texts is none of them: columns of categories take the commonest one, of equally common ones the first.
  /// A date, an answer or a text as people write it.
  static std::string shown_fill(const ColumnModel& column) {
    const auto place = column.has_categories() ? column.place_of(column.fill) : std::nullopt;
    if (place && column.how == Encode::yesno) return *place == 1 ? "yes" : "no";
    if (place && !column.texts.empty()) return quoted(column.texts[static_cast<std::size_t>(*place)], 40);
    if (kind_of(column.how) == std::string_view("date")) return date_text(column.fill.front());
    const double value = column.fill.front();
    return fmt::format("{:.{}g}", value, std::abs(value) < 1e6 ? 6 : 15);
  }
  template <class T>
  void find_commonest() {
    struct Categories {
      const ColumnModel* column;
      std::size_t first;                 // feature
      std::vector<std::int64_t> counts;  // of each text
    };
    std::vector<Categories> all;
    std::size_t feature = 0;
    for (const ColumnModel& column : table_->columns) {
      const std::size_t places = column.how == Encode::yesno ? 2 : column.texts.size();
      if (column.has_categories()) all.push_back({&column, feature, std::vector<std::int64_t>(places)});
      feature += static_cast<std::size_t>(column.width());
    }
    if (all.empty()) return;
    for_rows<T>([&](std::span<const T> row) {
      for (Categories& categories : all) {
        if (!std::isfinite(row[categories.first])) continue;
        auto place = static_cast<std::size_t>(row[categories.first]);
        if (categories.column->how == Encode::onehot) {
          for (place = 0; row[categories.first + place] == T{0};) ++place;
        }
        ++categories.counts[place];
      }
    });
    for (const Categories& categories : all) {
      const auto most = std::max_element(categories.counts.begin(), categories.counts.end());
      std::ranges::copy(categories.column->features_of(most - categories.counts.begin()),
                        value_.begin() + static_cast<std::ptrdiff_t>(categories.first));
    }
  }

  /// Says what was replaced; refuses columns without values.
  void describe(const std::vector<std::int64_t>& present) {
    constexpr std::size_t kShown = 8;
    std::int64_t missing = 0;
    std::vector<std::string> shown;
    std::size_t feature = 0;
    bool categories = false;
    for (const ColumnModel& column : table_->columns) {
      const std::int64_t here = present[feature];
      feature += static_cast<std::size_t>(column.width());
      if (here == with_values_ && here > 0) continue;
      const std::string name = column.name.empty()
                                   ? fmt::format("column {}", column.number)
                                   : fmt::format("column {} ('{}')", column.number, quoted(column.name, 60));
      if (here == 0) {
        throw Error(ExitCode::data, fmt::format("{}: expected values in {}, found none; leave it out with "
                                                "--drop-columns {}",
                                                this->name(), name, option_of(column)));
      }
      missing += with_values_ - here;
      categories = categories || column.has_categories();
      shown.push_back(fmt::format("{}: {}", name, shown_fill(column)));
    }
    if (missing == 0) return;
    remark_ = fmt::format("{} missing {} replaced by the {} of {} column{} ({})", missing,
                          missing == 1 ? "value was" : "values were", fill_ == Fill::mean ? "mean" : "median",
                          missing == 1 ? "its" : "their", categories ? ", or its commonest text" : "",
                          show_list(shown, kShown));
  }

  Fill fill_ = Fill::none;  // none: the values are given
  std::shared_ptr<TableModel> table_;
  std::once_flag found_;
  std::vector<double> value_;     // (columns)
  std::int64_t with_values_ = 0;  // rows that have any
  std::string remark_;
};

}  // namespace

std::unique_ptr<PointSource> filled(std::unique_ptr<PointSource> source, Fill fill) {
  if (fill == Fill::none || !is_float(source->held_as())) return source;
  return std::make_unique<Filled>(std::move(source), fill);
}

std::unique_ptr<PointSource> filled(std::unique_ptr<PointSource> source, std::shared_ptr<const TableModel> model) {
  if (std::ssize(model->fills()) != source->columns() || !is_float(source->held_as())) return source;
  return std::make_unique<Filled>(std::move(source), model);
}

// Holds all values of the inner source, and copies its columns into rows; or writes its rows to a scratch file, a few
// at a time as columns.

namespace {

/// out(i, j) = in(j, first + i)
template <class T>
void copy_transposed(MatrixView<const T> in, std::int64_t first, MatrixView<T> out) {
  constexpr std::int64_t kRows = 16;  // rows written at a time, so that their cache lines stay in use
  for (std::int64_t begin = 0; begin < out.rows; begin += kRows) {
    const std::int64_t end = std::min(begin + kRows, out.rows);
    for (std::int64_t j = 0; j < out.columns; ++j) {
      for (std::int64_t i = begin; i < end; ++i) out(i, j) = in(j, first + i);
    }
  }
}

class Transposed final : public PointSource {
 public:
  Transposed(std::unique_ptr<PointSource> inner, std::string scratch)
      : inner_(std::move(inner)), scratch_(std::move(scratch)), is_held_(stays_in_memory(value_bytes(), scratch_)) {
    const std::int64_t row_bytes = columns_bytes(1);
    group_ = std::clamp<std::int64_t>(memory_limit() / 16 / std::max<std::int64_t>(row_bytes, 1), 1, inner_->rows());
  }

  std::unique_ptr<PointSource> take_inner() { return std::move(inner_); }

  std::string name() const override { return inner_->name(); }
  std::string element_type() const override { return inner_->element_type(); }
  std::int64_t rows() const override { return inner_->columns(); }
  std::int64_t columns() const override { return inner_->rows(); }
  ValueClass value_class() const override { return inner_->value_class(); }
  std::int64_t file_bytes() const override { return inner_->file_bytes(); }
  std::int64_t held_bytes() const override {
    return inner_->held_bytes() + (is_held_ ? value_bytes() : 2 * columns_bytes(group_));
  }
  std::string only_in_order() const override {
    return is_held_ ? "a matrix whose columns are the points is held in memory" : "";
  }
  Number held_as() const override { return inner_->held_as(); }
  std::string watched_file() const override { return is_held_ ? inner_->watched_file() : ""; }
  std::int64_t changed_values() const override { return inner_->changed_values(); }
  SkippedLines skipped_lines() const override { return inner_->skipped_lines(); }
  std::vector<std::string> remarks() const override { return inner_->remarks(); }
  std::vector<std::string> column_names() const override {
    std::call_once(named_, [this] { names_ = inner_->kept(Kept::id); });
    return names_;
  }
  std::vector<std::string> kept(Kept which) const override {
    return which == Kept::id ? inner_->column_names() : std::vector<std::string>();
  }
  void read(std::int64_t first, MatrixView<float> out) override {
    if (held_as() == Number::uint8) return read_converted<std::uint8_t>(first, out);
    if (held_as() == Number::int8) return read_converted<std::int8_t>(first, out);
    read_as(first, out);
  }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }
  bool read_integers(std::int64_t first, MatrixView<std::int64_t> out) override {
    Matrix<std::int64_t> all(inner_->rows(), inner_->columns());
    if (!inner_->read_integers(0, all.view())) return false;
    copy_transposed<std::int64_t>(all.view(), first, out);
    return true;
  }

 private:
  std::int64_t columns_bytes(std::int64_t count) const {
    return checked_product(checked_product(count, inner_->columns(), inner_->name().c_str()), size_of(held_as()),
                           inner_->name().c_str());
  }
  std::int64_t value_bytes() const { return columns_bytes(inner_->rows()); }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    if (!is_held_) return read_stored(first, out);
    if (!held_) held_ = read_all(*inner_);
    copy_transposed<T>(std::get<Matrix<T>>(*held_).view(), first, out);
  }

  template <class Byte>
  void read_converted(std::int64_t first, MatrixView<float> out) {
    check_request(*this, first, out);
    Matrix<Byte> bytes(out.rows, out.columns);
    read_as(first, bytes.view());
    for (std::int64_t i = 0; i < out.rows; ++i) std::ranges::copy(bytes.row(i), out.row(i).begin());
  }

  /// Writes group_ columns of the points at a time, as a matrix of these columns.
  template <class T>
  void store() {
    file_.emplace(scratch_);
    file_->require_space(value_bytes());
    Matrix<T> in(group_, rows()), out(rows(), group_);
    for (std::int64_t j = 0; j < columns(); j += group_) {
      const std::int64_t width = std::min(group_, columns() - j);
      inner_->read(j, in.view().middle(0, width));
      const MatrixView<T> columns_together{out.data(), rows(), width};
      copy_transposed<T>(in.view(), 0, columns_together);
      file_->write(columns_bytes(j), out.data(), columns_bytes(width));
    }
  }

  template <class T>
  void read_stored(std::int64_t first, MatrixView<T> out) {
    if (!file_) store<T>();
    Matrix<T> part(out.rows, std::min(group_, columns()));
    for (std::int64_t j = 0; j < columns(); j += group_) {
      const std::int64_t width = std::min(group_, columns() - j);
      const auto row_bytes = width * static_cast<std::int64_t>(sizeof(T));
      file_->read(columns_bytes(j) + first * row_bytes, out.rows * row_bytes, part.data());
      for (std::int64_t i = 0; i < out.rows; ++i) std::copy_n(part.data() + i * width, width, out.row(i).data() + j);
    }
  }

  std::unique_ptr<PointSource> inner_;
  std::string scratch_;
  bool is_held_;            // else in the file
  std::int64_t group_ = 1;  // columns of the points that are written at a time
  std::optional<PointsMatrix> held_;
  mutable std::once_flag named_;
  mutable std::vector<std::string> names_;  // the identifiers of the rows of the file
  std::optional<ScratchFile> file_;
};

}  // namespace

std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source, const std::string& scratch) {
  if (auto* twice = dynamic_cast<Transposed*>(source.get())) return twice->take_inner();
  return std::make_unique<Transposed>(std::move(source), scratch);
}

}  // namespace kith::data
