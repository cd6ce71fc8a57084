// --metric cosine, run as a user runs it: near-duplicates are ordered by their directions in float64 (contract, version
// 2), rows of zeros, and values whose squares are too small.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/program.h"
#include "tests/support/reference.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

constexpr std::int64_t kRows = 240, kColumns = 24;

/// Groups of eight rows whose directions differ by less than float32 can tell, of different lengths.
std::vector<float> near_duplicates() {
  std::vector<float> rows(static_cast<std::size_t>(kRows * kColumns));
  std::uint32_t state = 12345;
  const auto draw = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8) / 16777216.0F;
  };
  std::vector<float> base(kColumns);
  for (std::int64_t i = 0; i < kRows; ++i) {
    if (i % 8 == 0) std::generate(base.begin(), base.end(), [&] { return draw() - 0.4F; });
    const float length = 0.25F + 3 * draw();
    for (std::int64_t j = 0; j < kColumns; ++j) rows[i * kColumns + j] = base[j] * length * (1 + 2e-7F * draw());
  }
  return rows;
}

/// x_j s with s = 1 / sqrt(dot(x, x)), in plain loops.
Matrix<double> directions(const std::vector<float>& rows) {
  Matrix<double> out(std::ssize(rows) / kColumns, kColumns);
  const std::vector<double> zero(kColumns, 0.0);
  std::copy(rows.begin(), rows.end(), out.data());
  for (std::int64_t i = 0; i < out.rows(); ++i) {
    const double s = 1.0 / std::sqrt(test::reference_distance(out.row(i).data(), zero.data(), kColumns));
    for (double& x : out.row(i)) x *= s;
  }
  return out;
}

struct Expected {
  std::vector<double> neighbors, distances;
};

/// Lists of k neighbours among other rows, and their distances as float32.
Expected expected_lists(const Matrix<double>& rows, std::int64_t k) {
  Expected expected;
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.rows()));
  std::vector<double> squared(order.size());
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    for (std::int64_t j = 0; j < rows.rows(); ++j) {
      squared[j] = j == i ? INFINITY : test::reference_distance(rows.row(i).data(), rows.row(j).data(), kColumns);
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return squared[a] < squared[b]; });
    for (std::int64_t place = 0; place < k; ++place) {
      expected.neighbors.push_back(static_cast<double>(order[place]));
      expected.distances.push_back(static_cast<float>(std::sqrt(squared[order[place]])));
    }
  }
  return expected;
}

void write_rows(const std::string& file, std::vector<float> rows) {
  const auto count = static_cast<hsize_t>(std::ssize(rows) / kColumns);
  FileMaker(file).floats("points", {count, kColumns}, rows);
}

}  // namespace

TEST_CASE("near-duplicates by cosine are ordered by their directions in float64, however they are searched") {
  const Scratch folder;
  const std::string file = folder / "points.h5", out = folder / "lists.h5";
  const std::vector<float> rows = near_duplicates();
  write_rows(file, rows);
  const Matrix<double> units = directions(rows);
  const Expected expected = expected_lists(units, 9);
  for (const std::string& backend : usable_backends()) {
    for (const Words& how :
         {Words{}, Words{"--threads", "1"}, Words{"--block-rows", "7"}, Words{"--queries", file, "--include-self"}}) {
      INFO(backend << " " << nlohmann::json(how).dump());
      Words words{"knn", file, "-k", "9", "--metric", "cosine", "--backend", backend, "-q", "-f", "-o", out};
      words.insert(words.end(), how.begin(), how.end());
      if (how.size() == 3) {  // each row finds itself first
        words[3] = "10";
        done(words);
        const std::vector<double> found = values(out + ":/neighbors");
        for (std::int64_t i = 0; i < kRows; ++i) {
          const auto list = found.begin() + i * 10;
          std::vector<double> others;
          std::copy_if(list, list + 10, std::back_inserter(others), [&](double row) { return row != i; });
          CHECK(std::equal(others.begin(), others.begin() + 9, expected.neighbors.begin() + i * 9));
        }
        continue;
      }
      done(words);
      CHECK(values(out + ":/neighbors") == expected.neighbors);
      CHECK(values(out + ":/distances") == expected.distances);
    }
  }
  // Rounded to float32, these directions have other neighbours: the test would notice.
  std::vector<float> rounded(rows.size());
  std::copy(units.data(), units.data() + units.size(), rounded.begin());
  Matrix<double> narrow(kRows, kColumns);
  std::copy(rounded.begin(), rounded.end(), narrow.data());
  CHECK(expected_lists(narrow, 9).neighbors != expected.neighbors);
}

TEST_CASE("a radius, labels and distances by cosine are those of directions in float64") {
  const Scratch folder;
  const std::string file = folder / "points.h5", centroids = folder / "centroids.h5", out = folder / "out.h5";
  const std::vector<float> rows = near_duplicates();
  write_rows(file, rows);
  const Matrix<double> units = directions(rows);
  // Sixteen rows of two groups as centroids, whose float64 directions are given.
  FileMaker(centroids).dataset("c", H5T_IEEE_F64LE, {16, kColumns}, H5T_NATIVE_DOUBLE, units.data());
  std::vector<double> labels;
  for (std::int64_t i = 0; i < kRows; ++i) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < 16; ++c) {
      const auto to = [&](std::int64_t other) {
        return test::reference_distance(units.row(i).data(), units.row(other).data(), kColumns);
      };
      if (to(c) < to(best)) best = c;
    }
    labels.push_back(static_cast<double>(best));
  }
  const double radius = 1.5e-7;
  std::vector<double> counts;
  for (std::int64_t i = 0; i < kRows; ++i) {
    double count = 0;
    for (std::int64_t j = 0; j < kRows; ++j) {
      count +=
          j != i && test::reference_distance(units.row(i).data(), units.row(j).data(), kColumns) <= radius * radius;
    }
    counts.push_back(count);
  }
  for (const std::string& backend : usable_backends()) {
    INFO(backend);
    done({"assign", file, "--centroids", centroids, "--metric", "cosine", "--backend", backend, "-q", "-f", "-o", out});
    CHECK(values(out + ":/labels") == labels);
    done({"knn", file, "--radius", "1.5e-7", "--metric", "cosine", "--backend", backend, "-q", "-f", "-o", out});
    const std::vector<double> offsets = values(out + ":/indptr");
    for (std::int64_t i = 0; i < kRows; ++i) CHECK(offsets[i + 1] - offsets[i] == counts[i]);
    done({"distances", file, "--metric", "cosine", "--squared", "--precision", "f64", "--backend", backend, "-q", "-f",
          "-o", out});
    const std::vector<double> all = values(out + ":/distances");
    for (std::int64_t i = 0; i < kRows; ++i) {
      CHECK(all[i] == test::reference_distance(units.row(i).data(), units.row(0).data(), kColumns));
    }
  }
}

TEST_CASE("clusters by cosine have the same bytes from values of any type, streamed and prepared") {
  const Scratch folder;
  const std::string a = folder / "a.h5", b = folder / "b.h5";
  done({"generate", folder / "bytes.h5", "-n", "1500", "-d", "20", "--type", "uint8", "-q"});
  done({"generate", folder / "floats.h5", "-n", "1500", "-d", "20", "--integers", "-q"});
  done({"generate", folder / "doubles.h5", "-n", "1500", "-d", "20", "--type", "float64", "--integers", "-q"});
  const auto centroids = [&](const std::string& points, const Words& how) {
    Words words{"cluster", folder / points, "-k", "7", "--metric", "cosine", "-q", "-f", "-o", a};
    words.insert(words.end(), how.begin(), how.end());
    done(words);
    return values(a + ":/centroids");
  };
  for (const Words& how : {Words{}, Words{"--scale", "zscore"}, Words{"--pca", "5"}, Words{"--scale", "minmax"}}) {
    const std::vector<double> expected = centroids("bytes.h5:/points", how);
    CHECK(centroids("floats.h5:/points", how) == expected);
    CHECK(centroids("doubles.h5:/points", how) == expected);
  }
}

TEST_CASE("rows of zeros have no direction: refused with the remedy, which drops them and says so") {
  const Scratch folder;
  const std::string file = folder / "points.h5";
  std::vector<float> rows = near_duplicates();
  std::vector<float> others(rows.begin(), rows.begin() + 40 * kColumns);
  std::fill_n(rows.begin() + 7 * kColumns, kColumns, 0.0F);
  std::fill_n(rows.begin() + 33 * kColumns, kColumns, -0.0F);
  rows.resize(42 * kColumns);
  write_rows(file, rows);
  refuses(3, {"cluster", file, "-k", "2", "--metric", "cosine"}, {"row 8 (counted from 1)", "--nan drop"});
  refuses(3, {"knn", file, "-k", "2", "--metric", "cosine"}, {"row 8 (counted from 1)", "--nan drop"});
  for (const Words& words : {Words{"cluster", file, "-k", "2"}, Words{"knn", file, "-k", "2"},
                             Words{"knn", file, "-k", "2", "--queries", file}, Words{"dbscan", file, "--radius", "0.1"},
                             Words{"cluster", file, "-k", "2", "--memory", "30MB", "--scratch", folder.path()}}) {
    Words all = words;
    all.insert(all.end(), {"--metric", "cosine", "--nan", "drop", "-f", "-o", folder / "out.h5"});
    const Outcome outcome = done(all);
    INFO(outcome.err);
    CHECK(outcome.says("2 of 42 rows dropped for NaN, infinity, empty fields or zeros"));
  }
  done({"cluster", file, "-k", "2", "--metric", "cosine", "--nan", "drop", "-q", "-f", "-o", folder / "out.h5"});
  const std::vector<double> labels = values(folder / "out.h5:/labels");
  CHECK((labels[7] == -1 && labels[33] == -1));
  CHECK(std::count(labels.begin(), labels.end(), -1.0) == 2);
}

TEST_CASE("rows that a preparation makes zero are refused with remedies that work") {
  const Scratch folder;
  const std::string file = folder / "x.csv", zero = folder / "z.csv";
  write_bytes(file, "1,1\n2,5\n3,4\n4,9\n");  // the first row has the minimum of each column
  write_bytes(zero, "1,1\n0,0\n3,4\n4,9\n");
  const Words scaled{"cluster", file, "-k", "2", "--scale", "minmax"}, unit{"cluster", zero, "-k", "2"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refuses(3, with(scaled, {"--metric", "cosine"}),
          {"row 1 (counted from 1)", "give --metric euclidean, or leave out --scale and --pca"});
  done(with(scaled, {"--metric", "euclidean"}));
  done({"cluster", file, "-k", "2", "--metric", "cosine"});
  refuses(3, with(unit, {"--scale", "unit"}),
          {"row 2 (counted from 1)", "--metric cosine --nan drop in place of --scale unit"});
  CHECK(done(with(unit, {"--metric", "cosine", "--nan", "drop"})).says("1 of 4 rows dropped"));
}

TEST_CASE("values whose squares are too small are refused with a remedy that works") {
  const Scratch folder;
  const std::string file = folder / "tiny.h5";
  std::vector<double> rows(60);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 1e-170 * static_cast<double>(i * i % 23);
  FileMaker(file).dataset("points", H5T_IEEE_F64LE, {20, 3}, H5T_NATIVE_DOUBLE, rows.data());
  for (const Words& words : {Words{"knn", file, "-k", "1"}, Words{"cluster", file, "-k", "2"},
                             Words{"knn", file, "-k", "1", "--queries", file}}) {
    refuses(3, words, {"column 1", "squared", "multiply the values by a power of ten"});
  }
  done({"knn", file, "-k", "1", "--metric", "manhattan"});
  done({"cluster", file, "-k", "2", "--scale", "zscore"});
  for (double& x : rows) x *= 1e160;
  FileMaker(folder / "larger.h5").dataset("points", H5T_IEEE_F64LE, {20, 3}, H5T_NATIVE_DOUBLE, rows.data());
  done({"cluster", folder / "larger.h5", "-k", "2"});
  std::fill(rows.begin(), rows.end(), 1e-170);  // equal rows are no reason to refuse
  FileMaker(folder / "equal.h5").dataset("points", H5T_IEEE_F64LE, {20, 3}, H5T_NATIVE_DOUBLE, rows.data());
  done({"knn", folder / "equal.h5", "-k", "1"});
}

namespace {

/// Rows less their means, in plain loops: the mean is added in 32 lanes and a tree.
Matrix<double> deviations(const std::vector<float>& rows) {
  Matrix<double> out(std::ssize(rows) / kColumns, kColumns);
  std::copy(rows.begin(), rows.end(), out.data());
  for (std::int64_t i = 0; i < out.rows(); ++i) {
    std::vector<double> lane(32, 0.0);
    for (std::int64_t j = 0; j < kColumns; ++j) lane[j % 32] += out(i, j);
    for (std::size_t w = 16; w > 0; w /= 2) {
      for (std::size_t l = 0; l < w; ++l) lane[l] += lane[l + w];
    }
    for (double& x : out.row(i)) x -= lane[0] / kColumns;
  }
  return out;
}

}  // namespace

TEST_CASE("correlation is the cosine of rows less their means, at the distance 1 - r") {
  const Scratch folder;
  const std::string file = folder / "points.h5", centred = folder / "centred.h5", out = folder / "out.h5";
  const std::vector<float> rows = near_duplicates();
  write_rows(file, rows);
  const Matrix<double> less = deviations(rows);
  FileMaker(centred).dataset("points", H5T_IEEE_F64LE, {kRows, kColumns}, H5T_NATIVE_DOUBLE, less.data());
  const auto run = [&](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"-q", "-f", "-o", out});
    done(words);
  };
  const Words precise{"--precision", "f64"};
  run({"knn", centred, "-k", "7", "--metric", "cosine", "--squared"}, precise);
  const std::vector<double> lists = values(out + ":/neighbors");
  std::vector<double> halves = values(out + ":/distances");
  for (double& d : halves) d /= 2.0;
  for (const std::string& backend : usable_backends()) {
    for (const Words& how : {Words{}, Words{"--threads", "1"}, Words{"--block-rows", "7"}}) {
      Words more = how;
      more.insert(more.end(), {"--precision", "f64", "--backend", backend});
      run({"knn", file, "-k", "7", "--metric", "correlation"}, more);
      CHECK(values(out + ":/neighbors") == lists);
      CHECK(values(out + ":/distances") == halves);
    }
  }
  // 1 - r by its formula.
  for (std::int64_t i : {0, 100, 239}) {
    const auto other = static_cast<std::int64_t>(lists[i * 7 + 6]);
    double xy = 0.0, xx = 0.0, yy = 0.0;
    for (std::int64_t j = 0; j < kColumns; ++j) {
      xy += less(i, j) * less(other, j);
      xx += less(i, j) * less(i, j);
      yy += less(other, j) * less(other, j);
    }
    CHECK(std::abs(halves[i * 7 + 6] - (1.0 - xy / std::sqrt(xx * yy))) <= 1e-14);
  }
  // A radius is one of 1 - r, R included.
  const double radius = halves[3];
  run({"knn", file, "--radius", fmt::format("{}", radius), "--metric", "correlation"}, precise);
  CHECK(values(out + ":/indptr").at(1) ==
        static_cast<double>(std::count_if(halves.begin(), halves.begin() + 7, [&](double d) { return d <= radius; })));
  // Clusters are those of the centred rows by cosine, and a model centres new rows itself.
  run({"cluster", centred, "-k", "5", "--metric", "cosine"}, {});
  const std::vector<double> labels = values(out + ":/labels"), centroids = values(out + ":/centroids");
  run({"cluster", file, "-k", "5", "--metric", "correlation"}, precise);
  CHECK(values(out + ":/labels") == labels);
  CHECK(values(out + ":/centroids") == centroids);
  const std::string model = folder / "model.h5";
  std::filesystem::rename(out, model);
  run({"assign", file, "--centroids", model}, {});
  CHECK(values(out + ":/labels") == labels);
  run({"cluster", file, "-k", "5", "--metric", "correlation", "--scale", "zscore"}, {});
  CHECK(done({"info", out}).out.find("correlation") != std::string::npos);
}

TEST_CASE("rows of equal values have no correlation: refused, or dropped") {
  const Scratch folder;
  const std::string file = folder / "points.h5";
  std::vector<float> rows = near_duplicates();
  std::fill_n(rows.begin() + 7 * kColumns, kColumns, 0.1F);
  rows.resize(42 * kColumns);
  write_rows(file, rows);
  refuses(3, {"knn", file, "-k", "2", "--metric", "correlation"},
          {"row 8 (counted from 1) has the value 0.1 in all columns, and no correlation", "--nan drop"});
  CHECK(done({"cluster", file, "-k", "2", "--metric", "correlation", "--nan", "drop"}).says("1 of 42 rows dropped"));
}
