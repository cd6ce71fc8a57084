// What containers say about their numbers: missing values, scales, orientation, metrics, and pandas' index.
#include <cmath>
#include <limits>

#include "tests/support/container_files.h"

using namespace kith::testing;

namespace {

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
  {
    FileMaker maker(wrong);
    shorts(maker, "x", values);
    attribute(maker, "x", "scale_factor", "0.1");  // a text is no float32
  }
  {
    FileMaker maker(same);
    shorts(maker, "x", values);
    attribute(maker, "x", "flag_meanings", "water forest");
  }
  CHECK(done({"cluster", same, "-k", "2"}).says("the values are codes of flags or classes"));
  const auto decisions = clustered(wrong)["decisions"];
  CHECK(std::ranges::any_of(decisions, [](const auto& decision) {
    return decision["subject"] == "precision" && decision["method"] == "f64";
  }));
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

TEST_CASE("NetCDF's default fill values are missing in its files alone, where the dataset is filled with them") {
  const Scratch folder;
  const float fill_float = 9.9692099683868690e+36f;
  const std::int16_t fill_short = -32767;
  const auto make = [&](const std::string& name, bool netcdf, bool filled, bool own) {
    const std::string file = folder / name;
    FileMaker maker(file);
    std::vector<float> values = two_groups();
    std::vector<std::int16_t> whole(values.begin(), values.end());
    values[11] = values[40] = fill_float;
    whole[11] = fill_short;
    const hsize_t shape[] = {20, 3};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    const auto write = [&](const char* dataset, hid_t type, const void* fill, const void* data) {
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      if (filled) H5Pset_fill_value(creation, type, fill);
      const hid_t id = H5Dcreate2(maker.id(), dataset, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
      REQUIRE(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
      H5Dclose(id);
      H5Pclose(creation);
    };
    write("t", H5T_NATIVE_FLOAT, &fill_float, values.data());
    write("s", H5T_NATIVE_INT16, &fill_short, whole.data());
    H5Sclose(space);
    if (netcdf) attribute(maker, "/", "_NCProperties", "version=2,netcdf=4.9.2,hdf5=1.14.2");
    if (own) attribute(maker, "t", "_FillValue", -1.0f);
    return file;
  };
  const std::string file = make("a.nc", true, true, false);
  refuses(3, {"cluster", file + ":t", "-k", "2"},
          {"row 4, column 3 (counted from 1)", "which NetCDF's default fill value marks as missing", "--nan drop"});
  refuses(3, {"cluster", file + ":s", "-k", "2"}, {"found -32767, which NetCDF's default fill value"});
  CHECK(kept(file + ":t") == 18);
  CHECK(kept(file + ":s") == 19);
  CHECK(kept(make("own.nc", true, true, true) + ":t") == 20);
  CHECK(kept(make("unfilled.nc", true, false, false) + ":t") == 20);
  CHECK(kept(make("plain.h5", false, true, false) + ":s") == 20);
}

TEST_CASE("features of several kinds beside a matrix of AnnData are named, with the columns of one kind") {
  const Scratch folder;
  const std::vector<float> values{1, 0, 2, 0, 3, 1, 5, 0, 0, 4, 4, 1};
  for (const std::string form : {"texts", "categories", "layer"}) {
    const std::string file = folder / (form + ".h5ad"), matrix = form == "layer" ? "layers/raw" : "X";
    {
      FileMaker maker(file);
      for (const char* group : {"layers", "var"}) maker.group(group);
      maker.floats(matrix, {4, 3}, values);
      if (form == "categories") {
        encoded(maker, "var/feature_types", "categorical");
        texts(maker, "var/feature_types/categories", {"Antibody Capture", "Gene Expression"});
        const std::vector<std::int8_t> codes{1, 1, 0};
        maker.dataset("var/feature_types/codes", H5T_STD_I8LE, {3}, H5T_NATIVE_INT8, codes.data());
      } else {
        texts(maker, "var/feature_types", {"Gene Expression", "Gene Expression", "Antibody Capture"});
      }
    }
    const Outcome mixed = done({"cluster", file + ":" + matrix, "-k", "2"});
    CHECK(mixed.says("Gene Expression: columns 1-2, Antibody Capture: columns 3"));
    CHECK(mixed.says("to read Gene Expression alone: --columns 1-2"));
    CHECK(clustered(file + ":" + matrix, {"--columns", "1-2"})["points"]["columns"] == 2);
  }
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
  refuses(3, {"cluster", loom, "-k", "2"}, {"name one, as in " + loom + ":/matrix"});
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
  CHECK(found.says("metric     cosine, as angular.hdf5 says (distance angular)"));
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
      3, search(hamming),
      {"hamming.hdf5:/train: row 2, column 1 (counted from 1): expected a bit, 0 or 1, found 9", "--metric manhattan"});
  done(search(hamming, {"--metric", "manhattan"}));
  refuses(
      2, {"cluster", dot + ":/train", "-k", "2"},
      {"its attribute distance is dot, but --metric inner-product: k-means supports euclidean, cosine and correlation",
       "--metric euclidean"});
  done({"cluster", dot + ":/train", "-k", "2", "--metric", "euclidean"});
  CHECK(done({"cluster", angular + ":/train", "-k", "2"}).says("metric     cosine"));
  CHECK(done({"plan", "cluster", angular + ":/train", "-k", "2"}).says("metric     cosine"));
  refuses(2, {"knn", angular + ":/train", "--queries", dot + ":/test", "-k", "1"},
          {"expected points whose attribute distance is angular", "--metric cosine or --metric inner-product"});
}

TEST_CASE("pandas' index in a table of HDFStore is no column of the points") {
  const Scratch folder;
  const std::string file = folder / "t.h5", plain = folder / "p.h5";
  struct Row {
    std::int64_t index;
    double values[2];
    std::int32_t count;
  };
  const Row rows[] = {{1000, {1, 2}, 3}, {2000, {1, 3}, 3}, {9000, {50, 2}, 4}, {9999, {50, 3}, 4}};
  {
    FileMaker maker(file), other(plain);
    const hsize_t two = 2;
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Row)), pair = H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &two);
    H5Tinsert(type, "index", HOFFSET(Row, index), H5T_NATIVE_INT64);
    H5Tinsert(type, "values_block_0", HOFFSET(Row, values), pair);
    H5Tinsert(type, "count", HOFFSET(Row, count), H5T_NATIVE_INT32);
    for (const char* group : {"df", "mine"}) {
      maker.group(group);
      maker.dataset(std::string(group) + "/table", type, {4}, type, rows);
    }
    attribute(maker, "df", "pandas_type", "frame_table");
    H5Tclose(pair);
    H5Tclose(type);
    other.floats("x", {4, 3}, {1, 2, 3, 1, 3, 3, 50, 2, 4, 50, 3, 4});
  }
  const std::string table = file + ":/df/table";
  const Outcome left_out = done({"cluster", table, "-k", "2"});
  CHECK(left_out.says("the column 'index' is pandas' index of the rows and no part of the points"));
  CHECK(clustered(table)["points"]["columns"] == 3);
  CHECK(clustered(table)["inertia"] == clustered(plain)["inertia"]);
  CHECK(labels_of(table, {"--drop-columns", "index"}) == labels_of(table));
  CHECK_FALSE(clustered(table, {"--columns", "index,count"})["points"]["columns"] == 1);
  CHECK(clustered(file + ":/mine/table")["points"]["columns"] == 4);  // no sign of pandas
}

TEST_CASE("a frame of pandas in blocks of one type has its columns, in its order, with their names") {
  const Scratch folder;
  const std::string file = folder / "t.h5", table = folder / "t.csv", text = folder / "text.h5";
  const auto make = [](FileMaker& maker, const char* kind) {
    maker.group("df");
    attribute(maker, "df", "pandas_type", "frame");
    texts(maker, "df/axis0", {"a", "b", "c", "d"});
    attribute(maker, "df/axis0", "kind", "string");
    maker.floats("df/block0_values", {4, 2}, {0.5F, 8, NAN, 9, 2.5F, 60, 3.5F, 70});
    texts(maker, "df/block0_items", {"a", "c"});
    const std::int64_t whole[] = {1, 2, 30, 40}, days[] = {5, 6, 7, 8};
    maker.dataset("df/block1_values", H5T_NATIVE_INT64, {4, 1}, H5T_NATIVE_INT64, whole);
    texts(maker, "df/block1_items", {"b"});
    maker.dataset("df/block2_values", H5T_NATIVE_INT64, {4, 1}, H5T_NATIVE_INT64, days);
    texts(maker, "df/block2_items", {"d"});
    if (*kind != '\0') attribute(maker, "df/block2_values", "value_type", kind);
    for (const char* block : {"df/block0_values", "df/block1_values", "df/block2_values"})
      attribute(maker, block, "transposed", 1.0);
  };
  {
    FileMaker numbers(file), dates(text);
    make(numbers, "");
    make(dates, "datetime64[ns]");
  }
  write_bytes(table, "a,b,c,d\n0.5,1,8,5\n,2,9,6\n2.5,30,60,7\n3.5,40,70,8\n");
  for (const Words& more : {Words{"--columns", "d,b"}, Words{"--nan", "drop"}, Words{"--nan", "mean"}}) {
    CHECK(labels_of(file, more) == labels_of(table, more));
    CHECK(clustered(file + ":/df", more)["inertia"] == clustered(table, more)["inertia"]);
  }
  refuses(3, {"cluster", file, "-k", "2"}, {"t.h5:/df: row 2, column 1 (counted from 1)", "found NaN"});
  refuses(3, {"cluster", text, "-k", "2"}, {"column 4 ('d', datetime64[ns])", "--drop-columns d"});
  CHECK(labels_of(text, {"--drop-columns", "a,d"}) == labels_of(table, {"--columns", "b,c"}));
  const std::string model = folder / "m.h5", other = folder / "o.csv", two = folder / "two.h5";
  {
    FileMaker maker(two);
    make(maker, "");
    maker.floats("x", {2, 2}, {1, 2, 3, 4});
  }
  refuses(3, {"cluster", two, "-k", "2"}, {"found several; name one, as in " + two + ":/df"});
  CHECK(labels_of(two + ":/df", {"--columns", "d,b"}) == labels_of(file, {"--columns", "d,b"}));
  done({"cluster", file, "-k", "2", "--columns", "b,c", "-o", model, "-q"});
  write_bytes(other, "c,b\n8,1\n9,2\n60,30\n70,40\n");
  CHECK(done({"assign", other, "--centroids", model, "-o", "-", "-q"}).out == labels_of(table, {"--columns", "b,c"}));
}

TEST_CASE("a result of kith as --truth names its metric") {
  const Scratch folder;
  const std::string truth = folder / "n.h5";
  done({"knn", kDigits, "-k", "3", "--metric", "cosine", "-q", "-o", truth});
  const Outcome other = run_kith({"knn", kDigits, "-k", "3", "--truth", truth});
  CHECK(other.code == 1);
  CHECK(other.says("its lists are by cosine, as the file says; this run is by euclidean"));
  CHECK_FALSE(done({"knn", kDigits, "-k", "3", "--truth", truth, "--metric", "cosine"}).says("its lists are by"));
}

TEST_CASE("columns of AnnData, 10x, Loom and NetCDF are matched by their names, wherever they stand") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::vector<std::vector<float>> columns{{0, 1, 90, 91}, {5, 6, 5, 6}, {700, 100, 300, 200}};
  const std::vector<const char*> names{"g1", "g2", "g3"};
  const auto make = [&](const std::string& file, const std::string& kind, const std::vector<std::size_t>& order) {
    FileMaker maker(folder / file);
    std::vector<float> rows, across;
    std::vector<const char*> shown;
    for (std::size_t i = 0; i < 4; ++i) {
      for (const std::size_t j : order) rows.push_back(columns[j][i]);
    }
    for (const std::size_t j : order) {
      across.insert(across.end(), columns[j].begin(), columns[j].end());
      shown.push_back(names[j]);
    }
    if (kind == "h5ad") {
      maker.floats("X", {4, 3}, rows);
      encoded(maker, "var", "dataframe");
      attribute(maker, "var", "_index", "gene");
      texts(maker, "var/gene", shown);
    } else if (kind == "loom") {
      for (const char* group : {"row_attrs", "col_attrs"}) maker.group(group);
      maker.floats("matrix", {3, 4}, across);
      texts(maker, "row_attrs/Gene", shown);
    } else {
      maker.floats("x", {4, 3}, rows);
      texts(maker, "station", shown);
      const std::vector<float> none(4);
      maker.made("time", H5T_IEEE_F32BE, {4}, H5P_DEFAULT);
      attribute(maker, "time", "NAME", "This is a netCDF dimension but not a netCDF variable.         4");
      const hid_t dataset = H5Dopen2(maker.id(), "x", H5P_DEFAULT), type = H5Tvlen_create(H5T_STD_REF_OBJ);
      hobj_ref_t places[2];
      H5Rcreate(&places[0], maker.id(), "time", H5R_OBJECT, -1);
      H5Rcreate(&places[1], maker.id(), "station", H5R_OBJECT, -1);
      const hvl_t lists[] = {{1, &places[0]}, {1, &places[1]}};
      attribute(maker, "x", "DIMENSION_LIST", type, lists, 2);
      H5Tclose(type);
      H5Dclose(dataset);
    }
  };
  for (const std::string kind : {"h5ad", "loom", "nc"}) {
    CAPTURE(kind);
    make("a." + kind, kind, {0, 1, 2});
    make("turned." + kind, kind, {2, 0, 1});
    const std::string dataset = kind == "loom" ? ":/matrix" : kind == "nc" ? ":/x" : ":/X";
    done({"cluster", "a." + kind + dataset, "-k", "2", "-f", "-o", "m.h5"}, there);
    const auto labels = [&](const std::string& file) {
      return done({"assign", file + kind + dataset, "--centroids", "m.h5", "-o", "-"}, there).out;
    };
    CHECK(labels("turned.") == labels("a."));
    CHECK(done({"knn", "a." + kind + dataset, "--queries", "turned." + kind + dataset, "-k", "1", "-q"}, there).out ==
          "0\t0\t0\n1\t1\t0\n2\t2\t0\n3\t3\t0\n");
    CHECK(clustered(folder / ("turned." + kind + dataset), {"--columns", "g1"})["inertia"] == 1.0);
    refuses(2, {"cluster", "a." + kind + dataset, "-k", "2", "--columns", "g4"}, {"g1, g2, g3"}, there);
  }
  const Outcome listed = done({"info", "a.nc", "--stats"}, there);
  CHECK(listed.out.find("create it again") == std::string::npos);
  CHECK((listed.out + listed.err).find("is a dimension of NetCDF without coordinates") != std::string::npos);
}

TEST_CASE("a matrix that Octave saved has the rows of Octave") {
  const Scratch folder;
  const std::string octave = folder / "octave.h5", plain = folder / "plain.h5";
  const std::vector<float> rows{0, 5, 9, 1, 5, 8, 90, 6, 1, 91, 6, 0}, by_columns{0, 1, 90, 91, 5, 5, 6, 6, 9, 8, 1, 0};
  {
    FileMaker a(octave), b(plain);
    a.group("X");
    const std::int8_t one = 1;
    attribute(a, "X", "OCTAVE_NEW_FORMAT", H5T_NATIVE_INT8, &one);
    texts(a, "X/type", {"matrix"});
    a.floats("X/value", {3, 4}, by_columns);
    b.floats("X", {4, 3}, rows);
  }
  CHECK(labels_of(octave) == labels_of(plain));
  CHECK(clustered(octave)["points"]["columns"] == 3);
}

TEST_CASE("matrices that are proposed are those that users mean") {
  const Scratch folder;
  const std::string two = folder / "two.h5", lone = folder / "lone.h5";
  const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t no = 0, yes = 1, values[] = {0, 1, 1, 1, 0, 0, 1, 0};
  H5Tenum_insert(boolean, "FALSE", &no);
  H5Tenum_insert(boolean, "TRUE", &yes);
  {
    FileMaker a(two), b(lone), c(folder / "empty.h5"), d(folder / "split.h5");
    a.dataset("L", boolean, {4, 2}, boolean, values);
    a.floats("M", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    a.floats("X", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    b.dataset("x", boolean, {4, 2}, boolean, values);
    c.floats("empty", {4, 0}, {});
    c.floats("k", {1, 1}, {3});
    d.floats("X_test", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    d.floats("X_train", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    c.floats("x", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  }
  H5Tclose(boolean);
  refuses(3, {"cluster", two, "-k", "2"}, {"name one, as in " + two + ":/X"});
  refuses(3, {"cluster", lone, "-k", "2"}, {"to read truth values as 0 and 1, name them, " + lone + ":/x"});
  CHECK(clustered(lone + ":/x")["points"]["columns"] == 2);
  CHECK(clustered(folder / "empty.h5")["points"]["columns"] == 2);
  refuses(3, {"cluster", folder / "split.h5", "-k", "2"}, {"split.h5:/X_train"});
}
