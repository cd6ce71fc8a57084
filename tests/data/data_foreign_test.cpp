// Text that would mislead silently: comments among rows, formats that are not tables; and text that takes long to read.
#include <ctime>

#include "data/format/formats.h"
#include "data/io/utf8.h"
#include "data/source.h"
#include "data/text/text_head.h"
#include "data/text/text_record.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/skipped.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

struct TextFile {
  explicit TextFile(const std::string& text) { write_bytes(name, text); }
  Scratch folder;
  std::string name = folder / "x.csv";
};

std::vector<std::string> ids_of(const std::string& text, ReadOptions options = {}) {
  options.id_column = "1";
  return open_points(TextFile(text).name, options)->kept(Kept::id);
}

/// Of processors, so that other work on the machine counts little.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("a line that begins with # is a row unless it stands before the first line of the table") {
  const std::vector<std::string> names{"#N/A", "x", "#2"};
  CHECK(ids_of("id,a,b\n#N/A,1,2\nx,3,4\n#2,5,6\n") == names);
  CHECK(ids_of("# made by a program\n#id,a,b\nid,a,b\n#N/A,1,2\nx,3,4\n#2,5,6\n") == names);
  CHECK(ids_of("#N/A\t1\t2\nx\t3\t4\n#2\t5\t6\n", {.comment = '\0'}) == names);
  CHECK(ids_of("% a\n#N/A,1\n% b\nx,3\n#2,4\n%c\n", {.comment = '%'}) == names);
  CHECK(ids_of("id,a,b\n#N/A,1,2\nx,3,4\n#2,5,6\n", {.comment = '#'}) == std::vector<std::string>{"x"});
  const auto refuses = [](const std::string& text, std::initializer_list<const char*> words) {
    const TextFile file(text);
    refused(
        ExitCode::data, [&] { read_all(*open_points(file.name)); }, words);
  };
  refuses("a,b\n1,2\n# the end\n", {"line 3: expected 2 fields", "found 1", "say --comment '#'"});
  refuses("a,b\n1,2\n#3,4\n", {"line 3, column 1 ('a'): expected a number, found '#3'"});
}

TEST_CASE("skipped lines are counted, and a comment that has the form of a row is remarked on") {
  const auto skipped = [](const std::string& text, const ReadOptions& options = {}) {
    const auto source = open_points(TextFile(text).name, options);
    return std::vector<std::int64_t>{source->skipped_lines().comments, source->skipped_lines().blank};
  };
  const std::string text = "# a\n\n1,2\n\n#b\n3,4\n\n \n5,6\n#c\n\n\n";
  CHECK(skipped("1,2\n3,4\n") == std::vector<std::int64_t>{0, 0});
  CHECK(skipped("# a\n\n1,2\n\n3,4\n\n\n") == std::vector<std::int64_t>{1, 2});
  CHECK(skipped("a,b\n\n\n3,4\n") == std::vector<std::int64_t>{0, 2});
  CHECK(skipped(text, {.comment = '#'}) == std::vector<std::int64_t>{3, 4});
  CHECK(list_datasets(TextFile(text + "7,8\n").name).size() == 1);
  std::string longer = "# a\n";  // several windows
  for (int i = 0; i < 100'000; ++i) longer += "1,2\n" + std::string(i % 1000 == 0 ? "#\n\n" : "");
  CHECK(skipped(longer, {.comment = '#'}) == std::vector<std::int64_t>{101, 100});

  const auto remarks = [](const std::string& file) { return open_points(TextFile(file).name)->remarks(); };
  CHECK(remarks("# a comment\n#a b\n1,2\n").empty());
  REQUIRE(remarks("# a comment\n#a,b\n1,2\n").size() == 1);
  CHECK(
      remarks("# a comment\n#a,b\n1,2\n")[0].starts_with("line 2 was skipped as a comment, but has the form of names"));
  REQUIRE(remarks("# one\n#2,1.5,3\n7,2,3\n").size() == 1);
  CHECK(remarks("# one\n#2,1.5,3\n7,2,3\n")[0].starts_with("line 2, '#2,1.5,3', was skipped as a comment"));
}

TEST_CASE("other text formats are recognised, and tables are not") {
  const std::pair<const char*, const char*> formats[] = {
      {"% c\n\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n@DATA\n1,2\n", "ARFF"},
      {"@relation iris\n", "ARFF"},
      {"[{\"a\":1},\n {\"a\":2}]\n", "JSON"},
      {"[[1, 2], [3, 4]]", "JSON"},
      {"{\"a\":\"}\"}\n{\"a\":2}\n", "lines=True"},
      {"[1,2]\n[3,4]\n", "lines=True"},
      {" <!DOCTYPE html>\n<html>", "HTML"},
  };
  for (const auto& [text, name] : formats) {
    INFO(text);
    CHECK(foreign_text(text).find(name) != std::string::npos);
    const TextFile file(text);
    refused(ExitCode::data, [&] { open_points(file.name); }, {"x.csv: expected a table", name});
    refused(ExitCode::data, [&] { list_datasets(file.name); }, {"x.csv: expected a table", name});
  }
  for (const char* table :
       {"", "1,2\n", "[a],[b]\n1,2\n", "[0],[1]\n1,2\n", "1 12:30\n2 12:31\n", "a:b\n1:2\n", "{x}\n1\n", "\"[1]\",2\n",
        "1:2 3\n", "%%a\n1,2\n", "<a>,<b>\n1,2\n", "1 2:x 3:4\n", "1 3:1 2:1\n"}) {
    INFO(table);
    CHECK(foreign_text(table).empty());
    const TextFile file(table);
    CHECK_FALSE(is_svmlight(file.name));
    CHECK_FALSE(is_matrix_market(file.name));
  }
}

TEST_CASE("a field of doubled quotes, and a choice among many columns, take time in proportion to their size") {
  constexpr std::int64_t kLetters = 4'000'000, kColumns = 400'000;
  const double slower = is_sanitized() ? 20.0 : 1.0;
  const std::string field = "a\"\"\"\"b" + std::string(2 * kLetters, '"');
  std::string text;
  CHECK(seconds_of([&] { text = text_of({field, true}); }) < 2.0 * slower);  // took hours
  CHECK(text == "a\"\"b" + std::string(kLetters, '"'));
  CHECK(text_of({"\"\"", true}) == "\"");
  CHECK(text_of({"x", true}) == "x");
  CHECK(text_of({"", true}).empty());

  std::string header, row, names;
  for (std::int64_t j = 0; j < kColumns; ++j) {
    header += "c" + std::to_string(j) + (j + 1 < kColumns ? "," : "\n");
    row += j + 1 < kColumns ? "1," : "x\n";
    if (j < 1000) names += (j > 0 ? ",c" : "c") + std::to_string(j);
  }
  const TextFile wide(header + row), texts(header + header);
  CHECK(seconds_of([&] {
          CHECK(open_points(wide.name, {.columns = "1-399999"})->columns() == kColumns - 1);
          CHECK(open_points(wide.name, {.columns = names})->columns() == 1000);
          CHECK(open_points(wide.name, {.drop_columns = "1000-400000"})->columns() == 999);
          refused(ExitCode::data, [&] { open_points(texts.name, {.header = Header::yes}); },
                  {"and 399970 more", "--encode onehot"});
        }) < 20.0 * slower);  // took minutes
}
