// Points from vector files: .fvecs, .fbin and related formats, and invalid files.
#include <cmath>

#include "data/source.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

template <class T>
std::string bytes_as(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<double> read_values(const std::string& location) {
  const auto values = std::get<Matrix<double>>(read_all(*open_points(location, {.precision = Precision::f64})));
  return {values.data(), values.data() + values.size()};
}

template <class T>
std::string with_lengths(const std::vector<std::vector<T>>& rows) {
  std::string text;
  for (const auto& row : rows) text += bytes_as<std::int32_t>({static_cast<std::int32_t>(row.size())}) + bytes_as(row);
  return text;
}

const std::vector<double> kValues{1, 2, 3, 4, 5, 6};

template <class T>
void check_types(const std::string& lengths, const std::string& header) {
  const Scratch folder;
  write_bytes(folder / ("x" + lengths), with_lengths<T>({{1, 2, 3}, {4, 5, 6}}));
  CHECK(read_values(folder / ("x" + lengths)) == kValues);
  const std::string values = bytes_as<T>({1, 2, 3, 4, 5, 6});
  write_bytes(folder / ("x" + header), bytes_as<std::uint32_t>({2, 3}) + values);
  CHECK(read_values(folder / ("x" + header)) == kValues);
  write_bytes(folder / ("x" + header), bytes_as<std::uint64_t>({2, 3}) + values);
  CHECK(read_values(folder / ("x" + header)) == kValues);
  const auto list = list_datasets(folder / ("x" + header));
  REQUIRE(list.size() == 1);
  CHECK(list[0].shape == std::vector<std::int64_t>{2, 3});
}

}  // namespace

TEST_CASE("rows after their length, and rows after a header of 8 or 16 bytes, are read") {
  check_types<float>(".fvecs", ".fbin");
  check_types<std::int32_t>(".ivecs", ".ibin");
  check_types<std::uint8_t>(".bvecs", ".u8bin");
  const Scratch folder;
  write_bytes(folder / "x.i8bin", bytes_as<std::uint32_t>({1, 3}) + bytes_as<std::int8_t>({-1, 2, -128}));
  CHECK(read_values(folder / "x.i8bin") == std::vector<double>{-1, 2, -128});
  for (const char* name : {"x.hbin", "x.f16bin"}) {
    write_bytes(folder / name, bytes_as<std::uint32_t>({1, 2}) + bytes_as<std::uint16_t>({0x3c00, 0xc000}));
    CHECK(read_values(folder / name) == std::vector<double>{1, -2});
  }
}

TEST_CASE("a ground truth file holds neighbours and distances as two datasets") {
  const Scratch folder;
  const std::string file = folder / "truth.ibin";
  write_bytes(file, bytes_as<std::uint32_t>({2, 2}) + bytes_as<std::int32_t>({7, 8, 9, 10}) +
                        bytes_as<float>({0.5F, 1, 1.5F, 2}));
  CHECK(read_values(file) == std::vector<double>{7, 8, 9, 10});
  CHECK(read_values(file + ":/neighbors") == std::vector<double>{7, 8, 9, 10});
  CHECK(read_values(file + ":distances") == std::vector<double>{0.5, 1, 1.5, 2});
  CHECK(list_datasets(file).size() == 2);
  refused(ExitCode::data, [&] { open_points(file + ":x"); }, {"no such dataset: 'x'", "/neighbors and /distances"});
}

TEST_CASE("long files give the same rows with any number of threads") {
  const Scratch folder;
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 60'000; ++i) rows.emplace_back(33, static_cast<float>(i));
  write_bytes(folder / "x.fvecs", with_lengths(rows));
  for (const int threads : {1, 4}) {
    const auto values = std::get<Matrix<float>>(read_all(*open_points(folder / "x.fvecs", {.threads = threads})));
    bool right = values.rows() == 60'000 && values.columns() == 33;
    for (std::int64_t i = 0; i < values.rows(); ++i) {
      for (std::int64_t j = 0; j < values.columns(); ++j) right = right && values(i, j) == static_cast<float>(i);
    }
    CHECK(right);
  }
}

TEST_CASE("lengths that differ, surplus bytes and sizes that do not match the file are refused") {
  const Scratch folder;
  const auto refuses_bytes = [&](const std::string& name, const std::string& bytes,
                                 std::initializer_list<const char*> words) {
    write_bytes(folder / name, bytes);
    refused(
        ExitCode::data, [&] { read_all(*open_points(folder / name)); }, words);
  };
  const std::string good = with_lengths<float>({{1, 2}, {3, 4}, {5, 6}});
  refuses_bytes("x.fvecs", good + "abc", {"x.fvecs: expected records of 12 bytes", "3 bytes after record 3"});
  refuses_bytes("x.fvecs", good.substr(0, 30), {"6 bytes after record 2"});
  refuses_bytes("x.fvecs", with_lengths<float>({{1, 2}, {3, 4, 5}, {6}}),
                {"record 2 (counted from 1): expected 2 values, as in record 1, found a length of 3"});
  refuses_bytes("x.fvecs", "", {"expected the length of a vector, 4 bytes, found a file of 0 bytes"});
  refuses_bytes("x.fvecs", bytes_as<std::int32_t>({0, 1}), {"expected the length of the first vector, found 0"});
  refuses_bytes("x.fvecs", bytes_as<std::int32_t>({-1, 1}), {"found -1"});
  refuses_bytes("x.fvecs", bytes_as<std::int32_t>({2147483647, 1}), {"found 2147483647 in a file of 8 bytes"});
  refuses_bytes("x.fvecs", with_lengths<float>({{1, NAN}}),
                {"row 1, column 2 (counted from 1): expected a finite number, found NaN"});

  const std::string six = bytes_as<float>({1, 2, 3, 4, 5, 6});
  refuses_bytes("x.fbin", bytes_as<std::uint32_t>({2, 3}) + six + "x",
                {"x.fbin: expected a header", "found 33 bytes, which begin with 2 x 3"});
  refuses_bytes("x.fbin", bytes_as<std::uint32_t>({3, 3}) + six, {"which begin with 3 x 3"});
  refuses_bytes("x.fbin", bytes_as<std::uint32_t>({0xffffffff, 0xffffffff}) + six, {"4294967295 x 4294967295"});
  refuses_bytes("x.fbin", bytes_as<std::uint64_t>({std::uint64_t{1} << 62, 6}), {"x.fbin: expected a header"});
  refuses_bytes("x.fbin", bytes_as<std::uint32_t>({0, 0}), {"begin with 0 x 0"});
  refuses_bytes("x.fbin", "abc", {"found 3 bytes"});
  refuses_bytes("x.u8bin", bytes_as<std::uint32_t>({2, 3}) + six, {"as many values of uint8"});
  write_bytes(folder / "y.fbin", bytes_as<std::uint32_t>({2, 3}) + six);
  refused(ExitCode::data, [&] { open_points((folder / "y.fbin") + ":x"); }, {"no such dataset: 'x'", "one matrix"});
}
