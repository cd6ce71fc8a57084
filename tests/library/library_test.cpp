// The C++ interface finds what the command line finds, reports its progress, and can be cancelled.
#include <kith/kith.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "tests/support/numpy_files.h"
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

TEST_CASE("places, correlations and rows of bits are compared as the command line compares them") {
  const Scratch folder;
  std::vector<std::uint8_t> bytes;
  std::vector<double> bits, places;
  for (std::uint32_t i = 0, state = 1; i < 300 * 13; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<std::uint8_t>(state >> 24 & (i % 13 == 12 ? 0xf0U : 0xffU)));  // 100 bits a row
    for (unsigned b = 0; b < (i % 13 == 12 ? 4U : 8U); ++b) bits.push_back(bytes.back() >> (7 - b) & 1U);
    if (i % 13 < 2) places.push_back(i % 13 == 0 ? bytes.back() / 3.0 - 40.0 : bytes.back() * 1.4 - 180.0);
  }
  write_bytes(folder / "bits.npy", npy("'|u1'", false, "(300, 13)", {bytes.begin(), bytes.end()}));
  std::string text = "latitude,longitude\n";
  for (std::size_t i = 0; i < places.size(); i += 2) {
    text += std::to_string(places[i]) + "," + std::to_string(places[i + 1]) + "\n";
    places[i] = std::stod(std::to_string(places[i]));
    places[i + 1] = std::stod(std::to_string(places[i + 1]));
  }
  write_bytes(folder / "places.csv", text);
  const auto digits = kith::PointData::from_file(kDigits + ":/train");
  const kith::PointData packed(bytes, 13), columns(bits, 100), on_earth(places, 2);
  struct {
    std::string metric, file, radius;
    const kith::PointData& points;
    bool is_wide;
  } const cases[] = {{"hamming", folder / "bits.npy", "45", packed, false},
                     {"hamming", folder / "bits.npy", "45", columns, false},
                     {"jaccard", folder / "bits.npy", "0.6", packed, false},
                     {"jaccard", folder / "bits.npy", "0.6", columns, false},
                     {"correlation", kDigits, "0.1", digits, false},
                     {"haversine", folder / "places.csv", "900", on_earth, true}};
  for (const auto& one : cases) {
    INFO(one.metric);
    const std::string lists = folder / "lists.h5", graph = folder / "graph.h5";
    done({"knn", one.file, "-k", "4", "--metric", one.metric, "-f", "-o", lists, "-q"});
    done({"knn", one.file, "--radius", one.radius, "--metric", one.metric, "-f", "-o", graph, "-q"});
    const auto shown = [&one](const std::vector<double>& all) { return one.is_wide ? all : rounded(all); };
    const kith::Index index(kith::open().hold(one.points), {.metric = one.metric});
    const auto table = index.search(4);
    CHECK(wide(table.rows.values) == values(lists + ":/neighbors"));
    CHECK(shown(table.distances.values) == values(lists + ":/distances"));
    const auto within = index.within(std::stod(one.radius));
    CHECK(within.rows.size() > 300);
    CHECK(wide(within.begin) == values(graph + ":/indptr"));
    CHECK(wide(within.rows) == values(graph + ":/indices"));
    CHECK(shown(within.distances) == values(graph + ":/distances"));
    const auto all = index.points().distances(one.points, {.metric = one.metric});
    CHECK(all(0, table.rows(0, 0)) == table.distances(0, 0));
    CHECK(index.points().dbscan(std::stod(one.radius), 5, {.metric = one.metric}).core_rows.size() > 0);
  }
  const std::string clusters = folder / "c.h5";
  done({"cluster", kDigits, "-k", "5", "--metric", "correlation", "-o", clusters, "-q"});
  const auto found = kith::cluster(digits, 5, {.metric = "correlation"});
  CHECK(found.centroids.values == values(clusters + ":/centroids"));
  CHECK(kith::Model::from_file(clusters).assign(digits).labels == found.labels);
  CHECK(code_of([&] { kith::neighbors(on_earth, 4, {.metric = "jaccard"}); }, "points: row 1, column 1") ==
        kith::ExitCode::data);
  CHECK(code_of([&] { kith::neighbors(digits, 4, {.metric = "haversine"}); }, "latitude and longitude") ==
        kith::ExitCode::data);
  CHECK(code_of([&] { kith::cluster(packed, 2, {.metric = "hamming"}); }, "euclidean, cosine, correlation") ==
        kith::ExitCode::usage);
}

TEST_CASE("the C++ interface reports errors and progress, and stops when asked to") {
  const std::vector<double> line{1, 2, 3, 4}, wrong{1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
  const kith::PointData points(line, 1);
  CHECK(code_of([&] { kith::PointData(line, 3); }, "multiple of the number of columns") == kith::ExitCode::usage);
  CHECK(code_of([&] { kith::PointData(std::vector<double>{}, 3); }, "found none") == kith::ExitCode::usage);
  CHECK(code_of(
            [&] {
              kith::cluster(kith::PointData(std::vector<double>{2, 2, 5, 6}, 2), 1, {.metric = "correlation"});
            },
            "row 1 (counted from 1) has the value 2 in all columns, and no correlation; expected rows whose values "
            "differ for correlation") == kith::ExitCode::data);
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
    CHECK(code_of([&] { kith::assign(points, some); }, "centroids: row 2, column 1") == kith::ExitCode::data);
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

TEST_CASE("a model of centroids labels few points and many as assign() does") {
  std::vector<double> values;
  for (int i = 0; i < 400 * 3; ++i) values.push_back((i * 37 % 101) / 4.0);  // with equal rows and ties
  const auto points_of = [&](std::int64_t rows) {
    return kith::PointData(std::span(values).first(static_cast<std::size_t>(rows * 3)), 3);
  };
  const kith::OpenDevice device = kith::open();
  for (const std::int64_t clusters : {1, 7, 300}) {
    const kith::OwnedMatrix<double> centroids{clusters, 3, {values.begin() + 30, values.begin() + 30 + clusters * 3}};
    for (const std::string metric : {"euclidean", "cosine"}) {
      const kith::Model model = kith::Model::of(centroids, metric);
      for (const std::int64_t rows : {1, 16, 17, 40, 400}) {
        CAPTURE(clusters, metric, rows);
        const auto assigned = device.hold(points_of(rows)).assign(centroids, {.metric = metric});
        CHECK(model.labels(points_of(rows), device) == assigned.labels);
        CHECK(model.assign(points_of(rows), device).labels == assigned.labels);
      }
    }
  }
  const kith::Model model = kith::Model::of({2, 2, {0, 0, 1, 1}});
  CHECK(code_of([&] { static_cast<void>(model.labels(points_of(1), device)); }, "expected 2 columns") ==
        kith::ExitCode::usage);
  CHECK(code_of(
            [] {
              kith::Model::of({1, 2, {0, std::nan("")}});
            },
            "centroids: row 1, column 2") == kith::ExitCode::data);
  // Memory of the host is none of a GPU, where there is one.
  const bool has_gpu = kith::is_usable("cuda");
  CHECK(code_of([&] { kith::PointData::on_gpu(values.data(), 400, 3); }, has_gpu ? "the host" : "cuda: ") ==
        (has_gpu ? kith::ExitCode::usage : kith::ExitCode::device));
}

TEST_CASE("held points are searched and clustered again and again, by several threads") {
  const auto digits = kith::PointData::from_file(kDigits + ":/train");
  const kith::HeldPoints held = kith::open({.backend = "cpu", .threads = 2}).hold(digits);
  const auto clusters = kith::cluster(digits, 10, {.seed = 3});
  const auto lists = kith::neighbors(digits, 4, {.metric = "cosine"});
  const auto near = kith::radius(digits, digits, 20.0);
  const kith::Index index(held, {.metric = "cosine"}), euclidean(held);
  std::vector<std::jthread> threads;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        const bool same = i % 2 == 0 ? held.cluster(10, {.seed = 3}).labels == clusters.labels
                                     : index.search(4).rows.values == lists.rows.values;
        equal += same && euclidean.within(digits, 20.0).rows == near.rows ? 1 : 0;
      }
    });
  }
  threads.clear();
  CHECK(equal == 12);
  CHECK(held.assign(clusters.centroids, {.keep_distances = true}).inertia == clusters.inertia);
  CHECK(held.distances(digits).values[1797 * 5 + 5] == 0.0);
  CHECK_FALSE(held.is_wide());
  CHECK(code_of([&] { kith::Index(held, {.metric = "angle"}); }, "euclidean, cosine") == kith::ExitCode::usage);
}

TEST_CASE("options of the C++ interface are those of the command line") {
  const Scratch folder;
  const auto digits = kith::PointData::from_file(kDigits + ":/train");
  const kith::HeldPoints held = kith::open().hold(digits);
  const auto same = [&](const Words& words, const kith::ClusterOptions& options) {
    const std::string file = folder / "result.h5";
    Words all{"cluster", kDigits, "-k", "6", "-f", "-o", file, "-q"};
    all.insert(all.end(), words.begin(), words.end());
    done(all);
    const auto result = held.cluster(6, options);
    return wide(result.labels) == values(file + ":/labels") && result.centroids.values == values(file + ":/centroids");
  };
  CHECK(same({"--batch", "100", "--epochs", "2"}, {.batch = 100, .epochs = 2}));
  CHECK(same({"--batch", "100", "--no-finish"}, {.batch = 100, .finish = false}));
  CHECK(same({"--algorithm", "bisecting"}, {.algorithm = "bisecting"}));
  CHECK(same({"--empty", "keep", "--init", "random"}, {.init = "random", .empty_clusters = "keep"}));
  std::vector<double> weights(1797);
  std::string lines;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<double>(i % 4);  // some of weight 0
    lines += std::to_string(i % 4) + "\n";
  }
  std::ofstream(folder / "weights.csv") << lines;
  CHECK(same({"--weights", folder / "weights.csv"}, {.weights = weights}));
  weights.pop_back();
  CHECK(code_of([&] { held.cluster(6, {.weights = weights}); }, "expected 1797 weights") == kith::ExitCode::usage);

  const auto whole = held.cluster(6), begun = held.cluster(6, {.max_iterations = 3});
  CHECK(begun.stopped_by == "max-iterations");
  const auto continued = held.cluster(6, {.continued = &begun});
  CHECK(continued.labels == whole.labels);
  CHECK(continued.iterations == whole.iterations);
  done({"dbscan", kDigits, "--radius", "22", "-o", folder / "dense.h5", "-q"});
  const auto dense = held.dbscan(22.0);
  CHECK(wide(dense.labels) == values(folder / "dense.h5:/labels"));
  CHECK(wide(dense.core_rows) == values(folder / "dense.h5:/core_rows"));
  const auto scores = held.evaluate(whole.labels);
  CHECK(scores.silhouette > 0.1);
  CHECK(scores.silhouettes.size() == 1797);
  CHECK(code_of([&] { held.evaluate(std::vector<std::int32_t>(1797)); }, "2 to n - 1") == kith::ExitCode::data);
}

TEST_CASE("a held index is usable after a cancelled search and in a child") {
  std::vector<float> values(std::size_t{200'000} * 16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 2654435761U) % 1009);
  const std::vector<float> query(values.begin(), values.begin() + 16);
  const kith::Index index(kith::open({.backend = "cpu", .threads = 2}).hold(kith::PointData(std::move(values), 16)));
  const auto expected = index.search(kith::PointData(query, 16), 5);
  int asked = 0;
  const kith::RunOptions run{.cancelled = [&] { return ++asked == 4; }};
  CHECK(code_of([&] { index.search(20, run); }, "cancelled") == kith::ExitCode::time_limit);
  CHECK(index.search(kith::PointData(query, 16), 5).rows.values == expected.rows.values);
  const pid_t child = fork();
  if (child == 0) _exit(index.search(kith::PointData(query, 16), 5).rows.values == expected.rows.values ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
