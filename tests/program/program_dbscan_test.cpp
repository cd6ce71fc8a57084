// kith dbscan: labels, noise, a suggestion of the radius, and what is refused.
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("dbscan labels points, and says how many are core, border and noise") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  // Two groups with a point, (2, 0), on the border of both, and one far away: scikit-learn's
  // DBSCAN(eps=1, min_samples=4) has the same labels.
  write_bytes(folder / "p.csv", "x,y\n3,0\n0,0\n1,0\n1,0.5\n2,0\n,9\n3,0.5\n50,50\n3,1\n");
  const std::vector<double> expected{0, 1, 1, 1, 0, -1, 0, -1, 0};
  const Words words{"dbscan", "p.csv", "--radius", "1", "--min-points", "4", "--nan", "drop", "-f"};
  for (const std::string& backend : usable_backends()) {
    const Outcome run = done(plus(words, Words{"--backend", backend, "-o", "o.h5"}), there);
    INFO(run.err);
    CHECK(stored(folder / "o.h5:/labels") == expected);
    CHECK(stored(folder / "o.h5:/counts") == std::vector<double>{4, 3});
    CHECK(stored(folder / "o.h5:/core_rows") == std::vector<double>{0, 2});
    CHECK(run.says("core points"));
    CHECK(run.says("1 of 9 rows dropped"));
  }
  done(plus(words, Words{"-o", "o.csv"}), there);
  done(plus(words, Words{"-o", "o.npy"}), there);
  CHECK(stored(folder / "o.npy") == expected);
  // Noise and dropped rows are -1 in every output.
  CHECK(bytes_of(folder / "o.csv") == "row,label\n0,0\n1,1\n2,1\n3,1\n4,0\n5,-1\n6,0\n7,-1\n8,0\n");
  CHECK(done(plus(words, Words{"-o", "-"}), there).out == "0\n1\n1\n1\n0\n-1\n0\n-1\n0\n");
  done(plus(words, Words{"--append", "-o", "t.csv"}), there);
  CHECK(bytes_of(folder / "t.csv").ends_with("2,0,0\n,9,-1\n3,0.5,0\n50,50,-1\n3,1,0\n"));
  const nlohmann::json report = done(plus(words, Words{"-o", "j.h5", "--json"}), there).json();
  CHECK(report["density"]["clusters"] == 2);
  CHECK(report["density"]["noise"] == 1);
  CHECK(report["density"]["core"].get<int>() + report["density"]["border"].get<int>() == 7);
  CHECK(done(words, there).out.find("  noise       1\n") != std::string::npos);
}

TEST_CASE("dbscan --explain says what the clusters are, and the summary proposes it") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string table = "town,age,income\n";
  for (int i = 0; i < 40; ++i) {
    const bool old = i % 2 == 0;
    table += std::string(old ? "Lyon," : "Nice,") + std::to_string((old ? 60 : 20) + i % 5) + "," +
             std::to_string((old ? 9000 : 2000) + i) + "\n";
  }
  write_bytes(folder / "t.csv", table + "Nice,40,90000\n");
  const Words words{"dbscan", "t.csv", "--radius", "1", "--prepare", "auto"};
  const Outcome proposed = done(words, there);
  std::string command = proposed.err.substr(proposed.err.find("next       kith ") + 16);
  for (std::size_t at; (at = command.find('\n')) != command.npos;) command.replace(at, 1, " ");
  CHECK(command.starts_with("dbscan t.csv --radius 1 "));
  CHECK(command.find(" --explain") != command.npos);
  CHECK(command.find("--encode town=onehot") != command.npos);
  const Outcome run = done(plus(words, {"--explain", "-o", "o.h5", "--json"}), there);
  const nlohmann::json profile = run.json()["profile"];
  REQUIRE(profile.size() == 2);
  const Outcome shown = done(plus(words, {"--explain"}), there);
  CHECK(shown.out.find("cluster 0: 20 rows (50.0 %)") != std::string::npos);
  CHECK(shown.out.find("Lyon (100 %)") != std::string::npos);
  CHECK(!shown.says("next       "));
  const std::vector<double> means = stored(folder / "o.h5:/profile_means");
  REQUIRE(means.size() == 6);
  CHECK(means[1] == 62.0);  // the noise enters none
  refuses(2, {"dbscan", "t.csv", "--columns", "age", "--explain"}, {"--explain needs --radius"}, there);
  refuses(2, plus(words, {"--explain", "-o", "-"}), {"cannot be combined with --explain"}, there);
}

TEST_CASE("dbscan without a radius suggests one") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  done({"generate", "b.h5", "-n", "3000", "-d", "2", "-k", "4", "-q"}, there);
  const Outcome run = done({"dbscan", "b.h5"}, there);
  CHECK(run.out.find("suggested --radius") != std::string::npos);
  CHECK(run.says("next       kith dbscan b.h5 --radius "));
  const double radius = std::stod(run.out.substr(run.out.find("--radius") + 8));
  const nlohmann::json report =
      done({"dbscan", "b.h5", "--radius", std::to_string(radius), "-o", "o.h5", "--json"}, there).json();
  CHECK(report["density"]["noise"] < 600);
  refuses(2, {"dbscan", "b.h5", "-o", "x.h5"}, {"--output needs --radius"}, there);
  refuses(2, {"dbscan", "b.h5", "--radius", "-1"}, {"radius"}, there);
  refuses(2, {"dbscan", "b.h5", "--radius", "1", "--metric", "inner-product"}, {"expected a distance"}, there);
  refuses(2, {"dbscan", "b.h5", "--min-points", "4000"}, {"--min-points 4000", "3000 rows"}, there);
}
