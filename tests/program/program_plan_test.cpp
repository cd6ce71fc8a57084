// kith plan and --dry-run: what they say of a run is what the run does, from headers alone, and nothing is written.
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "app/run/planning.h"
#include "data/source.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

constexpr std::int64_t kRows = 90'000, kColumns = 40;

// The exact number of passes is known for the CPU.
const bool kOnCpu = setenv("KITH_BACKEND", "cpu", 1) == 0;

/// Noise, for which a few iterations do not suffice. last: its last value.
void write_npy(const std::string& file, std::int64_t rows, float last = 0.5F) {
  std::vector<float> x(static_cast<std::size_t>(rows * kColumns));
  unsigned seed = 7;
  for (float& value : x) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) * 0x1p-24F;
  }
  x.back() = last;
  std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                     std::to_string(kColumns) + "), }";
  head.resize(117, ' ');
  std::ofstream out(file, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << head << '\n';
  out.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(float)));
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

nlohmann::json phase_of(const nlohmann::json& plan, const std::string& name) {
  for (const auto& phase : plan["phases"]) {
    if (phase["name"] == name) return phase;
  }
  FAIL("the plan has no phase " << name);
  return {};
}

}  // namespace

TEST_CASE("a plan has the tiers and the passes of the run that follows") {
  const Scratch folder;
  const std::string points = folder / "x.npy", queries = folder / "q.npy";
  write_npy(points, kRows);
  write_npy(queries, 250);
  done({"cluster", queries, "-k", "7", "--max-iterations", "2", "-q", "-o", folder / "c.h5"});
  std::string labels = "kind\n";
  for (std::int64_t row = 0; row < kRows; ++row) labels += row % 3 == 0 ? "a\n" : "b\n";
  write_bytes(folder / "l.csv", labels);
  const Words few{"--memory", "13MB", "--threads", "2", "--json", "-q"};
  const Words cluster{"cluster", points, "-k", "7", "--max-iterations", "3", "--tolerance", "0"};
  for (const Words& command :
       {cluster, cluster + Words{"--init", "random"}, cluster + Words{"--init", "random", "--metric", "cosine"},
        cluster + Words{"--init", "k-means||"}, cluster + Words{"--init", "farthest"},
        cluster + Words{"--init", folder / "c.h5:centroids"}, Words{"assign", points, "--centroids", folder / "c.h5"},
        Words{"knn", points, "--queries", queries, "-k", "3"},
        Words{"knn", points, "--queries", queries, "-k", "3", "--block-rows", "100"},
        Words{"evaluate", folder / "l.csv", "--points", points, "--silhouette", "none"}}) {
    INFO(nlohmann::json(command).dump());
    const auto plan = done(Words{"plan"} + command + few).json()["plan"];
    const auto run = done(command + few).json();
    std::int64_t passes = 0;
    for (const auto& phase : plan["phases"]) passes += phase["passes"].get<std::int64_t>();
    REQUIRE(run.contains("streamed"));
    CHECK(passes == run["streamed"]["passes"]);
    REQUIRE(plan["tiers"].size() == 2);
    CHECK(plan["tiers"][0]["rows"] == run["streamed"]["held_rows"]);
    CHECK(plan["tiers"][1]["rows"] == kRows - run["streamed"]["held_rows"].get<std::int64_t>());
    if (!is_sanitized()) CHECK(plan["memory"]["host"] >= run["memory"]["host"].get<std::int64_t>() * 9 / 10);
    CHECK(plan["seconds"] > 0.0);
  }
}

TEST_CASE("a run takes the memory of its plan, within a tenth") {
  if (is_sanitized()) return skipped("a sanitizer takes memory of its own");
  const Scratch folder;
  const std::string narrow = folder / "2.h5", wide = folder / "32.h5", widest = folder / "128.h5";
  const std::string queries = folder / "q.h5", centroids = folder / "c.h5";
  const auto generate = [](const std::string& file, const char* rows, const char* columns) {
    done({"generate", file, "--kind", "noise", "-n", rows, "-d", columns, "-q"});
  };
  generate(narrow, "1000000", "2");
  generate(wide, "400000", "32");
  generate(widest, "40000", "128");
  generate(queries, "2000", "32");
  done({"cluster", wide, "-k", "9", "--init", "random", "--max-iterations", "1", "-q", "-o", centroids});
  const Words few{"--threads", "2", "--json", "-v"};
  int exact = 0;
  for (const Words& command : {Words{"cluster", narrow, "-k", "16", "--max-iterations", "3", "--save-distances"},
                               Words{"cluster", wide, "-k", "16", "--max-iterations", "3"},
                               Words{"cluster", wide, "-k", "16", "--max-iterations", "3", "--memory", "75MB"},
                               Words{"cluster", wide, "-k", "100", "--init", "random", "--max-iterations", "3"},
                               Words{"assign", wide, "--centroids", centroids},
                               Words{"sweep", wide, "-k", "4,8", "--init", "random", "--max-iterations", "3"},
                               Words{"evaluate", centroids, "--points", wide}, Words{"knn", narrow, "-k", "10"},
                               Words{"knn", narrow, "-k", "4", "--symmetric"}, Words{"knn", widest, "-k", "20"},
                               Words{"knn", wide, "--queries", queries, "-k", "10"}}) {
    const auto run = done(command + few + Words{"-o", folder / "out.h5", "-f"}).json();
    const auto& memory = run["plan"]["memory"];
    const double measured = run["memory"]["host"], most = memory["host"], least = memory["host_least"];
    INFO(nlohmann::json(command).dump() << " " << memory.dump() << " measured " << measured);
    CHECK(measured <= 1.1 * most);
    CHECK(measured >= 0.9 * least - 1e6);                      // a page here and there
    CHECK(measured >= 2.0 * memory["program"].get<double>());  // not only what the program itself takes
    exact += most <= 1.1 * least ? 1 : 0;
  }
  CHECK(exact >= 3);  // plans without a range
}

TEST_CASE("a plan for the best backend has all rows in its tiers, within the memory") {
  const Scratch folder;
  const std::string points = folder / "x.npy";
  write_npy(points, kRows);
  for (const char* memory : {"13MB", "1GB"}) {
    const Words command{"cluster", points, "-k", "7", "--backend", "auto", "--memory", memory, "--json"};
    const auto plan = done(Words{"plan"} + command).json()["plan"];
    INFO(plan.dump());
    std::int64_t rows = 0;
    for (const auto& tier : plan["tiers"]) rows += tier["rows"].get<std::int64_t>();
    CHECK(rows == kRows);
    CHECK(plan["memory"]["device"].get<std::int64_t>() <= (memory == std::string("13MB") ? 13'000'000 : 1'000'000'000));
    const auto run = done(command + Words{"--max-iterations", "2"}).json();
    if (run["backend"] == "cpu" && !is_sanitized()) {
      CHECK(plan["memory"]["host"] >= run["memory"]["host"].get<std::int64_t>() * 9 / 10);
    }
  }
}

TEST_CASE("a plan reads no values, and is what --dry-run prints") {
  const Scratch folder;
  const std::string points = folder / "x.npy";
  write_npy(points, 3000, std::numeric_limits<float>::quiet_NaN());
  const Words command{"cluster",           points,     "-k", "5", "-o", folder / "c.h5", "--checkpoint",
                      folder / "run.kith", "--memory", "1GB"};
  CHECK(run_kith(command).code == 3);  // the last value
  const Words before = files_in(folder);
  const Outcome plan = done(Words{"plan"} + command);
  for (const char* text : {"x.npy, 3000 x 40 float32", "at the peak", "prepare", "choose centroids", "at most 300",
                           "estimated from the rates"}) {
    INFO(text << "\n" << plan.out);
    CHECK(plan.out.find(text) != std::string::npos);
  }
  const auto planned = done(Words{"plan"} + command + Words{"--json"}).json()["plan"];
  const auto dry = done(command + Words{"--dry-run", "--json"}).json()["plan"];
  for (const char* key : {"tiers", "phases", "seconds", "basis", "advice"}) CHECK(dry[key] == planned[key]);
  CHECK(files_in(folder) == before);
}

TEST_CASE("kith plan resume plans the run of a checkpoint, and leaves the checkpoint as it is") {
  const Scratch folder;
  const std::string checkpoint = folder / "run.kith";
  CHECK(run_kith({"cluster", kDigits, "-k", "9", "--tolerance", "0", "--checkpoint", checkpoint, "--checkpoint-every",
                  "0", "--time-limit", "1ms", "-o", folder / "c.h5"})
            .code == 124);
  const std::string before = bytes_of(checkpoint);
  const auto report = done({"plan", "resume", checkpoint, "--json"}).json();
  CHECK(report["command"] == "cluster");
  CHECK(phase_of(report["plan"], "seed")["times"] == 9);
  CHECK(bytes_of(checkpoint) == before);
}

// A GPU that is not there, with 3 MB of memory.
TEST_CASE("a plan for several GPUs is that of one GPU with its share of the rows, for each of them") {
  using namespace kith;
  using namespace kith::app;
  const Scratch folder;
  write_npy(folder / "one.npy", 8'000);
  write_npy(folder / "two.npy", 16'000);
  const auto planned = [&](const std::string& file, std::int64_t gpus, bool only_searched) {
    const CommonOptions common;
    Job job("cluster", common);
    job.device = Device{
        .name = "GPU", .description = "", .free_memory = gpus * 3'000'000, .devices = gpus, .has_own_memory = true};
    const auto source = data::open_points(folder / file, {});
    StreamPlan stream = optional_stream();
    stream.only_searched = only_searched;
    PlanRequest request;
    request.source = source.get();
    request.stream = stream;
    return estimate(request, job);
  };
  for (const bool only_searched : {false, true}) {
    const Plan one = planned("one.npy", 1, only_searched), two = planned("two.npy", 2, only_searched);
    CHECK(two.device_bytes == 2 * one.device_bytes);
    CHECK(one.device_bytes <= 3'000'000);
    REQUIRE(two.tiers.size() == one.tiers.size());
    for (std::size_t tier = 0; tier < one.tiers.size(); ++tier) CHECK(two.tiers[tier].rows == 2 * one.tiers[tier].rows);
    CHECK(as_text(one, 200).find(" on the GPU") != std::string::npos);
    CHECK(as_text(two, 200).find(" on each of 2 GPUs") != std::string::npos);
  }
}

TEST_CASE("the advice of a plan is a change that shortens the run") {
  const Scratch folder;
  const std::string points = folder / "x.npy";
  write_npy(points, kRows);
  const Words few{"--memory", "13MB", "--threads", "2", "--max-iterations", "2", "--json", "-q"};
  const auto slow = done(Words{"plan", "cluster", points, "-k", "200"} + few).json()["plan"];
  CHECK(phase_of(slow, "seed")["passes"] == 399);
  CHECK(slow["advice"].get<std::string>().find("--init k-means||") == 0);
  const auto fast = done(Words{"plan", "cluster", points, "-k", "200", "--init", "k-means||"} + few);
  CHECK(fast.json()["plan"]["seconds"] < slow["seconds"]);
  CHECK(phase_of(fast.json()["plan"], "seed")["passes"] == 4);
}

TEST_CASE("a verbose run prints its plan and compares it with what it measured") {
  const Outcome run = done({"cluster", kDigits, "-k", "10", "--verbose", "--json"});
  CHECK(run.says("at the peak"));
  CHECK(run.says("memory planned"));
  CHECK(run.says("time planned"));
  CHECK(run.json()["plan"]["tiers"].size() == 1);
  CHECK(!done({"cluster", kDigits, "-k", "10", "--json", "-q"}).json().contains("plan"));
}

TEST_CASE("--dry-run refuses what the run refuses before it reads values") {
  const Scratch folder;
  const std::string there = folder / "there.h5", points = folder / "x.npy";
  write_npy(points, 3000);
  write_bytes(there, "");
  done({"cluster", kDigits, "-k", "3", "-q", "-o", folder / "c.h5"});
  for (const Words& command : {Words{"cluster", folder / "missing.h5", "-k", "3"},
                               Words{"cluster", kDigits + ":none", "-k", "3"},
                               Words{"cluster", kDigits, "-k", "3", "-o", there},
                               Words{"cluster", kDigits, "-k", "1798"},
                               Words{"cluster", points, "-k", "3", "--memory", "100kB"},
                               Words{"cluster", kDigits},
                               Words{"cluster", points, "-k", "3", "--batch", "10", "--memory", "500kB"},
                               Words{"cluster", points, "-k", "3", "--backend", "cuda", "--device", "999"},
                               Words{"assign", points, "--centroids", folder / "c.h5"},
                               Words{"knn", kDigits, "-k", "1797"},
                               Words{"sweep", kDigits, "-k", "9-2"},
                               Words{"distances", kDigits, points},
                               Words{"evaluate", folder / "c.h5", "--truth", folder / "missing.csv"},
                               Words{"report", points},
                               Words{"info", folder / "missing.h5"},
                               Words{"generate", there},
                               Words{"bench", "none"},
                               Words{"bench", "assign", "--points", points},
                               Words{"devices", "-k"},
                               Words{"resume", folder / "missing.kith"}}) {
    INFO(nlohmann::json(command).dump());
    const Outcome run = run_kith(command + Words{"-q"}), dry = run_kith(command + Words{"-q", "--dry-run"});
    CHECK(run.code != 0);
    CHECK(dry.code == run.code);
    CHECK(dry.err == run.err);
    CHECK(dry.out.empty());
  }
}

TEST_CASE("--dry-run of every command ends well and writes nothing") {
  const Scratch folder;
  const std::string result = folder / "c.h5", out = folder / "new.h5";
  done({"cluster", kDigits, "-k", "3", "-q", "-o", result});
  const Words before = files_in(folder);
  for (const Words& command :
       {Words{"cluster", kDigits, "-k", "3", "-o", out}, Words{"sweep", kDigits, "-k", "2-4", "-o", out},
        Words{"assign", kDigits, "--centroids", result, "-o", out}, Words{"knn", kDigits, "-k", "3", "-o", out},
        Words{"distances", kDigits, "-o", out}, Words{"evaluate", result, "--points", kDigits, "-o", out},
        Words{"evaluate", result, "--truth", result, "-o", out}, Words{"report", result, "-o", folder / "new.html"},
        Words{"info", kDigits}, Words{"devices"}, Words{"generate", out}, Words{"bench", "limits"}}) {
    INFO(nlohmann::json(command).dump());
    done(command + Words{"--dry-run"});
    CHECK(files_in(folder) == before);
  }
  refuses(2, {"plan", "info", kDigits}, {"plan info: expected cluster", "--dry-run"});
  refuses(2, {"plan"}, {"the command to plan, is missing"});
}
