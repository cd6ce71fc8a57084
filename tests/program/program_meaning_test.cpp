// Files whose form says more than one value does: rows without any value, words among labels.
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

TEST_CASE("rows without any value, as behind the table in a spreadsheet, are no points") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string rows = "x,y\n", empty;
  for (int i = 0; i < 40; ++i) rows += std::to_string(i % 7) + "," + std::to_string(100 * (i % 2) + i % 5) + "\n";
  for (int i = 0; i < 60; ++i) empty += i % 2 == 0 ? ",\n" : "NA,\n";
  write_bytes(folder / "t.csv", rows);
  write_bytes(folder / "more.csv", rows + empty);
  const auto labels = [&](const char* file, const Words& more) {
    Words words{"cluster", file, "-k", "2", "-f", "-o", "o.h5"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = done(words, there);
    CHECK(run.says("60 of 100 rows dropped") == (file == std::string("more.csv")));
    return stored(folder / "o.h5:/labels");
  };
  // The remedy that the refusal names.
  refuses(3, {"cluster", "more.csv", "-k", "2"}, {"this reads it: --nan drop"}, there);
  for (const Words& more : {Words{"--nan", "drop"}, Words{"--nan", "mean"}, Words{"--prepare", "auto"},
                            Words{"--nan", "median", "--scale", "zscore"}}) {
    const bool is_drop = more.back() == "drop";
    std::vector<double> expected = labels("t.csv", is_drop ? Words{} : more);
    expected.insert(expected.end(), 60, -1.0);
    CHECK(labels("more.csv", more) == expected);
  }
  // The model knows a replacement for each value, but a row of replacements has no label.
  write_bytes(folder / "new.csv", "x,y\n1,101\n,\n2,\n");
  const Outcome assigned = done({"assign", "new.csv", "--centroids", "o.h5", "-o", "-"}, there);
  CHECK(assigned.out.substr(assigned.out.find('\n'), 4) == "\n-1\n");
  CHECK(assigned.says("1 of 3 rows dropped"));
}

TEST_CASE("words for missing values are no labels, and 1.0 is the label 1") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "truth.csv", "class\na\na\nb\nb\na\nb\n");
  write_bytes(folder / "x.csv", "x\n1\n2\n8\n9\n3\n7\n");
  for (const char* word : {"NA", "NaN", "nan", "<NA>", "None", "null", "N/A", "?", ".", "NULL"}) {
    INFO(word);
    write_bytes(folder / "l.csv", "label\n0\n0.0\n1\n1.0\n" + std::string(word) + "\n" + word + "\n");
    for (const Words& words :
         {Words{"evaluate", "l.csv", "--truth", "truth.csv"}, Words{"evaluate", "truth.csv", "--truth", "l.csv"}}) {
      const Outcome run = done(words, there);
      CHECK(run.says("l.csv:label: 2 of 6 rows have no label"));
      CHECK(run.out.starts_with("adjusted Rand index            1\n"));
    }
    refuses(3, {"knn", "x.csv", "-k", "1", "--classify", "l.csv"},
            {"row 5", "found '" + std::string(word) + "', which stands for a missing one"}, there);
    refuses(3, {"cluster", "x.csv", "-k", "2", "--init-labels", "l.csv"}, {"row 5", "expected the label"}, there);
  }
  // Codes with leading zeros, and words that are classes elsewhere, are labels.
  write_bytes(folder / "l.csv", "label\n01\n01\n1\n1\nna\nna\n");
  CHECK(done({"evaluate", "truth.csv", "--truth", "l.csv"}, there).says("3 classes"));
}
