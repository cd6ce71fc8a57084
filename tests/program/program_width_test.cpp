// Help pages, tables and summaries fit the width of the terminal, and no number or name in them is broken.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/support/program.h"

using namespace kith::testing;

namespace {

constexpr std::size_t kWide = 1000;  // wide enough for every line
constexpr std::size_t kNameWidth = 11;

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Words words_of(const std::string& text) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    if (word != "\\" && word != "#") words.push_back(word);  // these come and go with the width
  }
  return words;
}

Outcome at_width(const Words& words, std::size_t width) {
  return done(words, {.environment = {fmt::format("COLUMNS={}", width)}});
}

/// All samples are ASCII: a byte is a column. A single word may be wider than the terminal.
void check_width(const std::string& text, std::size_t width) {
  for (const std::string& line : lines_of(text)) {
    INFO(width << ": " << line);
    CHECK((line.size() <= width || words_of(line).size() == 1));
  }
}

std::vector<Words> help_pages() {
  std::vector<Words> pages{{"--help"}, {"bench"}};
  for (const char* command : {"cluster", "sweep", "assign", "knn", "distances", "evaluate", "report", "info", "devices",
                              "generate", "bench"}) {
    pages.push_back({command, "--help"});
  }
  return pages;
}

bool is_message(const std::string& line) { return line.starts_with("backend ") || line.starts_with("kith: "); }

}  // namespace

TEST_CASE("help pages fit the terminal, at most 100 columns, and break no word") {
  for (const Words& page : help_pages()) {
    INFO(page.front());
    const std::string widest = at_width(page, kWide).out;
    check_width(widest, 100);
    Words expected = words_of(widest);
    std::sort(expected.begin(), expected.end());
    for (const std::size_t width : {50, 66, 80}) {
      const std::string text = at_width(page, width).out;
      check_width(text, width);
      Words words = words_of(text);
      std::sort(words.begin(), words.end());  // the comment of an example may stand above it
      CHECK(words == expected);
    }
  }
}

TEST_CASE("text is 80 columns wide where there is no terminal and no COLUMNS, and at least 40") {
  for (const Words& page : help_pages()) {
    CHECK(done(page, {.environment = {"COLUMNS="}}).out == at_width(page, 80).out);
    CHECK(at_width(page, 1).out == at_width(page, 40).out);
  }
}

TEST_CASE("a command of an example that continues on the next line ends in a backslash") {
  const std::string text = at_width({"report", "--help"}, 50).out;
  CHECK(text.find("  kith report clusters.h5 \\\n    --points ../points.h5:/train --tile 8x8 \\\n    -o page.html\n") !=
        std::string::npos);
}

TEST_CASE("tables fit the terminal and break no word") {
  const Scratch folder;
  const std::string result = folder / "c.h5", scores = folder / "s.h5";
  done({"cluster", kDigits, "-k", "12", "-o", result, "-q"});
  done({"evaluate", result, "--truth", kDigits + ":/labels", "-o", scores, "-q"});
  const std::vector<Words> tables{
      {"cluster", kDigits, "-k", "12", "-q"},
      {"cluster", kDigits, "-k", "12", "--explain", "-q"},
      {"sweep", kDigits, "-k", "2-4", "-q"},
      {"evaluate", result, "--truth", kDigits + ":/labels", "--points", kDigits, "-q"},
      {"info", std::filesystem::path(kDigits).parent_path() / "iris.csv", "--stats", "-q"},
      {"info", scores, "-q"},
      {"devices"},
  };
  for (const Words& words : tables) {
    INFO(nlohmann::json(words).dump());
    const Words all = words_of(at_width(words, kWide).out);
    for (const std::size_t width : {50, 80}) {
      const std::string text = at_width(words, width).out;
      check_width(text, width);
      const Words shown = words_of(text);  // the key columns may stand several times
      CHECK(std::set<std::string>(shown.begin(), shown.end()) == std::set<std::string>(all.begin(), all.end()));
    }
  }
  for (const std::size_t width : {50, 80}) {
    check_width(at_width({"bench", "assign", "--backend", "cpu", "--shape", "300x4,5", "--repeat", "1"}, width).out,
                width);
  }
}

TEST_CASE("a table that is too wide becomes tables of fewer columns, each with the key column") {
  const Scratch folder;
  write_bytes(folder / "c.csv", "a,b\n1,one\n2,two\n");
  std::string classes = "label,truth\n";
  for (int i = 0; i < 9; ++i) classes += fmt::format("{},class-number-{}\n", i % 3, i);
  write_bytes(folder / "t.csv", classes);
  const std::string text =
      at_width({"evaluate", folder / "t.csv:label", "--truth", folder / "t.csv:truth", "-q"}, 50).out;
  int heads = 0;
  for (const std::string& line : lines_of(text)) heads += line.starts_with("cluster  class-number-") ? 1 : 0;
  CHECK(heads == 5);
  CHECK(text.find("\n\ncluster  class-number-2  class-number-3\n      0               0               1\n") !=
        std::string::npos);
}

TEST_CASE("the summary fits the terminal; long values continue below their beginning") {
  const Scratch folder;
  const Words words{"cluster",          "d.h5:/train", "-k",          "10", "--n-init", "3",
                    "--max-iterations", "2",           "--tolerance", "0",  "-o",       "a-result-of-clusters.h5",
                    "--force",          "--progress",  "never"};  // a phase that takes long would report itself
  std::filesystem::copy(kDigits, folder / "d.h5");
  const auto summary_at = [&](std::size_t width) {
    Words lines;
    bool in_message = false;
    for (const std::string& line :
         lines_of(done(words, {.environment = {fmt::format("COLUMNS={}", width)}, .folder = folder / ""}).err)) {
      in_message = is_message(line) || (in_message && line.starts_with(" "));
      if (!in_message) lines.push_back(line);
    }
    return lines;
  };
  const auto without_time = [](const Words& lines) {
    Words words;
    bool in_time = false;
    for (const std::string& line : lines) {
      in_time = line.starts_with("time ") || (in_time && line.starts_with(" "));
      const Words more = in_time ? Words{} : words_of(line);
      words.insert(words.end(), more.begin(), more.end());
    }
    return words;
  };
  const Words wide = summary_at(kWide);
  for (const std::size_t width : {50, 80}) {
    const Words lines = summary_at(width);
    CHECK((lines.size() > wide.size() || width > 50));
    CHECK(without_time(lines) == without_time(wide));
    for (const std::string& line : lines) {
      INFO(line);
      CHECK(line.size() <= width);
      const std::size_t begin = line.find_first_not_of(' ', line.starts_with(" ") ? 0 : line.find(' '));
      CHECK(begin == kNameWidth);
      // A number and its unit stay on one line.
      for (const char* unit : {"ms", "s", "s,", "ms,", "GB/s", "GB/s,"}) CHECK(words_of(line).front() != unit);
    }
  }
}
