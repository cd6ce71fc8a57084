// Chunked HDF5 data are decoded exactly, in blocks of any size, and never beyond the size of a chunk.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "data/source.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

Matrix<float> read_floats(const std::string& location, const ReadOptions& options = {}) {
  return std::get<Matrix<float>>(read_all(*open_points(location, options)));
}

bool same_bits(const Matrix<float>& a, const std::vector<float>& b) {
  return a.size() == static_cast<std::int64_t>(b.size()) &&
         std::memcmp(a.data(), b.data(), b.size() * sizeof(float)) == 0;
}

std::string refused_file(const std::string& location, std::initializer_list<const char*> words) {
  return refused(
      ExitCode::data, [&] { read_all(*open_points(location)); }, words);
}

}  // namespace

TEST_CASE("blocks of any size give the same rows as one read") {
  const Scratch scratch;
  const std::string file = scratch / "blocks.h5";
  constexpr hsize_t rows = 1021, columns = 33;
  std::vector<float> values(rows * columns);
  std::mt19937 random(1);
  for (float& v : values) v = static_cast<float>(random()) * 0x1p-20f;
  for (const Layout& layout :
       {Layout{}, Layout{.chunk = {100, 7}, .shuffle = true, .deflate = 4}, Layout{.chunk = {1021, 1}, .deflate = 1}}) {
    { FileMaker(file).floats("x", {rows, columns}, values, layout); }
    for (const std::int64_t block : {1, 7, 100, 1000, 1021}) {
      const auto source = open_points(file);
      Matrix<float> out(rows, columns);
      for (std::int64_t row = 0; row < out.rows(); row += block) {
        source->read(row, out.view().middle(row, std::min(block, out.rows() - row)));
      }
      CHECK(same_bits(out, values));
    }
  }
}

TEST_CASE("chunks that were never written have the fill value") {
  const Scratch scratch;
  const std::string file = scratch / "sparse.h5";
  for (const auto& [fill, deflate] : {std::pair{0.0f, 1}, {-7.5f, 1}, {0.0f, -1}, {-7.5f, -1}}) {
    {
      FileMaker maker(file);
      const hid_t creation = creation_of({.chunk = {2, 4}, .deflate = deflate});
      if (fill != 0.0f) H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &fill);
      maker.made("x", H5T_IEEE_F32BE, {6, 4}, creation);
      H5Pclose(creation);
      const hid_t dataset = H5Dopen2(maker.id(), "x", H5P_DEFAULT);
      const hid_t space = H5Dget_space(dataset);
      const hsize_t start[2] = {2, 0}, count[2] = {2, 4};
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
      const hid_t memory = H5Screate_simple(2, count, nullptr);
      const std::vector<float> written(8, 3.0f);
      REQUIRE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, written.data()) >= 0);
      H5Sclose(memory);
      H5Sclose(space);
      H5Dclose(dataset);
    }
    std::vector<float> expected(24, fill);
    std::fill(expected.begin() + 8, expected.begin() + 16, 3.0f);
    CHECK(same_bits(read_floats(file), expected));
  }
}

TEST_CASE("data with the scale-offset filter are decoded") {
  const Scratch scratch;
  const std::string file = scratch / "scaled.h5";
  std::vector<float> expected(121);
  std::iota(expected.begin(), expected.end(), 0.0f);
  {
    FileMaker(file).dataset("x", H5T_STD_I32LE, {11, 11}, H5T_NATIVE_FLOAT, expected.data(),
                            {.chunk = {11, 11}, .scale_offset = 0});
  }
  CHECK(same_bits(read_floats(file, {.precision = Precision::f32}), expected));
}

TEST_CASE("the message about a damaged chunk gives its position and rows") {
  const Scratch scratch;
  const std::string file = scratch / "damaged.h5";
  constexpr std::size_t rows = 100, columns = 6;
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.25f;
  for (const hsize_t width : {6, 4}) {
    { FileMaker(file).floats("x", {rows, columns}, values, {.chunk = {10, width}, .fletcher32 = true}); }
    // The values of row 42 from column 4.
    const std::string some = raw({values[42 * columns + 4], values[42 * columns + 5]});
    auto other = some;
    other[0] = static_cast<char>(other[0] ^ 1);
    write_bytes(file, patched(bytes_of(file), some, other));
    refused_file(file, {"damaged.h5:/x: data damaged in the chunk of rows 41 to 50",
                        width == 6 ? "columns 1 to 6" : "columns 5 to 6", "counted from 1"});
    Matrix<float> out(10, columns);
    CHECK_NOTHROW(open_points(file)->read(30, out.view()));
    CHECK_NOTHROW(open_points(file)->read(50, out.view()));
  }
}

TEST_CASE("chunks that inflate to too few or too many bytes are refused") {
  const Scratch scratch;
  const std::string file = scratch / "inflated.h5";
  // zlib streams of 4 and of 40000 zero bytes, where a chunk has 32.
  const std::string little("\x78\x9c\x63\x60\x60\x60\x00\x00\x00\x04\x00\x01", 12);
  const std::string much = std::string("\x78\x9c\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\xf5\x4f\xed\x65\x0b\xa0", 17) +
                           std::string(38, '\0') + std::string("\x80\x1b\x9c\x40\x00\x01", 6);
  for (const auto& [stored, why] :
       {std::pair{little, "it has 4 bytes, expected 32"}, std::pair{much, "it inflates to more than 32 bytes"}}) {
    {
      FileMaker maker(file);
      maker.dataset("x", H5T_IEEE_F32LE, {4, 2}, H5T_NATIVE_FLOAT, nullptr, {.chunk = {4, 2}, .deflate = 9});
      const hid_t dataset = H5Dopen2(maker.id(), "x", H5P_DEFAULT);
      const hsize_t offset[2] = {0, 0};
      REQUIRE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, stored.size(), stored.data()) >= 0);
      H5Dclose(dataset);
    }
    refused_file(file, {"inflated.h5:/x: data damaged in the chunk of rows 1 to", why});
  }
}

TEST_CASE("a wrong stored size of a chunk without filters is ignored") {
  const Scratch scratch;
  const std::string file = scratch / "claims.h5";
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  // The key of the second chunk in HDF5's index: 16 bytes, no filter skipped, first value at (2, 0).
  const std::string rest = std::string(4, '\0') + std::string("\x02", 1) + std::string(23, '\0');
  for (const char* claim : {"\x08\0\0\0", "\x70\0\0\0"}) {
    { FileMaker(file).floats("x", {4, 2}, values, {.chunk = {2, 2}}); }
    write_bytes(file, patched(bytes_of(file), std::string("\x10\0\0\0", 4) + rest, std::string(claim, 4) + rest));
    CHECK(same_bits(read_floats(file), values));
  }
}
