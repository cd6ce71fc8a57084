// Text tables whose first line, quotes or number of fields have two meanings: each is read as meant, or asked about.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "app/cli/words.h"
#include "tests/support/program.h"
#include "tests/support/proposals.h"
#include "tests/support/table_runs.h"

using namespace kith::testing;
using namespace std::string_literals;

namespace {

/// Rows below a first line: 20 lines of `columns` numbers, each after `lead`, where %d is the number of the row.
std::string rows_of(int columns, const std::string& delimiter, const std::string& lead = "", bool whole = false) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    std::string line = std::regex_replace(lead, std::regex("%d"), std::to_string(i * 7 % 20));
    for (int j = 0; j < columns; ++j) {
      const int value = 11 + (i * i * 31 + j * j * 17 + i * j * 13) % 97;
      line += (line.empty() ? "" : delimiter) + std::to_string(value) + (whole ? "" : "." + std::to_string(i % 9 + 1));
    }
    text += line + "\n";
  }
  return text;
}

struct Read {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::string> names;
  bool operator==(const Read&) const = default;
};

/// The table as `kith info` describes it.
Read read(const std::string& file, const Words& more = {}) {
  Words words{"info", file, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const auto set = done(words).json().at("files").at(0).at("datasets").at(0);
  Read read{set.at("shape").at(0), set.at("shape").at(1), {}};
  if (set.contains("columns")) read.names = set.at("columns").get<std::vector<std::string>>();
  return read;
}

/// The commands that an error proposes, each on a line of its own, without the word kith.
std::vector<Words> proposed(const Outcome& outcome) {
  std::vector<Words> commands;
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  kith ")) commands.push_back(kith::app::split_words(line.substr(7)));
  }
  return commands;
}

/// A run that is refused with these words, and proposes a command that ends with `option` and gives so many labels.
void proposes(const Words& words, const std::string& option, const std::string& said, std::size_t rows) {
  const Outcome refused = run_kith(words);
  INFO(refused.err);
  CHECK(refused.code == 3);
  CHECK(refused.says(said));
  const std::vector<Words> commands = proposed(refused);
  REQUIRE_FALSE(commands.empty());
  const Words ending = kith::app::split_words(option);
  const auto chosen = std::find_if(commands.begin(), commands.end(), [&ending](const Words& command) {
    return command.size() > ending.size() && std::equal(ending.rbegin(), ending.rend(), command.rbegin());
  });
  REQUIRE(chosen != commands.end());
  const std::string labels = done(*chosen).out;
  CHECK(static_cast<std::size_t>(std::count(labels.begin(), labels.end(), '\n')) == rows);
}

Words cluster(const std::string& file, const Words& more = {}) {
  Words words{"cluster", file, "-k", "2", "-q", "-o", "-"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a first line of names that look like values is found by the rows below it") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  struct Table {
    std::string first, rows;
    Words names;
  };
  for (const Table& table : {
           Table{"0,1", rows_of(2, ","), {"0", "1"}},
           Table{"0\t1\t2", rows_of(3, "\t"), {"0", "1", "2"}},
           Table{",0,1", rows_of(2, ",", "%d"), {"", "0", "1"}},
           Table{",0", rows_of(1, ",", "%d"), {"", "0"}},
           Table{"400,410,420,430", rows_of(4, ","), {"400", "410", "420", "430"}},
           Table{"4000 3990 3980 3970 3960", rows_of(5, " "), {"4000", "3990", "3980", "3970", "3960"}},
           Table{"900.5,902.5,904.5,906.5,908.5", rows_of(5, ","), {"900.5", "902.5", "904.5", "906.5", "908.5"}},
           Table{"country,2001,2002,2003", rows_of(3, ",", "c%d"), {"country", "2001", "2002", "2003"}},
           Table{
               "State,FIPS,1929,1930,1931", rows_of(3, ",", "s%d,%d", true), {"State", "FIPS", "1929", "1930", "1931"}},
           Table{"State;1990;2000", rows_of(2, ";", "s%d"), {"State", "1990", "2000"}},
           Table{"1929,1930,1931", rows_of(3, ",", "", true), {"1929", "1930", "1931"}},
           Table{"id,0,1", rows_of(2, ",", "%d"), {"id", "0", "1"}},
           Table{"False,True", rows_of(2, ","), {"False", "True"}},
           Table{"inf,sup", rows_of(2, ","), {"inf", "sup"}},
           Table{"NA,EU,AS", rows_of(3, ","), {"NA", "EU", "AS"}},
           Table{"x,nan", rows_of(2, ",", "", true), {"x", "nan"}},
       }) {
    INFO(table.first);
    write_bytes(file, table.first + "\n" + table.rows);
    const Read expected{20, std::ssize(table.names), table.names};
    CHECK(read(file) == expected);
    CHECK(read(file, {"--header", "yes"}) == expected);
  }
  write_bytes(file, "0,1\n" + rows_of(2, ","));
  const Outcome seen = done({"cluster", file, "-k", "2"});
  CHECK(seen.says("line 1, '0,1', counts up from 0, and was read as names of columns; --header no"));
  write_bytes(file, "country,2001,2002\n" + rows_of(2, ",", "c%d"));
  refuses(3, cluster(file), {"text in column 1 ('country')", "--drop-columns country"});
  CHECK(done(cluster(file, {"--drop-columns", "country"})).out.size() == 40);
}

TEST_CASE("tables of numbers without a header stay as they are, without a question") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  for (const auto& [first, rows] : {
           std::pair{"0,0"s, rows_of(2, ",", "", true)},
           {"1,2"s, rows_of(2, ",", "", true)},
           {"0,1"s, "0,2\n1,2\n2,3\n2,4\n3,5\n"s},     // edges of a graph
           {"0,1"s, "1,0.9\n2,0.7\n3,0.4\n4,0.2\n"s},  // a course over time
           {"0"s, "0.5\n1.0\n1.5\n2.0\n"s},
           {"0"s, "1\n0\n2\n1\n"s},
           {"0,1"s, "1,0.5\n0,0.25\n1,0.125\n0,0.75\n"s},  // classes and values
           {"c0,1,2,3"s, "c1,4,2,2\nc2,0,1,5\nc3,2,2,9\nc4,3,0,1\nc5,1,2,1\n"s},
           {"x,5"s, rows_of(1, ",", "c%d")},
           {"2001,3.5"s, "2002,4.5\n2003,1.5\n2004,2.5\n2005,2.25\n"s},
           {"1,2,4,8"s, "2,3,5,9\n1,4,6,7\n3,4,5,6\n"s},
           {"True,1"s, "False,2\nTrue,3\nTrue,4\n"s},
           {"Lyon,0,1,2"s, "Paris,4,2,2\nNice,0,1,5\nRome,2,2,9\nBonn,3,0,1\n"s},  // texts like those below
           {"a,101,205,309"s, "b,5,0,3\na,4,1,3\nb,0,5,1\n"s},
           {"?,1"s, rows_of(2, ",", "", true)},
           {"12,40,13"s, rows_of(3, ",", "", true)},
       }) {
    INFO(first);
    write_bytes(file, first + "\n" + rows);
    const Read table = read(file);
    CHECK(table.names.empty());
    CHECK(table.rows == 1 + std::count(rows.begin(), rows.end(), '\n'));
  }
  const std::string digits = std::string(KITH_SOURCE_DIR) + "/samples/iris.csv";
  CHECK(read(digits).rows == 150);
}

TEST_CASE("a first line that may be either is asked about, with both commands") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  for (const auto& [first, rows] : {
           std::pair{"0"s, rows_of(1, ",")},
           {"0,1,2"s, rows_of(3, ",", "", true)},
           {"x,7,9"s, rows_of(2, ",", "%d", true)},
           {"150,4,setosa,versicolor"s, rows_of(4, ",")},  // sizes and classes, as scikit-learn writes them
           {"country,2001"s, rows_of(1, ",", "c%d")},
           {"10,20,30,40,50"s, rows_of(5, ",", "", true)},
           {"True,5"s, rows_of(2, ",")},
           {"0"s, "a\nb\nc\nb\n"s},
           {"id,0,1"s, "r0,0.25,1.5\nr1,0.75,2.5\nr2,9.5,8.25\n"s},
           {"0,1,label"s, "0.25,1.5,a\n0.75,2.5,b\n9.5,8.25,a\n"s},
           {"gene,1,2,3"s, "g1,5,0,3\ng2,4,1,3\ng3,0,5,1\n"s},
           {"user,101,205,309"s, "u1,5,0,3\nu2,4,1,3\nu3,0,5,1\n"s},
           {"user,1001,1002,1003"s, "u1,1,2,3\nu2,4,1,3\nu3,0,5,1\nu4,3,3,3\n"s},
           {"77,99,kind"s, "1,2,a\n4,1,b\n0,5,a\n3,3,b\n"s},
       }) {
    INFO(first);
    write_bytes(file, first + "\n" + rows);
    refuses(3, cluster(file), {"line 1 ", "names of columns, or values? say --header yes or --header no"});
    CHECK(read(file, {"--header", "yes"}).rows == std::count(rows.begin(), rows.end(), '\n'));
    CHECK(read(file, {"--header", "no"}).rows == 1 + std::count(rows.begin(), rows.end(), '\n'));
  }
  write_bytes(file, "0,1,2\n" + rows_of(3, ",", "", true));
  proposes(cluster(file), "--header yes", "line 1 counts up from 0", 20);
  proposes(cluster(file), "--header no", "line 1 counts up from 0", 21);
  // All that read text ask in the same way, and take the answer.
  write_bytes(folder / "p.csv", rows_of(3, ",", "", true) + rows_of(3, ","));
  for (const Words& words :
       {Words{"knn", file, "-k", "1"}, Words{"knn", folder / "p.csv", "--queries", file, "-k", "1"},
        Words{"info", file}, Words{"distances", file}, Words{"cluster", folder / "p.csv", "--init", file},
        Words{"assign", folder / "p.csv", "--centroids", file, "-o", folder / "l.csv"},
        Words{"evaluate", file + ":1", "--truth", file + ":2"}}) {
    refuses(3, words, {"line 1 counts up from 0"});
    Words answered = words;
    answered.insert(answered.end(), {"--header", "no"});
    done(answered);
  }
  for (const std::string first : {"inf,5", "NA,5", ",5"}) {  // whatever is wrong in line 1
    write_bytes(file, first + "\n" + rows_of(2, ",", "", true) + ",4\n");
    refuses(3, cluster(file), {"line 1", "say --header yes"});
  }
}

TEST_CASE("one column may have blanks in its name, and lines may end with CR CR LF") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  write_bytes(file, "petal length\n1.5\n2.5\n");
  CHECK(read(file) == Read{2, 1, {"petal length"}});
  write_bytes(file, "petal length\n1.5 1\n2.5 2\n");
  CHECK(read(file) == Read{2, 2, {"petal", "length"}});
  write_bytes(file, "x,y\r\r\n1,2\r\r\n3,4\r\r\n");
  CHECK(read(file) == Read{2, 2, {"x", "y"}});
  write_bytes(file, "| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |\n");
  refuses(3, cluster(file), {"a table of Markdown or of a terminal, with rules; convert it: sed "});
  write_bytes(file, "<table border=1>\n<tr><td>1</td></tr>\n</table>\n");
  refuses(3, cluster(file), {"an HTML or XML page"});
}

TEST_CASE("a comment in the form of names is remarked on, and --header yes reads it") {
  const Scratch folder;
  const std::string file = folder / "t.txt", rows = "1 0.1 0.2\n2 0.3 0.5\n3 0.7 0.1\n";
  for (const std::string before : {"#id x y\n", "# made by hand, twice\n#id x y\r\n"}) {
    write_bytes(file, before + rows);
    CHECK(read(file) == Read{3, 3, {}});
    CHECK(read(file, {"--header", "yes"}) == Read{3, 3, {"id", "x", "y"}});
    CHECK(done({"cluster", file, "-k", "2"}).says("was skipped as a comment, but has the form of names"));
    CHECK(done(cluster(file, {"--header", "yes", "--id-column", "id"})).out.size() == 6);
    const Outcome refused = run_kith(cluster(file, {"--drop-columns", "id"}));
    CHECK(refused.code == 2);
    CHECK(refused.says("--header yes reads it as them"));
  }
  write_bytes(file, "# some words here\na b c\n" + rows);
  CHECK(read(file, {"--header", "yes"}) == Read{3, 3, {"a", "b", "c"}});
  write_bytes(file, "# some words\n" + rows);
  CHECK(read(file, {"--header", "yes"}) == Read{2, 3, {"1", "0.1", "0.2"}});
}

TEST_CASE("a quotation mark that is none does not hide rows") {
  const Scratch folder;
  const std::string file = folder / "t.txt";
  write_bytes(file, "the 0.1 0.2\n, 0.3 0.4\n\" 0.5 0.6\nfoo 1.1 1.2\nbar 1.3 1.4\n\" 2.1 2.2\nbaz 3.1 3.2\n");
  proposes(cluster(file, {"--id-column", "1"}), "--quote none", "line 3: a field between quotation marks goes on", 7);
  write_bytes(file, "the 0.1 0.2\n\" 0.5 0.6\nfoo 1.1 1.2\nbar 1.3 1.4\n");
  refuses(3, cluster(file, {"--id-column", "1"}), {"line 2, column 1", "its quote is never closed", "--quote none"});
  CHECK(done(cluster(file, {"--id-column", "1", "--quote", "none"})).out.size() == 8);
  // One beside a number belongs to nothing.
  const Setting there{.folder = folder / ""};
  for (const std::string row : {"3,\"4", "\"3,4", "3\",4", "3,4\""}) check_conversion("a,b\n1,2\n" + row + "\n", there);
  // A quoted field elsewhere is no excuse where each line of the record is a row.
  write_bytes(file, "\"the\" 0.1 0.2\n\" 0.5 0.6\nfoo 1.1 1.2\n\" 2.1 2.2\nbaz 3.1 3.2\n");
  refuses(3, cluster(file, {"--id-column", "1"}), {"line 2: a field", "as many fields as a row", "--quote none"});
  // Inches, within fields and after them.
  write_bytes(folder / "inch.tsv", "name\tx\n5\" nail\t1\nscrew 6\"\t2\n7\"\t8\n");
  CHECK(done(cluster(folder / "inch.tsv", {"--id-column", "name"})).out.size() == 6);
  // Beyond the lines that decide the form of the file.
  std::string many;
  for (int i = 0; i < 50; ++i)
    many += (i % 25 == 24 ? "\"" : "w" + std::to_string(i)) + " 1." + std::to_string(i) + " 2\n";
  write_bytes(file, many);
  proposes(cluster(file, {"--id-column", "1"}), "--quote none", "line 25: a field", 50);
  // Fields that do span lines.
  write_bytes(file, "a,b\n\"x\ny\",1\n\"z\",2\nw,3\n");
  CHECK(done(cluster(file, {"--id-column", "a"})).out.size() == 6);
  write_bytes(file, "a,b\n\"x\nand\ny\",1\nz,2\nw,3\n");  // the only quotes, but its lines are no rows
  CHECK(done(cluster(file, {"--id-column", "a"})).out.size() == 6);
  write_bytes(file, "a,b\n\"x,1\nb,2\nc\ny\",1\nz,2\nw,3\n");  // most of its lines are
  proposes(cluster(file, {"--id-column", "a"}), "--quote double", "line 2: a field between quotation marks", 3);
  // Vectors of fastText, below their sizes.
  write_bytes(folder / "x.vec", "4 2\nthe 0.1 0.2\n\" 0.3 0.4\nof 1 2\n\" 0.4 0.5\n");
  proposes(cluster(folder / "x.vec"), "--skip-lines 1 --id-column 1 --quote none", "word2vec", 4);
}

TEST_CASE("odd quotes take neither quadratic time nor unbounded memory") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  std::string text = "a,b\n1,2\n3,\"";
  for (int i = 0; i < 400'000; ++i) text += "1,2\n";
  write_bytes(file, text);
  const auto begin = std::chrono::steady_clock::now();
  refuses(3, cluster(file), {"line 3, column 2", "its quote is never closed"});
  std::string marks = "a,b\n";
  for (int i = 0; i < 200'000; ++i) marks += "\" \" \",\"\"\n";
  write_bytes(file, marks);
  CHECK(run_kith(cluster(file)).code == 3);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("rows are counted against the header, and no name stands above another column") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  const auto distances = [&](const Words& more) {
    Words words{"distances", file};
    words.insert(words.end(), more.begin(), more.end());
    return done(words).out;
  };
  write_bytes(file, "a,b,c\n1,2,3\n3,6,9\n5,1,3\n");
  const std::string expected = distances({}), without = distances({"--drop-columns", "a"}),
                    last = distances({"--columns", "c"});
  for (const std::string text : {"a,b,c\n1,2,3,\n3,6,9,\n5,1,3,\n", "a,b,c,\n1,2,3\n3,6,9\n5,1,3\n",
                                 "a,b,c,,\r\n1,2,3\r\n3,6,9\r\n5,1,3\r\n", "a,b,c\n1,2,3,,\n3,6,9,,\n5,1,3,,\n",
                                 "a,b,c\n1,2,3\n3,6,9,\n5,1,3\n", "a\tb\tc\n1\t2\t3\t\n3\t6\t9\t\n5\t1\t3\t\n",
                                 "a b c\nr1 1 2 3\nr2 3 6 9\nr3 5 1 3\n", "a;b;c\n1;1;2;3\n2;3;6;9\n3;5;1;3\n"}) {
    INFO(text);
    write_bytes(file, text);
    CHECK(distances({}) == expected);
    CHECK(distances({"--drop-columns", "a"}) == without);
    CHECK(distances({"--columns", "c"}) == last);
    Words names = read(file).names;
    if (names.front().empty()) names.erase(names.begin());
    CHECK(names == Words{"a", "b", "c"});
  }
  write_bytes(file, "a,b,c\n1,2,3,\n3,6,9,\n5,1,3,\n");
  CHECK(done({"cluster", file, "-k", "1"}).says("rows end with delimiters that the header lacks"));
  done({"cluster", file, "-k", "1", "-q", "--append", "-o", folder / "o.csv"});
  CHECK(bytes_of(folder / "o.csv") == "a,b,c,label\n1,2,3,0\n3,6,9,0\n5,1,3,0\n");
  write_bytes(file, "a,b,c\n1,2,3,\n3,6,9,7\n5,1,3,\n");
  CHECK(run_kith(cluster(file)).code == 3);
  // A first column that is no row name.
  write_bytes(file, "a,b\n0.5,2,3\n0.25,6,9\n5,1,3\n");
  proposes(cluster(file), "--header no --skip-lines 1", "line 1 has one field less than the rows", 3);
  proposes(cluster(file), "--header yes", "'0.5' in line 2", 3);
  // A token with a blank: its line, and a command that joins its words.
  write_bytes(file, "the 0.1 0.2 0.3\na b 0.4 0.5 0.6\nfoo 1.1 1.2 1.3\n. . . 1 2 3\n");
  const Outcome refused = run_kith(cluster(file, {"--id-column", "1"}));
  CHECK(refused.code == 3);
  CHECK(refused.says("line 2: expected 4 fields (separated by blanks), as in line 1, found 5"));
  const std::string said = unwrapped(refused.err);
  std::string command = said.substr(said.find("awk "));
  command = command.substr(0, command.find(" IN > OUT")) + " " + file + " > " + (folder / "joined.txt");
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(bytes_of(folder / "joined.txt") == "the 0.1 0.2 0.3\na_b 0.4 0.5 0.6\nfoo 1.1 1.2 1.3\n._._. 1 2 3\n");
  CHECK(done(cluster(folder / "joined.txt", {"--id-column", "1"})).out.size() == 8);
}

TEST_CASE("lines before the table are left out, and the message says how many") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  const std::string rows = "1,2,5\n3,4,5\n9,9,8\n8,9,7\n";
  struct Table {
    std::string before, rest;
    int lines;
  };
  for (const Table& table : {
           Table{"Report of March\nby A. Miller, office\n\n", "a,b,c\n" + rows, 3},
           Table{"station;K7;north;east\nheight;7\n", "a;b;c\n1;2;5\n3;4;5\n9;9;8\n", 2},
           Table{"Measured on 3 days\n", rows, 1},
           Table{"4,3,x,y,z\n", "a,b,c\n" + rows, 1},
           Table{"4,3,malign,benign\n", "1,2,5,6,7,1.5\n3,4,5,6,7,2.5\n9,9,8,8,8,0.5\n8,9,7,8,8,1.5\n", 1},
           Table{"Operator,Smith,x\nDate,2024-05-06,y\n", "a,b,c\n" + rows, 2},
           Table{"% made by hand\n% twice\n", "a b\n1 2\n3 4\n5 7\n", 2},
           Table{"# a comment\nVersion 2\n", "a\tb\n1\t2\n3\t4\n5\t9\n", 2},
       }) {
    INFO(table.before);
    write_bytes(file, table.before + table.rest);
    write_bytes(folder / "rest.csv", table.rest);
    const Read expected = read(folder / "rest.csv");
    proposes(cluster(file), "--skip-lines " + std::to_string(table.lines),
             "begin in line " + std::to_string(table.lines + 1), static_cast<std::size_t>(expected.rows));
    const Outcome info = run_kith({"info", file});
    CHECK((info.out + info.err).find("--skip-lines") != std::string::npos);
    CHECK(read(file, {"--skip-lines", std::to_string(table.lines)}) == expected);
  }
  write_bytes(file, "4,3\n" + rows);
  proposes(cluster(file), "--header no --skip-lines 1", "line 1 has one field less than the rows", 4);
  // Lines count from the beginning of the file.
  write_bytes(file,
              "\xef\xbb\xbf"
              "one\ntwo\r\na,b\n1,2\n3,x\n");
  refuses(3, cluster(file, {"--skip-lines", "2"}), {"line 5, column 2 ('b')", "found 'x'"});
  refuses(3, cluster(file, {"--skip-lines", "9"}), {"behind 9 lines", "--skip-lines", "found 5 lines"});
  // The options of a run are those of its result, and of a run that goes on.
  write_bytes(file, "made by hand\nsep=;\na;b\n1;2\n3;4\n9;\"9\"\n");
  const Words words{"cluster", file, "-k", "2", "--skip-lines", "1", "-q", "-f", "-o", folder / "o.h5"};
  done(words);
  CHECK(done({"info", folder / "o.h5"}).out.find("--skip-lines 1") != std::string::npos);
  done({"report", folder / "o.h5", "--points", file, "-q", "-o", folder / "r.html"});
  CHECK(done({"cluster", "-", "-k", "2", "--skip-lines", "1", "-q", "-o", "-"}, {.standard_input = file}).out ==
        done(cluster(file, {"--skip-lines", "1"})).out);
  done({"cluster", file, "-k", "2", "--skip-lines", "1", "-q", "--append", "-o", folder / "a.csv"});
  CHECK(run_kith({"cluster", file, "-k", "2", "--skip-lines", "1", "-q", "--time-limit", "0.000001ms", "--checkpoint",
                  folder / "c", "-o", folder / "c.h5"})
            .code == 124);
  done({"resume", folder / "c", "-q", "--time-limit", "1h"});
  CHECK(done({"info", folder / "c.h5"}).out.find("--skip-lines 1") != std::string::npos);
  CHECK(bytes_of(folder / "a.csv").find("1;2;") != std::string::npos);
  CHECK(done({"plan", "cluster", file, "-k", "2", "--skip-lines", "1"}).code == 0);
}

TEST_CASE("UTF-16 without a byte order mark is named, with a command that works") {
  const Scratch folder;
  const std::string plain = "größe,b\n1,2\n3,4\n5,9\n";
  for (const bool big : {false, true}) {
    std::string wide;
    for (const char32_t c : U"größe,b\n1,2\n3,4\n5,9\n"s) {
      const char low = static_cast<char>(c & 0xff), high = static_cast<char>(c >> 8);
      wide += big ? std::string{high, low} : std::string{low, high};
    }
    for (const char* name : {"t.csv", "t.dat"}) {
      write_bytes(folder / name, wide);
      const Outcome refused = run_kith({"cluster", folder / name, "-k", "2"});
      CHECK(refused.code == 3);
      CHECK(refused.says("UTF-16 text without a byte order mark"));
      const std::string said = unwrapped(refused.err), begin = said.substr(said.find("iconv "));
      const std::string command =
          begin.substr(0, begin.find(" IN > OUT")) + " " + (folder / name) + " > " + (folder / "o");
      INFO(command);
      REQUIRE(std::system(command.c_str()) == 0);
      CHECK(bytes_of(folder / "o") == plain);
    }
    refuses(3, {"cluster", "-", "-k", "2"}, {"UTF-16 text without a byte order mark", "iconv -f UTF-16"},
            {.standard_input = folder / "t.csv"});
  }
}

TEST_CASE("thousands are separated by any blank") {
  const Scratch folder;
  const std::string file = folder / "t.csv";
  write_bytes(file, "x;y\n1234.5;1\n1234567;2\n3;4\n");
  const auto labels = [&](const Words& more) { return done(cluster(file, more)).out; };
  const std::string expected = labels({"--init", "first"});
  for (const std::string mark : {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xa0"}) {
    INFO(mark);
    write_bytes(file, "x;y\n1" + mark + "234.5;1\n1" + mark + "234" + mark + "567;2\n3;4\n");
    refuses(3, cluster(file), {"--thousands blank"});
    CHECK(labels({"--init", "first", "--thousands", "blank"}) == expected);
    write_bytes(file, "x;y\n1" + mark + "234;1\n1" + mark + "234" + mark + "567,5;2\n3,5;4\n");
    refuses(3, cluster(file), {"--decimal comma --thousands blank"});
    CHECK(labels({"--decimal", "comma", "--thousands", mark == "\xa0" ? "blank" : mark}).size() == 6);
  }
  write_bytes(file, "x\n1 234\n999\n12 345\n");
  proposes(cluster(file), "--thousands blank", "found '1 234'; say --thousands blank", 3);
  for (const std::string mark : {"'", "\xe2\x80\x99"}) {
    write_bytes(file, "x;y\n1" + mark + "234.5;1\n1" + mark + "234" + mark + "567;2\n3;4\n");
    proposes(cluster(file, {"--init", "first"}), "--thousands apostrophe", "found", 3);
  }
}

TEST_CASE("times of day and durations become hours, and unclear ones are asked about") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::pair<const char*, double> cases[] = {{"08:30", 8.5},
                                                  {"8:30 PM", 20.5},
                                                  {"12:15 am", 0.25},
                                                  {"8pm", 20},
                                                  {"08:30 Uhr", 8.5},
                                                  {"08.30", 8.5},
                                                  {"8.30 PM", 20.5},
                                                  {"17.45 Uhr", 17.75},
                                                  {"8.30 h", 8.3},
                                                  {"8h30", 8.5},
                                                  {"1:30:00", 1.5},
                                                  {"26:00:36", 26.01},
                                                  {"1:30.6", 90.6 / 3600},
                                                  {"1 h 30 min", 1.5},
                                                  {"1h30m", 1.5},
                                                  {"2 days 01:30:00", 49.5},
                                                  {"-1 days +23:00:00", -1},
                                                  {"-1 day, 23:00:00", -1},
                                                  {"-1:30", -1.5},
                                                  {"PT5M", 5.0 / 60},
                                                  {"P1DT2H", 26},
                                                  {"PT1.5H", 1.5},
                                                  {"90 min", 1.5},
                                                  {"1d 2h", 26},
                                                  {"1H30M", 1.5},
                                                  {"36 \u00b5s", 1e-8}};
  for (const auto& [text, hours] : cases) {
    INFO(text);
    write_bytes(folder / "t.csv", "t\n\"" + std::string(text) + "\"\n");
    CHECK(std::abs(mean_of("t.csv", there, {"--encode", "t=time"}).front() - hours) < 1e-12);
  }
  for (const char* text :
       {"7M", "8:3", "8:60", "13:00 PM", "24.30", "8.60", "P3M", "30", "1:2:3:4", "5 km", "2024-01-01", "1 min 2 h"}) {
    INFO(text);
    write_bytes(folder / "t.csv", "t\n" + std::string(text) + "\n");
    refuses(3, {"cluster", "t.csv", "-k", "1", "--encode", "t=time"}, {"expected a time or a duration"}, there);
  }
  // What is proposed for them works; 59:30 beside 1:02:03 may mean minutes.
  write_bytes(folder / "t.csv", "t,v,when\n8 AM,1,1 h 10 min\n9 PM,2,50m\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"--encode t=time,when=time"}, there);
  proposes_what_works({"cluster", "t.csv", "-k", "1"}, 3, there);
  CHECK(mean_of("t.csv", there, {"--encode", "time"}) == std::vector<double>{14.5, 1.5, 1});
  CHECK(done({"info", "t.csv"}, there).out.find("time") != std::string::npos);
  write_bytes(folder / "t.csv", "t,v\n59:30,1\n1:02:03,2\n");
  refuses(3, {"cluster", "t.csv", "-k", "1", "--encode", "t=time"}, {"is '59:30' hours and minutes", "0:59:30"}, there);
  // 08.30 is no usual way to write a number; 8.30 is.
  const auto times = [&](const std::string& first) {
    write_bytes(folder / "t.csv", "t,v\n" + first + ",1\n17.45,2\n12.00,3\n");
    return done({"cluster", "t.csv", "-k", "1"}, there).says("if they are times of day, say --encode t=time");
  };
  CHECK(!times("8.30"));
  CHECK(!times("08.70"));
  CHECK(times("08.30"));
  CHECK(mean_of("t.csv", there, {"--encode", "t=time"}).front() == 12.75);
  CHECK(mean_of("t.csv", there, {"--prepare", "auto", "--scale", "none"}).front() == 12.75);
}

TEST_CASE("texts have the order that --encode gives them, in models too; that of the alphabet is said") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "q,v\nnever,1\noften,2\nat times,3\nnever,1\n");
  const std::string order = "q=never<at times<often";
  CHECK(mean_of("t.csv", there, {"--encode", order}) == std::vector<double>{0.75, 1.75});
  CHECK(done({"cluster", "t.csv", "-k", "1", "--encode", "q=ordinal"}, there)
            .says("the places of its texts are those of the alphabet, at times, never, often"));
  // Scales, numbers in front and ranges have an order of their own, which refusals propose.
  const struct {
    std::vector<std::string> texts;  // in their order
    bool is_proposed = true;         // also for a column of these texts alone
  } scales[] = {{{"Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"}},
                {{"nie", "selten", "oft", "immer"}},
                {{"low", "medium", "high"}},
                {{"1 = very bad", "2 = fair", "10 = excellent"}},
                {{"1 - sehr gut", "2 - gut", "3 - befriedigend"}},
                {{"(1) never", "(2) often"}},
                {{"1. not at all", "2", "3", "10. extremely"}, false},
                {{"<18", "18-24", "25 - 64", "65+"}},
                {{"0-9", "10-19", "100+"}},
                {{"2 = Paris", "10 = Lyon"}, false}};
  for (const auto& [texts, is_proposed] : scales) {
    INFO(texts.front());
    std::string table = "q,v\n";
    double sum = 0.0, weights = 0.0;
    for (std::size_t i = texts.size(); i-- > 0;) {
      const double weight = std::ldexp(1.0, static_cast<int>(7 * i % 5));
      table += texts[i] + "," + std::to_string(static_cast<int>(weight)) + "\n";
      sum += weight * static_cast<double>(i);
      weights += weight;
    }
    write_bytes(folder / "s.csv", table);
    const Words ordinal{"--encode", "q=ordinal", "--columns", "q", "--weight-column", "v"};
    CHECK(std::abs(mean_of("s.csv", there, ordinal).front() - sum / weights) < 1e-12);
    CHECK(!done(plus({"cluster", "s.csv", "-k", "1"}, ordinal), there).says("alphabet"));
    CHECK(run_kith({"cluster", "s.csv", "-k", "1"}, there).says("--encode q=ordinal") ==
          (is_proposed || texts[1] == "2"));
    proposes_what_works({"cluster", "s.csv", "-k", "1"}, 1, there);
  }
  CHECK(!done({"cluster", "t.csv", "-k", "2", "--encode", order, "-f", "-o", "m.h5"}, there).says("alphabet"));
  write_bytes(folder / "u.csv", "q,v\noften,2\nalways,1\n");
  CHECK(done({"assign", "u.csv", "--centroids", "m.h5", "-o", "-"}, there).says("'always'"));
  refuses(3, {"cluster", "u.csv", "-k", "1", "--encode", order}, {"never, at times, often", "found 'always'"}, there);
  refuses(2, {"cluster", "t.csv", "-k", "1", "--encode", "q=never<never"}, {"different texts in ascending order"},
          there);
}
