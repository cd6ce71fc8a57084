// Points from groups of HDF5 files: sparse matrices of AnnData, 10x Genomics and MATLAB, and dense ones of MATLAB.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/source.h"
#include "tests/support/hdf5_attributes.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

// 3 x 4:  0 1 0 2 / 0 0 0 0 / 3 0 4 5
const std::vector<double> kDense{0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 5};
const std::vector<float> kByRows{1, 2, 3, 4, 5}, kByColumns{3, 1, 4, 2, 5};

struct Parts {
  std::vector<float> values;
  std::vector<std::int32_t> indices, starts;
};
const Parts kRows{kByRows, {1, 3, 0, 2, 3}, {0, 2, 2, 5}};
const Parts kColumns{kByColumns, {2, 0, 2, 0, 2}, {0, 1, 2, 3, 5}};

void write_parts(FileMaker& maker, const std::string& group, const Parts& parts, const char* indices = "indices",
                 const char* starts = "indptr") {
  maker.group(group);
  maker.floats(group + "/data", {parts.values.size()}, parts.values);
  maker.dataset(group + "/" + indices, H5T_STD_I32LE, {parts.indices.size()}, H5T_NATIVE_INT32, parts.indices.data());
  maker.dataset(group + "/" + starts, H5T_STD_I32LE, {parts.starts.size()}, H5T_NATIVE_INT32, parts.starts.data());
}

/// As AnnData writes it.
void write_sparse(FileMaker& maker, const std::string& group, const Parts& parts, const char* encoding,
                  const std::vector<std::int64_t>& shape) {
  write_parts(maker, group, parts);
  const hid_t id = H5Gopen2(maker.id(), group.c_str(), H5P_DEFAULT);
  write_text_attribute(id, "encoding-type", encoding, true);
  write_sizes(id, "shape", shape);
  H5Gclose(id);
}

std::vector<double> read_values(const std::string& location, const ReadOptions& options = {}) {
  ReadOptions wide = options;
  wide.precision = Precision::f64;
  const auto values = std::get<Matrix<double>>(read_all(*open_points(location, wide)));
  return {values.data(), values.data() + values.size()};
}

}  // namespace

TEST_CASE("sparse matrices of AnnData, by rows and by columns, are read as dense ones, whole and in parts") {
  const Scratch folder;
  const std::string file = folder / "x.h5ad";
  {
    FileMaker maker(file);
    write_sparse(maker, "X", kRows, "csr_matrix", {3, 4});
  }
  CHECK(read_values(file) == kDense);  // the only matrix: its name is optional
  {
    FileMaker maker(file);
    write_sparse(maker, "X", kRows, "csr_matrix", {3, 4});
    maker.group("layers");
    write_sparse(maker, "layers/c", kColumns, "csc_matrix", {3, 4});
    maker.group("obs");
    const hid_t obs = H5Gopen2(maker.id(), "obs", H5P_DEFAULT);
    write_text_attribute(obs, "encoding-type", "dataframe", false);
    H5Gclose(obs);
  }
  for (const char* name : {":X", ":/X/", ":layers/c"}) CHECK(read_values(file + name) == kDense);
  CHECK(open_points(file + ":X")->value_class() == ValueClass::f32);
  const auto source = open_points(file + ":X");
  Matrix<float> rows(2, 4);
  source->read(1, rows.view());
  CHECK(std::equal(rows.data(), rows.data() + 8, kDense.begin() + 4));
  CHECK(read_values(file + ":X", {.transpose = true}) == std::vector<double>{0, 0, 3, 1, 0, 0, 0, 0, 4, 2, 0, 5});
  CHECK(read_values(file + ":X", {.columns = "4,2"}) == std::vector<double>{2, 1, 0, 0, 5, 0});
  const auto list = list_datasets(file);
  CHECK(std::any_of(list.begin(), list.end(), [](const auto& info) {
    return info.path == "/X" && info.type == "sparse" && info.shape == std::vector<std::int64_t>{3, 4};
  }));
  refused(ExitCode::data, [&] { open_points(file); },
          {"expected one 2-dimensional dataset of numbers, found 2", "/X (3 x 4, sparse)"});
  refused(ExitCode::data, [&] { open_points(file + ":obs"); },
          {"expected a dataset, found a group (dataframe)", "/X (3 x 4"});
}

TEST_CASE("an invalid value of a sparse matrix is refused with the row and column of the points") {
  const Scratch folder;
  const std::string file = folder / "x.h5ad";
  Parts parts = kColumns;
  parts.values[2] = -INFINITY;
  {
    FileMaker maker(file);
    write_sparse(maker, "X", parts, "csc_matrix", {3, 4});
  }
  refused(ExitCode::data, [&] { read_values(file + ":X"); },
          {":/X: row 3, column 3 (counted from 1)", "found -infinity"});
  CHECK(read_values(file + ":X", {.missing = Missing::keep})[10] == -INFINITY);
}

TEST_CASE("a sparse matrix without values is read as zeros") {
  const Scratch folder;
  const std::string file = folder / "x.h5ad";
  {
    FileMaker maker(file);
    write_sparse(maker, "X", {{}, {}, {0, 0, 0, 0}}, "csr_matrix", {3, 4});
  }
  CHECK(read_values(file + ":X") == std::vector<double>(12, 0.0));
  CHECK(open_points(file + ":X")->value_class() == ValueClass::f32);
}

TEST_CASE("the cells of a 10x Genomics matrix, its columns, are read as rows") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  {
    FileMaker maker(file);
    write_parts(maker, "matrix", kRows);
    const std::int32_t shape[2] = {4, 3};  // features x cells
    maker.dataset("matrix/shape", H5T_STD_I32LE, {2}, H5T_NATIVE_INT32, shape);
  }
  CHECK(read_values(file) == kDense);
}

TEST_CASE("matrices of MATLAB keep their rows as rows") {
  const Scratch folder;
  const std::string file = folder / "x.mat";
  {
    FileMaker maker(file);
    maker.floats("A", {3, 2}, {1, 2, 3, 4, 5, 6});  // 2 x 3 in MATLAB
    maker.floats("text", {1, 3}, {1, 2, 3});
    for (const auto& [name, kind] : {std::pair{"A", "single"}, std::pair{"text", "char"}}) {
      const hid_t dataset = H5Dopen2(maker.id(), name, H5P_DEFAULT);
      write_text_attribute(dataset, "MATLAB_class", kind, false);
      H5Dclose(dataset);
    }
    write_parts(maker, "S", kColumns, "ir", "jc");
    const hid_t group = H5Gopen2(maker.id(), "S", H5P_DEFAULT);
    write_sizes(group, "MATLAB_sparse", {3});
    H5Gclose(group);
  }
  CHECK(read_values(file + ":A") == std::vector<double>{1, 3, 5, 2, 4, 6});
  CHECK(read_values(file + ":A", {.transpose = true}) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(read_values(file + ":S") == kDense);
  refused(ExitCode::data, [&] { open_points(file + ":text"); }, {"x.mat:/text: expected numbers, found MATLAB text"});
  CHECK(list_datasets(file).at(0).shape == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("what cells of MATLAB refer to is not proposed, and its objects and complex numbers are named") {
  const Scratch folder;
  const std::string file = folder / "x.mat";
  const auto make = [&](const char* attribute) {
    FileMaker maker(file);
    maker.floats("A", {3, 2}, {1, 2, 3, 4, 5, 6});
    maker.group("#refs#");
    maker.floats("#refs#/a", {3, 2}, {1, 2, 3, 4, 5, 6});
    const hid_t dataset = H5Dopen2(maker.id(), "A", H5P_DEFAULT);
    write_text_attribute(dataset, "MATLAB_class", "datetime", false);
    if (attribute != nullptr) write_sizes(dataset, attribute, {3});
    H5Dclose(dataset);
  };
  make(nullptr);
  CHECK(read_values(file) == std::vector<double>{1, 3, 5, 2, 4, 6});
  make("MATLAB_object_decode");
  refused(ExitCode::data, [&] { open_points(file); }, {"x.mat:/A: expected numbers, found a MATLAB object"});
  {
    FileMaker maker(file);
    const hid_t complex = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(complex, "real", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(complex, "imag", 8, H5T_NATIVE_DOUBLE);
    const double values[4] = {1, 2, 3, 4};
    maker.dataset("z", complex, {1, 2}, complex, values);
    H5Tclose(complex);
  }
  refused(ExitCode::data, [&] { open_points(file); }, {"x.mat:/z: expected numbers, found complex numbers"});
}

TEST_CASE("booleans of PyTables are read as 0 and 1 if their dataset is named") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  const std::uint8_t values[4] = {1, 0, 0, 1};
  FileMaker(file).dataset("b", H5T_STD_B8LE, {2, 2}, H5T_NATIVE_B8, values);
  CHECK(read_values(file + ":b") == std::vector<double>{1, 0, 0, 1});
  CHECK(list_datasets(file).at(0).type == "bool");
  refused(ExitCode::data, [&] { open_points(file); }, {"to read truth values as 0 and 1, name them", "x.h5:/b"});
}

TEST_CASE("a sparse matrix whose parts are groups or links to itself is refused") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  const auto make = [&](const std::string& part, bool link) {
    FileMaker maker(file);
    const std::string starts = part == "jc" ? "jc" : "indptr";
    write_parts(maker, "g", part == "jc" ? kColumns : kRows, part == "jc" ? "ir" : "indices", starts.c_str());
    const hid_t group = H5Gopen2(maker.id(), "g", H5P_DEFAULT);
    if (part == "jc") write_sizes(group, "MATLAB_sparse", {3});
    if (part != "jc" && part != "shape") {
      write_text_attribute(group, "encoding-type", "csr_matrix", true);
      write_sizes(group, "shape", {3, 4});
    }
    H5Gclose(group);
    if (part != "shape") H5Ldelete(maker.id(), ("g/" + part).c_str(), H5P_DEFAULT);
    if (link) {
      H5Lcreate_soft("/g", maker.id(), ("g/" + part).c_str(), H5P_DEFAULT, H5P_DEFAULT);
    } else {
      H5Lcreate_hard(maker.id(), "g", maker.id(), ("g/" + part).c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  };
  for (const char* part : {"shape", "indptr", "jc", "data", "indices"}) {
    for (const bool link : {false, true}) {
      make(part, link);
      INFO(part << (link ? ", a soft link" : ", a hard link"));
      refused(ExitCode::data, [&] { read_all(*open_points(file + ":g")); }, {"expected a dataset, found a group"});
      CHECK_NOTHROW(list_datasets(file));
      refused(ExitCode::data, [&] { read_all(*open_points(file)); }, {"x.h5"});
    }
  }
}

TEST_CASE("matrices of R keep their rows as rows, unless they are in AnnData's form") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  {
    FileMaker maker(file);
    for (const char* name : {"plain", "anndata"}) {
      maker.floats(name, {3, 2}, {1, 2, 3, 4, 5, 6});
      const hid_t dataset = H5Dopen2(maker.id(), name, H5P_DEFAULT);
      write_sizes(dataset, "rhdf5-NA.OK", {1});
      if (name == std::string("anndata")) write_text_attribute(dataset, "encoding-type", "array", true);
      H5Dclose(dataset);
    }
  }
  CHECK(read_values(file + ":plain") == std::vector<double>{1, 3, 5, 2, 4, 6});
  CHECK(read_values(file + ":anndata") == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(list_datasets(file).at(1).shape == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("a matrix whose columns outnumber its rows by far gets a remark") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  {
    FileMaker maker(file);
    maker.floats("julia", {3, 2000}, std::vector<float>(6000));
    maker.floats("wide", {300, 2000}, std::vector<float>(600000));
    maker.floats("small", {2, 60}, std::vector<float>(120));
  }
  const std::vector<std::string> remarks = open_points(file + ":julia")->remarks();
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("3 rows of 2000 columns; Julia and R") == 0);
  CHECK(remarks[0].find("--transpose") != std::string::npos);
  CHECK(open_points(file + ":julia", {.transpose = true})->remarks().empty());
  CHECK(open_points(file + ":wide")->remarks().empty());
  CHECK(open_points(file + ":small")->remarks().empty());
}

TEST_CASE("bytes with rows and columns exchanged stay bytes") {
  const Scratch folder;
  const std::string file = folder / "x.mat";
  const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5, 6};
  {
    FileMaker maker(file);
    maker.dataset("plain", H5T_STD_U8LE, {3, 2}, H5T_NATIVE_UINT8, bytes.data());
    maker.dataset("matlab", H5T_STD_I8LE, {3, 2}, H5T_NATIVE_UINT8, bytes.data());
    const hid_t dataset = H5Dopen2(maker.id(), "matlab", H5P_DEFAULT);
    write_text_attribute(dataset, "MATLAB_class", "int8", false);
    H5Dclose(dataset);
  }
  const auto plain = read_all(*open_points(file + ":plain", {.keep_bytes = true, .transpose = true}));
  const auto& unsigned_bytes = std::get<Matrix<std::uint8_t>>(plain);
  CHECK(std::vector<int>(unsigned_bytes.data(), unsigned_bytes.data() + 6) == std::vector<int>{1, 3, 5, 2, 4, 6});
  const auto matlab = read_all(*open_points(file + ":matlab", {.keep_bytes = true}));
  const auto& signed_bytes = std::get<Matrix<std::int8_t>>(matlab);
  CHECK(std::vector<int>(signed_bytes.data(), signed_bytes.data() + 6) == std::vector<int>{1, 3, 5, 2, 4, 6});
  CHECK(read_values(file + ":matlab") == std::vector<double>{1, 3, 5, 2, 4, 6});
  const auto source = open_points(file + ":matlab", {.keep_bytes = true});
  Matrix<float> floats(1, 3);
  source->read(1, floats.view());
  CHECK(std::vector<float>(floats.data(), floats.data() + 3) == std::vector<float>{2, 4, 6});
}

TEST_CASE("damaged sparse matrices are refused") {
  const Scratch folder;
  const std::string file = folder / "x.h5ad";
  const auto refuses_parts = [&](const Parts& parts, const std::vector<std::int64_t>& shape,
                                 std::initializer_list<const char*> words, ExitCode code = ExitCode::data) {
    {
      FileMaker maker(file);
      write_sparse(maker, "X", parts, "csr_matrix", shape);
    }
    refused(
        code, [&] { read_all(*open_points(file + ":X")); }, words);
  };
  const auto changed = [](auto change) {
    Parts parts = kRows;
    change(parts);
    return parts;
  };
  refuses_parts(kRows, {4, 4}, {"x.h5ad:/X: damaged: expected 5 ascending starts from 0 in /X/indptr, found 4"});
  refuses_parts(changed([](Parts& p) { p.starts = {0, 3, 2, 5}; }), {3, 4}, {"that do not ascend"});
  refuses_parts(changed([](Parts& p) { p.starts[0] = 1; }), {3, 4}, {"starts from 0"});
  refuses_parts(changed([](Parts& p) { p.starts[2] = -1; }), {3, 4}, {"whole numbers from 0, found -1 at position 3"});
  refuses_parts(changed([](Parts& p) { p.starts[3] = 9; }), {3, 4}, {"expected 9 values and indices, found 5 and 5"});
  refuses_parts(changed([](Parts& p) { p.indices[1] = 4; }), {3, 4}, {"expected a column from 0 to 3, found 4"});
  refuses_parts(changed([](Parts& p) { p.indices[0] = -1; }), {3, 4}, {"found -1 for value 0"});
  refuses_parts(changed([](Parts& p) { p.values[4] = NAN; }), {3, 4},
                {":/X: row 3, column 4 (counted from 1)", "found NaN"});
  refuses_parts(kRows, {3, std::int64_t{1} << 60}, {"more values than can be counted"});
  refuses_parts(kRows, {3, std::int64_t{1} << 50}, {"bytes as a dense matrix", "reduce it first", "--columns"},
                ExitCode::memory);
  refuses_parts(kRows, {3, 0}, {"expected at least 1 column"});
  refuses_parts(kRows, {3}, {"a sparse matrix without a shape"});
}
