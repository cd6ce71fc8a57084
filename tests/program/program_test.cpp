// The program as a user meets it: commands, messages, exit codes, streams, signals.
#include "tests/support/program.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "app/cli/selftest.h"
#include "tests/support/result_values.h"

#if defined(__SSE2__)
#include <pmmintrin.h>
#endif

using namespace kith::testing;

/// A command line with more words.
static Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("kith alone prints four lines, --help the commands, --version the version") {
  const Outcome bare = run_kith({});
  CHECK(bare.code == 0);
  CHECK(bare.err.empty());
  CHECK(std::count(bare.out.begin(), bare.out.end(), '\n') == 4);
  const std::string help = done({"--help"}).out;
  for (const char* command : {"cluster", "assign", "knn", "distances", "info", "devices", "generate", "bench"}) {
    CHECK(help.find(std::string("\n  ") + command + " ") != std::string::npos);
  }
  // The commands that it proposes run.
  const Scratch folder;
  std::string rows = "a,b\n";
  for (int i = 0; i < 20; ++i) rows += std::to_string(i * i % 7) + "," + std::to_string(i) + "\n";
  write_bytes(folder / "points.csv", rows);
  int proposed = 0;
  std::istringstream lines(bare.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  kith ")) continue;
    Words words;
    std::istringstream text(line.substr(7, line.find_first_of(";", 7) - 7));
    for (std::string word; text >> word;) {
      words.push_back(word.ends_with(".csv") ? folder / word : word);
      if (word == "--help" || (words.size() > 2 && words[words.size() - 2] == "-o")) break;
    }
    INFO(line);
    done(words);
    ++proposed;
  }
  CHECK(proposed == 3);
  CHECK(done({"--version"}).out.rfind("kith ", 0) == 0);
}

TEST_CASE("kith --version --verbose adds how the program was built") {
  const std::string version = done({"--version"}).out, page = done({"--version", "--verbose"}).out;
  CHECK(page.starts_with(version));
  CHECK(std::regex_search(page, std::regex("\n  commit +([0-9a-f]{12}( with changes)?|unknown)")));
  CHECK(std::regex_search(page, std::regex("\n  compiler +(GNU|Clang) [0-9.]+, [A-Za-z]+, ")));
  CHECK(std::regex_search(unwrapped(page),
                          std::regex("libraries +HDF5 [0-9.]+, zlib [0-9.]+, .*nlohmann-json [0-9.]+ ")));
  CHECK(std::regex_search(page, std::regex("\n  instructions .*plain\n")));
  CHECK(std::regex_search(page, std::regex("\n  Arrow +(the program kith-arrow|Arrow [0-9.]+, in the program)")));
  CHECK(
      std::regex_search(page, std::regex("\n  CUDA +(built without CUDA|CUDA [0-9.]+, for the architectures [0-9])")));
}

TEST_CASE("result files of version 0.1 are read") {
  const Scratch folder;
  const std::string old = std::string(KITH_SOURCE_DIR) + "/tests/data/v0.1/", points = old + "points.csv";
  const Words three{"--drop-columns", "kind", "-q"};
  for (const char* name : {"clusters", "stopped", "labels", "neighbors", "sweep", "dbscan", "evaluation"}) {
    INFO(name);
    done({"info", old + name + ".h5", "--verify"});
  }
  done(plus({"assign", points, "--centroids", old + "clusters.h5", "-o", folder / "labels.h5"}, three));
  CHECK(values(folder / "labels.h5:/labels") == values(old + "clusters.h5:/labels"));
  CHECK(values(old + "labels.h5:/labels") == values(old + "clusters.h5:/labels"));
  CHECK(done(plus({"knn", points, "-k", "5", "--truth", old + "neighbors.h5"}, {"--drop-columns", "kind"})).code == 0);
  for (const char* labels : {"clusters.h5", "dbscan.h5"}) {
    const auto report = done({"evaluate", old + labels, "--truth", points + ":kind", "--json"}).json();
    CHECK(report.dump().find("adjusted_rand_index") != std::string::npos);
  }
  done({"report", old + "sweep.h5", "-o", folder / "sweep.html", "-q"});
  // A run that the old version stopped continues to the result of a whole one.
  const Words four = plus({"cluster", points, "--scale", "zscore"}, three);
  done(plus(four, {"--init", old + "stopped.h5", "-o", folder / "resumed.h5"}));
  done(plus(four, {"-k", "4", "--init", "first", "-o", folder / "whole.h5"}));
  for (const char* dataset : {":/labels", ":/centroids", ":/iteration_inertia"}) {
    CHECK(values(folder / "resumed.h5" + dataset) == values(folder / "whole.h5" + dataset));
  }
}

TEST_CASE("checkpoints of version 0.1 continue to the result of a whole run") {
  const Scratch folder;
  const std::string old = std::string(KITH_SOURCE_DIR) + "/tests/data/v0.1/";
  for (const char* name : {"points.csv", "cluster.kith", "sweep.kith", "knn.kith"}) {
    std::filesystem::copy_file(old + name, folder / name);
  }
  const auto run = [&](const std::string& words) {
    return std::system(
        ("cd '" + (folder / "") + "' && '" KITH_BINARY "' " + words + " --drop-columns kind -q").c_str());
  };
  for (const std::string command : {"cluster points.csv -k 4 --init first", "sweep points.csv -k 2-5 --n-init 2",
                                    "knn points.csv -k 5 --block-rows 4"}) {
    const std::string name = command.substr(0, command.find(' '));
    INFO(name);
    // The copies of the points and of the checkpoint are not the files of that run, but have their bytes.
    const std::string continued = " -o continued.h5 -f --same-inputs --checkpoint " + name + ".kith";
    CHECK(run(command + " -o refused.h5 --checkpoint " + name + ".kith 2> said") != 0);
    CHECK(run(command + continued) == 0);
    CHECK_FALSE(std::filesystem::exists(folder / (name + ".kith")));  // used, and removed
    CHECK(run(command + " -o whole.h5 -f") == 0);
    CHECK(bytes_of(folder / "continued.h5") == bytes_of(folder / "whole.h5"));
  }
}

TEST_CASE("the help of a command opens with examples and shows defaults") {
  for (const char* command :
       {"cluster", "assign", "knn", "distances", "info", "devices", "generate", "resume", "bench"}) {
    const Outcome help = done({command, "--help"});
    CHECK(help.err.empty());
    CHECK(help.out.find("Examples:\n  kith " + std::string(command)) < help.out.find("Usage:"));
    CHECK(done({"help", command}).out == help.out);
  }
  const std::string cluster = done({"cluster", "-h"}).out;
  for (const char* text : {"[300]", "[0.0001]", "[k-means++; k-means|| for many rows and clusters]", "[auto]"})
    CHECK(unwrapped(cluster).find(text) != std::string::npos);
}

TEST_CASE("41: a bad value far behind is refused while a backend takes the rows before it") {
  const Scratch folder;
  write_bytes(folder / "text.h5", "a,b\n1,x\n");
  refuses(3, {"cluster", folder / "text.h5", "-k", "1"}, {"text.h5", "found text in column 2 ('b')"});

  // In the middle of a long reading, beside which a backend is opened and takes the rows before.
  std::vector<float> values(400'000 * 17, 1.0F);
  values[390'000 * 17 + 5] = NAN;
  FileMaker(folder / "late.h5").floats("x", {400'000, 17}, values);
  for (const std::string& backend : usable_backends()) {
    refuses(3, {"cluster", folder / "late.h5", "-k", "2", "-o", folder / "out.h5", "--backend", backend},
            {"late.h5:/x: row 390001, column 6", "found NaN"});
  }
  refuses(4, {"cluster", folder / "late.h5", "-k", "2", "--backend", "cuda", "--device", "1023"}, {"--backend cuda: "});
  CHECK(files_in(folder) == Words{"late.h5", "text.h5"});
}

TEST_CASE("info walks paths as the other commands do, and goes on after a bad file") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  {
    FileMaker maker(file);
    maker.group("group");
    maker.group("empty");
    maker.floats("points", {2, 2}, {1, 2, 3, 4});
    maker.floats("group/inner", {1, 3}, {1, 2, 3});
    H5Lcreate_soft("/group/inner", maker.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/group", maker.id(), "soft_group", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", maker.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
  }
  const auto shows = [&](const std::string& path, const std::string& dataset) {
    const std::string out = done({"info", file + ":" + path}).out;
    INFO(path << "\n" << out);
    CHECK(out.find("\n  " + dataset + " ") != std::string::npos);
    CHECK(out.find("/points") == (dataset == "/points" ? out.find(dataset) : std::string::npos));
  };
  for (const char* path : {"/points", "points", "points/", "//points"}) shows(path, "/points");
  for (const char* path : {"group", "/group/", "soft_group", "group/inner"}) shows(path, "/group/inner");
  shows("soft", "/soft");
  refuses(3, {"info", file + ":nothing"}, {"'nothing' is not in /, which holds", "points"});
  refuses(3, {"info", file + ":empty"},
          {"expected a dataset or a group with datasets, found neither; the file holds /group/inner"});
  CHECK(done({"info", file}).out.find("  /outside: is an external link to other.h5:/x") != std::string::npos);

  const Outcome several = run_kith({"info", folder / "none.h5", file, file + ":nothing", kDigits});
  CHECK(several.code == 3);
  CHECK(several.says("none.h5: no such file"));
  CHECK(several.says("'nothing' is not in"));
  CHECK(several.out.find("/group/inner") < several.out.find("/train"));
  const Outcome json = run_kith({"info", folder / "none.h5", kDigits, "--json"});
  CHECK(json.code == 3);
  CHECK(json.json()["files"].size() == 1);
}

TEST_CASE("control characters in names are shown, not sent to the terminal") {
  const Scratch folder;
  const std::string file = folder / "x.h5";
  FileMaker(file).floats("a\x1b[31m\nb\xc2\x9b", {2, 2}, {1, 2, NAN, 4});
  const Outcome table = done({"info", file, "--stats"});
  CHECK(table.out.find("/a\\x1b[31m\\nb\\x9b") != std::string::npos);
  CHECK(table.out.find('\x1b') == std::string::npos);
  refuses(3, {"cluster", file, "-k", "2"}, {"x.h5:/a\\x1b[31m\\nb\\x9b: row 2"});
}

TEST_CASE("79, 80, 81: outputs that may not be written are refused before the work") {
  const Scratch folder;
  const std::string out = folder / "out.h5";
  const auto run = [&](const std::string& target, Words more = {}) {
    more.insert(more.begin(), {"cluster", kDigits, "-k", "3", "-q", "-o", target});
    return more;
  };
  done(run(out));
  const std::string before = bytes_of(out);
  refuses(5, run(out), {out, "--force"});
  CHECK(bytes_of(out) == before);
  done(run(out, {"--force", "--seed", "0"}));
  CHECK(bytes_of(out) == before);

  const std::string copy = folder / "copy.h5";
  std::filesystem::copy_file(kDigits, copy);
  refuses(5, {"cluster", copy, "-k", "3", "-o", copy, "--force"}, {copy, "input"});
  std::filesystem::create_hard_link(copy, folder / "link.h5");
  refuses(5, {"cluster", copy, "-k", "3", "-o", folder / "link.h5", "--force"}, {"input"});
  CHECK(bytes_of(copy) == bytes_of(kDigits));

  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read);
  if (geteuid() != 0) refuses(5, run(folder / "locked/out.h5"), {"locked"});
  CHECK(files_in(folder) == Words{"copy.h5", "link.h5", "locked", "out.h5"});
}

TEST_CASE("generate: float64 holds what float32 cannot") {
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "10", "--offset", "1e39", "--type", "float64", "-q"});
  CHECK(files_in(folder) == Words{"x.h5"});
}

TEST_CASE("data goes to standard output, talk to standard error") {
  const Scratch folder;
  const Outcome table = done({"cluster", kDigits, "-k", "10"});
  CHECK(table.out.find("cluster") < table.out.find("inertia"));
  for (const char* text : {"backend ", "clusters ", "inertia ", "iterations ", "seed "}) CHECK(table.says(text));
  const Outcome quiet = done({"cluster", kDigits, "-k", "10", "--quiet"});
  CHECK(quiet.err.empty());
  CHECK(quiet.out == table.out);
  const Outcome written = done({"cluster", kDigits, "-k", "10", "-o", folder / "c.h5"});
  CHECK(written.out.empty());
  CHECK(written.says("kith assign " + std::string(kDigits)));
  CHECK(written.says("--centroids " + (folder / "c.h5")));
  CHECK(written.err.find('\033') == std::string::npos);
}

TEST_CASE("--json prints the report and nothing else") {
  const Scratch folder;
  const std::string out = folder / "c.h5";
  const auto report = done({"cluster", kDigits + ":/train", "-k", "10", "--max-iterations", "7", "--tolerance", "0",
                            "-o", out, "--backend", "cpu", "--json", "--force", "--quiet", "--threads", "2"})
                          .json();
  CHECK(report["command"] == "cluster");
  CHECK(report["backend"] == "cpu");
  CHECK(report["threads"] == 2);
  CHECK(report["points"]["rows"] == 1797);
  CHECK(report["points"]["columns"] == 64);
  CHECK(report["points"]["type"] == "uint8");
  CHECK(report["points"]["kept_as_bytes"] == true);
  CHECK(report["iterations"].size() == 7);
  CHECK(report["iterations"][0]["changed"] == 1797);
  CHECK(report["stopped_by"] == "max-iterations");
  CHECK(report["output"] == out);
  CHECK(report["warnings"].size() == 1);
  CHECK(report["memory"]["host"] > 1000000);
  CHECK(report["memory"]["device"] == 0);
  std::vector<std::string> phases;
  for (const auto& phase : report["phases"]) {
    phases.push_back(phase["name"]);
    CHECK(phase["seconds"] >= 0.0);
  }
  CHECK(phases == Words{"open", "read", "prepare", "seed", "iterate", "assign", "write"});
}

TEST_CASE("63: a named backend never falls back, --verbose names the backends that auto did not use") {
  const Words usable = usable_backends();
  if (std::find(usable.begin(), usable.end(), "cuda") == usable.end()) {
    refuses(4, {"cluster", kDigits, "-k", "3", "--backend", "cuda"}, {"--backend cuda: "});
    CHECK(done({"cluster", kDigits, "-k", "3", "-v"}).says("backend: cpu (opening a GPU alone takes"));
    // Many runs are worth a GPU, so that kith asks for one.
    CHECK(done({"plan", "cluster", kDigits, "-k", "1000", "--n-init", "1000", "-v"}).says("not used   cuda: "));
  } else {
    refuses(4, {"cluster", kDigits, "-k", "3", "--backend", "cuda", "--device", "1023"}, {"--backend cuda: ", "1023"});
  }
}

TEST_CASE("63: a device or a screen that is named is used or refused, never replaced") {
  const Words usable = usable_backends();
  const bool has_gpu = std::find(usable.begin(), usable.end(), "cuda") != usable.end();
  const Scratch folder;
  done({"cluster", kDigits, "-k", "3", "-q", "-o", folder / "c.h5"});
  const std::string result = folder / "c.h5", missing = has_gpu ? "1023" : "7";
  for (const Words& command :
       {Words{"cluster", kDigits, "-k", "3"}, Words{"plan", "cluster", kDigits, "-k", "3"},
        Words{"cluster", kDigits, "-k", "3", "--dry-run"}, Words{"sweep", kDigits, "-k", "2-3"},
        Words{"assign", kDigits, "--centroids", result}, Words{"knn", kDigits, "-k", "1"}, Words{"distances", result},
        Words{"evaluate", result, "--points", kDigits}, Words{"bench", "limits"}}) {
    INFO(nlohmann::json(command).dump());
    refuses(4, plus(command, Words{"--device", missing}), {"--device " + missing + ": cuda: ", "another backend"});
    refuses(4, command, {"KITH_DEVICE=" + missing + ": cuda: "}, {.environment = {"KITH_DEVICE=" + missing}});
  }
  const Words run{"cluster", kDigits, "-k", "3", "-q"};
  if (!has_gpu) {
    refuses(4, plus(run, Words{"--device", "0"}), {"--device 0: cuda: "});
    refuses(4, plus(run, Words{"--screen", "mma"}), {"--screen mma: cuda: "});
  }
  refuses(4, plus(run, Words{"--backend", "cpu", "--device", "0"}), {"--device 0: --backend cpu has no GPUs"});
  refuses(4, plus(run, Words{"--backend", "cpu", "--screen", "mma"}), {"--screen mma: --backend cpu has no GPUs"});
  // A flag outweighs the environment; what names no GPU stands.
  done(plus(run, Words{"--backend", "cpu"}), {.environment = {"KITH_DEVICE=7", "KITH_SCREEN=mma"}});
  done(plus(run, Words{"--screen", "auto", "--threads", "3"}));
}

TEST_CASE("73: Ctrl-C leaves nothing behind and ends with 128 + the signal's number") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGABRT}) {
    const Scratch folder;
    done({"generate", folder / "x.h5", "-n", "60000", "-d", "32", "-q"});
    Running run({"knn", folder / "x.h5", "-k", "50", "-o", folder / "out.h5", "--backend", "cpu", "--threads", "1"});
    CHECK(eventually([&] { return files_in(folder).size() == 2; }));
    kill(run.process(), number);
    const Outcome outcome = run.wait();
    CHECK(outcome.code == 128 + number);
    CHECK(outcome.says("stopped; nothing was written. --checkpoint FILE lets a run continue\n"));
    CHECK_FALSE(outcome.says("--keep-best"));  // knn has none
    CHECK(files_in(folder) == Words{"x.h5"});
  }
}

TEST_CASE("a limit on file sizes is an error of writing that leaves nothing behind") {
  const Scratch folder;
  const Words run{"generate", folder / "x.h5", "-n", "60000", "-d", "32", "-q"};
  const Outcome outcome = run_kith(run, {.file_bytes = 100000});
  CHECK(outcome.code == 5);
  CHECK(outcome.says("File too large"));
  CHECK(files_in(folder).empty());
}

TEST_CASE("78: a full disk or closed pipe behind standard output does not go unnoticed") {
  const Words run{"cluster", kDigits, "-k", "10", "-q"};
  const Outcome full = run_kith(run, {.standard_output = "/dev/full"});
  CHECK(full.code == 5);
  CHECK(full.says("standard output: cannot write: No space left on device"));
  CHECK(run_kith({"--help"}, {.standard_output = "/dev/full"}).code == 5);
  const Outcome closed = run_kith(run, {.closed_output = true});
  CHECK(closed.code == 5);
  CHECK(closed.says("standard output: cannot write"));
  const Outcome broken = run_kith({"knn", kDigits, "-k", "50", "-q"}, {.broken_pipe = true});
  CHECK(broken.code == 128 + SIGPIPE);
  CHECK(broken.err.empty());
}

TEST_CASE("progress is shown when asked for, and never when not") {
  const Words run{"cluster", kDigits, "-k", "10"};
  const auto with = [&](const std::string& when) {
    Words words{"knn", kDigits, "-k", "1", "--json", "--progress", when};
    return done(words).err;
  };
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "3000", "-d", "8", "-q"});
  const Words slow{"knn", folder / "x.h5", "-k", "5", "--json", "--backend", "cpu", "--block-rows", "100"};
  Words always = slow, never = slow;
  always.insert(always.end(), {"--progress", "always"});
  never.insert(never.end(), {"--progress", "never"});
  CHECK(done(always).says("search)"));
  CHECK_FALSE(done(always).says(" 0 of "));
  CHECK_FALSE(done(never).says("search)"));
  CHECK_FALSE(with("never").empty());  // the summary is talk, not progress
}

TEST_CASE("103: arithmetic that is not IEEE 754 is noticed") {
  CHECK(kith::app::arithmetic_defect().empty());
  REQUIRE(std::fesetround(FE_UPWARD) == 0);
  const std::string upward = kith::app::arithmetic_defect();
  std::fesetround(FE_TONEAREST);
  CHECK(upward.find("rounded") != std::string::npos);
#if defined(__SSE2__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  const std::string flushed = kith::app::arithmetic_defect();
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
  CHECK(flushed.find("subnormal") != std::string::npos);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
  const std::string ignored = kith::app::arithmetic_defect();
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_OFF);
  CHECK(ignored.find("subnormal") != std::string::npos);
#endif
}

TEST_CASE("several devices write the bytes of one; those that are missing are refused") {
  const Scratch folder;
  const std::string points = folder / "points.h5";
  done({"generate", points, "-n", "9000", "-d", "12", "-k", "7", "-q"});
  const auto bytes = [&](Words words, const Words& options) {
    words.insert(words.end(), {"-q", "-f", "-o", folder / "out.h5"});
    done(plus(words, options));
    return bytes_of(folder / "out.h5");
  };
  for (const Words& words : {Words{"cluster", points, "-k", "9", "--n-init", "2", "--save-distances"},
                             Words{"knn", points, "-k", "4"}, Words{"knn", points, "--radius", "2"},
                             Words{"sweep", points, "-k", "2-3", "--silhouette", "exact", "--sample", "50"},
                             Words{"cluster", points, "-k", "5", "--algorithm", "bisecting"}}) {
    INFO(nlohmann::json(words).dump());
    const std::string one = bytes(words, {"--backend", "cpu"});
    CHECK(one == bytes(words, {"--backend", "cpu", "--devices", "0,0,0"}));
    const Words usable = usable_backends();
    if (std::find(usable.begin(), usable.end(), "cuda") == usable.end()) continue;
    for (const char* devices : {"0,0", "all"}) CHECK(one == bytes(words, {"--backend", "cuda", "--devices", devices}));
  }
  const Words run{"cluster", points, "-k", "3", "-q"};
  refuses(4, plus(run, Words{"--backend", "cpu", "--devices", "2"}), {"device 1 does not exist"});
  refuses(4, plus(run, Words{"--devices", "0,1000"}), {"--devices 0,1000: cuda: "});
  refuses(2, plus(run, Words{"--devices", "0"}), {"--devices 0", "how many GPUs", "--device 0"});
  refuses(2, plus(run, Words{"--devices", "0,x"}), {"--devices", "expected a whole number from 0 to 1023", "'x'"});
}
