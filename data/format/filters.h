// Sources that change the values of another one, or choose among them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// A source that passes everything on but read().
class SourceFilter : public PointSource {
 public:
  explicit SourceFilter(std::unique_ptr<PointSource> inner) : owned_(std::move(inner)), inner_(owned_.get()) {}
  /// The source must outlive the filter.
  explicit SourceFilter(PointSource& inner) : inner_(&inner) {}

  std::string name() const override { return inner_->name(); }
  std::string location() const override { return inner_->location(); }
  std::string element_type() const override { return inner_->element_type(); }
  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t columns() const override { return inner_->columns(); }
  ValueClass value_class() const override { return inner_->value_class(); }
  RowBits row_bits() const override { return inner_->row_bits(); }
  std::int64_t columns_in_file() const override {
    return columns() == inner_->columns() ? inner_->columns_in_file() : columns();
  }
  std::int64_t file_bytes() const override { return inner_->file_bytes(); }
  std::int64_t changed_values() const override { return inner_->changed_values(); }
  std::int64_t held_bytes() const override { return inner_->held_bytes(); }
  std::string only_in_order() const override { return inner_->only_in_order(); }
  bool is_compressed() const override { return inner_->is_compressed(); }
  void bypass_cache_from(std::int64_t row) override { inner_->bypass_cache_from(row); }
  std::string watched_file() const override { return inner_->watched_file(); }
  bool is_shared() const override { return inner_->is_shared(); }
  std::vector<std::string> column_names() const override { return inner_->column_names(); }
  SkippedLines skipped_lines() const override { return inner_->skipped_lines(); }
  std::int64_t unknown_rows() const override { return inner_->unknown_rows(); }
  std::vector<std::string> remarks() const override { return inner_->remarks(); }
  std::vector<std::string> kept(Kept which) const override { return inner_->kept(which); }
  std::string id_name() const override { return inner_->id_name(); }
  RowTexts texts_of(const std::string& column) const override { return inner_->texts_of(column); }
  std::shared_ptr<const TableModel> table() const override { return inner_->table(); }
  std::optional<IndexedColumns> indexed_columns() const override { return inner_->indexed_columns(); }
  const FileSet* set() const override { return inner_->set(); }
  std::optional<TableForm> table_form() const override { return inner_->table_form(); }
  void visit_text(const std::function<void(TextPart, std::string_view)>& visit) const override {
    inner_->visit_text(visit);
  }

 protected:
  std::unique_ptr<PointSource> owned_;  // null: the caller owns it
  PointSource* inner_;
};

/// Rows first .. first + count - 1 of a source, which must outlive it. Messages give rows of the whole source.
class RowRange final : public SourceFilter {
 public:
  RowRange(PointSource& inner, std::int64_t first, std::int64_t count)
      : SourceFilter(inner), first_(first), count_(count) {}

  std::int64_t rows() const override { return count_; }
  std::int64_t file_bytes() const override;
  Number held_as() const override { return inner_->held_as(); }
  void bypass_cache_from(std::int64_t row) override { inner_->bypass_cache_from(first_ + row); }
  void read(std::int64_t first, MatrixView<float> out) override { read_rows(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_rows(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_rows(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_rows(first, out); }

 private:
  template <class T>
  void read_rows(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    inner_->read(first_ + first, out);
  }

  std::int64_t first_, count_;
};

/// The columns of a source that holds only numbers that the options choose; the source itself if no option chooses
/// columns, or if it has chosen them.
std::unique_ptr<PointSource> with_columns(std::unique_ptr<PointSource> source, const ReadOptions& options);

/// A source that keeps missing values (Missing::keep), which are treated as `missing` says.
std::unique_ptr<PointSource> with_checked_values(std::unique_ptr<PointSource> source, Missing missing);

/// The rows of a source as ReadOptions::form says. The class of the values stays, so that results have its precision,
/// but they are held as float64: directions that are rounded to float32 change the order of near-duplicates.
/// Rows without a direction are refused; with Missing::keep, rows of zeros become NaN, so that they are dropped.
std::unique_ptr<PointSource> in_form(std::unique_ptr<PointSource> source, const ReadOptions& options);

/// Values equal to one of these numbers become NaN, which the source must keep (Missing::keep).
std::unique_ptr<PointSource> without_numbers(std::unique_ptr<PointSource> source, std::vector<double> numbers);

/// NaN and infinities become what `fill` says, rounded to the type of the values; in columns of categories, the
/// commonest one; rows without any value stay as they are. The source must keep them (Missing::keep). The first read()
/// reads the whole source once more; for medians it holds all of it then. Throws Error(data) for a column without any
/// value. Returns a source of bytes, which lack nothing, as it is.
std::unique_ptr<PointSource> filled(std::unique_ptr<PointSource> source, Fill fill);
/// The same with what the model has for each column; missing values of others stay.
std::unique_ptr<PointSource> filled(std::unique_ptr<PointSource> source, std::shared_ptr<const TableModel> model);

/// The columns of `source` become the rows, and the identifiers of its rows the names of the columns. The first read()
/// reads the whole source and keeps it in memory or, if it takes more than a part of that, in a file of the folder
/// `scratch`. A transposed source gives back the one that it was made of.
std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source, const std::string& scratch = {});

/// The rows of `source` as bits. Values of uint8 hold eight bits each, unless ReadOptions::bits is the number of
/// columns; of any other type, each column is a bit. Bytes behind the last bit of a row must be 0. Throws Error(usage)
/// if ReadOptions::bits does not fit the columns; read() throws Error(data) with the place of the first value that is
/// no bit.
std::unique_ptr<PointSource> as_bits(std::unique_ptr<PointSource> source, const ReadOptions& options);

}  // namespace kith::data
