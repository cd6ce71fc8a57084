// The report at the end of a clustering, and runs resumed after their iteration limit.
#include <algorithm>
#include <cmath>

#include "data/results/stored_result.h"
#include "tests/support/program.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

std::string plus(const std::string& a, const char* b) { return a + b; }

/// `words` and more, written to `out`.
Outcome cluster(Words words, const Words& more, const std::string& out) {
  words.insert(words.begin(), "cluster");
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"-f", "-o", out});
  return done(words);
}

}  // namespace

TEST_CASE("a resumed run gives the file of an uninterrupted run, on every backend") {
  const Scratch folder;
  const std::string whole = folder / "whole.h5", part = folder / "part.h5", more = folder / "more.h5";
  const std::vector<Words> runs{{kDigits, "-k", "10"},
                                {kDigits, "-k", "10", "--tolerance", "0.01"},
                                {kDigits, "-k", "300", "--init", "first", "--tolerance", "0"},
                                {kDigits, "-k", "9", "--init", "random", "--seed", "5", "--precision", "f64"},
                                {kDigits, "-k", "9", "--metric", "cosine", "--save-distances"}};
  for (const Words& words : runs) {
    cluster(words, {}, whole);
    const std::int64_t iterations = StoredResult(whole).whole("iterations").value_or(0);
    INFO(nlohmann::json(words).dump() << ", " << iterations << " iterations");
    REQUIRE(iterations > 3);
    Words again = words;  // the same command; the result stores the start
    const auto init = std::find(again.begin(), again.end(), "--init");
    if (init != again.end()) again.erase(init, init + 2);
    for (const std::string& backend : usable_backends()) {
      for (const std::int64_t stop : {std::int64_t{1}, std::int64_t{3}, iterations - 1}) {
        cluster(words, {"--backend", backend, "--max-iterations", std::to_string(stop)}, part);
        CHECK(StoredResult(part).text("stopped_by") == "max-iterations");
        CHECK(bytes_of(part) != bytes_of(whole));
        cluster(again, {"--backend", backend, "--max-iterations", std::to_string(300 - stop), "--init", part}, more);
        CHECK(bytes_of(more) == bytes_of(whole));
      }
    }
  }
  // Weighted rows, some of weight 0; a start from labels.
  std::string table = "a,b,w\n";
  for (int i = 0; i < 400; ++i)
    table += std::to_string(i * i % 97) + "," + std::to_string(i * 31 % 89) + "," + std::to_string(i % 4) + "\n";
  write_bytes(folder / "w.csv", table);
  const Words weighted{folder / "w.csv", "-k", "8", "--weight-column", "w", "--tolerance", "0"};
  cluster(weighted, {}, whole);
  cluster(weighted, {"--max-iterations", "2"}, part);
  cluster(weighted, {"--max-iterations", "298", "--init", part}, more);
  CHECK(bytes_of(more) == bytes_of(whole));
  const Words labelled{kDigits, "--init-labels", kDigits + ":/labels"};
  cluster(labelled, {}, whole);
  CHECK(cluster(labelled, {"--max-iterations", "2"}, part).says("kith cluster --init " + part));
  cluster({kDigits}, {"--max-iterations", "298", "--init", part}, more);
  CHECK(bytes_of(more) == bytes_of(whole));
  // In three parts.
  cluster(runs[0], {"--max-iterations", "2"}, part);
  cluster(runs[0], {"--max-iterations", "2", "--init", part}, more);
  CHECK(StoredResult(more).whole("iterations") == 4);
  CHECK(StoredResult(more).number("stopped_value") == 4.0);
  cluster(runs[0], {"--max-iterations", "296", "--init", more}, part);
  cluster(runs[0], {}, whole);
  CHECK(bytes_of(part) == bytes_of(whole));
}

TEST_CASE("which results a run resumes, which it starts from, and the messages") {
  const Scratch folder;
  const std::string part = folder / "part.h5", more = folder / "more.h5";
  const Outcome stopped = cluster({kDigits, "-k", "10"}, {"--max-iterations", "3"}, part);
  CHECK(stopped.says("still change after 3 iterations; continue with: kith cluster --init " + part));
  CHECK(stopped.says("iterations 3; stopped at the limit (--max-iterations); "));
  CHECK(stopped.says("kith cluster --init " + part + " -o " + plus(folder / "part", "-more.h5") + " " + kDigits +
                     " -k 10 --max-iterations 3\n"));
  CHECK(done({"cluster", kDigits, "-k", "10", "--max-iterations", "3"}).says("write a result with -o"));
  CHECK(done({"cluster", kDigits, "-k", "10", "--max-iterations", "1", "-o" + more})
            .says(" " + kDigits + " -k 10 --max-iterations 1\n"));

  // With another tolerance, or by the name of the dataset, the centroids are an ordinary start.
  const auto iterations = [&](const Words& words) {
    cluster({kDigits}, words, more);
    return StoredResult(more).whole("iterations").value_or(0);
  };
  CHECK(iterations({"--max-iterations", "1", "--init", part}) == 4);
  CHECK(StoredResult(more).text("init") == "k-means++");
  CHECK(iterations({"--max-iterations", "1", "--init", part, "--tolerance", "0"}) == 1);
  CHECK(iterations({"--max-iterations", "1", "--init", part + ":/centroids"}) == 1);
  CHECK(StoredResult(more).text("init") == "part.h5:/centroids");

  // The best of several runs is resumed, although complete runs might have ranked differently.
  cluster({kDigits, "-k", "10", "--n-init", "2"}, {"--max-iterations", "3"}, part);
  CHECK(iterations({"--max-iterations", "2", "--init", part}) == 5);
  CHECK(StoredResult(more).text("init") == "part.h5");
  CHECK(StoredResult(more).vector("iteration_inertia").size() == 5);

  // Other points under the same name.
  std::filesystem::create_directory(folder / "other");
  const std::string one = folder / "x.h5", other = folder / "other/x.h5";
  done({"generate", one, "-n", "500", "-d", "3", "-q"});
  done({"generate", other, "-n", "500", "-d", "3", "--seed", "1", "-q"});
  cluster({one, "-k", "8"}, {"--max-iterations", "1"}, part);
  const Outcome anew = cluster({other}, {"--init", part, "--max-iterations", "1"}, more);
  CHECK(anew.says("warning: the points differ from those of the stopped run"));
  CHECK(StoredResult(more).whole("iterations") == 1);
  CHECK(StoredResult(more).text("init") == "part.h5");
}

TEST_CASE("cosine: the total inertia is that of one cluster, and clusters explain a share of it") {
  const Scratch folder;
  const std::string one = folder / "one.h5", more = folder / "more.h5", axes = folder / "axes.csv";
  cluster({kDigits, "-k", "1", "--metric", "cosine"}, {}, one);
  const double total = StoredResult(one).number("inertia").value_or(-1.0);
  for (const Words& how : {Words{}, Words{"--algorithm", "bisecting"}}) {
    cluster({kDigits, "-k", "1", "--metric", "cosine"}, how, one);
    CHECK(StoredResult(one).number("totss") == StoredResult(one).number("inertia"));
    const nlohmann::json report = cluster({kDigits, "-k", "10", "--metric", "cosine", "--json"}, how, more).json();
    CHECK(StoredResult(more).number("totss") == total);
    CHECK(report["totss"] == total);
    const double share = StoredResult(more).number("betweenss").value_or(-1.0) / total;
    CHECK((share > 0.3 && share < 1.0));
    if (!how.empty()) CHECK(StoredResult(more).vector("tree_inertia")[0] == total);
  }
  write_bytes(axes, "1,0\n0,1\n");
  CHECK(cluster({axes, "-k", "1", "--metric", "cosine"}, {}, one).says("; the clusters explain 0.0 %"));
  write_bytes(axes, "1,0\n-1,0\n");  // no mean direction
  cluster({axes, "-k", "2", "--metric", "cosine"}, {}, more);
  CHECK(StoredResult(more).number("totss") == 4.0);
}

TEST_CASE("the result and the report contain totals, iterations and sizes") {
  const Scratch folder;
  const std::string one = folder / "one.h5", ten = folder / "ten.h5";
  cluster({kDigits, "-k", "1"}, {}, one);
  const nlohmann::json report = cluster({kDigits, "-k", "10"}, {"--json"}, ten).json();
  const StoredResult result(ten);
  const double spread = StoredResult(one).number("inertia").value_or(-1.0);
  CHECK(StoredResult(one).number("totss") == spread);
  CHECK(StoredResult(one).number("betweenss") == 0.0);
  CHECK(result.number("totss") == spread);
  CHECK(result.number("betweenss") == spread - result.number("inertia").value_or(0.0));
  CHECK(report["totss"] == spread);
  CHECK(report["betweenss"] == spread - report["inertia"].get<double>());
  CHECK(result.whole("changed") == 0);

  const std::vector<double> inertia = result.vector("iteration_inertia"), shift = result.vector("iteration_shift"),
                            changed = result.vector("iteration_changed");
  REQUIRE(inertia.size() == report["iterations"].size());
  for (std::size_t i = 0; i < inertia.size(); ++i) {
    CHECK(inertia[i] == report["iterations"][i]["inertia"].get<double>());
    CHECK(shift[i] == report["iterations"][i]["shift"].get<double>());
    CHECK(changed[i] == report["iterations"][i]["changed"].get<double>());
  }
  double squares = 0.0;
  for (const double count : result.vector("counts")) squares += count * count;
  CHECK(report["clusters"]["imbalance"] == 10.0 * squares / (1797.0 * 1797.0));
}
