// Points from NumPy arrays, in separate files or as members of an archive.
#include "data/arrays/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/format/sparse_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"

namespace kith::data {

namespace {

std::int64_t count_of(const NumpyHeader& header) {
  std::int64_t count = 1;
  for (const std::int64_t size : header.shape) count = capped_product(count, size);
  return count;
}

DatasetInfo info_of(const NumpyHeader& header, std::int64_t stored) {
  DatasetInfo info;
  info.shape = header.shape;
  info.type = header.type;
  info.layout = header.fortran_order ? "columns together" : "contiguous";
  info.stored_bytes = stored;
  if (header.element && size_of(header.element->number) > 1)
    info.byte_order = header.element->swapped ? "big" : "little";
  if (!header.records.fields.empty()) describe_columns(header.records, "a structured array", info);
  info.unreadable = refusal(header, stored, false);
  info.is_readable = refusal(header, stored, true).empty();
  info.is_damaged = !damage(header, stored).empty();
  return info;
}

RawTable table_of(const NumpyHeader& header, const std::string& name, std::int64_t at, const ReadOptions& options) {
  RawTable table;
  table.name = name;
  table.rows = header.shape[0];
  table.columns = header.shape.size() == 1 ? 1 : header.shape[1];
  table.at = at + header.bytes;
  if (!header.records.fields.empty()) {
    table.type = header.type;
    table.record_bytes = header.records.bytes;
    table.fields = choose_fields(header.records, options, name);
    table.columns = std::ssize(table.fields);
    table.element = common_type(table.fields);
    return table;
  }
  table.element = *header.element;
  table.type = header.type;
  if (header.fortran_order && table.columns > 1) table.order = RawTable::columns_together;
  return table;
}

NumpyHeader header_of(const InputBytes& input) {
  return read_numpy_header(input.begin(kMaxNumpyHeaderBytes), input.name());
}

void require_no_dataset(const Location& location) {
  if (location.dataset.empty()) return;
  refuse_input(location.file,
               fmt::format("expected the file only, since it holds one array, found ':{0}'; leave out ':{0}'",
                           location.dataset));
}

/// An array of an archive: its header, without its values.
struct Member {
  ZipMember file;
  std::string path;  // "/x" for x.npy
  NumpyHeader header;
  std::string unreadable;  // why it is not an array or cannot be read, else empty
  bool is_damaged = false;
};

constexpr std::int64_t kMemberHeaderBytes = std::int64_t{64} << 10;

std::vector<Member> arrays_of(const InputBytes& input) {
  std::vector<Member> arrays;
  for (const ZipMember& file : zip_members(input)) {
    Member member;
    member.file = file;
    member.path =
        fmt::format("/{}", file.name.ends_with(".npy") ? file.name.substr(0, file.name.size() - 4) : file.name);
    member.unreadable = file.obstacle;
    try {
      if (member.unreadable.empty()) {
        const std::vector<std::byte> begin = extract_begin(input, file, std::int64_t{4} << 10);
        const auto text = [](const std::vector<std::byte>& bytes) {
          return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        };
        // Only structured arrays have longer headers; those beyond kMemberHeaderBytes are not read.
        const bool longer = text(begin).find('}') == std::string_view::npos;
        const std::vector<std::byte> more =
            longer ? extract_begin(input, file, kMemberHeaderBytes) : std::vector<std::byte>();
        member.header = read_numpy_header(text(longer ? more : begin), fmt::format("{}:{}", input.name(), member.path));
        verify_whole(input, file, longer ? more : begin);
      }
    } catch (const Error& error) {
      member.unreadable = error.what();
      // Archives of other programs hold texts too, which have no header.
      member.is_damaged = file.name.ends_with(".npy") || !member.header.type.empty();
    }
    arrays.push_back(std::move(member));
  }
  return arrays;
}

std::string refusal_of(const Member& member, bool vector_as_column) {
  if (!member.unreadable.empty()) return member.unreadable;
  return refusal(member.header, member.file.size - member.header.bytes, vector_as_column);
}

/// What `kith info` shows of an archive.
std::vector<DatasetInfo> describe(const std::vector<Member>& arrays) {
  std::vector<DatasetInfo> list;
  for (const Member& member : arrays) {
    DatasetInfo info = info_of(member.header, member.file.size - member.header.bytes);
    info.path = member.path;
    info.unreadable = refusal_of(member, false);
    info.is_readable = refusal_of(member, true).empty();
    info.is_damaged = member.is_damaged || (member.unreadable.empty() && info.is_damaged);
    info.stored_bytes = member.file.stored;
    if (member.file.deflated) info.filters.push_back("deflate");
    list.push_back(std::move(info));
  }
  return list;
}

[[noreturn]] void refuse_member(const std::string& name, const std::string& problem) {
  const bool complete = problem.starts_with(name.substr(0, name.rfind(':')));  // the message begins with the name
  if (complete) throw Error(ExitCode::data, problem);
  refuse_input(name, problem);
}

/// The array of an archive with this path; null if there is none.
const Member* find(const std::vector<Member>& arrays, const std::string& path) {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const Member& m) { return m.path == path; });
  return found == arrays.end() ? nullptr : &*found;
}

/// Opens an array of an archive.
std::unique_ptr<PointSource> open_member(InputBytes input, const Member& member, const ReadOptions& options) {
  const std::string file = input.name(), name = fmt::format("{}:{}", file, member.path);
  if (const std::string problem = refusal_of(member, options.vector_as_column); !problem.empty()) {
    refuse_member(name, problem);
  }
  if (!member.file.deflated) {
    RawTable table = table_of(member.header, name, member.file.at, options);
    table.verify = [zip = member.file, threads = options.threads](const InputBytes& bytes) {
      verify_stored(bytes, zip, threads);
    };
    return open_raw(std::move(input), table, options);
  }
  InputBytes inflated = extract(input, member.file, name, options.scratch);
  input.check_unchanged();
  return open_raw(std::move(inflated), table_of(member.header, name, 0, options), options);
}

InputBytes open_archive(const std::string& file) { return InputBytes::open(file, "an archive of NumPy arrays"); }

/// An array of an archive; `flat`: one of any number of dimensions, in row order, as a vector.
std::unique_ptr<PointSource> open_part(const std::string& file, Member part, const ReadOptions& options, bool flat) {
  if (flat && (!part.header.fortran_order || part.header.shape.size() < 2)) part.header.shape = {count_of(part.header)};
  return open_member(open_archive(file), part, options);
}

/// The characters of an array of text, in 1 or 4 bytes for each.
std::string text_of_array(const std::string& file, const Member& part) {
  if (!part.unreadable.empty()) refuse_member(fmt::format("{}:{}", file, part.path), part.unreadable);
  std::string text;
  for (const std::byte byte : extract_begin(open_archive(file), part.file, kMemberHeaderBytes)) {
    if (byte != std::byte{0}) text += static_cast<char>(byte);
  }
  return text.erase(0, std::min(text.size(), text.find('\n')) + 1);
}

/// Where the texts of an array are.
struct StoredTexts {
  InputBytes input;
  std::int64_t at = 0, bytes = 0;
  NumpyHeader header;
};

std::optional<StoredTexts> texts_of(const Location& location) {
  if (is_standard_input(location.file)) return std::nullopt;  // it can be read once
  if (is_npy(location.file)) {
    require_no_dataset(location);
    InputBytes input = open_stream(location.file, "a NumPy array");
    const NumpyHeader header = header_of(input);
    const std::int64_t bytes = input.size() - header.bytes;
    return StoredTexts{std::move(input), header.bytes, bytes, header};
  }
  if (!is_npz(location.file)) return std::nullopt;
  InputBytes input = open_archive(location.file);
  const std::vector<Member> arrays = arrays_of(input);
  const std::string path = (location.dataset.starts_with('/') ? "" : "/") + location.dataset;
  const Member* const member = arrays.size() == 1 && location.dataset.empty() ? &arrays[0] : find(arrays, path);
  if (member == nullptr || !member->unreadable.empty() || member->header.text_bytes == 0) return std::nullopt;
  const std::int64_t begin = member->header.bytes, bytes = member->file.size - begin;
  if (member->file.deflated) {
    return StoredTexts{extract(input, member->file, location.file, ""), begin, bytes, member->header};
  }
  verify_stored(input, member->file, 1);
  return StoredTexts{std::move(input), member->file.at + begin, bytes, member->header};
}

/// A text without the zeros behind it.
std::string text_at(const std::byte* bytes, const NumpyHeader& header) {
  std::string text;
  if (!header.wide) {
    text.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(header.text_bytes));
    return text.erase(text.find_last_not_of('\0') + 1);
  }
  for (std::int64_t i = 0; i < header.text_bytes; i += 4) {
    std::uint32_t character = 0;
    std::memcpy(&character, bytes + i, sizeof character);
    if (character == 0) break;
    append_utf8(text, header.swapped ? __builtin_bswap32(character) : character);
  }
  return text;
}

/// How the values are arranged, in the words of SciPy.
enum class Format { none, csr, csc, coo, dia, bsr, unknown };

/// Calls visit(row, column, value) for each entry.
using Visit = std::function<void(std::int64_t row, std::int64_t column, double value)>;

/// What `kith info` shows of a sparse matrix.
struct SparseFacts {
  std::int64_t rows = 0, columns = 0;
  std::string layout;
};

/// A sparse matrix in an archive, as scipy.sparse.save_npz() and sparse.save_npz() of PyData write it. Compressed rows
/// and columns are read as they are stored; coordinates, diagonals and blocks are compressed first.
class SparseNpz {
 public:
  SparseNpz(std::string file, const std::vector<Member>& arrays) : file_(std::move(file)), arrays_(arrays) {}

  bool is_one() const { return has("data") && has("shape") && (has("format") || names_format() != Format::none); }

  SparseFacts facts() {
    require_format();
    read_shape();
    return {rows_, columns_,
            format_ == Format::csr   ? "sparse by rows"
            : format_ == Format::csc ? "sparse by columns"
                                     : "sparse"};
  }

  std::unique_ptr<PointSource> open(const ReadOptions& options) {
    const SparseFacts known = facts();
    SparseMatrix matrix;
    matrix.name = file_;
    matrix.kind = known.layout;
    matrix.origin = "/indptr";
    matrix.rows = rows_;
    matrix.columns = columns_;
    if (format_ == Format::csr || format_ == Format::csc) {
      matrix.by_columns = format_ == Format::csc;
      matrix.open = [this](SparseMatrix::Part part, const ReadOptions& vectors) {
        const char* const names[] = {"/indptr", "/indices", "/data"};  // in the order of SparseMatrix::Part
        return open_part(file_, *find(arrays_, names[part]), vectors, false);
      };
      return open_sparse(matrix, options);
    }
    const NumpyHeader& data = *header_of("data");
    if (!data.element) refuse_input(file_ + ":/data", data.obstacle);
    ReadOptions adjusted = options;
    adjusted.precision = class_for(natural_class_of(data.element->number), options.precision) == ValueClass::f32
                             ? Precision::f32
                             : Precision::f64;
    SparseBuilder builder(file_, rows_);
    const Entries entries = read_entries();
    visit(entries, [&](std::int64_t row, std::int64_t, double) { builder.count(row); });
    builder.allocate();
    visit(entries, [&](std::int64_t row, std::int64_t column, double value) { builder.add(row, column, value); });
    return builder.finish(std::move(matrix), adjusted);
  }

 private:
  /// Arrays of the formats that are not read as they are stored.
  struct Entries {
    Matrix<double> values, rows, columns;  // columns: of a dia, the offsets
  };

  [[noreturn]] void damaged(const std::string& problem) const {
    refuse_input(file_, fmt::format("damaged sparse matrix: {}; save it again", problem));
  }
  /// Null if there is no such array, or one that cannot be read.
  const NumpyHeader* header_of(const std::string& name) const {
    const Member* const found = find(arrays_, "/" + name);
    return found != nullptr && !found->header.type.empty() ? &found->header : nullptr;
  }
  bool has(const char* name) const { return header_of(name) != nullptr; }

  /// The format that the names of the arrays say, where no array says it.
  Format names_format() const {
    const NumpyHeader *const data = header_of("data"), *const shape = header_of("shape"),
                             *const coords = header_of("coords");
    if (data == nullptr || shape == nullptr) return Format::none;
    if (coords != nullptr) {
      const bool fits = coords->shape.size() == 2 && shape->shape.size() == 1 && coords->shape[0] == shape->shape[0] &&
                        coords->shape[1] == count_of(*data);
      return fits ? Format::coo : Format::none;
    }
    if (!has("indices") || !has("indptr")) return Format::none;
    if (has("compressed_axes")) return Format::csr;
    if (count_of(*shape) != 2) return Format::none;
    // Saved as arrays, without a format: the number of starts says whether they are of rows or of columns.
    const std::vector<double> sizes = numbers("shape");
    const auto starts = static_cast<double>(count_of(*header_of("indptr")) - 1);
    if (sizes[0] == sizes[1]) return Format::none;
    return sizes[0] == starts ? Format::csr : sizes[1] == starts ? Format::csc : Format::none;
  }

  void require_format() {
    const std::string text = has("format") ? text_of_array(file_, *find(arrays_, "/format")) : "";
    const std::pair<const char*, Format> known[] = {{"csr", Format::csr}, {"csc", Format::csc}, {"coo", Format::coo},
                                                    {"dia", Format::dia}, {"bsr", Format::bsr}, {"gcxs", Format::csr}};
    const auto* const found = std::ranges::find_if(known, [&](const auto& k) { return text == k.first; });
    format_ = found != std::end(known) ? found->second : text.empty() ? names_format() : Format::unknown;
    if (format_ == Format::unknown || format_ == Format::none) {
      refuse_input(file_, fmt::format("expected a sparse matrix in the format csr, csc, coo, bsr or dia, found "
                                      "'{}'; save it again: scipy.sparse.save_npz(FILE, x.tocsr())",
                                      quoted(text, 20)));
    }
    if (has("fill_value")) require_zero_fill();
  }

  /// Refuses an archive of PyData whose entries that are not stored have another value than 0.
  void require_zero_fill() const {
    const NumpyHeader& header = *header_of("fill_value");
    const std::vector<double> fill =
        count_of(header) == 1 && header.element ? numbers("fill_value") : std::vector<double>{};
    if (fill.size() == 1 && fill[0] == 0.0) return;
    refuse_input(file_,
                 fmt::format("expected a sparse matrix of zeros, found the fill_value {}; save it as an array: python3 "
                             "-c \"import numpy, sparse; numpy.save('OUT.npy', sparse.load_npz('IN').todense())\"",
                             fill.empty() ? header.type : fmt::format("{}", fill[0])));
  }

  /// All values of a small array.
  std::vector<double> numbers(const char* name) const {
    const Matrix<double> values = table(name, true);
    return {values.data(), values.data() + values.size()};
  }

  void read_shape() {
    if (count_of(*header_of("shape")) != 2) {
      refuse_input(file_, fmt::format("expected a sparse matrix of 2 dimensions (rows, features), found {}; "
                                      "reshape it to rows x features, or save it again if it is damaged",
                                      count_of(*header_of("shape"))));
    }
    const std::vector<double> sizes = numbers("shape");
    for (const double size : sizes) {
      if (!(size < 0x1p53 && size >= 0 && size == std::floor(size))) {
        damaged(fmt::format("expected sizes in shape, found {}", size));
      }
    }
    rows_ = static_cast<std::int64_t>(sizes[0]);
    columns_ = static_cast<std::int64_t>(sizes[1]);
    if (format_ == Format::csr && has("compressed_axes")) {
      const std::vector<double> axes = numbers("compressed_axes");
      if (axes.size() != 1 || (axes[0] != 0.0 && axes[0] != 1.0)) damaged("compressed_axes is neither 0 nor 1");
      if (axes[0] == 1.0) format_ = Format::csc;
    }
    constexpr std::int64_t kMostColumns = std::numeric_limits<std::int32_t>::max();
    const bool as_stored = format_ == Format::csr || format_ == Format::csc;
    if (!as_stored && columns_ > kMostColumns) damaged(fmt::format("it claims {} columns", columns_));
  }

  /// An array as a matrix of float64 (n x 1 for vectors); empty if it has no values.
  Matrix<double> table(const char* name, bool flat) const {
    const NumpyHeader* const header = header_of(name);
    if (header == nullptr) damaged(fmt::format("{} is missing", name));
    if (count_of(*header) == 0) return {};
    const auto source =
        open_part(file_, *find(arrays_, "/" + std::string(name)),
                  {.precision = Precision::f64, .vector_as_column = true, .missing = Missing::keep}, flat);
    require_memory(capped_product(source->rows() * source->columns(), sizeof(double)), source->name());
    return std::get<Matrix<double>>(read_all(*source));
  }

  Entries read_entries() const {
    Entries entries;
    entries.values = table("data", format_ == Format::bsr);
    if (format_ == Format::coo && has("coords")) {
      const Matrix<double> both = table("coords", false);
      if (both.size() != 2 * entries.values.size()) damaged("coords and data have different lengths");
      entries.rows = Matrix<double>(both.size() / 2, 1);
      entries.columns = Matrix<double>(both.size() / 2, 1);
      std::copy_n(both.data(), entries.rows.size(), entries.rows.data());
      std::copy_n(both.data() + entries.rows.size(), entries.columns.size(), entries.columns.data());
    } else if (format_ == Format::coo) {
      entries.rows = table("row", false);
      entries.columns = table("col", false);
    } else if (format_ == Format::dia) {
      entries.columns = table("offsets", false);
    } else {
      entries.rows = table("indptr", false);
      entries.columns = table("indices", false);
    }
    return entries;
  }

  /// A whole number of an array, at least `least` and below `end`.
  std::int64_t whole(const Matrix<double>& array, std::int64_t i, std::int64_t least, std::int64_t end,
                     const char* what) const {
    const double value = array.data()[i];
    if (value >= static_cast<double>(least) && value < static_cast<double>(end) && value == std::floor(value)) {
      return static_cast<std::int64_t>(value);
    }
    damaged(fmt::format("expected a {} from {} to {}, found {} at position {} (counted from 0)", what, least, end - 1,
                        value, i));
  }

  void visit(const Entries& entries, const Visit& entry) const {
    if (format_ == Format::coo) return visit_coordinates(entries, entry);
    return format_ == Format::dia ? visit_diagonals(entries, entry) : visit_blocks(entries, entry);
  }

  void visit_coordinates(const Entries& entries, const Visit& entry) const {
    if (entries.rows.size() != entries.values.size() || entries.columns.size() != entries.values.size()) {
      damaged(fmt::format("it has {} values, {} rows and {} columns", entries.values.size(), entries.rows.size(),
                          entries.columns.size()));
    }
    for (std::int64_t i = 0; i < entries.values.size(); ++i) {
      entry(whole(entries.rows, i, 0, rows_, "row"), whole(entries.columns, i, 0, columns_, "column"),
            entries.values.data()[i]);
    }
  }

  /// Row k of the values is a diagonal: its value j stands in column j, and in row j - offsets[k].
  void visit_diagonals(const Entries& entries, const Visit& entry) const {
    if (entries.columns.size() != entries.values.rows()) {
      damaged(fmt::format("it has {} diagonals and {} offsets", entries.values.rows(), entries.columns.size()));
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    for (std::int64_t k = 0; k < entries.values.rows(); ++k) {
      const std::int64_t offset = whole(entries.columns, k, -kMost, kMost, "offset");
      const std::int64_t end = std::min({entries.values.columns(), columns_, rows_ + offset});
      for (std::int64_t j = std::max<std::int64_t>(offset, 0); j < end; ++j) {
        if (entries.values(k, j) != 0.0) entry(j - offset, j, entries.values(k, j));
      }
    }
  }

  /// Compressed rows of dense blocks.
  void visit_blocks(const Entries& entries, const Visit& entry) const {
    const std::vector<std::int64_t>& shape = header_of("data")->shape;
    const bool divides =
        shape.size() == 3 && shape[1] > 0 && shape[2] > 0 && rows_ % shape[1] == 0 && columns_ % shape[2] == 0;
    if (!divides) damaged(fmt::format("blocks of {} in {} x {}", show_shape(shape), rows_, columns_));
    const std::int64_t height = shape[1], width = shape[2], lines = rows_ / height, blocks = entries.columns.size();
    if (entries.rows.size() != lines + 1 || blocks > shape[0]) damaged("indptr and indices do not fit its shape");
    whole(entries.rows, 0, 0, 1, "first start");
    for (std::int64_t line = 0, at = 0; line < lines; ++line) {
      const std::int64_t end = whole(entries.rows, line + 1, at, blocks + 1, "start");
      for (; at < end; ++at) {
        const std::int64_t column = whole(entries.columns, at, 0, columns_ / width, "block");
        for (std::int64_t i = 0; i < height * width; ++i) {
          const double value = entries.values.data()[at * height * width + i];
          if (value != 0.0) entry(line * height + i / width, column * width + i % width, value);
        }
      }
    }
  }

  std::string file_;
  const std::vector<Member>& arrays_;
  Format format_ = Format::none;
  std::int64_t rows_ = 0, columns_ = 0;
};

}  // namespace

std::optional<std::vector<std::string>> read_numpy_texts(const Location& location) {
  const std::optional<StoredTexts> stored = texts_of(location);
  if (!stored || stored->header.text_bytes == 0) return std::nullopt;
  const NumpyHeader& header = stored->header;
  const std::int64_t count = count_of(header);
  const bool is_vector = header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] == 1);
  if (!is_vector) return std::nullopt;
  if (capped_product(count, header.text_bytes) != stored->bytes) {
    refuse_input(location.file,
                 fmt::format("{} texts of {} bytes are declared, and {} bytes stored; it is damaged: copy "
                             "or save it again",
                             count, header.text_bytes, stored->bytes));
  }
  require_memory(capped_product(count, static_cast<std::int64_t>(sizeof(std::string)) + 2 * header.text_bytes),
                 location.file);
  std::vector<std::byte> bytes(static_cast<std::size_t>(stored->bytes));
  stored->input.read(stored->at, stored->bytes, bytes.data());
  stored->input.check_unchanged();
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) texts.push_back(text_at(bytes.data() + i * header.text_bytes, header));
  return texts;
}

bool is_npy(const std::string& file) { return begin_of_stream(file).starts_with(kNumpySignature); }

std::unique_ptr<PointSource> open_npy(const Location& location, const ReadOptions& options) {
  require_no_dataset(location);
  InputBytes input = open_stream(location.file, "a NumPy array", options.scratch);
  const NumpyHeader header = header_of(input);
  const std::string name = input.name(),
                    problem = refusal(header, input.size() - header.bytes, options.vector_as_column);
  const std::vector<std::int64_t>& shape = header.shape;
  if (!problem.empty() && header.obstacle.empty() && shape.size() == 2 && shape[0] == 0) throw NoRows(name, problem);
  if (!problem.empty()) refuse_input(name, problem);
  return open_raw(std::move(input), table_of(header, name, 0, options), options);
}

std::vector<DatasetInfo> list_npy(const Location& location, const ReadOptions& options) {
  require_no_dataset(location);
  const InputBytes input = open_stream(location.file, "a NumPy array", options.scratch);
  const NumpyHeader header = header_of(input);
  return {info_of(header, input.size() - header.bytes)};
}

bool is_npz(const std::string& file) {
  constexpr std::size_t kNameAt = 30, kLongest = 1000;
  const std::string begin = first_bytes(file, kNameAt + kLongest);
  if (!begin.starts_with("PK\x03\x04")) return false;
  if (has_ending(file, ".npz")) return true;
  const std::size_t name_bytes =
      begin.size() < kNameAt ? 0 : static_cast<unsigned char>(begin[26]);  // of the first one
  return begin.substr(std::min(begin.size(), kNameAt), name_bytes).ends_with(".npy");
}

std::unique_ptr<PointSource> open_npz(const Location& location, const ReadOptions& options) {
  InputBytes input = open_archive(location.file);
  const std::vector<Member> arrays = arrays_of(input);
  if (location.dataset.empty()) {
    for (const Member& member : arrays) {  // it may be the one that is meant
      if (member.header.type.empty() && member.file.name.ends_with(".npy")) {
        refuse_member(fmt::format("{}:{}", location.file, member.path), member.unreadable);
      }
    }
    if (SparseNpz sparse(location.file, arrays); sparse.is_one()) return sparse.open(options);
  }
  const std::size_t chosen = choose_array(describe(arrays), location, options.vector_as_column);
  return open_member(std::move(input), arrays[chosen], options);
}

std::vector<DatasetInfo> list_npz(const Location& location, const ReadOptions&) {
  const InputBytes input = open_archive(location.file);
  const std::vector<Member> arrays = arrays_of(input);
  std::vector<DatasetInfo> list = describe(arrays);
  if (!location.dataset.empty()) return {list[choose_array(list, location, false)]};
  SparseNpz sparse(location.file, arrays);
  const auto damaged = std::find_if(list.begin(), list.end(), [](const DatasetInfo& info) { return info.is_damaged; });
  if (damaged != list.end() || !sparse.is_one()) return list;
  const SparseFacts matrix = sparse.facts();
  const Member& values = *find(arrays, "/data");
  DatasetInfo info = info_of(values.header, 0);
  info.shape = {matrix.rows, matrix.columns};
  info.layout = matrix.layout;
  info.unreadable = values.unreadable;
  info.is_readable = values.unreadable.empty();
  info.is_damaged = false;
  for (const Member& member : arrays) info.stored_bytes += member.file.stored;
  if (values.file.deflated) info.filters.push_back("deflate");
  return {info};
}

}  // namespace kith::data
