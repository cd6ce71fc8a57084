// Scores and sweeps of rows that are weighted, dropped or unlabelled equal those of repeated rows, or of the other
// rows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/results/stored_result.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

constexpr std::size_t kRows = 120;

/// Rows of three groups, with weights 0 to 3, labels that are sometimes wrong, and the true group.
struct Row {
  double x, y;
  int weight;
  std::size_t label, group;
};
std::vector<Row> rows() {
  std::vector<Row> all;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto noise = [i](std::size_t factor) { return static_cast<double>(i * factor % 1009) / 300; };
    const std::size_t group = i % 3;
    all.push_back({5.0 * static_cast<double>(group) + noise(7919), noise(104729), static_cast<int>(i * 7 % 4),
                   i % 17 == 0 ? (group + 1) % 3 : group, group});
  }
  all[40] = {100.0, 7.5, 1, 3, 0};  // alone in its cluster
  return all;
}

std::string line(const Row& row) { return fmt::format("{},{}\n", row.x, row.y); }

/// Points, labels, classes and weights of all rows, and of the repeated rows.
void write_tables(const Scratch& folder) {
  std::string points = "x,y\n", labels = "label\n", classes = "label\n", weights = "w\n";
  std::string copies = points, copied_labels = labels, copied_classes = classes;
  for (const Row& row : rows()) {
    points += line(row);
    labels += fmt::format("{}\n", row.label);
    classes += fmt::format("g{}\n", row.group);
    weights += fmt::format("{}\n", row.weight);
    for (int copy = 0; copy < row.weight; ++copy) {
      copies += line(row);
      copied_labels += fmt::format("{}\n", row.label);
      copied_classes += fmt::format("g{}\n", row.group);
    }
  }
  write_bytes(folder / "p.csv", points);
  write_bytes(folder / "l.csv", labels);
  write_bytes(folder / "t.csv", classes);
  write_bytes(folder / "w.csv", weights);
  write_bytes(folder / "pc.csv", copies);
  write_bytes(folder / "lc.csv", copied_labels);
  write_bytes(folder / "tc.csv", copied_classes);
}

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The scores that kith evaluate reports, also those of each cluster.
nlohmann::json scores(const Words& words, const Setting& there) {
  nlohmann::json found = done(plus({"evaluate"}, plus(words, {"--json", "-q"})), there).json()["evaluation"];
  for (const char* name : {"labels", "truth", "rows"}) found.erase(name);
  return found;
}

/// The table of a sweep, as CSV.
std::string table(const Words& words, const Scratch& folder) {
  done(plus({"sweep"}, plus(words, {"-q", "-f", "-o", "s.csv"})), {.folder = folder / ""});
  return bytes_of(folder / "s.csv");
}

}  // namespace

TEST_CASE("a weight of w gives the scores of w copies of the row, to the last bit") {
  const Scratch folder;
  write_tables(folder);
  const Setting there{.folder = folder / ""};
  for (const char* how : {"exact", "simplified"}) {
    const Words common{"--silhouette", how, "--points"};
    CHECK(scores(plus({"l.csv", "--truth", "t.csv", "--weights", "w.csv"}, plus(common, {"p.csv"})), there) ==
          scores(plus({"lc.csv", "--truth", "tc.csv"}, plus(common, {"pc.csv"})), there));
    const Words sweep{"-k", "2-6", "--init", "k-means++", "--silhouette", how, "--seed", "3"};
    CHECK(table(plus({"p.csv", "--weights", "w.csv"}, sweep), folder) == table(plus({"pc.csv"}, sweep), folder));
  }
  done({"sweep", "p.csv", "--weights", "w.csv", "-k", "3", "-q", "-o", "s.h5"}, there);
  done({"cluster", "p.csv", "--weights", "w.csv", "-k", "3", "-q", "-o", "c.h5"}, there);
  for (const char* dataset : {"labels", "counts", "weights", "centroids", "nearest_row"}) {
    CHECK(values((folder / "s.h5:/k=3/") + dataset) == values((folder / "c.h5:/") + dataset));
  }
}

TEST_CASE("fractional weights: scores equal the formulas in plain loops") {
  const Scratch folder;
  write_tables(folder);
  std::string text = "w\n";
  std::vector<double> weight;
  const std::vector<Row> all = rows();
  for (const Row& row : all) {
    weight.push_back(0.3 * row.weight);
    text += fmt::format("{}\n", weight.back());
  }
  write_bytes(folder / "f.csv", text);
  double total = 0.0, sum = 0.0;
  for (std::size_t i = 0; i < kRows; ++i) {
    if (weight[i] == 0.0) continue;
    double of_cluster[4] = {}, distance[4] = {};
    int members = 0;
    for (std::size_t j = 0; j < kRows; ++j) {
      of_cluster[all[j].label] += weight[j];
      members += all[j].label == all[i].label && weight[j] > 0.0;
      distance[all[j].label] += weight[j] * std::hypot(all[i].x - all[j].x, all[i].y - all[j].y);
    }
    total += weight[i];
    if (members == 1) continue;
    const std::size_t own = all[i].label;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < 4; ++c) {
      if (c != own) nearest = std::min(nearest, distance[c] / of_cluster[c]);
    }
    const double a = distance[own] / (of_cluster[own] - weight[i]);
    sum += weight[i] * (nearest - a) / std::max(nearest, a);
  }
  const auto found = scores({"l.csv", "--points", "p.csv", "--weights", "f.csv"}, {.folder = folder / ""});
  CHECK(std::abs(found["silhouette"].get<double>() - sum / total) <= 1e-12);
  refuses(2, {"evaluate", "l.csv", "--truth", "t.csv", "--weights", "f.csv"},
          {"--truth: expected whole weights", "in row 2 (counted from 1) of f.csv:w", "leave out the weights"},
          {.folder = folder / ""});
}

TEST_CASE("evaluate takes the metric of the result; another metric is refused") {
  const Scratch folder;
  std::string table = "x,y\n";  // cosine refuses rows of zeros
  for (const Row& row : rows()) table += fmt::format("{},{}\n", row.x + 1, row.y + 1);
  write_bytes(folder / "p.csv", table);
  const Setting there{.folder = folder / ""};
  const Words points{"--points", "p.csv"}, cosine{"--metric", "cosine"};
  done({"cluster", "p.csv", "-k", "3", "--metric", "cosine", "-o", "c.h5", "-q"}, there);
  done({"cluster", "p.csv", "-k", "3", "-o", "e.h5", "-q"}, there);
  done({"assign", "p.csv", "--centroids", "c.h5", "-o", "a.h5", "-q"}, there);
  done({"assign", "p.csv", "--centroids", "c.h5", "-o", "a.csv", "-q"}, there);
  done({"sweep", "p.csv", "-k", "3", "--metric", "cosine", "-o", "s.h5", "-q"}, there);
  // Other labels have no metric.
  const auto expected = scores(plus({"a.csv"}, plus(points, cosine)), there);
  REQUIRE(expected != scores(plus({"a.csv"}, points), there));
  for (const char* labels : {"c.h5", "c.h5:/labels", "c.h5:labels", "a.h5", "s.h5:/k=3/labels"}) {
    CHECK(scores(plus({labels}, points), there) == expected);
    CHECK(scores(plus({labels}, plus(points, cosine)), there) == expected);
    refuses(2, plus({"evaluate", labels}, plus(points, {"--metric", "euclidean"})),
            {std::string("LABELS ") + labels, "expected labels of --metric euclidean (from --metric)",
             "found those of --metric cosine", "leave out --metric"},
            there);
  }
  CHECK(done({"evaluate", "c.h5", "--points", "p.csv"}, there).says("metric     cosine, from c.h5"));
  CHECK_FALSE(done({"evaluate", "c.h5", "--truth", "a.csv"}, there).says("metric"));
  refuses(2, plus({"evaluate", "e.h5"}, plus(points, cosine)), {"found those of --metric euclidean"}, there);
  refuses(2, plus({"evaluate", "a.csv"}, plus(points, {"--metric", "manhattan"})),
          {"--metric manhattan: k-means supports euclidean, cosine and correlation"}, there);
}

TEST_CASE("labels of a result that used other columns are scored with a warning") {
  const Scratch folder;
  write_tables(folder);
  const Setting there{.folder = folder / ""};
  const auto warning = [&](const Words& more) {
    return done(plus({"evaluate", "c.h5", "--points", "p.csv", "-q"}, more), there).err;
  };
  done({"cluster", "p.csv", "-k", "3", "-o", "c.h5", "-q"}, there);
  CHECK(warning({}).empty());
  CHECK(warning({"--columns", "y"}) ==
        "kith: warning: --points p.csv: expected 2 columns, found 1; choose the columns that c.h5 was computed from "
        "with --columns\n");
  CHECK(warning({"--columns", "y,x"}).find("expected 'x' as column 1 (counted from 1), found 'y'; choose") !=
        std::string::npos);
}

TEST_CASE("dropped and unlabelled rows do not affect scores, and are reported") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string points = "x,y\n", labels = "label\n", classes = "label\n", none = labels;
  std::string kept = points, kept_labels = labels, kept_classes = classes;
  const std::vector<Row> all = rows();
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool is_missing = i % 11 == 5;
    points += is_missing ? "NA,1\n" : line(all[i]);
    labels += fmt::format("{}\n", all[i].label);
    none += is_missing ? "-1\n" : fmt::format("{}\n", all[i].label);
    classes += fmt::format("g{}\n", all[i].group);
    if (is_missing) continue;
    kept += line(all[i]);
    kept_labels += fmt::format("{}\n", all[i].label);
    kept_classes += fmt::format("g{}\n", all[i].group);
  }
  write_bytes(folder / "p.csv", points);
  write_bytes(folder / "l.csv", labels);
  write_bytes(folder / "none.csv", none);
  write_bytes(folder / "t.csv", classes);
  write_bytes(folder / "kept.csv", kept);
  write_bytes(folder / "kept_l.csv", kept_labels);
  write_bytes(folder / "kept_t.csv", kept_classes);
  const auto expected = scores({"kept_l.csv", "--points", "kept.csv"}, there);
  CHECK(scores({"l.csv", "--points", "p.csv", "--nan", "drop"}, there) == expected);
  CHECK(scores({"none.csv", "--points", "p.csv", "--nan", "drop"}, there) == expected);
  CHECK(scores({"none.csv", "--truth", "t.csv"}, there) == scores({"kept_l.csv", "--truth", "kept_t.csv"}, there));
  CHECK(done({"evaluate", "none.csv", "--truth", "t.csv", "-q"}, there)
            .says("warning: none.csv:label: 11 of 120 rows have no label, or -1 ("));
  // -1 is a class like any other.
  CHECK(done({"evaluate", "t.csv", "--truth", "none.csv"}, there).out.find("  -1 ") != std::string::npos);
  write_bytes(folder / "all.csv", "label\n-1\n-1\n");
  refuses(3, {"evaluate", "all.csv", "--truth", "all.csv"}, {"all.csv:label: expected labels, found only -1", "2 rows"},
          there);

  done({"evaluate", "none.csv", "--points", "p.csv", "--nan", "drop", "--save-silhouette", "-q", "-o", "s.h5"}, there);
  const std::vector<double> silhouette = stored(folder / "s.h5:/silhouette");
  for (std::size_t i = 0; i < kRows; ++i) CHECK(std::isnan(silhouette[i]) == (i % 11 == 5));

  const Words sweep{"-k", "2-5", "--silhouette", "exact"};
  CHECK(table(plus({"p.csv", "--nan", "drop"}, sweep), folder) == table(plus({"kept.csv"}, sweep), folder));
  done({"sweep", "p.csv", "--nan", "drop", "-k", "2", "-q", "-o", "sweep.h5"}, there);
  const std::vector<double> found = values(folder / "sweep.h5:/k=2/labels");
  for (std::size_t i = 0; i < kRows; ++i) CHECK((found[i] == -1.0) == (i % 11 == 5));
  CHECK(StoredResult(folder / "sweep.h5").whole("dropped_rows") == 11);
}

TEST_CASE("a page shows the silhouettes of evaluate, 0 for a row alone in its cluster") {
  const Scratch folder;
  write_tables(folder);
  const Setting there{.folder = folder / ""};
  done({"cluster", "p.csv", "--init-labels", "l.csv", "--max-iterations", "1", "-q", "-o", "c.h5"}, there);
  // After convergence the centroids are the means of their rows.
  done({"cluster", "p.csv", "--init", "c.h5", "--tolerance", "0", "-q", "-o", "end.h5"}, there);
  REQUIRE(StoredResult(folder / "end.h5").vector("counts")[3] == 1.0);
  done({"evaluate", "end.h5", "--points", "p.csv", "--silhouette", "exact", "--save-silhouette", "-q", "-o", "s.h5"},
       there);
  const double mean = StoredResult(folder / "s.h5").number("silhouette").value_or(0.0);
  const std::string page = done({"report", "end.h5", "--points", "p.csv"}, there).out;
  CHECK(page.find(fmt::format("The mean silhouette is {:.4f}", mean)) != std::string::npos);
}

TEST_CASE("warm sweeps: the same bytes on every backend, and the first K equals a run of cluster") {
  const Scratch folder;
  const std::string out = folder / "warm.h5";
  std::string first;
  for (const std::string& backend : usable_backends()) {
    for (const char* threads : {"1", "3"}) {
      Words words{"sweep", kDigits, "-k", "3,5,9", "--warm",    "--n-init", "2",
                  "-q",    "-f",    "-o", out,     "--backend", backend};
      if (backend == "cpu") words = plus(words, {"--threads", threads});
      done(words);
      if (first.empty()) first = bytes_of(out);
      CHECK(bytes_of(out) == first);
    }
  }
  done({"cluster", kDigits, "-k", "3", "--n-init", "2", "-q", "-o", folder / "cold.h5"});
  CHECK(values(folder / "cold.h5:/centroids") == values(out + ":/k=3/centroids"));
  const std::vector<double> inertia = values(out + ":/inertia");
  CHECK(inertia[0] > inertia[1]);
  CHECK(inertia[1] > inertia[2]);
  refuses(2, {"sweep", kDigits, "-k", "2-4", "--warm", "--init", "first"},
          {"--warm cannot be combined with --init first", "leave one of them out"});
  CHECK(done({"sweep", kDigits, "-k", "2-3", "--init", "k-means||"}).says(" --init 'k-means||'"));
}
