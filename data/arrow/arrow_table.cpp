// Opens Parquet and Arrow files, lists their columns, and reads columns of text.
#include "data/arrow/arrow_table.h"

#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/arrow/arrow_source.h"
#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

constexpr const char* kShowColumns = "`kith info` shows its columns";

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

ArrowTable open_table(const Location& location, const ReadOptions& options) {
  ArrowTable table;
  table.file = open_arrow_file(location.file, options.scratch);
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

std::vector<std::string> field_names(const Records& records) {
  std::vector<std::string> names;
  for (const RecordField& field : records.fields) names.push_back(field.name);
  return names;
}

/// The field that FILE:COLUMN names, counted from 0.
std::int64_t field_of_location(const Location& location, const Records& records) {
  const std::vector<std::string> names = field_names(records);
  const std::string option = fmt::format("{}:{}", location.file, location.dataset);
  return choose_column(option.c_str(), location.dataset, names, std::ssize(names), location.file);
}

/// Restricts the options to the column that FILE:COLUMN names.
void choose_location(const Location& location, const Records& records, ReadOptions& options) {
  if (location.dataset.empty()) return;
  if (!options.columns.empty() || !options.drop_columns.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}:{}: expected a file without the name of a column beside --columns and --drop-columns, "
                            "found ':{}'; give the one or the other",
                            location.file, location.dataset, location.dataset));
  }
  const std::int64_t field = field_of_location(location, records);
  std::int64_t first = 1;
  for (std::int64_t i = 0; i < field; ++i) first += records.fields[static_cast<std::size_t>(i)].count;
  options.columns = fmt::format("{}-{}", first, first + records.fields[static_cast<std::size_t>(field)].count - 1);
  options.like.clear();
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

/// The index of pandas, named by its metadata or by its own convention, names the rows: it is not part of the points,
/// even if it is a number. Returns a remark about one that has a name.
std::string exclude_index(const ArrowTable& table, ReadOptions& options) {
  if (!options.columns.empty()) return "";
  const std::vector<std::string> index = index_names(table.file->schema());
  const std::vector<ListItem> dropped = split_list("--drop-columns", options.drop_columns);
  std::vector<std::string> named;
  std::int64_t number = 1;
  for (const RecordField& field : table.records.fields) {
    const bool by_name = std::find(index.begin(), index.end(), field.name) != index.end();
    const std::string text = std::to_string(number);
    const auto is_it = [&](const std::string& option) { return option == field.name || option == text; };
    const bool is_chosen = is_it(options.id_column) || is_it(options.label_column) || is_it(options.weight_column) ||
                           std::any_of(dropped.begin(), dropped.end(), [&](const auto& d) { return is_it(d.text); });
    if ((by_name || field.name.starts_with("__index_level_")) && !is_chosen) {
      if (by_name && !field.name.starts_with("__index_level_")) named.push_back(field.name);
      if (options.id_column.empty()) {
        options.id_column = text;
      } else {
        options.drop_columns += fmt::format("{}{}", options.drop_columns.empty() ? "" : ",", text);
      }
    }
    number += field.count;
  }
  return named.empty() ? ""
                       : fmt::format(
                             "the index of pandas ({}) names the rows and is not part of the points; "
                             "--columns can choose it",
                             show_list(named));
}

std::string type_of(const Records& records) {
  std::vector<std::string> types;
  for (const RecordField& field : records.fields) {
    if (std::find(types.begin(), types.end(), field.type) == types.end()) types.push_back(field.type);
  }
  return types.size() == 1 ? types[0] : "table";
}

}  // namespace

bool has_arrow() { return true; }

std::unique_ptr<PointSource> open_arrow(const Location& location, const ReadOptions& options) {
  ArrowTable table = open_table(location, options);
  const std::string file = table.file->name();
  ReadOptions chosen = options;
  choose_location({file, location.dataset}, table.records, chosen);
  table.remark = exclude_index(table, chosen);
  const std::string name = location.dataset.empty() ? file : fmt::format("{}:{}", file, location.dataset);
  const bool numbers = std::any_of(table.records.fields.begin(), table.records.fields.end(),
                                   [](const RecordField& field) { return field.element.has_value(); });
  if (!numbers) refuse_input(file, fmt::format("expected columns of numbers, found none; {}", kShowColumns));
  const ColumnChoice columns = choose_record_columns(table.records, chosen, name);
  return make_arrow_source(std::move(table), name, columns, options);
}

std::vector<DatasetInfo> list_arrow(const Location& location, const ReadOptions& options) {
  const ArrowTable table = open_table(location, options);
  Records records = table.records;
  if (!location.dataset.empty()) {
    const RecordField field = records.fields[static_cast<std::size_t>(field_of_location(location, records))];
    records.fields = {field};
  }
  DatasetInfo info;
  describe_columns(records, table.file->name(), info);
  info.path = location.dataset;
  info.shape = {table.file->rows(), std::ssize(info.columns)};
  info.type = type_of(records);
  info.layout = table.file->layout();
  info.filters = table.file->filters();
  info.stored_bytes = table.file->input().size();
  return {info};
}

std::optional<ArrowTexts> read_arrow_texts(Location& location, const ReadOptions& options, const std::string& what) {
  const ArrowTable table = open_table(location, options);
  if (location.dataset.empty()) {
    const std::vector<std::string> names = field_names(table.records);
    const bool is_named = std::find(names.begin(), names.end(), what) != names.end();
    if (names.size() > 1 && !is_named) {
      throw Error(ExitCode::usage, fmt::format("{}: expected the name of the {} column, as in {}:COLUMN; {}",
                                               location.file, what, location.file, kShowColumns));
    }
    location.dataset = is_named ? what : "1";
  }
  const std::int64_t field = field_of_location(location, table.records);
  if (table.records.fields[static_cast<std::size_t>(field)].element) return std::nullopt;
  return ArrowTexts{fmt::format("{}:{}", table.file->name(), location.dataset),
                    field_texts(*table.file, static_cast<int>(field)), table.file->input().size()};
}

}  // namespace kith::data
