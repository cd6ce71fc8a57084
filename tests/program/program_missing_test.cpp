// kith --nan drop: rows with NaN or infinity are dropped and reported, and keep their place in the results.
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/source.h"
#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The values of `all` without these rows. columns: values of each row.
std::vector<double> without(std::vector<double> all, const std::vector<std::size_t>& rows, std::size_t columns) {
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(*row * columns);
    all.erase(begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return all;
}

void write_dataset(const std::string& file, const std::vector<double>& all, std::size_t columns) {
  FileMaker(file).dataset("x", H5T_IEEE_F64LE, {all.size() / columns, columns}, H5T_NATIVE_DOUBLE, all.data());
}

}  // namespace

TEST_CASE("rows with NaN or infinity are left out: the answer is that of the others, in the rows of the file") {
  const Scratch folder;
  constexpr std::size_t kRows = 400, kColumns = 5;
  std::vector<double> all(kRows * kColumns);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>((i * 7919 + i / 5 * 104729) % 1009) / 16;
  const std::vector<std::size_t> dropped{0, 3, 4, 77, 398, 399};
  const std::vector<double> bad{kNaN, std::numeric_limits<double>::infinity(), -kNaN};
  for (std::size_t i = 0; i < dropped.size(); ++i) all[dropped[i] * kColumns + i % kColumns] = bad[i % bad.size()];
  const std::string file = folder / "all.h5", other = folder / "rest.h5";
  write_dataset(file, all, kColumns);
  write_dataset(other, without(all, dropped, kColumns), kColumns);
  const std::string out = folder / "a.h5", expected = folder / "b.h5", assigned = folder / "c.h5";
  for (const std::string& backend : usable_backends()) {
    for (const Words& more :
         {Words{}, Words{"--precision", "f32", "--metric", "cosine"}, Words{"--block-rows", "64"}}) {
      INFO(backend);
      const auto with = [&](Words words, const Words& further) {
        words.insert(words.end(), {"--backend", backend, "--save-distances", "-f"});
        for (const Words& rest : {further, more}) words.insert(words.end(), rest.begin(), rest.end());
        return words;
      };
      const Outcome run = done(with({"cluster", file, "-k", "7"}, {"--nan", "drop", "-o", out}));
      CHECK(run.says("all.h5:/x: 6 of 400 rows dropped for NaN, infinity"));
      CHECK(run.says("; the first is row 1 (counted from 1)"));
      done(with({"cluster", other, "-k", "7"}, {"-o", expected}));
      for (const char* dataset : {"centroids", "counts", "inertia_per_cluster"}) {
        CHECK(stored(out + ":/" + dataset) == stored(expected + ":/" + dataset));
      }
      const std::vector<double> labels = stored(out + ":/labels"), distances = stored(out + ":/distances");
      REQUIRE(labels.size() == kRows);
      REQUIRE(distances.size() == kRows);
      for (const std::size_t row : dropped) {
        CHECK(labels[row] == -1);
        CHECK(std::isnan(distances[row]));
      }
      CHECK(without(labels, dropped, 1) == stored(expected + ":/labels"));
      CHECK(without(distances, dropped, 1) == stored(expected + ":/distances"));
      std::vector<double> numbers(kRows);
      for (std::size_t i = 0; i < kRows; ++i) numbers[i] = static_cast<double>(i);
      numbers = without(numbers, dropped, 1);
      const std::vector<double> nearest = stored(out + ":/nearest_row"), rest = stored(expected + ":/nearest_row");
      for (std::size_t c = 0; c < rest.size(); ++c) CHECK(nearest[c] == numbers[static_cast<std::size_t>(rest[c])]);
      done(with({"assign", file, "--centroids", out}, {"--nan", "drop", "-o", assigned}));
      CHECK(stored(assigned + ":/labels") == labels);
    }
  }
  const std::string head = bytes_of(out);
  CHECK(head.find("dropped_rows") != head.npos);
  CHECK(head.find("--nan drop") != head.npos);
  refuses(3, {"cluster", file, "-k", "2"},
          {"all.h5:/x: row 1, column 1 (counted from 1): expected a finite number, found NaN", "--nan drop"});
  refuses(3, {"cluster", file, "-k", "2", "--nan", "error"}, {"found NaN"});
  refuses(2, {"cluster", file, "-k", "395", "--nan", "drop"}, {"395", "394"});
}

TEST_CASE("empty fields, NA, nan and inf of text are missing values with --nan drop") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.csv";
  write_bytes(table, "id,x,y\na,0,0\nb,,1\nc,0,1\nd,NA,8\ne,9,9\nf,9,nan\ng,\"\",inf\nh,9,8\n");
  const Words start{"cluster", table, "--init", "first", "-k", "2", "--id-column", "id", "-f", "-o", out};
  const auto with = [&](const Words& more) {
    Words words = start;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Outcome run = done(with({"--nan", "drop", "--save-distances", "--json"}));
  CHECK(bytes_of(out) == "id,label,distance\na,0,0.5\nb,-1,\nc,0,0.5\nd,-1,\ne,1,0.5\nf,-1,\ng,-1,\nh,1,0.5\n");
  CHECK(run.json()["warnings"][0].get<std::string>().find("4 of 8 rows dropped") != std::string::npos);
  refuses(3, with({}),
          {"missing values, NaN or infinity in column 2 ('x') (3 rows, first fault in line 3), column 3 ('y')",
           "this reads it: --nan drop"});
  // What is no number is not missing either.
  write_bytes(table, "id,x,y\na,0,0\nb,,1\nc,0,none\n");
  refuses(3, with({"--nan", "drop"}), {"line 4, column 3 ('y'): expected a number, found 'none'"});
  write_bytes(table, "id,x,y\na,0,NA\nb,1,NA\nc,NA,NA\n");
  refuses(3, with({"--nan", "drop"}), {"all 3 rows were dropped", "column 2 ('y') lacks 3", "--drop-columns"});
}

TEST_CASE("the missing values of other programs are missing with --nan, and numbers never are") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::string rest = "1,1\n2,2\n9,9\n8,8\n";
  for (const char* text :
       {"NA",      "<NA>", "N/A",     "n/a",     "NaT",    "None",   "null",   "na",           "n.a.",     "N.A.",
        "missing", "NULL", "Null",    "\\N",     "(null)", "[NULL]", "<null>", "#N/A",         "#NA",      "#N/A N/A",
        "#NV",     "#N/D", "#DIV/0!", "#VALUE!", "#NAME?", "#WERT!", "#NUM!",  "#\xc3\x89RR!", "Err:502",  ".",
        ".a",      ".Z",   "._",      "?",       "..",     "...",    ":",      "1.#IND",       "-1.#QNAN", "1.#INF",
        "nan",     "-NaN", "inf",     "\"n/a\""}) {
    INFO(text);
    write_bytes(folder / "t.csv", "x,y\n0," + std::string(text) + "\n" + rest);
    CHECK(done({"cluster", "t.csv", "-k", "2", "--nan", "drop", "-o", "-"}, there).out.starts_with("-1\n"));
    refuses(3, {"cluster", "t.csv", "-k", "2"}, {"line 2, column 2 ('y')", "--nan drop"}, there);
    CHECK(done({"info", "t.csv", "--stats"}, there).out.find("1 missing value") != std::string::npos);
  }
  for (const char* text : {"-", "--", "none", "nil", "*", "unknown", "#1!x", "#low!", ".1.", "Err:5", "-."}) {
    INFO(text);
    write_bytes(folder / "t.csv", "x,y\n0," + std::string(text) + "\n" + rest);
    refuses(3, {"cluster", "t.csv", "-k", "2", "--nan", "drop"}, {"line 2, column 2 ('y')", "--na-values"}, there);
    CHECK(done({"cluster", "t.csv", "-k", "2", "--nan", "drop", "--na-values", text, "-o", "-"}, there)
              .out.starts_with("-1\n"));
  }
  for (const char* number : {"0", "-999", "9999", ".5", "5.", "+1", "1e3"}) {
    write_bytes(folder / "t.csv", "x,y\n0," + std::string(number) + "\n" + rest);
    CHECK_FALSE(done({"cluster", "t.csv", "-k", "2", "--nan", "drop", "-o", "-"}, there).out.starts_with("-1\n"));
  }
  // Among texts that become features, the words that may be texts of their own are missing with --nan only.
  write_bytes(folder / "t.csv", "x,kind\n0,a\n1,n/a\n2,b\n9,b\n");
  const auto columns = [&](const Words& more) {
    Words words{"cluster", "t.csv", "-k", "2", "--encode", "onehot", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return done(words, there).json()["points"]["columns"].get<int>();
  };
  CHECK(columns({}) == 4);
  CHECK(columns({"--nan", "drop"}) == 3);
  // A first line that names a column so is still one.
  write_bytes(folder / "t.csv", "k,na,missing\n1,2,3\n4,5,6\n");
  CHECK(done({"cluster", "t.csv", "-k", "2", "--init", "first", "-o", "-"}, there).out == "0\n1\n");
}

TEST_CASE("what columns that are not chosen lack is no error") {
  const Scratch folder;
  const std::string array = folder / "x.npy", matrix = folder / "x.h5";
  const std::vector<float> values{0, 1, 2, 3, 4, NAN, 6, 7, 8, 90, 91, 92};
  write_bytes(array, npy("'<f4'", false, "(4, 3)", raw(values)));
  FileMaker(matrix).floats("x", {4, 3}, values);
  for (const std::string& file : {array, matrix}) {
    CHECK(done({"cluster", file, "-k", "2", "--columns", "1,2", "--json"}).json()["points"]["rows"] == 4);
    CHECK(done({"cluster", file, "-k", "2", "--drop-columns", "3", "--json"}).json()["points"]["rows"] == 4);
    for (const char* columns : {"2-3", "3", "1-3"})
      refuses(3, {"cluster", file, "-k", "2", "--columns", columns}, {"row 2, column 3 (counted from 1)", "found NaN"});
  }
}

TEST_CASE("a dropped query has the neighbour -1 in every output") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "0,0\n0,\n0,1\n9,9\n");
  const Words words{"knn", "t.csv", "-k", "1", "--nan", "drop", "-f"};
  CHECK(done(words, there).out == "0\t2\t1\n1\t-1\tnan\n2\t0\t1\n3\t2\t12.041594578792296\n");
  Words to_file = words;
  to_file.insert(to_file.end(), {"-o", "o.csv"});
  done(to_file, there);
  CHECK(bytes_of(folder / "o.csv") == "query,neighbor,distance\n0,2,1\n1,-1,\n2,0,1\n3,2,12.041594578792296\n");
}

TEST_CASE("a dropped row has no category in obs, and -1 in an array") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.npy";
  write_bytes(table, "0,0\n0,\n0,1\n9,9\n");
  done({"cluster", table, "-k", "2", "--init", "first", "--nan", "drop", "-o", out});
  const std::vector<double> labels = stored(out);
  CHECK(labels == std::vector<double>{0, -1, 0, 1});
  // Every kind of labels that a run writes is read, and says the same.
  write_bytes(folder / "truth.txt", "kind\na\na\na\nb\n");
  const auto scores = [&](const std::string& file) {
    const Outcome run = done({"evaluate", file, "--truth", folder / "truth.txt"});
    CHECK(run.says("1 of 4 rows have no label, or -1 ("));
    return run.out;
  };
  const std::string expected = scores(out);
  CHECK(expected.find("purity                         1\n") != expected.npos);
  for (const char* other : {"out.csv", "out.h5"}) {
    done({"cluster", table, "-k", "2", "--init", "first", "--nan", "drop", "-o", folder / other});
    CHECK(scores(folder / other) == expected);
  }
  // As a start they will do where the same rows are left out.
  for (const char* start : {"out.csv", "out.h5", "out.npy"}) {
    done({"cluster", table, "--nan", "drop", "--init-labels", folder / start, "-f", "-o", folder / "again.npy"});
    CHECK(stored(folder / "again.npy") == labels);
    write_bytes(folder / "whole.csv", "0,0\n0,7\n0,1\n9,9\n");
    refuses(3, {"cluster", folder / "whole.csv", "--init-labels", folder / start},
            {"row 2 (counted from 1): expected the label of a cluster, found none or -1"});
  }
  write_bytes(folder / "none.csv", "label\n-1\n-1\n-1\n-1\n");
  refuses(3, {"cluster", table, "--init-labels", folder / "none.csv"}, {"row 1 (counted from 1): expected the label"});
  write_bytes(folder / "gap.csv", "row,label\n0,0\n1,\n2,0\n3,1\n");
  CHECK(done({"evaluate", folder / "truth.txt", "--truth", folder / "gap.csv"})
            .says("gap.csv:label: 1 of 4 rows have no label; the scores ignore them"));
  refuses(2, {"cluster", table, "-k", "2", "--nan", "maybe"}, {"--nan", "error", "drop"});
}

TEST_CASE("missing values are replaced by the mean or the median of their column") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "missing.csv", "a,b,c\n1,NA,1\n2,10,1\n,20,1\nnan,#N/A,1\n9,60,1\n3,50,1\n");
  const std::vector<std::pair<std::string, std::string>> filled{
      {"mean", "a,b,c\n1,35,1\n2,10,1\n3.75,20,1\n3.75,35,1\n9,60,1\n3,50,1\n"},
      {"median", "a,b,c\n1,35,1\n2,10,1\n2.5,20,1\n2.5,35,1\n9,60,1\n3,50,1\n"}};
  const auto centroids = [&](const std::string& file, const Words& more) {
    Words words{"cluster", file, "-k", "2", "-f", "-o", "o.h5"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = done(words, there);
    CHECK(run.says("4 missing values were replaced by the ") == !more.empty());
    return std::pair{stored(folder / "o.h5:/centroids"), stored(folder / "o.h5:/labels")};
  };
  for (const auto& [how, rows] : filled) {
    INFO(how);
    write_bytes(folder / "filled.csv", rows);
    const auto expected = centroids("filled.csv", {});
    CHECK(centroids("missing.csv", {"--nan", how}) == expected);
    CHECK(centroids("missing.csv", {"--nan", how, "--memory", "100MB", "--block-rows", "2"}) == expected);
  }
  // Other formats, and values that the user names, numbers among them.
  write_dataset(
      folder / "m.h5",
      {1, kNaN, 1, 2, 10, 1, kNaN, 20, 1, kNaN, -std::numeric_limits<double>::infinity(), 1, 9, 60, 1, 3, 50, 1}, 3);
  const auto expected = centroids("missing.csv", {"--nan", "median"});
  CHECK(centroids("m.h5", {"--nan", "median"}) == expected);
  write_bytes(folder / "named.csv", "a,b,c\n1,-,1\n2,10,1\n-9e2,20,1\n\"gone\",-900,1\n9,60,1\n3,50,1\n");
  CHECK(centroids("named.csv", {"--nan", "median", "--na-values", "gone,-900,-"}) == expected);
  refuses(3, {"cluster", "named.csv", "-k", "2", "--nan", "mean"},
          {"('-', 1 row, first fault in line 2)", "this reads it: --na-values 'gone,-'"}, there);
  write_bytes(folder / "empty.csv", "a,b\n1,\n2,\n");
  refuses(3, {"cluster", "empty.csv", "-k", "2", "--nan", "mean"},
          {"expected values in column 2 ('b'), found none; leave it out with --drop-columns b"}, there);
  for (const char* marker : {"NA", "N/A", "#N/A", "NULL", "null", "None", "?", ".", ""}) {
    INFO(marker);
    write_bytes(folder / "marker.csv", "x,y\n1,1\n" + std::string(marker) + ",1\n3,1\n");
    CHECK(done({"cluster", "marker.csv", "-k", "1", "--nan", "drop"}, there).says("1 of 3 rows dropped"));
    refuses(3, {"cluster", "marker.csv", "-k", "1"}, {"line 3, column 1 ('x')", "--nan drop"}, there);
  }
}

TEST_CASE("a line sep= names the delimiter, as Excel writes it") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "plain.csv", "x;y\n1;2\n3;5\n8;9\n");
  write_bytes(folder / "excel.csv", "\xef\xbb\xbfsep=;\r\nx;y\r\n1;2\r\n3;5\r\n8;9\r\n");
  const auto labels = [&](const std::string& file) {
    done({"cluster", file, "-k", "2", "-f", "-o", "o.h5"}, there);
    return stored(folder / "o.h5:/centroids");
  };
  CHECK(labels("excel.csv") == labels("plain.csv"));
  write_bytes(folder / "bad.csv", "sep=;\nx;y\n1;2\n3;a\n");
  refuses(3, {"cluster", "bad.csv", "-k", "1"}, {"line 4, column 2 ('y')", "found 'a'"}, there);
}

TEST_CASE("neighbours: dropped rows are nobody's, and have none") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "base.csv", "x,y\nNA,0\n0,0\n0,1\n,\n5,5\n5,7\nnan,1\n");
  write_bytes(folder / "kept.csv", "x,y\n0,0\n0,1\n5,5\n5,7\n");
  write_bytes(folder / "q.csv", "x,y\n0,3\n,2\n5,6\n");
  CHECK(done({"knn", "base.csv", "-k", "1", "--nan", "drop", "-q"}, there).out ==
        "0\t-1\tnan\n1\t2\t1\n2\t1\t1\n3\t-1\tnan\n4\t5\t2\n5\t4\t2\n6\t-1\tnan\n");
  for (const std::string& backend : usable_backends()) {
    for (const char* rows : {"1", "2", "0"}) {
      const Words common{"-k", "2", "--nan", "drop", "--backend", backend, "--block-rows", rows, "-q", "-f", "-o"};
      Words words{"knn", "base.csv", "--queries", "q.csv"};
      words.insert(words.end(), common.begin(), common.end());
      words.emplace_back("n.h5");
      CHECK(done(words, there).says("base.csv: 3 of 7 rows dropped"));
      CHECK(stored(folder / "n.h5:/neighbors") == std::vector<double>{2, 1, -1, -1, 4, 5});
    }
  }
  refuses(2, {"knn", "base.csv", "-k", "4", "--nan", "drop"}, {"-k 4: base.csv has 3 rows"}, there);
  refuses(2, {"knn", "base.csv", "--radius", "1", "--nan", "drop"},
          {"--nan drop: expected lists of -k", "found a graph", "remove such rows from the file"}, there);
}
