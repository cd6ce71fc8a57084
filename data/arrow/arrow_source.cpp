// The columns of a file, and its rows: several threads decode parts of it and some of its fields each, batch by batch.
#include "data/arrow/arrow_source.h"

#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/format/shape.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/packed.h"
#include "data/io/utf8.h"

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

/// Lists of the types that kith reads are shorter, as a rule.
constexpr std::int64_t kUsualLength = 4096;

/// The length of the lists of a field whose lists have lengths of their own: that of the first; -1 if there is none.
std::int64_t find_list_length(ArrowFile& file, int field) {
  for (std::int64_t part = 0; part < file.parts(); ++part) {
    const ArrowBatches next = file.read(part, {field});
    while (const auto batch = next()) {
      const std::int64_t length = first_list_length(*batch->column(0));
      if (length >= 0) return length;
    }
  }
  return -1;
}

/// The columns that make up the index of a table of pandas, as its metadata say; none if the index is a range.
std::vector<std::string> index_names(const arrow::Schema& schema) {
  std::vector<std::string> names;
  const int at = schema.metadata() == nullptr ? -1 : schema.metadata()->FindKey("pandas");
  if (at < 0) return names;
  const auto pandas = nlohmann::json::parse(schema.metadata()->value(at), nullptr, false);
  if (!pandas.is_object() || !pandas.contains("index_columns") || !pandas["index_columns"].is_array()) return names;
  for (const auto& column : pandas["index_columns"]) {
    if (column.is_string()) names.push_back(column.get<std::string>());
  }
  return names;
}

class ArrowFileRows final : public ArrowReader {
 public:
  ArrowFileRows(ArrowTable table, const ArrowRows& rows)
      : file_(std::move(table.file)),
        records_(std::move(table.records)),
        choice_(rows.columns),
        missing_(rows.missing) {
    const std::vector<RecordField> all = columns_of(records_, file_->name());
    for (const std::int64_t j : choice_) {
      if (j < 0 || j >= std::ssize(all) || !all[static_cast<std::size_t>(j)].element) file_->refuse("no such column");
      names_.push_back(all[static_cast<std::size_t>(j)].name);
    }
    divide(needed_fields(), static_cast<int>(std::max<std::int64_t>(rows.threads, 1)));
  }

  std::int64_t columns() const override { return std::ssize(choice_); }
  const ArrowOpened& opened() const override { return opened_; }
  std::int64_t read(std::int64_t first, MatrixView<float> out) override { return read_rows(first, out); }
  std::int64_t read(std::int64_t first, MatrixView<double> out) override { return read_rows(first, out); }

  std::vector<NeededField> needed_fields() const {
    std::vector<NeededField> fields(records_.fields.size());
    for (std::size_t to = 0; to < choice_.size(); ++to) {
      const std::int64_t column = choice_[to];
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

  /// Chooses groups of fields and threads so that all threads have work, and what they decode takes little memory
  /// beside the points. It does not depend on the memory of the run: a run that is given what it was said to need needs
  /// no more.
  void divide(std::vector<NeededField> fields, int threads) {
    constexpr std::int64_t kManyParts = 16, kShare = 4, kLeast = std::int64_t{2} << 20, kMost = std::int64_t{512} << 20;
    const auto is_next = [to = std::int64_t{0}](const Target& target) mutable {
      return target.value == to && target.to == to++;
    };
    const RecordField& form = fields[0].form;
    opened_.are_lists = fields.size() == 1 && form.count == columns() && columns() > 1 &&
                        refusal_of_size({file_->rows(), columns()}).empty() &&
                        (form.element->number == Number::float32 || form.element->number == Number::float64) &&
                        std::ranges::all_of(fields[0].targets, is_next);
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
    const std::int64_t values = capped_product(file_->rows(), columns()) / kShare * std::int64_t{sizeof(float)};
    const std::int64_t fit = std::clamp(values, kLeast, kMost) / std::max<std::int64_t>(largest, 1);
    threads_ = static_cast<int>(std::clamp<std::int64_t>(std::max(fit, std::ssize(groups_)), 1, threads));
    opened_.decoding_bytes = capped_product(largest, threads_);
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
  std::int64_t read_rows(std::int64_t first, MatrixView<T> out) {
    if (first < 0 || out.rows < 1 || first > file_->rows() - out.rows) file_->refuse("it lacks these rows");
    const Conversion done = read_groups(first, out);
    file_->input().check_unchanged();
    return require_converted(done, file_->name(), first, columns());
  }

  std::int64_t list_bytes() const override {
    if (!opened_.are_lists) throw UnpackError();
    return columns() * size_of(groups_[0].fields[0].form.element->number);
  }

  const std::vector<ArrowStretch>& stretches(std::int64_t part) override {
    if (!opened_.are_lists || part < 0 || part >= file_->parts()) throw UnpackError();
    stretches_.resize(static_cast<std::size_t>(file_->parts()));
    std::vector<ArrowStretch>& all = stretches_[static_cast<std::size_t>(part)];
    if (all.empty()) {
      without_foreign_exceptions(file_->name(), [&] { all = file_->stretches(lists_of(part)); });
      file_->input().check_unchanged();
      const std::int64_t numbers = (file_->start(part + 1) - file_->start(part)) * columns();
      if (all.empty() || all.back().end() != numbers) all.clear();
    }
    return all;
  }

  /// All threads decode, a stretch at a time.
  bool read_lists(std::int64_t first, std::int64_t rows, std::byte* out) override {
    if (first < 0 || rows < 1 || first > file_->rows() - rows) throw UnpackError();
    const std::int64_t end = (first + rows) * columns(), bytes = list_bytes() / columns();
    struct Piece {
      std::int64_t part, first, count;
      std::byte* out;
    };
    std::vector<Piece> pieces;
    for (std::int64_t part = part_of(first); part < file_->parts() && file_->start(part) < first + rows; ++part) {
      const std::int64_t start = file_->start(part) * columns();
      const auto& all = stretches(part);
      if (all.empty() && file_->start(part + 1) > file_->start(part)) return false;
      for (const ArrowStretch& stretch : all) {
        const std::int64_t from = std::max(start + stretch.first, first * columns());
        const std::int64_t to = std::min(start + stretch.end(), end);
        if (from < to) pieces.push_back({part, from - start, to - from, out + (from - first * columns()) * bytes});
      }
    }
    std::atomic<bool> are_lists = true;
    const auto copy = [&](std::int64_t number, Matrix<std::byte>&) {
      const Piece& piece = pieces[static_cast<std::size_t>(number)];
      if (!file_->copy_numbers(lists_of(piece.part), piece.first, piece.count, piece.out)) are_lists = false;
    };
    without_foreign_exceptions(file_->name(), [&] { read_in_blocks(std::ssize(pieces), threads_, copy, 1); });
    file_->input().check_unchanged();
    return are_lists;
  }

 private:
  ArrowFile::Lists lists_of(std::int64_t part) const { return {part, groups_[0].fields[0].index, columns()}; }

  template <class T>
  Conversion read_groups(std::int64_t first, MatrixView<T> out) {
    const std::int64_t begin = part_of(first), end = part_of(first + out.rows - 1) + 1;
    const std::int64_t groups = std::ssize(groups_);
    std::vector<Conversion> done(static_cast<std::size_t>((end - begin) * groups));
    std::vector<Cursor> continued = std::move(open_);
    open_ = std::vector<Cursor>(groups_.size());
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
    without_foreign_exceptions(file_->name(), [&] { read_in_blocks(std::ssize(done), threads_, read_task, 1); });
    return first_refused(std::move(done));
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
        refuse_input(fmt::format("{}: row {} (counted from 1), column '{}'", file_->name(), first + row + 1,
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
  std::vector<std::int64_t> choice_;
  Missing missing_;
  std::vector<std::string> names_;  // of the points' columns
  std::vector<Group> groups_;
  std::vector<Cursor> open_;                          // of each group
  std::vector<std::vector<ArrowStretch>> stretches_;  // of each part; empty: not looked for
  int threads_ = 1;
  ArrowOpened opened_;
};

}  // namespace

ArrowTable open_arrow_table(InputBytes input) {
  ArrowTable table;
  table.file = open_arrow_file(std::move(input));
  ArrowFile& file = *table.file;
  without_foreign_exceptions(file.name(), [&] {
    for (int i = 0; i < file.schema().num_fields(); ++i) {
      const arrow::Field& field = *file.schema().field(i);
      std::int64_t length = list_length(*field.type());
      if (length < 0) length = find_list_length(file, i);
      if (length > kUsualLength && file.parts() > 0) file.read(0, {i})();  // throws if a damaged length has no values
      RecordField form = record_field(field, length);
      form.at = table.records.bytes;
      table.records.bytes += form.element ? form.count * size_of(form.element->number) : 1;
      table.records.fields.push_back(std::move(form));
    }
  });
  return table;
}

ArrowDescription description_of(const ArrowTable& table) {
  const ArrowFile& file = *table.file;
  ArrowDescription all{table.records, index_names(file.schema()), {}, file.kind(), file.layout(), file.filters()};
  for (std::int64_t part = 0; part <= file.parts(); ++part) all.start.push_back(file.start(part));
  return all;
}

std::unique_ptr<ArrowReader> open_arrow_rows(ArrowTable table, const ArrowRows& rows) {
  return std::make_unique<ArrowFileRows>(std::move(table), rows);
}

std::vector<std::string> field_texts(ArrowFile& file, int field, std::int64_t part) {
  MemoryGrowth growth(file.name());
  std::vector<std::string> texts;
  without_foreign_exceptions(file.name(), [&] {
    const ArrowBatches next = file.read(part, {field});
    while (const auto batch = next()) {
      for (std::int64_t i = 0; i < batch->num_rows(); ++i) {
        texts.push_back(text_of(*batch->column(0), i));
        growth.add(sizeof(std::string) + std::ssize(texts.back()));
      }
    }
  });
  if (std::ssize(texts) != file.start(part + 1) - file.start(part)) file.refuse("a part lacks rows");
  file.input().check_unchanged();
  return texts;
}

}  // namespace kith::data
