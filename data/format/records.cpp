// Makes columns of the fields of records, and collects the values of each column for its conversion.
#include "data/format/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

std::vector<std::string> names_of(const std::vector<RecordField>& columns) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const RecordField& column : columns) names.push_back(column.name);
  return names;
}

std::string list_for_option(const std::vector<RecordField>& columns, const std::vector<std::int64_t>& chosen) {
  const std::vector<std::string> names = names_of(columns);
  std::vector<std::string> items;
  for (const std::int64_t j : chosen) items.push_back(option_text(names, j));
  return fmt::format("{}", fmt::join(items, ","));
}

std::vector<std::int64_t> without_numbers(const std::vector<RecordField>& columns,
                                          const std::vector<std::int64_t>& chosen) {
  std::vector<std::int64_t> found;
  for (const std::int64_t j : chosen) {
    const RecordField& column = columns[static_cast<std::size_t>(j)];
    if (!column.element || column.is_code) found.push_back(j);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// A list of columns in which the name of a field of several values stands for all of its columns.
std::string expanded(const Records& records, const char* option, const std::string& list) {
  std::string result;
  if (list.empty()) return result;
  for (const ListItem& item : split_list(option, list)) {
    std::string text = item.quoted ? double_quoted(item.text) : item.text;
    std::int64_t first = 1;
    for (const RecordField& field : records.fields) {
      if (field.count > 1 && field.name == item.text) text = fmt::format("{}-{}", first, first + field.count - 1);
      first += field.count;
    }
    result += (result.empty() ? "" : ",") + text;
  }
  return result;
}

}  // namespace

std::string refusal_of_fields(const Records& records) {
  for (const RecordField& field : records.fields) {
    const std::int64_t size = field.element ? size_of(field.element->number) : 1;
    const bool inside = field.at >= 0 && field.at <= records.bytes && field.count > 0 &&
                        field.count <= (records.bytes - field.at) / size;
    if (!inside) return fmt::format("the field '{}' is not within its record", quoted(field.name, 60));
  }
  const bool numbers = std::any_of(records.fields.begin(), records.fields.end(),
                                   [](const RecordField& field) { return field.element.has_value(); });
  return numbers || records.fields.empty() ? "" : "expected fields of numbers, found none; name another dataset";
}

std::vector<RecordField> columns_of(const Records& records, const std::string& name) {
  std::int64_t count = 0;
  for (const RecordField& field : records.fields) count += field.count;
  require_memory(capped_product(count, 2 * sizeof(RecordField)), name);
  std::vector<RecordField> columns;
  columns.reserve(static_cast<std::size_t>(count));
  for (const RecordField& field : records.fields) {
    for (std::int64_t i = 0; i < field.count; ++i) {
      RecordField column = field;
      column.count = 1;
      if (field.count > 1) column.name += fmt::format("_{}", i + 1);
      if (field.element) column.at += i * size_of(field.element->number);
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

int field_of_column(const Records& records, std::int64_t column) {
  int field = 0;
  for (; column >= records.fields[static_cast<std::size_t>(field)].count; ++field) {
    column -= records.fields[static_cast<std::size_t>(field)].count;
  }
  return field;
}

void describe_columns(const Records& records, const std::string& name, DatasetInfo& info) {
  const std::vector<RecordField> columns = columns_of(records, name);
  std::vector<std::int64_t> all(columns.size());
  for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<std::int64_t>(j);
  info.columns = names_of(columns);
  for (const RecordField& column : columns) info.column_types.push_back(column.type);
  info.text_columns = list_for_option(columns, without_numbers(columns, all));
}

ColumnChoice choose_record_columns(const Records& records, const ReadOptions& options, const std::string& name,
                                   const std::string& remedy) {
  const std::vector<RecordField> columns = columns_of(records, name);
  ReadOptions by_column = with_columns_of_model(options, true, std::ssize(columns));
  by_column.columns = expanded(records, "--columns", by_column.columns);
  by_column.drop_columns = expanded(records, "--drop-columns", by_column.drop_columns);
  const auto numeric = [&columns] {
    std::vector<std::int64_t> all(columns.size());
    std::iota(all.begin(), all.end(), 0);
    const std::vector<std::int64_t> texts = without_numbers(columns, all);
    std::erase_if(all, [&texts](std::int64_t j) { return std::ranges::count(texts, j) > 0; });
    return all;
  };
  ColumnChoice choice = choose_columns(by_column, names_of(columns), std::ssize(columns), name, numeric);
  if (const auto texts = without_numbers(columns, choice.points); !texts.empty()) {
    std::vector<std::string> shown;
    for (const std::int64_t j : texts) {
      const RecordField& column = columns[static_cast<std::size_t>(j)];
      shown.push_back(fmt::format("column {} ('{}', {})", j + 1, quoted(column.name, 60), column.type));
    }
    refuse_input(
        name, fmt::format("expected numbers, found {}; leave {} out with --drop-columns {}{}", fmt::join(shown, ", "),
                          texts.size() > 1 ? "them" : "it", list_for_option(columns, texts), remedy));
  }
  return choice;
}

std::vector<RecordField> choose_fields(const Records& records, const ReadOptions& options, const std::string& name) {
  refuse_kept_columns(without_id_of_model(options), name);
  const std::vector<RecordField> columns = columns_of(records, name);
  std::vector<RecordField> chosen;
  for (const std::int64_t j : choose_record_columns(records, options, name).points) {
    chosen.push_back(columns[static_cast<std::size_t>(j)]);
  }
  return chosen;
}

ElementType common_type(const std::vector<RecordField>& columns) {
  const bool small = std::all_of(columns.begin(), columns.end(), [](const RecordField& column) {
    return column.element && natural_class_of(column.element->number) == ValueClass::f32;
  });
  return {small ? Number::float32 : Number::float64, false};
}

namespace {

/// Whether the columns are the values of rows one after another, in one type.
bool are_rows(const std::vector<ColumnValues>& columns, std::int64_t width) {
  if (std::ssize(columns) != width || width == 0) return false;
  const ColumnValues& first = columns[0];
  const std::int64_t size = size_of(first.element.number);
  for (std::int64_t j = 0; j < width; ++j) {
    const ColumnValues& column = columns[static_cast<std::size_t>(j)];
    if (column.element != first.element || column.stride != width * size || column.to != j ||
        column.first != first.first + j * size) {
      return false;
    }
  }
  return true;
}

}  // namespace

template <class T>
Conversion convert_columns(const std::vector<ColumnValues>& columns, std::int64_t rows, T* out, std::int64_t width,
                           Missing missing) {
  if (are_rows(columns, width)) return convert(columns[0].element, columns[0].first, rows * width, out, missing);
  constexpr std::int64_t kRows = 256;  // at a time, so that their records are still in the cache for the next column
  std::array<std::byte, kRows * 8> values;
  std::array<T, kRows> converted;
  Conversion total;
  for (std::int64_t begin = 0; begin < rows && total.refused < 0; begin += kRows) {
    const std::int64_t count = std::min(kRows, rows - begin);
    for (const ColumnValues& column : columns) {
      const auto size = static_cast<std::size_t>(size_of(column.element.number));
      const std::byte* from = column.first + begin * column.stride;
      const std::byte* together = from;
      if (column.stride != static_cast<std::int64_t>(size)) {
        for (std::int64_t i = 0; i < count; ++i) {
          std::memcpy(values.data() + static_cast<std::size_t>(i) * size, from + i * column.stride, size);
        }
        together = values.data();
      }
      Conversion part = convert(column.element, together, count, converted.data(), missing);
      total.changed += part.changed;
      if (part.refused >= 0) {
        part.refused = (begin + part.refused) * width + column.to;
        if (total.refused < 0 || part.refused < total.refused) {
          part.changed = total.changed;
          total = std::move(part);
        }
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        out[(begin + i) * width + column.to] = converted[static_cast<std::size_t>(i)];
      }
    }
  }
  return total;
}

template Conversion convert_columns(const std::vector<ColumnValues>&, std::int64_t, float*, std::int64_t, Missing);
template Conversion convert_columns(const std::vector<ColumnValues>&, std::int64_t, double*, std::int64_t, Missing);

template <class T>
Conversion convert_records(const std::vector<RecordField>& columns, std::int64_t record_bytes, const std::byte* raw,
                           std::int64_t rows, T* out, Missing missing) {
  std::vector<ColumnValues> values;
  values.reserve(columns.size());
  for (const RecordField& column : columns) {
    values.push_back({column.element.value(), raw + column.at, record_bytes, std::ssize(values)});
  }
  return convert_columns(values, rows, out, std::ssize(columns), missing);
}

template Conversion convert_records(const std::vector<RecordField>&, std::int64_t, const std::byte*, std::int64_t,
                                    float*, Missing);
template Conversion convert_records(const std::vector<RecordField>&, std::int64_t, const std::byte*, std::int64_t,
                                    double*, Missing);

Conversion first_refused(std::vector<Conversion> parts) {
  Conversion all;
  for (Conversion& part : parts) {
    all.changed += part.changed;
    if (part.refused < 0 || (all.refused >= 0 && all.refused <= part.refused)) continue;
    part.changed = all.changed;
    all = std::move(part);
  }
  return all;
}

}  // namespace kith::data
