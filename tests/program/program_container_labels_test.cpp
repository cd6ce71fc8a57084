// Labels with gaps, and tables, in the layouts of AnnData, h5Seurat, R and pandas.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/container_files.h"

using namespace kith::testing;

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
  // The same labels in an array of NumPy, of either byte order.
  for (const char order : {'<', '>'}) {
    std::string header = std::string("{'descr': '") + order + "i8', 'fortran_order': False, 'shape': (4,), }";
    header.resize(117, ' ');
    std::string array = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n';
    for (const std::int64_t label : {9007199254740993, 9007199254740992, 9007199254740993, -9007199254740993}) {
      std::string bytes(reinterpret_cast<const char*>(&label), sizeof label);
      if (order == '>') std::reverse(bytes.begin(), bytes.end());
      array += bytes;
    }
    write_bytes(folder / "l.npy", array);
    CHECK(done({"evaluate", folder / "l.npy", "--truth", file + ":/far"})
              .out.find("adjusted Rand index            1\n") == 0);
  }
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

TEST_CASE("a field of records is a matrix, as AnnData 0.6 stores obsm, and a sparse matrix is listed by its name") {
  const Scratch folder;
  const std::string file = folder / "old.h5ad", plain = folder / "p.h5";
  struct Row {
    float pca[2];
    double umap[3];
  };
  const Row rows[] = {{{1, 2}, {0, 0, 9}}, {{1, 3}, {0, 1, 9}}, {{50, 2}, {7, 0, 9}}, {{50, 3}, {7, 1, 9}}};
  {
    FileMaker maker(file), other(plain);
    const hsize_t two = 2, three = 3;
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Row)), pca = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &two),
                umap = H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &three);
    H5Tinsert(type, "X_pca", HOFFSET(Row, pca), pca);
    H5Tinsert(type, "X_umap", HOFFSET(Row, umap), umap);
    maker.dataset("obsm", type, {4}, type, rows);
    for (const hid_t id : {umap, pca, type}) H5Tclose(id);
    encoded(maker, "X", "csr_matrix");
    const std::int64_t shape[] = {4, 2};
    attribute(maker, "X", "shape", H5T_NATIVE_INT64, shape, 2);
    const std::vector<std::int32_t> starts{0, 1, 2, 3, 4}, indices{0, 1, 0, 1};
    maker.floats("X/data", {4}, {1, 2, 3, 4});
    maker.dataset("X/indices", H5T_STD_I32LE, {4}, H5T_NATIVE_INT32, indices.data());
    maker.dataset("X/indptr", H5T_STD_I32LE, {5}, H5T_NATIVE_INT32, starts.data());
    other.floats("x", {4, 2}, {1, 2, 1, 3, 50, 2, 50, 3});
  }
  const nlohmann::json run = clustered(file + ":/obsm/X_pca");
  CHECK(run["inertia"] == clustered(plain)["inertia"]);
  CHECK(run["points"]["columns"] == 2);
  CHECK(run["points"]["name"] == file + ":/obsm/X_pca");
  CHECK(clustered(file + ":/obsm/X_umap", {"--columns", "1,3"})["points"]["columns"] == 2);
  CHECK(done({"info", file + ":/X"}).out.find("/X  ") != std::string::npos);
}

TEST_CASE("R's booleans and texts may be NA") {
  const Scratch folder;
  const std::string file = folder / "r.h5", labels = folder / "l.csv";
  const std::int32_t yes = 1;
  {
    FileMaker maker(file);
    const hid_t logical = H5Tenum_create(H5T_NATIVE_UINT8);
    for (const auto& [name, value] : {std::pair<const char*, std::uint8_t>{"FALSE", 0}, {"TRUE", 1}, {"NA", 2}})
      H5Tenum_insert(logical, name, &value);
    const std::vector<std::uint8_t> values{0, 0, 2, 1};  // of hdf5r
    maker.dataset("enum", logical, {4}, logical, values.data());
    H5Tclose(logical);
    const std::vector<std::int8_t> bytes{0, 0, -128, 1};  // of rhdf5
    maker.dataset("logical", H5T_STD_I8LE, {4}, H5T_NATIVE_INT8, bytes.data());
    attribute(maker, "logical", "storage.mode", "logical");
    texts(maker, "text", {"a", "a", "NA", "b"});
    texts(maker, "country", {"DE", "DE", "NA", "FR"});  // not of R: Namibia
    for (const char* name : {"logical", "text"}) attribute(maker, name, "rhdf5-NA.OK", H5T_NATIVE_INT32, &yes, 1);
  }
  write_bytes(labels, "label\n0\n0\n0\n1\n");
  for (const char* name : {"enum", "logical", "text"}) {
    const Outcome run = done({"evaluate", labels, "--truth", file + ":/" + name});
    CHECK(run.says("1 of 4 rows have no label"));
    CHECK(run.out.find("adjusted Rand index            1\n") == 0);
  }
  CHECK(done({"evaluate", labels, "--truth", file + ":/country"}).out.find("cluster  DE  FR  NA\n") !=
        std::string::npos);
}

TEST_CASE("lists of different lengths, empty labels and classic netCDF are refused by name") {
  const Scratch folder;
  const std::string file = folder / "v.h5", classic = folder / "c.nc";
  {
    FileMaker maker(file);
    maker.floats("x", {3, 2}, {1, 2, 3, 4, 5, 6});
    std::int32_t rows[] = {1, 2, 0};
    const hvl_t lists[] = {{2, rows}, {0, nullptr}, {1, rows + 2}};
    const hid_t type = H5Tvlen_create(H5T_NATIVE_INT32);
    maker.dataset("neighbors", type, {3}, type, lists);
    maker.dataset("none", type, {0}, type, nullptr);
    H5Tclose(type);
    const VariableText text;
    maker.dataset("texts", text.id(), {0}, text.id(), nullptr);
    maker.dataset("labels", H5T_STD_I32LE, {0}, H5T_NATIVE_INT32, nullptr);
  }
  for (const char* name : {"neighbors", "none"}) {
    refuses(
        3, {"knn", file + ":/x", "-k", "1", "--truth", file + ":/" + name},
        {std::string("v.h5:/") + name + ": expected numbers in rows of one length, found lists of different lengths"});
  }
  refuses(3, {"evaluate", file + ":/texts", "--truth", file + ":/texts"}, {"v.h5:/texts: expected labels, found none"});
  refuses(3, {"evaluate", file, "--truth", file}, {"v.h5:/labels: expected at least 1 row, found none"});
  write_bytes(classic, std::string("CDF\1\0\0\0\0", 8) + std::string(100, '\0'));
  refuses(3, {"cluster", classic, "-k", "2"}, {"found a classic netCDF file; convert it: nccopy -k nc4 IN OUT.nc"});
}

TEST_CASE("the values of an enumeration of HDF5 are labels with its names, and no points") {
  const Scratch folder;
  const std::string file = folder / "x.h5", words = folder / "w.csv";
  {
    FileMaker maker(file);
    const hid_t colors = H5Tenum_create(H5T_STD_I16BE);
    std::int16_t value = 0;
    for (const char* name : {"red", "green"}) {
      value = static_cast<std::int16_t>(value + 256);  // 1 and 2 in the other byte order
      H5Tenum_insert(colors, name, &value);
    }
    const std::int16_t values[] = {256, 512, 512, 768};
    maker.dataset("color", colors, {4}, colors, values);
    maker.dataset("both", colors, {2, 2}, colors, values);
    H5Tclose(colors);
  }
  write_bytes(words, "label\nred\ngreen\ngreen\n\"\"\n");
  const auto found = done({"evaluate", file + ":/color", "--truth", words, "--json"}).json()["evaluation"];
  CHECK(found["adjusted_rand_index"] == 1);
  CHECK(found["rows"] == 4);
  CHECK(done({"evaluate", file + ":/color", "--truth", words}).out.find("  green  ") != std::string::npos);
  refuses(3, {"cluster", file + ":/both", "-k", "1"}, {"expected numbers", "found enum"});
}

TEST_CASE("a table of pandas in blocks has the columns of the frame, in its order, with their names") {
  const Scratch folder;
  const std::string file = folder / "t.h5", plain = folder / "p.csv";
  struct Row {
    char index[2];
    double values[2];
    std::int64_t whole[2];
    bool flag;
    char text[2][2];
  };
  const Row rows[] = {{"p", {1.5, 2}, {3, 1}, true, {"x", "y"}},
                      {"q", {1, 3}, {3, 2}, false, {"x", "y"}},
                      {"r", {50, NAN}, {4, 3}, true, {"x", "y"}},
                      {"s", {51, 3}, {4, 4}, true, {"x", "y"}}};
  const auto make = [&](const std::string& name, bool has_texts, const char* levels, const char* doubles) {
    FileMaker maker(name);
    const hsize_t two = 2;
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Row)), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 2);
    H5Tinsert(type, "index", HOFFSET(Row, index), text);
    H5Tinsert(type, "values_block_0", HOFFSET(Row, values), H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &two));
    H5Tinsert(type, "values_block_1", HOFFSET(Row, whole), H5Tarray_create2(H5T_NATIVE_INT64, 1, &two));
    H5Tinsert(type, "values_block_2", HOFFSET(Row, flag), H5T_NATIVE_UINT8);
    if (has_texts) H5Tinsert(type, "values_block_3", HOFFSET(Row, text), H5Tarray_create2(text, 1, &two));
    maker.group("df");
    maker.dataset("df/table", type, {4}, type, rows);
    attribute(maker, "df", "pandas_type", "frame_table");
    attribute(maker, "df", "levels", levels);
    attribute(maker, "df", "non_index_axes",
              "(lp0\n(I1\n(lp1\nVa\np2\naVb\np3\naVgr\xf6\\u00dfe\np4\naI2020\naVflag\np5\naVs\np6\naVt\np7\natp8\na.");
    attribute(maker, "df/table", "values_block_0_kind", doubles);
    attribute(maker, "df/table", "values_block_1_kind", "(lp0\nVb\np1\naI2020\na.");
    attribute(maker, "df/table", "values_block_2_kind", "(lp0\nVflag\np1\na.");
    attribute(maker, "df/table", "values_block_3_kind", "(lp0\nVs\np1\naVt\np2\na.");
  };
  const char *const doubles = "(lp0\nVgr\xf6\\u00dfe\np1\naVa\np2\na.", *const none = "(lp0\n.";
  make(file, false, none, doubles);
  write_bytes(plain, "a,b,größe,2020,flag\n2,3,1.5,1,1\n3,3,1,2,0\n,4,50,3,1\n3,4,51,4,1\n");
  for (const Words& more : {Words{"--nan", "mean"}, Words{"--drop-columns", "a"}, Words{"--columns", "größe,b,flag"}}) {
    CHECK(labels_of(file, more) == labels_of(plain, more));
    CHECK(clustered(file, more)["inertia"] == clustered(plain, more)["inertia"]);
  }
  CHECK(unwrapped(done({"info", file}).out)
            .find("index (string), a (float64), b (int64), größe (float64), 2020 (int64), flag") != std::string::npos);
  refuses(3, {"cluster", file, "-k", "2"}, {"row 3, column ", "found NaN"});
  make(file, true, none, doubles);
  refuses(3, {"cluster", file, "-k", "2"},
          {"('s', string), ", "('t', string); leave them out with --drop-columns s,t"});
  CHECK(labels_of(file, {"--drop-columns", "s,t,a"}) == labels_of(plain, {"--drop-columns", "a"}));
  make(file, false, "(lp0\nVa\np1\naI2020\na.", doubles);  // an index of two columns
  CHECK(done({"cluster", file, "-k", "2"}).says("the columns 'index' and 'a' and '2020' are pandas' index"));
  CHECK(labels_of(file) == labels_of(plain, {"--columns", "b,größe,flag"}));
  CHECK(labels_of(file + ":/df") == labels_of(file));
  make(file, false, none, "(lp0\ncnumpy.core\nx\na.");  // names that are no texts
  refuses(3, {"cluster", file, "-k", "2"}, {"found a frame of pandas, whose columns are in a table; convert it"});
}

TEST_CASE("categories and dates in a table of pandas are no numbers, but labels") {
  const Scratch folder;
  const std::string file = folder / "t.h5", table = file + ":/df/table";
  struct Row {
    std::int64_t index, day;
    double value;
    std::int8_t group;
  };
  const Row rows[] = {{0, 7, 1, 0}, {1, 9, 2, 1}, {2, 9, 50, 1}};
  {
    FileMaker maker(file);
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Row));
    H5Tinsert(type, "index", HOFFSET(Row, index), H5T_NATIVE_INT64);
    H5Tinsert(type, "day", HOFFSET(Row, day), H5T_NATIVE_INT64);
    H5Tinsert(type, "value", HOFFSET(Row, value), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "group", HOFFSET(Row, group), H5T_NATIVE_INT8);
    maker.group("df");
    maker.dataset("df/table", type, {3}, type, rows);
    maker.group("df/_i_table");  // the indexes of PyTables
    maker.floats("df/_i_table/ranges", {2, 2}, {1, 2, 3, 4});
    attribute(maker, "df", "pandas_type", "frame_table");
    attribute(maker, "df/table", "group_meta", "category");
    attribute(maker, "df/table", "day_dtype", "datetime64[ns]");
    attribute(maker, "df/table", "value_dtype", "float64");
    H5Tclose(type);
  }
  refuses(3, {"cluster", file, "-k", "2"},
          {"column 2 ('day', datetime64[ns]), column 4 ('group', category)", "--drop-columns day,group"});
  CHECK(clustered(file, {"--drop-columns", "day,group"})["points"]["columns"] == 1);
  const auto scores = done({"evaluate", table + "/group", "--truth", table + "/day", "--json"}).json();
  CHECK(scores["evaluation"]["adjusted_rand_index"] == 1);
  CHECK_FALSE(done({"info", file}).says("_i_table"));
}
