// Writes the heads of NumPy's .npy format and uncompressed zip archives of such arrays (APPNOTE.TXT of PKWARE, with
// zip64 for every member).
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
#include "data/io/utf8.h"
#include "data/results/table_file.h"

namespace kith::data {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");

struct Member {
  std::string name;
  std::string head;          // of the array
  std::int64_t bytes = 0;    // of the values
  std::int64_t at = 0;       // of the member in the archive
  std::int64_t written = 0;  // of the values
  Checksum checksum = {};    // of the values so far

  std::int64_t size() const { return std::ssize(head) + bytes; }
  /// Where the values begin in the archive.
  std::int64_t values_at() const { return at + kHeadBytes + std::ssize(name) + std::ssize(head); }

  static constexpr std::int64_t kHeadBytes = 50;  // of local_head() without the name
};

template <class T>
void put(std::string& out, T number) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &number, sizeof(T));
  out.append(bytes, sizeof(T));
}

constexpr std::uint32_t kIn64 = 0xffffffff;  // the number is in the zip64 field

std::uint32_t checksum_of(const Member& member) {
  Checksum sum;
  sum.add(member.head.data(), member.head.size());
  sum.append(member.checksum, member.bytes);
  return sum.value();
}

/// The fields that both heads of a member have: version 4.5, stored, 1980-01-01.
void put_common(std::string& out, const Member& member) {
  put<std::uint16_t>(out, 45);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0x21);
  put<std::uint32_t>(out, checksum_of(member));
  put(out, kIn64);
  put(out, kIn64);
  put(out, static_cast<std::uint16_t>(member.name.size()));
}

/// The head in front of a member.
std::string local_head(const Member& member) {
  std::string out = "PK\x03\x04";
  put_common(out, member);
  put<std::uint16_t>(out, 20);
  out += member.name;
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put(out, member.size());
  put(out, member.size());
  return out;
}

/// The list of all members, behind the last one.
std::string directory_of(const std::vector<Member>& members, std::int64_t at) {
  std::string out;
  for (const Member& member : members) {
    out += "PK\x01\x02";
    put<std::uint16_t>(out, 45);
    put_common(out, member);
    put<std::uint16_t>(out, 28);
    for (int i = 0; i < 3; ++i) put<std::uint16_t>(out, 0);  // comment, disk, internal attributes
    put<std::uint32_t>(out, 0);
    put(out, kIn64);
    out += member.name;
    put<std::uint16_t>(out, 1);
    put<std::uint16_t>(out, 24);
    put(out, member.size());
    put(out, member.size());
    put(out, member.at);
  }
  const std::int64_t size = std::ssize(out), count = std::ssize(members);
  out += "PK\x06\x06";
  put<std::int64_t>(out, 44);
  put<std::uint16_t>(out, 45);
  put<std::uint16_t>(out, 45);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 0);
  put(out, count);
  put(out, count);
  put(out, size);
  put(out, at);
  out += "PK\x06\x07";
  put<std::uint32_t>(out, 0);
  put(out, at + size);
  put<std::uint32_t>(out, 1);
  out += "PK\x05\x06";
  put<std::uint32_t>(out, 0);
  put(out, static_cast<std::uint16_t>(count));
  put(out, static_cast<std::uint16_t>(count));
  put(out, kIn64);
  put(out, kIn64);
  put<std::uint16_t>(out, 0);
  return out;
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

struct SparseArchive::State {
  OutputBytes bytes;
  std::vector<Member> members;
  std::int64_t end = 0;  // of the last member

  State(const std::string& path, const OutputOptions& options) : bytes(path, options) {}
  void add(const std::string& name, std::string head, std::int64_t size) {
    members.push_back({.name = name + ".npy", .head = std::move(head), .bytes = size, .at = end});
    end = members.back().values_at() + size;
  }
  void write(Member& member, const void* values, std::int64_t count) {
    bytes.seek(member.values_at() + member.written);
    bytes.write(values, static_cast<std::size_t>(count));
    member.checksum.add(values, static_cast<std::size_t>(count));
    member.written += count;
  }
};

SparseArchive::SparseArchive(const std::string& path, const OutputOptions& options,
                             const std::vector<std::int64_t>& begin, std::int64_t columns, std::int64_t value_bytes)
    : state_(std::make_unique<State>(path, options)) {
  const std::int64_t edges = begin.back();
  state_->add("indices", numpy_head("'<i8'", {edges}), 8 * edges);
  state_->add("data", numpy_head(fmt::format("'<f{}'", value_bytes), {edges}), value_bytes * edges);
  state_->add("indptr", numpy_head("'<i8'", {std::ssize(begin)}), 8 * std::ssize(begin));
  state_->add("format", numpy_head("'|S3'", {}), 3);
  state_->add("shape", numpy_head("'<i8'", {2}), 16);
  state_->bytes.require_space(state_->end);
  const std::int64_t shape[] = {std::ssize(begin) - 1, columns};
  state_->write(state_->members[2], begin.data(), 8 * std::ssize(begin));
  state_->write(state_->members[3], "csr", 3);
  state_->write(state_->members[4], shape, sizeof shape);
}

SparseArchive::~SparseArchive() = default;

void SparseArchive::append(const std::int64_t* columns, const void* values, std::int64_t count) {
  Member& data = state_->members[1];
  state_->write(state_->members[0], columns, 8 * count);
  state_->write(data, values, data.bytes / std::max<std::int64_t>(state_->members[0].bytes / 8, 1) * count);
}

void SparseArchive::finish() {
  for (const Member& member : state_->members) {
    state_->bytes.seek(member.at);
    state_->bytes.write(local_head(member) + member.head);
  }
  state_->bytes.seek(state_->end);
  state_->bytes.write(directory_of(state_->members, state_->end));
  state_->bytes.publish();
}

namespace {

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
  return plain ? text : double_quoted(text);
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

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");
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
