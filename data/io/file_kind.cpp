// Says what a file is, and which command converts it.
#include "data/io/file_kind.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "data/io/foreign_kinds.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/location.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"
#include "data/io/zip.h"

namespace kith::data {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kShownBytes = 4096;

bool is_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

/// The first bytes of a file, and the last ones of an archive, where the names of its members are.
std::string shown_bytes(const std::string& file) {
  constexpr std::uintmax_t kNameBytes = std::uintmax_t{64} << 10;
  std::string bytes = first_bytes(file, kShownBytes);
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || !is_zip(bytes) || size <= kShownBytes) return bytes;
  const std::uintmax_t count = std::min(kNameBytes, size - kShownBytes);
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(-static_cast<std::streamoff>(count), std::ios::end);
  std::string end(count, '\0');
  stream.read(end.data(), static_cast<std::streamsize>(count));
  return bytes + end;
}

/// The members of a zip archive; none of a damaged one.
std::vector<std::string> member_names(const std::string& file) {
  std::vector<std::string> names;
  try {
    for (const ZipMember& member : zip_members(InputBytes::open(file, "a zip archive"))) names.push_back(member.name);
  } catch (const Error&) {
    return {};
  }
  std::erase_if(names, [](const std::string& name) { return name.empty() || name.back() == '/'; });
  return names;
}

/// Of an archive without a kind of its own: the command that passes its table on.
std::string unzip_command(const std::string& file) {
  const std::vector<std::string> names = member_names(file);
  if (names.size() < 2) return "unzip -p IN | kith COMMAND -";
  const auto is_plain = [](const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || "._-/ "sv.find(c) != std::string_view::npos;
    });
  };
  for (const std::string& name : names) {
    const bool is_table = has_ending(name, ".csv") || has_ending(name, ".tsv") || has_ending(name, ".txt") ||
                          has_ending(name, ".data") || has_ending(name, ".tab") || has_ending(name, ".dat");
    if (is_table && is_plain(name)) return fmt::format("unzip -p IN '{}' | kith COMMAND -", name);
  }
  return "unzip IN";
}

/// Of a compressed file whose content is of another kind.
std::string inflating_command(const std::string& compression, std::string_view content) {
  const Kind kind = kind_of(content);
  if (std::string_view(kind.convert).find("pyreadr") != std::string_view::npos) return kind.convert;
  const std::string inflate = fmt::format("{} -dc IN", compression);
  if (std::string_view(kind.convert).starts_with("tar ")) return inflate + " | tar -xOf - | kith COMMAND -";
  return kind.name == nullptr ? "" : inflate + " > OUT";
}

/// What a folder in place of a file is, and what to do with it.
std::string describe_folder(const std::string& folder) {
  const auto has = [&folder](const char* name) { return file_exists(folder + "/" + name); };
  if (has("_versions")) {
    return "a Lance data set; convert it: python3 -c \"import lance; "
           "lance.dataset('IN').to_table().to_pandas().to_csv('OUT.csv', index=False)\"";
  }
  if (has("data.mdb")) {
    return "an LMDB database; convert it: python3 -c \"import lmdb, numpy; t = lmdb.open('IN', readonly=True, "
           "lock=False).begin(); numpy.save('OUT.npy', numpy.stack([numpy.frombuffer(v, numpy.float32) for k, v in "
           "t.cursor()]))\", if its values are rows of float32";
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!has_ending(entry.path().native(), ".parquet")) continue;
    return "a folder of Parquet files; convert them: python3 -c \"import pandas; "
           "pandas.read_parquet('IN').to_csv('OUT.csv', index=False)\"";
  }
  if (!has(".zarray") && !has(".zgroup") && !has("zarr.json")) {
    return "a directory; name a file in it, or another one";
  }
  if (has("obs") && has("var")) {
    return "an AnnData set in a zarr folder; convert it: python3 -c \"import anndata; "
           "anndata.read_zarr('IN').write_h5ad('OUT.h5ad')\"";
  }
  return fmt::format(
      "a zarr folder; convert it: python3 -c \"import numpy, zarr; "
      "numpy.save('OUT.npy', zarr.open('IN', mode='r'){}[:])\"",
      has(".zarray") ? "" : "['ARRAY']");
}

std::string show_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + quoted(names[i], 60);
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
}

std::string describe_text(std::string_view bytes) {
  const auto line = bytes.substr(0, bytes.find('\n'));
  if (line.find(',') != line.npos || line.find(';') != line.npos) return "text, perhaps comma-separated values (.csv)";
  if (line.find('\t') != line.npos) return "text, perhaps tab-separated values (.tsv)";
  return "text";
}

}  // namespace

std::string conversion_of(const std::string& file) {
  const std::string bytes = shown_bytes(file), compression = compression_of(file);
  const bool is_r = has_ending(file, ".rds") || has_ending(file, ".rda") || has_ending(file, ".RData");
  if (is_r && (bytes.starts_with("BZh") || bytes.starts_with("\xfd"
                                                             "7zXZ"))) {
    return "python3 -c \"import pyreadr; list(pyreadr.read_r('IN').values())[0].to_csv('OUT.csv', index=False)\"";
  }
  const std::string_view command = kind_of(bytes).convert;
  if (command.starts_with("unzip ") && (has_ending(file, ".xlsx") || has_ending(file, ".ods"))) {
    return "python3 -c \"import pandas; pandas.read_excel('IN').to_csv('OUT.csv', index=False)\"";
  }
  if (has_ending(file, ".joblib")) {
    return "python3 -c \"import joblib, numpy; numpy.save('OUT.npy', joblib.load('IN'))\", if you trust it";
  }
  if (!compression.empty()) {
    const std::string content = begin_of_stream(file);
    if (const std::string command = inflating_command(compression, content); !command.empty()) return command;
  }
  return command.starts_with("unzip ") ? unzip_command(file) : std::string(command);
}

std::string conversion_of_bytes(std::string_view bytes) { return kind_of(bytes).convert; }

bool is_text(std::string_view bytes) {
  return !has_signature(bytes) && std::none_of(bytes.begin(), bytes.end(), [](unsigned char c) {
    return (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f') || c == 0x7f;
  });
}

std::string describe_bytes(std::string_view bytes) {
  if (bytes.empty()) return "an empty file";
  if (const Kind kind = kind_of(bytes); kind.name != nullptr) return kind.name;
  if (is_text(bytes)) return describe_text(bytes);
  if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; })) return "nothing but zero bytes";
  return "unknown binary data";
}

std::string first_bytes(const std::string& file, std::size_t count) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return "";  // opening a pipe would block
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(count, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

std::string describe_file(const std::string& file) {
  if (!std::ifstream(file, std::ios::binary)) return "a file that cannot be read";
  const std::string bytes = shown_bytes(file), kind = describe_bytes(bytes);
  if (const std::string compression = compression_of(file); !compression.empty()) {
    const Kind inside = kind_of(begin_of_stream(file));
    return inside.name == nullptr ? kind : fmt::format("{}, compressed with {}", inside.name, compression);
  }
  if (!is_zip(bytes) || !kind.starts_with("a zip archive")) return kind;
  const std::vector<std::string> names = member_names(file);
  return names.empty() ? kind : fmt::format("a zip archive of {}", show_names(names));
}

void refuse_unknown_kind(const std::string& file) {
  const std::string convert = conversion_of(file);
  const bool is_picture = convert.ends_with(" OUT.png");
  refuse_input(file, fmt::format("expected a file of a known format, found {}; {}", describe_file(file),
                                 convert.empty() ? "`kith devices` lists the formats"
                                 : is_picture    ? "`kith image` reads it after: " + convert
                                                 : "convert it: " + convert));
}

const char* describe_special(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_regular(const std::string& file, const std::string& expected) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT) refuse_input(file, "no such file; check the name and the directory");
    refuse_input(file, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (S_ISREG(status.st_mode)) return;  // opening a pipe would block
  if (S_ISDIR(status.st_mode))
    refuse_input(file, fmt::format("expected {}, found {}", expected, describe_folder(file)));
  refuse_input(file, fmt::format("expected {}, found {}; give a file, or text on standard input, as in "
                                 "`... | kith cluster -`",
                                 expected, describe_special(status.st_mode)));
}

bool has_ending(std::string_view name, std::string_view ending) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return name.size() >= ending.size() && std::equal(ending.rbegin(), ending.rend(), name.rbegin(), same);
}

bool has_hdf5_signature(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;  // opening a pipe would block
  std::ifstream stream(file, std::ios::binary);
  constexpr auto signature = "\x89HDF\r\n\x1a\n"sv;
  std::string bytes(signature.size(), '\0');
  for (std::streamoff offset = 0; stream; offset = offset == 0 ? 512 : 2 * offset) {
    stream.seekg(offset);
    errno = 0;
    if (stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) && bytes == signature) return true;
    if (stream.bad()) refuse_input(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  return false;
}

}  // namespace kith::data
