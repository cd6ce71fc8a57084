// Several threads decode parts of the file and some of its fields each, and convert batch after batch.
#include "data/arrow/arrow_source.h"

#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "data/format/shape.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/packed.h"
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

}  // namespace

class ArrowReader::State {
 public:
  State(ArrowTable table, const ArrowRows& rows)
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

  std::int64_t columns() const { return std::ssize(choice_); }
  const ArrowOpened& opened() const { return opened_; }

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
  std::int64_t read(std::int64_t first, MatrixView<T> out) {
    if (first < 0 || out.rows < 1 || first > file_->rows() - out.rows) file_->refuse("it lacks these rows");
    const Conversion done = read_groups(first, out);
    file_->input().check_unchanged();
    return require_converted(done, file_->name(), first, columns());
  }

  std::int64_t list_bytes() const {
    if (!opened_.are_lists) throw UnpackError();
    return columns() * size_of(groups_[0].fields[0].form.element->number);
  }

  const std::vector<ArrowStretch>& stretches(std::int64_t part) {
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
  bool read_lists(std::int64_t first, std::int64_t rows, std::byte* out) {
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

ArrowReader::ArrowReader(ArrowTable table, const ArrowRows& rows)
    : state_(std::make_unique<State>(std::move(table), rows)) {}
ArrowReader::~ArrowReader() = default;
std::int64_t ArrowReader::columns() const { return state_->columns(); }
ArrowOpened ArrowReader::opened() const { return state_->opened(); }
std::int64_t ArrowReader::read(std::int64_t first, MatrixView<float> out) { return state_->read(first, out); }
std::int64_t ArrowReader::read(std::int64_t first, MatrixView<double> out) { return state_->read(first, out); }
const std::vector<ArrowStretch>& ArrowReader::stretches(std::int64_t part) { return state_->stretches(part); }
std::int64_t ArrowReader::list_bytes() const { return state_->list_bytes(); }
bool ArrowReader::read_lists(std::int64_t first, std::int64_t rows, std::byte* out) {
  return state_->read_lists(first, rows, out);
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

// Maps Arrow's types to those of kith, and brings arrays of numbers into the form of records.

namespace {

const arrow::DataType& storage_of(const arrow::DataType& type) {
  return type.id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionType&>(type).storage_type() : type;
}

const arrow::Array& storage_of(const arrow::Array& array) {
  return array.type_id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionArray&>(array).storage()
                                                   : array;
}

/// The type of kith that holds the numbers of this type; nothing for other types.
std::optional<Number> number_of(const arrow::DataType& type) {
  constexpr std::pair<arrow::Type::type, Number> kNumbers[] = {
      {arrow::Type::HALF_FLOAT, Number::float16}, {arrow::Type::FLOAT, Number::float32},
      {arrow::Type::DOUBLE, Number::float64},     {arrow::Type::DECIMAL128, Number::float64},
      {arrow::Type::BOOL, Number::uint8},         {arrow::Type::INT8, Number::int8},
      {arrow::Type::UINT8, Number::uint8},        {arrow::Type::INT16, Number::int16},
      {arrow::Type::UINT16, Number::uint16},      {arrow::Type::INT32, Number::int32},
      {arrow::Type::UINT32, Number::uint32},      {arrow::Type::INT64, Number::int64},
      {arrow::Type::UINT64, Number::uint64}};
  for (const auto& [id, number] : kNumbers) {
    if (type.id() == id) return number;
  }
  return std::nullopt;
}

bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

const arrow::DataType& item_type(const arrow::DataType& list) {
  return storage_of(*static_cast<const arrow::BaseListType&>(list).value_type());
}

std::string type_name(const arrow::DataType& type) {
  const auto number = number_of(type);
  if (type.id() == arrow::Type::DICTIONARY) {
    return fmt::format("dictionary of {}", type_name(*static_cast<const arrow::DictionaryType&>(type).value_type()));
  }
  if (is_list(type)) return fmt::format("list of {}", type_name(item_type(type)));
  const bool as_written = !number || type.id() == arrow::Type::BOOL || type.id() == arrow::Type::DECIMAL128;
  return as_written ? quoted(type.ToString(), 60) : name_of(*number);
}

/// A decimal number, rounded correctly, as if it were read from text.
double to_double(const arrow::Decimal128& value, std::int32_t scale) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  static constexpr std::array<double, 23> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (scale >= 0 && scale < std::ssize(kPowers) && value <= arrow::Decimal128(kExact) &&
      value >= arrow::Decimal128(-kExact)) {  // the quotient of two exact numbers
    return static_cast<double>(static_cast<std::int64_t>(value.low_bits())) / kPowers[static_cast<std::size_t>(scale)];
  }
  const std::string text = value.ToString(scale);
  double number = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Numbers one after another, with the flags of those that are set.
ArrowValues flat_values(const arrow::Array& array, Number number) {
  const std::int64_t count = array.length(), size = size_of(number);
  ArrowValues values;
  values.stride = size;
  if (count == 0) return values;
  if (array.type_id() == arrow::Type::BOOL) {
    const auto& flags = static_cast<const arrow::BooleanArray&>(array);
    values.owned.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) values.owned[static_cast<std::size_t>(i)] = std::byte{flags.Value(i)};
  } else if (array.type_id() == arrow::Type::DECIMAL128) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
    const std::int32_t scale = static_cast<const arrow::Decimal128Type&>(*array.type()).scale();
    values.owned.resize(static_cast<std::size_t>(count * size));
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = decimals.IsNull(i) ? 0.0 : to_double(arrow::Decimal128(decimals.GetValue(i)), scale);
      std::memcpy(values.owned.data() + i * size, &value, sizeof value);
    }
  } else {
    values.first = reinterpret_cast<const std::byte*>(array.data()->buffers[1]->data()) + array.offset() * size;
  }
  if (array.null_count() > 0) {
    if (values.owned.empty()) values.owned.assign(values.first, values.first + count * size);
    values.is_set.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      values.is_set[static_cast<std::size_t>(i)] = array.IsValid(i) ? 1 : 0;
      if (!array.IsValid(i)) std::memset(values.owned.data() + i * size, 0, static_cast<std::size_t>(size));
    }
  }
  if (!values.owned.empty()) values.first = values.owned.data();
  return values;
}

/// Lists of `length` numbers as rows. Missing lists, which may have any length, become rows of missing numbers.
template <class Lists>
ArrowValues list_values(const Lists& lists, Number number, std::int64_t length,
                        const std::function<void(std::int64_t, std::int64_t)>& refuse) {
  const std::int64_t rows = lists.length(), size = size_of(number);
  if (rows == 0) return {};
  const std::int64_t begin = lists.value_offset(0);
  bool together = true;  // the lists follow each other without other values between them
  for (std::int64_t i = 0; i < rows; ++i) {
    if (lists.IsValid(i) && lists.value_length(i) != length) refuse(i, lists.value_length(i));
    together = together && lists.value_offset(i) == begin + i * length;
  }
  const std::int64_t end = lists.value_offset(rows - 1) + lists.value_length(rows - 1);
  together = together && end - begin == rows * length;
  const auto slice = lists.values()->Slice(begin, end - begin);  // the flat values may refer to it
  ArrowValues flat = flat_values(storage_of(*slice), number);
  flat.stride = length * size;
  if (together && lists.null_count() == 0) return flat;
  ArrowValues values;
  values.stride = length * size;
  values.owned.resize(static_cast<std::size_t>(rows * values.stride));
  values.is_set.resize(static_cast<std::size_t>(rows * length));
  for (std::int64_t i = 0; i < rows; ++i) {
    if (lists.IsNull(i)) continue;
    const std::int64_t at = lists.value_offset(i) - begin;
    std::memcpy(values.owned.data() + i * values.stride, flat.first + at * size,
                static_cast<std::size_t>(values.stride));
    for (std::int64_t j = 0; j < length; ++j) {
      values.is_set[static_cast<std::size_t>(i * length + j)] =
          flat.is_set.empty() ? 1 : flat.is_set[static_cast<std::size_t>(at + j)];
    }
  }
  values.first = values.owned.data();
  return values;
}

}  // namespace

std::int64_t list_length(const arrow::DataType& type) {
  const arrow::DataType& storage = storage_of(type);
  if (!is_list(storage) || !number_of(item_type(storage))) return 0;
  return storage.id() == arrow::Type::FIXED_SIZE_LIST
             ? static_cast<const arrow::FixedSizeListType&>(storage).list_size()
             : -1;
}

std::int64_t first_list_length(const arrow::Array& array) {
  const arrow::Array& lists = storage_of(array);
  for (std::int64_t i = 0; i < lists.length(); ++i) {
    if (lists.IsNull(i)) continue;
    return lists.type_id() == arrow::Type::LIST ? static_cast<const arrow::ListArray&>(lists).value_length(i)
                                                : static_cast<const arrow::LargeListArray&>(lists).value_length(i);
  }
  return -1;
}

RecordField record_field(const arrow::Field& field, std::int64_t length) {
  const arrow::DataType& type = storage_of(*field.type());
  RecordField result;
  result.name = field.name();
  result.type = type_name(type);
  const bool lists = list_length(type) != 0;
  const auto number = lists ? number_of(item_type(type)) : number_of(type);
  if (!number || (lists && length < 1)) return result;
  result.element = ElementType{*number, false};
  if (!lists) return result;
  result.type = type_name(item_type(type));
  result.count = length;
  return result;
}

ArrowValues values_of(const arrow::Array& array, const RecordField& field,
                      const std::function<void(std::int64_t, std::int64_t)>& refuse) {
  const arrow::Array& storage = storage_of(array);
  const Number number = field.element.value().number;
  switch (storage.type_id()) {
    case arrow::Type::LIST:
      return list_values(static_cast<const arrow::ListArray&>(storage), number, field.count, refuse);
    case arrow::Type::LARGE_LIST:
      return list_values(static_cast<const arrow::LargeListArray&>(storage), number, field.count, refuse);
    case arrow::Type::FIXED_SIZE_LIST:
      return list_values(static_cast<const arrow::FixedSizeListArray&>(storage), number, field.count, refuse);
    default:
      return flat_values(storage, number);
  }
}

std::string text_of(const arrow::Array& array, std::int64_t row) {
  const arrow::Array& storage = storage_of(array);
  if (storage.IsNull(row)) return "";
  switch (storage.type_id()) {
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(storage);
      return text_of(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return std::string(static_cast<const arrow::BinaryArray&>(storage).GetView(row));
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return std::string(static_cast<const arrow::LargeBinaryArray&>(storage).GetView(row));
    case arrow::Type::BOOL:  // as pandas writes them
      return static_cast<const arrow::BooleanArray&>(storage).Value(row) ? "True" : "False";
    case arrow::Type::FLOAT:
      return fmt::format("{}", static_cast<const arrow::FloatArray&>(storage).Value(row));
    case arrow::Type::DOUBLE:
      return fmt::format("{}", static_cast<const arrow::DoubleArray&>(storage).Value(row));
    default: {
      const auto value = storage.GetScalar(row);
      return value.ok() ? (*value)->ToString() : "";
    }
  }
}

}  // namespace kith::data
