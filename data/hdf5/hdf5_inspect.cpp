// Finds the datatype, shape, layout and filters of an HDF5 dataset.
#include "data/hdf5/hdf5_inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "data/hdf5/hdf5_chunks.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/memory_limit.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/io/zstd_bytes.h"

namespace kith::data {
namespace {

std::string integer_name(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  const std::size_t precision = H5Tget_precision(type);
  const char* sign = H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "";
  if (precision == 8 * size) return fmt::format("{}int{}", sign, precision);
  return fmt::format("{}int of {} bits in {} bytes", sign, precision, size);
}

/// The fields of a float type, from the lowest bit up.
struct FloatLayout {
  std::size_t size = 0, precision = 0, sign = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  std::size_t bias = 0;
  int offset = 0;
  bool implied_one = false;
  bool operator==(const FloatLayout&) const = default;
};

constexpr FloatLayout kFloat16{2, 16, 15, 10, 5, 0, 10, 15, 0, true};
constexpr FloatLayout kFloat32{4, 32, 31, 23, 8, 0, 23, 127, 0, true};
constexpr FloatLayout kFloat64{8, 64, 63, 52, 11, 0, 52, 1023, 0, true};

FloatLayout float_layout(hid_t type) {
  FloatLayout f;
  f.size = H5Tget_size(type);
  f.precision = H5Tget_precision(type);
  f.offset = H5Tget_offset(type);
  H5Tget_fields(type, &f.sign, &f.exponent_at, &f.exponent_bits, &f.mantissa_at, &f.mantissa_bits);
  f.bias = H5Tget_ebias(type);
  f.implied_one = H5Tget_norm(type) == H5T_NORM_IMPLIED;
  return f;
}

std::string float_name(hid_t type) {
  const FloatLayout f = float_layout(type);
  if (f == kFloat16) return "float16";
  if (f == kFloat32) return "float32";
  if (f == kFloat64) return "float64";
  return fmt::format("float of {} bits in {} bytes, {} of them exponent", f.precision, f.size, f.exponent_bits);
}

/// Whether the type is the boolean of PyTables, a bit field of one byte, or of h5py, a one-byte enumeration of FALSE,
/// 0, and TRUE, 1; in R it may have NA, 2, too.
bool is_boolean(hid_t type) {
  if (H5Tget_class(type) == H5T_BITFIELD) return H5Tget_size(type) == 1 && H5Tget_precision(type) == 8;
  const int members = H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 ? H5Tget_nmembers(type) : 0;
  std::uint8_t no = 1, yes = 0, none = 0;
  if (members < 2 || members > 3 || H5Tenum_valueof(type, "FALSE", &no) < 0 || H5Tenum_valueof(type, "TRUE", &yes) < 0)
    return false;
  const bool has_none = members == 3 && H5Tenum_valueof(type, "NA", &none) >= 0 && none == kNoneOfBooleans;
  return no == 0 && yes == 1 && (members == 2 || has_none);
}

std::string type_name(hid_t type) {
  constexpr std::pair<H5T_class_t, const char*> kNames[] = {
      {H5T_STRING, "string"}, {H5T_COMPOUND, "compound"},  {H5T_REFERENCE, "reference"}, {H5T_OPAQUE, "opaque"},
      {H5T_ARRAY, "array"},   {H5T_VLEN, kVariableLength}, {H5T_BITFIELD, "bitfield"},   {H5T_TIME, "time"}};
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_INTEGER) return integer_name(type);
  if (kind == H5T_FLOAT) return float_name(type);
  if (is_boolean(type)) return "bool";
  if (kind == H5T_ENUM) return "enum";
  for (const auto& [known, name] : kNames) {
    if (kind == known) return name;
  }
  return "unknown type";
}

std::optional<Number> number_type_of(hid_t type) {
  if (H5Tget_class(type) == H5T_FLOAT) {
    const FloatLayout f = float_layout(type);
    if (f == kFloat16) return Number::float16;
    if (f == kFloat32) return Number::float32;
    if (f == kFloat64) return Number::float64;
    return std::nullopt;
  }
  if (is_boolean(type)) return Number::uint8;
  if (H5Tget_class(type) != H5T_INTEGER) return std::nullopt;
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_precision(type) != 8 * size || H5Tget_offset(type) != 0) return std::nullopt;
  for (const Number number : {Number::int8, Number::int16, Number::int32, Number::int64}) {
    if (size == static_cast<std::size_t>(size_of(number))) return with_sign(number, H5Tget_sign(type) == H5T_SGN_2);
  }
  return std::nullopt;
}

std::optional<ElementType> element_of(hid_t type) {
  const auto number = number_type_of(type);
  if (!number) return std::nullopt;
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
  return ElementType{*number, size_of(*number) > 1 && order != H5Tget_order(H5T_NATIVE_INT)};
}

std::vector<std::int64_t> to_sizes(const std::vector<hsize_t>& dims) {
  constexpr hsize_t largest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims.size());
  for (const hsize_t d : dims) sizes.push_back(static_cast<std::int64_t>(std::min(d, largest)));
  return sizes;
}

/// Whether values of the type are elsewhere in the file.
bool is_variable(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) return H5Tis_variable_str(type) != 0;
  if (kind == H5T_ARRAY) return is_variable(Handle(H5Tget_super(type)).get());
  for (int i = 0; kind == H5T_COMPOUND && i < H5Tget_nmembers(type); ++i) {
    if (is_variable(Handle(H5Tget_member_type(type, static_cast<unsigned>(i))).get())) return true;
  }
  return kind == H5T_VLEN || kind == H5T_REFERENCE;
}

Records records_of(hid_t type) {
  Records records;
  records.bytes = static_cast<std::int64_t>(H5Tget_size(type));
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const auto member = static_cast<unsigned>(i);
    Handle value(H5Tget_member_type(type, member));
    RecordField field;
    char* name = H5Tget_member_name(type, member);
    field.name = name != nullptr ? name : "";
    H5free_memory(name);
    field.at = static_cast<std::int64_t>(H5Tget_member_offset(type, member));
    if (H5Tget_class(value.get()) == H5T_ARRAY) {
      std::vector<hsize_t> sizes(H5S_MAX_RANK);
      sizes.resize(static_cast<std::size_t>(std::max(H5Tget_array_dims2(value.get(), sizes.data()), 0)));
      for (const std::int64_t size : to_sizes(sizes)) field.count = capped_product(field.count, size);
      value = Handle(H5Tget_super(value.get()));
    }
    field.element = element_of(value.get());
    field.type = field.element ? name_of(field.element->number) : type_name(value.get());
    if (!field.element) field.count = 1;
    records.fields.push_back(std::move(field));
  }
  return records;
}

std::string byte_order_of(hid_t type) {
  const auto kind = H5Tget_class(type);
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || H5Tget_size(type) == 1) return "";
  const H5T_order_t order = H5Tget_order(type);
  return order == H5T_ORDER_LE ? "little" : order == H5T_ORDER_BE ? "big" : "other";
}

std::vector<std::int64_t> extents_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(rank, 0)));
  if (!dims.empty()) H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return to_sizes(dims);
}

std::string filter_name(H5Z_filter_t id, const char* name, const std::vector<unsigned>& values) {
  constexpr std::pair<H5Z_filter_t, const char*> kDecoded[] = {{H5Z_FILTER_SHUFFLE, "shuffle"},
                                                               {H5Z_FILTER_FLETCHER32, "fletcher32"},
                                                               {H5Z_FILTER_SZIP, "szip"},
                                                               {H5Z_FILTER_NBIT, "nbit"},
                                                               {kLzfFilter, "lzf"},
                                                               {kZstdFilter, "zstd"},
                                                               {H5Z_FILTER_SCALEOFFSET, "scaleoffset"}};
  // The names under which people know filters that kith cannot decode.
  constexpr std::pair<H5Z_filter_t, const char*> kKnown[] = {{305, "lzo"},   {307, "bzip2"},        {32001, "blosc"},
                                                             {32004, "lz4"}, {32008, "bitshuffle"}, {32013, "zfp"},
                                                             {32017, "sz"},  {32026, "blosc2"}};
  if (id == H5Z_FILTER_DEFLATE) return values.empty() ? "deflate" : fmt::format("deflate {}", values[0]);
  for (const auto& [decoded, shown] : kDecoded) {
    if (id == decoded) return shown;
  }
  std::string shown = kith::quoted(name);
  for (const auto& [number, known] : kKnown) {
    if (id == number) shown = known;
  }
  return shown.empty() ? fmt::format("filter {}", id) : fmt::format("{} (filter {})", shown, id);
}

constexpr const char* kWithoutZstd = ", which this build of kith lacks, as libzstd was not found";

/// Considers only the filters that are built into the library or that kith registers; H5Zfilter_avail would search for
/// a plugin for any other.
bool can_decode(H5Z_filter_t id) {
  if (id == kLzfFilter || (id == kZstdFilter && has_zstd())) return true;
  return id >= H5Z_FILTER_DEFLATE && id <= H5Z_FILTER_SCALEOFFSET && H5Zfilter_avail(id) > 0;
}

/// Names of all filters; sets `unknown` to the first one that cannot be decoded.
std::vector<std::string> filters_of(hid_t creation, std::string& unknown) {
  std::vector<std::string> names;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::vector<unsigned> values(32);
    std::size_t value_count = values.size();
    char name[64] = "";
    const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &value_count, values.data(),
                                           sizeof name - 1, name, &config);
    values.resize(std::min(value_count, values.size()));
    names.push_back(id < 0 ? "damaged filter" : filter_name(id, name, values));
    if (unknown.empty() && !can_decode(id)) unknown = names.back() + (id == kZstdFilter ? kWithoutZstd : "");
  }
  return names;
}

/// What to do with values that are not in the file.
constexpr const char* kCopyValues =
    "copy them into one file: python3 -c \"import h5py; h5py.File('OUT', 'w')['x'] = h5py.File('IN')['DATASET'][()]\"";

std::string external_file_of(hid_t creation) {
  char name[256] = "";
  H5Pget_external(creation, 0, sizeof name - 1, name, nullptr, nullptr);
  return kith::quoted(name);
}

/// Finds layout, chunk, filters, stored bytes, and the obstacle if one of them is unsupported.
void inspect_storage(hid_t dataset, DatasetFacts& facts) {
  const Handle creation(H5Dget_create_plist(dataset));
  DatasetInfo& info = facts.info;
  std::string unknown_filter;
  info.filters = filters_of(creation.get(), unknown_filter);
  if (!unknown_filter.empty()) {
    facts.obstacle = fmt::format("compressed with {}, which kith does not support (plugins are never loaded); {}",
                                 unknown_filter, kRewrite);
  }
  switch (H5Pget_layout(creation.get())) {
    case H5D_COMPACT:
      info.layout = "compact";
      break;
    case H5D_CONTIGUOUS:
      info.layout = "contiguous";
      break;
    case H5D_CHUNKED: {
      std::vector<hsize_t> dims(H5S_MAX_RANK);
      const int rank = H5Pget_chunk(creation.get(), H5S_MAX_RANK, dims.data());
      dims.resize(static_cast<std::size_t>(std::max(rank, 0)));
      facts.chunked = true;
      facts.chunk = to_sizes(dims);
      info.layout = "chunked " + show_shape(facts.chunk);
      break;
    }
    case H5D_VIRTUAL:
      info.layout = "virtual";
      facts.obstacle = fmt::format("a virtual dataset, whose values are in other datasets or files; {}", kCopyValues);
      return;
    default:
      info.layout = "unknown";
      facts.obstacle = "a layout that kith does not support; rewrite it with `h5repack`";
      return;
  }
  if (H5Pget_external_count(creation.get()) > 0) {
    info.layout = "external";
    facts.obstacle =
        fmt::format("its values are in another file ({}); {}", external_file_of(creation.get()), kCopyValues);
    return;
  }
  info.stored_bytes = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
}

/// Whether pandas wrote the dataset as the table of a frame, whose field `index` names the rows.
bool is_table_of_pandas(const Hdf5InputFile& file, const std::string& path) {
  const Handle group = open_object(file, path.substr(0, path.rfind('/')));
  return text_attribute(group.get(), "pandas_type").ends_with("_table");
}

/// Marks the fields of a table of pandas that are codes of categories, or dates as nanoseconds.
void mark_codes(hid_t dataset, Records& records) {
  for (RecordField& field : records.fields) {
    const bool is_category = text_attribute(dataset, (field.name + "_meta").c_str()) == "category";
    const std::string kind = text_attribute(dataset, (field.name + "_dtype").c_str());
    if (!is_category && !kind.starts_with("datetime64") && !kind.starts_with("timedelta64")) continue;
    field.is_code = true;
    field.type = is_category ? "category" : kith::quoted(kind);
  }
}

/// A text of Python's pickle, protocol 0: ISO 8859-1, and other characters as backslash, u and 4 or U and 8 digits.
std::string pickled_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::uint32_t code = static_cast<unsigned char>(text[at]);
    if (code == '\\' && at + 1 < text.size()) {
      const std::size_t digits = text[at + 1] == 'u' ? 4 : 8;
      code = static_cast<std::uint32_t>(std::strtoul(std::string(text.substr(at + 2, digits)).c_str(), nullptr, 16));
      at += 1 + digits;
    }
    append_utf8(out, code);
  }
  return out;
}

/// The names of columns, texts or numbers, in the last list of what Python has pickled by protocol 0, as PyTables
/// stores lists: a line for each, "Vname" or "I3", behind a line that begins with "(l". None: it has other values.
std::vector<std::string> pickled_names(const std::string& pickle) {
  std::vector<std::string> names;
  bool is_list = false;
  for (std::string line : split_lines(pickle)) {
    if (line.starts_with('a')) line.erase(0, 1);  // appends the value before it
    if (line.starts_with("(l")) {
      names.clear();
      is_list = true;
    } else if (line.starts_with('V') || line.starts_with('I')) {
      names.push_back(pickled_text(std::string_view(line).substr(1)));
    } else if (is_list && (line.starts_with('t') || line.starts_with('.'))) {
      break;                                         // the end of the list
    } else if (is_list && !line.starts_with('p')) {  // p: a number under which the value could be named again
      is_list = false;                               // unless a list follows
    }
  }
  return is_list ? names : std::vector<std::string>();
}

/// pandas stores the columns of a type as one field of several values: makes fields of them that have their names, in
/// the order of the frame.
void name_columns_of_blocks(hid_t group, hid_t dataset, Records& records) {
  std::vector<RecordField> columns;
  for (const RecordField& field : records.fields) {
    const std::vector<std::string> names = pickled_names(text_attribute(dataset, (field.name + "_kind").c_str()));
    const bool is_block = field.name.starts_with("values_block_");
    if (!is_block || names.empty() || (field.element && std::ssize(names) != field.count)) {
      columns.push_back(field);
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      RecordField& column = columns.emplace_back(field);
      column.name = names[i];
      column.count = 1;
      if (field.element) column.at += static_cast<std::int64_t>(i) * size_of(field.element->number);
    }
  }
  const std::vector<std::string> order = pickled_names(text_attribute(group, "non_index_axes"));
  std::ranges::stable_sort(columns, {}, [&order](const RecordField& column) {
    const auto found = std::ranges::find(order, column.name);
    return found == order.end() ? -1 : found - order.begin();  // the index comes first
  });
  records.fields = std::move(columns);
}

/// Finds the fields of a compound, and the obstacle if its values cannot be read.
void inspect_records(const Hdf5InputFile& file, hid_t dataset, hid_t type, DatasetFacts& facts) {
  if (is_variable(type)) {
    if (facts.obstacle.empty()) {
      facts.obstacle =
          "expected numbers, found a compound with values of variable length; convert it: python3 -c \"import h5py, "
          "pandas; pandas.DataFrame(h5py.File('IN')['DATASET'][:]).to_csv('OUT.csv', index=False)\"";
    }
    return;
  }
  facts.records = records_of(type);
  if (is_table_of_pandas(file, facts.info.path)) {
    const Handle group = open_object(file, parted(facts.info.path).first);
    facts.index = pickled_names(text_attribute(group.get(), "levels"));
    facts.index.emplace_back("index");
    mark_codes(dataset, facts.records);
    name_columns_of_blocks(group.get(), dataset, facts.records);
  }
  const std::string problem = refusal_of_fields(facts.records);
  if (facts.obstacle.empty()) facts.obstacle = problem;
  if (problem.empty()) describe_columns(facts.records, facts.info.path, facts.info);
}

/// Finds what values mean besides their numbers, and the obstacle if that is unclear.
void inspect_marks(hid_t dataset, DatasetFacts& facts) {
  const ElementType stored = *facts.element;
  std::string problem;
  facts.marks = marks_of(dataset, *facts.element, problem);
  if (*facts.element != stored) facts.info.type = name_of(facts.element->number);
  if (facts.obstacle.empty()) facts.obstacle = problem;
}

/// Whether the dataset is a matrix of an h5Seurat file: R wrote it without an attribute.
bool is_reduction_of_seurat(const Hdf5InputFile& file, const std::string& path) {
  if (!path.starts_with("/reductions/")) return false;
  const Handle root = open_object(file, "/");
  return has_link(root.get(), "assays") && has_link(root.get(), "cell.names");
}

/// Whether Octave's `save -hdf5` wrote the dataset: a variable is a group of its type and its value.
bool is_value_of_octave(const Hdf5InputFile& file, const std::string& path) {
  const auto [group, name] = parted(path);
  return name == "value" && !group.empty() && has_attribute(open_object(file, group).get(), "OCTAVE_NEW_FORMAT");
}

/// Considers who wrote the dataset. MATLAB, Octave and R store matrices by columns, so HDF5 shows their dimensions
/// reversed; where AnnData's attributes are, R has already reversed them itself.
void inspect_writer(const Hdf5InputFile& file, hid_t dataset, DatasetFacts& facts) {
  if (text_attribute(dataset, "NAME").starts_with("This is a netCDF dimension but not a netCDF variable")) {
    facts.obstacle = "is a dimension of NetCDF without coordinates, which has no values; name a variable";
  }
  const std::string matlab = text_attribute(dataset, "MATLAB_class");
  const bool r = has_attribute(dataset, "rhdf5-NA.OK") && !has_attribute(dataset, "encoding-type");
  facts.reversed = !matlab.empty() || r || is_reduction_of_seurat(file, facts.info.path) ||
                   is_value_of_octave(file, facts.info.path);
  if (matlab.empty()) return;
  const bool empty = has_attribute(dataset, "MATLAB_empty"), object = has_attribute(dataset, "MATLAB_object_decode");
  if (matlab != "char" && !empty && !object) return;
  facts.obstacle = empty    ? "expected at least 1 row and 1 column, found an empty matrix; name another dataset"
                   : object ? "expected numbers, found a MATLAB object; save its numbers as a matrix, such as "
                              "table2array(x) of a table or posixtime(x) of dates"
                            : "expected numbers, found MATLAB text; name a dataset of numbers";
  facts.info.type = "MATLAB " + kith::quoted(matlab);
}

}  // namespace

DatasetFacts inspect(const Hdf5InputFile& file, hid_t dataset, const std::string& path) {
  DatasetFacts facts;
  facts.info.path = path;
  const Handle type(H5Dget_type(dataset));
  facts.info.type = type_name(type.get());
  facts.info.byte_order = byte_order_of(type.get());
  facts.element = element_of(type.get());
  inspect_storage(dataset, facts);
  if (facts.element) inspect_marks(dataset, facts);
  if (H5Tget_class(type.get()) == H5T_COMPOUND) inspect_records(file, dataset, type.get(), facts);
  // Reading the shape of a virtual dataset would open the files that it refers to.
  if (facts.info.layout != "virtual" && facts.info.layout != "unknown") facts.info.shape = extents_of(dataset);
  inspect_writer(file, dataset, facts);
  facts.info.unreadable = refusal(facts, file.bytes(), false);
  facts.info.is_readable = refusal(facts, file.bytes(), true).empty();
  return facts;
}

// Checks whether an HDF5 dataset can be read as points; the first check that fails gives the message.

namespace {

/// The largest ratio of decoded to stored bytes, of deflate or zstd.
std::int64_t largest_expansion(const DatasetInfo& info) {
  constexpr std::int64_t kZstdExpansion = std::int64_t{1} << 17;  // the bytes of a block
  return std::count(info.filters.begin(), info.filters.end(), "zstd") > 0 ? kZstdExpansion : kDeflateExpansion;
}
constexpr std::int64_t kMaxChunkBytes = (std::int64_t{1} << 32) - 1;  // HDF5's own limit

/// 0 for a chunk with a size of 0.
std::int64_t bytes_of_chunk(const DatasetFacts& facts, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t c : facts.chunk) bytes = c > 0 ? capped_product(bytes, c) : 0;
  return bytes;
}

std::string refusal_of_chunks(const DatasetFacts& facts, std::int64_t declared, std::int64_t element_bytes) {
  const std::int64_t stored = facts.info.stored_bytes, chunk_bytes = bytes_of_chunk(facts, element_bytes);
  const std::int64_t possible =
      facts.info.filters.empty() ? stored : capped_product(stored, largest_expansion(facts.info));
  if (chunk_bytes <= 0 || chunk_bytes > kMaxChunkBytes || chunk_bytes > possible) {
    return fmt::format(
        "one chunk is declared with {} bytes, but only {} bytes are stored in all; create it again with smaller "
        "chunks, for "
        "example with `h5repack`",
        chunk_bytes, stored);
  }
  if (declared > capped_product(stored, largest_expansion(facts.info))) {
    return fmt::format(
        "declared as {} ({} bytes), but only {} bytes are stored; most of it was never written: create it again",
        show_shape(facts.info.shape), declared, stored);
  }
  return "";
}

}  // namespace

void require_chunk_memory(const DatasetFacts& facts, std::int64_t element_bytes, const std::string& place) {
  constexpr std::int64_t kCopies = 3;  // as stored, decoded, and between two filters
  const std::int64_t chunk = facts.chunked ? bytes_of_chunk(facts, element_bytes) : 0, left = memory_limit();
  if (capped_product(kCopies, chunk) <= left) return;
  throw Error(ExitCode::memory,
              fmt::format("{}: one chunk takes {}, and reading it {} times as much, but only {} of memory are left; "
                          "rewrite it with smaller chunks with `h5repack`, or give a larger --memory",
                          place, show_bytes(chunk), kCopies, show_bytes(left)));
}

std::string refusal_of_storage(const DatasetFacts& facts, std::int64_t file_bytes, std::int64_t element_bytes) {
  const auto& info = facts.info;
  if (std::string problem = refusal_of_size(info.shape); !problem.empty()) return problem;
  const std::int64_t declared = capped_product(facts.rows() * facts.columns(), element_bytes);
  if (facts.chunked && facts.chunk.size() != facts.info.shape.size()) {
    return fmt::format("damaged: chunks of {} dimensions in a dataset of {}; copy or create the file again",
                       facts.chunk.size(), facts.info.shape.size());
  }
  if (info.stored_bytes == 0) {
    return fmt::format("declared as {}, but no value was ever written; create it again", show_shape(info.shape));
  }
  if (info.stored_bytes < 0 || info.stored_bytes > file_bytes) {
    return fmt::format(
        "declared with {} stored bytes in a file of {}; the file is damaged or truncated: copy or create it again",
        info.stored_bytes, file_bytes);
  }
  if (facts.chunked) return refusal_of_chunks(facts, declared, element_bytes);
  if (info.stored_bytes != declared) {
    return fmt::format(
        "declared as {} {} ({} bytes), but {} bytes are stored; the file is damaged: copy or create it again",
        show_shape(info.shape), info.type, declared, info.stored_bytes);
  }
  return "";
}

namespace {

/// Whether the records are complex numbers as h5py, PyTables and MATLAB store them.
bool are_complex(const Records& records) {
  const auto& fields = records.fields;
  return fields.size() == 2 && fields[0].name.starts_with("r") && fields[1].name.starts_with("i") &&
         fields[0].element && fields[0].element == fields[1].element;
}

}  // namespace

std::string refusal(const DatasetFacts& facts, std::int64_t file_bytes, bool vector_as_column) {
  if (!facts.obstacle.empty()) return facts.obstacle;
  if (facts.info.type == kVariableLength) {
    return "expected numbers in rows of one length, found lists of different lengths (a variable-length type), as a "
           "search within "
           "a radius gives; kith reads matrices: name a dataset of numbers with rows and columns";
  }
  if (!facts.element && !facts.has_records()) {
    return fmt::format(
        "expected numbers (float16, float32, float64, bool, or integers of 8, 16, 32 or 64 bits), found {}{}; name a "
        "dataset of numbers",
        facts.info.type, facts.info.byte_order == "other" ? " in an unknown byte order" : "");
  }
  if (facts.has_records() && facts.info.shape.size() != 1 && are_complex(facts.records))
    return "expected numbers, found complex numbers; save real and imaginary parts as columns";
  if (facts.has_records() && facts.info.shape.size() != 1) {
    return fmt::format("expected 1 dimension of records, found {} ({}); write them as a vector",
                       facts.info.shape.size(), show_shape(facts.info.shape));
  }
  const std::string shape = refusal_of_shape(facts.info.shape, vector_as_column || facts.has_records());
  return shape.empty() ? refusal_of_storage(facts, file_bytes, facts.element_bytes()) : shape;
}

}  // namespace kith::data
