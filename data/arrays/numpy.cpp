// Points from NumPy arrays, in separate files or as members of an archive.
#include "data/arrays/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/quoted.h"
#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"

namespace kith::data {
namespace {

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

ArchiveArrays parts_of(const std::string& file, const std::vector<Member>& arrays) {
  ArchiveArrays parts;
  parts.file = file;
  const auto member = [&arrays](const std::string& name) { return find(arrays, "/" + name); };
  parts.header = [member](const std::string& name) {
    const Member* const found = member(name);
    return found != nullptr && !found->header.type.empty() ? &found->header : nullptr;
  };
  parts.open = [member, file](const std::string& name, const ReadOptions& options, bool flat) {
    Member part = *member(name);
    if (flat && (!part.header.fortran_order || part.header.shape.size() < 2)) {
      std::int64_t count = 1;
      for (const std::int64_t size : part.header.shape) count = capped_product(count, size);
      part.header.shape = {count};
    }
    return open_member(open_archive(file), part, options);
  };
  parts.text = [member, file](const std::string& name) {
    const Member& part = *member(name);
    if (!part.unreadable.empty()) refuse_member(fmt::format("{}:{}", file, part.path), part.unreadable);
    std::string text;  // in 1 or 4 bytes for each letter
    for (const std::byte byte : extract_begin(open_archive(file), part.file, kMemberHeaderBytes)) {
      if (byte != std::byte{0}) text += static_cast<char>(byte);
    }
    return text.erase(0, std::min(text.size(), text.find('\n')) + 1);
  };
  return parts;
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

void append_utf8(std::string& text, std::uint32_t character) {
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return put(character);
  if (character < 0x800) {
    put(0xc0 | character >> 6);
  } else {
    if (character < 0x10000) {
      put(0xe0 | character >> 12);
    } else {
      put(0xf0 | (character >> 18 & 7));
      put(0x80 | (character >> 12 & 0x3f));
    }
    put(0x80 | (character >> 6 & 0x3f));
  }
  put(0x80 | (character & 0x3f));
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

}  // namespace

std::optional<std::vector<std::string>> read_numpy_texts(const Location& location) {
  const std::optional<StoredTexts> stored = texts_of(location);
  if (!stored || stored->header.text_bytes == 0) return std::nullopt;
  const NumpyHeader& header = stored->header;
  std::int64_t count = 1;
  for (const std::int64_t size : header.shape) count = capped_product(count, size);
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
    const ArchiveArrays parts = parts_of(location.file, arrays);
    if (is_sparse(parts)) return open_sparse_archive(parts, options);
  }
  const std::size_t chosen = choose_array(describe(arrays), location, options.vector_as_column);
  return open_member(std::move(input), arrays[chosen], options);
}

std::vector<DatasetInfo> list_npz(const Location& location, const ReadOptions&) {
  const InputBytes input = open_archive(location.file);
  const std::vector<Member> arrays = arrays_of(input);
  std::vector<DatasetInfo> list = describe(arrays);
  if (!location.dataset.empty()) return {list[choose_array(list, location, false)]};
  const ArchiveArrays parts = parts_of(location.file, arrays);
  const auto damaged = std::find_if(list.begin(), list.end(), [](const DatasetInfo& info) { return info.is_damaged; });
  if (damaged != list.end() || !is_sparse(parts)) return list;
  const SparseFacts matrix = describe_sparse(parts);
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
