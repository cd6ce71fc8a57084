// Writes texts, and numbers behind the heads that NumPy's .npy format and those of benchmarks have.
#include "data/results/other_formats.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "data/format/formats.h"
#include "data/io/file_kind.h"
#include "data/io/location.h"
#include "data/io/stream_bytes.h"
#include "data/results/table_file.h"

namespace kith::data {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");

template <class T>
void put(std::string& out, T number) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &number, sizeof(T));
  out.append(bytes, sizeof(T));
}

}  // namespace

std::string numpy_head(const std::string& type, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kPrefixBytes = 10, kAlignment = 64, kDigits = 20;
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string head = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", type, sizes);
  const std::size_t longest = head.size() - sizes.size() + kDigits * shape.size();
  head.resize((kPrefixBytes + longest + kAlignment) / kAlignment * kAlignment - kPrefixBytes, ' ');
  head.back() = '\n';
  const std::string length{static_cast<char>(head.size() & 0xff), static_cast<char>(head.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + length + head;
}

namespace {

std::string quoted_field(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// The name of the column that names the rows: that of the ids, if they have one that no other column gets.
std::string row_column(const std::vector<std::string>& ids, const std::string& id_name) {
  if (ids.empty()) return "row";
  constexpr std::string_view kTaken[] = {"", "label", "known", "distance", "share"};
  return std::ranges::count(kTaken, id_name) > 0 ? "id" : id_name;
}

/// The field of the names of the rows: their ids, or their numbers.
ArrowField row_field(const std::vector<std::string>& ids, const std::string& id_name) {
  return {row_column(ids, id_name), ids.empty() ? ArrowType::int64 : ArrowType::text};
}

void add_name(RowOutput& out, const std::vector<std::string>& ids, std::size_t row) {
  ids.empty() ? out.add(static_cast<std::int64_t>(row)) : out.add(ids[row]);
}

/// The fields behind those that name the rows, with names that `name` makes of the usual ones.
std::vector<ArrowField> label_fields(const LabelTable& table,
                                     const std::function<std::string(const std::string&)>& name) {
  std::vector<ArrowField> fields{{name("label"), table.names.empty() ? ArrowType::int32 : ArrowType::text}};
  if (!table.known.empty()) fields.push_back({name("known"), ArrowType::text});
  const bool is_narrow = std::holds_alternative<std::vector<float>>(table.distances);
  if (table.has_distances()) fields.push_back({name("distance"), is_narrow ? ArrowType::float32 : ArrowType::float64});
  if (!table.shares.empty()) fields.push_back({name("share"), ArrowType::float64});
  return fields;
}

void add_label(RowOutput& out, const LabelTable& table, std::size_t row) {
  const std::int32_t label = table.labels[row];
  if (table.names.empty()) {
    out.add(label);
  } else {
    label < 0 ? out.add_missing("-1") : out.add(table.names[static_cast<std::size_t>(label)]);
  }
  if (!table.known.empty()) out.add(table.known[row]);
  if (table.has_distances()) {
    std::visit([&](const auto& all) { label < 0 ? out.add_missing() : out.add(all[row]); }, table.distances);
  }
  if (!table.shares.empty()) out.add(table.shares[row]);
  out.end_row();
}

void write_table(const std::string& path, const OutputOptions& options, std::vector<TableColumn> columns) {
  std::vector<ArrowField> fields;
  for (const TableColumn& column : columns) fields.push_back(column.field);
  TableFile file(path, options, fields);
  file.columns() = std::move(columns);
  file.finish();
}

}  // namespace

std::string vectors_head(std::int64_t rows, std::int64_t columns) {
  std::string head;
  put(head, static_cast<std::uint32_t>(rows));
  put(head, static_cast<std::uint32_t>(columns));
  return head;
}

std::string csv_field(const std::string& text) {
  const bool plain = text.find_first_of("\",\r\n#") == text.npos && text.find_first_of(" \t") != 0;
  return plain ? text : quoted_field(text);
}

LabelFormat label_format(const std::string& path) {
  if (path == "-") return LabelFormat::lines;
  if (has_ending(path, ".csv")) return LabelFormat::csv;
  if (is_table_file(path)) return LabelFormat::table;
  if (has_ending(path, ".ibin") || has_ending(path, ".fbin")) return LabelFormat::vectors;
  return has_ending(path, ".npy") ? LabelFormat::numpy : LabelFormat::none;
}

void write_labels(const std::string& path, const OutputOptions& options, const LabelTable& table,
                  const std::function<void()>& before_naming) {
  const LabelFormat format = label_format(path);
  const std::int64_t rows = std::ssize(table.labels);
  if (format == LabelFormat::table || format == LabelFormat::csv) {
    std::vector<ArrowField> fields = label_fields(table, [](const std::string& name) { return name; });
    fields.insert(fields.begin(), row_field(table.ids, table.id_name));
    RowOutput out(path, options, fields, {});
    for (std::size_t i = 0; i < table.labels.size(); ++i) {
      add_name(out, table.ids, i);
      add_label(out, table, i);
    }
    return out.finish(before_naming);
  }
  OutputBytes writer(path, options);
  writer.write(format == LabelFormat::numpy ? numpy_head("'<i4'", {rows}) : vectors_head(rows, 1));
  writer.write(table.labels.data(), table.labels.size_bytes());
  writer.publish(before_naming);
}

void write_appended(const std::string& path, const OutputOptions& options, const PointSource& points,
                    const LabelTable& table, const std::function<void()>& before_naming) {
  const auto form = points.table_form();
  const Location location = parse_location(points.name());
  const auto is_taken = [names = form ? form->names : list_arrow(location, {}).front().columns](
                            const std::string& name) { return std::ranges::count(names, name) > 0; };
  const auto new_name = [&is_taken](const std::string& name) {
    std::string free = name;
    for (int i = 2; is_taken(free); ++i) free = fmt::format("{}_{}", name, i);
    return free;
  };
  if (!form) {
    const InputBytes input = open_stream(location.file, "a Parquet or Arrow file");
    RowOutput out(path, options, label_fields(table, new_name), {}, 0, &input);
    for (std::size_t i = 0; i < table.labels.size(); ++i) add_label(out, table, i);
    return out.finish(before_naming);
  }
  const char delimiter = form->delimiter;
  OutputBytes writer(path, options);
  std::size_t row = 0;
  points.visit_text([&](TextPart part, std::string_view bytes) {
    writer.write(std::string(bytes));
    if (part == TextPart::header) {
      writer.write(delimiter + new_name("label"));
      if (table.has_distances()) writer.write(delimiter + new_name("distance"));
    } else if (part == TextPart::row) {
      const bool dropped = table.labels[row] < 0;
      const char* absent = delimiter == ' ' ? "NA" : "";  // blanks do not show an empty field
      std::string fields = delimiter + std::to_string(table.labels[row]);
      if (table.has_distances()) fields += delimiter + (dropped ? absent : table.distance(row));
      writer.write(fields);
      ++row;
    }
  });
  writer.publish(before_naming);
}

void write_columns(const std::string& path, const OutputOptions& options, const std::vector<std::string>& ids,
                   const std::string& id_name, const std::vector<NumberColumn>& columns) {
  std::vector<ArrowField> fields{row_field(ids, id_name)};
  for (const NumberColumn& column : columns) fields.push_back({column.name, ArrowType::float64});
  RowOutput out(path, options, fields, {});
  for (std::size_t i = 0; i < columns.front().values.size(); ++i) {
    add_name(out, ids, i);
    for (const NumberColumn& column : columns) out.add(column.values[i]);
    out.end_row();
  }
  out.finish();
}

namespace {

/// A list of numbers for each row, as T.
template <class T>
TableColumn vector_column(const std::string& name, MatrixView<const double> vectors) {
  TableColumn column{{name, arrow_type<T>(), vectors.columns}};
  const std::vector<T> values(vectors.data, vectors.data + vectors.size());
  column.add_all(std::span<const T>(values));
  return column;
}

}  // namespace

void write_centroids(const std::string& path, const OutputOptions& options, const CentroidTable& centroids) {
  const MatrixView<const double> x = centroids.vectors;
  const LabelFormat format = label_format(path);
  if (format == LabelFormat::table) {
    std::vector<TableColumn> table;
    TableColumn& numbers = table.emplace_back(TableColumn{{"cluster", ArrowType::int32}});
    for (std::int64_t c = 0; c < x.rows; ++c) numbers.add(static_cast<std::int32_t>(c));
    if (!centroids.parents.empty()) {
      table.emplace_back(TableColumn{{"parent", ArrowType::int64}})
          .add_all(std::span<const std::int64_t>(centroids.parents));
    }
    table.emplace_back(TableColumn{{"rows", ArrowType::int64}}).add_all(centroids.counts);
    table.push_back(centroids.are_narrow ? vector_column<float>("vector", x) : vector_column<double>("vector", x));
    return write_table(path, options, std::move(table));
  }
  OutputBytes writer(path, options);
  if (format == LabelFormat::numpy) {
    writer.write(numpy_head("'<f8'", {x.rows, x.columns}));
    writer.write(x.data, static_cast<std::size_t>(x.size()) * sizeof(double));
  } else if (format == LabelFormat::vectors) {
    const std::vector<float> narrow(x.data, x.data + x.size());
    writer.write(vectors_head(x.rows, x.columns));
    writer.write(narrow.data(), narrow.size() * sizeof(float));
  } else {
    std::string line;
    const bool are_named = std::ssize(centroids.columns) == x.columns;
    for (std::int64_t j = 0; j < x.columns; ++j) {
      line += j == 0 ? "" : ",";
      line += are_named ? csv_field(centroids.columns[static_cast<std::size_t>(j)]) : fmt::format("x{}", j + 1);
    }
    writer.write(line + "\n");
    for (std::int64_t c = 0; c < x.rows; ++c) writer.write(fmt::format("{}\n", fmt::join(x.row(c), ",")));
  }
  writer.publish();
}

namespace {

constexpr std::int64_t kWord = 4;  // bytes of every number in these files

std::int64_t bytes_of(NeighborFormat format, const NeighborFile::Shape& shape) {
  const std::int64_t lists = checked_product(shape.queries, shape.neighbors, "neighbours");
  return format == NeighborFormat::bigann ? 2 * kWord + 2 * kWord * lists : kWord * (lists + shape.queries);
}

}  // namespace

struct NeighborFile::State {
  State(const std::string& path, const OutputOptions& options, NeighborFormat file_format, const Shape& sizes)
      : bytes(path, options), format(file_format), shape(sizes) {}

  OutputBytes bytes;
  NeighborFormat format;
  Shape shape;
};

NeighborFile::NeighborFile(const std::string& path, const OutputOptions& options, NeighborFormat format,
                           const Shape& shape) {
  state_ = std::make_unique<State>(path, options, format, shape);
  state_->bytes.require_space(bytes_of(format, shape));
  if (format != NeighborFormat::ivecs) state_->bytes.write(vectors_head(shape.queries, shape.neighbors));
}

NeighborFile::~NeighborFile() = default;

void NeighborFile::write(std::int64_t first_query, MatrixView<const std::int64_t> neighbors,
                         MatrixView<const float> distances) {
  const Shape& shape = state_->shape;
  const bool with_length = state_->format == NeighborFormat::ivecs;
  const std::int64_t row_words = shape.neighbors + (with_length ? 1 : 0);
  std::vector<std::int32_t> words;
  words.reserve(static_cast<std::size_t>(neighbors.rows * row_words));
  for (std::int64_t i = 0; i < neighbors.rows; ++i) {
    if (with_length) words.push_back(static_cast<std::int32_t>(shape.neighbors));
    for (const std::int64_t row : neighbors.row(i)) words.push_back(static_cast<std::int32_t>(row));
  }
  const std::int64_t header = with_length ? 0 : 2 * kWord;
  state_->bytes.seek(header + first_query * row_words * kWord);
  state_->bytes.write(words.data(), words.size() * kWord);
  if (with_length) return;
  state_->bytes.seek(header + (shape.queries + first_query) * row_words * kWord);
  state_->bytes.write(distances.data, static_cast<std::size_t>(distances.size() * kWord));
}

void NeighborFile::finish() { state_->bytes.publish(); }

void write_text_file(const std::string& path, const OutputOptions& options, const std::string& text) {
  OutputBytes output(path, options);
  output.require_space(static_cast<std::int64_t>(text.size()));
  output.write(text);
  output.publish();
}

}  // namespace kith::data
