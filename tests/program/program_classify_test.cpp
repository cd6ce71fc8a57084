// kith knn --classify and --outliers against their definitions.
#include <algorithm>
#include <cmath>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

constexpr std::size_t kRows = 90, kColumns = 3, kNeighbors = 7;

/// Whole numbers, so that many distances tie and some rows repeat.
std::vector<double> some_rows() {
  std::vector<double> values;
  for (std::size_t i = 0; i < kRows * kColumns; ++i) values.push_back(static_cast<double>(i * 7919 % 1009 * 31 % 7));
  return values;
}
int label_of(std::size_t row) { return static_cast<int>(row * row % 5); }

struct Near {
  double distance;
  std::size_t row;
  auto operator<=>(const Near&) const = default;
};

/// The nearest rows without the row itself, ties to the lowest row.
std::vector<Near> nearest(const std::vector<double>& rows, std::size_t row) {
  std::vector<Near> all;
  for (std::size_t other = 0; other < kRows; ++other) {
    double sum = 0.0;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const double difference = rows[row * kColumns + j] - rows[other * kColumns + j];
      sum += difference * difference;
    }
    if (other != row) all.push_back({std::sqrt(sum), other});
  }
  std::sort(all.begin(), all.end());
  all.resize(kNeighbors);
  return all;
}

int voted(const std::vector<Near>& near, std::size_t count, bool by_distance) {
  double votes[5] = {};
  for (std::size_t j = 0; j < count; ++j) {
    double vote = 1.0;
    if (by_distance) vote = near[0].distance == 0.0 ? near[j].distance == 0.0 : 1.0 / near[j].distance;
    votes[label_of(near[j].row)] += vote;
  }
  return static_cast<int>(std::max_element(std::begin(votes), std::end(votes)) - std::begin(votes));
}

void write_inputs(const Scratch& folder, const std::vector<double>& rows) {
  FileMaker(folder / "x.h5").dataset("x", H5T_IEEE_F64LE, {kRows, kColumns}, H5T_NATIVE_DOUBLE, rows.data());
  std::string numbers = "class\n", texts = "class\n";
  for (std::size_t i = 0; i < kRows; ++i) {
    numbers += std::to_string(label_of(i)) + "\n";
    texts += std::string(1, static_cast<char>('a' + label_of(i))) + "\n";
  }
  write_bytes(folder / "numbers.csv", numbers);
  write_bytes(folder / "texts.csv", texts);
}

}  // namespace

TEST_CASE("neighbours vote for the class of a row, ties to the lowest class") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::vector<double> rows = some_rows();
  write_inputs(folder, rows);
  const Words words{"knn", "x.h5", "-k", std::to_string(kNeighbors), "-q", "-f"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  for (const std::string& backend : usable_backends()) {
    INFO(backend);
    for (const bool by_distance : {false, true}) {
      done(with({"--classify", "numbers.csv", "--vote", by_distance ? "distance" : "equal", "--backend", backend, "-o",
                 "o.npy"}),
           there);
      std::vector<double> expected;
      for (std::size_t i = 0; i < kRows; ++i) expected.push_back(voted(nearest(rows, i), kNeighbors, by_distance));
      CHECK(stored(folder / "o.npy") == expected);
    }
    const nlohmann::json report =
        done(with({"--classify", "texts.csv", "--json", "--backend", backend, "-o", "o.h5"}), there).json();
    REQUIRE(report["accuracy"].size() == kNeighbors);
    for (std::size_t j = 0; j < kNeighbors; ++j) {
      for (const bool by_distance : {false, true}) {
        double right = 0;
        for (std::size_t i = 0; i < kRows; ++i) right += voted(nearest(rows, i), j + 1, by_distance) == label_of(i);
        CHECK(report["accuracy"][j][by_distance ? "by_distance" : "equal"].get<double>() == right / kRows);
      }
    }
  }
  // As queries, the rows find themselves too, or the first of their repetitions.
  const Outcome run = done(with({"--classify", "texts.csv", "--queries", "x.h5", "-k", "1"}), there);
  CHECK(run.out.substr(0, 12) == "0\ta\t1\n1\tb\t1\n");
  done(with({"--classify", "texts.csv", "--queries", "x.h5", "-k", "1", "-o", "o.csv"}), there);
  CHECK(bytes_of(folder / "o.csv").substr(0, 22) == "row,label\n0,a\n1,b\n2,a\n");
  refuses(2, with({"--classify", "texts.csv", "-o", "o.npy"}), {".csv or .h5", "texts.csv"}, there);
  write_bytes(folder / "few.csv", "class\n1\n2\n");
  refuses(3, with({"--classify", "few.csv"}), {"a label for each of the 90 rows", "found 2"}, there);
  refuses(2, with({"--classify", "texts.csv", "--outliers"}), {"--outliers"}, there);
}

TEST_CASE("local outlier factors are those of the definition") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::vector<double> rows = some_rows();
  write_inputs(folder, rows);
  std::vector<std::vector<Near>> near;
  for (std::size_t i = 0; i < kRows; ++i) near.push_back(nearest(rows, i));
  std::vector<double> density, last;
  for (const std::vector<Near>& own : near) {
    double reach = 0.0;
    for (const Near& one : own) reach += std::max(one.distance, near[one.row].back().distance);
    density.push_back(1.0 / (reach / kNeighbors + 1e-10));
    last.push_back(own.back().distance);
  }
  for (const std::string& backend : usable_backends()) {
    done({"knn", "x.h5", "-k", "7", "--outliers", "--backend", backend, "-q", "-f", "-o", "o.h5"}, there);
    CHECK(stored(folder / "o.h5:/kth_distance") == last);
    const std::vector<double> factors = stored(folder / "o.h5:/local_outlier_factor");
    REQUIRE(factors.size() == kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      double expected = 0.0;
      for (const Near& one : near[i]) expected += density[one.row] / density[i] / kNeighbors;
      CHECK(std::abs(factors[i] / expected - 1.0) < 1e-12);
    }
  }
  const Outcome run = done({"knn", "x.h5", "-k", "7", "--outliers"}, there);
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == kRows);
  done({"knn", "x.h5", "-k", "7", "--outliers", "-o", "o.csv"}, there);
  CHECK(bytes_of(folder / "o.csv").starts_with("row,kth_distance,local_outlier_factor\n0,"));
  refuses(2, {"knn", "x.h5", "-k", "7", "--outliers", "--queries", "x.h5"}, {"--outliers", "--queries"}, there);
}
