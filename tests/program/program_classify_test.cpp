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
  CHECK(bytes_of(folder / "o.csv").starts_with("row,label,share\n0,a,1\n1,b,1\n2,a,1\n"));
  refuses(2, with({"--classify", "texts.csv", "-o", "o.npy"}), {".csv, .parquet or .h5", "texts.csv"}, there);
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

// The numbers are those of scikit-learn 1.x: classification_report(known, found, zero_division=0, digits=4).
TEST_CASE("--classify with --truth compares the classes of queries with the known ones") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "base.csv", "name,x,kind\nR,0,cat\nS,10,dog\nT,20,eel\nU,30,fox\n");
  // Found: cat cat cat dog dog eel eel eel; no query is found to be a fox, and no row of the base is a gnu.
  write_bytes(folder / "q.csv",
              "name,x,kind\nA,0,cat\nB,1,cat\nC,2,dog\nD,9,dog\nE,11,cat\nF,19,eel\nG,21,eel\nH,22,gnu\n");
  const Words words{"knn", "base.csv",  "--label-column", "kind",      "--classify", "base.csv:kind", "-k",
                    "1",   "--queries", "q.csv",          "--columns", "x",          "--truth",       "q.csv:kind"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string shown =
      "accuracy 0.6250, 5 of 8 right\n"
      "\n"
      "class       precision  recall      F1  rows\n"
      "cat            0.6667  0.6667  0.6667     3\n"
      "dog            0.5000  0.5000  0.5000     2\n"
      "eel            0.6667  1.0000  0.8000     2\n"
      "gnu            0.0000  0.0000  0.0000     1\n"
      "macro mean     0.4583  0.5417  0.4917     8\n"
      "\n"
      "rows of each known class that were found as\n"
      "known  cat  dog  eel  gnu\n"
      "cat      2    1    0    0\n"
      "dog      1    1    0    0\n"
      "eel      0    0    2    0\n"
      "gnu      0    0    1    0\n";
  const Outcome run = done(with({}), there);
  CHECK(run.out == shown);
  CHECK(run.says("q.csv:kind; accuracy 0.625, 5 of 8 right"));
  CHECK(done(with({"--id-column", "name", "-o", "o.csv"}), there).out == shown);
  CHECK(bytes_of(folder / "o.csv").starts_with("name,label,known,share\nA,cat,cat,1\nB,cat,cat,1\nC,cat,dog,1\n"));
  CHECK(done(with({"-q", "-o", "o.h5"}), there).out.empty());
  CHECK(stored(folder / "o.h5:/confusion") ==
        std::vector<double>{2, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
  CHECK(stored(folder / "o.h5:/recall") == std::vector<double>{2.0 / 3.0, 0.5, 1.0, 0.0, 0.0});
  CHECK(stored(folder / "o.h5:/labels") == std::vector<double>{0, 0, 0, 1, 1, 2, 2, 2});
  const nlohmann::json report = done(with({"--json"}), there).json()["classification"];
  CHECK(report["accuracy"] == 0.625);
  CHECK(report["classes"][2]["f1"] == 0.8);
  CHECK(std::abs(report["macro"]["precision"].get<double>() - 11.0 / 24.0) < 1e-15);
  refuses(2,
          {"knn", "base.csv", "--label-column", "kind", "--classify", "base.csv:kind", "-k", "1", "--truth",
           "base.csv:kind"},
          {"--truth", "--queries"}, there);
  write_bytes(folder / "few.csv", "kind\ncat\ndog\n");
  refuses(3, with({"--truth", "few.csv"}), {"few.csv", "each of the 8 rows of q.csv", "found 2"}, there);
}

TEST_CASE("the tables of many classes, and of long names, stay within 80 columns") {
  const Scratch folder;
  const Setting there{.environment = {"COLUMNS=80"}, .folder = folder / ""};
  for (const int classes : {11, 60}) {
    std::string base = "x,kind\n", queries = base;
    for (int c = 0; c < classes; ++c) {
      const std::string name = "a kind whose name is longer than what fits into a table, number " + std::to_string(c);
      base += std::to_string(10 * c) + "," + "\"" + name + "\"\n";
      queries += std::to_string(10 * (c % 7 == 3 ? c + 1 : c)) + ",\"" + name + "\"\n";
    }
    write_bytes(folder / "b.csv", base);
    write_bytes(folder / "q.csv", queries);
    const Outcome run = done({"knn", "b.csv", "--label-column", "kind", "--classify", "b.csv:kind", "-k", "1",
                              "--queries", "q.csv", "--truth", "q.csv:kind"},
                             there);
    std::size_t longest = 0;
    for (std::size_t begin = 0, end = 0; (end = run.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
      longest = std::max(longest, end - begin);
    }
    INFO(run.out);
    CHECK(longest <= 80);
    CHECK(run.out.find("...") != std::string::npos);
    CHECK(run.out.find("number 4 ") != std::string::npos);  // what tells the names apart is at their end
    CHECK(
        run.out.starts_with(classes == 11 ? "accuracy 0.9091, 10 of 11 right\n" : "accuracy 0.8667, 52 of 60 right\n"));
    const bool is_list = run.out.find("most frequent confusions, 8 of 8") != std::string::npos;
    CHECK(is_list == (classes == 60));
    CHECK((run.out.find("the 20 of 60 classes with the lowest F1") != std::string::npos) == (classes == 60));
  }
}
