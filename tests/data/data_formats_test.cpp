// The table of formats: every extension of every row has a sample file here, which that row opens and lists. A new
// format fails until it has a sample.
#include <fmt/format.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "data/io/zstd_bytes.h"
#include "data/results/result.h"
#include "data/source.h"
#include "tests/support/skipped.h"
#include "tests/support/wrong_inputs.h"
#ifdef KITH_HAS_ARROW
#include "tests/support/arrow_files.h"
#endif

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int b = 0; b < bytes; ++b) text += static_cast<char>(b < 8 ? value >> (8 * b) & 0xff : 0);
  return text;
}

/// A zip archive with one stored member.
std::string zip(const std::string& name, const std::string& content) {
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  const std::string entry =
      little(0, 6) + little(sum, 4) + little(content.size(), 4) + little(content.size(), 4) + little(name.size(), 2);
  const std::string file = "PK\x03\x04" + little(20, 2) + little(0, 2) + entry + little(0, 2) + name + content;
  const std::string directory =
      "PK\x01\x02" + little(20, 2) + little(20, 2) + little(0, 2) + entry + little(0, 16) + name;
  return file + directory + "PK\x05\x06" + little(0, 4) + little(1, 2) + little(1, 2) + little(directory.size(), 4) +
         little(file.size(), 4) + little(0, 2);
}

void write_gzip(const std::string& file, const std::string& text) {
  gzFile out = gzopen(file.c_str(), "wb");
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(out);
}

using Writer = std::function<void(const std::string& file)>;

Writer bytes(const std::string& content) {
  return [content](const std::string& file) { write_bytes(file, content); };
}

/// A 1 x 1 matrix in a MATLAB file of level 5.
std::string matlab() {
  std::string file = "MATLAB 5.0 MAT-file";
  file.resize(124, ' ');
  const std::string body = little(6, 4) + little(8, 4) + little(6, 8) + little(5, 4) + little(8, 4) + little(1, 4) +
                           little(1, 4) + little(0x10001, 4) + "x" + little(0, 3) + little(0x10002, 4) + little(7, 4);
  return file + little(0x100, 2) + "IM" + little(14, 4) + little(body.size(), 4) + body;
}

/// A matrix of one row and one column in the format of each extension.
std::map<std::string, Writer> samples() {
  const Writer hdf5 = [](const std::string& file) { FileMaker(file).floats("x", {1, 1}, {1}); };
  const std::string array = npy("<f4", "(1, 1)", raw({1})), length = little(1, 4), header = little(1, 4) + little(1, 4);
  return {
      {".h5", hdf5},
      {".hdf5", hdf5},
      {".h5ad", hdf5},
      {".mat", hdf5},
      {"MATLAB .mat", bytes(matlab())},
      {"MATLAB 4 .mat", bytes(little(10, 4) + header + little(0, 4) + little(2, 4) + std::string("x", 2) + raw({1}))},
      {".mtx", bytes("%%MatrixMarket matrix array real general\n1 1\n1\n")},
      {".mtx.gz",
       [](const std::string& file) { write_gzip(file, "%%MatrixMarket matrix array real general\n1 1\n1\n"); }},
      {".svm", bytes("1 1:1\n")},
      {".svmlight", bytes("1 1:1\n")},
      {".libsvm", bytes("1 1:1\n")},
      {".npy", bytes(array)},
      {".npz", bytes(zip("x.npy", array))},
      {".fvecs", bytes(length + little(1, 4))},
      {".ivecs", bytes(length + little(1, 4))},
      {".bvecs", bytes(length + little(1, 1))},
      {".fbin", bytes(header + little(1, 4))},
      {".u8bin", bytes(header + little(1, 1))},
      {".i8bin", bytes(header + little(1, 1))},
      {".ibin", bytes(header + little(1, 4))},
      {".hbin", bytes(header + little(1, 2))},
      {".f16bin", bytes(header + little(1, 2))},
      {".fps", bytes("#FPS1\n#num_bits=1\n01\ta\n")},
      {".fps.gz", [](const std::string& file) { write_gzip(file, "#FPS1\n#num_bits=1\n01\ta\n"); }},
      {".csv", bytes("1\n")},
      {".tsv", bytes("1\n")},
      {".txt", bytes("1\n")},
      {".gz", [](const std::string& file) { write_gzip(file, "1\n"); }},
      {".zst", bytes(std::string("\x28\xb5\x2f\xfd\x00\x58\x11\x00\x00"
                                 "1\n",
                                 11))}};
}

/// The same for the formats that not every build has.
std::map<std::string, Writer> optional_samples() {
#ifdef KITH_HAS_ARROW
  const std::string path = std::getenv("PATH");  // on which the program kith-arrow is, if not beside this one
  setenv("PATH", (std::filesystem::path(KITH_BINARY).parent_path().string() + ":" + path).c_str(), 1);
  const auto table = arrow_table({{"x", arrow_array(arrow::FloatBuilder(), std::vector<std::optional<float>>{1})}});
  const Writer arrow = [table](const std::string& file) { write_arrow(file, *table); };
  return {{".parquet", [table](const std::string& file) { write_parquet(file, *table); }},
          {".feather", arrow},
          {".arrow", arrow}};
#else
  return {};
#endif
}

void for_each_extension(const std::function<void(const FormatEntry&, const std::string&)>& visit) {
  for (const FormatEntry& format : formats()) {
    std::istringstream extensions(format.extensions);
    for (std::string extension; extensions >> extension;) visit(format, extension);
  }
}

}  // namespace

TEST_CASE("every format of the table recognises, opens and lists a sample of each of its extensions") {
  const Scratch folder;
  auto writers = samples();
  writers.merge(optional_samples());
  for_each_extension([&](const FormatEntry& format, const std::string& extension) {
    INFO(format.name << ": a sample of " << extension << " belongs into samples()");
    if (extension == ".zst" && !has_zstd()) return skipped(".zst, since libzstd was not found");
    const std::string name = format.name;
    const bool shared = name.starts_with("MATLAB");  // with HDF5: the content decides
    const std::string sample = (shared ? name + " " : "") + extension, file = folder / ("x" + extension);
    REQUIRE(writers.count(sample) == 1);
    writers.at(sample)(file);
    for (const FormatEntry& other : formats()) CHECK(other.recognises(file) == (&other == &format));
    const auto source = open_points(file);
    CHECK(source->rows() == 1);
    CHECK(source->columns() == 1);
    CHECK_NOTHROW(read_all(*source));
    CHECK(list_datasets(file).size() == (format.name == std::string("svmlight") ? 2 : 1));  // and labels
  });
}

TEST_CASE("a file that changes after its set was opened is refused by its name") {
  const Scratch folder;
  auto writers = samples();
  writers.merge(optional_samples());
  const std::string more = "0123456789012345678901234567890123456789";
  const std::function<void(const std::string&)> changes[] = {
      [&](const std::string& file) { std::ofstream(file, std::ios::app | std::ios::binary) << more; },
      [](const std::string& file) { std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2); },
      [&](const std::string& file) {  // another file takes its place
        std::filesystem::copy_file(file, folder / "other");
        std::ofstream(folder / "other", std::ios::app | std::ios::binary) << more;
        std::filesystem::rename(folder / "other", file);
      },
      [](const std::string& file) { std::filesystem::remove(file); }};
  for (const std::string extension : {".npy", ".csv", ".h5", ".parquet", ".arrow"}) {
    if (writers.count(extension) == 0) continue;
    for (const int changed : {0, 6}) {  // more files than stay open
      for (std::size_t i = 0; i < std::size(changes); ++i) {
        INFO(extension << ", change " << i << " of file " << changed);
        // A name stands for the same files as long as the process runs.
        const std::string set = folder / fmt::format("{}-{}-{}", extension, changed, i),
                          name = set + "/" + std::to_string(changed) + extension;
        std::filesystem::create_directory(set);
        for (int file = 0; file < 7; ++file) writers.at(extension)(set + "/" + std::to_string(file) + extension);
        const auto source = open_points(set);
        REQUIRE(source->rows() == 7);
        changes[i](name);
        refused(ExitCode::data, [&] { read_all(*source); }, {name.c_str()});
      }
    }
  }
}

TEST_CASE("the name of an HDF5 result must not have the ending of another format of the table") {
  const Scratch folder;
  for_each_extension([&](const FormatEntry& format, const std::string& extension) {
    if (format.name == std::string("HDF5") || extension == ".mat") return;  // newer MATLAB files are HDF5
    INFO(extension << " belongs into kEndings of data/io/output_file.cpp");
    refused(ExitCode::output, [&] { check_output(folder / ("a" + extension), {}); },
            {"expected the name of an HDF5 file"});
  });
}
