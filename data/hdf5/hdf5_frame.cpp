// Finds the columns of a data frame by its attribute column-order, and copies their values into rows.
#include "data/hdf5/hdf5_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_source.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

FrameColumn column_of(const Hdf5InputFile& file, const std::string& group, const std::string& name) {
  FrameColumn column;
  column.field.name = name;
  column.values = fmt::format("{}/{}", group == "/" ? "" : group, name);
  Handle object = open_object(file, column.values);
  if (H5Iget_type(object.get()) == H5I_GROUP) {
    if (!has_link(object.get(), "values") || !has_link(object.get(), "mask")) {
      const bool is_categorical = has_link(object.get(), "codes") && has_link(object.get(), "categories");
      column.field.type = is_categorical ? "text" : describe_kind(object.get());
      return column;
    }
    column.mask = column.values + "/mask";
    column.values += "/values";
    object = open_dataset(file, column.values);
  }
  const DatasetFacts facts = inspect(file, object.get(), column.values);
  column.field.type = facts.info.type == "string" ? "text" : facts.info.type;
  if (refusal(facts, file.bytes(), true).empty() && !facts.has_records() && facts.columns() == 1)
    column.field.element = facts.element;
  return column;
}

/// A column of the points, open.
struct OpenColumn {
  std::unique_ptr<PointSource> values, mask;
};

class FrameSource final : public PointSource {
 public:
  FrameSource(const std::string& file, const FrameGroup& group, const std::vector<RecordField>& chosen,
              const ReadOptions& options)
      : name_(fmt::format("{}:{}", file, group.path)),
        type_(name_of(common_type(chosen).number)),
        class_(class_for(natural_class_of(common_type(chosen).number), options.precision)),
        missing_(options.missing) {
    ReadOptions vectors{.precision = class_ == ValueClass::f32 ? Precision::f32 : Precision::f64,
                        .vector_as_column = true,
                        .threads = options.threads,
                        .missing = options.missing};
    for (const RecordField& field : chosen) {
      const auto column = std::find_if(group.columns.begin(), group.columns.end(),
                                       [&](const FrameColumn& c) { return c.field.name == field.name; });
      ReadOptions masked = vectors;
      if (!column->mask.empty()) masked.missing = Missing::keep;  // what a mask hides may be anything
      OpenColumn open{open_hdf5_dataset({file, column->values}, masked), nullptr};
      if (!column->mask.empty()) open.mask = open_hdf5_dataset({file, column->mask}, vectors);
      const std::int64_t expected = columns_.empty() ? open.values->rows() : rows();
      for (const auto* source : {&open.values, &open.mask}) {
        if (*source == nullptr || ((*source)->rows() == expected && (*source)->columns() == 1)) continue;
        refuse_input((*source)->name(), fmt::format("damaged: expected {} values, as the other columns have, found {} "
                                                    "x {}; create the file again",
                                                    expected, (*source)->rows(), (*source)->columns()));
      }
      names_.push_back(field.name);
      columns_.push_back(std::move(open));
    }
  }

  std::string name() const override { return name_; }
  std::string element_type() const override { return type_ + ", a data frame"; }
  std::int64_t rows() const override { return columns_.front().values->rows(); }
  std::int64_t columns() const override { return std::ssize(columns_); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return sum(&PointSource::file_bytes); }
  std::int64_t held_bytes() const override { return sum(&PointSource::held_bytes); }
  std::int64_t changed_values() const override { return sum(&PointSource::changed_values); }
  std::string only_in_order() const override { return "a data frame is stored by columns"; }
  bool has_chosen_columns() const override { return true; }
  std::vector<std::string> column_names() const override { return names_; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  std::int64_t sum(std::int64_t (PointSource::*of)() const) const {
    std::int64_t total = 0;
    for (const OpenColumn& column : columns_) total += (column.values.get()->*of)();
    return total;
  }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    constexpr std::int64_t kBlockRows = std::int64_t{1} << 16;
    Matrix<T> block(std::min(kBlockRows, out.rows), 1), mask(block.rows(), 1);
    for (std::int64_t begin = 0; begin < out.rows; begin += kBlockRows) {
      const std::int64_t here = std::min(kBlockRows, out.rows - begin);
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        columns_[j].values->read(first + begin, block.view().middle(0, here));
        if (columns_[j].mask) {
          columns_[j].mask->read(first + begin, mask.view().middle(0, here));
          for (std::int64_t i = 0; i < here; ++i) {
            if (mask(i, 0) != T{0}) block(i, 0) = missing_value<T>(first + begin + i, j);
          }
        }
        for (std::int64_t i = 0; i < here; ++i) out(begin + i, static_cast<std::int64_t>(j)) = block(i, 0);
      }
    }
  }

  template <class T>
  T missing_value(std::int64_t row, std::size_t column) const {
    if (missing_ == Missing::keep) return std::numeric_limits<T>::quiet_NaN();
    refuse_value(fmt::format("{}: row {} (counted from 1), {}", name_, row + 1,
                             show_column(names_, static_cast<std::int64_t>(column))),
                 fmt::format("expected a value, found a missing one; replace the value or remove the row{}",
                             missing_ == Missing::offer ? ", or drop all such rows with --nan drop" : ""));
  }

  std::string name_, type_;
  ValueClass class_;
  Missing missing_;
  std::vector<OpenColumn> columns_;
  std::vector<std::string> names_;
};

}  // namespace

std::optional<FrameGroup> frame_group(const Hdf5InputFile& file, const std::string& path) {
  const Handle group = open_object(file, path);
  if (H5Iget_type(group.get()) != H5I_GROUP || text_attribute(group.get(), "encoding-type") != "dataframe")
    return std::nullopt;
  FrameGroup frame{path, {}};
  for (const std::string& name : texts_attribute(group.get(), "column-order"))
    frame.columns.push_back(column_of(file, path, name));
  if (frame.columns.empty()) return std::nullopt;  // an index alone
  return frame;
}

std::unique_ptr<PointSource> open_frame(const std::string& file, const FrameGroup& group, const ReadOptions& options) {
  const std::string name = fmt::format("{}:{}", file, group.path);
  Records records;
  for (const FrameColumn& column : group.columns) {
    RecordField field = column.field;
    field.at = records.bytes;
    records.bytes += field.element ? size_of(field.element->number) : 1;
    records.fields.push_back(std::move(field));
  }
  if (const std::string problem = refusal_of_fields(records); !problem.empty()) refuse_input(name, problem);
  return std::make_unique<FrameSource>(file, group, choose_fields(records, options, name), options);
}

}  // namespace kith::data
