// Points from NumPy arrays and archives: types, orders, versions, and invalid files.
#include <cmath>
#include <cstring>

#include "data/source.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/numpy_files.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

std::vector<double> read_values(const std::string& location, const ReadOptions& options = {}) {
  ReadOptions wide = options;
  wide.precision = Precision::f64;
  const auto values = std::get<Matrix<double>>(read_all(*open_points(location, wide)));
  return {values.data(), values.data() + values.size()};
}

template <class T>
std::string bytes_in_order(const std::vector<double>& values, bool big) {
  std::string text;
  for (const double value : values) {
    const T number = static_cast<T>(value);
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &number, sizeof(T));
    text += big ? std::string(one.rbegin(), one.rend()) : one;
  }
  return text;
}

const std::vector<double> kRows{1, 2, 3, 4, 5, 6};     // 3 x 2
const std::vector<double> kColumns{1, 3, 5, 2, 4, 6};  // the same, column after column

template <class T>
void check_type(const std::string& code) {
  const Scratch folder;
  const std::string file = folder / "x.npy";
  for (const bool big : {false, true}) {
    const std::string descr = std::string("'") + (sizeof(T) == 1 ? '|' : big ? '>' : '<') + code + "'";
    INFO(descr);
    for (const int version : {1, 2, 3}) {
      write_bytes(file, npy(descr, false, "(3, 2)", bytes_in_order<T>(kRows, big), version));
      CHECK(read_values(file) == kRows);
    }
    write_bytes(file, npy(descr, true, "(3, 2)", bytes_in_order<T>(kColumns, big)));
    CHECK(read_values(file) == kRows);
    CHECK(read_values(file, {.transpose = true}) == kColumns);
  }
}

}  // namespace

TEST_CASE("arrays of every numeric type, order, byte order and version 1 to 3 are read") {
  check_type<float>("f4");
  check_type<double>("f8");
  check_type<std::int8_t>("i1");
  check_type<std::uint8_t>("u1");
  check_type<std::int16_t>("i2");
  check_type<std::uint16_t>("u2");
  check_type<std::int32_t>("i4");
  check_type<std::uint32_t>("u4");
  check_type<std::int64_t>("i8");
  check_type<std::uint64_t>("u8");
  const Scratch folder;
  const std::string file = folder / "x.npy";
  write_bytes(file, npy("'<f2'", false, "(1, 3)", std::string("\x00\x3c\x00\xc0\x01\x00", 6)));
  CHECK(read_values(file) == std::vector<double>{1.0, -2.0, 0x1p-24});
  write_bytes(file, npy("'|b1'", false, "(2, 2)", std::string("\1\0\0\1", 4)));
  CHECK(read_values(file) == std::vector<double>{1, 0, 0, 1});
  CHECK(open_points(file)->value_class() == ValueClass::f32);
  write_bytes(file, npy("'<i2'", false, "(3L, 1L)", bytes_in_order<std::int16_t>({7, 8, 9}, false)));  // Python 2
  CHECK(read_values(file) == std::vector<double>{7, 8, 9});
  write_bytes(file, npy("'<i2'", false, "(3,)", bytes_in_order<std::int16_t>({7, 8, 9}, false)));
  CHECK(open_points(file, {.vector_as_column = true})->columns() == 1);
}

TEST_CASE("arrays in column order give the same rows with any number of threads") {
  const Scratch folder;
  const std::string file = folder / "x.npy";
  constexpr std::int64_t rows = 70'001, columns = 37;
  std::vector<double> by_column;
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) by_column.push_back(static_cast<double>(i * columns + j));
  }
  write_bytes(file, npy("'<f4'", true, "(70001, 37)", bytes_in_order<float>(by_column, false)));
  for (const int threads : {1, 4}) {
    const auto values = read_values(file, {.threads = threads});
    REQUIRE(values.size() == static_cast<std::size_t>(rows * columns));
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) right = right && values[i] == static_cast<float>(i);
    CHECK(right);
  }
}

TEST_CASE("arrays that are not tables of numbers are refused, and pickles are never loaded") {
  const Scratch folder;
  const std::string file = folder / "x.npy";
  const std::string values = bytes_in_order<float>(kRows, false);
  const auto refuses_bytes = [&](const std::string& bytes, std::initializer_list<const char*> words) {
    write_bytes(file, bytes);
    refused(
        ExitCode::data, [&] { open_points(file); }, words);
  };
  refuses_bytes(npy("'|O'", false, "(3, 2)", "cos\nsystem\n"),
                {"x.npy: expected numbers, found Python objects", "never loaded"});
  refuses_bytes(npy("[('a', '|O'), ('b', '<i4')]", false, "(3,)", values),
                {"Python objects", "structured_to_unstructured"});
  refuses_bytes(npy("[('a', [('b', '<f4')])]", false, "(6,)", values), {"records within records"});
  refuses_bytes(npy("[('', '|V8')]", false, "(3,)", values), {"found a structured array without fields"});
  refuses_bytes(npy("[]", false, "(3,)", ""), {"found a structured array without fields"});
  refuses_bytes(npy("[('a', '<U2')]", false, "(3,)", values), {"expected fields of numbers, found none"});
  refuses_bytes(npy("[('a', '<f4'), ('b', '<i4')]", false, "(3, 1)", values), {"expected 1 dimension of records"});
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "[('a',";
  refuses_bytes(npy(nested, false, "(3,)", values), {"nested too deeply"});
  refuses_bytes(npy("'<c16'", false, "(3, 2)", values), {"found complex numbers"});
  refuses_bytes(npy("'<U5'", false, "(3, 2)", values), {"found text"});
  refuses_bytes(npy("'<f16'", false, "(3, 2)", values), {"found the type '<f16'", "astype(numpy.float64)"});
  refuses_bytes(npy("'<f4'", false, "(6,)", values), {"expected 2 dimensions (rows, features), found 1 (6)"});
  refuses_bytes(npy("'<f4'", false, "(1, 2, 3)", values), {"found 3 (1 x 2 x 3)"});
  refuses_bytes(npy("'<f4'", false, "(0, 2)", ""), {"expected at least 1 row"});
  refuses_bytes(npy("'<f4'", false, "(2, 0)", ""), {"expected at least 1 column"});
  refuses_bytes(npy("'<f4'", false, "(3, 2)", values.substr(1)),
                {"declared as 3 x 2 float32 (24 bytes), but 23 bytes", "cut off"});
  refuses_bytes(npy("'<f4'", false, "(3, 2)", values + "x"), {"but 25 bytes are stored", "file of its own"});
  refuses_bytes(npy("'<f4'", false, "(4294967296, 4294967296)", values),
                {"4294967296 x 4294967296, more values than can be counted"});
  refuses_bytes(npy("'<f4'", false, "(0, 99999999999999999999)", values), {"its shape is not a list of sizes"});
  refuses_bytes(npy("'<f4'", false, "(-3, 2)", values), {"its shape is not a list of sizes"});
  const std::string good = npy("'<f4'", false, "(3, 2)", values);
  refuses_bytes(good.substr(0, 40), {"damaged NumPy header: expected 118 bytes of it, found 30"});
  refuses_bytes(good.substr(0, 7), {"its first bytes are not those of a NumPy array"});
  refuses_bytes("", {"x.npy: damaged NumPy header"});
  refuses_bytes(patched(good, "NUMPY\x01", "NUMPY\x04"), {"expected version 1, 2 or 3, found 4.0"});
  refuses_bytes(patched(good, "'shape'", "'shapf'"), {"an unknown key 'shapf'"});
  refuses_bytes(patched(good, "False", "Felse"), {"neither True nor False"});
  refuses_bytes(npy("'<f4", false, "(3, 2)", values), {"damaged NumPy header"});
  refuses_bytes(npy("[[[", false, "(3, 2)", values), {"damaged NumPy header"});
  write_bytes(file, good);
  refused(ExitCode::data, [&] { open_points(file + ":/x"); },
          {"x.npy: expected the file only, since it holds one array, found ':/x'", "leave out"});
}

TEST_CASE("a value that is not finite is refused with row and column") {
  const Scratch folder;
  write_bytes(folder / "x.npy", npy("'<f4'", true, "(2, 2)", bytes_in_order<float>({1, NAN, 3, 4}, false)));
  refused(ExitCode::data, [&] { read_all(*open_points(folder / "x.npy")); },
          {"x.npy: row 2, column 1 (counted from 1): expected a finite number, found NaN"});
}

TEST_CASE("stored and deflated members of an archive are read by name") {
  const Scratch folder;
  const std::string file = folder / "x.npz";
  const std::string a = npy("'<f4'", false, "(3, 2)", bytes_in_order<float>(kRows, false));
  const std::string b = npy("'<f8'", true, "(3, 2)", bytes_in_order<double>(kColumns, false));
  const std::string labels = npy("'<i4'", false, "(3,)", bytes_in_order<std::int32_t>({0, 1, 0}, false));
  for (const bool deflated : {false, true}) {
    write_bytes(file, zip({{"a.npy", a, deflated}, {"y.npy", labels, deflated}}));
    for (const char* name : {"", ":a", ":/a", ":a.npy"}) CHECK(read_values(file + name) == kRows);
    const auto list = list_datasets(file);
    REQUIRE(list.size() == 2);
    CHECK(list[0].path == "/a");
    CHECK(list[0].shape == std::vector<std::int64_t>{3, 2});
    CHECK(list[1].type == "int32");
    refused(ExitCode::data, [&] { open_points(file + ":y"); }, {"x.npz:/y: expected 2 dimensions"});
    refused(ExitCode::data, [&] { open_points(file + ":z"); },
            {"x.npz: no such array: 'z'", "/a (3 x 2, float32), /y"});
    write_bytes(file, zip({{"a.npy", a, deflated}, {"b.npy", b, deflated}}));
    CHECK(read_values(file + ":b") == kRows);
    refused(ExitCode::data, [&] { open_points(file); },
            {"expected one 2-dimensional array of numbers, found 2", "x.npz:/a"});
  }
}

TEST_CASE("damaged archives are refused before memory is allocated") {
  const Scratch folder;
  const std::string file = folder / "x.npz";
  const std::string a = npy("'<f4'", false, "(3, 2)", bytes_in_order<float>(kRows, false));
  const std::string good = zip({{"a.npy", a, true}});
  const auto refuses_bytes = [&](const std::string& bytes, std::initializer_list<const char*> words) {
    write_bytes(file, bytes);
    refused(
        ExitCode::data, [&] { read_all(*open_points(file)); }, words);
  };
  refuses_bytes(good.substr(0, good.size() - 4),
                {"x.npz: damaged zip archive: its directory at the end of the file is missing"});
  const auto directory = good.rfind("PK\x01\x02");
  const auto changed = [&](std::size_t at, const std::string& bytes) {
    std::string damaged = good;
    return damaged.replace(directory + at, bytes.size(), bytes);
  };
  refuses_bytes(changed(24, little(0xfffffff0, 4)), {"claims 4294967280 bytes"});
  refuses_bytes(changed(20, little(0x7fffffff, 4)), {"claims 152 bytes, of which 2147483647 are stored"});
  refuses_bytes(changed(42, little(0x7fffffff, 4)), {"one of its parts lies beyond the end of the file"});
  refuses_bytes(changed(42, little(1, 4)), {"is not at the position in its directory"});
  refuses_bytes(changed(16, little(0, 4)), {"the checksum of a.npy is wrong"});
  refuses_bytes(changed(10, little(14, 2)), {"compressed with method 14"});
  refuses_bytes(changed(8, little(1, 2)), {"it is encrypted"});
  refuses_bytes(changed(0, "XX"), {"an entry of its directory has a wrong signature"});
  // Members that share bytes: many of them would make a small file take very long.
  const std::string two = zip({{"a.npy", a, true}, {"b.npy", a, true}});
  const auto second = two.rfind("PK\x01\x02");
  std::string sharing = two;
  refuses_bytes(sharing.replace(second + 42, 4, little(0, 4)), {"x.npz: damaged zip archive", "overlap"});
  write_bytes(file, two);
  CHECK(list_datasets(file).size() == 2);
  std::string overwritten = good;
  for (std::size_t i = 40; i < 60; ++i) overwritten[i] = '\xff';
  refuses_bytes(overwritten, {"x.npz"});
  // Truncation at every byte, and inversion of every byte, gives an error or the same values, never a crash.
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string other = good;
    other[i] = static_cast<char>(~other[i]);
    for (const std::string& bytes : {good.substr(0, i), other}) {
      write_bytes(file, bytes);
      bool expected = false;
      try {
        expected = read_values(file) == kRows;
      } catch (const Error& error) {
        expected = error.code() == ExitCode::data;
      }
      INFO("byte " << i);
      CHECK(expected);
    }
  }
}
