// Several threads decode parts of the file and some of its fields each, and convert batch after batch.
#include "data/arrow/arrow_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "data/arrow/arrow_values.h"
#include "data/format/shape.h"
#include "data/io/block_readers.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

/// A column of the points: a value of a field.
struct Target {
  std::int64_t value = 0;
  std::int64_t to = 0;
};

/// A field of the file that points need.
struct NeededField {
  int index = 0;  // in the schema
  RecordField form;
  std::vector<Target> targets;
};

/// The fields that one thread decodes together.
struct Group {
  std::vector<int> indices;
  std::vector<NeededField> fields;
};

/// A place in a part, from which the next request may continue.
struct Cursor {
  std::int64_t part = -1;
  std::int64_t row = 0;  // of the file: the next one
  ArrowBatches next;
  std::shared_ptr<arrow::RecordBatch> batch;
  std::int64_t used = 0;  // rows of the batch
};

class ArrowSource final : public PointSource {
 public:
  ArrowSource(ArrowTable table, std::string name, const ColumnChoice& choice, const ReadOptions& options)
      : file_(std::move(table.file)),
        records_(std::move(table.records)),
        remark_(std::move(table.remark)),
        name_(std::move(name)),
        choice_(choice),
        missing_(options.missing) {
    const std::vector<RecordField> all = columns_of(records_, name_);
    std::vector<RecordField> chosen;
    for (const std::int64_t j : choice_.points) chosen.push_back(all[static_cast<std::size_t>(j)]);
    for (const RecordField& column : chosen) names_.push_back(column.name);
    const bool one_type = std::all_of(chosen.begin(), chosen.end(), [&chosen](const RecordField& column) {
      return column.element == chosen[0].element;
    });
    type_ = one_type ? name_of(chosen[0].element->number) : "table";
    class_ = class_for(natural_class_of(common_type(chosen).number), options.precision);
    divide(needed_fields(), std::max(options.threads, 1));
  }

  std::string name() const override { return name_; }
  std::string element_type() const override { return type_; }
  std::int64_t rows() const override { return file_->rows(); }
  std::int64_t columns() const override { return std::ssize(choice_.points); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return file_->input().size(); }
  std::int64_t held_bytes() const override { return file_->input().held_bytes() + decoding_bytes_; }
  std::string only_in_order() const override { return file_->kind() + " is decoded while it is read"; }
  bool is_compressed() const override { return true; }
  bool has_chosen_columns() const override { return true; }
  std::vector<std::string> column_names() const override { return names_; }
  std::vector<std::string> remarks() const override {
    return remark_.empty() ? std::vector<std::string>() : std::vector{remark_};
  }
  std::int64_t changed_values() const override { return changed_; }
  std::vector<std::string> kept(Kept which) const override {
    const std::int64_t column = which == Kept::id ? choice_.id : which == Kept::label ? choice_.label : choice_.weight;
    if (column < 0) return {};
    return field_texts(*file_, field_of_column(records_, column));
  }
  std::string id_name() const override {
    constexpr std::string_view kUnnamed = "__index_level_";  // as pandas calls an index without a name
    if (choice_.id < 0) return "";
    const std::string& name = records_.fields[static_cast<std::size_t>(field_of_column(records_, choice_.id))].name;
    return name.starts_with(kUnnamed) ? "" : name;
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  std::vector<NeededField> needed_fields() const {
    std::vector<NeededField> fields(records_.fields.size());
    for (std::size_t to = 0; to < choice_.points.size(); ++to) {
      const std::int64_t column = choice_.points[to];
      const int index = field_of_column(records_, column);
      std::int64_t before = 0;
      for (int i = 0; i < index; ++i) before += records_.fields[static_cast<std::size_t>(i)].count;
      NeededField& field = fields[static_cast<std::size_t>(index)];
      field.index = index;
      field.form = records_.fields[static_cast<std::size_t>(index)];
      field.targets.push_back({column - before, static_cast<std::int64_t>(to)});
    }
    std::erase_if(fields, [](const NeededField& field) { return field.targets.empty(); });
    return fields;
  }

  /// Chooses groups of fields and threads so that all threads have work and what they decode fits in memory.
  void divide(std::vector<NeededField> fields, int threads) {
    constexpr std::int64_t kManyParts = 16, kShare = 4;
    const std::int64_t most = std::min<std::int64_t>(threads, std::ssize(fields));
    groups_.resize(static_cast<std::size_t>(file_->parts() >= kManyParts * threads ? 1 : most));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      Group& group = groups_[i * groups_.size() / fields.size()];
      group.indices.push_back(fields[i].index);
      group.fields.push_back(std::move(fields[i]));
    }
    open_.resize(groups_.size());
    std::int64_t largest = 0;  // of a group of fields in a part
    for (std::int64_t part = 0; part < file_->parts(); ++part) {
      for (const Group& group : groups_) {
        std::int64_t row_bytes = 0;
        for (const NeededField& field : group.fields) {
          row_bytes += field.form.count * size_of(field.form.element->number);
        }
        largest = std::max(largest, file_->decoding_bytes(part, group.indices, row_bytes));
      }
    }
    const std::int64_t fit = memory_limit() / kShare / std::max<std::int64_t>(largest, 1);
    threads_ = static_cast<int>(std::clamp<std::int64_t>(fit, 1, threads));
    decoding_bytes_ = capped_product(largest, std::max<std::int64_t>(threads_, std::ssize(groups_)));
  }

  std::int64_t part_of(std::int64_t row) const {
    std::int64_t low = 0, high = file_->parts();  // start(low) <= row < start(high)
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (file_->start(middle) <= row ? low : high) = middle;
    }
    return low;
  }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    if (out.rows == 0) return;
    const std::int64_t begin = part_of(first), end = part_of(first + out.rows - 1) + 1;
    const std::int64_t groups = std::ssize(groups_);
    std::vector<Conversion> done(static_cast<std::size_t>((end - begin) * groups));
    std::vector<Cursor> continued = std::move(open_);
    open_ = std::vector<Cursor>(groups_.size());
    try {
      const auto read_task = [&](std::int64_t task, Matrix<std::byte>&) {
        const auto group = static_cast<std::size_t>(task % groups);
        const std::int64_t part = begin + task / groups;
        Cursor cursor;
        if (part == begin) cursor = std::move(continued[group]);
        if (cursor.part != part || cursor.row != std::max(first, file_->start(part))) {
          cursor = {part, file_->start(part), file_->read(part, groups_[group].indices), nullptr, 0};
        }
        done[static_cast<std::size_t>(task)] = read_part(cursor, groups_[group], first, out);
        if (part == end - 1 && cursor.row < file_->start(part + 1)) open_[group] = std::move(cursor);
      };
      without_foreign_exceptions(name_, [&] { read_in_blocks(std::ssize(done), threads_, read_task, 1); });
    } catch (const Error&) {
      file_->input().check_unchanged();  // a change of the file explains the error better
      throw;
    }
    file_->input().check_unchanged();
    Conversion all;
    for (Conversion& part : done) {
      all.changed += part.changed;
      if (part.refused < 0 || (all.refused >= 0 && all.refused <= part.refused)) continue;
      part.changed = all.changed;
      all = std::move(part);
    }
    changed_ += require_converted(all, name_, first, columns());
  }

  /// Reads on from the cursor to the end of its part or of the request, which begins with row `first`.
  template <class T>
  Conversion read_part(Cursor& cursor, const Group& group, std::int64_t first, MatrixView<T> out) const {
    const std::int64_t end = std::min(first + out.rows, file_->start(cursor.part + 1));
    Conversion total;
    while (cursor.row < end) {
      if (cursor.batch == nullptr || cursor.used == cursor.batch->num_rows()) {
        cursor.batch = cursor.next();
        cursor.used = 0;
        if (cursor.batch == nullptr) file_->refuse(fmt::format("it ends after {} rows", cursor.row));
        if (cursor.batch->num_columns() != std::ssize(group.fields)) file_->refuse("a batch lacks columns");
      }
      const std::int64_t until = cursor.row < first ? first : end;
      const std::int64_t rows = std::min(cursor.batch->num_rows() - cursor.used, until - cursor.row);
      if (cursor.row >= first && total.refused < 0) {
        const std::int64_t row = cursor.row - first;
        const auto batch = cursor.batch->Slice(cursor.used, rows);
        Conversion part = convert_batch(*batch, group, cursor.row, out.middle(row, rows));
        part.changed += total.changed;
        if (part.refused >= 0) part.refused += row * out.columns;
        total = std::move(part);
      }
      cursor.row += rows;
      cursor.used += rows;
    }
    return total;
  }

  template <class T>
  Conversion convert_batch(const arrow::RecordBatch& batch, const Group& group, std::int64_t first,
                           MatrixView<T> out) const {
    std::vector<ArrowValues> values;
    std::vector<ColumnValues> columns;
    values.reserve(group.fields.size());
    for (std::size_t i = 0; i < group.fields.size(); ++i) {
      const NeededField& field = group.fields[i];
      const arrow::Array& array = *batch.column(static_cast<int>(i));
      if (!array.type()->Equals(*file_->schema().field(field.index)->type())) {
        file_->refuse("a batch has other types than the schema");
      }
      values.push_back(values_of(array, field.form, [&](std::int64_t row, std::int64_t length) {
        refuse_input(fmt::format("{}: row {} (counted from 1), column '{}'", name_, first + row + 1,
                                 quoted(field.form.name, 60)),
                     fmt::format("expected a list of {} numbers, as in the first row, found {}; all lists of a column "
                                 "must have the same length",
                                 field.form.count, length));
      }));
      const ElementType element = field.form.element.value();
      for (const Target& target : field.targets) {
        columns.push_back(
            {element, values[i].first + target.value * size_of(element.number), values[i].stride, target.to});
      }
    }
    Conversion total = convert_columns(columns, out.rows, out.data, out.columns, missing_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].is_set.empty()) mark_missing(values[i], group.fields[i], out, total);
    }
    return total;
  }

  /// Makes NaN of the numbers that are not set, or refuses the first of them.
  template <class T>
  void mark_missing(const ArrowValues& values, const NeededField& field, MatrixView<T> out, Conversion& total) const {
    for (const Target& target : field.targets) {
      for (std::int64_t i = 0; i < out.rows; ++i) {
        if (values.is_set[static_cast<std::size_t>(i * field.form.count + target.value)] != 0) continue;
        if (missing_ == Missing::keep) {
          out(i, target.to) = std::numeric_limits<T>::quiet_NaN();
          continue;
        }
        const std::int64_t at = i * out.columns + target.to;
        if (total.refused >= 0 && total.refused <= at) break;
        total.refused = at;
        total.reason = "expected a number, found a missing value (null)";
        total.remedy = fmt::format("fill it in, remove the row, or leave the column out with --drop-columns {}{}",
                                   option_text(names_, target.to),
                                   missing_ == Missing::offer ? ", or drop all such rows with --nan drop" : "");
        break;
      }
    }
  }

  std::shared_ptr<ArrowFile> file_;
  Records records_;
  std::string remark_;
  std::string name_;
  ColumnChoice choice_;
  Missing missing_;
  std::vector<std::string> names_;  // of the points' columns
  std::string type_;
  ValueClass class_ = ValueClass::f64;
  std::vector<Group> groups_;
  std::vector<Cursor> open_;  // of each group
  int threads_ = 1;
  std::int64_t decoding_bytes_ = 0;
  std::atomic<std::int64_t> changed_ = 0;
};

}  // namespace

std::unique_ptr<PointSource> make_arrow_source(ArrowTable table, const std::string& name, const ColumnChoice& columns,
                                               const ReadOptions& options) {
  return std::make_unique<ArrowSource>(std::move(table), name, columns, options);
}

int field_of_column(const Records& records, std::int64_t column) {
  int field = 0;
  for (; column >= records.fields[static_cast<std::size_t>(field)].count; ++field) {
    column -= records.fields[static_cast<std::size_t>(field)].count;
  }
  return field;
}

std::vector<std::string> field_texts(ArrowFile& file, int field) {
  require_memory(capped_product(file.rows(), sizeof(std::string)), file.name());
  MemoryGrowth growth(file.name());
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(file.rows()));
  without_foreign_exceptions(file.name(), [&] {
    for (std::int64_t part = 0; part < file.parts(); ++part) {
      const ArrowBatches next = file.read(part, {field});
      while (const auto batch = next()) {
        for (std::int64_t i = 0; i < batch->num_rows(); ++i) {
          texts.push_back(text_of(*batch->column(0), i));
          if (texts.back().capacity() >= sizeof(std::string) / 2) growth.add(std::ssize(texts.back()));
        }
      }
    }
  });
  file.input().check_unchanged();
  return texts;
}

}  // namespace kith::data
