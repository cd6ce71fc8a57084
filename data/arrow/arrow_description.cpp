// What the columns of a file are, and which of them name the rows.
#include <arrow/util/key_value_metadata.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "data/arrow/arrow_source.h"
#include "data/format/records.h"

namespace kith::data {
namespace {

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

}  // namespace kith::data
