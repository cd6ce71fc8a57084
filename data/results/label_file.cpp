// Writes labels as CSV and as NumPy arrays.
#include "data/results/label_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "data/io/file_kind.h"
#include "data/io/output_bytes.h"
#include "data/results/array_file.h"

namespace kith::data {
namespace {

std::string quoted_field(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// The name of the column that names the rows: that of the ids, if they have one that no other column gets.
std::string row_column(const std::vector<std::string>& ids, const std::string& id_name) {
  if (ids.empty()) return "row";
  constexpr std::string_view kTaken[] = {"", "label", "known", "distance"};
  return std::ranges::count(kTaken, id_name) > 0 ? "id" : csv_field(id_name);
}

void write_csv(OutputBytes& writer, const LabelTable& table) {
  writer.write(fmt::format("{},label{}{}\n", row_column(table.ids, table.id_name), table.known.empty() ? "" : ",known",
                           table.distances.empty() ? "" : ",distance"));
  for (std::size_t i = 0; i < table.labels.size(); ++i) {
    std::string line = table.ids.empty() ? std::to_string(i) : csv_field(table.ids[i]);
    const std::int32_t label = table.labels[i];
    line += table.names.empty() || label < 0 ? fmt::format(",{}", label)
                                             : "," + csv_field(table.names[static_cast<std::size_t>(label)]);
    if (!table.known.empty()) line += fmt::format(",{}", csv_field(table.known[i]));
    if (!table.distances.empty()) line += label < 0 ? "," : fmt::format(",{}", table.distances[i]);
    writer.write(line + "\n");
  }
}

void write_npy(OutputBytes& writer, const LabelTable& table) {
  writer.write(numpy_head("'<i4'", {std::ssize(table.labels)}));
  writer.write(table.labels.data(), table.labels.size_bytes());
}

}  // namespace

std::string csv_field(const std::string& text) {
  const bool plain = text.find_first_of("\",\r\n#") == text.npos && text.find_first_of(" \t") != 0;
  return plain ? text : quoted_field(text);
}

LabelFormat label_format(const std::string& path) {
  if (path == "-") return LabelFormat::lines;
  if (has_ending(path, ".csv")) return LabelFormat::csv;
  return has_ending(path, ".npy") ? LabelFormat::numpy : LabelFormat::none;
}

void write_labels(const std::string& path, const OutputOptions& options, const LabelTable& table) {
  OutputBytes writer(path, options);
  label_format(path) == LabelFormat::numpy ? write_npy(writer, table) : write_csv(writer, table);
  writer.publish();
}

void write_appended(const std::string& path, const OutputOptions& options, const PointSource& points,
                    const LabelTable& table) {
  OutputBytes writer(path, options);
  const TableForm form = points.table_form().value();
  const char delimiter = form.delimiter;
  const auto new_name = [&form](const std::string& name) {
    std::string free = name;
    for (int i = 2; std::count(form.names.begin(), form.names.end(), free) > 0; ++i)
      free = fmt::format("{}_{}", name, i);
    return free;
  };
  std::size_t row = 0;
  points.visit_text([&](TextPart part, std::string_view bytes) {
    writer.write(std::string(bytes));
    if (part == TextPart::header) {
      writer.write(delimiter + new_name("label"));
      if (!table.distances.empty()) writer.write(delimiter + new_name("distance"));
    } else if (part == TextPart::row) {
      const bool dropped = table.labels[row] < 0;
      const char* absent = delimiter == ' ' ? "NA" : "";  // blanks do not show an empty field
      std::string fields = delimiter + std::to_string(table.labels[row]);
      if (!table.distances.empty()) fields += delimiter + (dropped ? absent : table.distances[row]);
      writer.write(fields);
      ++row;
    }
  });
  writer.publish();
}

void write_columns(const std::string& path, const OutputOptions& options, const std::vector<std::string>& ids,
                   const std::string& id_name, const std::vector<NumberColumn>& columns) {
  OutputBytes writer(path, options);
  std::string line = row_column(ids, id_name);
  for (const NumberColumn& column : columns) line += "," + csv_field(column.name);
  writer.write(line + "\n");
  for (std::size_t i = 0; i < columns.front().values.size(); ++i) {
    line = ids.empty() ? std::to_string(i) : csv_field(ids[i]);
    for (const NumberColumn& column : columns) line += fmt::format(",{}", column.values[i]);
    writer.write(line + "\n");
  }
  writer.publish();
}

}  // namespace kith::data
