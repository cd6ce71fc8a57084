// kith-mpi: several processes write the bytes of kith, and fail together.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

/// As a user starts them, on a machine with fewer cores and as any user.
Setting of_processes(int count, Words environment = {}) {
  environment.insert(environment.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  return {.environment = std::move(environment),
          .runner = {KITH_MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", std::to_string(count)},
          .program = KITH_MPI_BINARY};
}

/// Whether mpirun can start programs here: it needs a network interface, if only the loopback of the machine.
/// KITH_REQUIRE=mpi makes its failure one of the tests.
bool launcher_works() {
  static const Outcome outcome = [] {
    Setting setting = of_processes(2);
    setting.program = "/bin/true";
    return run_kith({}, setting);
  }();
  const char* required = std::getenv("KITH_REQUIRE");
  INFO(outcome.err);
  REQUIRE((outcome.code == 0 || required == nullptr || std::string(required).find("mpi") == std::string::npos));
  if (outcome.code != 0) skipped("mpirun does not work here: " + outcome.err.substr(0, outcome.err.find('\n')));
  return outcome.code == 0;
}

/// Rows in clusters.
std::string points_file(const Scratch& folder) {
  const std::string name = folder / "points.h5";
  done({"generate", name, "-n", "3001", "-d", "6", "-k", "7", "-q"});
  return name;
}

/// Runs a command in one process of kith and in several of kith-mpi, and compares the files.
void same_in_processes(const Scratch& folder, Words words, int count) {
  words.insert(words.end(), {"-q", "-f", "-o", folder / "one.h5"});
  done(words);
  words.back() = folder / "several.h5";
  INFO(count << " processes: " << nlohmann::json(words).dump());
  done(words, of_processes(count));
  CHECK(bytes_of(folder / "several.h5") == bytes_of(folder / "one.h5"));
}

/// The processes of kith-mpi that a launcher has started, by their parent.
std::vector<pid_t> children_of(pid_t launcher) {
  std::ifstream list("/proc/" + std::to_string(launcher) + "/task/" + std::to_string(launcher) + "/children");
  std::vector<pid_t> all;
  for (pid_t process = 0; list >> process;) {
    std::ifstream name("/proc/" + std::to_string(process) + "/comm");
    if (std::string text; name >> text && text == "kith-mpi") all.push_back(process);
  }
  std::sort(all.begin(), all.end());
  return all;
}

constexpr int kForEver = 1'000'000;  // iterations

/// A run of three processes with a checkpoint after every iteration.
class LongRun {
 public:
  explicit LongRun(int iterations, Words environment = {}) {
    done({"generate", folder_ / "x.h5", "-n", "60000", "-d", "16", "--kind", "noise", "-q"});
    words_ = {"cluster",          folder_ / "x.h5",           "-k", "100", "--init", "random", "--tolerance", "0",
              "--max-iterations", std::to_string(iterations), "-q", "-o",  result()};
    if (iterations == kForEver) words_.insert(words_.end() - 2, {"--n-init", "1000000"});  // each run of them converges
    Words kept = words_;
    kept.insert(kept.end(), {"--checkpoint", checkpoint(), "--checkpoint-every", "0"});
    running_.emplace(kept, of_processes(3, std::move(environment)));
    REQUIRE(eventually([&] { return std::filesystem::exists(checkpoint()); }));
  }
  /// Sends a signal to one of the processes, and waits for all.
  Outcome end_by(std::size_t rank, int number) {
    const auto all = children_of(running_->process());
    REQUIRE(all.size() == 3);
    REQUIRE(kill(all[rank], number) == 0);
    return running_->wait();
  }
  std::string result() const { return folder_ / "result.h5"; }
  std::string checkpoint() const { return folder_ / "run.checkpoint"; }
  bool has_result() const { return std::filesystem::exists(result()); }
  /// The same in one process of kith.
  std::string bytes_alone() {
    words_.back() = folder_ / "alone.h5";
    done(words_);
    return bytes_of(words_.back());
  }

 private:
  Scratch folder_;
  Words words_;
  std::optional<Running> running_;
};

}  // namespace

TEST_CASE("several processes write the bytes of one", "[processes]") {
  if (!launcher_works()) return;
  const Scratch folder;
  const std::string points = points_file(folder);
  const auto starts = {std::pair{"k-means++", 2}, std::pair{"k-means||", 5}, std::pair{"farthest", 3}};
  for (const auto& [init, count] : starts) {
    same_in_processes(folder, {"cluster", points, "-k", "9", "--init", init, "--n-init", "2", "--save-distances"},
                      count);
  }
  same_in_processes(folder, {"cluster", points, "-k", "9", "--metric", "cosine", "--medoids"}, 2);
  same_in_processes(folder, {"cluster", points, "-k", "9", "--scale", "zscore", "--pca", "3"}, 3);
  same_in_processes(folder, {"cluster", points, "-k", "9", "--scale", "unit"}, 2);
  done({"cluster", points, "-k", "9", "--scale", "minmax", "-q", "-o", folder / "scaled.h5"});
  same_in_processes(folder, {"assign", points, "--centroids", folder / "scaled.h5"}, 2);
  same_in_processes(folder, {"sweep", points, "-k", "2-4", "--silhouette", "simplified"}, 3);
  done({"cluster", points, "-k", "9", "-q", "-o", folder / "model.h5"});
  same_in_processes(folder, {"assign", points, "--centroids", folder / "model.h5", "--save-distances"}, 3);
  done({"generate", folder / "queries.h5", "-n", "41", "-d", "6", "-k", "7", "--seed", "5", "-q"});
  same_in_processes(folder, {"knn", points, "--queries", folder / "queries.h5", "-k", "11"}, 2);
  same_in_processes(folder, {"knn", points, "--queries", folder / "queries.h5", "--radius", "3"}, 3);
  same_in_processes(folder, {"knn", points, "-k", "4", "--symmetric"}, 2);
  same_in_processes(folder, {"knn", points, "--radius", "2", "--components"}, 2);
}

TEST_CASE("several processes: weights, two limbs, more processes than rows, rows read in passes", "[processes]") {
  if (!launcher_works()) return;
  const Scratch folder;
  std::vector<float> values;
  std::vector<float> weights;
  for (int i = 0; i < 40000; ++i) {
    for (int j = 0; j < 8; ++j) values.push_back(static_cast<float>((i * 7919 + j * 104729) % 1000) * 0.01F);
    if (i % 997 == 0) values.back() = 1e9F;
    weights.push_back(0.25F + static_cast<float>(i % 5));
  }
  FileMaker(folder / "wide.h5").floats("x", {40000, 8}, values);
  FileMaker(folder / "weights.h5").floats("w", {40000}, weights);
  FileMaker(folder / "few.h5").floats("x", {3, 8}, std::vector<float>(values.begin(), values.begin() + 24));
  const std::string points = folder / "wide.h5";
  same_in_processes(folder, {"cluster", points, "-k", "12", "--weights", folder / "weights.h5"}, 3);
  same_in_processes(folder, {"cluster", folder / "few.h5", "-k", "2"}, 5);
  // Too little memory for the share of each of two processes.
  done({"generate", folder / "many.h5", "-n", "200000", "-d", "64", "-k", "12", "-q"});
  const Words words{"cluster", folder / "many.h5", "-k", "12", "--init", "random", "--max-iterations", "9", "-f"};
  Words whole = words, part = words;
  whole.insert(whole.end(), {"-q", "-o", folder / "whole.h5"});
  part.insert(part.end(), {"-o", folder / "part.h5", "--memory", "24MB", "--json"});
  done(whole);
  const nlohmann::json report = done(part, of_processes(2)).json();
  REQUIRE(report.contains("streamed"));
  CHECK(report["streamed"]["passes"] > 5);
  CHECK(report["processes"].size() == 2);
  CHECK(report["processes"][1]["rows"] == 100000);
  CHECK(report["processes"][1]["bytes"] > 0);
  CHECK(bytes_of(folder / "part.h5") == bytes_of(folder / "whole.h5"));
}

TEST_CASE("an error of one process is shown once, with its place, and ends all", "[processes]") {
  if (!launcher_works()) return;
  const Scratch folder;
  std::vector<float> values(3000, 1.0F);
  values[2900] = std::numeric_limits<float>::quiet_NaN();
  FileMaker(folder / "x.h5").floats("x", {1000, 3}, values);
  const Outcome outcome = run_kith({"cluster", folder / "x.h5", "-k", "3", "-o", folder / "out.h5"}, of_processes(3));
  INFO(outcome.err);
  CHECK(outcome.code == 3);
  CHECK(outcome.says("process 2 on host"));
  CHECK(outcome.says("row 967, column 3"));
  CHECK(outcome.err.find("row 967") == outcome.err.rfind("row 967"));
  CHECK(files_in(folder) == Words{"x.h5"});
}

TEST_CASE("what several processes cannot do is refused with the reason", "[processes]") {
  if (!launcher_works()) return;
  const Scratch folder;
  const std::string points = points_file(folder);
  const auto refuses_all = [](const Words& words, const std::string& said) {
    const Outcome outcome = run_kith(words, of_processes(2));
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.says(said));
  };
  refuses_all({"cluster", points, "-k", "3", "--nan", "drop"}, "--nan drop changes the numbers of rows");
  refuses_all({"cluster", "-", "-k", "3"}, "standard input reaches one process");
  refuses_all({"info", points}, "expected a command that several processes can divide");
  const Outcome deadline = run_kith({"cluster", points, "-k", "3"}, of_processes(2, {"KITH_MPI_DEADLINE=10min"}));
  INFO(deadline.err);
  CHECK(deadline.code == 2);
  CHECK(deadline.says("KITH_MPI_DEADLINE: expected a number of seconds"));
  // Processes with other options, or with another file of the same name.
  const Words mixed{"cluster", points, "-k", "3", ":", "-n", "1", KITH_MPI_BINARY, "cluster", points, "-k", "4"};
  const Outcome outcome = run_kith(mixed, of_processes(1));
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.says("run different commands"));
  // A launcher that this MPI does not understand starts processes that are all alone.
  const Setting alone{.environment = {"SLURM_NTASKS=4"}, .program = KITH_MPI_BINARY};
  refuses(2, {"cluster", points, "-k", "3"}, {"expected 4 processes", "srun --mpi=pmix"}, alone);
}

TEST_CASE("a killed process ends the run", "[processes]") {
  if (!launcher_works()) return;
  LongRun run(kForEver);
  const Outcome outcome = run.end_by(1, SIGKILL);
  INFO(outcome.err);
  CHECK(outcome.code == 128 + SIGKILL);
  CHECK(!run.has_result());
}

TEST_CASE("a process that does not answer is named after the deadline", "[processes]") {
  if (!launcher_works()) return;
  LongRun run(kForEver, {"KITH_MPI_DEADLINE=2"});
  const Outcome outcome = run.end_by(2, SIGSTOP);
  INFO(outcome.err);
  CHECK(outcome.code == 4);
  CHECK(outcome.says("expected an answer of process 2"));
  CHECK(!run.has_result());
}

TEST_CASE("a checkpoint that processes use is refused to other runs", "[processes]") {
  if (!launcher_works()) return;
  LongRun run(kForEver);
  const Scratch elsewhere;
  const Words second{"cluster", kDigits, "-k", "3", "-q", "-o", elsewhere / "o.h5", "--checkpoint", run.checkpoint()};
  refuses(5, second, {"another run uses it now"});
  const Outcome outcome = run_kith(second, of_processes(2));
  CHECK(outcome.code == 5);
  CHECK(outcome.says("another run uses it now"));
  run.end_by(0, SIGTERM);
  refuses(2, second, {"expected a checkpoint of 'cluster digits.h5"});
}

TEST_CASE("a signal to one process stops all, and another number of them continues", "[processes]") {
  if (!launcher_works()) return;
  LongRun run(60);
  const Outcome outcome = run.end_by(1, SIGTERM);
  INFO(outcome.err);
  REQUIRE(outcome.code == 128 + SIGTERM);
  CHECK(outcome.says("continue with: kith resume"));
  CHECK(outcome.err.find("stopping after") == outcome.err.rfind("stopping after"));
  CHECK(!run.has_result());
  done({"resume", run.checkpoint()}, of_processes(2));
  CHECK(bytes_of(run.result()) == run.bytes_alone());
  CHECK(!std::filesystem::exists(run.checkpoint()));
}
