// Points larger than --memory: cluster, assign and knn read them in passes, with the same bytes in their results.
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/hdf5_files.h"
#include "tests/support/program.h"
#include "tests/support/streamed_runs.h"

using namespace kith::testing;

namespace {

constexpr std::int64_t kRows = kStreamedRows, kColumns = kStreamedColumns;
const Words kLittle{"--memory", "13MB"};

/// The same points in every format whose rows can be read at any place.
Words write_points(const Scratch& folder) {
  const std::vector<float> x = streamed_values(kRows, 1);
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

nlohmann::json compare(const Words& command, const Scratch& folder) {
  nlohmann::json report = compare_streamed(command, kLittle, folder);
  CHECK(report["streamed"]["held_rows"] < kRows);
  return report;
}

}  // namespace

TEST_CASE("the progress of a run in passes says what it has read") {
  const Scratch folder;
  write_points(folder);
  const Outcome outcome =
      run_kith(Words{"cluster", folder / "x.npy", "-k", "700", "--init", "random", "--tolerance", "0", "--memory",
                     "15MB", "--progress", "always", "--keep-best", "--time-limit", "1.2s", "--backend", "cpu"},
               {.environment = {"COLUMNS=200"}});
  INFO(outcome.err);
  CHECK((outcome.code == 0 || outcome.code == 124));
  CHECK(outcome.says("over the file"));
  CHECK(outcome.says("GB/s"));
}

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
  write_npy(queries, streamed_values(300, 2));
  done({"cluster", npy, "-k", "9", "--max-iterations", "3", "-o", folder / "c.h5"});
  compare({"assign", npy, "--centroids", folder / "c.h5", "--save-distances"}, folder);
  for (const char* metric : {"euclidean", "cosine", "manhattan"}) {
    const auto report = compare({"knn", npy, "--queries", queries, "-k", "12", "--metric", metric}, folder);
    // A GPU that runs out of memory reads a part again.
    CHECK(report["streamed"]["passes"] <= (report["backend"] == "cpu" ? 1 : 2));
  }
  compare({"knn", npy, "--queries", queries, "-k", "3", "--metric", "inner-product"}, folder);
  const auto report = compare({"knn", npy, "--queries", queries, "-k", "3", "--block-rows", "100"}, folder);
  CHECK((report["backend"] != "cpu" || report["streamed"]["passes"] == 3));  // a pass for each block of queries
  compare_streamed({"knn", npy, "--queries", queries, "--radius", "9"}, {"--memory", "147MB"}, folder);
}

TEST_CASE("a base that is read while it is searched has the lists of one in memory for any division of it") {
  const Scratch folder;
  const std::string npy = write_points(folder).front(), queries = folder / "q.npy";
  write_npy(queries, streamed_values(300, 2));
  const Words search{"knn", npy, "--queries", queries, "-k", "7", "-f", "-o"};
  done(search + Words{folder / "all.h5"});
  for (const char* memory : {"9MB", "11MB", "13MB", "15MB"}) {
    done(search + Words{folder / "part.h5", "--memory", memory});
    CHECK(bytes_of(folder / "all.h5") == bytes_of(folder / "part.h5"));
  }
}

TEST_CASE("a bad row of a base that is read while it is searched is reported, and nothing is written") {
  const Scratch folder;
  std::vector<float> x = streamed_values(kRows, 1);
  x[static_cast<std::size_t>(77'777 * kColumns + 5)] = std::numeric_limits<float>::quiet_NaN();
  write_npy(folder / "x.npy", x);
  write_npy(folder / "q.npy", streamed_values(300, 2));
  const Words search{"knn", folder / "x.npy", "--queries", folder / "q.npy", "-k", "7", "-o", folder / "out.h5"};
  refuses(3, search, {"x.npy", "row 77778, column 6"});
  refuses(3, search + kLittle, {"x.npy", "row 77778, column 6"});
  CHECK(!std::filesystem::exists(folder / "out.h5"));
}

TEST_CASE("distances and scores of points larger than the memory are those of points in memory") {
  const Scratch folder;
  const std::string npy = write_points(folder).front(), wide = folder / "wide.npy";
  done({"cluster", npy, "-k", "9", "--max-iterations", "3", "-o", folder / "c.h5"});
  const Words scores{"evaluate", folder / "c.h5", "--points", npy, "--silhouette"};
  const auto report = compare_streamed(scores + Words{"simplified", "--save-silhouette"}, {"--memory", "24MB"}, folder);
  // Two for the plan; sums, and distances to the means twice. A GPU may hold all rows after the first.
  CHECK(report["streamed"]["passes"] <= 5);
  const Words sweep{"sweep", npy, "-k", "2-4", "--max-iterations", "3", "--init", "random"};
  compare_streamed(sweep, {"--memory", "22MB"}, folder);
  refuses(6, sweep + Words{"--memory", "22MB", "--gap", "3"}, {"--gap makes as many points"});
  refuses(6, scores + Words{"exact", "--memory", "24MB"}, {"exact silhouettes", "give --silhouette simplified"});

  write_npy(wide, streamed_values(kRows, 3), "(450, 8000");
  for (const char* metric : {"euclidean", "cosine", "inner-product"}) {
    compare_streamed({"distances", wide, "--metric", metric}, {"--memory", "14MB"}, folder);
  }
  write_npy(folder / "few.npy", streamed_values(1000, 4), "(5, 8000");
  compare_streamed({"distances", folder / "few.npy", wide}, {"--memory", "14MB"}, folder);
  done({"distances", wide, folder / "few.npy", "-o", folder / "all.h5", "-f"});
  done({"distances", wide, folder / "few.npy", "-o", folder / "blocks.h5", "--memory", "8MB"});
  CHECK(bytes_of(folder / "all.h5") == bytes_of(folder / "blocks.h5"));
  CHECK(done({"info", "--stats", npy}).out == done({"info", "--stats", npy, "--memory", "4MB"}).out);
}

TEST_CASE("what cannot be computed in passes is refused before the points are read") {
  const Scratch folder;
  const std::string npy = write_points(folder).front();
  const auto refused = [&](const Words& command, const std::string& reason) {
    refuses(6, command + kLittle, {"needs about", "are allowed by --memory", reason});
  };
  refused({"cluster", npy, "-k", "3", "--batch", "100"}, "--batch needs all rows");
  refused({"cluster", npy, "-k", "3", "--algorithm", "bisecting"}, "bisecting needs all rows");
  refused({"cluster", npy, "-k", "3", "--explain"}, "--explain needs all rows");
  refused({"knn", npy, "-k", "3"}, "give --queries");
  refuses(6, {"cluster", npy, "-k", "3", "--memory", "1MB"}, {"the memory does not suffice"});
}

// Rows of outliers are the kind for which searches keep most: cells and trees of the rows.
TEST_CASE("runs in passes stay within their memory") {
  const Scratch folder;
  const std::string points = folder / "x.h5", few = folder / "few.h5";
  done({"generate", points, "-n", "200000", "-d", "128", "--kind", "outliers"});  // 102 MB
  done({"generate", few, "-n", "200", "-d", "128"});
  const Words options{"-k", "64", "--init", "random", "--max-iterations", "3", "--backend", "cpu", "--threads", "2"};
  const std::int64_t program = done(Words{"cluster", few} + options).peak_bytes;
  for (const std::int64_t megabytes : {40, 60}) {
    const Outcome outcome = done(Words{"cluster", points, "--memory", std::to_string(megabytes) + "MB"} + options);
    INFO(megabytes << " MB, and " << program << " bytes for the program");
    CHECK(outcome.peak_bytes - program < megabytes * 1'000'000);
    const Outcome search = done({"knn", points, "--queries", few, "-k", "10", "--memory",
                                 std::to_string(megabytes) + "MB", "--backend", "cpu", "--threads", "2"});
    CHECK(search.peak_bytes - program < megabytes * 1'000'000);
  }
}
