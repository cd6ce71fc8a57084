// What a run decides for itself, and how it says so.
#include <algorithm>

#include "app/run/backend_choice.h"
#include "tests/support/program.h"

namespace {

using namespace kith;
using namespace kith::app;
using namespace kith::testing;

// Machines that are not there: a processor with eight threads, and a GPU.
constexpr Machine kProcessor{
    {.copied = 40e9, .gathered = 10e9, .fp16 = 1e12, .float32 = 5e11, .definitions = 5e10}, 5e-6, 0.0};
constexpr Machine kGpu{
    {.copied = 3e12, .gathered = 2e12, .sent = 50e9, .fp16 = 4e14, .float32 = 2e13, .definitions = 5e12}, 5e-6, 0.1};

Work iterations(std::int64_t clusters, std::int64_t most = 300) {
  return {.phase = "iterate", .operation = Operation::iterate, .times = most, .size = clusters, .at_most = true};
}
Work search(std::int64_t queries) { return {.phase = "search", .operation = Operation::search, .size = queries}; }
Work join(std::int64_t rows) { return {.phase = "search", .operation = Operation::join, .size = rows}; }
RunShape shape(std::int64_t rows, std::int64_t columns, const Work& work) {
  return {rows, columns, 4 * rows * columns, {work}};
}

TEST_CASE("small problems are computed by the processor, large ones by a GPU") {
  struct Case {
    RunShape shape;
    const char* backend;
  };
  for (const auto& [run, backend] :
       {Case{shape(1'797, 64, iterations(10)), "cpu"},  // the digits
        Case{shape(10'000, 32, iterations(100)), "cpu"}, Case{shape(1'000'000, 128, iterations(1024)), "cuda"},
        Case{shape(10'000'000, 16, iterations(256)), "cuda"},
        Case{shape(1'000'000, 128, iterations(1, 1)), "cpu"},  // sending takes longer
        Case{shape(1'000'000, 128, search(1)), "cpu"}, Case{shape(1'000'000, 128, search(100'000)), "cuda"},
        Case{shape(20'000, 64, join(20'000)), "cpu"}, Case{shape(1'000'000, 128, join(1'000'000)), "cuda"}}) {
    INFO(run.rows << " x " << run.columns << ", " << run.work[0].phase << " " << run.work[0].size);
    const Decision decision = choose_backend_by_cost(run, kProcessor, kGpu);
    CHECK(decision.subject == "backend");
    CHECK(decision.method == backend);
    REQUIRE(decision.considered.size() == 2);
    CHECK((decision.considered[0].seconds <= decision.considered[1].seconds) == (decision.method == "cpu"));
  }
}

TEST_CASE("a slower GPU and a faster processor are chosen less and more often") {
  const RunShape run = shape(1'000'000, 128, iterations(64));
  CHECK(choose_backend_by_cost(run, kProcessor, kGpu).method == "cuda");
  Machine fast = kProcessor, slow = kGpu;
  fast.copied *= 50, fast.fp16 *= 50, fast.float32 *= 50, fast.definitions *= 50;
  CHECK(choose_backend_by_cost(run, fast, kGpu).method == "cpu");
  slow.opening = 100.0;
  CHECK(choose_backend_by_cost(run, kProcessor, slow).method == "cpu");
}

TEST_CASE("waking many threads for each step of k-means++ takes longer than opening a GPU") {
  Machine many = kProcessor;  // 64 threads
  for (double* rate : {&many.copied, &many.gathered, &many.fp16, &many.float32, &many.definitions}) *rate *= 8;
  RunShape run = shape(1'000'000, 3, iterations(2000, 10));
  CHECK(choose_backend_by_cost(run, many, kGpu).method == "cpu");
  run.work.push_back({.phase = "seed", .operation = Operation::seed, .times = 2000, .size = 9, .passes = 3999});
  many.step = 63 * kProcessor.step;
  CHECK(choose_backend_by_cost(run, many, kGpu).method == "cuda");
}

TEST_CASE("a run takes as many GPUs as win back the time to open them") {
  const auto gpus = [](const RunShape& run) { return choose_gpus_by_cost(run, kGpu, 16).method; };
  CHECK(gpus({}) == "1");
  CHECK(gpus(shape(1'000'000, 128, iterations(1024))) == "1");
  CHECK(gpus(shape(100'000'000, 128, iterations(1024))) == "8");
  CHECK(gpus(shape(20'000'000, 128, iterations(256))) == "2");
  const Decision decision = choose_gpus_by_cost(shape(20'000'000, 128, iterations(256)), kGpu, 1);
  CHECK(decision.method == "1");
  CHECK(decision.considered.size() == 1);
}

TEST_CASE("the report and --verbose say what was decided") {
  const Outcome run = done({"cluster", kDigits, "-k", "3", "--json", "-v"});
  const auto decisions = run.json()["decisions"];
  const auto find = [&](const char* subject) {
    for (const auto& decision : decisions) {
      if (decision["subject"] == subject) return decision;
    }
    return nlohmann::json();
  };
  const auto backend = find("backend");
  CHECK(backend["method"] == "cpu");
  CHECK(backend["times"] == 1);
  REQUIRE(backend["considered"].size() == 2);
  CHECK(backend["considered"][0]["seconds"] < backend["considered"][1]["seconds"]);
  CHECK(find("rows")["method"] == "in memory");
  CHECK(find("precision")["method"] == "f32");
  CHECK(find("seeding")["method"] == "k-means++");
  CHECK(run.says("backend: cpu (opening a GPU alone takes"));
  CHECK(run.says("rows: in memory (the run needs"));
  CHECK(run.says("precision: f32 ("));

  CHECK(!done({"cluster", kDigits, "-k", "3"}).says("considered"));
  const auto named = done({"knn", kDigits, "-k", "3", "--backend", "cpu", "--json", "-q"}).json()["decisions"];
  CHECK(std::ranges::any_of(named, [](const auto& decision) {
    return decision["subject"] == "backend" && decision["reason"] == "--backend cpu";
  }));
}

TEST_CASE("the start is a decision by the shape and the number of clusters") {
  const Scratch folder;
  const std::string points = folder / "x.h5";
  done({"generate", points, "-n", "262144", "-d", "64", "--type", "uint8", "-q"});
  const auto start = [&](Words words) -> std::string {
    words.insert(words.end(), {"--dry-run", "--json", "-q"});
    const nlohmann::json decisions = done(words).json()["decisions"];
    for (const auto& decision : decisions) {
      if (decision["subject"] == "seeding") return decision["method"];
    }
    return "";
  };
  CHECK(start({"cluster", points, "-k", "64"}) == "k-means||");
  CHECK(start({"cluster", points, "-k", "63"}) == "k-means++");
  CHECK(start({"cluster", points, "-k", "64", "--algorithm", "bisecting"}) == "k-means++");
  CHECK(start({"cluster", points, "-k", "64", "--init", "k-means++"}).empty());
  CHECK(start({"sweep", points, "-k", "2,64"}) == "k-means||");
}

TEST_CASE("rows that stay in their file are a decision by memory") {
  const Scratch folder;
  const std::string points = folder / "x.h5";
  done({"generate", points, "-n", "90000", "-d", "40", "-q"});
  const auto decisions =
      done({"cluster", points, "-k", "3", "--max-iterations", "2", "--memory", "13MB", "--json", "-q"})
          .json()["decisions"];
  const auto rows = std::ranges::find_if(decisions, [](const auto& d) { return d["subject"] == "rows"; });
  REQUIRE(rows != decisions.end());
  CHECK((*rows)["method"] == "in passes over their file");
  CHECK((*rows)["considered"][0]["excluded"] == "more than the limit");
}

}  // namespace
