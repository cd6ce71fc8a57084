// Inputs that misled silently: rows that begin with #, names of rows in neighbour lists, resumed runs, escape codes.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "data/results/stored_result.h"
#include "tests/support/container_files.h"
#include "tests/support/program.h"
#include "tests/support/table_runs.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

std::string npy(const std::string& type, const std::string& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (2, 2), }";
  header.resize(128 - 10 - 1, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + values;
}

bool has_control(const std::string& text) {
  if (text.find("\xc2\x9b") != std::string::npos) return true;  // U+009B, in UTF-8
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

std::vector<std::string> texts(const std::string& file, const char* dataset) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t values = H5Dopen2(id, dataset, H5P_DEFAULT);
  REQUIRE(values >= 0);
  const hid_t type = H5Dget_type(values), space = H5Dget_space(values);
  const std::size_t width = H5Tget_size(type), count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
  std::string bytes(width * count, '\0');
  REQUIRE(H5Dread(values, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
  for (const auto& [close, object] : {std::pair{&H5Sclose, space}, std::pair{&H5Tclose, type}}) close(object);
  H5Dclose(values);
  H5Fclose(id);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(bytes.substr(i * width, width).c_str());
  return out;
}

}  // namespace

TEST_CASE("rows that begin with # stay, and the summary and the report count the lines that are skipped") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.csv";
  write_bytes(table, "# made\n\nid,a\n#N/A,1\nx,2\n\n#2,9\n");
  const Outcome labelled = done({"cluster", table, "--id-column", "id", "-k", "2", "--init", "first", "-o", out});
  CHECK(bytes_of(out) == "id,label\n\"#N/A\",0\nx,0\n\"#2\",1\n");
  CHECK(labelled.says("3 x 1 text; 1 comment line and 2 blank lines skipped"));
  const nlohmann::json points =
      done({"cluster", table, "--id-column", "id", "-k", "1", "--comment", "#", "--json"}).json()["points"];
  CHECK(points["rows"] == 1);
  CHECK(points["comment_lines"] == 3);
  CHECK(points["blank_lines"] == 1);  // the other one is at the end
  CHECK(done({"info", table, "--comment", "#"}).out.find("3 comment lines and 1 blank line skipped") !=
        std::string::npos);
  write_bytes(table, "#2,1.5\nx,1\n");
  const Outcome warned = done({"cluster", table, "--id-column", "1", "-k", "1", "-q"});
  CHECK(warned.says("warning: " + table + ": line 1, '#2,1.5', was skipped as a comment, but has the form of a row"));
  refuses(2, {"cluster", table, "-k", "1", "--comment", "ab"}, {"--comment: expected auto, none or one character"});
  refuses(2, {"cluster", table, "-k", "1", "--comment", ";", "--delimiter", "semicolon"},
          {"--comment: expected another character than --delimiter"});
}

TEST_CASE("knn names rows by --id-column in lists, edges and components, and beside the numbers in HDF5") {
  const Scratch folder;
  const std::string base = folder / "b.csv", queries = folder / "q.csv", out = folder / "out.h5",
                    csv = folder / "o.csv";
  write_bytes(base, "id,a\n\"x, 1\",0\ny,1\n#z,5\n");
  write_bytes(queries, "a,id\n0.9,q\x1b\n");
  const Words ids{"--id-column", "id", "-q", "-f"};
  const auto knn = [&](Words words) {
    words.insert(words.begin(), {"knn", base});
    words.insert(words.end(), ids.begin(), ids.end());
    return done(words).out;
  };
  CHECK(knn({"-k", "1"}) == "x, 1\ty\t1\ny\tx, 1\t1\n#z\ty\t4\n");
  CHECK(knn({"-k", "2", "--queries", queries}) == "q\\x1b\ty\t0.09999999999999998\nq\\x1b\tx, 1\t0.9\n");
  CHECK(knn({"--radius", "1"}) == "x, 1\ty\t1\ny\tx, 1\t1\n");
  CHECK(knn({"--radius", "1", "--components"}) == "x, 1\tx, 1\ny\tx, 1\n#z\t#z\n");
  knn({"--radius", "1", "-o", csv});
  CHECK(bytes_of(csv) == "source,target,distance\n\"x, 1\",y,1\ny,\"x, 1\",1\n");
  knn({"-k", "1", "--queries", queries, "-o", out});
  CHECK(texts(out, "ids") == std::vector<std::string>{"x, 1", "y", "#z"});
  CHECK(texts(out, "query_ids") == std::vector<std::string>{"q\x1b"});
  CHECK(done({"info", out}).out.find("/ids") != std::string::npos);
  knn({"--radius", "1", "-o", out});
  CHECK(texts(out, "ids") == std::vector<std::string>{"x, 1", "y", "#z"});
  write_bytes(base, "id,a\n" + std::string(300, 'x') + ",0\ny,1\n");
  refuses(3, {"knn", base, "-k", "1", "--id-column", "id", "-o", folder / "new.h5"},
          {"identifiers of rows: row 1", "at most 256 bytes"});
  CHECK(files_in(folder) == std::vector<std::string>{"b.csv", "o.csv", "out.h5", "q.csv"});
}

TEST_CASE("a run resumed with the same command, but without the limit, stores the same bytes as an uninterrupted one") {
  const Scratch folder;
  const std::string whole = folder / "whole.h5", part = folder / "part.h5", more = folder / "more.h5";
  for (const Words& words : {Words{"--tolerance", "0"}, Words{"--init", "random", "--seed", "5"}}) {
    const auto cluster = [&](const Words& others, const std::string& out) {
      Words all{"cluster", kDigits, "-k", "30", "-q", "-f", "-o", out};
      all.insert(all.end(), others.begin(), others.end());
      done(all);
    };
    cluster(words, whole);
    Words stopping = words;
    stopping.insert(stopping.end(), {"--max-iterations", "3"});
    cluster(stopping, part);
    cluster({"--init", part, "--tolerance", words[0] == "--tolerance" ? "0" : "0.0001"}, more);
    CHECK(bytes_of(more) == bytes_of(whole));
    CHECK(StoredResult(more).text("command").find("--max-iterations 300 ") != std::string::npos);
  }
}

TEST_CASE("escape codes from files reach neither standard output nor standard error") {
  const Scratch folder;
  const std::string array = folder / "esc.npy", table = folder / "esc.csv", hdf5 = folder / "esc.h5",
                    config = folder / "esc.toml";
  write_bytes(array, npy("<q\x1b]0;owned\x07\x1b[31mred", std::string(32, 'x')));
  write_bytes(table, "a\x1b[31m,b\xc2\x9b\n1,\x1b]0;owned\x07\n2,x\n");
  write_bytes(config, "[cluster]\nclusters = \x1b[31m\n");
  FileMaker(hdf5).floats("x\x1b[31m", {2, 2}, {1, 2, 3, 4});
  for (const Words& words :
       {Words{"info", array}, Words{"info", table}, Words{"info", hdf5}, Words{"info", hdf5, "--stats"},
        Words{"info", table, "--json"},
        Words{"cluster", table, "-k", "2", "--label-column", "2", "--explain", "--json"},
        Words{"cluster", array, "-k", "1"}, Words{"cluster", table, "-k", "1"}, Words{"cluster", hdf5, "-k", "1"},
        Words{"cluster", hdf5 + ":/y", "-k", "1"}, Words{"cluster", table, "-k", "1", "--columns", "c"},
        Words{"cluster", hdf5, "--config", config},
        Words{"cluster", table, "-k", "2", "--label-column", "2", "--explain", "-v"}}) {
    const Outcome outcome = run_kith(words);
    INFO(nlohmann::json(words).dump() << outcome.out << outcome.err);
    CHECK(!has_control(outcome.out));
    CHECK(!has_control(outcome.err));
    const std::string all = outcome.out + outcome.err;
    CHECK((all.find("\\x1b") != std::string::npos || all.find("\\u001b") != std::string::npos));
  }
}

TEST_CASE("--config of a pipe, a device, a directory or a huge file is refused") {
  const Scratch folder;
  const std::string pipe = folder / "pipe", huge = folder / "huge";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  refuses(2, {"cluster", kDigits, "-k", "2", "--config", pipe},
          {"--config " + pipe + ": expected a file, found a pipe"});
  refuses(2, {"cluster", kDigits, "-k", "2", "--config", "/dev/zero"}, {"found a device"});
  refuses(2, {"cluster", kDigits, "-k", "2", "--config", folder.path().string()}, {"found a directory"});
  write_bytes(huge, std::string(2 << 20, '#'));
  refuses(2, {"cluster", kDigits, "-k", "2", "--config", huge}, {"expected a file of at most 1048576 bytes"});
}

TEST_CASE("centroids are matched with the columns of the points by name") {
  const Scratch folder;
  const std::string table = folder / "t.csv", turned = folder / "turned.csv", other = folder / "other.csv",
                    out = folder / "c.h5", means = folder / "means.csv";
  write_bytes(table, "x,y\n0,5\n1,5\n100,6\n101,6\n");
  write_bytes(turned, "y,x\n5,0\n5,1\n6,100\n6,101\n");
  write_bytes(other, "y,z\n5,0\n5,1\n6,100\n6,101\n");
  done({"cluster", table, "-k", "2", "-o", out, "--save-centroids", means});
  for (const Words& start :
       {Words{"--freeze", out}, {"--freeze", means}, {"--init", means}, {"--init", out + ":/centroids"}}) {
    CAPTURE(start);
    const auto with = [&](const std::string& points) {
      Words words{"cluster", points, "-k", "2", "--json"};
      words.insert(words.end(), start.begin(), start.end());
      return words;
    };
    CHECK(done(with(turned)).json()["inertia"] == 1.0);
    refuses(3, with(other), {"expected a column 'z'", "found none among x, y"});
  }
}

TEST_CASE("labels and weights of another table are matched with rows by a column of identifiers") {
  const Scratch folder;
  const std::string labels = folder / "l.csv", truth = folder / "t.csv", others = folder / "o.csv";
  write_bytes(labels, "id,label\np0,0\np1,0\np2,1\np3,1\n");
  write_bytes(truth, "id,class,w\np3,b,0\np1,a,1\np2,b,1\np0,a,1\n");
  write_bytes(others, "id,class\np3,b\np1,a\np2,b\np9,a\n");
  const Outcome matched = done({"evaluate", labels, "--truth", truth + ":class"});
  CHECK(matched.says("by the column 'id'"));
  CHECK(matched.out.find("adjusted Rand index            1\n") != std::string::npos);
  refuses(3, {"evaluate", labels, "--truth", others + ":class"}, {"o.csv: expected the rows of", "'p0'"});
}

TEST_CASE("centroids in the units of prepared points are not compared with the points") {
  const Scratch folder;
  const std::string table = folder / "d.csv", out = folder / "d.h5";
  write_bytes(table, "x,y\n0,500\n1,510\n100,900\n101,910\n");
  done({"cluster", table, "-k", "2", "--scale", "zscore", "-o", out});
  refuses(3, {"knn", out + ":/centroids", "--queries", table, "-k", "1"}, {"d.h5:/centroids_original"});
  CHECK(done({"distances", table, out + ":/centroids_original"}).code == 0);
}

TEST_CASE("rows in another order than those of a result are noticed, and matched where both files name them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string head = "id,x,y\n", table = head, turned = head;
  for (int i = 0; i < 40; ++i) {
    const std::string row =
        "p" + std::to_string(i) + "," + std::to_string(i % 7 + 100 * (i % 2)) + "," + std::to_string(i % 5) + "\n";
    table += row;
    turned.insert(head.size(), i % 3 == 0 ? "" : row);
    turned += i % 3 == 0 ? row : "";
  }
  write_bytes(folder / "t.csv", table);
  write_bytes(folder / "turned.csv", turned);
  done({"cluster", "t.csv", "--id-column", "id", "-k", "2", "-o", "r.h5", "--labels", "r.csv"}, there);
  for (const std::string command : {"evaluate", "report"}) {
    CAPTURE(command);
    const auto run = [&](const char* points) {
      Words words{command, "r.h5", "--points", points};
      if (command == "report") words.insert(words.end(), {"-f", "-o", "page.html"});
      return done(words, there);
    };
    CHECK(!run("t.csv").says("do not fit"));
    const Outcome other = run("turned.csv");
    CHECK(other.says("the labels of r.h5 do not fit the rows of turned.csv"));
    CHECK(other.says("give those rows, in their order"));
  }
  CHECK(bytes_of(folder / "page.html").find("do not fit the rows of turned.csv") != std::string::npos);
  // Labels as text name the rows.
  const auto scores = [&](const char* points) {
    return done({"evaluate", "r.csv:label", "--points", points, "--drop-columns", "id"}, there).out;
  };
  CHECK(scores("turned.csv") == scores("t.csv"));
}

TEST_CASE("labels are matched with the rows of AnnData by its index") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto make = [&](const char* file, const std::vector<int>& order) {
    FileMaker maker(folder / file);
    std::vector<std::string> names;
    std::vector<const char*> shown;
    std::vector<float> rows, classes;
    for (const int i : order) {
      names.push_back("cell" + std::to_string(i));
      rows.push_back(static_cast<float>(i + 100 * (i % 2)));
      classes.push_back(static_cast<float>(i % 2));
    }
    for (const std::string& name : names) shown.push_back(name.c_str());
    maker.floats("X", {order.size(), 1}, rows);
    encoded(maker, "obs", "dataframe");
    attribute(maker, "obs", "_index", "barcode");
    texts(maker, "obs/barcode", shown);
    maker.floats("obs/class", {order.size()}, classes);
  };
  make("a.h5ad", {0, 1, 2, 3, 4, 5});
  make("turned.h5ad", {4, 5, 1, 0, 3, 2});
  write_bytes(folder / "l.csv", ",class\ncell0,0\ncell1,1\ncell2,0\ncell3,1\ncell4,0\ncell5,1\n");
  const auto scores = [&](const char* labels, const char* points) {
    return done({"evaluate", labels, "--points", points}, there).out;
  };
  const std::string expected = scores("a.h5ad:/obs/class", "a.h5ad:/X");
  CHECK(scores("a.h5ad:/obs/class", "turned.h5ad:/X") == expected);
  CHECK(scores("l.csv:class", "turned.h5ad:/X") == expected);
}

TEST_CASE("rows of a --transpose result are its features, in any order") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "g.csv", "gene,s1,s2,s3\ng1,1,2,9\ng2,4,5,6\ng3,7,8,0\n");
  write_bytes(folder / "turned.csv", "gene,s1,s2,s3\ng3,7,8,0\ng1,1,2,9\ng2,4,5,6\n");
  write_bytes(folder / "other.csv", "gene,s1,s2,s3\ng3,7,8,0\ng1,1,2,9\ng4,4,5,6\n");
  const Outcome fitted =
      done({"cluster", "g.csv", "-k", "2", "--transpose", "--id-column", "gene", "-o", "g.h5"}, there);
  CHECK(fitted.says("next       kith assign g.csv --centroids g.h5"));
  const std::string expected = done({"assign", "g.csv", "--centroids", "g.h5", "-o", "-"}, there).out;
  // The points have the names of the columns that they are.
  done({"cluster", "g.csv", "-k", "2", "--transpose", "--id-column", "gene", "-o", "labels.csv"}, there);
  CHECK(bytes_of(folder / "labels.csv").starts_with("id,label\ns1,"));
  CHECK(done({"knn", "g.csv", "-k", "1", "--transpose", "--id-column", "gene"}, there).out.starts_with("s1\ts2\t"));
  CHECK(std::count(expected.begin(), expected.end(), '\n') == 3);
  CHECK(expected[0] != expected[4]);
  for (const Words& more : {Words{}, Words{"--transpose", "--id-column", "gene"}}) {
    Words words{"assign", "turned.csv", "--centroids", "g.h5", "-o", "-"};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(done(words, there).out == expected);
  }
  refuses(3, {"assign", "other.csv", "--centroids", "g.h5"}, {"expected a column 'g2'", "g4"}, there);
}

TEST_CASE("a file whose name has a line end is named as a word of a shell") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "it's\nnew.csv", "x,y\n1,2\n3,4\n50,60\n51,62\n");
  const Outcome run = done({"cluster", "it's\nnew.csv", "-k", "2", "-o", "r.h5"}, there);
  const std::string word = R"($'it\047s\nnew.csv')";
  CHECK(run.says("next       kith assign " + word + " --centroids r.h5"));
  Setting shell = there;
  shell.program = "/bin/bash";
  CHECK(run_kith({"-c", std::string(KITH_BINARY) + " assign " + word + " --centroids r.h5 -q -o -"}, shell).out ==
        done({"assign", "it's\nnew.csv", "--centroids", "r.h5", "-o", "-"}, there).out);
  // A name in brackets is no list of names.
  refuses(3, {"cluster", "[]", "-k", "2"}, {"[]: expected a pattern of names of files, found no file"}, there);
  write_bytes(folder / "[x]", "x,y\n1,2\n3,4\n50,60\n51,62\n");
  done({"cluster", "[x]", "-k", "2"}, there);
}

TEST_CASE("what a table says besides its numbers is warned of, with the command that heeds it") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto warns = [&](const std::string& table, const Words& options, const std::string& text) {
    INFO(table);
    write_bytes(folder / "t.csv", table);
    const Outcome ran = done(plus({"cluster", "t.csv", "-k", "1", "-q"}, options), there);
    if (text.empty()) CHECK(ran.err == "");
    CHECK(ran.says(text));
    return ran;
  };
  // The side of the equator and of Greenwich in columns of their own, of which the 26th row has the first S.
  std::string places = "lat,ns,lon,ew\n", north = "lat,ns,lon,ew\n";
  for (int i = 0; i < 30; ++i) {
    const std::string number = std::to_string(i % 5 + 1) + ".5,";
    places += number + (i == 25 ? "S," : "N,") + number + "W\n";
    north += number + "N," + number + "E\n";
  }
  const Words drop{"--drop-columns", "ns,ew"};
  convert(warns(places, drop, "line 2, column 4 ('ew'): 'W' stands beside degrees without a sign"), "t.csv", there);
  CHECK(mean_of("OUT", there, drop).front() == Approx((30 * 3.5 - 2 * 1.5) / 30));
  CHECK(mean_of("OUT", there, drop).back() == Approx(-3.5));
  warns(north, drop, "");
  warns(bytes_of(folder / "OUT"), drop, "");
  warns("size,side\n1.5,S\n2.5,N\n", {"--drop-columns", "side"}, "");
  // Sums and means in a last row without a name, or of numbers alone.
  const std::string rows = "name,x,y\na,1,2.5\nb,2,3.5\nc,4,3\nd,5,5\n";
  const Words names{"--drop-columns", "name"};
  for (const std::string last : {",12,14", ",12,0.5", ",3,3.5"}) {
    const Outcome warned = warns(rows + last + "\n", names, "has the sums or means of the rows above it");
    convert(warned, "t.csv", there);
    CHECK(mean_of("OUT", there, names) == std::vector<double>{3, 3.5});
  }
  warns(rows + ",3,4\n", names, "");
  warns(rows + "e,12,14\n", names, "");
  warns("x,y\n1,2\n2,3\n3,5\n4,1\n10,11\n", {}, "has the sums or means");
  warns("x,y\n1,2\n2,3\n3,5\n4,1\n10,12\n", {}, "");
  convert(
      warns("g1,5\ng2,7\ng3,1\ng4,2\n__no_feature,900\n__ambiguous,50\n", {"--drop-columns", "1"}, "'__no_feature'"),
      "t.csv", there);
  CHECK(mean_of("OUT", there, {"--drop-columns", "1"}) == std::vector<double>{3.75});
  // A second line of names.
  for (const std::string line : {"1,2,3", "(1),(2),(3)", ",2019,2020"}) {
    const std::string table = "region,x,y\n" + line + "\na,5,7.5\nb,6,1.5\nc,9,2.5\nd,4,4.5\n";
    convert(warns(table, {"--drop-columns", "region"}, "line 2, '" + line + "', was read as a row"), "t.csv", there);
    CHECK(mean_of("OUT", there, {"--drop-columns", "region"}) == std::vector<double>{6, 4});
  }
  warns("x,y,z\n1,2,3\n2,3,4\n3,4,5\n4,5,6\n", {}, "");
  write_bytes(folder / "t.csv", "gene,0,0.5,1,10\ng1,3,5.5,7,1\ng2,4,2,6,3\ng3,1,9,2,20\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"beside a text unlike those below", "--header yes or --header no"},
          there);
  // Codes that look like numbers.
  warns("zip,x\n01234,1\n10234,2\n", {}, "column 1 ('zip') holds numbers such as 01234");
  warns("zip,x\n01234,1\n10234,2\n", {"--drop-columns", "zip"}, "");
  warns("v,x\n00.5,1\n10.5,2\n", {}, "");
  warns("code,x\n10e4,1\n12,2\n", {}, "10e4 was read as a number");
  warns("code,x\n1e5,1\n12,2\n", {}, "");
}

TEST_CASE("texts that hold several tables, fixed columns or other marks are named with what reads them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  check_conversion(
      "# Created by Octave 8.4.0\n# name: s\n# type: scalar\n7\n\n\n# name: A\n# type: matrix\n# rows: 2\n# columns: "
      "2\n"
      " 1 2\n 3 4\n\n\n# name: B\n# type: matrix\n# rows: 1\n# columns: 2\n 8 9\n",
      there);
  check_conversion("\"a,b\"\n\"1.0,2\"\n\"3.0,4\"\n", there);
  write_bytes(folder / "t.gct", "#1.3\n2\t2\t0\t1\nid\ts1\ts2\ntype\tx\ty\ng1\t1\t2\ng2\t3\t4\n");
  convert(run_kith({"cluster", "t.gct", "-k", "1"}, there), "t.gct", there);
  CHECK(mean_of("OUT", there, {"--drop-columns", "id"}) == std::vector<double>{2, 3});
  check_conversion("x#y\n1#2\n3#4\n", there);
  check_conversion("x\u00a7y\n1\u00a72\n3\u00a74\n", there);
  write_bytes(folder / "t.csv", "x:y\n1:2\n3:4\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"if ':' separates columns, say --delimiter ':'"}, there);
  CHECK(mean_of("t.csv", there, {"--delimiter", ":"}) == std::vector<double>{2, 3});
  for (const std::string second : {"3   4 ", "    44"}) {
    write_bytes(folder / "t.csv", "x  yyy\n1   22\n" + second + "\n5   66\n7   88\n");
    const Outcome ran = run_kith({"cluster", "t.csv", "-k", "1"}, there);
    CHECK(ran.says("pandas.read_fwf('IN')") == (second[0] == ' '));
  }
}
