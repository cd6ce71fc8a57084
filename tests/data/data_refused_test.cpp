// HDF5 datasets that cannot be read as points: each is refused with a message about what was expected and found.
#include <cstring>
#include <limits>

#include "data/source.h"
#include "tests/support/hdf5_files.h"

/// For the leak sanitizer: HDF5 1.10 does not free the memory of a layout that it refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }  // NOLINT(bugprone-reserved-identifier)

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

std::string refused_file(const std::string& location, std::initializer_list<const char*> words) {
  return refused(
      ExitCode::data, [&] { read_all(*open_points(location)); }, words);
}

/// A small valid file: "x", 4 x 2 float32.
const std::vector<float> kEight{1, 2, 3, 4, 5, 6, 7, 8};
void make_valid(const std::string& file, const Layout& layout = {}) {
  FileMaker(file).floats("x", {4, 2}, kEight, layout);
}

}  // namespace

TEST_CASE("shapes other than rows x columns are refused, with the shape in the message") {
  const Scratch scratch;
  const std::string file = scratch / "shapes.h5";
  {
    FileMaker maker(file);
    const float one = 1;
    const hid_t scalar = H5Screate(H5S_SCALAR);
    const hid_t nothing = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(maker.id(), "scalar", H5T_IEEE_F32LE, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(maker.id(), "null", H5T_IEEE_F32LE, nothing, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    maker.floats("vector", {8}, kEight);
    maker.floats("cube", {2, 2, 2}, kEight);
    maker.dataset("no_rows", H5T_IEEE_F32LE, {0, 3}, H5T_NATIVE_FLOAT, nullptr);
    maker.dataset("no_columns", H5T_IEEE_F32LE, {3, 0}, H5T_NATIVE_FLOAT, nullptr);
    maker.dataset("empty_vector", H5T_IEEE_F32LE, {0}, H5T_NATIVE_FLOAT, &one);
    H5Sclose(scalar);
    H5Sclose(nothing);
  }
  refused_file(file + ":scalar", {"shapes.h5:/scalar: expected 2 dimensions (rows, features), found 0"});
  refused_file(file + ":null", {"shapes.h5:/null: expected 2 dimensions (rows, features), found 0"});
  refused_file(file + ":vector",
               {"shapes.h5:/vector: expected 2 dimensions (rows, features), found 1 (8)", "rows x 1"});
  refused_file(file + ":cube",
               {"shapes.h5:/cube: expected 2 dimensions (rows, features), found 3 (2 x 2 x 2)", "reshape"});
  refused_file(file + ":no_rows", {"no_rows: expected at least 1 row, found none (0 x 3)"});
  refused_file(file + ":no_columns", {"no_columns: expected at least 1 column, found none (3 x 0)"});
  refused(ExitCode::data, [&] { open_points(file + ":cube", {.vector_as_column = true}); },
          {"expected 1 or 2 dimensions", "found 3"});
  refused(ExitCode::data, [&] { open_points(file + ":empty_vector", {.vector_as_column = true}); },
          {"expected at least 1 row"});
}

TEST_CASE("types other than plain numbers are refused, with the type in the message") {
  const Scratch scratch;
  const std::string file = scratch / "types.h5";
  const hid_t compound = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(compound, "a", 0, H5T_IEEE_F32LE);
  H5Tinsert(compound, "b", 4, H5T_IEEE_F32LE);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 5);
  const hid_t variable_text = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable_text, H5T_VARIABLE);
  const hsize_t three = 3;
  const hid_t colours = H5Tenum_create(H5T_STD_I8LE), inverted = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t zero = 0, one = 1;
  H5Tenum_insert(colours, "RED", &zero);
  H5Tenum_insert(colours, "GREEN", &one);
  H5Tenum_insert(inverted, "TRUE", &zero);
  H5Tenum_insert(inverted, "FALSE", &one);
  const hid_t twelve_bits = H5Tcopy(H5T_STD_I16LE);
  H5Tset_precision(twelve_bits, 12);
  const hid_t wide = H5Tcopy(H5T_STD_I64LE);
  H5Tset_size(wide, 16);
  H5Tset_precision(wide, 128);
  const hid_t brain_float = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(brain_float, 15, 7, 8, 0, 7);
  H5Tset_size(brain_float, 2);
  const hid_t biased = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_ebias(biased, 126);
  const std::pair<hid_t, const char*> types[] = {{text, "found string"},
                                                 {variable_text, "found string"},
                                                 {colours, "found enum"},
                                                 {inverted, "found enum"},
                                                 {H5Tarray_create2(H5T_IEEE_F32LE, 1, &three), "found array"},
                                                 {H5Tvlen_create(H5T_IEEE_F32LE), "found lists of different lengths"},
                                                 {H5Tcreate(H5T_OPAQUE, 4), "found opaque"},
                                                 {H5T_STD_REF_OBJ, "found reference"},
                                                 {H5T_STD_B16LE, "found bitfield"},
                                                 {H5T_NATIVE_LDOUBLE, "found float of 80 bits in 16 bytes"},
                                                 {H5T_IEEE_F64LE, ""},
                                                 {twelve_bits, "found int of 12 bits in 2 bytes"},
                                                 {wide, "found int128"},
                                                 {brain_float, "found float of 16 bits in 2 bytes, 8 of them exponent"},
                                                 {biased, "found float of 32 bits"},
                                                 {H5T_VAX_F32, "found float"}};
  const auto write = [&file](hid_t type) {
    FileMaker maker(file);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    maker.made("x", type, {2, 2}, creation);
    H5Pclose(creation);
  };
  write(compound);
  refused_file(file, {"types.h5:/x: expected 1 dimension of records, found 2 (2 x 2)", "write them as a vector"});
  for (const auto& [type, found] : types) {
    if (*found == '\0') continue;
    write(type);
    refused_file(file + ":x", {"types.h5:/x: expected numbers", found});
    CHECK(list_datasets(file).at(0).unreadable.find(found) != std::string::npos);
    refused_file(file, {"types.h5:/x: expected numbers", found});  // the only dataset
  }
}

TEST_CASE("links that lead out of the file are refused without opening their targets") {
  const Scratch scratch;
  const std::string other = scratch / "other.h5";
  const std::string file = scratch / "links.h5";
  {
    FileMaker maker(other);
    maker.group("group");
    maker.floats("group/x", {4, 2}, kEight);
  }
  {
    FileMaker maker(file);
    maker.group("real");
    maker.floats("real/x", {4, 2}, kEight);
    H5Lcreate_external("other.h5", "/group/x", maker.id(), "direct", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/group", maker.id(), "middle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/middle/x", maker.id(), "soft_outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("middle", maker.id(), "soft_middle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/real", maker.id(), "soft_real", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("x", maker.id(), "real/soft_x", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/missing", maker.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("loop_b", maker.id(), "loop_a", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("loop_a", maker.id(), "loop_b", H5P_DEFAULT, H5P_DEFAULT);
  }
  const OpenWatch watch(other);
  refused_file(file + ":direct", {"links.h5:/direct", "external link to other.h5:/group/x"});
  refused_file(file + ":/middle/x", {"links.h5:/middle/x: /middle is an external link to other.h5:/group"});
  refused_file(file + ":soft_outside", {"/middle is an external link"});
  refused_file(file + ":soft_middle/x", {"/middle is an external link"});
  refused_file(file + ":dangling", {"'missing' is not in /, which holds dangling, direct"});
  refused_file(file + ":loop_a", {"form a cycle"});
  refused_file(file + ":real", {"expected a dataset, found a group", "/real/x (4 x 2, float32)"});
  refused_file(file + ":/", {"expected a dataset, found a group"});
  refused_file(file + ":real/x/y", {"/real/x is not a group"});
  refused_file(file + ":real/y", {"'y' is not in /real, which holds soft_x, x"});
  CHECK(open_points(file + ":/soft_real/soft_x")->rows() == 4);
  CHECK(open_points(file)->name() == file + ":/real/x");  // without a name: the only dataset of this file
  list_datasets(file);
  CHECK_FALSE(watch.opened());
  open_points(other);
  CHECK(watch.opened());  // the watch detects opening
}

TEST_CASE("external and virtual datasets are refused without opening their files") {
  const Scratch scratch;
  const std::string file = scratch / "outside.h5";
  const std::string source = scratch / "source.h5";
  const std::string bin = scratch / "values.bin";
  make_valid(source);
  write_bytes(bin, raw(kEight));
  {
    FileMaker maker(file);
    const hid_t external = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(external, bin.c_str(), 0, 32);
    maker.made("external", H5T_IEEE_F32LE, {4, 2}, external);
    H5Pclose(external);
    for (const bool unlimited : {false, true}) {
      const hsize_t shape[2] = {4, 2}, largest[2] = {unlimited ? H5S_UNLIMITED : 4, 2};
      const hid_t space = H5Screate_simple(2, shape, largest);
      if (unlimited) {
        const hsize_t start[2] = {0, 0}, stride[2] = {1, 1}, count[2] = {H5S_UNLIMITED, 1}, block[2] = {1, 2};
        REQUIRE(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block) >= 0);
      }
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      REQUIRE(H5Pset_virtual(creation, space, source.c_str(), "x", space) >= 0);
      const hid_t dataset = H5Dcreate2(maker.id(), unlimited ? "growing" : "virtual", H5T_IEEE_F32LE, space,
                                       H5P_DEFAULT, creation, H5P_DEFAULT);
      REQUIRE(dataset >= 0);
      H5Dclose(dataset);
      H5Pclose(creation);
      H5Sclose(space);
    }
  }
  const OpenWatch source_watch(source), bin_watch(bin);
  refused_file(file + ":external", {"outside.h5:/external", "another file", "values.bin", "import h5py"});
  refused_file(file + ":virtual", {"outside.h5:/virtual", "virtual dataset", "import h5py"});
  refused_file(file + ":growing", {"outside.h5:/growing", "virtual dataset"});
  const auto list = list_datasets(file);
  REQUIRE(list.size() == 3);
  CHECK(list[0].layout == "external");
  CHECK(list[1].layout == "virtual");
  CHECK_FALSE(source_watch.opened());
  CHECK_FALSE(bin_watch.opened());
}

TEST_CASE("datasets whose declared size is not stored are refused before memory is allocated") {
  const Scratch scratch;
  const std::string file = scratch / "bomb.h5";
  const auto make = [&](const std::vector<hsize_t>& shape, const Layout& layout) {
    FileMaker(file).dataset("x", H5T_IEEE_F32LE, shape, H5T_NATIVE_FLOAT, nullptr, layout);
  };
  constexpr hsize_t million = 1 << 20;
  make({1 << 25, 1 << 25}, {});
  refused_file(file, {"bomb.h5:/x", "33554432 x 33554432", "no value was ever written"});
  make({1 << 25, 1 << 25}, {.chunk = {64, 64}, .deflate = 1});
  refused_file(file, {"no value was ever written"});
  make({million << 20, million << 13}, {.chunk = {64, 64}});
  refused_file(file, {"1099511627776 x 8589934592", "more values than can be counted"});

  // One chunk of a dataset of 2^50 values is stored; the others would be fill values.
  {
    FileMaker maker(file);
    maker.dataset("x", H5T_IEEE_F32LE, {1 << 25, 1 << 25}, H5T_NATIVE_FLOAT, nullptr,
                  {.chunk = {64, 64}, .deflate = 1});
    const hid_t dataset = H5Dopen2(maker.id(), "x", H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    const hsize_t start[2] = {0, 0}, count[2] = {1, 1};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    const hid_t memory = H5Screate_simple(2, count, nullptr);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, kEight.data()) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
  }
  refused_file(file, {"33554432 x 33554432", "are stored", "never written"});

  // A chunk of 3 GiB that holds eight values, which deflate compresses.
  make_valid(file, {.chunk = {4, 2}, .deflate = 9});
  {
    FileMaker(file).floats("x", {4, 2}, kEight, {.chunk = {4, 2}});
    const std::string dims("\x04\0\0\0\x02\0\0\0\x04\0\0\0", 12);
    write_bytes(file, patched(bytes_of(file), dims, std::string("\x00\x80\0\0\x00\x60\0\0\x04\0\0\0", 12)));
  }
  refused_file(file, {"bomb.h5:/x", "one chunk is declared with 3221225472 bytes"});
}

TEST_CASE("chunks with another rank than the dataset are refused") {
  const Scratch scratch;
  const std::string file = scratch / "rank.h5";
  make_valid(file, {.chunk = {4, 2}});
  const std::string bytes = bytes_of(file);
  const auto layout = bytes.find(std::string("\x04\0\0\0\x02\0\0\0\x04\0\0\0", 12)) - 11;
  REQUIRE(bytes.substr(layout, 3) == "\x03\x02\x03");  // version 3, chunked, two dimensions and the element's size
  for (const char rank : {1, 2, 4, 33}) {
    auto damaged = bytes;
    damaged[layout + 2] = rank;
    write_bytes(file, damaged);
    refused_file(file + ":x", {"rank.h5:/x", "damaged"});
  }
}

TEST_CASE("unknown filters are refused by name, and no plugin is searched for") {
  const Scratch scratch;
  const std::string file = scratch / "filter.h5";
  {
    FileMaker maker(file);
    const hid_t creation = creation_of({.chunk = {4, 2}});
    const unsigned level = 3;
    REQUIRE(H5Pset_filter(creation, 32001, H5Z_FLAG_OPTIONAL, 1, &level) >= 0);
    maker.made("x", H5T_IEEE_F32LE, {4, 2}, creation, H5T_NATIVE_FLOAT, kEight.data());
    H5Pclose(creation);
  }
  refused_file(file, {"filter.h5:/x", "blosc (filter 32001)", "plugins are never loaded", "hdf5plugin", "h5repack"});
  CHECK(list_datasets(file).at(0).filters == std::vector<std::string>{"blosc (filter 32001)"});
}

TEST_CASE("a layout of a newer HDF5 is refused with that reason and a remedy") {
  const Scratch scratch;
  const std::string file = scratch / "newer.h5";
  make_valid(file);
  const std::string bytes = bytes_of(file);
  const std::uint64_t place[2] = {bytes.find(raw(kEight)), 32};  // address and size, behind version and class
  std::string layout = "\x03\x01";
  layout.append(reinterpret_cast<const char*>(place), sizeof place);
  write_bytes(file, patched(bytes, layout, "\x05"));
  refused_file(file + ":/x", {"newer.h5:/x", "probably written by a newer HDF5", "h5repack --high=1"});
  CHECK(list_datasets(file).at(0).unreadable.find("newer HDF5") != std::string::npos);
}
