// The C++ interface finds what the command line finds, reports its progress, and can be cancelled.
#include <kith/kith.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

template <class T>
std::vector<double> wide(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}
/// Distances as files of class f32 hold them.
std::vector<double> rounded(const std::vector<double>& values) {
  std::vector<double> all;
  for (const double v : values) all.push_back(static_cast<float>(v));
  return all;
}

kith::ExitCode code_of(const std::function<void()>& call, const std::string& said) {
  try {
    call();
  } catch (const kith::Error& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).find(said) != std::string::npos);
    return error.code();
  }
  return kith::ExitCode::done;
}

}  // namespace

TEST_CASE("the C++ interface finds the bytes of the command line") {
  const Scratch folder;
  const auto digits = kith::PointData::from_file(kDigits + ":/train");
  CHECK(digits.rows() == 1797);
  for (const std::string metric : {"euclidean", "cosine"}) {
    const std::string file = folder / (metric + ".h5"), nearest = folder / (metric + "_assigned.h5");
    done({"cluster", kDigits, "-k", "10", "--metric", metric, "--seed", "3", "-o", file, "-q"});
    const auto result = kith::cluster(digits, 10, {.metric = metric, .seed = 3});
    CHECK(wide(result.labels) == values(file + ":/labels"));
    CHECK(result.centroids.values == values(file + ":/centroids"));
    CHECK(wide(result.counts) == values(file + ":/counts"));
    CHECK(wide(result.nearest_row) == values(file + ":/nearest_row"));
    CHECK(result.inertia_per_cluster == values(file + ":/inertia_per_cluster"));
    const auto again = kith::assign(digits, result.centroids, {.metric = metric});
    CHECK(again.labels == result.labels);
    CHECK(again.inertia == result.inertia);
  }
  for (const std::string metric : {"euclidean", "cosine", "manhattan"}) {
    const std::string file = folder / (metric + "_knn.h5");
    done({"knn", kDigits, "-k", "4", "--metric", metric, "-o", file, "-q"});
    const auto table = kith::neighbors(digits, 4, {.metric = metric});
    CHECK(wide(table.rows.values) == values(file + ":/neighbors"));
    CHECK(rounded(table.distances.values) == values(file + ":/distances"));
  }
  done({"knn", kDigits, "--radius", "20", "-o", folder / "graph.h5", "-q"});
  const auto within = kith::radius(digits, 20.0);
  CHECK(wide(within.begin) == values(folder / "graph.h5:/indptr"));
  CHECK(wide(within.rows) == values(folder / "graph.h5:/indices"));
}

TEST_CASE("points from memory are those from a file, for queries too") {
  const auto read = values(kDigits + ":/train");
  const std::vector<float> floats(read.begin(), read.end());
  const kith::PointData points(floats, 64), wide_points(read, 64),
      digits = kith::PointData::from_file(kDigits + ":/train");
  const auto expected = kith::neighbors(digits, digits, 3);
  CHECK(kith::neighbors(points, points, 3).rows.values == expected.rows.values);
  CHECK(kith::neighbors(wide_points, points, 3).distances.values == expected.distances.values);
  CHECK(kith::cluster(points, 5).centroids.values == kith::cluster(digits, 5).centroids.values);
  CHECK(expected.rows(7, 0) == 7);
}

TEST_CASE("the C++ interface reports errors and progress, and stops when asked to") {
  const std::vector<double> line{1, 2, 3, 4}, wrong{1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
  const kith::PointData points(line, 1);
  CHECK(code_of([&] { kith::PointData(line, 3); }, "multiple of the number of columns") == kith::ExitCode::usage);
  CHECK(code_of([&] { kith::PointData(wrong, 2); }, "row 2, column 1") == kith::ExitCode::data);
  CHECK(code_of([&] { kith::cluster(points, 5); }, "4") == kith::ExitCode::usage);
  CHECK(code_of([&] { kith::cluster(points, 2, {.metric = "manhattan"}); }, "euclidean, cosine") ==
        kith::ExitCode::usage);
  CHECK(code_of([&] { kith::cluster(points, 2, {.init = "kmeans++"}); }, "k-means++") == kith::ExitCode::usage);
  CHECK(code_of([&] { kith::cluster(points, 2, {.run = {.backend = "tpu"}}); }, "tpu") == kith::ExitCode::usage);
  for (const int threads : {-1, 4097, 1'000'000'000}) {
    CHECK(code_of([&] { kith::cluster(points, 2, {.run = {.threads = threads}}); },
                  "threads: expected a number from 0") == kith::ExitCode::usage);
  }
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const kith::OwnedMatrix<double> some{2, 1, {1.0, value}}, all{1, 1, {value}};
    CHECK(code_of([&] { kith::assign(points, some); }, "centroids: expected finite values") == kith::ExitCode::data);
    CHECK(code_of([&] { kith::assign(points, some, {.metric = "cosine"}); }, "row 2, column 1") ==
          kith::ExitCode::data);
    CHECK(code_of([&] { kith::assign(points, all); }, "row 1, column 1") == kith::ExitCode::data);
  }
  CHECK(code_of([&] { kith::neighbors(points, 4); }, "4") == kith::ExitCode::usage);
  CHECK(code_of([&] { kith::radius(points, -1.0); }, "radius") == kith::ExitCode::usage);
  CHECK(code_of([&] { kith::PointData::from_file("missing.h5"); }, "missing.h5") == kith::ExitCode::data);
  CHECK(kith::is_usable("cpu"));
  CHECK(done({"--version"}).out == std::string("kith ") + kith::library_version() + "\n");

  Words phases;
  kith::ClusterOptions options;
  options.run.on_progress = [&](const kith::ProgressReport& report) { phases.push_back(report.phase); };
  kith::cluster(points, 2, options);
  CHECK(std::find(phases.begin(), phases.end(), "iterate") != phases.end());
  int asked = 0;
  options.run.cancelled = [&] { return ++asked == 3; };
  CHECK(code_of([&] { kith::cluster(points, 2, options); }, "cancelled") == kith::ExitCode::time_limit);
}
