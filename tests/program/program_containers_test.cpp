// What containers say about their numbers: missing values, scales, orientation, metrics, data frames and labels.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/program.h"

using namespace kith::testing;

namespace {

/// Texts of variable length.
class VariableText {
 public:
  VariableText() : id_(H5Tcopy(H5T_C_S1)) { H5Tset_size(id_, H5T_VARIABLE); }
  ~VariableText() { H5Tclose(id_); }
  VariableText(const VariableText&) = delete;
  VariableText& operator=(const VariableText&) = delete;
  hid_t id() const { return id_; }

 private:
  hid_t id_;
};

/// Writes an attribute of the object at `path`: a vector, or a scalar if `count` is 0.
void attribute(const FileMaker& maker, const std::string& path, const char* name, hid_t type, const void* values,
               hsize_t count = 0) {
  const hid_t object = H5Oopen(maker.id(), path.c_str(), H5P_DEFAULT);
  const hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr);
  const hid_t written = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(written, type, values) >= 0);
  H5Aclose(written);
  H5Sclose(space);
  H5Oclose(object);
}
void attribute(const FileMaker& maker, const std::string& path, const char* name, const char* text) {
  attribute(maker, path, name, VariableText().id(), &text);
}
void attribute(const FileMaker& maker, const std::string& path, const char* name, double value) {
  attribute(maker, path, name, H5T_NATIVE_DOUBLE, &value);
}
void attribute(const FileMaker& maker, const std::string& path, const char* name, float value) {
  attribute(maker, path, name, H5T_NATIVE_FLOAT, &value);
}

void texts(FileMaker& maker, const std::string& path, const std::vector<const char*>& values) {
  const VariableText type;
  maker.dataset(path, type.id(), {values.size()}, type.id(), values.data());
}

/// A group with an encoding of AnnData.
void encoded(FileMaker& maker, const std::string& path, const char* encoding) {
  maker.group(path);
  attribute(maker, path, "encoding-type", encoding);
}

/// 20 rows of 3 columns: two groups.
std::vector<float> two_groups() {
  std::vector<float> values;
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 3; ++j) values.push_back(static_cast<float>((i % 2) * 50 + i / 2 + j));
  }
  return values;
}

void shorts(FileMaker& maker, const std::string& name, const std::vector<float>& values) {
  const std::vector<std::int16_t> whole(values.begin(), values.end());
  maker.dataset(name, H5T_STD_I16LE, {20, 3}, H5T_NATIVE_INT16, whole.data());
}

/// The statistics of `cluster -k 2` as JSON.
nlohmann::json clustered(const std::string& location, const Words& more = {}) {
  Words words{"cluster", location, "-k", "2", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return done(words).json();
}

/// The labels of `cluster -k 2`, one line each; -1 for dropped rows.
std::string labels_of(const std::string& location, const Words& more = {}) {
  Words words{"cluster", location, "-k", "2", "-q", "-o", "-"};
  words.insert(words.end(), more.begin(), more.end());
  return done(words).out;
}

/// The rows that are not dropped.
std::int64_t kept(const std::string& location, const Words& more = {"--nan", "drop"}) {
  const nlohmann::json clusters = clustered(location, more)["clusters"];
  return clusters["smallest"].get<std::int64_t>() + clusters["largest"].get<std::int64_t>();
}

}  // namespace

TEST_CASE("NetCDF's _FillValue and missing_value are missing values, and the proposed --nan drop drops them") {
  const Scratch folder;
  std::vector<float> values = two_groups();
  values[11] = values[40] = -9999.0f;
  const std::vector<double> marks{-1e9, -9999.0};
  const std::int32_t whole = -9999;
  const auto make = [&](const std::string& file, const std::string& type, const std::string& mark) {
    FileMaker maker(file);
    if (type == "float32") maker.floats("t2m", {20, 3}, values);
    if (type == "int16") shorts(maker, "t2m", values);
    if (type == "float64") {
      const std::vector<double> wide(values.begin(), values.end());
      maker.dataset("t2m", H5T_IEEE_F64BE, {20, 3}, H5T_NATIVE_DOUBLE, wide.data(), {.chunk = {7, 2}, .deflate = 4});
    }
    if (mark == "_FillValue") attribute(maker, "t2m", "_FillValue", H5T_NATIVE_INT32, &whole);
    if (mark == "missing_value") attribute(maker, "t2m", "missing_value", H5T_NATIVE_DOUBLE, marks.data(), 2);
  };
  for (const char* type : {"float32", "float64", "int16"}) {
    const std::string file = folder / (std::string(type) + ".nc");
    make(file, type, "");
    CHECK(kept(file) == 20);  // without the attribute, -9999 is a value
    for (const char* mark : {"_FillValue", "missing_value"}) {
      make(file, type, mark);
      refuses(3, {"cluster", file, "-k", "2"},
              {"t2m: row 4, column 3 (counted from 1): expected a value, found -9999, which " + std::string(mark) +
                   " marks as missing",
               "--nan drop"});
      CHECK(kept(file) == 18);
      CHECK(done({"cluster", file, "-k", "2", "--nan", "drop"}).says("2 of 20 rows dropped"));
      CHECK(done({"cluster", file, "-k", "2", "--nan", "mean"}).says("2 missing values were replaced by the mean"));
    }
  }
}

TEST_CASE("scaled values are read as scale_factor and add_offset say") {
  const Scratch folder;
  std::vector<float> values = two_groups(), real;
  for (const float value : values) real.push_back(value * 0.5f - 20.0f);
  const std::string packed = folder / "packed.nc", narrow = folder / "narrow.nc", plain = folder / "plain.h5",
                    same = folder / "same.nc", raw_values = folder / "raw.h5";
  {
    FileMaker a(packed), b(narrow), c(plain), d(same), e(raw_values);
    for (FileMaker* maker : {&a, &b, &d, &e}) shorts(*maker, "x", values);
    attribute(a, "x", "scale_factor", 0.5);
    attribute(a, "x", "add_offset", -20.0);
    attribute(b, "x", "scale_factor", 0.5f);
    attribute(b, "x", "add_offset", -20.0f);
    c.floats("x", {20, 3}, real);
    attribute(d, "x", "scale_factor", 1.0);
    attribute(d, "x", "add_offset", 0.0);
  }
  CHECK(clustered(packed)["inertia"] == clustered(plain)["inertia"]);
  CHECK(clustered(narrow)["inertia"] == clustered(plain)["inertia"]);
  CHECK(done({"cluster", packed, "-k", "2"}).says("each value is the stored number x 0.5 - 20"));
  // A scale of 1 changes nothing, and says nothing.
  CHECK_FALSE(done({"cluster", same, "-k", "2"}).says("stored number"));
  CHECK(labels_of(same) == labels_of(raw_values));
  CHECK(clustered(same)["points"]["type"] == "int16");

  const std::string wrong = folder / "wrong.nc";
  {
    FileMaker maker(wrong);
    shorts(maker, "x", values);
    attribute(maker, "x", "scale_factor", "ten");
  }
  refuses(3, {"cluster", wrong, "-k", "2"}, {"expected a number in its attribute scale_factor, found 'ten'"});
}

TEST_CASE("packed values may be missing, unsigned and limited") {
  const Scratch folder;
  const std::string file = folder / "u.nc";
  std::vector<std::int8_t> bytes(20, 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::int8_t>(i < 10 ? i : 190 + i);
  bytes[3] = -1;  // 255 without a sign
  {
    FileMaker maker(file);
    maker.dataset("x", H5T_STD_I8LE, {20, 1}, H5T_NATIVE_INT8, bytes.data());
    attribute(maker, "x", "_Unsigned", "true");
    const std::int8_t fill = -1;
    attribute(maker, "x", "_FillValue", H5T_NATIVE_INT8, &fill);
    attribute(maker, "x", "scale_factor", 2.0);
    const std::int16_t range[] = {0, 208};
    attribute(maker, "x", "valid_range", H5T_NATIVE_INT16, range, 2);
  }
  refuses(3, {"cluster", file, "-k", "2"},
          {"row 4, column 1 (counted from 1): expected a value, found 255, which "
           "_FillValue marks as missing"});
  CHECK(kept(file) == 18);  // without 255, and 209 beyond the range
  // The values are 0, 2 ... 18 but 6, and 400, 402 ... 416.
  const double low = 0 + 4 + 16 + 64 + 100 + 144 + 196 + 256 + 324;
  const double mean = (0 + 2 + 4 + 8 + 10 + 12 + 14 + 16 + 18) / 9.0;
  const double high = 4.0 * (16 + 9 + 4 + 1) * 2;
  CHECK(clustered(file, {"--nan", "drop"})["inertia"].get<double>() == Approx(low - 9 * mean * mean + high));
}

TEST_CASE("the fill value of HDF5 itself is no missing value") {
  const Scratch folder;
  const std::string file = folder / "f.h5";
  const std::vector<float> values = two_groups();
  {
    FileMaker maker(file);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &values[0]);
    maker.made("x", H5T_IEEE_F32LE, {20, 3}, creation, H5T_NATIVE_FLOAT, values.data());
    H5Pclose(creation);
  }
  CHECK(kept(file) == 20);
}

TEST_CASE("R's NA is a missing value, in points and in labels") {
  const Scratch folder;
  const std::string file = folder / "r.h5", cluster = folder / "c.npy";
  constexpr std::int32_t kNA = std::numeric_limits<std::int32_t>::min();
  {
    FileMaker maker(file);
    // A matrix of 6 x 2, which R stores by columns.
    const std::vector<std::int32_t> values{1, 2, kNA, 80, 81, 82, 1, 2, 3, 80, 81, 82}, classes{1, 1, 1, 2, kNA, 2};
    const std::int32_t yes = 1;
    maker.dataset("x", H5T_STD_I32LE, {2, 6}, H5T_NATIVE_INT32, values.data());
    maker.dataset("y", H5T_STD_I32LE, {6}, H5T_NATIVE_INT32, classes.data());
    for (const char* name : {"x", "y"}) attribute(maker, name, "rhdf5-NA.OK", H5T_NATIVE_INT32, &yes, 1);
  }
  refuses(3, {"cluster", file + ":/x", "-k", "2"},
          {"expected a value, found -2147483648, which R (NA) marks as missing"});
  CHECK(kept(file + ":/x") == 5);
  done({"cluster", file + ":/x", "-k", "2", "--nan", "mean", "-q", "-o", cluster});
  const Outcome compared = done({"evaluate", cluster, "--truth", file + ":/y"});
  CHECK(compared.says("y: 1 of 6 rows have no label; the scores ignore them"));
}

TEST_CASE("cells are the points of Loom, h5Seurat and 10x files, which store genes x cells") {
  const Scratch folder;
  const std::string loom = folder / "a.loom", seurat = folder / "a.h5Seurat", tenx = folder / "a.h5",
                    plain = folder / "plain.h5";
  const std::vector<float> cells{0, 0, 5, 1, 0, 5, 9, 9, 5, 9, 8, 5};  // 4 cells x 3 genes
  const std::vector<float> genes{0, 1, 9, 9, 0, 0, 9, 8, 5, 5, 5, 5};
  const std::vector<std::int32_t> indices{2, 0, 2, 0, 1, 2, 0, 1, 2}, starts{0, 1, 3, 6, 9};
  const std::vector<float> stored{5, 1, 5, 9, 9, 5, 9, 8, 5};
  const auto sparse = [&](FileMaker& maker, const std::string& group) {
    maker.floats(group + "/data", {9}, stored);
    maker.dataset(group + "/indices", H5T_STD_I32LE, {9}, H5T_NATIVE_INT32, indices.data());
    maker.dataset(group + "/indptr", H5T_STD_I32LE, {5}, H5T_NATIVE_INT32, starts.data());
  };
  {
    FileMaker a(loom), b(seurat), c(tenx), d(plain);
    for (const char* group : {"row_attrs", "col_attrs", "layers"}) a.group(group);
    attribute(a, "/", "LOOM_SPEC_VERSION", "3.0.0");
    a.floats("matrix", {3, 4}, genes, {.chunk = {2, 2}, .deflate = 4});
    a.floats("layers/spliced", {3, 4}, genes);
    for (const char* group : {"assays", "assays/RNA", "assays/RNA/counts", "reductions", "reductions/pca"})
      b.group(group);
    sparse(b, "assays/RNA/counts");
    const std::int32_t dims[] = {3, 4};
    attribute(b, "assays/RNA/counts", "dims", H5T_NATIVE_INT32, dims, 2);
    texts(b, "cell.names", {"a", "b", "c", "d"});
    b.floats("reductions/pca/cell.embeddings", {3, 4}, genes);
    c.group("matrix");
    sparse(c, "matrix");
    c.dataset("matrix/shape", H5T_STD_I32LE, {2}, H5T_NATIVE_INT32, dims);
    c.group("matrix/features");
    texts(c, "matrix/features/feature_type", {"Gene Expression", "Gene Expression", "Antibody Capture"});
    d.floats("x", {4, 3}, cells);
  }
  const std::string expected = labels_of(plain);
  const nlohmann::json inertia = clustered(plain)["inertia"];
  for (const std::string& location : {loom + ":/matrix", loom + ":/layers/spliced", seurat + ":/assays/RNA/counts",
                                      seurat + ":/reductions/pca/cell.embeddings", tenx}) {
    INFO(location);
    CHECK(labels_of(location) == expected);
    CHECK(clustered(location)["inertia"] == inertia);
  }
  CHECK(done({"cluster", loom + ":/matrix", "-k", "2"}).says("the points are its 4 columns, the cells"));
  CHECK(labels_of(loom + ":/matrix", {"--transpose"}) == expected);
  const Outcome mixed = done({"cluster", tenx, "-k", "2"});
  CHECK(mixed.says("Gene Expression: columns 1-2, Antibody Capture: columns 3"));
  CHECK(mixed.says("to read Gene Expression alone: --columns 1-2"));
  CHECK(clustered(tenx, {"--columns", "1-2"})["points"]["columns"] == 2);
}

TEST_CASE("the metric that a file names applies unless --metric is given") {
  const Scratch folder;
  const auto make = [&](const std::string& name, const char* distance) {
    FileMaker maker(folder / name);
    maker.floats("train", {4, 2}, {1, 0, 9, 1, 0, 1, 1, 1});
    maker.floats("test", {1, 2}, {5, 5});
    const std::vector<std::int32_t> nearest{3, 0};
    maker.dataset("neighbors", H5T_STD_I32LE, {1, 2}, H5T_NATIVE_INT32, nearest.data());
    if (distance != nullptr) attribute(maker, "/", "distance", distance);
    return folder / name;
  };
  const std::string angular = make("angular.hdf5", "angular"), euclidean = make("euclidean.hdf5", "euclidean"),
                    plain = make("plain.hdf5", nullptr), hamming = make("hamming.hdf5", "hamming"),
                    dot = make("dot.hdf5", "dot"), other = make("other.hdf5", "5 m");
  const auto search = [](const std::string& file, Words more = {}) {
    Words words{"knn", file + ":/train", "--queries", file + ":/test", "-k", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Outcome found = done(search(angular, {"--truth", angular, "-o", folder / "a.h5"}));
  CHECK(found.says("metric     cosine, as the attribute distance (angular) of"));
  CHECK(found.out.find("all 1 lists of 1 neighbours equal") == 0);
  CHECK(done({"info", folder / "a.h5"}).out.find("--metric cosine") != std::string::npos);
  done(search(angular, {"--metric", "cosine", "-q", "-o", folder / "b.h5"}));
  CHECK(bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5"));
  // Given, Euclidean distances count; the truth is by another metric, which is said.
  const Outcome given = run_kith(search(angular, {"--metric", "euclidean", "--truth", angular}));
  CHECK_FALSE(given.says("metric     "));
  CHECK(given.says("its lists are by angular"));
  CHECK(given.says("give --metric cosine"));
  CHECK(done(search(plain, {"--metric", "cosine", "--truth", angular})).err.find("its lists are by") ==
        std::string::npos);

  // A file of Euclidean distances, or with another attribute of this name, gives what it gave before.
  for (const std::string& file : {euclidean, other, plain}) {
    const Outcome quiet = done(search(file, {"-f", "-o", file + ".csv"}));
    CHECK_FALSE(quiet.says("metric     "));
    CHECK(bytes_of(file + ".csv") == bytes_of(euclidean + ".csv"));
  }
  CHECK(done(search(dot)).says("metric     inner-product"));
  refuses(
      2, search(hamming),
      {"hamming.hdf5:/train: its attribute distance is hamming, which kith does not support", "--metric manhattan"});
  done(search(hamming, {"--metric", "manhattan"}));
  refuses(2, {"cluster", dot + ":/train", "-k", "2"},
          {"its attribute distance is dot, but --metric inner-product: k-means supports euclidean and cosine",
           "--metric euclidean"});
  done({"cluster", dot + ":/train", "-k", "2", "--metric", "euclidean"});
  CHECK(done({"cluster", angular + ":/train", "-k", "2"}).says("metric     cosine"));
  CHECK(done({"plan", "cluster", angular + ":/train", "-k", "2"}).says("metric     cosine"));
  refuses(2, {"knn", angular + ":/train", "--queries", dot + ":/test", "-k", "1"},
          {"expected points whose attribute distance is angular", "--metric cosine or --metric inner-product"});
}

TEST_CASE("AnnData's nullable columns and older layouts are labels with gaps") {
  const Scratch folder;
  const std::string cells = folder / "cells.h5ad", labels = folder / "l.csv";
  {
    FileMaker maker(cells);
    maker.group("obs");
    const std::vector<std::int64_t> numbers{7, 1, 7, 9};
    const std::vector<std::uint8_t> hidden{0, 1, 0, 0};
    const std::vector<std::int8_t> codes{0, -1, 0, 1};
    encoded(maker, "obs/integer", "nullable-integer");
    maker.dataset("obs/integer/values", H5T_STD_I64LE, {4}, H5T_NATIVE_INT64, numbers.data());
    maker.dataset("obs/integer/mask", H5T_STD_U8LE, {4}, H5T_NATIVE_UINT8, hidden.data());
    encoded(maker, "obs/text", "nullable-string-array");
    texts(maker, "obs/text/values", {"b", "", "b", "c"});
    maker.dataset("obs/text/mask", H5T_STD_U8LE, {4}, H5T_NATIVE_UINT8, hidden.data());
    maker.group("obs/__categories");  // of version 0.7
    texts(maker, "obs/__categories/older", {"T cell", "B cell"});
    maker.dataset("obs/older", H5T_STD_I8LE, {4}, H5T_NATIVE_INT8, codes.data());
    maker.group("obs/factor");  // of h5Seurat
    const std::vector<std::int32_t> places{1, std::numeric_limits<std::int32_t>::min(), 1, 2};
    maker.dataset("obs/factor/values", H5T_STD_I32LE, {4}, H5T_NATIVE_INT32, places.data());
    texts(maker, "obs/factor/levels", {"x", "y"});
    const std::vector<double> real{1, std::nan(""), 1, 2};
    maker.dataset("obs/real", H5T_IEEE_F64LE, {4}, H5T_NATIVE_DOUBLE, real.data());
    encoded(maker, "obs/awkward", "awkward-array");
    texts(maker, "obs/awkward/parts", {"a"});
  }
  write_bytes(labels, "label\n0\n0\n0\n1\n");
  for (const auto& [column, last] :
       {std::pair{"integer", "7  9"}, std::pair{"text", "b  c"}, std::pair{"older", "T cell  B cell"},
        std::pair{"factor", "x  y"}, std::pair{"real", "1  2"}}) {
    INFO(column);
    const Outcome run = done({"evaluate", labels, "--truth", cells + ":/obs/" + column});
    CHECK(run.says(std::string(column) + ": 1 of 4 rows have no label; the scores ignore them"));
    CHECK(run.out.find(std::string("cluster  ") + last + "\n") != std::string::npos);
    CHECK(run.out.find("adjusted Rand index            1\n") == 0);
    CHECK(done({"evaluate", cells + ":/obs/" + column, "--truth", labels})
              .out.find("adjusted Rand index            1\n") == 0);
  }
  refuses(3, {"evaluate", labels, "--truth", cells + ":/obs/awkward"},
          {"expected labels, one for each row, found a group (awkward-array)"});

  // Version 0.6: obs is a dataset of records, and uns has the names.
  const std::string old = folder / "old.h5ad";
  {
    FileMaker maker(old);
    struct Row {
      std::int8_t kind;
      std::int32_t count;
    };
    const Row rows[] = {{0, 5}, {1, 6}, {0, 7}, {1, 8}};
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Row));
    H5Tinsert(type, "kind", HOFFSET(Row, kind), H5T_NATIVE_INT8);
    H5Tinsert(type, "count", HOFFSET(Row, count), H5T_NATIVE_INT32);
    maker.dataset("obs", type, {4}, type, rows);
    H5Tclose(type);
    maker.group("uns");
    texts(maker, "uns/kind_categories", {"late", "early"});
  }
  CHECK(done({"evaluate", old + ":/obs/kind", "--truth", old + ":/obs/count"})
            .out.ends_with("cluster  5  6  7  8\n   late  1  0  1  0\n  early  0  1  0  1\n"));
}

TEST_CASE("labels beyond 2^53 are names") {
  const Scratch folder;
  const std::string file = folder / "l.h5", plain = folder / "p.csv";
  {
    FileMaker maker(file);
    const std::vector<std::int64_t> far{9007199254740993, 9007199254740992, 9007199254740993, -9007199254740993};
    const std::vector<std::uint64_t> top{18446744073709551615u, 18446744073709551614u, 18446744073709551615u, 3};
    maker.dataset("far", H5T_STD_I64BE, {4}, H5T_NATIVE_INT64, far.data());
    maker.dataset("top", H5T_STD_U64LE, {4, 1}, H5T_NATIVE_UINT64, top.data(), {.chunk = {3, 1}, .deflate = 1});
  }
  write_bytes(plain, "label\n1\n2\n1\n3\n");
  for (const char* name : {"far", "top"}) {
    CHECK(done({"evaluate", file + ":/" + name, "--truth", plain}).out.find("adjusted Rand index            1\n") == 0);
  }
  CHECK(done({"evaluate", plain, "--truth", file + ":/far"}).out.find("-9007199254740993  9007199254740992") !=
        std::string::npos);
  CHECK(
      done({"evaluate", plain, "--truth", file + ":/top"}).out.find("3  18446744073709551614  18446744073709551615") !=
      std::string::npos);
  // As points they would be rounded.
  refuses(3, {"cluster", file + ":/top", "-k", "2"}, {"expected an integer that is exactly a float64"});
}

TEST_CASE("a data frame of AnnData is a table without its index") {
  const Scratch folder;
  const std::string file = folder / "f.h5ad", plain = folder / "plain.h5";
  {
    FileMaker maker(file), other(plain);
    const std::vector<const char*> order{"q", "p", "n", "kind"}, none{};
    for (const char* frame : {"obsm", "obsm/df"}) maker.group(frame);
    attribute(maker, "obsm/df", "encoding-type", "dataframe");
    attribute(maker, "obsm/df", "_index", "_index");
    attribute(maker, "obsm/df", "column-order", VariableText().id(), order.data(), order.size());
    texts(maker, "obsm/df/_index", {"a", "b", "c", "d"});
    maker.floats("obsm/df/p", {4}, {1, 2, 91, 92});
    maker.floats("obsm/df/q", {4}, {5, 5, 6, 6});
    encoded(maker, "obsm/df/n", "nullable-integer");
    const std::vector<std::int32_t> numbers{1, 1, 2, 77};
    const std::vector<std::uint8_t> hidden{0, 0, 0, 1};
    maker.dataset("obsm/df/n/values", H5T_STD_I32LE, {4}, H5T_NATIVE_INT32, numbers.data());
    maker.dataset("obsm/df/n/mask", H5T_STD_U8LE, {4}, H5T_NATIVE_UINT8, hidden.data());
    texts(maker, "obsm/df/kind", {"u", "v", "u", "v"});
    other.floats("x", {4, 2}, {5, 1, 5, 2, 6, 91, 6, 92});
  }
  const std::string frame = file + ":/obsm/df";
  refuses(3, {"cluster", frame, "-k", "2"}, {"column 4 ('kind', text); leave it out with --drop-columns kind"});
  refuses(3, {"cluster", frame, "-k", "2", "--drop-columns", "kind"},
          {"row 4 (counted from 1), column 3 ('n'): expected a value, found a missing one", "--nan drop"});
  CHECK(kept(frame, {"--drop-columns", "kind", "--nan", "drop"}) == 3);
  const nlohmann::json two = clustered(frame, {"--columns", "q,p"});
  CHECK(two["inertia"] == clustered(plain)["inertia"]);
  CHECK(two["points"]["columns"] == 2);
}
