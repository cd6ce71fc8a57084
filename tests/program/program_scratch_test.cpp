// --scratch: points that cannot be read in passes from their own file, with the bytes of a run in memory.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/hdf5_files.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"
#include "tests/support/streamed_runs.h"

using namespace kith::testing;

namespace {

constexpr std::int64_t kRows = kStreamedRows, kColumns = kStreamedColumns;

/// A folder with points, and one for --scratch.
struct Place {
  Scratch folder, spool;

  Words little(const std::string& memory = "13MB") const {
    return {"--memory", memory, "--scratch", spool.path().string()};
  }
  /// The run refuses without --scratch, for a reason, and gives the same bytes with it.
  nlohmann::json compare(const Words& command, const std::string& reason, const std::string& memory = "13MB") const {
    refuses(6, command + Words{"-q", "--memory", memory}, {"needs about", reason, "--scratch DIR"});
    nlohmann::json report = compare_streamed(command, little(memory), folder);
    CHECK(report["streamed"]["bytes"] > 0);
    CHECK(files_in(spool).empty());
    return report;
  }
};

Words cluster(const std::string& points) {
  return {"cluster", points, "-k", "9", "--init", "random", "--max-iterations", "2"};
}

std::string text_of(const std::vector<float>& x, std::int64_t columns = kColumns) {
  std::string text;
  for (std::size_t i = 0; i < x.size(); ++i) {
    text += std::to_string(static_cast<int>(x[i] * 1000)) + ((i + 1) % columns == 0 ? "\n" : ",");
  }
  return text;
}

}  // namespace

TEST_CASE("clusters of text, sparse and transposed points larger than the memory are those of points in memory") {
  const Place place;
  const std::string csv = place.folder / "x.csv", npy = place.folder / "x.npy", sparse = place.folder / "s.h5";
  const std::vector<float> x = streamed_values(kRows, 1);
  write_bytes(csv, text_of({x.begin(), x.begin() + kRows / 2 * kColumns}));  // float64
  const auto report = place.compare(cluster(csv), "text is parsed while it is read");
  CHECK(report["streamed"]["passes"] <= report["iterations"].size() + 6);
  CHECK(report["streamed"]["spooled_bytes"] == kRows / 2 * kColumns * 8);
  CHECK(report["streamed"]["held_rows"] < kRows / 2);

  done(cluster(csv) + Words{"-o", place.folder / "all.csv"});
  done(cluster("-") + Words{"-o", place.folder / "piped.csv"} + place.little(), {.standard_input = csv});
  CHECK(bytes_of(place.folder / "all.csv") == bytes_of(place.folder / "piped.csv"));
  write_bytes(csv, text_of({x.begin(), x.begin() + kRows / 2 * kColumns}, kRows / 2));
  done(cluster(csv) + Words{"--transpose", "-o", place.folder / "all.csv", "-f"});
  done(cluster("-") + Words{"--transpose", "-o", place.folder / "piped.csv", "-f"} + place.little("16MB"),
       {.standard_input = csv});
  CHECK(bytes_of(place.folder / "all.csv") == bytes_of(place.folder / "piped.csv"));

  write_npy(npy, x, "(90000, 40", true);
  place.compare(cluster(npy), "an array in column order");
  write_npy(npy, x, "(40, 90000");
  place.compare(cluster(npy) + Words{"--transpose", "--metric", "cosine"}, "columns are the points", "16MB");

  constexpr std::int64_t kSparseRows = 400'000, kSparseColumns = 80;  // 128 MB as float32
  std::vector<std::int64_t> starts(kSparseRows + 1);
  std::vector<std::int32_t> columns(kSparseRows);
  for (std::int64_t i = 0; i < kSparseRows; ++i) {
    starts[static_cast<std::size_t>(i + 1)] = i + 1;
    columns[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * i % kSparseColumns);
  }
  {
    FileMaker maker(sparse);
    const std::vector<std::int64_t> shape{kSparseColumns, kSparseRows};  // features x cells, as 10x Genomics writes it
    maker.group("m");
    maker.dataset("m/data", H5T_IEEE_F32LE, {kSparseRows}, H5T_NATIVE_FLOAT, x.data());
    maker.dataset("m/indices", H5T_STD_I32LE, {kSparseRows}, H5T_NATIVE_INT32, columns.data());
    maker.dataset("m/indptr", H5T_STD_I64LE, {kSparseRows + 1}, H5T_NATIVE_INT64, starts.data());
    maker.dataset("m/shape", H5T_STD_I64LE, {2}, H5T_NATIVE_INT64, shape.data());
  }
  refuses(6, cluster(sparse) + Words{"--memory", "60MB"}, {"sparse matrix", "--scratch DIR"});
  // The driver of a GPU, and every thread, would take memory besides.
  const Words machine{"--backend", "cpu", "--threads", "2"};
  const auto of_sparse = compare_streamed(cluster(sparse) + machine, place.little("60MB"), place.folder);
  if (!is_sanitized()) CHECK(of_sparse["memory"]["host"] < 100'000'000);  // with the program itself
  CHECK(files_in(place.spool).empty());
}

TEST_CASE("clusters of prepared points larger than the memory are those of points in memory") {
  const Place place;
  const std::string npy = place.folder / "x.npy", queries = place.folder / "q.npy";
  std::vector<float> x = streamed_values(kRows, 1);
  write_npy(npy, x);
  const std::string prepared = "rows are prepared once";
  place.compare(cluster(npy) + Words{"--scale", "zscore", "--pca", "38"}, prepared, "15MB");
  place.compare(cluster(npy) + Words{"--scale", "minmax", "--metric", "cosine"}, prepared);
  place.compare(cluster(npy) + Words{"--scale", "unit"}, prepared);
  place.compare(cluster(npy) + Words{"--precision", "f32"}, "--precision f32 counts");
  done(cluster(npy) + Words{"--scale", "zscore", "-o", place.folder / "c.h5"});
  place.compare({"assign", npy, "--centroids", place.folder / "c.h5", "--save-distances"}, prepared);

  for (std::size_t i = 5; i < x.size(); i += 40'010) x[i] = std::numeric_limits<float>::quiet_NaN();
  write_npy(npy, x);
  write_npy(queries, streamed_values(30, 2));
  std::ofstream weights(place.folder / "w.csv");
  for (std::int64_t i = 0; i < kRows; ++i) weights << (i % 5 + 1) * 0.5 << '\n';
  weights.close();
  const std::string dropped = "--nan drop changes the numbers of rows";
  place.compare(cluster(npy) + Words{"--nan", "drop", "--medoids", "--weights", place.folder / "w.csv"}, dropped,
                "15MB");
  place.compare(cluster(npy) + Words{"--nan", "drop", "--scale", "zscore", "--save-distances"}, prepared);
  place.compare({"knn", npy, "--nan", "drop", "--queries", queries, "-k", "7"}, dropped);
}

TEST_CASE("a run that fails or is killed leaves nothing in --scratch") {
  const Place place;
  const std::string csv = place.folder / "x.csv", out = place.folder / "out.h5";
  write_bytes(csv, text_of(streamed_values(kRows / 2, 1)));
  const Words words = cluster(csv) + Words{"-o", out, "-q"};
  refuses(5, words + Words{"--memory", "13MB", "--scratch", place.folder / "none"},
          {"--scratch", "none: expected a folder", "No such file"});
  refuses(5, words + place.little(), {"--scratch", "writing failed", "nothing was left behind"},
          {.file_bytes = 5'000'000});
  CHECK(files_in(place.spool).empty());
  const std::string large = place.folder / "large.npy";
  write_npy(large, {}, "(10000000, 100000", true);
  if (truncate(large.c_str(), 128 + 4'000'000'000'000) == 0) {  // some file systems have no such files
    refuses(5, cluster(large) + Words{"-q", "--backend", "cpu", "--threads", "2"} + place.little("900MB"),
            {"--scratch", "needs 3.6 TiB of disk space", "more than is free there"});
  }

  // A killed run has no file under a name; one that was killed while it made it goes with the next run.
  const std::string pipe = place.folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int end = open(pipe.c_str(), O_RDWR);
  REQUIRE(end >= 0);
  Running running(cluster("-") + place.little() + Words{"-q"}, {.standard_input = pipe});
  const std::string text = bytes_of(csv);  // more than stays in memory
  REQUIRE(write(end, text.data(), text.size()) == std::ssize(text));
  kill(running.process(), SIGKILL);
  CHECK(running.wait().code == 128 + SIGKILL);
  close(end);
  CHECK(files_in(place.spool).empty());
  write_bytes(place.spool / ".kith-scratch.1-0123456789abcdef.part", "left");
  done(words + place.little());
  CHECK(files_in(place.spool).empty());
}
