// Rows of a file that are read again in each pass: the same values, and a refusal if the file changes in between.
#include "data/file_rows.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/kmeans/kmeans.h"
#include "core/points/streamed_points.h"
#include "data/io/input_bytes.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr std::int64_t kRows = 1000, kColumns = 6;

/// A vector file of floats, removed at the end.
struct VectorFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("kith-rows-" + std::to_string(getpid()) + ".fbin")).string();
  std::vector<float> values;

  VectorFile() {
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) values.push_back(static_cast<float>(i * 7919 % 1009));
    write();
  }
  ~VectorFile() { std::filesystem::remove(path); }
  void write() const {
    std::ofstream out(path, std::ios::binary);
    const std::uint32_t head[2] = {kRows, kColumns};
    out.write(reinterpret_cast<const char*>(head), sizeof(head));
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
};

constexpr data::FileRowsOptions kSmallBlocks{.block_bytes = 64 * kColumns * 4};

std::vector<float> one_pass(RowReader& reader, std::int64_t first) {
  std::vector<float> all;
  reader.begin(first);
  for (PointsView block = reader.next(); rows_of(block) > 0; block = reader.next()) {
    const auto& view = std::get<MatrixView<const float>>(block);
    all.insert(all.end(), view.data, view.data + view.size());
  }
  return all;
}

}  // namespace

TEST_CASE("every pass gives the rows of the file", "[file_rows]") {
  const VectorFile file;
  const auto source = data::open_points(file.path);
  data::FileRows rows(*source, kSmallBlocks);
  CHECK(one_pass(rows, 0) == file.values);
  CHECK(one_pass(rows, 0) == file.values);
  const std::vector<float> tail(file.values.begin() + 130 * kColumns, file.values.end());
  CHECK(one_pass(rows, 130) == tail);
  rows.begin(0);
  rows.next();  // a pass that does not reach the end
  const std::vector<std::int64_t> chosen{999, 0, 500};
  const PointsMatrix gathered = rows.gather(chosen);
  CHECK(std::get<Matrix<float>>(gathered)(0, 0) == file.values[999 * kColumns]);
  CHECK(std::get<Matrix<float>>(gathered)(2, 5) == file.values[500 * kColumns + 5]);
  CHECK(one_pass(rows, 130) == tail);
  CHECK(rows.passes() == 5);
  CHECK(rows.held_bytes() == 3 * 64 * kColumns * 4);
}

TEST_CASE("a file that changes between passes is refused", "[file_rows]") {
  const auto refused = [](const auto& change, bool keep_time) {
    VectorFile file;
    const auto source = data::open_points(file.path);
    data::FileRows rows(*source, kSmallBlocks);
    one_pass(rows, 0);
    const auto time = std::filesystem::last_write_time(file.path);
    change(file);
    if (keep_time) std::filesystem::last_write_time(file.path, time);
    try {
      one_pass(rows, 0);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
      CHECK(std::string(error.what()).find("changed") != std::string::npos);
      return true;
    }
    return false;
  };
  CHECK(refused([](VectorFile& file) { std::ofstream(file.path, std::ios::app) << "more"; }, false));
  CHECK(refused(
      [](VectorFile& file) {
        std::filesystem::last_write_time(file.path,
                                         std::filesystem::last_write_time(file.path) + std::chrono::seconds(2));
      },
      false));
  CHECK(refused(
      [](VectorFile& file) {
        file.values[64 * kColumns] += 1.0F;  // the first value of the second block, in place
        std::fstream out(file.path, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(8 + 64 * kColumns * 4);
        out.write(reinterpret_cast<const char*>(&file.values[64 * kColumns]), 4);
      },
      true));
  CHECK_FALSE(refused([](VectorFile&) {}, false));
}

TEST_CASE("k-means of rows that are read from a file has the bits of rows in memory", "[file_rows]") {
  const VectorFile file;
  const auto source = data::open_points(file.path);
  const PointsMatrix all = data::read_all(*source);
  std::unique_ptr<Backend> backend;
  for (const BackendEntry& entry : backends()) {
    if (std::string(entry.name) == "cpu") backend = entry.open({.threads = 2}, {});
  }
  REQUIRE(backend);
  const KMeansOptions options{.clusters = 9, .tolerance = 0.0, .keep_distances = true};
  const KMeansResult expected = run(*backend->hold({view_of(all), 0}), options);
  data::FileRows rows(*source, kSmallBlocks);
  const auto& values = std::get<Matrix<float>>(all);
  StreamedPoints points(*backend, {values.view().middle(0, 200), &rows, {}});
  check_same(expected, run(points, options));
}

TEST_CASE("rows that are read past the page cache are the same") {
  const VectorFile file;
  const auto source = data::open_points(file.path);
  source->bypass_cache_from(300);
  data::FileRows rows(*source, kSmallBlocks);
  CHECK(one_pass(rows, 0) == file.values);
  CHECK(one_pass(rows, 0) == file.values);
}

TEST_CASE("reads past the page cache give the bytes of any range, and end with the file") {
  const VectorFile file;
  constexpr std::int64_t kBytes = (std::int64_t{5} << 20) + 123;  // several buffers, and no whole blocks
  std::string bytes(kBytes, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  std::ofstream(file.path, std::ios::binary) << bytes;
  const data::Descriptor opened(open(file.path.c_str(), O_RDONLY));
  const data::Descriptor uncached(open(file.path.c_str(), O_RDONLY | O_DIRECT));
  data::DirectReads reads(opened.get(), 5000);
  for (const auto& [at, count] : {std::pair<std::int64_t, std::int64_t>{0, 10},
                                  {4999, 9000},
                                  {5000, 1},
                                  {8191, 4098},
                                  {12288, 4096},
                                  {777'777, 3 << 20},
                                  {kBytes - 1, 1},
                                  {kBytes - 5000, 5000}}) {
    std::string out(static_cast<std::size_t>(count), '\0');
    CHECK(reads.read(at, count, reinterpret_cast<std::byte*>(out.data())).empty());
    CHECK(out == bytes.substr(static_cast<std::size_t>(at), out.size()));
  }
  std::string out(10, '\0');
  CHECK(reads.read(kBytes - 4, 10, reinterpret_cast<std::byte*>(out.data())) == "the file ends before them");
  CHECK(reads.is_direct() == static_cast<bool>(uncached));  // some file systems have only the cache
}
