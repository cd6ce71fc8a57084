// kith sweep, and the scores of kith evaluate --points.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "data/results/stored_result.h"
#include "tests/support/program.h"

using namespace kith::testing;

namespace {

/// A dataset as float64.
std::vector<double> values(const std::string& file, const std::string& name) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(id, name.c_str(), H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  const hid_t space = H5Dget_space(dataset);
  std::vector<double> out(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  REQUIRE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(id);
  return out;
}

bool near(const nlohmann::json& found, double expected) {
  return std::abs(found.get<double>() - expected) <= 1e-12 * std::max(1.0, std::abs(expected));
}

/// Three groups in a plane, far apart.
const std::string kGroups =
    "x,y,group\n0,0,a\n0,1,a\n1,0,a\n1,1,a\n20,0,b\n20,1,b\n21,0,b\n21,1,b\n0,30,c\n1,30,c\n0,31,c\n";

}  // namespace

TEST_CASE("sweep: the file holds the runs of kith cluster, with scores") {
  const Scratch folder;
  const std::string file = folder / "s.h5", single = folder / "c.h5";
  const Outcome outcome = done({"sweep", kDigits, "-k", "2-6:2,10", "--n-init", "2", "-o", file, "--json"});
  const nlohmann::json sweep = outcome.json()["sweep"];
  CHECK(values(file, "k") == std::vector<double>{2, 4, 6, 10});
  REQUIRE(sweep["rows"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const nlohmann::json& row = sweep["rows"][i];
    const std::string k = std::to_string(row["k"].get<int>());
    done({"cluster", kDigits, "-k", k, "--n-init", "2", "-q", "-f", "-o", single});
    for (const char* name : {"labels", "centroids", "counts", "inertia_per_cluster", "nearest_row"}) {
      INFO(k << " " << name);
      CHECK(values(file, "k=" + k + "/" + name) == values(single, name));
    }
    const nlohmann::json scores =
        done({"evaluate", single, "--points", kDigits, "--silhouette", "simplified", "--json", "-q"})
            .json()["evaluation"];
    CHECK(row["silhouette"] == scores["simplified_silhouette"]);
    CHECK(row["calinski_harabasz"] == scores["calinski_harabasz"]);
    CHECK(row["davies_bouldin"] == scores["davies_bouldin"]);
    for (const char* name : {"inertia", "silhouette", "calinski_harabasz", "davies_bouldin", "bic", "iterations"}) {
      CHECK(values(file, name)[i] == row[name].get<double>());
    }
  }
  CHECK(sweep["suggested"] == sweep["criteria"]["simplified silhouette"]);
  CHECK(bytes_of(file).find("sweep digits.h5:/train --clusters 2-6:2,10 --init k-means++ --n-init 2") !=
        std::string::npos);
  // The same bytes with one thread and small blocks, and on every backend.
  for (const std::string& backend : usable_backends()) {
    const std::string again = folder / (backend + ".h5");
    done({"sweep", kDigits, "-k", "2-6:2,10", "--n-init", "2", "-q", "-o", again, "--backend", backend, "--block-rows",
          "100"});
    CHECK(bytes_of(again) == bytes_of(file));
  }
}

TEST_CASE("sweep: table, suggestion and CSV") {
  const Scratch folder;
  const std::string groups = folder / "g.csv", csv = folder / "s.csv";
  write_bytes(groups, kGroups);
  const Words words{"sweep", groups, "--drop-columns", "group", "-k", "1-5", "--gap", "5"};
  const Outcome outcome = done(words, {.environment = {"COLUMNS=200"}});
  std::istringstream lines(outcome.out);
  std::string head, first, second, third;
  std::getline(lines, head);
  std::getline(lines, first);
  std::getline(lines, second);
  std::getline(lines, third);
  CHECK(head.find("k  iterations  inertia  silhouette  Calinski-H.  Davies-B.       BIC") == 0);
  CHECK(first.find("1 ") == 0);
  CHECK(first.find("           -            -          - ") != std::string::npos);  // one cluster has no such scores
  CHECK(first.ends_with("##########"));                                             // the largest inertia
  CHECK(third.find("3 ") == 0);
  CHECK(third.ends_with("##########"));  // the silhouette
  CHECK(outcome.says("suggested  k = 3: the best simplified silhouette, 0.9"));
  CHECK(outcome.says("and the knee of inertia"));
  CHECK(outcome.says("g.csv -k 3 --drop-columns group -o clusters.h5"));

  Words to_csv = words;
  to_csv.insert(to_csv.end(), {"-o", csv, "--json", "--silhouette", "exact"});
  const nlohmann::json sweep = done(to_csv).json()["sweep"];
  CHECK(sweep["rows"][0]["silhouette"].is_null());
  CHECK(sweep["suggested"] == 3);
  CHECK(sweep["silhouette"] == "exact");
  CHECK(sweep["criteria"]["gap statistic"] == 3);
  const std::string text = bytes_of(csv);
  CHECK(text.find(
            "k,iterations,stopped_by,inertia,silhouette,calinski_harabasz,davies_bouldin,bic,gap,gap_error\n1,") == 0);
  CHECK(text.find(sweep["rows"][2]["silhouette"].dump()) != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 6);
  // A warning names the criteria that disagree.
  const Outcome digits = done({"sweep", kDigits, "-k", "2-40:log"}, {.environment = {"COLUMNS=120"}});
  CHECK(digits.says("the criteria disagree: simplified silhouette "));
  CHECK(digits.says("BIC "));
  CHECK(std::count(digits.out.begin(), digits.out.end(), '\n') == 7);
}

TEST_CASE("evaluate --points: scikit-learn's scores, sampled and saved silhouettes") {
  const Scratch folder;
  const std::string file = folder / "e.h5", some = folder / "some.h5", groups = folder / "g.csv";
  const Outcome outcome = done({"evaluate", kDigits, "--points", kDigits, "--save-silhouette", "-o", file, "--json"});
  const nlohmann::json scores = outcome.json()["evaluation"];
  // scikit-learn 1.9.1
  CHECK(near(scores["silhouette"], 0.1629432052257522));
  CHECK(near(scores["calinski_harabasz"], 144.1902786959258));
  CHECK(near(scores["davies_bouldin"], 2.1517097380390964));
  CHECK(near(scores["silhouette_per_cluster"][0], 0.3608993843537291));
  CHECK(near(scores["silhouette_per_cluster"][1], 0.0522745950239847));
  CHECK(!scores.contains("truth"));
  const std::vector<double> rows = values(file, "silhouette");
  REQUIRE(rows.size() == 1797);
  CHECK(near(rows[0], 0.43484686176987847));
  CHECK(near(rows[1796], 0.045873494816069615));
  CHECK(values(file, "counts").size() == 10);
  // Sampled rows have the same silhouettes as in the full set.
  const Outcome drawn =
      done({"evaluate", kDigits, "--points", kDigits, "--sample", "100", "--save-silhouette", "-o", some});
  CHECK(drawn.out.find(" (100 of 1797 rows)\n") != std::string::npos);
  const std::vector<double> numbers = values(some, "silhouette_rows"), sampled = values(some, "silhouette");
  REQUIRE(numbers.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(sampled[i] == rows[static_cast<std::size_t>(numbers[i])]);
  for (const std::string& backend : usable_backends()) {
    const std::string again = folder / (backend + ".h5");
    done({"evaluate", kDigits, "--points", kDigits, "--save-silhouette", "-q", "-o", again, "--backend", backend,
          "--block-rows", "100"});
    CHECK(bytes_of(again) == bytes_of(file));
  }
  // With classes, and a text file with a label column.
  write_bytes(groups, kGroups);
  const Outcome both = done(
      {"evaluate", groups + ":group", "--truth", groups + ":group", "--points", groups, "--drop-columns", "group"});
  CHECK(both.out.find("silhouette                     0.9") == 0);
  CHECK(both.out.find("\nadjusted Rand index            1\n") != std::string::npos);
  CHECK(both.out.find("\ncluster  rows  silhouette\n      a     4  ") != std::string::npos);
}

TEST_CASE("sweep and evaluate --points: conflicting options are refused, options without effect warned of") {
  const Scratch folder;
  const std::string groups = folder / "g.csv", same = folder / "same.csv";
  write_bytes(groups, kGroups);
  write_bytes(same, "group\na\na\na\na\na\na\na\na\na\na\na\n");
  for (const char* list : {"x", "3-", "-3", "5-2", "2,,3", "2-4:", "2-4:ln", "2;3", ""}) {
    INFO(list);
    CHECK(run_kith({"sweep", groups, "--drop-columns", "group", std::string("--clusters=") + list}).code == 2);
  }
  refuses(2, {"sweep", groups, "--drop-columns", "group", "-k", "2-5", "--tolerance", "-1"}, {"--tolerance"});
  CHECK(done({"evaluate", same, "--truth", same, "--sample", "3", "--metric", "cosine"})
            .says("--sample has no effect: there are no --points"));
  CHECK(done({"evaluate", groups + ":group", "--points", groups, "--drop-columns", "group", "--save-silhouette"})
            .says("--save-silhouette has no effect: there is no --output"));
  CHECK(done({"sweep", groups, "--drop-columns", "group", "-k", "2,3", "--sample", "3", "--init", "first", "--n-init",
              "3"})
            .says("--n-init has no effect"));
  CHECK(files_in(folder) == Words{"g.csv", "same.csv"});
}

TEST_CASE("evaluate --points: which silhouette is taken follows from the number of rows") {
  const Scratch folder;
  const std::string out = folder / "s.h5", few = folder / "few.h5", many = folder / "many.h5";
  done({"generate", few, "-n", "100000", "-d", "1", "-k", "2", "-q"});
  done({"generate", many, "-n", "100001", "-d", "1", "-k", "2", "-q"});
  const auto evaluate = [&](const std::string& file, const Words& more) {
    Words words{"evaluate", file + ":/labels", "--points", file + ":/points", "-f", "-o", out};
    words.insert(words.end(), more.begin(), more.end());
    return done(words);
  };
  const std::string kRule = "--silhouette simplified, as for all sets of more than 100000 rows";
  CHECK(!evaluate(few, {"--dry-run"}).says(kRule));
  CHECK(evaluate(many, {"--dry-run"}).says(kRule));
  const auto lists = [&](const Words& more, const std::string& stored) {
    const nlohmann::json found = evaluate(many, more).json()["evaluation"];
    CHECK(found.contains("davies_bouldin"));
    CHECK(found.contains("silhouette_per_cluster") == found.contains("simplified_silhouette"));
    CHECK(kith::data::StoredResult(out).text("command").find(" --silhouette " + stored) != std::string::npos);
    return std::pair(found.contains("silhouette"), found.contains("simplified_silhouette"));
  };
  CHECK(lists({"--json"}, "simplified") == std::pair(false, true));
  CHECK(lists({"--json", "--sample", "20"}, "exact --sample 20") == std::pair(true, true));
  CHECK(lists({"--json", "--silhouette", "none"}, "none") == std::pair(false, false));
  CHECK(evaluate(many, {"--silhouette", "none", "--save-silhouette", "-q"}).says("--save-silhouette has no effect"));
}
