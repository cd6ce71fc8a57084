// Signatures of the kinds of files that people pass by mistake, and the commands that convert them.
#include "data/io/file_kind.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "data/io/input_error.h"
#include "data/io/location.h"

namespace kith::data {
namespace {

using namespace std::string_view_literals;

struct Kind {
  const char* name = nullptr;
  const char* convert = "";  // the command that makes a file of a known format of it
};

struct Signature {
  std::string_view bytes;  // at the start of the file
  Kind kind;
};

constexpr const char* kReadStata =
    "python3 -c \"import pandas; pandas.read_stata('IN').to_csv('OUT.csv', index=False)\"";

constexpr const char* kCopyNetcdf = "nccopy -k nc4 IN OUT.nc (of the package netcdf-bin)";

constexpr Signature kSignatures[] = {
    {kNumpySignature, "a NumPy array (.npy)"},
    {"PK\x03\x04"sv, "a zip archive (perhaps .npz or .xlsx)"},
    {"\xff\xfe"sv, "UTF-16 text, which must be saved as UTF-8 (iconv -f UTF-16 -t UTF-8 IN > OUT)"},
    {"\xfe\xff"sv, "UTF-16 text, which must be saved as UTF-8 (iconv -f UTF-16 -t UTF-8 IN > OUT)"},
    {"\x89PNG"sv, "a PNG picture"},
    {"\xff\xd8\xff"sv, "a JPEG picture"},
    {"\x1f\x8b"sv, "gzip-compressed data"},
    {"\xfd"
     "7zXZ"sv,
     "xz-compressed data", "xz -dc IN | kith COMMAND -"},
    {"\x28\xb5\x2f\xfd"sv, "zstd-compressed data", "zstd -dc IN | kith COMMAND -"},
    {"BZh"sv, "bzip2-compressed data", "bzip2 -dc IN | kith COMMAND -"},
    {"CDF\x01"sv, "a classic netCDF file", kCopyNetcdf},
    {"CDF\x02"sv, "a classic netCDF file", kCopyNetcdf},
    {"CDF\x05"sv, "a classic netCDF file", kCopyNetcdf},
    {"PAR1"sv, "a Parquet file",
     "python3 -c \"import pandas; pandas.read_parquet('IN').to_csv('OUT.csv', index=False)\""},
    {"FEA1"sv, "a Feather file of version 1",
     "python3 -c \"import pandas; pandas.read_feather('IN').to_csv('OUT.csv', index=False)\""},
    {"ARROW1"sv, "an Arrow file",
     "python3 -c \"import pandas; pandas.read_feather('IN').to_csv('OUT.csv', index=False)\""},
    {"ORC"sv, "an ORC file", "python3 -c \"import pandas; pandas.read_orc('IN').to_csv('OUT.csv', index=False)\""},
    {"<stata_dta>"sv, "a Stata file", kReadStata},
    {"MATLAB 5.0"sv, "a MATLAB 5 file"},
    {"\x0e\x03\x13\x01"sv, "an HDF4 file"},
    {"SQLite format 3"sv, "an SQLite database", "sqlite3 -csv -header IN 'select * from TABLE' > OUT.csv"},
    {"%PDF"sv, "a PDF document"},
    {"\x7f"
     "ELF"sv,
     "a program"},
};

/// A kind that no fixed first bytes distinguish.
struct OtherKind {
  bool (*recognises)(std::string_view bytes);
  Kind kind;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether the text is a whole number without a sign.
bool is_count(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// Whether an archive has a member whose name ends like this, as far as the first bytes show it.
bool has_member(std::string_view bytes, std::string_view ending) {
  return bytes.starts_with("PK\x03\x04") && bytes.find(ending) != bytes.npos;
}

/// Whether the bytes are text in UTF-16, of which the byte at `low` of each pair is the lower one: no control
/// character, and most characters of ASCII, as in every table of numbers.
bool is_utf16(std::string_view bytes, std::size_t low) {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) return false;  // a signature says so
  const std::size_t units = bytes.size() / 2;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < units; ++i) {
    const auto lower = static_cast<unsigned char>(bytes[2 * i + low]);
    const auto upper = static_cast<unsigned char>(bytes[2 * i + 1 - low]);
    if (upper != 0) continue;
    const bool is_control = lower == 0x7f || (lower < 0x20 && std::string_view("\n\r\t\f").find(bytes[2 * i + low]) ==
                                                                  std::string_view::npos);
    if (is_control) return false;
    if (lower < 0x80) ++plain;
  }
  return units >= 2 && 2 * plain > units;
}

constexpr const char* kFromUtf16 = "UTF-16 text without a byte order mark";

constexpr OtherKind kOtherKinds[] = {
    {[](std::string_view b) { return is_utf16(b, 0); }, kFromUtf16, "iconv -f UTF-16LE -t UTF-8 IN > OUT"},
    {[](std::string_view b) { return is_utf16(b, 1); }, kFromUtf16, "iconv -f UTF-16BE -t UTF-8 IN > OUT"},
    {[](std::string_view b) {
       return has_member(b, ".zgroup") || has_member(b, ".zarray") || has_member(b, "zarr.json");
     },
     "a zarr archive",
     "python3 -c \"import numpy, zarr; numpy.save('OUT.npy', zarr.open('IN', mode='r')['ARRAY'][:])\""},
    {[](std::string_view b) { return has_member(b, "/data.pkl"); }, "a PyTorch file",
     "python3 -c \"import numpy, torch; numpy.save('OUT.npy', torch.load('IN', map_location='cpu')['NAME'].numpy())\""},
    {[](std::string_view b) {  // versions 113 to 115: version, byte order, 1, 0
       return b.size() > 3 && b[0] >= 0x71 && b[0] <= 0x73 && (b[1] == 1 || b[1] == 2) && b.substr(2, 2) == "\x01\0"sv;
     },
     "a Stata file", kReadStata},
    {[](std::string_view b) { return b.size() > 2 && b[0] == '\x80' && b[1] >= 2 && b[1] <= 5; },
     "a Python pickle, which may run any program when it is loaded",
     "python3 -c \"import pandas; pandas.DataFrame(pandas.read_pickle('IN')).to_csv('OUT.csv', index=False)\", if you "
     "trust it"},
    {[](std::string_view b) {  // the size of a header in JSON, as 8 bytes
       return b.size() > 10 && b.substr(5, 3) == "\0\0\0"sv && b.substr(8, 2) == "{\"";
     },
     "a safetensors file",
     "python3 -c \"import numpy, safetensors.numpy as s; numpy.savez('OUT.npz', **s.load_file('IN'))\""},
    {[](std::string_view b) {  // "WORDS COLUMNS", then each word, a blank and its numbers in binary
       const std::string_view line = b.substr(0, b.find('\n'));
       const std::size_t blank = std::min(line.find(' '), line.size());
       return is_count(line.substr(0, blank)) && is_count(line.substr(std::min(blank + 1, line.size()))) && !is_text(b);
     },
     "binary vectors of word2vec",
     "python3 -c \"import gensim, numpy; "
     "numpy.save('OUT.npy', gensim.models.KeyedVectors.load_word2vec_format('IN', binary=True).vectors)\""},
};

/// What a folder in place of a file is, and what to do with it.
std::string describe_folder(const std::string& folder) {
  const auto has = [&folder](const char* name) { return file_exists(folder + "/" + name); };
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

constexpr std::size_t kShownBytes = 4096;

/// The kind of a file with these first bytes; none if it has no name here.
Kind kind_of(std::string_view bytes) {
  for (const OtherKind& other : kOtherKinds) {
    if (other.recognises(bytes)) return other.kind;
  }
  for (const Signature& signature : kSignatures) {
    if (bytes.starts_with(signature.bytes)) return signature.kind;
  }
  return {};
}

std::string describe_text(std::string_view bytes) {
  const auto line = bytes.substr(0, bytes.find('\n'));
  if (line.find(',') != line.npos || line.find(';') != line.npos) return "text, perhaps comma-separated values (.csv)";
  if (line.find('\t') != line.npos) return "text, perhaps tab-separated values (.tsv)";
  return "text";
}

}  // namespace

std::string conversion_of(const std::string& file) {
  const std::string bytes = first_bytes(file, kShownBytes);
  if (bytes.starts_with("PK\x03\x04") && (has_ending(file, ".xlsx") || has_ending(file, ".ods"))) {
    return "python3 -c \"import pandas; pandas.read_excel('IN').to_csv('OUT.csv', index=False)\"";
  }
  return conversion_of_bytes(bytes);
}

std::string conversion_of_bytes(std::string_view bytes) { return kind_of(bytes).convert; }

bool is_text(std::string_view bytes) {
  const bool has_signature = std::any_of(std::begin(kSignatures), std::end(kSignatures),
                                         [bytes](const auto& signature) { return bytes.starts_with(signature.bytes); });
  return !has_signature && std::none_of(bytes.begin(), bytes.end(), [](unsigned char c) {
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
  return describe_bytes(first_bytes(file, kShownBytes));
}

void refuse_unknown_kind(const std::string& file) {
  const std::string convert = conversion_of(file);
  refuse_input(file, fmt::format("expected a file of a known format, found {}; {}", describe_file(file),
                                 convert.empty() ? "`kith devices` lists the formats" : "convert it: " + convert));
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
