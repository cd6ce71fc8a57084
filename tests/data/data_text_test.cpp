// Points from text: delimiters, headers, quotes, columns, and every kind of invalid line.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "data/format/column_choice.h"
#include "data/source.h"
#include "data/text/text_number.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

/// A file named x.csv in its own folder.
struct TextFile {
  explicit TextFile(const std::string& text) { write_bytes(name, text); }
  Scratch folder;
  std::string name = folder / "x.csv";
};

struct Table {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;
  std::vector<std::string> names;
  bool operator==(const Table&) const = default;
};

Table table_of(PointSource& source) {
  const auto values = std::get<Matrix<double>>(read_all(source));
  return {values.rows(), values.columns(), {values.data(), values.data() + values.size()}, source.column_names()};
}

Table read_text(const std::string& text, const ReadOptions& options = {}) {
  const TextFile file(text);
  return table_of(*open_points(file.name, options));
}

void refuses_text(const std::string& text, std::initializer_list<const char*> words, const ReadOptions& options = {},
                  ExitCode code = ExitCode::data) {
  const TextFile file(text);
  INFO(text.substr(0, 200));
  refused(
      code, [&] { read_all(*open_points(file.name, options)); }, words);
}

const Table kTwoByTwo{2, 2, {1, 2, 3, 4}, {}};
const Table kNamed{2, 2, {1, 2, 3, 4}, {"a", "b"}};

void write_gzip(const std::string& file, const std::string& text) {
  gzFile out = gzopen(file.c_str(), "ab");
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(out);
}

}  // namespace

TEST_CASE("variants of delimiters, line ends, quotes, comments and blanks give the same table") {
  for (const char* text :
       {"1,2\n3,4\n", "1,2\r\n3,4\r\n", "1,2\n3,4", "1\t2\n3\t4\n", "1;2\n3;4\n", "1|2\n3|4\n", "1 2\n3 4\n",
        "  1   2 \n 3\t4\n",
        "\xef\xbb\xbf"
        "1,2\n3,4\n",
        "\n# by hand\n# more\n1,2\n\n  \n3,4\n\n", " 1 , 2 \n3, 4\n", "\"1\",\"2\"\n3,\"4\"\n", "+1,2.0\n3e0,.4e1\n"}) {
    INFO(text);
    CHECK(read_text(text) == kTwoByTwo);
  }
  for (const char* text : {"a,b\n1,2\n3,4\n", "a;b\r\n1;2\r\n3;4\r\n", "a b\n1 2\n3 4\n", "\"a\",\"b\"\n1,2\n3,4\n",
                           "# made by a program\na,b\n1,2\n3,4\n",
                           "\xef\xbb\xbf"
                           "a,b\n1,2\n3,4\n"}) {
    INFO(text);
    CHECK(read_text(text) == kNamed);
  }
  CHECK(read_text("1\n2\n3\n") == Table{3, 1, {1, 2, 3}, {}});
  CHECK(read_text("x\n2\n3\n") == Table{2, 1, {2, 3}, {"x"}});
  CHECK(read_text("1:2\n3:4\n", {.delimiter = ":"}) == kTwoByTwo);
  CHECK(read_text("\"a, \"\"b\"\"\",\"c\nd\"\n1,2\n", {}).names == std::vector<std::string>{"a, \"b\"", "c\nd"});
  CHECK(open_points(TextFile("1,2\n").name)->element_type() == "text");
}

TEST_CASE("a header is a first line without numbers; an ambiguous line is refused") {
  CHECK(read_text("1,2\n3,4\n", {.header = Header::yes}) == Table{1, 2, {3, 4}, {"1", "2"}});
  CHECK(read_text("0,1,2\n3,4,5\n", {.header = Header::no}) == Table{2, 3, {0, 1, 2, 3, 4, 5}, {}});
  CHECK(read_text("0,1,2\n3,4,5\n", {.header = Header::yes}) == Table{1, 3, {3, 4, 5}, {"0", "1", "2"}});
  refuses_text("0,1,2\n3,4,5\n", {"x.csv: line 1 counts up from 0", "--header yes or --header no"});
  refuses_text(",1,2,3\n0,4,5,6\n", {"line 1 counts up from 1"});
  refuses_text("NA,NA\n1,2\n", {"line 1, column 1: expected a number, found 'NA'", "--header yes"});
  refuses_text("gene,7,9\n1,2,3\n", {"line 1 has text above numbers: names of columns, or values?", "--header yes"});
  refuses_text("a,b\n", {"x.csv: expected rows of numbers, found only line 1, which names columns", "--header no"});
  refuses_text("1,2\n", {"found only line 1"}, {.header = Header::yes});
}

TEST_CASE("row names of pandas and R are not part of the points") {
  const Table expected{2, 2, {1, 2, 3, 4}, {"a", "b"}};
  CHECK(read_text(",a,b\n0,1,2\n1,3,4\n") == expected);
  CHECK(read_text("\"\",\"a\",\"b\"\n\"x\",1,2\n\"y\",3,4\n") == expected);
  CHECK(read_text("a b\nx 1 2\ny 3 4\n") == expected);
  CHECK(read_text(",a,b\n7,1,2\n8,3,4\n", {.columns = "1,b"}) == Table{2, 2, {7, 2, 8, 4}, {"", "b"}});
  const TextFile file(",a,b\nx,1,2\ny,3,4\n");
  CHECK(open_points(file.name)->kept(Kept::id) == std::vector<std::string>{"x", "y"});
}

TEST_CASE("columns are chosen by name or by number from 1") {
  const std::string text = "id,a,b,kind,c\nr1,1,2,x,3\nr2,4,5,\"y, z\",6\n";
  const Table all{2, 3, {1, 2, 3, 4, 5, 6}, {"a", "b", "c"}};
  CHECK(read_text(text, {.columns = "a,b,c"}) == all);
  CHECK(read_text(text, {.columns = "2-3, 5"}) == all);
  CHECK(read_text(text, {.drop_columns = "id,kind"}) == all);
  CHECK(read_text(text, {.drop_columns = "1,4"}) == all);
  CHECK(read_text(text, {.id_column = "id", .label_column = "4"}) == all);
  CHECK(read_text(text, {.columns = "c,a"}) == Table{2, 2, {3, 1, 6, 4}, {"c", "a"}});
  CHECK(read_text(text, {.columns = "2-5", .drop_columns = "kind"}) == all);

  const TextFile file(text);
  const auto source = open_points(file.name, {.id_column = "id", .label_column = "kind"});
  CHECK(source->kept(Kept::id) == std::vector<std::string>{"r1", "r2"});
  CHECK(source->kept(Kept::label) == std::vector<std::string>{"x", "y, z"});
  CHECK(open_points(file.name, {.columns = "a"})->kept(Kept::id).empty());

  const auto refuses_choice = [&](const ReadOptions& options, std::initializer_list<const char*> words) {
    refuses_text(text, words, options, ExitCode::usage);
  };
  refuses_choice({.columns = "d"},
                 {"--columns: 'd' is neither a column's name nor a number", "x.csv", "1 to 5: id, a, b"});
  refuses_choice({.columns = "6"}, {"--columns: '6' does not exist", "1 to 5"});
  refuses_choice({.columns = "0"}, {"'0' does not exist"});
  refuses_choice({.columns = "2-9"}, {"'2-9' does not exist"});
  refuses_choice({.columns = "3-2"}, {"'3-2' goes backwards"});
  refuses_choice({.columns = "a,2"}, {"names column 2 ('a') twice"});
  refuses_choice({.columns = ""
                             "a,,b"},
                 {"'' is neither"});
  refuses_choice({.drop_columns = "1-5"}, {"keep none of 5 columns"});
  refuses_choice({.id_column = "1-2"}, {"--id-column: '1-2' names several columns, expected one"});
  refuses_choice({.label_column = "what"}, {"--label-column: 'what' is neither"});
  refuses_text("a,a\n1,2\n", {"'a' is the name of 2 columns; give a number"}, {.columns = "a"}, ExitCode::usage);
  CHECK(read_text("5,6,7\n1,2,3\n", {.columns = "1", .header = Header::yes}).names == std::vector<std::string>{"5"});
}

TEST_CASE("one message names all columns of text, with the options that drop them") {
  const std::string text = "name,a,kind\nx,1,u\ny,2,v\n";
  refuses_text(text, {"x.csv: expected numbers, found text in column 1 ('name'), column 3 ('kind')", "'x' in line 2",
                      "--drop-columns name,kind"});
  refuses_text(text, {"column 3 ('kind')", "--drop-columns name,kind", "--label-column"}, {.drop_columns = "name"});
  refuses_text("5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n",
               {"column 3", "'Iris-setosa' in line 1", "--drop-columns 3"});
}

TEST_CASE("an invalid field is refused with line, column, content and remedy") {
  std::string many = "a,b\n";
  for (int i = 0; i < 30; ++i) many += "1,2\n";
  refuses_text(many + "3,x\n", {"x.csv: line 32, column 2 ('b'): expected a number, found 'x'", "--drop-columns b"});
  refuses_text(many + "3,\n", {"line 32, column 2 ('b'): expected a number, found an empty field", "--drop-columns b"});
  refuses_text(many + ",3\n", {"line 32, column 1 ('a'): expected a number, found an empty field"});
  refuses_text(many + "3,nan\n", {"line 32, column 2 ('b'): expected a finite number, found NaN"});
  refuses_text(many + "-inf,3\n", {"line 32, column 1 ('a'): expected a finite number, found infinity"});
  refuses_text(
      many + "1e999,3\n",
      {"line 32, column 1 ('a'): expected a finite number, found infinity, or a number beyond the largest float64"});
  refuses_text(many + "3\n", {"line 32: expected 2 fields (comma-separated), as in line 1, found 1"});
  refuses_text(many + "3,4,5\n", {"line 32: expected 2 fields", "found 3", "--delimiter"});
  refuses_text(many + "3,\"4\n", {"line 32, column 2 ('b')", "its quote is never closed"});
  refuses_text(many + "3,\"4\"5\n", {"line 32, column 2 ('b')", "text follows its closing quote"});
  refuses_text(many + "3,4\"5\n", {"line 32, column 2 ('b'): expected a number, found '4\"5"});
  refuses_text(many + "3,0x10\n", {"line 32, column 2 ('b'): expected a number, found '0x10'"});
  refuses_text(many + "3,1 2\n", {"line 32, column 2 ('b'): expected a number, found '1 2'"});
  refuses_text(many + "# a comment\n\n\"5\",\"6\n7\"\n1,x\n", {"line 34, column 2 ('b')"}, {.comment = '#'});
  refuses_text("1,5;2,5\n3,5;4,5\n", {"numbers with other marks in column 1 (2 rows, first fault in line 1), column 2",
                                      "this reads it: --decimal comma"});
  refuses_text("a,b\n\"1,000\",2\n",
               {"line 2, column 1 ('a'): expected a number, found '1,000'; say --thousands comma"});
  refuses_text("a\tb\n1,5\t2\n", {"line 2, column 1 ('a')", "--decimal comma"});
  refuses_text("1,2\n\n3\n", {"line 3: expected 2 fields"});
  refuses_text("1,1e39\n",
               {"line 1, column 2: expected a number up to the largest float32, found 1e+39", "--precision f32"},
               {.precision = Precision::f32});
  refuses_text("", {"x.csv: expected rows of numbers, found nothing"});
  refuses_text("\n# nothing\n\n", {"x.csv: expected rows of numbers, found nothing but blank lines and comments"});
  refuses_text("1,2\r3,4\r", {"found CR only", "tr '\\r' '\\n'"});
  const TextFile file("1,2\n");
  refused(ExitCode::data, [&] { open_points(file.name + ":/train"); },
          {"x.csv: expected a text file without a dataset, since it holds one table, found ':/train'"});
}

TEST_CASE("numbers are rounded correctly to float64 in any locale; --precision f32 rounds and counts") {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  const char* const numbers[] = {"0.1",
                                 "-0.1",
                                 "4.9e-324",
                                 "1e-310",
                                 "1e-999",
                                 "1.5e-45",
                                 "9007199254740993",
                                 "123456789012345678901234567890",
                                 "1e22",
                                 "1e23",
                                 "0.30000000000000004",
                                 "1.7976931348623157e308",
                                 "2.2250738585072011e-308",
                                 "000000000000000000000000000001.5",
                                 "5e-1"};
  std::string text;
  std::vector<double> expected;
  for (const char* number : numbers) {
    text += std::string(number) + "\n";
    expected.push_back(std::strtod(number, nullptr));
  }
  std::setlocale(LC_ALL, "C");
  CHECK(read_text(text).values == expected);
  const TextFile file("1,0.1\n0.5,16777217\n");
  const auto source = open_points(file.name, {.precision = Precision::f32});
  const auto values = std::get<Matrix<float>>(read_all(*source));
  CHECK(values(0, 1) == 0.1F);
  CHECK(values(1, 1) == 16777216.0F);
  CHECK(source->changed_values() == 2);
}

TEST_CASE("the parser of numbers stops at the first character that is not part of a number") {
  const auto length = [](const std::string& text) {
    double value = 0.0;
    return parse_number(text.data(), text.data() + text.size(), value) - text.data();
  };
  CHECK(length("12,5") == 2);
  CHECK(length("-1.5e-3x") == 7);
  CHECK(length("1e") == 1);
  CHECK(length("1e+") == 1);
  CHECK(length("12345678901234567890123;") == 23);
  for (const char* none : {"", "-", "+", "+-1", "--1", ".", "e5", "x"}) CHECK(length(none) == 0);
}

TEST_CASE("long files give the same rows with any number of threads, whole and in parts") {
  std::string text = "a,\"b\nc\",name\n";
  std::vector<double> expected;
  constexpr int kRows = 150'000;
  for (int i = 0; i < kRows; ++i) {
    const double a = i * 0.001, b = 1.0 / (i + 1);
    expected.push_back(a);
    expected.push_back(b);
    char line[128];
    std::snprintf(line, sizeof line, i % 1000 == 7 ? "%.17g,\"%.17g\",\"quoted,\nname\"\r\n" : "%.17g,%.17g,plain\n", a,
                  b);
    text += line;
    if (i % 5000 == 0) text += "# a comment, with \"one quote\n\n";
  }
  const TextFile file(text);
  for (const int threads : {1, 4}) {
    const auto source =
        open_points(file.name, {.threads = threads, .columns = "1-2", .label_column = "name", .comment = '#'});
    REQUIRE(source->rows() == kRows);
    CHECK(table_of(*source).values == expected);
    Matrix<double> part(1000, 2);
    for (const std::int64_t first : {0, 1, 77'777, kRows - 1000}) {
      source->read(first, part.view());
      CHECK(std::equal(part.data(), part.data() + 2000, expected.begin() + 2 * first));
    }
    const auto names = source->kept(Kept::label);
    REQUIRE(names.size() == kRows);
    CHECK(names[7] == "quoted,\nname");
    CHECK(names[kRows - 1] == "plain");
  }
  const std::string broken = text + "1,2\n";
  refuses_text(broken, {"x.csv: line 150213: expected 3 fields"}, {.threads = 4, .drop_columns = "3", .comment = '#'});
}

TEST_CASE("who reads the last rows alone, as one of many processes, asks what points are in all rows") {
  const auto read_from = [](const std::string& text, std::int64_t first) {
    const TextFile file(text);
    const auto source = open_points(file.name, {.decimal = '\0'});
    Matrix<double> rows(source->rows() - first, 1);
    source->read(first, rows.view());
  };
  for (const std::string text : {"x\n746\n604\n4.255\n1.984\n", "x\n4.255\n1.984\n746\n604\n"}) {
    for (const std::int64_t first : {0, 2}) {
      refused(ExitCode::data, [&] { read_from(text, first); }, {"does the point in column 1 ('x') separate thousands"});
    }
  }
  for (const std::int64_t first : {0, 2}) read_from("x\n746\n604.5\n4.255\n1.984\n", first);
}

TEST_CASE("a line longer than a block is read as one record") {
  std::string text;
  std::vector<double> expected;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 200'000; ++j) {
      text += std::to_string(j + i) + (j < 199'999 ? "," : "\n");
      expected.push_back(j + i);
    }
  }
  CHECK(read_text(text, {.header = Header::no}) == Table{2, 200'000, expected, {}});
}

TEST_CASE("gzip files are read, and damaged ones are refused") {
  const Scratch folder;
  const std::string file = folder / "x.csv.gz";
  write_gzip(file, "a,b\n1,2\n");
  write_gzip(file, "3,4\n");  // a second member
  CHECK(table_of(*open_points(file)) == kNamed);
  CHECK(list_datasets(file).at(0).filters == std::vector<std::string>{"gzip"});
  const std::string bytes = bytes_of(file);
  const auto refuses_bytes = [&](const std::string& damaged, std::initializer_list<const char*> words) {
    write_bytes(file, damaged);
    refused(
        ExitCode::data, [&] { open_points(file); }, words);
  };
  refuses_bytes(bytes.substr(0, bytes.size() - 3), {"x.csv.gz: damaged gzip file: its end is missing"});
  std::string wrong_sum = bytes;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  refuses_bytes(wrong_sum, {"damaged gzip file: incorrect data check"});
  write_bytes(file, bytes + std::string(512, '\0'));  // padding, as tapes have
  CHECK(table_of(*open_points(file)) == kNamed);
}

TEST_CASE("a file that changes while it is read is refused") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "1,2\n";
  const TextFile file(text);
  auto source = open_points(file.name);
  write_bytes(file.name, text.substr(0, 1000));
  refused(ExitCode::data, [&] { read_all(*source); }, {"x.csv: changed while it was read", "now has 1000"});
  write_bytes(file.name, "1,2\n3,4\n");
  source = open_points(file.name);
  write_bytes(file.name, "1,2\n3,4\n5,6\n");
  refused(ExitCode::data, [&] { read_all(*source); }, {"changed while it was read"});
}

TEST_CASE("the description of a text file has shape, delimiter, names and the reason why it is unreadable") {
  const TextFile file("a;kind\n1;x\n2;y\n");
  const auto list = list_datasets(file.name);
  REQUIRE(list.size() == 1);
  CHECK(list[0].path.empty());
  CHECK(list[0].shape == std::vector<std::int64_t>{2, 2});
  CHECK(list[0].layout == "separated by semicolons");
  CHECK(list[0].columns == std::vector<std::string>{"a", "kind"});
  CHECK(list[0].unreadable.find("column 2 ('kind')") != std::string::npos);
}

TEST_CASE("columns of other formats are chosen by number only") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  FileMaker(file).floats("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto source = open_points(file, {.columns = "3,1"});
  REQUIRE(source->columns() == 2);
  const auto values = std::get<Matrix<float>>(read_all(*source));
  CHECK(std::vector<float>(values.data(), values.data() + 4) == std::vector<float>{3, 1, 6, 4});
  CHECK(open_points(file, {.drop_columns = "2"})->columns() == 2);
  refused(ExitCode::usage, [&] { open_points(file, {.columns = "a"}); },
          {"'a' is not the number of a column", "without names"});
  refused(ExitCode::usage, [&] { open_points(file, {.id_column = "1"}); }, {"--id-column 1", "is not text"});
}
