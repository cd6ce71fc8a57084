// What clusters are in the units of the file: --explain, --profile, the lines of the summary and the datasets.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "data/results/stored_result.h"
#include "tests/support/program.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

const std::string kOrders = std::string(KITH_SOURCE_DIR) + "/samples/orders.csv";

Words fields_of(const std::string& line) {
  Words fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Two groups of customers in four columns; an income is missing, and so is a segment.
std::string customers() {
  return "id,income,age,segment,city\n"
         "C-1,9000,21,student,Lyon\nC-2,9500,23,student,Lyon\nC-3,8800,22,student,Paris\nC-4,NA,22,basic,Lyon\n"
         "C-5,70000,48,basic,Paris\nC-6,72000,51,basic,Paris\nC-7,71000,50,,Paris\nC-8,69500,53,gold,Paris\n";
}

const Words kFit{"-k",      "2",      "--init",   "farthest", "--id-column", "id",
                 "--scale", "zscore", "--encode", "onehot",   "--nan",       "mean"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("--explain shows means and commonest texts in the units of the file, whatever the preparation") {
  const Scratch folder;
  const std::string table = folder / "customers.csv";
  write_bytes(table, customers());
  for (const Words& more : {Words{}, {"--pca", "2"}, {"--metric", "cosine"}, {"--threads", "3"}}) {
    const nlohmann::json all = done(with(with({"cluster", table}, kFit), with(more, {"--explain", "--json"}))).json();
    INFO(all["profile"].dump(2));
    REQUIRE(all["profile"].size() == 2);
    for (const auto& cluster : all["profile"]) {
      REQUIRE(cluster["columns"].size() == 4);
      CHECK(cluster["rows"] == 4);
      bool young = false;
      for (const auto& column : cluster["columns"])
        young = young || (column["column"] == "age" && column["mean"] == 22);
      for (const auto& column : cluster["columns"]) {
        const std::string name = column["column"];
        // The missing income and segment enter no mean and no share, although the fit replaces them.
        if (name == "income") {
          CHECK(column["mean"] == (young ? 9100.0 : 70625.0));
          CHECK(column["mean_of_all"].get<double>() == Approx(309800.0 / 7));
        } else if (name == "age") {
          CHECK(column["mean"] == (young ? 22.0 : 50.5));
        } else if (name == "segment") {
          CHECK(column["text"] == (young ? "student" : "basic"));
          CHECK(column["share"].get<double>() == (young ? Approx(0.75) : Approx(2.0 / 3)));
          CHECK(column["share_in_all"].get<double>() == Approx(3.0 / 7));
        } else {
          CHECK(name == "city");
          CHECK(column["text"] == (young ? "Lyon" : "Paris"));
          CHECK(column["share_of_all"].get<double>() == Approx(0.625));
        }
      }
    }
  }
}

TEST_CASE("--explain: the text for people") {
  const Scratch folder;
  write_bytes(folder / "customers.csv", customers());
  const std::string text = done(with({"cluster", folder / "customers.csv"}, with(kFit, {"--explain"}))).out;
  INFO(text);
  CHECK(text.find("cluster 0: 4 rows (50.0 %), typical row C-") == 0);
  CHECK(text.find("  income   9100            all 44 257.1 ") != std::string::npos);
  CHECK(text.find("  segment  student (75 %)  all basic (43 %)  student: 43 % of all\n") != std::string::npos);
  CHECK(text.find(" deviations\n") != std::string::npos);
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 80);
}

TEST_CASE("--explain breaks long names and texts over lines, and cuts no words") {
  const Scratch folder;
  std::string table = "How satisfied are you with us?,Which of these features do you use?,score\n";
  for (int i = 0; i < 12; ++i) {
    table += i % 2 == 0 ? "Strongly disagree,Search and maps of places," : "Strongly agree,Export to spreadsheets,";
    table += std::to_string(100 * (i % 2) + i) + "\n";
  }
  write_bytes(folder / "survey.csv", table);
  const std::string text =
      done({"cluster", folder / "survey.csv", "-k", "2", "--encode", "onehot", "--scale", "zscore", "--explain"},
           {.environment = {"COLUMNS=80"}})
          .out;
  INFO(text);
  const std::string table_of_clusters = text.substr(text.find("cluster 0: "));
  CHECK(table_of_clusters.find("...") == std::string::npos);
  CHECK(table_of_clusters.find("\n\n") == std::string::npos);
  for (const char* word : {"satisfied", "disagree", "agree", "spreadsheets", "features"}) {
    CHECK(table_of_clusters.find(word) != std::string::npos);
  }
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 80);
}

TEST_CASE("--explain: deviations within clusters order the columns; what no row of a cluster differs in comes first") {
  const Scratch folder;
  // Within clusters the values of a lie 1 from their means, 1 and 5; those of b 3 from 10 and 30; c is constant there.
  write_bytes(folder / "x.csv", "a,b\x1b,c,d,kind\n0,7,5,4,x\n2,13,5,4,x\n4,27,6,4,y\n6,33,6,4,y\n");
  const Words words{"cluster",  folder / "x.csv", "-k",   "2",        "--init",
                    "farthest", "--label-column", "kind", "--explain"};
  const std::string text = done(words).out;
  INFO(text);
  CHECK(text.find("  c      6   all 5.5  one value in each cluster\n") != std::string::npos);
  CHECK(text.find("  b\\x1b  30  all 20   +3.3 deviations\n") != std::string::npos);
  CHECK(text.find("  a      5   all 3    +2.0 deviations\n") != std::string::npos);
  CHECK(text.find("  d      4   all 4\n") != std::string::npos);
  const auto found = done(with(words, {"--json"})).json()["profile"][0]["columns"];
  REQUIRE(found.size() == 4);
  CHECK(found[0]["column"] == "c");
  CHECK(found[0]["difference"].is_null());
  CHECK(found[1]["column"] == "b\x1b");
  CHECK(std::abs(found[1]["difference"].get<double>()) == Approx(10.0 / 3));
  CHECK(found[3]["difference"] == 0.0);
  // At most ten columns are shown, numbered if they have no names.
  const std::string digits = done({"cluster", kDigits, "-k", "4", "--explain"}).out;
  CHECK(digits.find("and 54 columns that differ less\n") != std::string::npos);
  CHECK(digits.find("  column ") != std::string::npos);
}

TEST_CASE("the datasets of --explain: means, shares and texts of the columns of the file; none without it") {
  const Scratch folder;
  const std::string table = folder / "customers.csv", plain = folder / "plain.h5", result = folder / "explained.h5";
  write_bytes(table, customers());
  const Words fit = with({"cluster", table}, kFit);
  done(with(fit, {"-o", plain}));
  CHECK(!StoredResult(plain).has("profile_means"));
  done(with(fit, {"--explain", "-o", result}));
  const StoredResult stored(result);
  CHECK(stored.lines("profile_columns") == Words{"income", "age", "segment", "city"});
  CHECK(stored.lines("profile_kinds") == Words{"number", "number", "text", "text"});
  const auto means = stored.matrix("profile_means"), shares = stored.matrix("profile_shares");
  REQUIRE(means.rows() == 2);
  REQUIRE(means.columns() == 4);
  const std::int64_t young = means(0, 1) == 22.0 ? 0 : 1;
  CHECK(means(young, 0) == 9100.0);
  CHECK(means(1 - young, 0) == 70625.0);
  CHECK(std::isnan(means(0, 2)));
  CHECK(std::isnan(shares(0, 0)));
  CHECK(shares(young, 2) == 0.75);
  CHECK(stored.matrix("profile_all_means")(0, 1) == 36.25);
  CHECK(stored.matrix("profile_all_shares")(0, 3) == 0.625);
  CHECK(stored.vector("profile_deviations").size() == 4);
  const std::string bytes = bytes_of(result);
  for (const Words& more : {Words{"--threads", "1"}, {"--threads", "3"}, {"--block-rows", "2"}}) {
    done(with(with(fit, {"--explain", "-f", "-o", result}), more));
    CHECK(bytes_of(result) == bytes);
  }
  CHECK(done({"info", result, "--verify"}).code == 0);
}

TEST_CASE("--profile writes a row for each cluster and column") {
  const Scratch folder;
  const std::string table = folder / "customers.csv", profile = folder / "profile.csv";
  write_bytes(table, customers());
  const Words run = with(with({"cluster", table}, kFit), {"--profile", profile, "-q"});
  done(run);
  const Words lines = lines_of(bytes_of(profile));
  REQUIRE(lines.size() == 9);
  CHECK(lines[0] == "cluster,rows,column,kind,value,mean,share,all_value,all_mean,all_share,difference");
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find(",4,income,number,9100,9100,,44257.142857142855,44257.142857142855,,-") != line.npos;
        }) == 1);
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          const Words fields = fields_of(line);
          return fields[2] == "segment" && fields[3] == "text" && fields[4] == "student" && fields[5].empty() &&
                 fields[6] == "0.75" && fields[7] == "basic";
        }) == 1);
  refuses(5, run, {"profile.csv: exists; use -f"});
  done(with(run, {"-f"}));
  refuses(5, with({"cluster", table}, with(kFit, {"--profile", folder / "profile.h5"})), {".csv"});
  refuses(2, with({"cluster", table}, with(kFit, {"-o", folder / "x.csv", "--profile", folder / "x.csv"})),
          {"--profile", "expected another name than that of the output"});
}

TEST_CASE("the summary of few clusters says what they are; weights count") {
  const Scratch folder;
  const std::string table = folder / "x.csv";
  write_bytes(table, "income,w\n1,1\n2,3\n100,1\n200,0\n");
  const Outcome outcome =
      done({"cluster", table, "-k", "2", "--init", "farthest", "--weight-column", "w", "--explain", "--json"});
  const auto profile = outcome.json()["profile"];
  const auto& low = profile[0]["rows"] == 2 ? profile[0] : profile[1];
  CHECK(low["columns"][0]["mean"] == 1.75);
  CHECK(low["columns"][0]["mean_of_all"] == 21.4);
  const Outcome said = done({"cluster", kOrders, "-k", "2", "--columns", "orders,spent", "--decimal", "comma",
                             "--thousands", ".", "--nan", "drop", "-o", folder / "c.h5"});
  INFO(said.err);
  CHECK(said.says("cluster 0  4 rows, 44.4 %: spent 1483.56, all 681.871; orders 27.25, all 13.5556"));
  const Outcome quiet = done({"cluster", kDigits, "-k", "2", "-o", folder / "d.h5"});
  CHECK(!quiet.says("cluster 0"));  // 64 columns without names
}

TEST_CASE("--explain reads values again where the points are other ones, which a stream does not allow") {
  const Scratch folder;
  write_bytes(folder / "x.csv", "a,b\n1,0\n8,6\n0,2\n3,4\n");
  Setting piped;
  piped.standard_input = folder / "x.csv";
  const Words words{"cluster", "-", "-k", "2", "--explain", "--json"};
  CHECK(done(words, piped).json()["profile"].size() == 2);
  refuses(2, with(words, {"--metric", "cosine"}), {"--explain", "write it to a file first"}, piped);
}

TEST_CASE("--explain shows dates as dates, and yes and no as a share") {
  const Scratch folder;
  write_bytes(folder / "x.csv",
              "signup,active,age\n2024-03-01,yes,20\n2024-03-03,no,22\n2024-03-02,yes,21\n2024-03-02,yes,21\n"
              "2020-01-01,no,60\n2020-02-10,no,62\n,no,61\n2020-03-01,no,61\n");
  const Words run{"cluster", folder / "x.csv", "-k",    "2",    "--encode", "signup=date,active=yesno",
                  "--scale", "zscore",         "--nan", "mean", "--explain"};
  const std::string text = done(run).out;
  INFO(text);
  CHECK(text.find("  signup  2024-03-02  all 2022-06-") != std::string::npos);
  CHECK(text.find("  signup  2020-02-03  all 2022-06-") != std::string::npos);
  CHECK(text.find("  active  75 % yes    all 38 % yes") != std::string::npos);
  CHECK(text.find("  active  0 % yes     all 38 % yes") != std::string::npos);
  done(with(run, {"-o", folder / "c.h5", "--profile", folder / "p.csv"}));
  const StoredResult stored(folder / "c.h5");
  CHECK(stored.lines("profile_kinds") == Words{"date", "yesno", "number"});
  const double days = stored.matrix("profile_means")(0, 0);
  CHECK((days == 19784.0 || days == Approx(18295.0 + 1.0 / 3)));  // since 1970
  CHECK(bytes_of(folder / "p.csv").find(",4,signup,date,2024-03-02,19784,,2022-06-") != std::string::npos);
}
