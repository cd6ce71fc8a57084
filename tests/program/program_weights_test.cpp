// kith cluster and kith assign with weights, and starts by name and by labels: input, output, report and refusals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/results/stored_result.h"
#include "data/source.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;
using kith::data::StoredResult;

namespace {

constexpr std::size_t kRows = 300;

/// Three groups of rows with columns x, y, a whole weight from 0 to 3 and the number of the group.
struct Table {
  std::string points = "x,y\n", with_weights = "x,y,times\n", copies = "x,y\n", counted = "x,y\n";
  std::string weights = "weight\n", groups = "group\n";
  std::vector<int> times;

  Table() {
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t group = i * 7 % 3;
      const auto noise = [i](std::size_t factor) { return static_cast<double>(i * factor % 1009) / 1009; };
      const std::string row = fmt::format("{},{}", 10.0 * static_cast<double>(group) + noise(7919), noise(104729));
      const int weight = static_cast<int>(i * 31 % 4);
      times.push_back(weight);
      points += row + "\n";
      with_weights += fmt::format("{},{}\n", row, weight);
      weights += fmt::format("{}\n", weight);
      groups += fmt::format("{}\n", group == 0 ? "c" : group == 1 ? "a" : "b");
      for (int copy = 0; copy < weight; ++copy) copies += row + "\n";
      if (weight > 0) counted += row + "\n";
    }
  }
};

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

// docs/failures.md, cases 30 and 32.
TEST_CASE("weights give the answer of copies, rows of weight 0 a label alone") {
  const Scratch folder;
  const Table table;
  write_bytes(folder / "p.csv", table.points);
  write_bytes(folder / "pw.csv", table.with_weights);
  write_bytes(folder / "copies.csv", table.copies);
  write_bytes(folder / "w.csv", table.weights);
  FileMaker(folder / "w.h5").dataset("w", H5T_STD_U8LE, {kRows}, H5T_NATIVE_INT, table.times.data());
  const Setting there{.folder = folder / ""};
  for (const std::string& backend : usable_backends()) {
    const Words common{"-k", "5", "--backend", backend, "--save-distances", "-q", "-f"};
    done(plus({"cluster", "copies.csv", "-o", "copies.h5"}, common), there);
    const StoredResult copies(folder / "copies.h5");
    for (const Words& how : {Words{"pw.csv", "--weight-column", "times"}, Words{"p.csv", "--weights", "w.csv"},
                             Words{"p.csv", "--weights", "w.h5:/w"}, Words{"p.csv", "--weights", "pw.csv:times"}}) {
      INFO(backend << ", " << nlohmann::json(how).dump());
      const Words run = plus(plus({"cluster", "-o", "weighted.h5"}, how), common);
      done(run, there);
      const StoredResult weighted(folder / "weighted.h5");
      CHECK(weighted.number("inertia") == copies.number("inertia"));
      CHECK(weighted.number("totss") == copies.number("totss"));
      CHECK(weighted.whole("iterations") == copies.whole("iterations"));
      CHECK(weighted.vector("weights") == copies.vector("counts"));
      CHECK(weighted.vector("inertia_per_cluster") == copies.vector("inertia_per_cluster"));
      CHECK(values(folder / "weighted.h5:/centroids") == values(folder / "copies.h5:/centroids"));
      const std::vector<double> labels = weighted.vector("labels"), distances = weighted.vector("distances");
      std::vector<double> expected, counts(5, 0.0), expected_distances;
      for (std::size_t i = 0; i < kRows; ++i) {
        expected.insert(expected.end(), static_cast<std::size_t>(table.times[i]), labels[i]);
        expected_distances.insert(expected_distances.end(), static_cast<std::size_t>(table.times[i]), distances[i]);
        if (table.times[i] > 0) ++counts[static_cast<std::size_t>(labels[i])];
      }
      CHECK(expected == copies.vector("labels"));
      CHECK(expected_distances == copies.vector("distances"));
      CHECK(weighted.vector("counts") == counts);
      for (const double row : weighted.vector("nearest_row")) CHECK(table.times[static_cast<std::size_t>(row)] > 0);
      CHECK(weighted.number("total_weight") == static_cast<double>(copies.vector("labels").size()));
      // Every row has the label of its nearest centroid, those of weight 0 too.
      done({"assign", "p.csv", "--centroids", "weighted.h5", "--backend", backend, "-o", "all.h5", "-q", "-f"}, there);
      CHECK(StoredResult(folder / "all.h5").vector("labels") == labels);
      const Words again = plus(plus({"assign", "--centroids", "weighted.h5", "-o", "again.h5", "-q", "-f"}, how),
                               {"--backend", backend, "--save-distances"});
      done(again, there);
      const StoredResult assigned(folder / "again.h5");
      CHECK(assigned.vector("labels") == labels);
      CHECK(assigned.vector("distances") == distances);
      CHECK(assigned.vector("counts") == counts);
      CHECK(assigned.vector("weights") == weighted.vector("weights"));
      CHECK(assigned.number("inertia") == weighted.number("inertia"));
    }
  }
}

TEST_CASE("the report names the weights") {
  const Scratch folder;
  const Table table;
  write_bytes(folder / "pw.csv", table.with_weights);
  const Setting there{.folder = folder / ""};
  const Outcome run = done({"cluster", "pw.csv", "--weight-column", "times", "-k", "3"}, there);
  CHECK(run.says("weights    pw.csv:times; 450 in total, 75 rows of weight 0"));
  CHECK(run.out.find("  weight ") != std::string::npos);
  const auto json = done({"cluster", "pw.csv", "--weight-column", "times", "-k", "3", "--json"}, there).json();
  CHECK(json["weights"]["total"] == 450.0);
  CHECK(json["weights"]["rows_of_weight_0"] == 75);
}

TEST_CASE("rows of weight 0 are no rows to make clusters of") {
  const Scratch folder;
  write_bytes(folder / "p.csv", "x,y,w\n1,2,1\n3,4,0\n5,6,0\n");
  refuses(2, {"cluster", folder / "p.csv", "-k", "2", "--weight-column", "w"},
          {"has 3 rows, of which 2 are ignored (dropped by --nan, or of weight 0)", "expected at most 1 clusters"});
}

TEST_CASE("starts by name are drawn by the seed, the same on every backend") {
  const Scratch folder;
  for (const std::string rule : {"k-means||", "farthest"}) {
    std::string first;
    for (const std::string& backend : usable_backends()) {
      for (const char* threads : {"1", "3"}) {
        const std::string out = folder / "a.h5";
        Words words{"cluster", kDigits, "-k", "20", "--init", rule, "--n-init", "2", "--seed", "5", "-q", "-f"};
        done(plus(words, {"-o", out, "--backend", backend, "--threads", backend == "cpu" ? threads : "0"}));
        if (first.empty()) first = bytes_of(out);
        CHECK(bytes_of(out) == first);
        CHECK(StoredResult(out).text("init") == rule);
      }
    }
  }
}

TEST_CASE("a start from labels takes the means of their rows") {
  const Scratch folder;
  const Table table;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.csv", table.points);
  write_bytes(folder / "g.csv", table.groups);
  done({"cluster", "p.csv", "--init-labels", "g.csv", "-o", "a.h5", "-q"}, there);
  const StoredResult result(folder / "a.h5");
  CHECK(result.text("init") == "g.csv");
  CHECK(result.text("command").find("--init-labels g.csv") != std::string::npos);
  const std::vector<double> labels = result.vector("labels");
  for (std::size_t i = 0; i < kRows; ++i) CHECK(labels[i] == std::vector<double>{2, 0, 1}[i * 7 % 3]);  // c, a, b
  // The labels of a result lead to its centroids.
  done({"cluster", "p.csv", "--init-labels", "a.h5", "--max-iterations", "1", "-o", "b.h5", "-q"}, there);
  CHECK(values(folder / "b.h5:/centroids") == values(folder / "a.h5:/centroids"));
}
