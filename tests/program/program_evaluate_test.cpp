// kith evaluate with labels of all kinds, and the runs of kith cluster --n-init.
#include <cmath>

#include "tests/support/program.h"

using namespace kith::testing;

namespace {

/// A numeric root attribute.
double number(const std::string& file, const char* name) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(id, name, H5P_DEFAULT);
  double value = std::nan("");
  REQUIRE(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) >= 0);
  H5Aclose(attribute);
  H5Fclose(id);
  return value;
}

/// Six rows in clusters 10 and 9 and classes a, b and c, with the row numbers as another column.
const std::string kTable = "id,found,kind\n0,10,b\n1,10,b\n2,10,a\n3,9,a\n4,9,a\n5,9,c\n";

}  // namespace

TEST_CASE("evaluate: scores and table as text, as JSON and in a file") {
  const Scratch folder;
  const std::string table = folder / "t.csv", result = folder / "scores.h5";
  write_bytes(table, kTable);
  const Outcome shown = done({"evaluate", table + ":found", "--truth", table + ":kind"});
  CHECK(shown.out.find("adjusted Rand index            0.117647\n") == 0);
  CHECK(shown.out.ends_with("\ncluster  a  b  c\n      9  2  0  1\n     10  1  2  0\n"));
  CHECK(shown.says(table + ":found; 6 rows in 2 clusters"));
  CHECK(shown.says(table + ":kind; 3 classes"));

  const Words words{"evaluate", table + ":2", "--truth", table + ":3", "-o", result, "--json", "-q"};
  const nlohmann::json report = done(words).json()["evaluation"];
  // scikit-learn 1.9.1
  CHECK(std::abs(report["adjusted_rand_index"].get<double>() - 0.11764705882352941) < 1e-12);
  CHECK(std::abs(report["adjusted_mutual_information"].get<double>() - 0.18282381727924235) < 1e-12);
  CHECK(report["rows"] == 6);
  CHECK(report["clusters"] == 2);
  CHECK(report["classes"] == 3);
  const Outcome quiet = done({"evaluate", table + ":2", "--truth", table + ":3", "-o", result, "-f", "-q"});
  CHECK(quiet.out + quiet.err == "");
  CHECK(done({"evaluate", table + ":2", "--truth", table + ":3", "-q"}).out == shown.out);
  CHECK(report["contingency"] == nlohmann::json({{2, 0, 1}, {1, 2, 0}}));
  for (const char* score : {"adjusted_rand_index", "adjusted_mutual_information", "normalized_mutual_information",
                            "homogeneity", "completeness", "v_measure", "fowlkes_mallows", "purity"}) {
    CHECK(number(result, score) == report[score].get<double>());
  }
  CHECK(number(result, "rows") == 6);
  CHECK(bytes_of(result).find("a\nb\nc") != std::string::npos);
  CHECK(bytes_of(result).find("9\n10") != std::string::npos);
  CHECK(bytes_of(result).find("evaluate t.csv:found --truth t.csv:kind") != std::string::npos);
  CHECK(done({"info", result}).out.find("/contingency  2 x 3  int64") != std::string::npos);

  refuses(5, words, {"scores.h5: exists", "--force"});
  refuses(5, {"evaluate", table + ":2", "--truth", table + ":3", "-f", "-o", table}, {"t.csv"});
  refuses(5, {"evaluate", table + ":2", "--truth", table + ":3", "-o", folder / "s.csv"}, {"s.csv"});
  CHECK(bytes_of(table) == kTable);
}

TEST_CASE("evaluate: labels from results, datasets, arrays and text columns give the same scores") {
  const Scratch folder;
  const std::string result = folder / "c.h5", text = folder / "c.csv", array = folder / "c.npy";
  for (const std::string& file : {result, text, array}) done({"cluster", kDigits, "-k", "10", "-q", "-o", file});
  done({"assign", kDigits, "--centroids", result, "-q", "-o", folder / "a.h5"});
  const std::string expected = done({"evaluate", result, "--truth", kDigits}).out;
  CHECK(expected.find("\npurity                         0.") != std::string::npos);
  for (const std::string& labels : {result + ":/labels", folder / "a.h5", text, text + ":label", text + ":2", array}) {
    CHECK(done({"evaluate", labels, "--truth", kDigits + ":/labels"}).out == expected);
  }
  CHECK(done({"evaluate", text, "--truth", result}).out.find("adjusted Rand index            1\n") == 0);

  // A single column needs no name; labels can be text or numbers.
  write_bytes(folder / "one.tsv", "kind\nx\ny\n\"x\"\n");
  write_bytes(folder / "two.txt", "-1\n7\n-1\n");
  CHECK(done({"evaluate", folder / "one.tsv", "--truth", folder / "two.txt"})
            .out.ends_with("cluster  -1  7\n      x   2  0\n      y   0  1\n"));
  write_bytes(folder / "three.csv", "a;b\n1;x\n2;y\n1;x\n");
  CHECK(done({"evaluate", folder / "three.csv:b", "--truth", folder / "two.txt", "--delimiter", "semicolon"})
            .out.find("purity                         1\n") != std::string::npos);
  // Words without a header: the first line is not taken for a header silently.
  write_bytes(folder / "words.txt", "x\ny\nx\n");
  CHECK(done({"evaluate", folder / "words.txt", "--truth", folder / "words.txt", "--header", "no"})
            .says("words.txt:1; 3 rows in 2 clusters"));
  // A table with many columns is not printed.
  CHECK(done({"evaluate", result, "--truth", kDigits + ":/labels"}).out.find("-o FILE") == std::string::npos);
  done({"generate", folder / "many.h5", "-n", "200", "-k", "50", "-q"});
  const std::string many = folder / "many.h5";
  CHECK(done({"evaluate", many, "--truth", many}).out.ends_with("classes: -o FILE writes it\n"));
}

TEST_CASE("evaluate: columns of AnnData's obs, categorical and text") {
  const Scratch folder;
  const std::string cells = folder / "cells.h5ad";
  {
    FileMaker maker(cells);
    const hid_t fixed = H5Tcopy(H5T_C_S1), variable = H5Tcopy(H5T_C_S1);
    H5Tset_size(fixed, 3);
    H5Tset_size(variable, H5T_VARIABLE);
    maker.floats("X", {4, 1}, {1, 2, 3, 4});
    maker.group("obs");
    maker.dataset("obs/fixed", fixed, {4}, fixed, "ab\0abcab\0b\0\0");
    const std::vector<const char*> texts{"y", "x", "y", "z"}, holes{"y", "x", "", "z"}, names{"late", "early", "never"};
    maker.dataset("obs/variable", variable, {4}, variable, texts.data());
    maker.dataset("obs/holes", variable, {4}, variable, holes.data());
    const std::vector<std::int8_t> codes{1, 0, 1, 0}, missing{1, 0, -1, 0}, beyond{1, 0, 3, 0};
    for (const auto& [group, values] :
         {std::pair{"obs/kind", &codes}, std::pair{"obs/missing", &missing}, std::pair{"obs/beyond", &beyond}}) {
      maker.group(group);
      maker.dataset(std::string(group) + "/codes", H5T_STD_I8LE, {4}, H5T_NATIVE_INT8, values->data());
      maker.dataset(std::string(group) + "/categories", variable, {3}, variable, names.data());
    }
    H5Tclose(fixed);
    H5Tclose(variable);
  }
  CHECK(done({"evaluate", cells + ":/obs/variable", "--truth", cells + ":/obs/kind"})
            .out.ends_with("cluster  late  early\n      x     1      0\n      y     0      2\n      z     1      0\n"));
  CHECK(done({"evaluate", cells + ":obs/kind", "--truth", cells + ":obs/fixed"})
            .out.ends_with("cluster  ab  abc  b\n   late   0    1  1\n  early   2    0  0\n"));
  const auto refused_column = [&](const char* column, const Words& said) {
    refuses(3, {"evaluate", cells + ":/obs/kind", "--truth", cells + ":/obs/" + column}, said);
  };
  refused_column(
      "beyond", {"cells.h5ad:/obs/beyond: row 3 (counted from 1): expected a label, found the code 3 of 3 categories"});
  for (const char* column : {"missing", "holes"}) {
    const std::string gaps = cells + ":/obs/" + column, whole = cells + ":/obs/kind";
    const Outcome run = done({"evaluate", gaps, "--truth", whole}),
                  classes = done({"evaluate", whole, "--truth", gaps});
    CHECK(run.says("1 of 4 rows have no label, or -1"));
    CHECK(run.out.find("homogeneity                    1\n") != std::string::npos);
    CHECK(classes.says(std::string(column) + ": 1 of 4 rows have no label; the scores ignore them"));
    CHECK(classes.out.find("completeness                   1\n") != std::string::npos);
    // Votes need the class of every row.
    refuses(3, {"knn", cells + ":/X", "-k", "1", "--classify", gaps},
            {std::string(column) + ": row 3 (counted from 1): expected a label, found none; give this row a label"});
  }
  refused_column("other", {"no such dataset: 'other' is not in /obs", "kind"});
}

TEST_CASE("evaluate: labels of a table with control characters are read, as the table is") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const char* sign : {"\a", "\b", "\x01", "\x7f"}) {
    const std::string odd = std::string("a") + sign;
    write_bytes(folder / "t.csv", "x,kind" + odd + "\n1," + odd + "\n9,b\n2," + odd + "\n");
    done({"cluster", "t.csv", "-k", "2", "--init", "first", "--label-column", "2", "-q", "-f", "-o", "labels.csv"},
         there);
    write_bytes(folder / "plain.csv", "kind\na\nb\na\n");
    for (const Words& pair :
         {Words{"labels.csv", "t.csv:2"}, Words{"t.csv:2", "plain.csv"}, Words{"plain.csv", "t.csv:2"}}) {
      const Outcome run = done({"evaluate", pair[0], "--truth", pair[1], "--json"}, there);
      CHECK(run.json()["evaluation"]["adjusted_rand_index"] == 1.0);
      CHECK(run.err.find(sign) == std::string::npos);
    }
    done({"cluster", "t.csv", "--columns", "1", "--init-labels", "t.csv:2", "-q"}, there);
  }
}

TEST_CASE("evaluate: results without labels are refused") {
  const Scratch folder;
  done({"knn", kDigits, "-k", "1", "-q", "-o", folder / "n.h5"});
  refuses(3, {"evaluate", kDigits, "--truth", folder / "n.h5"}, {"n.h5:/labels: no such dataset", "neighbors"});
  refuses(3, {"evaluate", kDigits, "--truth", folder / "n.h5:/distances"},
          {"n.h5:/distances: row 1 (counted from 1): expected a whole number, as labels and identifiers are, found"});
  refuses(3, {"evaluate", kDigits + ":/train", "--truth", kDigits + ":/labels"},
          {"expected labels, one for each row", "found a matrix", "name the vector that holds them"});
}

TEST_CASE("--n-init: the report has every run, the file the best one") {
  const Scratch folder;
  const std::string result = folder / "c.h5";
  const Words words{"cluster", kDigits, "-k", "10", "--n-init", "5", "-f", "-o", result, "--json"};
  const nlohmann::json report = done(words).json();
  REQUIRE(report["runs"].size() == 5);
  std::size_t best = 0;
  for (std::size_t i = 1; i < 5; ++i) {
    if (report["runs"][i]["inertia"] < report["runs"][best]["inertia"]) best = i;
  }
  REQUIRE(best > 0);  // otherwise the next checks are void
  CHECK(report["run"] == best);
  CHECK(report["inertia"] == report["runs"][best]["inertia"]);
  CHECK(report["iterations"].size() == report["runs"][best]["iterations"].get<std::size_t>());
  CHECK(report["stopped_by"] == report["runs"][best]["stopped_by"]);
  CHECK(number(result, "n_init") == 5);
  CHECK(number(result, "run") == static_cast<double>(best));
  CHECK(number(result, "inertia") == report["inertia"].get<double>());

  const Outcome run = done({"cluster", kDigits, "-k", "10", "--n-init", "5", "-v"});
  CHECK(run.says("run 1 of 5: inertia"));
  CHECK(run.says("run 5 of 5: inertia"));
  CHECK(run.says("5; run " + std::to_string(best + 1) + " has the lowest inertia, the highest is "));

  // A start without random choices has one run, whatever --n-init is.
  done({"cluster", kDigits, "-k", "10", "--init", "first", "--n-init", "5", "-f", "-o", result});
  CHECK(number(result, "n_init") == 1);
  CHECK(number(result, "run") == 0);
}
