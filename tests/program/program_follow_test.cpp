// --follow: lines of standard input are answered as they come, with the answers of the command that reads files.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/support/program.h"

using namespace kith::testing;

namespace {

const std::string kTable =
    "name,x,y,z\n"
    "a,0,0,0\nb,1,0.5,0\nc,4,4,4\nd,-3,2,1\ne,0.25,0,9\nf,7,7,1\ng,1,1,1\nh,2,2,2.5\n";
const std::string kRows = "0.1,0.2,0.3\n4,4,3\n-2,1,1\n1,1,1\n0.125,7,3e0\n6,6,6\n0,0,8.5\n2,2,2\n";

void save(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// The lists that kith knn prints, a line for each query: "row distance row distance".
std::string by_query(const std::string& printed) {
  std::istringstream lines(printed);
  std::string query, row, distance, before, text;
  while (lines >> query >> row >> distance) {
    text += (query == before ? "\t" : before.empty() ? "" : "\n") + row + "\t" + distance;
    before = query;
  }
  return text + "\n";
}

Outcome shell(const std::string& script, const Setting& there) {
  Setting setting = there;
  setting.program = "/bin/sh";
  return run_kith({"-c", script}, setting);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace

TEST_CASE("Lines that are followed have the answers of a file, however they come") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  save(folder / "base.csv", replaced(kTable, "a,0,0,0", "a,0,0.5,0"));
  save(folder / "rows.csv", "x,y,z\n" + kRows);
  const std::string kith = std::string(KITH_BINARY) + " ";
  for (const std::string options : {"", "--metric cosine", "--scale zscore", "--squared", "--metric manhattan"}) {
    CAPTURE(options);
    const std::string knn = kith + "knn base.csv --columns x,y,z -k 3 -q " + options;
    const std::string expected = by_query(shell(knn + " --queries rows.csv", there).out);
    REQUIRE(std::count(expected.begin(), expected.end(), '\n') == 8);
    for (const int block : {0, 1, 3, 8}) {
      const std::string follow = fmt::format("{} --queries - --follow --block-rows {}", knn, block);
      const Outcome whole = shell("cat rows.csv | " + follow, there);
      CHECK(whole.code == 0);
      CHECK(whole.out == expected);
    }
  }
  const std::string follow = kith + "knn base.csv --columns x,y,z -k 3 -q --queries - --follow";
  const std::string expected =
      by_query(shell(kith + "knn base.csv --columns x,y,z -k 3 -q --queries rows.csv", there).out);
  for (const std::string& text :
       {"x,y,z\r\n" + replaced(kRows, "\n", "\r\n"), "x,y,z\n" + kRows.substr(0, kRows.size() - 1),
        "x\ty\tz\n" + replaced(kRows, ",", "\t"), "# rows\n\nx,y,z\n" + replaced(kRows, "\n", "\n\n"),
        "\xef\xbb\xbfx,y,z\n" + kRows}) {
    CAPTURE(text);
    save(folder / "in.csv", text);
    const Outcome followed = shell(follow + " < in.csv", there);
    CHECK(followed.out == expected);
    CHECK(followed.code == 0);
  }
  // Columns are found by their names.
  save(folder / "in.csv", "z,other,y,x\n0.3,99,0.2,0.1\n");
  CHECK(shell(follow + " < in.csv", there).out == expected.substr(0, expected.find('\n') + 1));
  CHECK(
      shell("(printf 'x,y,z\\n0.1,0'; sleep 0.2; printf '.2,0.3\\n4,4'; sleep 0.2; printf ',3\\n') | " + follow, there)
          .out == expected.substr(0, expected.find('\n', expected.find('\n') + 1) + 1));
  const Outcome none = shell(follow + " < /dev/null", there);
  CHECK(none.code == 0);
  CHECK(none.out.empty());
}

TEST_CASE("A line that is followed and cannot be read is answered in its place") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  save(folder / "base.csv", kTable);
  const std::string follow =
      std::string(KITH_BINARY) + " knn base.csv --id-column name -k 1 --no-advice --queries - --follow";
  save(folder / "in.csv", "0,0,0\n1,2\n1,1,x\n\nnan,1,1\n1,1,1,1\n\"1,1,1\n1,1,\"1\n0.25,0,9\n4,4,4");
  for (const std::string more : {"", " --block-rows 1", " --block-rows 2"}) {
    const Outcome followed = shell(follow + more + " < in.csv", there);
    CHECK(followed.code == 0);
    CHECK(followed.out == "a\t0\nerror\nerror\nerror\nerror\nerror\nerror\ne\t0\nc\t0\n");
    for (const char* said : {"line 2", "line 3", "line 5", "line 6", "line 7", "line 8", "found NaN"}) {
      CAPTURE(said);
      CHECK(followed.says(said));
    }
    CHECK(!followed.says("line 9"));
    CHECK(!followed.says("line 1"));
    for (const char* of_tables : {"--drop-columns", "--nan", "--encode"}) CHECK(!followed.says(of_tables));
  }
  // Text in another encoding is said once, not for each part and with the line of a part.
  save(folder / "t.csv", "x,y\n1,2\n3,4\n9,9\n8,8\n");
  done({"cluster", "t.csv", "-k", "2", "-q", "-o", "m.h5"}, there);
  const Outcome encoded = shell("for i in 1 2 3; do printf '1,\\351\\n'; sleep 0.1; done | " +
                                    std::string(KITH_BINARY) + " assign - --centroids m.h5 --follow",
                                there);
  CHECK(encoded.out == "-1\n-1\n-1\n");
  const std::size_t once = encoded.err.find("some lines are not UTF-8");
  REQUIRE(once != std::string::npos);
  CHECK(encoded.err.find("not UTF-8", once + 20) == std::string::npos);
  const Outcome longest =
      shell("(printf '0,0,0\\n'; head -c 70000000 /dev/zero | tr '\\0' 1; printf '\\n4,4,4\\n') | " + follow, there);
  CHECK(longest.out == "a\t0\nerror\nc\t0\n");
  const Outcome renamed = shell("printf 'x,y,w\\n1,2,3\\n' | " + follow, there);
  CHECK(renamed.code == 3);
  CHECK(renamed.says("expected the columns of base.csv"));
}

TEST_CASE("kith assign --follow prepares lines as those of the result were") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string table = "city,x,y\n";
  for (int i = 0; i < 40; ++i) {
    table +=
        fmt::format("{},{},{}\n", i % 3 == 0 ? "Lyon" : "Rome", i % 7 == 0 ? "" : std::to_string(i * i % 31), i % 5);
  }
  save(folder / "table.csv", table);
  done({"cluster", "table.csv", "-k", "4", "--encode", "onehot", "--nan", "mean", "--scale", "zscore", "-q", "-o",
        "m.h5"},
       there);
  done({"assign", "table.csv", "--centroids", "m.h5", "-q", "-o", "labels.csv", "--save-distances"}, there);
  std::istringstream lines(replaced(bytes_of(folder / "labels.csv"), ",", "\t"));
  std::string line, expected;
  std::getline(lines, line);
  while (std::getline(lines, line)) expected += line.substr(line.find('\t') + 1) + "\n";
  const std::string assign = std::string(KITH_BINARY) + " assign - --centroids m.h5 --follow -q";
  CHECK(shell(assign + " --save-distances < table.csv", there).out == expected);
  CHECK(shell("printf 'y,city,x\\n1,Oslo,3\\n' | " + assign, there).out == "-1\n");
  const Outcome far = shell(assign + " --max-distance 0.001 --save-distances < table.csv", there);
  CHECK(std::count(far.out.begin(), far.out.end(), '-') > 10);
  CHECK(far.code == 0);
}

TEST_CASE("A line is answered before the next one is asked, and signals and closed pipes end it") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  save(folder / "base.csv", kTable);
  const std::string input = folder / "in";
  REQUIRE(mkfifo(input.c_str(), 0600) == 0);
  const int writer = open(input.c_str(), O_RDWR);
  REQUIRE(writer >= 0);
  Running running({"knn", "base.csv", "--id-column", "name", "-k", "1", "-q", "--queries", "-", "--follow"},
                  {.standard_output = folder / "out", .folder = folder / "", .standard_input = input});
  const auto ask = [&](const std::string& line) { return write(writer, line.data(), line.size()) == std::ssize(line); };
  REQUIRE(ask("4,4,4\n"));
  CHECK(eventually([&] { return bytes_of(folder / "out") == "c\t0\n"; }));
  REQUIRE(ask("7,7,1\n0,0,0\n1,"));
  CHECK(eventually([&] { return bytes_of(folder / "out") == "c\t0\nf\t0\na\t0\n"; }));
  kill(running.process(), SIGINT);
  CHECK(running.wait().code == 128 + SIGINT);
  close(writer);
  CHECK(
      shell("yes 4,4,4 | " KITH_BINARY " knn base.csv --id-column name -k 1 -q --queries - --follow | head -n 2", there)
          .out == "c\t0\nc\t0\n");
}

TEST_CASE("--follow refuses what it cannot answer line by line") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  save(folder / "base.csv", kTable);
  refuses(2, {"knn", "base.csv", "-k", "1", "--follow"}, {"expected --queries -", "found none"}, there);
  refuses(2, {"knn", "base.csv", "-k", "1", "--queries", "base.csv", "--follow"}, {"give --queries -"}, there);
  refuses(2, {"knn", "base.csv", "-k", "1", "--queries", "-", "--follow", "-o", "x.csv"}, {"--follow", "--output"},
          there);
  refuses(2, {"knn", "base.csv", "--radius", "1", "--queries", "-", "--follow"}, {"--follow", "--radius"}, there);
  refuses(2, {"assign", "base.csv", "--centroids", "base.csv", "--follow"}, {"give POINTS -"}, there);
}

TEST_CASE("A line of an encoded table has the columns of the table, not their features") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  save(folder / "t.csv", "id,x,c\n5,1,u\n6,2,v\n7,8,u\n8,9,v\n");
  const std::string columns = " --drop-columns id --encode c=onehot", kith = std::string(KITH_BINARY) + " ";
  REQUIRE(shell(kith + "cluster t.csv -k 2 -o m.h5 -q" + columns, there).code == 0);
  for (const std::string& follow : {kith + "assign - --centroids m.h5 --follow",
                                    kith + "knn t.csv -k 1 --queries - --follow -q --no-advice" + columns}) {
    CAPTURE(follow);
    const Outcome lines = shell("printf '8,1,0\n8,u\n8\n' | " + follow, there);
    const std::size_t end = lines.out.find('\n') + 1;
    CHECK(lines.out.substr(0, end) == "error\n");  // indicators are no fields of the table
    CHECK(lines.says("line 1: expected 2 columns, as"));
    CHECK(lines.says("line 3: expected 2 columns, as"));
    const std::string answer = lines.out.substr(end, lines.out.find('\n', end) + 1 - end);
    CHECK(lines.out == "error\n" + answer + "error\n");
    CHECK(shell("printf 'c,x\nu,8\n' | " + follow, there).out == answer);
    const Outcome others = shell("printf 'C,X\nu,8\n' | " + follow, there);  // words, but not those of the table
    CHECK(others.code == 3);
    CHECK(others.says("expected a row, or the columns of"));
  }
}
