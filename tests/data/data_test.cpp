// Points from HDF5 files have exactly the values in the file, for every type, byte order and layout.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "data/format/element.h"
#include "data/source.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

Matrix<float> read_floats(const std::string& location, const ReadOptions& options = {}) {
  return std::get<Matrix<float>>(read_all(*open_points(location, options)));
}
Matrix<double> read_doubles(const std::string& location, const ReadOptions& options = {}) {
  return std::get<Matrix<double>>(read_all(*open_points(location, options)));
}

/// Compares bits, so that -0 and +0 differ and NaN equals itself.
template <class T>
bool same_bits(const Matrix<T>& a, const std::vector<T>& b) {
  return a.size() == static_cast<std::int64_t>(b.size()) && std::memcmp(a.data(), b.data(), b.size() * sizeof(T)) == 0;
}

/// Numbers that every type can hold: 0 to 120, as 11 x 11.
const std::vector<hsize_t> kSquare{11, 11};
std::vector<float> small_numbers() {
  std::vector<float> values(121);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

struct TypeCase {
  const char* name;
  hid_t type;
  ValueClass value_class;
};
std::vector<TypeCase> type_cases() {
  const hid_t half = half_type();
  const hid_t half_big = H5Tcopy(half);
  H5Tset_order(half_big, H5T_ORDER_BE);
  return {{"float16", half, ValueClass::f32},           {"float16", half_big, ValueClass::f32},
          {"float32", H5T_IEEE_F32LE, ValueClass::f32}, {"float32", H5T_IEEE_F32BE, ValueClass::f32},
          {"float64", H5T_IEEE_F64LE, ValueClass::f64}, {"float64", H5T_IEEE_F64BE, ValueClass::f64},
          {"int8", H5T_STD_I8LE, ValueClass::f32},      {"uint8", H5T_STD_U8BE, ValueClass::f32},
          {"int16", H5T_STD_I16LE, ValueClass::f32},    {"int16", H5T_STD_I16BE, ValueClass::f32},
          {"uint16", H5T_STD_U16LE, ValueClass::f32},   {"uint16", H5T_STD_U16BE, ValueClass::f32},
          {"int32", H5T_STD_I32LE, ValueClass::f64},    {"int32", H5T_STD_I32BE, ValueClass::f64},
          {"uint32", H5T_STD_U32LE, ValueClass::f64},   {"uint32", H5T_STD_U32BE, ValueClass::f64},
          {"int64", H5T_STD_I64LE, ValueClass::f64},    {"int64", H5T_STD_I64BE, ValueClass::f64},
          {"uint64", H5T_STD_U64LE, ValueClass::f64},   {"uint64", H5T_STD_U64BE, ValueClass::f64}};
}

std::vector<Layout> layout_cases() {
  return {{},
          {.compact = true},
          {.chunk = {4, 3}},
          {.chunk = {11, 1}, .deflate = 6},
          {.chunk = {1, 11}, .shuffle = true, .deflate = 9},
          {.chunk = {3, 11}, .shuffle = true, .fletcher32 = true},
          {.chunk = {5, 5}, .shuffle = true, .fletcher32 = true, .deflate = 1}};
}

}  // namespace

TEST_CASE("every type, byte order and layout gives the same points") {
  const Scratch scratch;
  const std::string file = scratch / "points.h5";
  const auto expected = small_numbers();
  const std::vector<double> expected_wide(expected.begin(), expected.end());
  for (const auto& type : type_cases()) {
    for (const Layout& layout : layout_cases()) {
      INFO(type.name);
      { FileMaker(file).dataset("x", type.type, kSquare, H5T_NATIVE_FLOAT, expected.data(), layout); }
      const auto source = open_points(file);
      CHECK(source->element_type() == type.name);
      CHECK(source->value_class() == type.value_class);
      CHECK(source->name() == file + ":/x");
      CHECK(source->rows() == 11);
      CHECK(source->columns() == 11);
      CHECK(source->file_bytes() > 0);
      CHECK(same_bits(read_floats(file, {.precision = Precision::f32}), expected));
      CHECK(same_bits(read_doubles(file, {.precision = Precision::f64}), expected_wide));
    }
  }
}

TEST_CASE("integers keep their sign and their extreme values") {
  const Scratch scratch;
  const std::string file = scratch / "points.h5";
  const std::vector<std::int64_t> values{-128, 127, -1, 0};
  for (const hid_t type : {H5T_STD_I8LE, H5T_STD_I16BE, H5T_STD_I32LE, H5T_STD_I64BE}) {
    { FileMaker(file).dataset("x", type, {2, 2}, H5T_NATIVE_INT64, values.data()); }
    CHECK(same_bits(read_doubles(file, {.precision = Precision::f64}), {-128, 127, -1, 0}));
  }
  const std::vector<std::uint32_t> wide{4294967295u, 2147483648u};
  { FileMaker(file).dataset("x", H5T_STD_U32BE, {2, 1}, H5T_NATIVE_UINT32, wide.data()); }
  CHECK(same_bits(read_doubles(file), {4294967295.0, 2147483648.0}));
}

TEST_CASE("booleans of h5py are read as 0 and 1") {
  const Scratch scratch;
  const std::string file = scratch / "bool.h5";
  const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(boolean, "FALSE", &no);
  H5Tenum_insert(boolean, "TRUE", &yes);
  const std::vector<std::int8_t> values{0, 1, 1, 1, 0, 0};
  for (const Layout& layout : {Layout{}, Layout{.chunk = {2, 2}, .deflate = 1}, Layout{.compact = true}}) {
    {
      FileMaker maker(file);
      const hid_t creation = creation_of(layout);
      maker.made("x", boolean, {3, 2}, creation, boolean, values.data());
      H5Pclose(creation);
    }
    CHECK(list_datasets(file).at(0).type == "bool");
    const auto source = open_points(file + ":x", {.keep_bytes = true});
    CHECK(source->element_type() == "bool");
    const auto bytes = std::get<Matrix<std::uint8_t>>(read_all(*source));
    CHECK(std::vector<std::int8_t>(bytes.data(), bytes.data() + 6) == values);
    const auto floats = std::get<Matrix<float>>(read_all(*open_points(file + ":x")));
    CHECK(std::vector<std::int8_t>(floats.data(), floats.data() + 6) == values);
  }
  H5Tclose(boolean);
}

TEST_CASE("all 65536 float16 patterns are converted exactly, including subnormals") {
  const Scratch scratch;
  const std::string file = scratch / "half.h5";
  std::vector<std::uint16_t> finite;
  std::vector<float> expected;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const int exponent = (bits >> 10) & 31;
    const int mantissa = bits & 1023;
    const auto pattern = static_cast<std::uint16_t>(bits);
    if (exponent == 31) {
      float out = 0;
      const auto done = convert({Number::float16, false}, reinterpret_cast<const std::byte*>(&pattern), 1, &out);
      CHECK(done.refused == 0);
      CHECK(done.reason == std::string("expected a finite number, found ") + (mantissa != 0     ? "NaN"
                                                                              : bits >> 15 != 0 ? "-infinity"
                                                                                                : "infinity"));
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    finite.push_back(pattern);
    expected.push_back(static_cast<float>(bits >> 15 != 0 ? -magnitude : magnitude));
  }
  REQUIRE(finite.size() == 63488);
  for (const auto order : {H5T_ORDER_LE, H5T_ORDER_BE}) {
    const hid_t type = half_type();
    auto stored = finite;
    if (order == H5T_ORDER_BE) {
      for (auto& v : stored) v = static_cast<std::uint16_t>(v << 8 | v >> 8);
    }
    H5Tset_order(type, order);
    { FileMaker(file).dataset("x", type, {stored.size() / 16, 16}, type, stored.data()); }
    CHECK(same_bits(read_floats(file), expected));
    CHECK(same_bits(read_doubles(file, {.precision = Precision::f64}),
                    std::vector<double>(expected.begin(), expected.end())));
  }
}

TEST_CASE("subnormals, extreme values and signed zeros are exact in both byte orders") {
  const Scratch scratch;
  const std::string file = scratch / "tiny.h5";
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  const std::vector<float> floats{
      Float::denorm_min(), -Float::denorm_min(), Float::min() / 2, -0.0f, 0.0f, Float::max(), Float::lowest(), 1.0f};
  const std::vector<double> doubles{
      Double::denorm_min(), -Double::denorm_min(), Double::min() / 2, -0.0, 0.0, Double::max(), Double::lowest(), 1.0};
  for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F32BE}) {
    { FileMaker(file).dataset("x", type, {4, 2}, H5T_NATIVE_FLOAT, floats.data()); }
    CHECK(same_bits(read_floats(file), floats));
    CHECK(same_bits(read_doubles(file, {.precision = Precision::f64}),
                    std::vector<double>(floats.begin(), floats.end())));
  }
  for (const hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    { FileMaker(file).dataset("x", type, {4, 2}, H5T_NATIVE_DOUBLE, doubles.data()); }
    CHECK(same_bits(read_doubles(file), doubles));
  }
}

TEST_CASE("64-bit integers that float64 cannot hold exactly are refused with row and column") {
  const Scratch scratch;
  const std::string file = scratch / "big.h5";
  constexpr std::int64_t edge = std::int64_t{1} << 53;
  const std::vector<std::int64_t> exact{
      edge, -edge, edge + 2, std::int64_t{3} << 60, std::numeric_limits<std::int64_t>::min(), 0};
  { FileMaker(file).dataset("x", H5T_STD_I64BE, {3, 2}, H5T_NATIVE_INT64, exact.data()); }
  CHECK(same_bits(read_doubles(file), std::vector<double>(exact.begin(), exact.end())));

  for (const std::int64_t bad : {edge + 1, -edge - 1, std::numeric_limits<std::int64_t>::max()}) {
    auto values = exact;
    values[3] = bad;
    { FileMaker(file).dataset("x", H5T_STD_I64LE, {3, 2}, H5T_NATIVE_INT64, values.data()); }
    refused(ExitCode::data, [&] { read_doubles(file); },
            {"big.h5:/x", "row 2, column 2", "counted from 1", std::to_string(bad).c_str(),
             "expected an integer that is exactly a float64"});
  }
  const std::vector<std::uint64_t> unsigned_values{std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()};
  { FileMaker(file).dataset("x", H5T_STD_U64LE, {1, 2}, H5T_NATIVE_UINT64, unsigned_values.data()); }
  refused(ExitCode::data, [&] { read_doubles(file); }, {"row 1, column 2", "18446744073709551615"});
  const auto narrowed = open_points(file, {.precision = Precision::f32});
  CHECK(same_bits(std::get<Matrix<float>>(read_all(*narrowed)), {0x1p63f, 0x1p64f}));
  CHECK(narrowed->changed_values() == 1);
}

TEST_CASE("--precision f32 counts the values that it rounds and refuses values that overflow") {
  const Scratch scratch;
  const std::string file = scratch / "wide.h5";
  const std::vector<double> values{1.0, 0.1, -0.5, 1e-60, 16777217.0, 0x1p-149};
  for (const hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    { FileMaker(file).dataset("x", type, {3, 2}, H5T_NATIVE_DOUBLE, values.data()); }
    const auto source = open_points(file, {.precision = Precision::f32});
    CHECK(same_bits(std::get<Matrix<float>>(read_all(*source)), {1.0f, 0.1f, -0.5f, 0.0f, 16777216.0f, 0x1p-149f}));
    CHECK(source->changed_values() == 3);
  }
  const std::vector<double> huge{1.0, 2.0, -1e39, 3.0};
  { FileMaker(file).dataset("x", H5T_IEEE_F64LE, {2, 2}, H5T_NATIVE_DOUBLE, huge.data()); }
  refused(ExitCode::data, [&] { read_floats(file, {.precision = Precision::f32}); },
          {"row 2, column 1", "-1e+39", "largest float32"});
  const std::vector<std::int32_t> integers{16777217, 16777216, -16777219, 5};
  { FileMaker(file).dataset("x", H5T_STD_I32BE, {2, 2}, H5T_NATIVE_INT32, integers.data()); }
  const auto source = open_points(file, {.precision = Precision::f32});
  CHECK(same_bits(std::get<Matrix<float>>(read_all(*source)), {16777216.0f, 16777216.0f, -16777220.0f, 5.0f}));
  CHECK(source->changed_values() == 2);
}

TEST_CASE("the first NaN or infinity is reported, wherever it is") {
  const Scratch scratch;
  const std::string file = scratch / "nan.h5";
  constexpr std::size_t rows = 9973, columns = 251;  // several blocks; neither size is a multiple of theirs
  std::vector<float> values(rows * columns, 1.5f);
  const auto place = [](std::size_t i) {
    return "row " + std::to_string(i / columns + 1) + ", column " + std::to_string(i % columns + 1);
  };
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{2047}, std::size_t{2048}, std::size_t{1234567}, rows * columns - 1}) {
    values[at] = at % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
    for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
      { FileMaker(file).dataset("x", type, {rows, columns}, H5T_NATIVE_FLOAT, values.data()); }
      const auto why = at % 2 == 0 ? "NaN" : "-infinity";
      refused(ExitCode::data, [&] { read_all(*open_points(file)); }, {"nan.h5:/x", place(at).c_str(), why});
      refused(ExitCode::data, [&] { read_floats(file, {.precision = Precision::f32}); }, {place(at).c_str(), why});
    }
    values[at] = 1.5f;
  }
  values[777] = values[1500000] = std::numeric_limits<float>::infinity();
  { FileMaker(file).floats("x", {rows, columns}, values, {.chunk = {1000, 250}, .deflate = 1}); }
  refused(ExitCode::data, [&] { read_floats(file); }, {place(777).c_str(), "infinity"});
}

TEST_CASE("a vector is read as one column only on request") {
  const Scratch scratch;
  const std::string file = scratch / "vector.h5";
  { FileMaker(file).floats("weights", {4}, {1, 2, 3, 4}, {.chunk = {3}}); }
  const auto source = open_points(file, {.vector_as_column = true});
  CHECK(source->rows() == 4);
  CHECK(source->columns() == 1);
  CHECK(same_bits(std::get<Matrix<float>>(read_all(*source)), {1, 2, 3, 4}));
  refused(ExitCode::data, [&] { open_points(file + ":weights"); },
          {"vector.h5:/weights", "expected 2 dimensions", "found 1 (4)"});
}

TEST_CASE("the sample files of the project can be read") {
  const auto digits = read_floats(std::string(KITH_SOURCE_DIR) + "/samples/digits.h5:/train");
  CHECK(digits.rows() == 1797);
  CHECK(digits.columns() == 64);
  CHECK(std::accumulate(digits.data(), digits.data() + digits.size(), 0.0) == 561718.0);
}

TEST_CASE("FILE:DATASET is split at the colon that follows an existing file") {
  const Scratch scratch;
  for (const char* name : {"plain.h5", "a:b.h5", "c.h5:/x"}) {
    if (std::string(name).find('/') == std::string::npos) write_bytes(scratch / name, "x");
  }
  const auto check = [&](const std::string& text, const std::string& file, const std::string& dataset) {
    const Location location = parse_location(text);
    CHECK(location.file == file);
    CHECK(location.dataset == dataset);
  };
  check(scratch / "plain.h5", scratch / "plain.h5", "");
  check((scratch / "plain.h5") + ":/train", scratch / "plain.h5", "/train");
  check((scratch / "plain.h5") + ":/a:b", scratch / "plain.h5", "/a:b");
  check(scratch / "a:b.h5", scratch / "a:b.h5", "");
  check((scratch / "a:b.h5") + ":train", scratch / "a:b.h5", "train");
  check((scratch / "missing.h5") + ":/train", scratch / "missing.h5", "/train");
  check(scratch / "missing.h5", scratch / "missing.h5", "");
}

TEST_CASE("the name of the dataset is optional if the file has only one matrix") {
  const Scratch scratch;
  const std::string file = scratch / "choice.h5";
  {
    FileMaker maker(file);
    maker.floats("labels", {3}, {0, 1, 2});
    maker.group("group");
    maker.floats("group/points", {2, 2}, {1, 2, 3, 4});
    H5Lcreate_hard(maker.id(), "group/points", maker.id(), "again", H5P_DEFAULT, H5P_DEFAULT);
  }
  CHECK(same_bits(read_floats(file), {1, 2, 3, 4}));
  CHECK(same_bits(read_floats(file + "://group//points/"), {1, 2, 3, 4}));
  CHECK(open_points(file + ":again")->name() == file + ":/again");
  {
    FileMaker maker(file);
    maker.floats("train", {3, 1}, {0, 1, 2});
    maker.floats("test", {1, 2}, {0, 1});
  }
  refused(ExitCode::data, [&] { open_points(file); },
          {"found 2", "/test (1 x 2, float32)", "/train (3 x 1, float32)", "name one", "choice.h5:/train"});
  { FileMaker(file).floats("cube", {1, 1, 1}, {0}); }
  refused(ExitCode::data, [&] { open_points(file); },
          {"choice.h5:/cube: expected 2 dimensions (rows, features), found 3 (1 x 1 x 1)"});
  { FileMaker maker(file); }
  refused(ExitCode::data, [&] { open_points(file); }, {"no dataset at all"});
}

TEST_CASE("centroids are read as float64 from any matrix or vector") {
  const Scratch scratch;
  const std::string file = scratch / "start.h5";
  { FileMaker(file).floats("start", {2, 2}, {1, 2, 3, 4}); }
  CHECK(same_bits(read_centroids(file), {1, 2, 3, 4}));
  { FileMaker(file).floats("start", {3}, {1, 2, 3}); }
  const auto column = read_centroids(file + ":start");
  CHECK(column.columns() == 1);
  CHECK(same_bits(column, {1, 2, 3}));
  { FileMaker(file).floats("start", {2, 1}, {1, std::nanf("")}); }
  refused(ExitCode::data, [&] { read_centroids(file); }, {"row 2, column 1", "NaN"});
}

TEST_CASE("the list of datasets includes unreadable ones and the reason") {
  const Scratch scratch;
  const std::string file = scratch / "list.h5";
  {
    FileMaker maker(file);
    maker.floats("b", {4, 4}, std::vector<float>(16),
                 {.chunk = {2, 4}, .shuffle = true, .fletcher32 = true, .deflate = 7});
    maker.group("a");
    maker.dataset("a/c", H5T_STD_I16BE, {5}, H5T_NATIVE_FLOAT, std::vector<float>(5).data());
    H5Lcreate_hard(maker.id(), "/", maker.id(), "a/cycle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/b", maker.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", maker.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
  }
  const auto list = list_datasets(file);
  REQUIRE(list.size() == 3);
  CHECK(list[0].path == "/a/c");
  CHECK(list[0].type == "int16");
  CHECK(list[0].byte_order == "big");
  CHECK(list[0].layout == "contiguous");
  CHECK(list[0].unreadable.find("expected 2 dimensions") == 0);
  CHECK(list[1].path == "/b");
  CHECK(list[1].shape == std::vector<std::int64_t>{4, 4});
  CHECK(list[1].layout == "chunked 2 x 4");
  CHECK(list[1].filters == std::vector<std::string>{"shuffle", "deflate 7", "fletcher32"});
  CHECK(list[1].stored_bytes > 0);
  CHECK(list[1].unreadable.empty());
  CHECK(list[2].path == "/outside");
  CHECK(list[2].unreadable.find("external link to other.h5:/x") != std::string::npos);
}
