// Makes the files through the C API of HDF5, in the oldest and the newest format.
#include "tests/fuzz/hdf5_seeds.h"

#include <hdf5.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "tests/support/hdf5_attributes.h"

namespace kith::testing {
namespace {

using Shape = std::vector<hsize_t>;

const hid_t kFloat = H5T_IEEE_F32LE;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "cannot make a seed: %s\n", what.c_str());
  std::exit(2);
}

/// A file under construction.
class Maker {
 public:
  Maker(const std::string& file, bool newest, hsize_t user_block = 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_userblock(creation, user_block);
    H5Pset_obj_track_times(creation, false);  // equal files at any time
    if (newest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file_ = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation, access);
    if (file_ < 0) fail(file);
    H5Pclose(creation);
    H5Pclose(access);
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() { H5Fclose(file_); }
  hid_t id() const { return file_; }

  hid_t group(const char* name) const {
    const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(creation, false);
    const hid_t group = H5Gcreate2(file_, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    return group;
  }

  /// Values 0, 1, 2, ... modulo 100. `change` sets further creation properties.
  void numbers(const char* name, hid_t type, const Shape& shape, const Shape& chunk = {}, const Shape& most = {},
               const std::function<void(hid_t)>& change = {}) const {
    std::vector<int> values(std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 37 % 100);
    write(name, type, shape, H5T_NATIVE_INT, values.data(), chunk, most, change);
  }
  void integers(const char* name, const std::vector<int>& values) const {
    write(name, H5T_STD_I32LE, {values.size()}, H5T_NATIVE_INT, values.data(), {}, {}, {});
  }
  void texts(const char* name, const std::vector<const char*>& values, bool variable, const Shape& chunk = {}) const {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : 6);
    std::string fixed;
    for (const char* text : values) fixed += (std::string(text) + std::string(6, '\0')).substr(0, 6);
    const void* data = variable ? static_cast<const void*>(values.data()) : fixed.data();
    write(name, type, {values.size()}, type, data, chunk, {}, {});
    H5Tclose(type);
  }
  /// Records of numbers, an array and a text.
  void records(const char* name, const Shape& chunk = {}) const {
    struct Record {
      float x, y[2];
      std::int16_t count;
      char text[6];
    };
    std::vector<Record> rows(40);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto x = static_cast<float>(i * 37 % 100);
      rows[i] = {x, {x + 1, x / 2}, static_cast<std::int16_t>(i % 3), {'t', 'e', 'x', 't'}};
    }
    const hsize_t two = 2;
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Record)), text = H5Tcopy(H5T_C_S1);
    const hid_t pair = H5Tarray_create2(kFloat, 1, &two);
    H5Tset_size(text, 6);
    H5Tinsert(type, "x", HOFFSET(Record, x), kFloat);
    H5Tinsert(type, "y", HOFFSET(Record, y), pair);
    H5Tinsert(type, "count", HOFFSET(Record, count), H5T_STD_I16LE);
    H5Tinsert(type, "text", HOFFSET(Record, text), text);
    write(name, type, {rows.size()}, type, rows.data(), chunk, {}, {});
    for (const hid_t used : {type, text, pair}) H5Tclose(used);
  }
  /// 4 x 2 values of int16 in one chunk, which a filter that the library lacks has made.
  void packed(const char* name, H5Z_filter_t filter, const std::string& chunk) const {
    constexpr hsize_t kShape[2] = {4, 2}, kBegin[2] = {0, 0};
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, kShape, nullptr);
    H5Pset_obj_track_times(creation, false);
    H5Pset_chunk(creation, 2, kShape);
    if (H5Pset_filter(creation, filter, H5Z_FLAG_OPTIONAL, 0, nullptr) < 0) fail(name);
    const hid_t dataset = H5Dcreate2(file_, name, H5T_STD_I16LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (dataset < 0 || H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, kBegin, chunk.size(), chunk.data()) < 0) fail(name);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(creation);
  }

 private:
  void write(const char* name, hid_t type, const Shape& shape, hid_t memory, const void* data, const Shape& chunk,
             const Shape& most, const std::function<void(hid_t)>& change) const {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, false);
    if (!chunk.empty()) H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    if (change) change(creation);
    const hid_t space =
        H5Screate_simple(static_cast<int>(shape.size()), shape.data(), most.empty() ? nullptr : most.data());
    const hid_t dataset = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (dataset < 0 || H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) fail(name);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(creation);
  }
  hid_t file_;
};

void write_names(hid_t object, const char* name, const std::vector<const char*>& names) {
  const hsize_t count = names.size();
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, nullptr);
  H5Tset_size(type, H5T_VARIABLE);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, names.data());
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

constexpr hsize_t kAny = H5S_UNLIMITED;

void make_layouts(const Maker& maker) {
  maker.numbers("contiguous", kFloat, {40, 4});
  maker.numbers("plain_chunks", kFloat, {40, 4}, {7, 3});
  maker.numbers("filters", kFloat, {40, 4}, {16, 4}, {}, [](hid_t p) {
    H5Pset_shuffle(p);
    H5Pset_deflate(p, 6);
    H5Pset_fletcher32(p);
  });
  maker.numbers("one_chunk", kFloat, {40, 4}, {40, 4}, {}, [](hid_t p) { H5Pset_deflate(p, 1); });
  maker.numbers("growing", kFloat, {40, 4}, {4, 4}, {kAny, 4}, [](hid_t p) { H5Pset_deflate(p, 1); });
  maker.numbers("growing_both", kFloat, {40, 4}, {9, 2}, {kAny, kAny}, [](hid_t p) { H5Pset_deflate(p, 1); });
  maker.numbers("early", kFloat, {40, 4}, {8, 4}, {}, [](hid_t p) { H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY); });
  maker.numbers("compact", kFloat, {40, 4}, {}, {}, [](hid_t p) { H5Pset_layout(p, H5D_COMPACT); });
  maker.numbers("scale_offset", H5T_STD_I32LE, {40, 4}, {10, 4}, {},
                [](hid_t p) { H5Pset_scaleoffset(p, H5Z_SO_INT, 0); });
  maker.numbers("nbit", H5T_STD_I16BE, {40, 4}, {10, 4}, {}, H5Pset_nbit);
  maker.numbers("filled", kFloat, {40, 4}, {10, 4}, {}, [](hid_t p) {
    const float fill = 3;
    H5Pset_fill_value(p, H5T_NATIVE_FLOAT, &fill);
  });
}

void make_tables(const Maker& maker) {
  maker.records("records");
  maker.records("chunked_records", {7});
  // Both are 1 2 1 2 1 2 1 2: four bytes and twelve from four bytes back; and a frame with one raw block.
  maker.packed("lzf", 32000, std::string("\3\1\0\2\0\xe0\3\3", 8));
  maker.packed(
      "zstd", 32015,
      std::string("\x28\xb5\x2f\xfd\x20\x10\x81\0\0", 9) + std::string("\1\0\2\0\1\0\2\0\1\0\2\0\1\0\2\0", 16));
}

void make_anndata(const Maker& maker) {
  const std::vector<std::pair<const char*, const char*>> groups{{"X", "csr_matrix"}, {"by_columns", "csc_matrix"}};
  for (const auto& [name, encoding] : groups) {
    const hid_t group = maker.group(name);
    write_text_attribute(group, "encoding-type", encoding, true);
    write_sizes(group, "shape", {4, 4});
    H5Gclose(group);
    const std::string path = std::string(name) + "/";
    maker.numbers((path + "data").c_str(), kFloat, {6}, {4}, {}, [](hid_t p) { H5Pset_deflate(p, 1); });
    maker.integers((path + "indices").c_str(), {0, 3, 1, 2, 0, 1});
    maker.integers((path + "indptr").c_str(), {0, 2, 3, 4, 6});
  }
  H5Gclose(maker.group("obs"));
  H5Gclose(maker.group("obs/kind"));
  maker.integers("obs/kind/codes", {0, 1, 1, 0});
  maker.texts("obs/kind/categories", {"first", "second one"}, true);
  maker.texts("obs/_index", {"c1", "c2", "c3", "c4"}, true);
  maker.texts("obs/name", {"a", "bb", "a", "bb"}, true);
  maker.texts("obs/batch", {"one", "two", "one", "two"}, false);
  maker.texts("obs/chunked", {"one", "two", "one", "two"}, true, {2});
  const hid_t obs = H5Gopen2(maker.id(), "obs", H5P_DEFAULT);
  write_names(obs, "column-order", {"kind", "name", "batch", "chunked"});
  H5Gclose(obs);
}

void make_others(const Maker& maker) {
  H5Gclose(maker.group("matrix"));  // of 10x Genomics
  maker.integers("matrix/data", {1, 2, 3, 4, 5});
  maker.integers("matrix/indices", {0, 2, 1, 0, 2});
  maker.integers("matrix/indptr", {0, 2, 3, 5});
  maker.integers("matrix/shape", {3, 3});
  const hid_t sparse = maker.group("S");  // of MATLAB
  write_sizes(sparse, "MATLAB_sparse", {3});
  write_text_attribute(sparse, "MATLAB_class", "double", false);
  H5Gclose(sparse);
  maker.integers("S/data", {1, 2, 3, 4, 5});
  maker.integers("S/ir", {0, 2, 1, 0, 2});
  maker.integers("S/jc", {0, 2, 3, 5});
  maker.numbers("A", H5T_STD_U8LE, {4, 30});
  const hid_t dataset = H5Dopen2(maker.id(), "A", H5P_DEFAULT);
  write_text_attribute(dataset, "MATLAB_class", "uint8", false);
  H5Dclose(dataset);
  H5Lcreate_soft("/A", maker.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/x", maker.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
}

/// Groups and objects with so many members and attributes that they are stored in heaps and B-trees.
void make_heaps(const Maker& maker) {
  const hid_t root = H5Gopen2(maker.id(), "/", H5P_DEFAULT);
  for (int i = 0; i < 40; ++i) {
    H5Gclose(maker.group(("group with a name that is long, number " + std::to_string(i)).c_str()));
    write_text_attribute(root, ("attribute " + std::to_string(i)).c_str(), "a text of some length", i % 2 == 0);
  }
  H5Gclose(root);
  maker.numbers("x", kFloat, {40, 4});
}

}  // namespace

std::vector<Hdf5Seed> make_hdf5_seeds(const std::string& folder) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  std::vector<Hdf5Seed> seeds;
  for (const bool newest : {false, true}) {
    const std::string end = newest ? "_new.h5" : "_old.h5";
    make_layouts(Maker(folder + "/layouts" + end, newest));
    Hdf5Seed layouts{"layouts" + end, {{"info", "{}", "--stats"}}};
    for (const char* dataset : {"contiguous", "plain_chunks", "filters", "one_chunk", "growing", "growing_both",
                                "early", "compact", "scale_offset", "nbit", "filled"}) {
      layouts.commands.push_back({"cluster", std::string("{}:") + dataset, "-k", "2", "--max-iterations", "3"});
    }
    seeds.push_back(layouts);
    make_anndata(Maker(folder + "/anndata" + end, newest));
    seeds.push_back({"anndata" + end,
                     {{"info", "{}", "--stats"},
                      {"cluster", "{}:X", "-k", "2"},
                      {"cluster", "{}:by_columns", "-k", "2"},
                      {"knn", "{}:/X", "-k", "1", "-o", "{out}"},
                      {"cluster", "{}:X", "-k", "2", "--init-labels", "{}:/obs/kind"},
                      {"cluster", "{}:X", "-k", "2", "--write-obs", "km", "-o", "{out}"},
                      {"evaluate", "{}:/obs/batch", "--truth", "{}:/obs/kind"},
                      {"evaluate", "{}:/obs/chunked", "--truth", "{}:/obs/name"}}});
    make_tables(Maker(folder + "/tables" + end, newest));
    seeds.push_back({"tables" + end,
                     {{"info", "{}", "--stats"},
                      {"cluster", "{}:records", "-k", "2", "--drop-columns", "text"},
                      {"cluster", "{}:chunked_records", "-k", "2", "--columns", "x,y"},
                      {"cluster", "{}:lzf", "-k", "2"},
                      {"cluster", "{}:zstd", "-k", "2"}}});
    make_others(Maker(folder + "/others" + end, newest, 512));
    seeds.push_back({"others" + end,
                     {{"info", "{}"},
                      {"cluster", "{}:matrix", "-k", "2"},
                      {"cluster", "{}:S", "-k", "2"},
                      {"cluster", "{}:A", "-k", "2"},
                      {"cluster", "{}:soft", "-k", "2"},
                      {"cluster", "{}:outside", "-k", "2"}}});
    make_heaps(Maker(folder + "/heaps" + end, newest));
    seeds.push_back({"heaps" + end,
                     {{"info", "{}"}, {"cluster", "{}", "-k", "2"}, {"cluster", "{}:x", "-k", "2"}, {"report", "{}"}}});
  }
  return seeds;
}

}  // namespace kith::testing
