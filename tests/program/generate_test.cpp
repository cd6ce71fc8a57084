// Synthetic points: each kind by its properties, the same rows in any order and on any machine, and kith generate.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "app/synthetic/synthetic.h"
#include "bench/suites/bench.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;
using kith::Matrix;
using kith::app::Kind;
using kith::app::Recipe;
using kith::app::Synthetic;

namespace {

constexpr std::uint64_t kSeed = 3;

const Kind& kind_of(const std::string& name) { return kith::app::kind_of(name, "test"); }

Matrix<double> points_of(const std::string& kind, std::int64_t rows, std::int64_t columns) {
  kith::Threads threads(2);
  Matrix<double> points(rows, columns);
  const Synthetic synthetic({.kind = &kind_of(kind), .rows = rows, .columns = columns, .seed = kSeed});
  synthetic.fill(0, points.view(), threads);
  return points;
}

std::vector<double> column_of(const Matrix<double>& points, std::int64_t j) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < points.rows(); ++i) values.push_back(points(i, j));
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double length_of(std::span<const double> row) {
  double sum = 0.0;
  for (const double value : row) sum += value * value;
  return std::sqrt(sum);
}

/// The share of the rows for which `holds` is true.
template <class Holds>
double share_of_rows(const Matrix<double>& points, const Holds& holds) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < points.rows(); ++i) count += holds(points.row(i)) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(points.rows());
}

/// FNV-1a of the bits.
std::uint64_t hash_of(const Matrix<double>& points) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::int64_t i = 0; i < points.size(); ++i) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(points.data()[i])) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

TEST_CASE("rows of every kind are finite, and the same in any range and on any number of threads") {
  constexpr std::int64_t n = 6000, d = 5;
  kith::Threads one(1), three(3);
  for (const Kind& kind : kith::app::kinds()) {
    INFO(kind.name);
    const Recipe recipe{.kind = &kind, .rows = n, .columns = d, .seed = kSeed};
    Matrix<float> whole(n, d), parts(n, d), other(n, d);
    Synthetic(recipe).fill(0, whole.view(), one);
    for (const auto& [first, count] : {std::pair{4001, 1999}, {0, 1}, {1, 4000}}) {
      Synthetic(recipe).fill(first, parts.view().middle(first, count), three);
    }
    CHECK(std::equal(whole.data(), whole.data() + n * d, parts.data()));
    CHECK(std::all_of(whole.data(), whole.data() + n * d, [](float v) { return std::isfinite(v); }));
    Recipe seeded = recipe;
    seeded.seed = kSeed + 1;
    Synthetic(seeded).fill(0, other.view(), one);
    CHECK(!std::equal(whole.data(), whole.data() + n * d, other.data()));
  }
}

TEST_CASE("every kind but noise has the same bits on every machine") {
  const std::map<std::string, std::uint64_t> expected{
      {"blobs", 0xd38124178936bb4aU},
      {"uniform", 0x6980e582ffa7f27eU},
      {"shells", 0x134cd75d6705a84dU},
      {"blobs-1", 0x7b88857eebb58e85U},
      {"blobs-0.1", 0xc7f73f2b2e133850U},
      {"blobs-0.01", 0x2a6b9554764e5566U},
      {"few-blobs", 0x1cbaf1b5f1165b43U},
      {"blob-in-noise", 0xaead466753b02a9aU},
      {"near-duplicates", 0xf6a2596dab86c408U},
      {"repeated", 0x065a4ed88c858e85U},
      {"offset", 0x18ce647c67304e85U},
      {"scales", 0xdb2af2f32cf93685U},
      {"outliers", 0xbf1dcdd768ad8e85U},
      {"heavy-tails", 0x3133da2532cedfe8U},
      {"counts", 0xd903aabec5c58e85U},
      {"low-rank", 0x71402c750295bbcfU},
      {"cone", 0x7e5a3d4eacecd664U},
      {"spectrum", 0x1cc72071abe22f8aU},
      {"walks", 0x60c19c346f718e85U},
  };
  for (const Kind& kind : kith::app::kinds()) {
    if (kind.name == std::string("noise")) continue;
    INFO(kind.name << " " << fmt::format("{:#018x}", hash_of(points_of(kind.name, 200, 7))));
    REQUIRE(expected.count(kind.name) == 1);
    CHECK(hash_of(points_of(kind.name, 200, 7)) == expected.at(kind.name));
  }
}

TEST_CASE("noise is standard normal, and that of bench keeps its values") {
  const Matrix<double> points = points_of("noise", 20000, 6);
  for (const std::int64_t j : {0, 5}) {
    CHECK(std::abs(mean_of(column_of(points, j))) < 0.03);
    CHECK(deviation_of(column_of(points, j)) == Approx(1.0).epsilon(0.02));
  }
  kith::Threads threads(1);
  const Matrix<float> bench = kith::app::generated_points(1000, 7, kind_of("noise"), kith::app::kBenchSeed, threads);
  const float expected[] = {-0.831429541F, 0.953487337F,  -0.523217261F, 0.213360474F,
                            0.366996616F,  -0.449151069F, 0.0968587771F};
  for (int j = 0; j < 7; ++j) CHECK(bench(999, j) == Approx(expected[j]).epsilon(1e-5));
}

TEST_CASE("blobs have the deviation of their name around the centre of their label") {
  constexpr std::int64_t n = 8000, d = 6;
  for (const auto& [name, deviation, clusters] : {std::tuple{"blobs", 1.0, 10},
                                                  {"blobs-1", 1.0, 100},
                                                  {"blobs-0.1", 0.1, 100},
                                                  {"blobs-0.01", 0.01, 100},
                                                  {"few-blobs", 0.01, 4}}) {
    INFO(name);
    const Matrix<double> points = points_of(name, n, d);
    const Synthetic synthetic({.kind = &kind_of(name), .rows = n, .columns = d, .seed = kSeed});
    std::map<std::int32_t, std::vector<double>> values;  // of column 2, by label
    for (std::int64_t i = 0; i < n; ++i) values[synthetic.label(i)].push_back(points(i, 2));
    CHECK(std::ssize(values) == clusters);
    double squares = 0.0;
    std::vector<double> centers;
    for (const auto& [label, of_label] : values) {
      squares += deviation_of(of_label) * deviation_of(of_label);
      centers.push_back(mean_of(of_label));
    }
    CHECK(std::sqrt(squares / clusters) == Approx(deviation).epsilon(0.05));
    CHECK(deviation_of(centers) > (clusters == 10 ? 3.0 : 0.4));
    CHECK(deviation_of(centers) < (clusters == 10 ? 8.0 : 2.0));
  }
}

TEST_CASE("kinds with unequal rows: their shares") {
  const Matrix<double> halves = points_of("blob-in-noise", 4000, 16);
  CHECK(share_of_rows(halves, [](auto row) { return length_of(row) < 0.1; }) == Approx(0.5).margin(0.03));
  CHECK(share_of_rows(halves, [](auto row) { return length_of(row) > 0.5; }) == Approx(0.5).margin(0.03));

  const Matrix<double> outliers = points_of("outliers", 20000, 16);
  const double share = share_of_rows(outliers, [](auto row) { return length_of(row) > 1e4; });
  CHECK(share == share_of_rows(outliers, [](auto row) { return length_of(row) > 20.0; }));
  CHECK(share == Approx(1e-3).margin(6e-4));

  const Matrix<double> tails = points_of("heavy-tails", 20000, 3);
  const auto beyond = [&](double limit) {
    return share_of_rows(tails, [=](auto row) { return std::abs(row[1]) > limit; });
  };
  CHECK(beyond(std::sqrt(2.0 / 3.0)) == Approx(0.5).margin(0.02));
  CHECK(beyond(10.0) == Approx(0.00985).epsilon(0.3));
}

TEST_CASE("near duplicates lie together in groups of about four, repeated rows are equal in about fifty") {
  const Matrix<double> near = points_of("near-duplicates", 2000, 8);
  std::set<std::int64_t> groups;
  std::vector<double> nearest;
  for (std::int64_t i = 0; i < near.rows(); ++i) {
    std::int64_t first = i;
    for (std::int64_t other = near.rows() - 1; other >= 0; --other) {
      double squares = 0.0;
      for (std::int64_t j = 0; j < 8; ++j) squares += (near(i, j) - near(other, j)) * (near(i, j) - near(other, j));
      if (squares > 1e-5) continue;
      first = other;
      if (other != i) nearest.push_back(std::sqrt(squares));
    }
    groups.insert(first);
  }
  CHECK(static_cast<double>(groups.size()) == Approx(2000.0 / 4.0).epsilon(0.05));
  CHECK(mean_of(nearest) == Approx(1e-4 * std::sqrt(2.0 * 8.0)).epsilon(0.05));

  const Matrix<double> repeated = points_of("repeated", 5000, 4);
  std::set<std::vector<double>> distinct;
  for (std::int64_t i = 0; i < 5000; ++i) distinct.emplace(repeated.row(i).begin(), repeated.row(i).end());
  CHECK(distinct.size() == 101);
}

TEST_CASE("kinds with unequal columns: their means and deviations") {
  const auto deviations = [](const char* kind, std::initializer_list<double> expected) {
    INFO(kind);
    const Matrix<double> points = points_of(kind, 8000, 16);
    std::int64_t j = 0;
    for (const double deviation : expected) {
      CHECK(deviation_of(column_of(points, j++)) == Approx(deviation).epsilon(0.05));
    }
  };
  deviations("uniform", {20.0 / std::sqrt(12.0)});
  deviations("scales", {1e4, 100.0, 1.0, 1.0});
  deviations("spectrum", {20.0, 20.0 / std::sqrt(2.0), 20.0 / std::sqrt(3.0), 10.0});
  deviations("walks", {1.0, std::sqrt(2.0), std::sqrt(3.0), 2.0});
  deviations("offset", {1.0, 1.0});
  CHECK(mean_of(column_of(points_of("offset", 8000, 16), 3)) == Approx(1000.0).margin(0.1));
}

TEST_CASE("counts are whole, cones have length 1, shells their radii, and low-rank rows few directions") {
  const Matrix<double> counts = points_of("counts", 8000, 3);
  CHECK(share_of_rows(counts, [](auto row) { return row[1] >= 0.0 && row[1] == std::rint(row[1]); }) == 1.0);
  CHECK(share_of_rows(counts, [](auto row) { return row[1] == 0.0; }) > 0.5);
  CHECK(mean_of(column_of(counts, 1)) == Approx(0.3 * std::exp(0.5)).epsilon(0.1));
  for (const double x : {-121.0, -1.0, 0.0, 1e-9, 6.0}) {
    CHECK(kith::app::exponential(x) == Approx(std::exp(x)).epsilon(1e-10));
  }

  const Matrix<double> cone = points_of("cone", 500, 20);
  CHECK(share_of_rows(cone, [](auto row) { return std::abs(length_of(row) - 1.0) < 1e-12 && row[0] > 0.9; }) == 1.0);

  const Synthetic synthetic({.kind = &kind_of("shells"), .rows = 500, .columns = 4, .seed = kSeed});
  std::vector<double> row(4);
  for (std::int64_t i = 0; i < 500; ++i) {
    synthetic.row(i, row);
    CHECK(length_of(row) == Approx(1.0 + synthetic.label(i)).epsilon(0.06));
  }

  // Once 16 rows are removed from the others by orthogonalization, only the noise is left.
  Matrix<double> rank = points_of("low-rank", 20, 300);
  CHECK(deviation_of({rank.data(), rank.data() + rank.size()}) == Approx(std::sqrt(8.0)).epsilon(0.3));
  for (std::int64_t i = 0; i < 16; ++i) {
    const double length = length_of(rank.row(i));
    for (std::int64_t other = i + 1; other < 20; ++other) {
      double product = 0.0;
      for (std::int64_t j = 0; j < 300; ++j) product += rank(i, j) / length * rank(other, j);
      for (std::int64_t j = 0; j < 300; ++j) rank(other, j) -= product * rank(i, j) / length;
    }
  }
  for (std::int64_t i = 16; i < 20; ++i) CHECK(length_of(rank.row(i)) < 0.1 * std::sqrt(300.0));
}

TEST_CASE("generate writes every kind, lists them in its help, and refuses others") {
  const Scratch folder;
  const std::string file = folder / "x.h5", help = done({"generate", "--help"}, {.environment = {"COLUMNS=100"}}).out;
  kith::Threads threads(2);
  for (const Kind& kind : kith::app::kinds()) {
    INFO(kind.name);
    CHECK(help.find(std::string("\n  ") + kind.name + " ") != std::string::npos);
    CHECK(help.find(kind.summary) != std::string::npos);
    const Words words{"generate", file, "--kind", kind.name, "-n", "300", "-d", "6", "-f", "-q", "--seed", "20"};
    done(words);
    const Matrix<float> bench = kith::app::generated_points(300, 6, kind, kith::app::kBenchSeed, threads);
    CHECK(values(file + ":/points") == std::vector<double>(bench.data(), bench.data() + bench.size()));
    const std::string listed = done({"info", file}).out;
    CHECK((listed.find("labels") != std::string::npos) == (kind.clusters > 0));

    Words bytes = words;
    bytes.insert(bytes.end(), {"--type", "uint8"});
    done(bytes);
    const std::vector<double> whole = values(file + ":/points");
    CHECK(std::set<double>(whole.begin(), whole.end()).size() >= 3);
  }
  done({"generate", file, "--kind", "blobs-0.1", "-n", "300", "-k", "7", "-f", "-q"});
  const std::vector<double> labels = values(file + ":/labels");
  CHECK(std::set<double>(labels.begin(), labels.end()).size() == 7);
  CHECK(done({"generate", file, "--kind", "outliers", "-k", "7", "-f"})
            .says("--clusters has no effect: outliers points"));
  // Arrays and tables have the same points.
  const Words words{"--kind", "blobs-0.1", "-n", "300", "-k", "7", "-f", "-q"};
  for (const char* type : {"float32", "float64", "uint8", "int32", "int64"}) {
    INFO(type);
    const auto make = [&](const std::string& out) {
      Words all{"generate", out, "--type", type};
      all.insert(all.end(), words.begin(), words.end());
      done(all);
    };
    for (const std::string& out : {file, folder / "x.npy", folder / "x.csv"}) make(out);
    CHECK(values(folder / "x.npy") == values(file + ":/points"));
    done({"cluster", folder / "x.csv", "-k", "1", "--label-column", "label", "-o", folder / "o.csv", "-f", "-q"});
    const auto scores = done({"evaluate", folder / "o.csv:known", "--truth", file + ":/labels", "--json"}).json();
    CHECK(scores["evaluation"]["adjusted_rand_index"] == 1);
    // The text has the digits that give a float32 back.
    const Words rounding{"--precision", std::string(type) == "float64" ? "f64" : "f32", "-f", "-q", "-o"};
    const auto distances = [&](Words words, const std::string& out) {
      words.insert(words.end(), rounding.begin(), rounding.end());
      words.push_back(out);
      done(words);
    };
    distances({"distances", folder / "x.csv", "--drop-columns", "label"}, folder / "d.npy");
    distances({"distances", file + ":/points"}, folder / "e.npy");
    CHECK(values(folder / "d.npy") == values(folder / "e.npy"));
  }
  refuses(2, {"generate", folder / "x.npy:/points", "-f"}, {"expected " + folder / "x.npy" + " alone"});
  refuses(5, {"generate", folder / "x.fvecs"}, {"give a name that ends with .h5"});
  refuses(2, {"generate", file, "-f", "--kind", "few-blob"},
          {"--kind: expected noise, blobs,", "low-rank", "found 'few-blob'; the nearest is few-blobs"});
}
