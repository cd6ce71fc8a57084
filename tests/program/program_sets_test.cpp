// Many files as one set of points: folders, patterns, lists and several names; labels in folders.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "data/results/stored_result.h"
#include "tests/support/checkpoint_trial.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"
#include "tests/support/streamed_runs.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

constexpr int kRows = 60, kColumns = 3;
constexpr int kFirst[] = {0, 7, 40, kRows};  // of each part

/// Three clusters of rows; no value is 0, which sparse files leave out.
float value(int row, int column) {
  return static_cast<float>(1 + row % 3 * 40 + (row * 7 + column * 3) % 11) + (column == 2 ? 0.5F : 0.0F);
}

std::vector<float> rows_of(int first, int end) {
  std::vector<float> values;
  for (int i = first; i < end; ++i) {
    for (int j = 0; j < kColumns; ++j) values.push_back(value(i, j));
  }
  return values;
}

std::string text_of(int first, int end, const std::string& head, const std::function<std::string(int, int)>& field) {
  std::string text = head;
  for (int i = first; i < end; ++i) {
    for (int j = 0; j < kColumns; ++j) text += field(i, j) + (j + 1 < kColumns ? "," : "\n");
  }
  return text;
}

std::string number(int i, int j) { return std::to_string(value(i, j)); }

std::string shape_of(int first, int end) { return "(" + std::to_string(end - first) + ", 3)"; }

std::string npy_of(int first, int end) { return npy("'<f4'", false, shape_of(first, end), raw(rows_of(first, end))); }

/// Writes rows first .. end - 1 in the format of the ending.
void write_part(const std::string& file, int first, int end) {
  const std::string ending = file.substr(file.rfind('.'));
  const std::vector<float> values = rows_of(first, end);
  std::string bytes;
  if (ending == ".h5") {
    FileMaker(file).floats("points", {static_cast<hsize_t>(end - first), 3}, values);
    return;
  }
  if (ending == ".npy") bytes = npy_of(first, end);
  if (ending == ".npz") bytes = zip({{"x.npy", npy_of(first, end)}});
  if (ending == ".csv") bytes = text_of(first, end, "a,b,c\n", number);
  if (ending == ".fbin") bytes = little(static_cast<std::uint64_t>(end - first), 4) + little(3, 4) + raw(values);
  for (int i = first; i < end; ++i) {
    if (ending == ".fvecs") bytes += little(3, 4) + raw(rows_of(i, i + 1));
    if (ending == ".svm") {
      bytes += "1 1:" + number(i, 0) + " 2:" + number(i, 1) + " 3:" + number(i, 2) + "\n";
    }
  }
  if (ending == ".mtx") {
    bytes = "%%MatrixMarket matrix array real general\n" + std::to_string(end - first) + " 3\n";
    for (int j = 0; j < kColumns; ++j) {
      for (int i = first; i < end; ++i) bytes += number(i, j) + "\n";
    }
  }
  write_bytes(file, bytes);
}

/// A folder with the three parts, whose names are in natural order, and what is not taken from it.
void write_parts(const Scratch& folder, const std::string& ending) {
  std::filesystem::create_directory(folder / "set");
  for (int part = 0; part < 3; ++part) {
    write_part(folder / ("set/part-" + std::to_string(part == 2 ? 10 : part + 1) + ending), kFirst[part],
               kFirst[part + 1]);
  }
  for (const char* other : {"_SUCCESS", ".part-1.crc", ".hidden.npy", "part-3.npy.tmp", "README.md"}) {
    write_bytes(folder / (std::string("set/") + other), "no points");
  }
  std::filesystem::create_symlink("part-10" + ending, folder / ("set/latest" + ending));
  write_part(folder / ("one" + ending), 0, kRows);
}

/// Both results have the same model and labels.
void same_result(const std::string& a, const std::string& b, const Words& datasets) {
  for (const std::string& dataset : datasets) {
    INFO(dataset);
    CHECK(StoredResult(a).matrix(dataset).size() == StoredResult(b).matrix(dataset).size());
    const auto of_a = StoredResult(a).matrix(dataset), of_b = StoredResult(b).matrix(dataset);
    CHECK(std::equal(of_a.data(), of_a.data() + of_a.size(), of_b.data()));
  }
}

const Words kClusters{"labels", "centroids", "counts", "inertia_per_cluster", "nearest_row", "distances"};

}  // namespace

TEST_CASE("a set gives the result of one file with the same rows, in each format") {
  const std::string format = GENERATE(".npy", ".npz", ".csv", ".fbin", ".fvecs", ".svm", ".mtx", ".h5");
  INFO(format);
  const Scratch folder;
  write_parts(folder, format);
  const auto cluster = [&](const std::string& points, const std::string& result) {
    return done({"cluster", points, "-k", "3", "--save-distances", "-o", folder / result});
  };
  cluster(folder / ("one" + format), "one.h5x");
  const Outcome said = cluster(folder / "set", "set.h5x");
  CHECK(said.says("3 files of"));
  CHECK(said.says("skipped"));
  CHECK(said.says("latest" + format + " (a link to "));
  same_result(folder / "one.h5x", folder / "set.h5x", kClusters);
  const StoredResult result(folder / "set.h5x");
  CHECK(result.text("points") == "set");
  CHECK(result.vector("files/first_row") == std::vector<double>{0, 7, 40});
  CHECK(result.vector("files/rows") == std::vector<double>{7, 33, 20});
  CHECK(!StoredResult(folder / "one.h5x").has("files"));
  const Words search{"knn", folder / ("one" + format), "-k", "2", "-q", "-o"};
  done(search + Words{folder / "one.nn"});
  done({"knn", folder / "set", "-k", "2", "-q", "-o", folder / "set.nn"});
  same_result(folder / "one.nn", folder / "set.nn", {"neighbors", "distances"});
  done(search + Words{folder / "q1.nn", "--queries", folder / ("one" + format)});
  done(search + Words{folder / "q2.nn", "--queries", folder / ("set/*" + format)});
  same_result(folder / "q1.nn", folder / "q2.nn", {"neighbors", "distances"});
  CHECK(StoredResult(folder / "q2.nn").has("query_files"));
}

TEST_CASE("a part of a set may have no rows") {
  const std::string format = GENERATE(".npy", ".csv");
  const std::string empty = GENERATE("part-0", "part-3", "part-99");
  INFO(empty << format);
  const Scratch folder;
  write_parts(folder, format);
  write_part(folder / ("set/" + empty + format), 0, 0);
  done({"cluster", folder / ("one" + format), "-k", "3", "-o", folder / "one.h5"});
  done({"cluster", folder / "set", "-k", "3", "-o", folder / "set.h5"});
  same_result(folder / "one.h5", folder / "set.h5", {"labels", "centroids", "counts"});
  CHECK(StoredResult(folder / "set.h5").vector("files/rows").size() == 4);
  done({"assign", folder / "set", "--centroids", folder / "one.h5", "-o", folder / "labels/"});
  CHECK(std::filesystem::exists(folder / ("labels/" + empty + ".npy")));
  if (format == ".csv") done({"knn", folder / "set", "-k", "1", "--id-column", "a", "-o", folder / "lists.csv"});
  std::filesystem::create_directory(folder / "none");
  write_part(folder / ("none/a" + format), 0, 0);
  write_part(folder / ("none/b" + format), 0, 0);
  refuses(3, {"cluster", folder / "none", "-k", "2"}, {"b" + format + ": expected"});
}

TEST_CASE("names, patterns, lists and folders in folders name the same set") {
  const Scratch folder;
  write_parts(folder, ".npy");
  std::filesystem::create_directories(folder / "hive/day=2");
  std::filesystem::create_directories(folder / "hive/day=10");
  std::filesystem::copy(folder / "set/part-1.npy", folder / "hive/day=2/x.npy");
  std::filesystem::copy(folder / "set/part-2.npy", folder / "hive/day=10/x.npy");
  std::filesystem::copy(folder / "set/part-10.npy", folder / "hive/day=10/y.npy");
  write_bytes(folder / "list.txt",
              folder / "set/part-1.npy" + "\n\n" + folder / "set/part-2.npy" + "\r\n" + folder / "set/part-10.npy");
  done({"cluster", folder / "one.npy", "-k", "3", "-o", folder / "one.npy.labels.npy"});
  const std::string expected = bytes_of(folder / "one.npy.labels.npy");
  const Words sets[] = {{folder / "set/"},
                        {folder / "set/part-*.npy"},
                        {"@" + folder / "list.txt"},
                        {folder / "hive"},
                        {folder / "set/part-1.npy", folder / "set/part-[2-9].npy", folder / "hive/day=10/y.npy"}};
  for (const Words& set : sets) {
    INFO(set.front());
    done(Words{"cluster"} + set + Words{"-k", "3", "-f", "-o", folder / "labels.npy"});
    CHECK(bytes_of(folder / "labels.npy") == expected);
  }
  // The order is that of the names on the command line.
  done({"cluster", folder / "set/part-2.npy", folder / "set/part-1.npy", "-k", "2", "-o", folder / "turned.h5"});
  CHECK(StoredResult(folder / "turned.h5").vector("files/rows") == std::vector<double>{33, 7});
  CHECK(StoredResult(folder / "turned.h5").text("points") == "part-2.npy and 1 more");
}

TEST_CASE("files of several formats and types are one set") {
  const Scratch folder;
  for (const char* name : {"a.npy", "b.csv", "c.fbin"}) {
    const int part = name[0] - 'a';
    write_part(folder / name, kFirst[part], kFirst[part + 1]);
  }
  write_part(folder / "one.csv", 0, kRows);
  done({"cluster", folder / "one.csv", "-k", "3", "-o", folder / "one.npy"});
  const Outcome mixed =
      done({"cluster", folder / "a.npy", folder / "b.csv", folder / "c.fbin", "-k", "3", "-o", folder / "mixed.npy"});
  CHECK(mixed.says("all are read as float64"));
  CHECK(bytes_of(folder / "mixed.npy") == bytes_of(folder / "one.npy"));
}

TEST_CASE("encodings, fills and scales are those of the whole set") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "set");
  const auto field = [](int i, int j) {
    if (j == 1 && i % 9 == 4) return std::string();
    return j == 2 ? std::string(1, static_cast<char>('p' + i * 5 / kRows)) : number(i, j);
  };
  const std::string head = "a,b,city\n";
  for (int part = 0; part < 3; ++part) {
    write_bytes(folder / ("set/" + std::to_string(part) + ".csv"),
                text_of(kFirst[part], kFirst[part + 1], head, field));
  }
  write_bytes(folder / "one.csv", text_of(0, kRows, head, field));
  for (const Words& options : {Words{"--encode", "onehot", "--nan", "median", "--scale", "zscore"},
                               Words{"--encode", "city=ordinal", "--nan", "mean"}, Words{"--prepare", "auto"},
                               Words{"--columns", "numeric", "--nan", "drop"}}) {
    INFO(options[1]);
    const Words more = options + Words{"-k", "3", "--save-distances", "-f", "-o"};
    done(Words{"cluster", folder / "one.csv"} + more + Words{folder / "one.h5"});
    done(Words{"cluster", folder / "set"} + more + Words{folder / "set.h5"});
    same_result(folder / "one.h5", folder / "set.h5", {"labels", "centroids", "counts"});
    CHECK(StoredResult(folder / "one.h5").lines("columns") == StoredResult(folder / "set.h5").lines("columns"));
    // The model reads one of the files as it read all of them.
    done({"assign", folder / "set/1.csv", "--centroids", folder / "set.h5", "-q", "-f", "-o", folder / "part.h5"});
    const auto labels = StoredResult(folder / "set.h5").vector("labels");
    CHECK(StoredResult(folder / "part.h5").vector("labels") ==
          std::vector<double>(labels.begin() + kFirst[1], labels.begin() + kFirst[2]));
  }
}

TEST_CASE("a file that does not fit is named before any work") {
  const Scratch folder;
  write_parts(folder, ".npy");
  const std::string middle = folder / "set/part-2.npy";
  const Words run{"cluster", folder / "set", "-k", "3", "-o", folder / "x.h5"};
  write_bytes(middle, npy("'<f4'", false, "(4, 2)", raw({1, 2, 3, 4, 5, 6, 7, 8})));
  refuses(3, run, {"part-2.npy: expected 3 columns, as in", "part-1.npy, found 2", "leave the file out"});
  write_bytes(middle, npy_of(7, 40).substr(0, 200));
  refuses(3, run, {"part-2.npy: "});
  write_bytes(middle, "");
  refuses(3, run, {"part-2.npy: "});
  std::filesystem::remove(middle);
  refuses(3, {"cluster", folder / "set/part-1.npy", middle, "-k", "3"}, {"part-2.npy: expected a file, found none"});
  write_bytes(folder / "list.txt", folder / "set/part-1.npy" + "\n" + middle + "\n");
  refuses(3, {"cluster", "@" + folder / "list.txt", "-k", "3"}, {"part-2.npy", "a line of", "list.txt"});
  refuses(3, {"cluster", folder / "set/*.csv", "-k", "3"}, {"found no file that it matches"});
  refuses(3, {"cluster", "@" + folder / "none.txt", "-k", "3"}, {"none.txt", "the name of a file in each line"});
  refuses(3, {"cluster", folder / "set/part-1.npy", "-", "-k", "3"}, {"standard input among several"});
  write_bytes(folder / "a.csv", "a,b\n1,2\n3,4\n");
  write_bytes(folder / "b.csv", "a,B\n1,2\n3,4\n");
  const Words tables{"cluster", folder / "a.csv", folder / "b.csv", "-k", "2"};
  refuses(3, tables, {"b.csv: expected column 2 ('b'), as in", "a.csv, found column 2 ('B')"});
  done(tables + Words{"--columns", "a"});  // which the message proposes
  write_bytes(folder / "a.csv", "a,d\n1,31/12/2024\n");
  write_bytes(folder / "b.csv", "a,d\n1,12/31/2024\n");
  refuses(3, {"cluster", folder / "a.csv", folder / "b.csv", "-k", "2", "--encode", "date"},
          {"b.csv: column 2 ('d'): its dates have the month first", "leave the file out"});
  write_bytes(folder / "a.csv", "a,b\n1,2\n3,4\n");
  write_bytes(folder / "b.csv", "1,2\n3,4\n");
  refuses(3, tables, {"b.csv: expected a line that names the columns"});
  CHECK(!std::filesystem::exists(folder / "x.h5"));
}

TEST_CASE("outputs never become points of the next run") {
  const Scratch folder;
  write_parts(folder, ".npy");
  const Words run{"cluster", folder / "set", "-k", "3", "-f", "-o"};
  refuses(5, run + Words{folder / "set/part-1.npy"}, {"never overwritten"});
  refuses(5, run + Words{folder / "set/labels.npy"}, {"lies in the folder of the points"});
  refuses(5, run + Words{folder / "set/"}, {"lies in the folder of the points"});
  refuses(5, {"cluster", folder / "set/*.npy", "-k", "3", "-f", "-o", folder / "set/part-2.npy"},
          {"never overwritten"});
  // Nor do they replace points under another name of theirs, or in a folder of labels.
  std::filesystem::create_symlink("part-1.npy", folder / "set/link.npy");
  std::filesystem::create_hard_link(folder / "set/part-2.npy", folder / "hard.npy");
  const std::string first = bytes_of(folder / "set/part-1.npy"), second = bytes_of(folder / "set/part-2.npy");
  const Words two{"cluster", folder / "set/part-1.npy", folder / "set/part-2.npy", "-k", "3", "-f"};
  for (const Words& outputs :
       {Words{"-o", folder / "set/"}, Words{"-o", folder / "set/link.npy"}, Words{"-o", folder / "hard.npy"},
        Words{"-o", folder / "x.h5", "--labels", folder / "set/"},
        Words{"-o", folder / "x.h5", "--save-centroids", folder / "hard.npy"}}) {
    INFO(outputs.back());
    refuses(5, two + outputs, {"is the input", "never overwritten"});
    CHECK(bytes_of(folder / "set/part-1.npy") == first);
    CHECK(bytes_of(folder / "set/part-2.npy") == second);
  }
}

TEST_CASE("what a folder holds besides files is said, or refused if points would be missing") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "set");
  write_part(folder / "set/part-1.npy", 0, 7);
  std::filesystem::create_directory(folder / "more");
  std::filesystem::create_directory_symlink(folder / "more", folder / "set/linked");
  std::filesystem::create_symlink("nowhere", folder / "set/modules.conf");
  const Outcome said = done({"cluster", folder / "set", "-k", "3"});
  CHECK(said.says("linked"));
  CHECK(said.says("modules.conf"));
  std::filesystem::create_symlink("of-annex", folder / "set/part-3.npy");
  for (const char* points : {"set", "set/*.npy"}) {
    refuses(3, {"cluster", folder / points, "-k", "3"}, {"part-3.npy: ", "a link to one that does not exist"});
  }
  refuses(3, {"cluster", "@" + folder / "more", "-k", "3"}, {"the name of a file in each line, found none"});
}

TEST_CASE("sets that are streamed, and runs that go on") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "set");
  const std::vector<float> x = streamed_values(kStreamedRows, 1);
  const std::int64_t columns = kStreamedColumns;
  const auto part = [&](std::int64_t first, std::int64_t end) {
    const std::string shape = "(" + std::to_string(end - first) + ", " + std::to_string(columns) + ")";
    return npy("'<f4'", false, shape, raw({x.begin() + first * columns, x.begin() + end * columns}));
  };
  for (int i = 0; i < 30; ++i) {
    write_bytes(folder / ("set/" + std::to_string(i) + ".npy"), part(i * 3000, (i + 1) * 3000));
  }
  write_bytes(folder / "one.npy", part(0, kStreamedRows));
  const Words more{"-k", "5",  "--init",      "random", "--max-iterations", "8", "--save-distances",
                   "-f", "-q", "--no-advice", "-o"};
  done(Words{"cluster", folder / "one.npy"} + more + Words{folder / "one.h5"});
  done(Words{"cluster", folder / "set"} + more + Words{folder / "set.h5"});
  same_result(folder / "one.h5", folder / "set.h5", kClusters);
  const Outcome streamed =
      done(Words{"cluster", folder / "set"} + more + Words{folder / "streamed.h5", "--memory", "13MB", "--json"});
  CHECK(streamed.json().contains("streamed"));
  CHECK(bytes_of(folder / "streamed.h5") == bytes_of(folder / "set.h5"));
  const Words parts =
      Words{"cluster", folder / "set"} + more + Words{folder / "parts.h5", "--checkpoint", folder / "c"};
  CHECK(run_kith(parts + Words{"--time-limit", kAtOnce}).code == 124);
  done({"resume", folder / "c", "-q", "--time-limit", "1h"});
  CHECK(bytes_of(folder / "parts.h5") == bytes_of(folder / "set.h5"));
  // A file that another one replaces is not the one that the checkpoint is of.
  CHECK(run_kith(parts + Words{"--time-limit", kAtOnce}).code == 124);
  write_bytes(folder / "set/3.npy", part(0, 3000));
  CHECK(run_kith({"resume", folder / "c", "-q", "--time-limit", "1h"}).code == 3);
}

TEST_CASE("-o FOLDER/ writes a file of labels for each file of points") {
  const Scratch folder;
  write_parts(folder, ".npy");
  done({"cluster", folder / "one.npy", "-k", "3", "-o", folder / "one.h5"});
  const auto all = StoredResult(folder / "one.h5").vector("labels");
  const std::string labels = folder / "labels/";
  const Words run{"assign", folder / "set", "--centroids", folder / "one.h5", "-o", labels};
  const auto check = [&] {
    for (int part = 0; part < 3; ++part) {
      const std::string file = labels + "part-" + std::to_string(part == 2 ? 10 : part + 1) + ".npy";
      std::string values;
      for (int i = kFirst[part]; i < kFirst[part + 1]; ++i) {
        values += little(static_cast<std::uint64_t>(all[static_cast<std::size_t>(i)]), 4);
      }
      const std::string bytes = bytes_of(file);
      REQUIRE(bytes.size() > values.size());
      CHECK(bytes.substr(bytes.size() - values.size()) == values);
    }
  };
  CHECK(done(run).says("3 files in"));
  check();
  // Finished files are kept, the others are written.
  std::filesystem::remove(labels + "part-2.npy");
  const Outcome rest = done(run);
  CHECK(rest.says("2 of 3 files in"));
  CHECK(rest.says("kept from an earlier run: part-1.npy, part-10.npy"));
  CHECK(rest.says("1 files in"));
  check();
  CHECK(done(run).says("3 of 3 files in"));
  // If they may not be its own, they are computed again, and compared.
  const std::string mark = labels + ".kith-labels";
  const auto write_by_group = std::filesystem::perms::group_write;
  std::filesystem::permissions(mark, write_by_group, std::filesystem::perm_options::add);
  CHECK(done(run).says("3 of them kept from an earlier run"));
  CHECK(done(run + Words{"--threads", "1"}).says("3 of 3 files in"));
  std::filesystem::last_write_time(folder / "set/part-1.npy", std::filesystem::file_time_type::clock::now());
  CHECK(done(run).says("3 of them kept from an earlier run"));
  CHECK(done(run).says("3 of 3 files in"));
  const std::string changed = labels + "part-10.npy", right = bytes_of(changed);
  write_bytes(changed, right.substr(0, right.size() - 1) + "\1");
  refuses(5, run, {"part-10.npy: exists, with other bytes"});
  write_bytes(changed, right);
  check();
  // They are not those of another run.
  refuses(5, {"cluster", folder / "set", "-k", "2", "-o", labels}, {"part-1.npy: exists", "-f/--force"});
  done({"cluster", folder / "set", "-k", "3", "-f", "-o", labels});
  check();
  done({"cluster", folder / "set", "-k", "3", "-o", folder / "all.h5", "--labels", folder / "tables/",
        "--labels-format", "csv", "--save-distances"});
  CHECK(bytes_of(folder / "tables/part-10.csv").starts_with("row,label,distance\n0,"));
  write_part(folder / "set/part-1.fbin", 0, 7);
  refuses(2, {"cluster", folder / "set", "-k", "3", "-o", folder / "other/"}, {"part-1.fbin", "rename one of them"});
}

TEST_CASE("files of labels stay in their folder, whatever the points are called") {
  const Scratch folder;
  std::filesystem::create_directories(folder / "work");
  std::filesystem::create_directories(folder / "far");
  write_part(folder / "work/a.npy", 0, 7);
  write_part(folder / "far/b.npy", 7, 40);
  const Setting there{.folder = folder / "work"};
  const std::string points = bytes_of(folder / "far/b.npy");
  for (const std::string& far : {std::string("../far/b.npy"), folder / "far/b.npy"}) {
    INFO(far);
    done({"cluster", "a.npy", far, "-k", "2", "-f", "-o", "labels/"}, there);
    CHECK(bytes_of(folder / "far/b.npy") == points);
    CHECK(!std::filesystem::exists(folder / "work/far"));
    CHECK(std::filesystem::exists(folder / "work/labels/work/a.npy"));
    CHECK(std::filesystem::exists(folder / "work/labels/far/b.npy"));
    std::filesystem::remove_all(folder / "work/labels");
  }
}

TEST_CASE("a killed folder of labels has whole files only, and the same command completes it") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "set");
  for (int i = 0; i < 60; ++i) write_part(folder / ("set/" + std::to_string(i) + ".npy"), i, i + 40);
  const Words run{"cluster", folder / "set", "-k", "3", "-q"};
  const auto files = [&](const std::string& name) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder / name)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with('.')) all[file] = bytes_of(entry.path().string());
    }
    return all;
  };
  done(run + Words{"-o", folder / "whole/"});
  const auto whole = files("whole");
  REQUIRE(whole.size() == 60);
  std::filesystem::create_directory(folder / "parts");
  int kills = 0;
  for (int round = 0; round < 60 && kills < 12; ++round) {
    Running process(run + Words{"-o", folder / "parts/"});
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 3 * round % 60));
    kill(process.process(), SIGKILL);
    kills += process.wait().code != 0 ? 1 : 0;
    for (const auto& [name, bytes] : files("parts")) CHECK(bytes == whole.at(name));
  }
  CHECK(kills > 0);
  done(run + Words{"-o", folder / "parts/"});
  CHECK(files("parts") == whole);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "parts")) {
    CHECK(!entry.path().string().ends_with(".part"));
  }
}

namespace {

/// The open descriptors of a process and of all that it has started, whose numbers are added to `seen`.
std::int64_t descriptors_of(pid_t process, std::set<pid_t>& seen) {
  namespace fs = std::filesystem;
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);  // nothing, if the process has ended
    const std::size_t command_end = stat.rfind(") ");
    if (command_end != stat.npos) children.emplace(std::atoi(stat.c_str() + command_end + 4), std::atoi(name.c_str()));
  }
  std::int64_t sum = 0;
  for (std::vector<pid_t> all{process}; !all.empty();) {
    const pid_t one = all.back();
    all.pop_back();
    seen.insert(one);
    std::error_code failure;
    for (fs::directory_iterator entry("/proc/" + std::to_string(one) + "/fd", failure), end; !failure && entry != end;
         entry.increment(failure)) {
      ++sum;
    }
    for (auto [child, last] = children.equal_range(one); child != last; ++child) all.push_back(child->second);
  }
  return sum;
}

}  // namespace

TEST_CASE("many files take few descriptors and processes") {
  const bool has_arrow = done({"devices", "--json"}).json().at("arrow") == true;
  const Scratch folder;
  for (const std::string ending : {".npy", ".csv", ".h5", ".parquet"}) {
    if (ending == ".parquet" && !has_arrow) continue;
    INFO(ending);
    const std::string first = folder / ("0" + ending), set = folder / ("set" + ending);
    if (ending == ".h5") {  // compressed chunks, for which the library stays open
      FileMaker(first).floats("points", {20, 3}, rows_of(0, 20), {.chunk = {5, 3}, .deflate = 1});
    } else if (ending == ".parquet") {
      done({"cluster", folder / "0.csv", "-k", "1", "-q", "--save-distances", "-o", first});
    } else {
      write_part(first, 0, 20);
    }
    std::filesystem::create_directory(set);
    for (int i = 0; i < 150; ++i) std::filesystem::copy_file(first, set + "/" + std::to_string(i) + ending);
    Running process(
        {"cluster", set, "-k", "2", "-q", "--no-advice", "--max-iterations", "3", "-o", folder / "x.h5", "-f"});
    std::int64_t most = 0;
    std::set<pid_t> processes;
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(process.process()), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
      most = std::max(most, descriptors_of(process.process(), processes));
    }
    CHECK(process.wait().code == 0);
    CHECK(most > 3);
    CHECK(most <= 64);
    if (!is_sanitized()) CHECK(processes.size() <= 8);  // a search for leaks is a process
  }
}

TEST_CASE("kith info sums up a folder") {
  const Scratch folder;
  write_parts(folder, ".npy");
  const Outcome whole = done({"info", folder / "set"});
  CHECK(whole.out.find("3 files (3 .npy), 60 rows") != std::string::npos);
  CHECK(whole.out.find("_SUCCESS") != std::string::npos);
  write_bytes(folder / "set/part-2.npy", npy("'<f4'", false, "(2, 2)", raw({1, 2, 3, 4})));
  write_bytes(folder / "set/part-4.npy", "damaged");
  const Outcome mixed = run_kith({"info", folder / "set", "--json"});
  CHECK(mixed.code == 3);
  const auto set = mixed.json()["files"][0]["set"];
  CHECK(set["differ"].size() == 1);
  CHECK(set["unreadable"].size() == 1);
}

TEST_CASE("kith info --fresh compares all files of a set") {
  const Scratch folder;
  write_parts(folder, ".npy");
  const Words run{"cluster", folder / "set", "-k", "3", "-o", folder / "x.h5"};
  done(run);
  CHECK(run_kith({"info", "--fresh", folder / "x.h5"}).code == 0);
  const std::string command = "cluster " + folder / "set" + " -k 3";
  CHECK(run_kith({"info", "--fresh", folder / "x.h5", "--command", command}).code == 0);
  write_part(folder / "set/part-2.npy", 8, 41);
  CHECK(run_kith({"info", "--fresh", folder / "x.h5"}).says("the input set has changed"));
}

TEST_CASE("kith info --fresh finds the files of a set that several words name") {
  const Scratch folder;
  write_parts(folder, ".npy");
  const std::string result = folder / "x.h5";
  done({"cluster", folder / "set/part-1*.npy", folder / "set/part-2.npy", "-k", "3", "-o", result});
  const Words fresh{"info", "--fresh", result, "--inputs", folder / "set"};
  CHECK(run_kith({"info", "--fresh", result}).says("--inputs FOLDER"));
  CHECK(run_kith(fresh).code == 0);
  const std::string each =
      folder / "set/part-1.npy" + "," + folder / "set/part-10.npy" + "," + folder / "set/part-2.npy";
  CHECK(run_kith({"info", "--fresh", result, "--inputs", each}).code == 0);
  write_part(folder / "set/part-10.npy", 8, 41);
  CHECK(run_kith(fresh).says("the input part-10.npy has changed"));
  std::filesystem::remove(folder / "set/part-10.npy");
  CHECK(run_kith(fresh).says("its input part-10.npy is not in its folder"));
  // Beside the files.
  done({"cluster", folder / "set/part-1.npy", folder / "set/part-2.npy", "-k", "3", "-o", folder / "set/y.h5"});
  CHECK(run_kith({"info", "--fresh", folder / "set/y.h5"}).code == 0);
}

TEST_CASE("names of files are stored whole, however long") {
  const Scratch folder;
  const std::string deep = std::string(200, 'a') + "/" + std::string(200, 'b');
  std::filesystem::create_directories(folder / ("set/" + deep));
  write_bytes(folder / ("set/" + deep + "/1.csv"), "x,y\n0,0\n9,9\n");
  write_bytes(folder / "set/2.csv", "x,y\n1,1\n8,8\n");
  done({"cluster", folder / "set", "-k", "2", "-q", "-o", folder / "r.h5"});
  CHECK(bytes_of(folder / "r.h5").find(deep + "/1.csv") != std::string::npos);
}
