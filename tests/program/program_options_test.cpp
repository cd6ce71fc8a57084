// What the program makes of its options: names, values, where they come from, what is refused before any work.
#include "tests/support/program.h"

using namespace kith::testing;

TEST_CASE("a mistyped name is answered with the nearest one") {
  refuses(2, {"train"}, {"unknown command 'train'"});
  refuses(2, {"cluster", kDigits, "-k", "3", "--sample-weight=w"}, {"unknown option --sample-weight;"});
  refuses(2, {"knn", kDigits, "-k", "3", "--radiuss", "1"}, {"unknown option --radiuss; the nearest is --radius"});
  for (const char* k : {"-K", "--k", "--K"}) {
    refuses(2, {"knn", kDigits, k, "3"}, {"unknown option " + std::string(k) + "; the nearest is -k;"});
  }
}

TEST_CASE("-- ends the options") {
  const Scratch folder;
  const std::string dashed = "-dashed.h5";
  std::filesystem::copy_file(kDigits, folder / dashed);
  const Setting there{.folder = folder / ""};
  CHECK(done({"info", "--", dashed}, there).out.rfind("-dashed.h5", 0) == 0);
  CHECK(done({"info", "--json", "--", dashed, dashed}, there).json()["files"].size() == 2);
  done({"cluster", "-k", "3", "-q", "--", dashed}, there);
  refuses(2, {"cluster", "-k", "3", "--", dashed, "-q"}, {"unexpected argument '-q'"}, there);
  refuses(2, {"cluster", "-k", "3", "--quite", "--", dashed}, {"unknown option --quite; the nearest is --quiet"},
          there);
}

TEST_CASE("numbers are read strictly") {
  for (const char* k : {"abc", "3x", "0", "-1", "2.5", "1e3", "", " 3", "99999999999999999999"}) {
    refuses(2, {"cluster", kDigits, "-k", k}, {"--clusters: expected a whole number from 1 to 2147483647"});
  }
  for (const char* t : {"nan", "inf", "1e-4x", "", "-1"}) {
    refuses(2, {"cluster", kDigits, "-k", "3", "--tolerance", t}, {"--tolerance: expected"});
  }
  for (const char* m : {"4XB", "GB", "-4GB", "0", "1e300GB"}) {
    refuses(2, {"cluster", kDigits, "-k", "3", "--memory", m}, {"--memory: expected a size"});
  }
  refuses(2, {"cluster", kDigits, "-k", "3", "--threads", "-2"}, {"--threads: expected a whole number from 0"});
  for (const char* m : {"4GB", "512MiB", "0.5 GiB", "1000000000"}) {
    CHECK(run_kith({"cluster", kDigits, "-k", "3", "-q", "--memory", m}).code == 0);
  }
}

TEST_CASE("every seed of 64 bits is taken, stored and read back") {
  const Scratch folder;
  const auto centroids = [&](const std::string& seed, const Words& more) {
    Words words{"cluster", kDigits, "-k", "4", "--init", "random", "--seed", seed, "-q", "--json", "-f"};
    words.insert(words.end(), {"-o", folder / "out.h5"});
    words.insert(words.end(), more.begin(), more.end());
    CHECK(run_kith(words).json()["seed"].dump() == seed);
    const std::string file = bytes_of(folder / "out.h5");
    const nlohmann::json result = done({"info", folder / "out.h5", "--json"}).json()["files"][0]["result"];
    CHECK(result["seed"].dump() == seed);
    CHECK(result["command"].get<std::string>().find("--seed " + seed) != std::string::npos);
    CHECK(done({"table", folder / "out.h5"}).out.find("," + seed + ",") != std::string::npos);
    CHECK(done({"info", folder / "out.h5", "--verify"}).code == 0);
    return file;
  };
  const std::string most = "18446744073709551615", half = "9223372036854775808";
  CHECK(centroids(most, {}) != centroids("9223372036854775807", {}));
  // A run that continues from a result, and one that continues from a checkpoint, keep the seed.
  const std::string whole = centroids(half, {});
  done({"cluster", kDigits, "-k", "4", "--init", "random", "--seed", half, "--max-iterations", "3", "-q", "-o",
        folder / "part.h5"});
  done({"cluster", kDigits, "--init", folder / "part.h5", "-q", "-o", folder / "more.h5"});
  CHECK(bytes_of(folder / "more.h5") == whole);
  const Words stopped{"cluster",
                      kDigits,
                      "-k",
                      "4",
                      "--init",
                      "random",
                      "--seed",
                      half,
                      "-q",
                      "--checkpoint",
                      folder / "c",
                      "-o",
                      folder / "resumed.h5",
                      "--time-limit",
                      "0.000001ms"};
  CHECK(run_kith(stopped).code == 124);
  done({"resume", folder / "c", "--time-limit", "0"});  // no limit
  CHECK(bytes_of(folder / "resumed.h5") == whole);
  done({"generate", folder / "x.h5", "-n", "10", "-d", "2", "--seed", most, "-q"});
  done({"sweep", kDigits, "-k", "2", "--n-init", "1", "--seed", most, "-q", "-o", folder / "sweep.h5"});
  CHECK(done({"info", folder / "sweep.h5", "--json"}).json()["files"][0]["result"]["seed"].dump() == most);
}

TEST_CASE("56: k may be all rows but the query itself") {
  CHECK(run_kith({"knn", kDigits, "-k", "1796", "--json", "-q"}).code == 0);
}

TEST_CASE("40: the seed is shown; flags outweigh the environment, which outweighs the file") {
  const Scratch folder;
  const std::string config = folder / "kith.toml";
  write_bytes(config,
              "# shared\nseed = 7\nprogress = \"never\"\n[knn]\nneighbors = 3 # for knn\n[cluster]\nclusters = 4\n");
  const auto seed = [&](const Words& more, const Words& environment) {
    Words words{"cluster", kDigits, "--json", "-q", "--config", config};
    words.insert(words.end(), more.begin(), more.end());
    const auto report = done(words, {.environment = environment}).json();
    CHECK(report["clusters"]["count"] == 4);
    return report["seed"].get<int>();
  };
  CHECK(seed({}, {}) == 7);
  CHECK(seed({}, {"KITH_SEED=8"}) == 8);
  CHECK(seed({"--seed", "9"}, {"KITH_SEED=8"}) == 9);
  CHECK(done({"cluster", kDigits, "-k", "3"}).says("seed       0"));

  const auto refuses_file = [&](const std::string& text, const Words& said) {
    write_bytes(config, text);
    refuses(2, {"cluster", kDigits, "--config", config}, said);
  };
  refuses_file("[clutser]\nclusters = 2\n", {"kith.toml:2", "[clutser]", "nearest is [cluster]"});
  refuses_file("threads 2\n", {"kith.toml:1", "name = value"});
  refuses_file("backend = \"cpu\n", {"kith.toml:1", "closing quote"});
  refuses_file("seed = 1\nconfig = \"other.toml\"\n", {"kith.toml:2", "'config' cannot be set in a file"});
  refuses_file("[cluster]\nhelp = true\n", {"kith.toml:2", "'help' cannot be set in a file"});
  refuses_file("[cluster]\nk = 3\n",
               {"kith.toml:2: unknown option 'k'; expected a long name, without dashes; see kith"});
  refuses_file("[cluster]\nneighbors = 3\n", {"kith.toml:2", "unknown option 'neighbors'"});
  refuses_file("\xef\xbb\xbf# with a byte order mark\nsede = 1\n", {"kith.toml:2", "'sede'"});
  refuses_file("\xef\xbb\xbfsede = 1\n", {"kith.toml:1: unknown option 'sede'"});
}

TEST_CASE("a misspelt variable is named") {
  const auto says = [](const Words& environment) {
    return done({"cluster", kDigits, "-k", "3", "-q"}, {.environment = environment}).err;
  };
  CHECK(
      says({"KITH_THREADZ=2"}).find("warning: the variable KITH_THREADZ has no effect; the nearest is KITH_THREADS") !=
      std::string::npos);
  CHECK(says({"KITH_NEIGHBORS=2", "KITH_CPU=plain", "KITH_REQUIRE=cpu", "KITH_SEED=3"}).empty());
}

TEST_CASE("options without effect are named") {
  const auto warns = [](const Words& more, const std::string& option) {
    Words words{"cluster", kDigits, "-k", "3", "-q", "--backend", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(done(words).says("warning: " + option + " has no effect"));
  };
  warns({"--init", "first", "--seed", "3"}, "--seed");
  warns({"--init", "first", "--n-init", "3"}, "--n-init");
  warns({"--save-distances"}, "--save-distances");
  warns({"--force"}, "--force");
  warns({"--device-memory", "1GB"}, "--device-memory");
  warns({"--header", "yes"}, "--header");
  warns({"--delimiter", "comma"}, "--delimiter");
  CHECK(done({"cluster", kDigits, "-k", "3", "-q"}).err.empty());
  // They describe all text, not the points alone.
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  FileMaker(folder / "p.h5").floats("x", {3, 1}, {1, 2, 9});
  write_bytes(folder / "w.txt", "3;1\n4;1\n5;1\n");
  write_bytes(folder / "l.txt", "0;1\n0;2\n1;3\n");
  const Words how{"--header", "no", "--delimiter", ";", "-q"};
  const auto silent = [&](Words words) {
    words.insert(words.end(), how.begin(), how.end());
    CHECK(done(words, there).err.empty());
  };
  silent({"cluster", "p.h5", "-k", "2", "--weights", "w.txt:2"});
  silent({"evaluate", "l.txt:1", "--points", "p.h5"});
  silent({"info", "p.h5", "l.txt"});
  for (const Words& words : {Words{"sweep", "p.h5", "-k", "2"}, Words{"knn", "p.h5", "-k", "1"}, Words{"info", "p.h5"},
                             Words{"distances", "p.h5"}, Words{"assign", "p.h5", "--centroids", "p.h5"}}) {
    Words all = words;
    all.insert(all.end(), how.begin(), how.end());
    const Outcome run = done(all, there);
    for (const char* option : {"--header", "--delimiter"}) {
      CHECK(run.says(std::string(option) + " has no effect: no input that it describes is text"));
    }
  }
}

TEST_CASE("62: memory beyond --memory is refused before reading, naming needed and allowed") {
  refuses(6, {"cluster", kDigits, "-k", "3", "--memory", "100kB"}, {"one chunk takes 112 KiB", "larger --memory"});
  const Scratch folder;
  for (const char* name : {"a.h5", "b.h5"}) done({"generate", folder / name, "-n", "40000", "-d", "25", "-q"});
  const std::string a = folder / "a.h5", b = folder / "b.h5";  // 3.8 MiB each
  refuses(6, {"cluster", a, "-k", "3", "--memory", "100kB"},
          {"needs about", "MiB", "only 97.7 KiB are allowed by --memory"});
  // Reading so few rows in passes would take more than holding them, and is not named.
  const Outcome few = run_kith({"cluster", a, "-k", "3", "--memory", "3MB"});
  CHECK(few.code == 6);
  CHECK(few.says("only 2.9 MiB are allowed by --memory; give a larger --memory, or fewer rows"));
  CHECK(!few.says("cannot stay in the file"));
  const Words small{"--block-rows", "1", "--memory", "6MiB", "--json", "-q"};
  const auto with_small = [&](Words words) {
    words.insert(words.end(), small.begin(), small.end());
    return words;
  };
  // What is held together counts together: base and queries, rows and centroids, lists and candidates, the truth.
  refuses(6, with_small({"knn", a + ":/points", "--queries", b + ":/points", "-k", "1"}),
          {"a.h5", "b.h5", "needs about"});
  refuses(6, {"distances", a + ":/points", b + ":/points", "--block-rows", "1", "--memory", "4MiB"},
          {"a.h5", "b.h5", "needs about"});
  refuses(6, with_small({"assign", a + ":/points", "--centroids", b + ":/points"}), {"b.h5", "needs about"});
  refuses(6, with_small({"cluster", a + ":/points", "--init", b + ":/points"}), {"b.h5", "needs about"});
  refuses(6, with_small({"knn", a + ":/points", "--truth", b + ":/points", "-k", "25"}), {"a.h5", "needs about"});
  refuses(6, {"knn", a + ":/points", "-k", "1000", "--memory", "100MiB"}, {"a.h5", "needs about"});
}
