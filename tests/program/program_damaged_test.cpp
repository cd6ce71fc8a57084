// Damaged and hostile HDF5 files: the program ends with a message about the file, in time and within its memory.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "tests/fuzz/hdf5_seeds.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

struct Patch {
  std::size_t at;
  std::string from, to;
};

/// Changes bytes of a file; false if they are others, as another version of HDF5 may write them.
bool patch(const std::string& file, const std::vector<Patch>& patches) {
  std::string bytes = bytes_of(file);
  for (const Patch& p : patches) {
    if (bytes.compare(p.at, p.from.size(), p.from) != 0) {
      skipped("this HDF5 writes " + std::filesystem::path(file).filename().string() + " in another way");
      return false;
    }
    bytes.replace(p.at, p.to.size(), p.to);
  }
  write_bytes(file, bytes);
  return true;
}

}  // namespace

TEST_CASE("a file that makes the HDF5 library crash is refused by name") {
  if (is_sanitized()) return skipped("a sanitizer ends the child in place of the signal");
  const Scratch folder;
  make_hdf5_seeds(folder.path().string());
  const std::string file = folder / "heaps_new.h5";
  // The address of a heap of attributes, and the checksum of the header that holds it.
  if (!patch(file, {{8451, "\xff\xff", "\x8d\x06"}, {8562, "\xc5\xb9\xc8\xac", "\x18\xce\xb9\x98"}})) return;
  for (const Words& words : {Words{"info", file}, {"cluster", file, "-k", "2"}}) {
    const Outcome outcome = run_kith(words);
    INFO(outcome.err);
    CHECK(outcome.code == 3);
    CHECK(outcome.says("heaps_new.h5: the HDF5 library crashed (signal 11) while reading it; the file is damaged"));
  }
  CHECK(run_kith({"info", file}, {.environment = {"KITH_HDF5=inside"}}).code == 128 + SIGSEGV);
}

TEST_CASE("--write-obs of a file that makes the HDF5 library crash is refused by name, and leaves nothing") {
  if (is_sanitized()) return skipped("a sanitizer ends the child in place of the signal");
  const Scratch folder;
  make_hdf5_seeds(folder.path().string());
  const std::string file = folder / "anndata_old.h5", out = folder / "out.h5ad", inside = folder / "inside.h5ad";
  const auto add_column = [&](const std::string& output, const Setting& setting = {}) {
    return run_kith({"cluster", file + ":/X", "-k", "2", "-q", "--write-obs", "km", "-o", output}, setting);
  };
  CHECK(add_column(out).code == 0);
  CHECK(add_column(inside, {.environment = {"KITH_HDF5=inside"}}).code == 0);
  CHECK(bytes_of(out) == bytes_of(inside));
  for (const std::string& made : {out, inside}) std::filesystem::remove(made);
  const Words before = files_in(folder);
  // The size of a text in the heap of texts.
  if (!patch(file, {{2199, std::string(1, '\0'), "\xfe"}})) return;
  const Outcome outcome = add_column(out);
  INFO(outcome.err);
  CHECK(outcome.code == 3);
  CHECK(outcome.says("anndata_old.h5"));
  CHECK(outcome.says("the HDF5 library crashed (signal 11) while reading it; the file is damaged"));
  CHECK(files_in(folder) == before);
}

TEST_CASE("kith info shows what it can read, says what it cannot, and ends with exit code 3") {
  const Scratch folder;
  const std::string file = folder / "x.h5", values = "0123456789abcdef";
  {
    FileMaker maker(file);
    maker.floats("a", {2, 2}, {1, 2, 3, 4});
    maker.floats("b", {64, 2}, std::vector<float>(128, 1.5F), {.chunk = {64, 2}, .deflate = 6});
    maker.floats("c", {2, 2}, {1, std::numeric_limits<float>::quiet_NaN(), 3, 4});
  }
  CHECK(run_kith({"info", file, "--stats"}).code == 0);  // a missing value is a result
  std::string bytes = bytes_of(file);
  const auto compressed = bytes.find("\x78\x9c");  // how zlib begins
  REQUIRE(compressed != bytes.npos);
  bytes.replace(compressed, 2, "\xff\xff");
  write_bytes(file, bytes);
  const Outcome outcome = run_kith({"info", file, "--stats"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.code == 3);
  CHECK(outcome.says("cannot read /b, for the reasons that are shown"));
  CHECK(outcome.out.find("/a: all values finite") != std::string::npos);
  CHECK(outcome.out.find("/c: ") != std::string::npos);
  const Outcome json = run_kith({"info", file, "--stats", "--json"});
  CHECK(json.code == 3);
  CHECK(json.json()["files"][0]["datasets"][1].contains("without_statistics"));
  CHECK(run_kith({"info", file}).code == 0);
}

TEST_CASE("a name that cannot be looked up is damage, not a missing dataset") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  {
    FileMaker maker(file);
    maker.group("g");
    maker.floats("g/x", {2, 2}, {1, 2, 3, 4});
  }
  std::string bytes = bytes_of(file);
  std::size_t nodes = 0;
  for (std::size_t at = bytes.find("SNOD"); at != bytes.npos; at = bytes.find("SNOD", at + 1)) {
    if (++nodes == 2) bytes[at] = 'X';  // the symbol table node of group g
  }
  REQUIRE(nodes == 2);
  write_bytes(file, bytes);
  refuses(3, {"cluster", file + ":g/x", "-k", "2"}, {"/g: 'x' cannot be looked up: damaged"});
  refuses(3, {"cluster", file + ":g/y", "-k", "2"}, {"/g: the names in it cannot be read: damaged"});
  const Outcome listed = run_kith({"info", file});
  CHECK(listed.code == 3);
  CHECK(listed.says("cannot read /g, for the reasons that are shown"));
}

TEST_CASE("a file that is read in another process gives the same result as in this one") {
  const Scratch folder;
  const Setting inside{.environment = {"KITH_HDF5=inside"}};
  for (const Hdf5Seed& seed : make_hdf5_seeds(folder.path().string())) {
    for (const auto& command : seed.commands) {
      if (command[0] != "cluster" && command[0] != "info") continue;
      if (std::find(command.begin(), command.end(), "{out}") != command.end()) continue;
      Words words;
      for (const std::string& word : command)
        words.push_back(word.starts_with("{}") ? folder / seed.name + word.substr(2) : word);
      words.insert(words.end(), {"--quiet"});
      const Outcome child = run_kith(words), own = run_kith(words, inside);
      INFO(nlohmann::json(words).dump() << child.err << own.err);
      CHECK(child.code == own.code);
      CHECK(child.out == own.out);
      CHECK(child.err == own.err);
      CHECK((child.code == 0 || words[1].find(":outside") != std::string::npos || words[0] == "cluster"));
    }
  }
}

TEST_CASE("texts and chunks are refused by their size before memory is taken") {
  const Scratch folder;
  const hid_t fixed = H5Tcopy(H5T_C_S1), variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 4);
  H5Tset_size(variable, H5T_VARIABLE);
  {
    FileMaker maker(folder / "x.h5");
    const hsize_t shape[] = {10, 4}, most[] = {H5S_UNLIMITED, 4};
    const hid_t space = H5Screate_simple(2, shape, most), large = creation_of({.chunk = {1 << 22, 4}, .deflate = 9});
    const hid_t dataset = H5Dcreate2(maker.id(), "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, large, H5P_DEFAULT);
    const std::vector<float> values(40, 1.5F);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Dclose(dataset);
    H5Pclose(large);
    H5Sclose(space);
    maker.floats("points", {4, 1}, {1, 2, 3, 4});
    maker.dataset("fixed", fixed, {300'000'000}, fixed, nullptr, {.chunk = {1 << 20}});
    maker.dataset("variable", variable, {100'000'000}, variable, nullptr, {.chunk = {1 << 16}});
    maker.group("matrix");
    for (const char* part : {"data", "indices", "indptr"})
      maker.floats(std::string("matrix/") + part, {4}, {0, 1, 1, 1});
    const std::vector<std::int64_t> sizes(1'000'000);
    maker.dataset("matrix/shape", H5T_STD_I64LE, {sizes.size()}, H5T_NATIVE_INT64, sizes.data(),
                  {.chunk = {sizes.size()}, .deflate = 9});
  }
  H5Tclose(fixed);
  H5Tclose(variable);
  const std::string file = folder / "x.h5";
  refuses(6, {"cluster", file + ":x", "-k", "2", "--memory", "50MB"},
          {"x.h5:/x: one chunk takes 64.0 MiB", "of memory are left", "--memory"});
  for (const std::string name : {"fixed", "variable"}) {
    refuses(3, {"cluster", file + ":points", "-k", "2", "--init-labels", file + ":" + name},
            {"/" + name + ": declared as", "no value was ever written"});
  }
  refuses(3, {"cluster", file + ":matrix", "-k", "2"},
          {"/matrix/shape: damaged: expected the 2 sizes of a sparse matrix, found 1000000 values"});
  done({"info", file});
}

TEST_CASE("what is printed from a file has no escape codes") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  {
    FileMaker maker(file);
    maker.floats("\x1b[31mred", {2, 2}, {1, 2, 3, 4});
    maker.floats("x", {2, 2}, {1, 2, 3, 4});
    const hid_t dataset = H5Dopen2(maker.id(), "x", H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    const hid_t type = H5Tcopy(H5T_C_S1);
    const std::string title = "\x1b]0;title\x07";
    H5Tset_size(type, title.size());
    for (const char* name : {"MATLAB_class", "MATLAB_empty"}) {
      const hid_t attribute = H5Acreate2(dataset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
      REQUIRE(H5Awrite(attribute, type, title.data()) >= 0);
      H5Aclose(attribute);
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(dataset);
  }
  const auto is_plain = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 || c == '\n'; });
  };
  for (const Words& words : {Words{"info", file},
                             {"info", file, "--stats"},
                             {"cluster", file, "-k", "2"},
                             {"cluster", file + ":/none", "-k", "2"},
                             {"cluster", file + ":x", "-k", "2"}}) {
    const Outcome outcome = run_kith(words);
    INFO(outcome.out << outcome.err);
    CHECK(is_plain(outcome.out));
    CHECK(is_plain(outcome.err));
  }
  CHECK(done({"info", file}).out.find("MATLAB \\x1b]0;title\\x07") != std::string::npos);
}
