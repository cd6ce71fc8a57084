// Points larger than --memory: cluster, assign and knn read them in passes, with the same bytes in their results.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/hdf5_files.h"
#include "tests/support/program.h"

using namespace kith::testing;

namespace {

constexpr std::int64_t kRows = 90'000, kColumns = 40;  // 14.4 MB
const Words kLittle{"--memory", "13MB"};

std::vector<float> values(std::int64_t rows, unsigned seed) {
  std::vector<float> out(static_cast<std::size_t>(rows * kColumns));
  for (std::size_t i = 0; i < out.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    out[i] = static_cast<float>(i / kColumns % 7 * 3) + static_cast<float>(seed >> 8) * 0x1p-23F;
  }
  return out;
}

void write_npy(const std::string& file, const std::vector<float>& x) {
  std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(x.size() / kColumns) +
                     ", " + std::to_string(kColumns) + "), }";
  head.resize(117, ' ');
  std::ofstream out(file, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << head << '\n';
  out.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(float)));
}

/// The same points in every format whose rows can be read at any place.
Words write_points(const Scratch& folder) {
  const std::vector<float> x = values(kRows, 1);
  write_npy(folder / "x.npy", x);
  std::ofstream fbin(folder / "x.fbin", std::ios::binary);
  const std::int32_t shape[] = {kRows, kColumns};
  fbin.write(reinterpret_cast<const char*>(shape), sizeof shape);
  fbin.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(float)));
  FileMaker maker(folder / "x.h5");
  const std::vector<hsize_t> rows{kRows, kColumns};
  maker.dataset("plain", H5T_IEEE_F32LE, rows, H5T_NATIVE_FLOAT, x.data());
  maker.dataset("chunked", H5T_IEEE_F32LE, rows, H5T_NATIVE_FLOAT, x.data(), {.chunk = {3000, 17}, .deflate = 1});
  return {folder / "x.npy", folder / "x.fbin", folder / "x.h5:plain", folder / "x.h5:chunked"};
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Runs a command with enough memory and with little, and compares the results. Returns the report of the second run.
nlohmann::json compare(const Words& command, const Scratch& folder) {
  const std::string all = folder / "all.h5", streamed = folder / "streamed.h5";
  done(command + Words{"-o", all, "-f", "--json"});
  const Outcome outcome = done(command + Words{"-o", streamed, "-f", "--json"} + kLittle);
  INFO(nlohmann::json(command).dump());
  CHECK(bytes_of(all) == bytes_of(streamed));
  const auto report = nlohmann::json::parse(outcome.out);
  REQUIRE(report.contains("streamed"));
  CHECK(report["streamed"]["held_rows"] > 0);
  CHECK(report["streamed"]["held_rows"] < kRows);
  return report;
}

}  // namespace

TEST_CASE("clusters of points larger than the memory are those of points in memory") {
  const Scratch folder;
  for (const std::string& points : write_points(folder)) {
    const auto report = compare({"cluster", points, "-k", "9", "--init", "random", "--max-iterations", "5"}, folder);
    CHECK(report["streamed"]["passes"] <= report["iterations"].size() + 6);
  }
  const Words npy{"cluster", folder / "x.npy", "-k", "9", "--max-iterations", "4"};
  for (const Words& options :
       {Words{}, Words{"--init", "k-means||"}, Words{"--init", "farthest"}, Words{"--init", "random", "--n-init", "2"},
        Words{"--metric", "cosine"}, Words{"--save-distances", "--medoids"}}) {
    compare(npy + options, folder);
  }
  CHECK(done(npy + Words{"--memory", "13MB"}).says("k-means++ reads the rows that are not in memory 17 times"));
  std::ofstream weights(folder / "w.csv");
  for (std::int64_t i = 0; i < kRows; ++i) weights << (i % 5 + 1) * 0.5 << '\n';
  weights.close();
  compare(npy + Words{"--weights", folder / "w.csv"}, folder);
}

TEST_CASE("labels and neighbours of points larger than the memory are those of points in memory") {
  const Scratch folder;
  const std::string npy = write_points(folder).front(), queries = folder / "q.npy";
  write_npy(queries, values(300, 2));
  done({"cluster", npy, "-k", "9", "--max-iterations", "3", "-o", folder / "c.h5"});
  compare({"assign", npy, "--centroids", folder / "c.h5", "--save-distances"}, folder);
  compare({"knn", npy, "--queries", queries, "-k", "12"}, folder);
  compare({"knn", npy, "--queries", queries, "-k", "3", "--metric", "cosine"}, folder);
}

TEST_CASE("what cannot be computed in passes is refused before the points are read") {
  const Scratch folder;
  const std::string npy = write_points(folder).front();
  const auto refused = [&](const Words& command, const std::string& reason) {
    refuses(2, command + kLittle, {"needs about", "are allowed by --memory", reason});
  };
  refused({"cluster", npy, "-k", "3", "--batch", "100"}, "--batch needs all rows");
  refused({"cluster", npy, "-k", "3", "--algorithm", "bisecting"}, "bisecting needs all rows");
  refused({"cluster", npy, "-k", "3", "--explain"}, "--explain needs all rows");
  refused({"cluster", npy, "-k", "3", "--scale", "zscore"}, "--scale and --pca need");
  refused({"knn", npy, "-k", "3"}, "give --queries");
  refuses(2, {"cluster", npy, "-k", "3", "--memory", "1MB"}, {"the memory does not suffice"});
}
