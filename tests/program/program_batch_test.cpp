// What scripts and workflows read: results that describe themselves, failures as objects.
#include <algorithm>
#include <cstdlib>

#include "tests/support/program.h"
#include "tests/support/result_values.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

nlohmann::json facts_of(const std::string& file) { return done({"info", file, "--json"}).json()["files"][0]["result"]; }

}  // namespace

TEST_CASE("info shows what each kind of result says") {
  const Scratch folder;
  const std::string out = folder / "out.h5";
  done({"cluster", kDigits, "-k", "10", "-o", out, "-q"});
  const nlohmann::json clusters = facts_of(out);
  CHECK(clusters["format"] == "kith-clusters");
  CHECK(clusters["command"].get<std::string>().starts_with("cluster digits.h5:/train --clusters 10"));
  CHECK(clusters["points_shape"] == nlohmann::json{1797, 64});
  CHECK(clusters["k"] == 10);
  CHECK(clusters["inertia"] == 1169531.744934875);
  CHECK(clusters["iterations"] == 24);
  CHECK(clusters["sizes"]["smallest"] == 86);
  CHECK(clusters["sizes"]["counts"].size() == 10);
  const std::string text = done({"info", out}).out;
  for (const char* line :
       {"\n  format          kith-clusters, version 1, of kith ", "\n  command         kith cluster ",
        "\n  metric          euclidean\n", "\n  k               10\n", "\n  inertia         1 169 532\n",
        "\n  iterations      24\n", "\n  sizes           86 to 347 rows, 0 empty: 153, 182,"}) {
    INFO(text << "expected: " << line);
    CHECK(text.find(line) != std::string::npos);
  }
  const auto of = [&](Words words) {
    words.insert(words.end(), {"-o", out, "-fq"});
    done(words);
    return facts_of(out);
  };
  CHECK(of({"knn", kDigits, "-k", "3"})["k"] == 3);
  CHECK(of({"sweep", kDigits, "-k", "2-4", "--n-init", "2"})["k"] == nlohmann::json{2, 3, 4});
  CHECK(of({"dbscan", kDigits, "--radius", "20"})["noise"] == 464);
  CHECK(of({"knn", kDigits, "-k", "5", "--symmetric", "--components"})["sizes"]["counts"] == nlohmann::json{1770, 27});
  CHECK(of({"evaluate", kDigits + ":/labels", "--truth", kDigits + ":/labels"})["purity"] == 1);
  CHECK_FALSE(done({"info", kDigits, "--json"}).json()["files"][0].contains("result"));
}

TEST_CASE("with --json a failure is an object on standard output") {
  const Scratch folder;
  const std::string none = folder / "none.h5";
  const Outcome missing = run_kith({"cluster", none, "-k", "2", "--json"});
  CHECK(missing.code == 3);
  const nlohmann::json error = missing.json()["error"];
  CHECK(missing.json()["command"] == "cluster");
  CHECK(error["code"] == 3);
  CHECK(error["file"] == none);
  CHECK(error["remedy"] == "check the name and the directory");
  CHECK(missing.err == "kith: " + error["message"].get<std::string>() + "\n");
  const Outcome usage = run_kith({"knn", kDigits, "--json", "--neighbours", "3"});
  CHECK(usage.json()["error"]["code"] == 2);
  CHECK(usage.json()["error"]["file"].is_null());
  const Outcome setting = run_kith({"cluster", none, "-k", "2"}, {.environment = {"KITH_JSON=true"}});
  CHECK(setting.json()["error"]["code"] == 3);
  const Outcome some = run_kith({"info", none, kDigits, "--json"});
  CHECK(some.code == 3);
  CHECK(some.json()["files"].size() == 1);
  CHECK(some.json()["errors"][0]["file"] == none);
}

TEST_CASE("-o - writes labels alone to standard output, one per line") {
  const Scratch folder;
  write_bytes(folder / "x.csv", "a,b\n0,0\n9,9\nNA,1\n0,1\n");
  write_bytes(folder / "c.csv", "a,b\n0,0\n9,9\n");
  const Words start{"--init", folder / "c.csv", "-o", "-"};
  const auto with = [&](Words words) {
    words.insert(words.end(), start.begin(), start.end());
    return words;
  };
  const Outcome labels = done(with({"cluster", folder / "x.csv", "--nan", "drop"}));
  CHECK(labels.out == "0\n1\n-1\n0\n");
  CHECK(labels.says("result     standard output"));
  CHECK(files_in(folder) == Words{"c.csv", "x.csv"});
  CHECK(done({"assign", folder / "c.csv", "--centroids", folder / "c.csv", "-o", "-", "-q"}).out == "0\n1\n");
  CHECK(done({"dbscan", folder / "c.csv", "--radius", "1", "--min-points", "1", "-o", "-", "-q"}).out == "0\n1\n");
  refuses(2, with({"cluster", folder / "c.csv", "--explain"}), {"--output - cannot be combined with --explain"});
  CHECK(run_kith(with({"cluster", folder / "c.csv", "--json"})).json()["error"]["code"] == 2);
  refuses(2, with({"cluster", folder / "c.csv", "--write-obs", "k"}), {"give -o COPY.h5ad"});
  refuses(5, {"knn", folder / "c.csv", "-k", "1", "-o", "-"}, {"expected a file name, found standard output"});
}

TEST_CASE("lists, pairs, components and distances as CSV and as NumPy arrays") {
  const Scratch folder;
  write_bytes(folder / "x.csv", "name,a\nP,0\nQ,1\n\"R,S\",3\nT,9\n");
  const auto written = [&](Words words, const std::string& ending) {
    const std::string out = folder / ("out" + ending);
    words.insert(words.begin() + 1, folder / "x.csv");
    words.insert(words.end(), {"-o", out, "-fq"});
    done(words);
    return bytes_of(out);
  };
  const Words ids{"--id-column", "name"}, columns{"--columns", "a"};
  const auto plus = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  CHECK(written(plus({"knn", "-k", "1"}, ids), ".csv") ==
        "query,neighbor,distance\nP,Q,1\nQ,P,1\n\"R,S\",Q,2\nT,\"R,S\",6\n");
  CHECK(written(plus({"knn", "--radius", "2"}, columns), ".csv") ==
        "source,target,distance\n0,1,1\n1,0,1\n1,2,2\n2,1,2\n");
  CHECK(written(plus({"knn", "--radius", "2", "--components"}, ids), ".csv") ==
        "name,component,keep\nP,P,1\nQ,P,0\n\"R,S\",P,0\nT,T,1\n");
  CHECK(written(plus({"distances"}, columns), ".csv") == "0,1,3,9\n1,0,2,8\n3,2,0,6\n9,8,6,0\n");

  const auto array = [](const std::string& bytes, const std::string& head, const std::string& values) {
    const std::size_t begin = 10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
    INFO(bytes.substr(10, begin - 10));
    CHECK(begin % 64 == 0);
    CHECK(bytes.starts_with(std::string("\x93NUMPY\x01\0", 8)));
    CHECK(bytes.substr(10).starts_with(head));
    CHECK(bytes.substr(begin) == values);
  };
  const auto bytes = [](auto... values) {
    std::string out;
    (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    return out;
  };
  using Row = std::int64_t;
  array(written(plus({"knn", "-k", "1", "--precision", "f32"}, columns), ".npy"),
        "{'descr': [('neighbor', '<i8'), ('distance', '<f4')], 'fortran_order': False, 'shape': (4, 1), }",
        bytes(Row{1}, 1.0F, Row{0}, 1.0F, Row{1}, 2.0F, Row{2}, 6.0F));
  array(
      written(plus({"knn", "--radius", "2", "--precision", "f64"}, columns), ".npy"),
      "{'descr': [('source', '<i8'), ('target', '<i8'), ('distance', '<f8')], 'fortran_order': False, 'shape': (4,), }",
      bytes(Row{0}, Row{1}, 1.0, Row{1}, Row{0}, 1.0, Row{1}, Row{2}, 2.0, Row{2}, Row{1}, 2.0));
  array(written(plus({"knn", "--radius", "2", "--components"}, columns), ".npy"),
        "{'descr': [('component', '<i8'), ('keep', '|b1')], 'fortran_order': False, 'shape': (4,), }",
        bytes(Row{0}, true, Row{0}, false, Row{0}, false, Row{3}, true));
  array(written(plus({"distances", "--precision", "f32"}, columns), ".npy"),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }",
        bytes(0.0F, 1.0F, 3.0F, 9.0F, 1.0F, 0.0F, 2.0F, 8.0F, 3.0F, 2.0F, 0.0F, 6.0F, 9.0F, 8.0F, 6.0F, 0.0F));
}

TEST_CASE("graphs as MatrixMarket and as SciPy's archive") {
  const Scratch folder;
  write_bytes(folder / "x.csv", "a\n0\n1\n3\n9\n");
  const Words words{"knn", folder / "x.csv", "--radius", "2", "-q", "-o"};
  const auto write = [&](const std::string& name, const Words& more = {}) {
    Words all = words;
    all.push_back(folder / name);
    all.insert(all.end(), more.begin(), more.end());
    done(all);
    return bytes_of(folder / name);
  };
  CHECK(write("g.mtx") == "%%MatrixMarket matrix coordinate real general\n4 4 4\n1 2 1\n2 1 1\n2 3 2\n3 2 2\n");
  write("g.npz");
  const nlohmann::json listed = run_kith({"info", folder / "g.npz", "--json", "--stats"}).json();
  const nlohmann::json matrix = listed["files"][0]["datasets"][0];
  CHECK(matrix["shape"] == nlohmann::json({4, 4}));
  CHECK(matrix["layout"] == "sparse by rows");
  std::vector<double> means;  // of the columns
  for (const auto& column : matrix["statistics"]) means.push_back(column["mean"]);
  CHECK(means == std::vector<double>{0.25, 0.75, 0.5, 0});
}

TEST_CASE("results name their inputs, and info --fresh compares them and the options") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "in");
  const std::string points = folder / "in/x.csv", out = folder / "out.h5";
  write_bytes(points, "a\n0\n1\n8\n9\n");
  const Words job{"cluster", points, "-k", "2", "-o", out, "-q"};
  done(job);
  const nlohmann::json inputs = facts_of(out)["inputs"];
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].get<std::string>().ends_with(" 10 x.csv"));
  const Words plain{"info", out, "--fresh"};
  const auto with = [&](const std::string& command) { return Words{"info", out, "--fresh", "--command", command}; };
  const auto stale = [](const Words& words, const std::string& reason) {
    const Outcome outcome = run_kith(words);
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.says(reason));
  };
  stale(plain,
        "not fresh: its input x.csv is not in its folder, and kith opens files elsewhere only if they are named");
  stale(plain, "kith info --fresh " + out + " --inputs FOLDER");
  for (const std::string& place : {folder / "in", points, (folder / "in") + "," + kDigits}) {
    CHECK(done({"info", out, "--fresh", "--inputs", place}).err.empty());
  }
  // The advice, where the input is in the current folder.
  const Setting there{.folder = folder / "in"};
  CHECK(run_kith(plain, there).says("kith info --fresh " + out + " --inputs x.csv"));
  CHECK(done({"info", "--fresh", out, "--inputs", "x.csv"}, there).err.empty());
  stale({"info", out, "--fresh", "--inputs", kDigits}, "its input x.csv is not in its folder");
  refuses(2, {"info", out, "--fresh", "--inputs", folder / "none"},
          {"--inputs: expected files and folders that exist"});
  refuses(2, {"info", out, "--inputs", points}, {"--inputs needs --fresh"});
  refuses(2, {"info", out, "--fresh", "--inputs", points, "--command", "cluster"}, {"cannot be combined"});
  done(with("cluster '" + points + "' -k 2"));
  done(with("kith cluster \"" + points + "\" --clusters 2 --threads 1"));
  stale(with("cluster " + points + " -k 3"), "not fresh: its command was `cluster x.csv --clusters 2");
  refuses(2, with("devices"), {"--command 'devices': expected a command that writes results"});
  refuses(2, {"info", out, "--command", "cluster"}, {"--command needs --fresh"});
  write_bytes(points, "a\n0\n1\n7\n9\n");
  stale(with("cluster " + points + " -k 2"), "not fresh: the input x.csv has changed");
  const Outcome json = run_kith({"info", out, "--fresh", "--inputs", folder / "in", "--json"});
  CHECK(json.code == 1);
  CHECK(json.json()["files"][0]["fresh"] == false);
  CHECK(json.json()["files"][0]["reason"] == "the input x.csv has changed");
  stale({"info", folder / "none.h5", "--fresh"}, "not fresh: there is no such file");
  refuses(3, {"info", points, "--fresh"}, {"expected a result of kith"});
}

TEST_CASE("a resumed run names the inputs of the whole run") {
  const Scratch folder;
  const auto run = [&](const std::string& out, const Words& more) {
    Words words{"cluster", kDigits, "-k", "10", "-q", "-o", folder / out};
    words.insert(words.end(), more.begin(), more.end());
    done(words);
  };
  run("part.h5", {"--max-iterations", "3"});
  run("more.h5", {"--init", folder / "part.h5", "--max-iterations", "3"});
  run("whole.h5", {"--max-iterations", "6"});
  CHECK(bytes_of(folder / "more.h5") == bytes_of(folder / "whole.h5"));
  run("from.h5", {"--init", folder / "whole.h5", "--tolerance", "0"});
  CHECK(facts_of(folder / "from.h5")["inputs"].size() == 2);
}

TEST_CASE("table: a row for each result; --json-file: the report beside the result") {
  const Scratch folder;
  const std::string a = folder / "a,1.h5", b = folder / "b.h5", json = folder / "a.json";
  const Outcome run = done({"cluster", kDigits, "-k", "10", "-o", a, "--json-file", json, "--json", "-q"});
  CHECK(nlohmann::json::parse(bytes_of(json)) == run.json());
  refuses(5, {"cluster", kDigits, "-k", "3", "-q", "--json-file", json}, {"a.json: exists"});
  refuses(5, {"cluster", kDigits, "-k", "3", "-qf", "--json-file", kDigits}, {"is the input"});
  const std::string both = folder / "both";  // an ending would show the format
  refuses(2, {"cluster", kDigits, "-k", "3", "-f", "-o", both, "--json-file", both}, {"expected another name"});
  done({"evaluate", a, "--truth", kDigits + ":/labels", "-o", b, "-q"});
  const std::string table = done({"table", a, b}).out;
  const std::string head = table.substr(0, table.find('\n'));
  CHECK(head.starts_with("file,format,kith_version,command,points,rows,columns,class,metric,k,"));
  CHECK(head.find(",inertia,") != std::string::npos);
  CHECK(head.find(",adjusted_rand_index") != std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
  CHECK(table.find("\n\"" + a + "\",kith-clusters,") != std::string::npos);
  CHECK(table.find(",digits.h5:/train,1797,64,f32,euclidean,10,") != std::string::npos);
  CHECK(table.find(",1169531.744934875,") != std::string::npos);
  CHECK(table.find(",86,347,0") != std::string::npos);
  const nlohmann::json rows = done({"table", a, b, "--json"}).json()["rows"];
  CHECK(rows[0]["inertia"] == 1169531.744934875);
  CHECK(rows[1]["rows"] == 1797);
  refuses(3, {"table", kDigits}, {"expected a result of kith"});
  refuses(3, {"table", folder / ""}, {"expected a result of kith, found a directory"});
  const std::string endless = folder / std::string(300, 'a');  // longer than names of files may be
  for (Words words : {Words{"table"}, {"info", "--fresh"}, {"report"}}) {
    words.push_back(endless);
    refuses(3, words, {"cannot be opened: File name too long"});
  }
  refuses(2, {"cluster", kDigits, "-k", "3", "--init", endless}, {"neither a rule nor an existing file"});
}

TEST_CASE("the shell loop, the Makefile and the workflow of docs/batch.md do the same, and once") {
  const std::string page = bytes_of(std::string(KITH_SOURCE_DIR) + "/docs/batch.md");
  const auto block = [&](const std::string& kind, const std::string& title) {
    const std::size_t begin = page.find("```" + kind + "\n", page.find("## " + title)) + kind.size() + 4;
    return page.substr(begin, page.find("```", begin) - begin);
  };
  const std::string path = std::filesystem::path(KITH_BINARY).parent_path().string();
  const auto prepare = [&](const Scratch& folder) {
    std::filesystem::create_directory(folder / "in");
    for (const char* seed : {"1", "2"}) {
      const std::string points = folder / "points.h5";
      done({"generate", points, "-n", "60", "-d", "2", "-k", "3", "--seed", seed, "-fq"});
      std::string text = "x,y\n";
      const std::vector<double> read = values(points + ":/points");
      for (std::size_t i = 0; i < read.size(); i += 2) {
        text += std::to_string(read[i]) + "," + std::to_string(read[i + 1]) + "\n";
      }
      write_bytes(folder / (std::string("in/") + seed + ".csv"), text);
    }
    std::filesystem::remove(folder / "points.h5");
  };
  const auto run = [&](const Scratch& folder, const std::string& command) {
    const std::string line = "cd '" + (folder / "") + "' && PATH='" + path + "':$PATH " + command + " > log 2>&1";
    const int code = std::system(line.c_str());
    INFO(bytes_of(folder / "log"));
    REQUIRE(code == 0);
  };
  const Scratch looped, made;
  prepare(looped);
  write_bytes(looped / "job.sh", block("sh", "A shell loop"));
  run(looped, "sh job.sh");
  const std::string table = bytes_of(looped / "clusters.csv"), scores = bytes_of(looped / "scores.csv");
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
  CHECK(scores.find("davies_bouldin") != std::string::npos);
  const auto written = [&] { return std::filesystem::last_write_time(looped / "out/1.h5"); };
  const auto first = written();
  run(looped, "sh job.sh");
  CHECK(written() == first);
  if (std::system("make --version > /dev/null 2>&1") != 0) {
    skipped("the Makefile, since make is not installed");
    return;
  }
  prepare(made);
  write_bytes(made / "Makefile", block("make", "A Makefile"));
  run(made, "make");
  CHECK(bytes_of(made / "clusters.csv") == table);
  CHECK(bytes_of(made / "scores.csv") == scores);
  run(made, "make -q");
  if (std::system("snakemake --version > /dev/null 2>&1") != 0) {
    skipped("the workflow, since snakemake is not installed");
    return;
  }
  const Scratch snake;
  prepare(snake);
  write_bytes(snake / "Snakefile", block("python", "A Snakemake workflow"));
  run(snake, "snakemake --cores 1");
  CHECK(bytes_of(snake / "clusters.csv") == table);
  CHECK(bytes_of(snake / "scores.csv") == scores);
}
