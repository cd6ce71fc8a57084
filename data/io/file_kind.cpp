// Signatures at the beginning of files, and recognisers of kinds that have none; what a file is, and which command
// converts it.
#include "data/io/file_kind.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/location.h"
#include "data/io/numbers.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view starts;  // of files, between them '|'
  Kind kind;

  /// The start that these bytes have; empty: none.
  std::string_view start_of(std::string_view bytes) const {
    for (std::string_view rest = starts; !rest.empty();) {
      if (const std::string_view start = take_until(rest, "|"); bytes.starts_with(start)) return start;
    }
    return {};
  }
};

// A table of pandas as CSV; READ is the function that reads the file.
#define KITH_PANDAS(READ) "python3 -c \"import pandas; pandas." READ ".to_csv('OUT.csv', index=False)\""

constexpr const char* kReadStata = KITH_PANDAS("read_stata('IN')");
constexpr const char* kReadSpss = KITH_PANDAS("read_spss('IN', convert_categoricals=False)");
constexpr const char* kReadRda =
    "python3 -c \"import pyreadr; list(pyreadr.read_r('IN').values())[0].to_csv('OUT.csv', index=False)\"";
constexpr const char* kReadFcs =
    "python3 -c \"import flowio, pandas; f = flowio.FlowData('IN'); pandas.DataFrame(f.as_array(), "
    "columns=f.pnn_labels).to_csv('OUT.csv', index=False)\"";
constexpr const char* kReadTorch =
    "python3 -c \"import numpy, torch; x = torch.load('IN', map_location='cpu'); x = x if isinstance(x, dict) else "
    "{'x': x}; numpy.savez('OUT.npz', **{k: v.detach().numpy() for k, v in x.items()})\"";

constexpr const char* kToPng = "convert IN OUT.png";
constexpr Kind kPickle{"a Python pickle, which may run any program when it is loaded",
                       "python3 -c \"import pandas; pandas.DataFrame(pandas.read_pickle('IN')).to_csv('OUT.csv', "
                       "index=False)\", if you trust it"};

constexpr Signature kSignatures[] = {
    {kNumpySignature, {"a NumPy array (.npy)"}},
    {"PK\x03\x04"sv, {"a zip archive (perhaps .npz or .xlsx)", "unzip -p IN | kith COMMAND -"}},
    {"\xff\xfe\0\0"sv, {"UTF-32 text, which must be saved as UTF-8 (iconv -f UTF-32 -t UTF-8 IN > OUT)"}},
    {"\xff\xfe|\xfe\xff"sv, {"UTF-16 text, which must be saved as UTF-8 (iconv -f UTF-16 -t UTF-8 IN > OUT)"}},
    {"\x89HDF\r\n"sv, {"an HDF5 file"}},
    {"version https://git-lfs.github.com/"sv,
     {"a pointer of Git LFS in the place of the file", "git lfs pull --include IN"}},
    {"\x89PNG"sv, {"a PNG picture"}},
    {"\xff\xd8\xff"sv, {"a JPEG picture"}},
    {"\x1f\x8b"sv, {"gzip-compressed data"}},
    {"\xfd"
     "7zXZ"sv,
     {"xz-compressed data", "xz -dc IN | kith COMMAND -"}},
    {"\x28\xb5\x2f\xfd"sv, {"zstd-compressed data", "zstd -dc IN | kith COMMAND -"}},
    {"BZh"sv, {"bzip2-compressed data", "bzip2 -dc IN | kith COMMAND -"}},
    {"\x04\x22\x4d\x18"sv, {"lz4-compressed data", "lz4 -dc IN | kith COMMAND -"}},
    {"LZIP\1"sv, {"lzip-compressed data", "lzip -dc IN | kith COMMAND -"}},
    {"\x1f\x9d"sv, {"data of compress (.Z)", "gzip -dc IN | kith COMMAND -"}},
    {"7z\xbc\xaf\x27\x1c"sv, {"a 7z archive", "7z x -so IN | kith COMMAND -"}},
    {"Rar!\x1a\x07"sv, {"a RAR archive", "unrar p -inul IN | kith COMMAND -"}},
    {"CDF\x01|CDF\x02|CDF\x05"sv, {"a classic netCDF file", "nccopy -k nc4 IN OUT.nc (of the package netcdf-bin)"}},
    {"PAR1"sv, {"a Parquet file, which kith reads with the program kith-arrow", KITH_PANDAS("read_parquet('IN')")}},
    {"FEA1"sv, {"a Feather file of version 1", KITH_PANDAS("read_feather('IN')")}},
    {"ARROW1"sv, {"an Arrow file, which kith reads with the program kith-arrow", KITH_PANDAS("read_feather('IN')")}},
    {"ORC"sv, {"an ORC file", KITH_PANDAS("read_orc('IN')")}},
    {"Obj\x01"sv,
     {"an Avro file",
      "python3 -c \"import fastavro, pandas; pandas.DataFrame(fastavro.reader(open('IN', 'rb'))).to_csv('OUT.csv', "
      "index=False)\""}},
    {"FCS2.|FCS3."sv, {"an FCS file of a flow cytometer", kReadFcs}},
    {"RDX2\n|RDX3\n|RDA2\n|RDA3\n"sv, {"an R workspace (.RData)", kReadRda}},
    {"X\n\0\0\0\2|X\n\0\0\0\3"sv, {"an R object (.rds)", kReadRda}},
    {"$FL2"sv, {"an SPSS file (.sav)", kReadSpss}},
    {"$FL3"sv, {"an SPSS file (.zsav)", kReadSpss}},
    {"<stata_dta>"sv, {"a Stata file", kReadStata}},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60"sv,
     {"a SAS file (.sas7bdat)", KITH_PANDAS("read_sas('IN', format='sas7bdat', encoding='latin-1')")}},
    {"HEADER RECORD*******LIB"sv,
     {"a SAS transport file (.xpt)",
      "python3 -c \"import pyreadstat; pyreadstat.read_xport('IN')[0].to_csv('OUT.csv', index=False)\""}},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv,
     {"an Excel workbook of before 2007 (.xls)", KITH_PANDAS("read_excel('IN')")}},
    {"MATLAB 5.0"sv, {"a MATLAB 5 file"}},
    {"\x0e\x03\x13\x01"sv, {"an HDF4 file", "h4toh5 IN OUT.h5"}},
    {"SQLite format 3"sv, {"an SQLite database", "sqlite3 -csv -header IN 'select * from TABLE' > OUT.csv"}},
    {"SIMPLE  ="sv,
     {"a FITS file",
      "python3 -c \"from astropy.table import Table; Table.read('IN').write('OUT.csv', format='ascii.csv')\""}},
    {"IxF2|IxFI"sv,
     {"an index of FAISS",
      "python3 -c \"import faiss, numpy; i = faiss.read_index('IN'); numpy.save('OUT.npy', i.reconstruct_n(0, "
      "i.ntotal))\""}},
    {"\xba\x16\x4f\x2f"sv,
     {"a model of fastText",
      "python3 -c \"import gensim, numpy; numpy.save('OUT.npy', "
      "gensim.models.fasttext.load_facebook_vectors('IN').vectors)\""}},
    {"LASF"sv,
     {"a point cloud (.las, .laz)", "python3 -c \"import laspy, numpy; numpy.save('OUT.npy', laspy.read('IN').xyz)\""}},
    {"%PDF"sv, {"a PDF document"}},
    {"SR\0\4"sv,
     {"an IDL save file (.sav)",
      "python3 -c \"import numpy, scipy.io; numpy.savez('OUT.npz', **scipy.io.readsav('IN'))\""}},
    {"\0\0\0\x64\0\0\0\x1f\0\0\0\x14"sv,
     {"a FIF file (.fif)",
      "python3 -c \"import mne, numpy; numpy.save('OUT.npy', mne.io.read_raw_fif('IN').get_data().T)\", if it holds "
      "raw "
      "data"}},
    {"}q\0|]q\0"sv, kPickle},
    {"II+\0\x08|MM\0+\0\x08"sv, {"a BigTIFF picture", kToPng}},
    {"II*\0|MM\0*"sv, {"a TIFF picture, or a raw one of a camera", kToPng}},
    {"GIF8"sv, {"a GIF picture", kToPng}},
    {"BM"sv, {"a BMP picture", kToPng}},
    {"8BPS"sv, {"a Photoshop picture", kToPng}},
    {"P7\n"sv, {"a PAM picture", kToPng}},
    {"PF\n|Pf\n"sv, {"a PFM picture", kToPng}},
    {"\0\0\0\x0cjP"sv, {"a JPEG 2000 picture", kToPng}},
    {"\xff\x0a|\0\0\0\x0cJXL"sv, {"a JPEG XL picture", "djxl IN OUT.png"}},
    {"\x7f"
     "ELF"sv,
     {"a program"}},
};

/// A kind that no fixed first bytes distinguish.
struct OtherKind {
  bool (*recognises)(std::string_view bytes);
  Kind kind;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether the text is a whole number without a sign.
bool is_count(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

std::uint64_t number_at(std::string_view bytes, std::size_t at, int count) {
  return little_endian(reinterpret_cast<const std::byte*>(bytes.data()) + at, count);
}

/// Whether an archive has a member whose name ends like this, as far as the bytes show it.
bool has_member(std::string_view bytes, std::string_view ending) {
  return bytes.starts_with("PK\x03\x04") && bytes.find(ending) != bytes.npos;
}

/// A header of 32 bytes with a date and its own length, then the descriptions of fields, 32 bytes each.
bool is_dbf(std::string_view b) {
  constexpr std::string_view kVersions("\x02\x03\x04\x05\x30\x31\x32\x43\x7b\x83\x87\x8b\x8e\xcb\xe5\xf5\xfb");
  if (b.size() < 65 || kVersions.find(b[0]) == kVersions.npos) return false;
  const auto month = static_cast<unsigned char>(b[2]), day = static_cast<unsigned char>(b[3]);
  const std::uint64_t header = number_at(b, 8, 2), record = number_at(b, 10, 2);
  constexpr std::string_view kTypes("CNFDLMTBIYGPV@+0OQW");
  return month <= 12 && day <= 31 && header >= 65 && record >= 2 && kTypes.find(b[32 + 11]) != kTypes.npos &&
         (header % 32 <= 2 || header % 32 == 8) &&
         (header > b.size() || b.substr(32, header - 32).find('\r') != b.npos);
}

/// A file of TFRecord begins with the length of a record, and a masked CRC-32C of these 8 bytes.
bool is_tfrecord(std::string_view b) {
  if (b.size() < 16) return false;
  std::uint32_t sum = ~0U;
  for (const char c : b.substr(0, 8)) {
    sum ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ ((sum & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  sum = ~sum;
  return number_at(b, 8, 4) == static_cast<std::uint32_t>((sum >> 15 | sum << 17) + 0xa282ead8U);
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

constexpr const char* kFromHeif = "heif-convert IN OUT.png";

bool is_heif(std::string_view bytes, std::string_view brand) {
  return bytes.size() > 11 && bytes.substr(4, 4) == "ftyp" && bytes.substr(8, 4) == brand;
}

constexpr OtherKind kOtherKinds[] = {
    {[](std::string_view b) { return is_utf16(b, 0); }, {kFromUtf16, "iconv -f UTF-16LE -t UTF-8 IN > OUT"}},
    {[](std::string_view b) { return is_utf16(b, 1); }, {kFromUtf16, "iconv -f UTF-16BE -t UTF-8 IN > OUT"}},
    {[](std::string_view b) {  // a mark, then the size of a message
       return b.size() > 12 && b.starts_with("\xff\xff\xff\xff") && number_at(b, 4, 4) < (1U << 24) && b[4] != 0;
     },
     {"an Arrow stream",
      "python3 -c \"import pyarrow; pyarrow.ipc.open_stream(open('IN', 'rb')).read_pandas().to_csv('OUT.csv', "
      "index=False)\""}},
    {[](std::string_view b) {
       return has_member(b, ".zgroup") || has_member(b, ".zarray") || has_member(b, "zarr.json");
     },
     {"a zarr archive",
      "python3 -c \"import numpy, zarr; numpy.save('OUT.npy', zarr.open('IN', mode='r')['ARRAY'][:])\""}},
    {[](std::string_view b) { return has_member(b, "/data.pkl"); }, {"a PyTorch file", kReadTorch}},
    {[](std::string_view b) { return b.starts_with("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"); },
     {"a PyTorch file", kReadTorch}},
    {[](std::string_view b) { return has_member(b, "xl/workbook.bin"); },
     {"an Excel workbook (.xlsb)", KITH_PANDAS("read_excel('IN', engine='pyxlsb')")}},
    {[](std::string_view b) { return has_member(b, "xl/workbook.xml"); },
     {"an Excel workbook (.xlsx)", KITH_PANDAS("read_excel('IN')")}},
    {[](std::string_view b) { return has_member(b, "opendocument.spreadsheet"); },
     {"an OpenDocument spreadsheet (.ods)", KITH_PANDAS("read_excel('IN', engine='odf')")}},
    {[](std::string_view b) {  // versions 102 to 115: version, byte order, 1, 0
       return b.size() > 3 && b[0] >= 0x66 && b[0] <= 0x73 && (b[1] == 1 || b[1] == 2) && b.substr(2, 2) == "\x01\0"sv;
     },
     {"a Stata file", kReadStata}},
    {[](std::string_view b) { return b.size() > 2 && b[0] == '\x80' && b[1] >= 2 && b[1] <= 5; }, kPickle},
    {[](std::string_view b) { return b.starts_with("RIFF") && b.substr(8, 4) == "WEBP"; }, {"a WebP picture", kToPng}},
    {[](std::string_view b) { return is_heif(b, "avif"); }, {"an AVIF picture", kFromHeif}},
    {[](std::string_view b) { return is_heif(b, "heic") || is_heif(b, "heix"); }, {"a HEIC picture", kFromHeif}},
    {[](std::string_view b) { return is_heif(b, "mif1"); }, {"a HEIF picture", kFromHeif}},
    {[](std::string_view b) {  // the size of a header in JSON, as 8 bytes
       return b.size() > 10 && b.substr(5, 3) == "\0\0\0"sv && b.substr(8, 2) == "{\"";
     },
     {"a safetensors file",
      "python3 -c \"import numpy, safetensors.numpy as s; numpy.savez('OUT.npz', **s.load_file('IN'))\""}},
    {[](std::string_view b) { return b.size() > 262 && b.substr(257, 5) == "ustar"; },
     {"a tar archive", "tar -xOf IN | kith COMMAND -"}},
    {[](std::string_view b) { return b.size() > 20 && b.substr(16, 4) == "\xde\xc0\xef\xbe"; },
     {"an LMDB database",
      "python3 -c \"import lmdb, numpy; t = lmdb.open('IN', subdir=False, readonly=True, lock=False).begin(); "
      "numpy.save('OUT.npy', numpy.stack([numpy.frombuffer(v, numpy.float32) for k, v in t.cursor()]))\", if its "
      "values "
      "are rows of float32"}},
    {[](std::string_view b) { return b.size() > 12 && b.substr(8, 4) == "DUCK"; },
     {"a DuckDB database", "duckdb IN -csv -c 'from TABLE' > OUT.csv"}},
    {[](std::string_view b) {  // MNIST's format: 0, 0, the type, the number of dimensions, and these
       return b.size() > 8 && b.substr(0, 3) == "\0\0\x08"sv && b[3] >= 1 && b[3] <= 4 && b[4] == 0;
     },
     {"an IDX file of bytes, as MNIST has them",
      "python3 -c \"import numpy; b = open('IN', 'rb').read(); n = numpy.frombuffer(b, '>i4', b[3], 4); "
      "numpy.save('OUT.npy', numpy.frombuffer(b, numpy.uint8, offset=4 + 4 * b[3]).reshape(n[0], -1))\""}},
    {is_tfrecord,
     {"a TFRecord file",
      "python3 -c \"import pandas, tfrecord; pandas.DataFrame(tfrecord.tfrecord_loader('IN', None)).to_csv('OUT.csv', "
      "index=False)\""}},
    {is_dbf,
     {"a dBASE table (.dbf)",
      "python3 -c \"import dbfread, pandas; pandas.DataFrame(dbfread.DBF('IN')).to_csv('OUT.csv', index=False)\""}},
    {[](std::string_view b) {  // "WORDS COLUMNS", then each word, a blank and its numbers in binary
       const std::string_view line = b.substr(0, b.find('\n'));
       const std::size_t blank = std::min(line.find(' '), line.size());
       return is_count(line.substr(0, blank)) && is_count(line.substr(std::min(blank + 1, line.size()))) && !is_text(b);
     },
     {"binary vectors of word2vec",
      "python3 -c \"import gensim, numpy; "
      "numpy.save('OUT.npy', gensim.models.KeyedVectors.load_word2vec_format('IN', binary=True).vectors)\""}},
};

#undef KITH_PANDAS

}  // namespace

Kind kind_of(std::string_view bytes) {
  for (const OtherKind& other : kOtherKinds) {
    if (other.recognises(bytes)) return other.kind;
  }
  for (const Signature& signature : kSignatures) {
    if (!signature.start_of(bytes).empty() && !is_text(bytes)) return signature.kind;
  }
  return {};
}

Kind kind_of_picture(std::string_view bytes) {
  const auto is_picture = [](const Kind& kind) { return std::string_view(kind.convert).ends_with(" OUT.png"); };
  if (bytes.starts_with("<svg")) return {"an SVG drawing", kToPng};
  for (const OtherKind& other : kOtherKinds) {
    if (is_picture(other.kind) && other.recognises(bytes)) return other.kind;
  }
  for (const Signature& signature : kSignatures) {
    if (is_picture(signature.kind) && !signature.start_of(bytes).empty()) return signature.kind;
  }
  return {};
}

bool has_signature(std::string_view bytes) {
  constexpr std::size_t kLong = 6;
  return std::ranges::any_of(kSignatures, [bytes](const Signature& signature) {
    // A text may begin with a word such as ORC. A file of that kind has bytes that no text has.
    const std::string_view start = signature.start_of(bytes);
    const bool is_word = start.size() < kLong && !start.starts_with('%') && !start.ends_with('1') &&
                         std::ranges::all_of(start, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
    return !start.empty() && !is_word;
  });
}

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
  std::erase_if(names, [](const std::string& name) {  // macOS adds a folder with a file for each member
    return name.empty() || name.back() == '/' || name.starts_with("__MACOSX/");
  });
  return names;
}

/// ".fvecs": of a format that cannot be read from standard input; empty: of any other.
std::string ending_without_streams(const std::string& file) {
  for (const char* ending :
       {".npz", ".h5",    ".hdf5",  ".h5ad",  ".loom", ".nc",    ".mat",   ".parquet", ".feather", ".arrow",
        ".zip", ".fvecs", ".ivecs", ".bvecs", ".fbin", ".u8bin", ".i8bin", ".ibin",    ".hbin",    ".f16bin"}) {
    if (has_ending(file, ending)) return ending;
  }
  return "";
}

/// The command that passes on the table of an archive without a kind of its own.
std::string unzip_command(const std::string& file) {
  const std::vector<std::string> names = member_names(file);
  const auto is_plain = [](const std::string& name) {
    return std::ranges::all_of(
        name, [](unsigned char c) { return std::isalnum(c) != 0 || "._-/ "sv.find(c) != std::string_view::npos; });
  };
  for (const std::string& name : names) {
    const bool is_table = has_ending(name, ".csv") || has_ending(name, ".tsv") || has_ending(name, ".txt") ||
                          has_ending(name, ".data") || has_ending(name, ".tab") || has_ending(name, ".dat");
    if (is_table && is_plain(name)) return fmt::format("unzip -p IN '{}' | kith COMMAND -", name);
  }
  const bool is_stream = names.empty() || ending_without_streams(names[0]).empty();
  return names.size() < 2 && is_stream ? "unzip -p IN | kith COMMAND -" : "unzip IN";
}

/// The file that inflating makes of x.fvecs.gz.
std::string inflated_name(const std::string& file) {
  return "OUT" + ending_without_streams(std::filesystem::path(file).stem().string());
}

/// The command that inflates a compressed file whose content is of another kind.
std::string inflating_command(const std::string& file, const std::string& compression, std::string_view content) {
  const Kind kind = kind_of(content);
  if (std::string_view(kind.convert).find("pyreadr") != std::string_view::npos) return kind.convert;
  const std::string inflate = fmt::format("{} -dc IN", compression);
  if (std::string_view(kind.convert).starts_with("tar ")) return inflate + " | tar -xOf - | kith COMMAND -";
  return kind.name == nullptr && is_text(content) ? "" : inflate + " > " + inflated_name(file);
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

std::string describe_foreign_folder(const std::string& folder) {
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
  for (const char* matrix : {"matrix.mtx.gz", "matrix.mtx"}) {
    if (!has(matrix) || !(has("barcodes.tsv.gz") || has("barcodes.tsv"))) continue;
    return fmt::format("a matrix of 10x Genomics beside its names; give its {}, with --transpose", matrix);
  }
  if (!has(".zarray") && !has(".zgroup") && !has("zarr.json")) return "";
  if (has("obs") && has("var")) {
    return "an AnnData set in a zarr folder; convert it: python3 -c \"import anndata; "
           "anndata.read_zarr('IN').write_h5ad('OUT.h5ad')\"";
  }
  return fmt::format(
      "a zarr folder; convert it: python3 -c \"import numpy, zarr; "
      "numpy.save('OUT.npy', zarr.open('IN', mode='r'){}[:])\"",
      has(".zarray") ? "" : "['ARRAY']");
}

namespace {

/// The command that converts a file of two numbers and as many values, a vector file by another name; else empty.
std::string command_for_values(const std::string& file, std::string_view bytes) {
  constexpr std::uintmax_t kHeader = 2 * sizeof(std::uint32_t);
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || bytes.size() < kHeader) return "";
  std::uint32_t shape[2];
  std::memcpy(shape, bytes.data(), kHeader);
  for (const auto& [width, type] : {std::pair(1, "u1"), {2, "f2"}, {4, "f4"}, {8, "f8"}}) {
    if (shape[0] == 0 || shape[1] == 0 || size != kHeader + std::uintmax_t{shape[0]} * shape[1] * width) continue;
    return fmt::format(
        "python3 -c \"import numpy; numpy.save('OUT.npy', numpy.fromfile('IN', '<{}', offset=8)"
        ".reshape({}, {}))\", if its values are of that type",
        type, shape[0], shape[1]);
  }
  return "";
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
    if (const std::string command = inflating_command(file, compression, content); !command.empty()) return command;
  }
  if (kind_of(bytes).name == nullptr && !is_text(bytes)) return command_for_values(file, bytes);
  if (command.starts_with("unzip ")) return unzip_command(file);
  constexpr std::string_view kAsStream = " | kith COMMAND -";
  if (!command.ends_with(kAsStream) || inflated_name(file) == "OUT") return std::string(command);
  return fmt::format("{} > {}", command.substr(0, command.size() - kAsStream.size()), inflated_name(file));
}

std::string conversion_of_bytes(std::string_view bytes) { return kind_of(bytes).convert; }

bool is_text(std::string_view bytes) {
  if (bytes.ends_with('\x1a')) bytes.remove_suffix(1);  // the end of a file of DOS
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
  if (S_ISDIR(status.st_mode)) {
    const std::string foreign = describe_foreign_folder(file);
    refuse_input(file, fmt::format("expected {}, found {}", expected,
                                   foreign.empty() ? "a directory; name a file in it, or another one" : foreign));
  }
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
