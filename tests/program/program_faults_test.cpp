// One call of the system fails, or the program is killed there: what remains is right or absent, whichever call it is.
//
// Without KITH_FAULTS a selection runs. KITH_FAULTS=all fails every call of every command (for malloc 200 of them) and
// prints the table of docs/trust.md; KITH_FAULTS=NAME does so for one command.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>

#include "tests/faults/experiment.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"
#include "tests/support/streamed_runs.h"

using namespace kith;
using namespace kith::testing;

namespace {

constexpr const char* kSanitizer = "nothing can be preloaded before a sanitizer, which also takes much memory";

/// Thousands of runs sync their files; in memory that takes no time.
const bool uses_memory = access("/dev/shm", W_OK) == 0 && setenv("TMPDIR", "/dev/shm", 0) == 0;

const std::vector<Fault> kFaults{
    {"open", "24", "EMFILE"},    {"read", "5", "EIO"},        {"read", "short", "short"},
    {"pread", "5", "EIO"},       {"pread", "short", "short"}, {"write", "28", "ENOSPC"},
    {"write", "short", "short"}, {"pwrite", "28", "ENOSPC"},  {"pwrite", "short", "short"},
    {"fsync", "5", "EIO"},       {"rename", "5", "EIO"},      {"close", "122", "EDQUOT"},
    {"mmap", "12", "ENOMEM"},    {"malloc", "12", "ENOMEM"},  {"pthread_create", "11", "EAGAIN"}};
constexpr long kMostMallocs = 200, kKills = 200;
constexpr long kMostOfLarge = 50;  // of each kind, and of kills, for a command that takes a second

std::string setting_of_test() {
  const char* value = std::getenv("KITH_FAULTS");
  return value != nullptr ? value : "";
}

/// `most` numbers of 1 .. count, evenly spread, with the first and the last.
std::vector<long> some_of(long count, long most) {
  std::vector<long> chosen;
  if (count <= most) most = count;
  for (long i = 0; i < most; ++i) chosen.push_back(most == 1 ? count : 1 + i * (count - 1) / (most - 1));
  return chosen;
}

/// Kills spread over the calls that touch files and threads.
std::vector<std::pair<std::string, long>> places_to_kill(const Experiment& experiment, long most) {
  std::vector<std::pair<std::string, long>> all, chosen;
  for (const char* call : {"open", "read", "pread", "pwrite", "fsync", "rename", "close", "pthread_create", "malloc"}) {
    const long count = experiment.calls(call);
    for (const long n : some_of(count, std::string(call) == "malloc" ? most / 2 : count)) all.emplace_back(call, n);
  }
  for (const long n : some_of(std::ssize(all), most)) chosen.push_back(all[n - 1]);
  return chosen;
}

}  // namespace

TEST_CASE("no failing call leaves a wrong file, a temporary file or no message") {
  if (is_sanitized()) return skipped(kSanitizer);
  const std::string chosen = setting_of_test();
  const bool all = !chosen.empty();
  if (all) fmt::print("| command | fault | calls | tried | wrong | HDF5 crashed |\n|---|---|---|---|---|---|\n");
  for (const FaultyCommand& command : faulty_commands()) {
    if (all ? chosen != "all" && chosen != command.name : command.is_large) continue;
    Experiment experiment(command);
    for (const Fault& fault : kFaults) {
      const long count = experiment.calls(fault.call);
      const bool is_malloc = std::string(fault.call) == "malloc";
      const long most = command.is_large ? kMostOfLarge : is_malloc ? kMostMallocs : count;
      const std::vector<long> places = some_of(count, all ? most : 1);
      const long crashes = experiment.crashes();
      long wrong = 0;
      for (const long call : places) {
        const std::string problem = experiment.try_fault(fault, call);
        INFO(command.name << ": " << problem);
        CHECK(problem.empty());
        if (!problem.empty()) ++wrong;
      }
      if (all && count > 0) {
        fmt::print("| {} | {} {} | {} | {} | {} | {} |\n", command.name, fault.call, fault.shown, count, places.size(),
                   wrong, experiment.crashes() - crashes);
        std::fflush(stdout);
      }
    }
  }
}

TEST_CASE("every failing close and write of a result and of a copy is noticed") {
  if (is_sanitized()) return skipped(kSanitizer);
  for (const std::size_t command : {0, 4}) {
    Experiment experiment(faulty_commands()[command]);
    for (const Fault& fault : {Fault{"close", "122", ""}, Fault{"pwrite", "28", ""}}) {
      for (long call = 1; call <= experiment.calls(fault.call); ++call) {
        const std::string problem = experiment.try_fault(fault, call);
        INFO(faulty_commands()[command].name << ": " << problem);
        CHECK(problem.empty());
      }
    }
  }
}

TEST_CASE("without threads the program computes with one") {
  if (is_sanitized()) return skipped(kSanitizer);
  const Scratch folder;
  write_bytes(folder / "points.csv", points_as_csv());
  const Words none{std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY, "KITH_FAULT=pthread_create:0:11"};
  const Words run{"cluster", folder / "points.csv", "-k", "3", "-q", "-o"};
  const auto with = [&run](Words more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  done(with({folder / "usual.h5"}));
  done(with({folder / "alone.h5"}), {.environment = none});
  CHECK(bytes_of(folder / "alone.h5") == bytes_of(folder / "usual.h5"));
  done({"cluster", folder / "points.csv", "-k", "3", "--progress", "always"}, {.environment = none});
  refuses(4, with({folder / "more.h5", "--threads", "2"}), {"only 1 of 2 threads", "ulimit -u", "pids.max"},
          {.environment = none});
}

TEST_CASE("without threads points larger than the memory are read in passes") {
  if (is_sanitized()) return skipped(kSanitizer);
  const Scratch folder;
  write_npy(folder / "x.npy", streamed_values(kStreamedRows, 1));
  const Words run{"cluster", folder / "x.npy", "-k", "3", "--init", "first", "--max-iterations", "2", "-q", "-o"};
  done(run + Words{folder / "usual.h5"});
  const Words none{std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY, "KITH_FAULT=pthread_create:0:11"};
  const Words little{"--memory", "13MB", "--json"};
  const Outcome alone = done(run + Words{folder / "alone.h5"} + little, {.environment = none});
  CHECK(alone.json()["streamed"]["passes"] > 2);
  CHECK(bytes_of(folder / "alone.h5") == bytes_of(folder / "usual.h5"));
}

TEST_CASE("a thread of a device that does not start ends the run, and no other waits for ever") {
  if (is_sanitized()) return skipped(kSanitizer);
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "20000", "-d", "3", "-q"});
  int refused = 0;
  for (int call = 1; call <= 8; ++call) {
    const Words failing{std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY,
                        fmt::format("KITH_FAULT=pthread_create:{}:11", call)};
    const Outcome outcome = run_kith(
        {"cluster", folder / "x.h5", "-k", "3", "--backend", "cpu", "--threads", "1", "--devices", "0,0,0,0", "-q"},
        {.environment = failing});
    INFO("call " << call << ": " << outcome.err);
    CHECK((outcome.code == 0 || (outcome.code == 4 && outcome.says("name fewer devices"))));
    refused += outcome.code == 4 ? 1 : 0;
  }
  CHECK(refused == 6);  // three that open the other devices, and three that compute with them
}

TEST_CASE("a result is written or refused in any address space, without a crash in the HDF5 library") {
  if (is_sanitized()) return skipped(kSanitizer);
  constexpr rlim_t kStep = rlim_t{1} << 18, kBelow = rlim_t{16} << 20;
  const Scratch folder;
  const std::string points = folder / "p.csv", out = folder / "o.h5";
  write_bytes(points, points_as_csv());
  const auto run_within = [&](rlim_t bytes) {
    std::filesystem::remove(out);
    return run_kith({"cluster", points, "-k", "3", "-q", "--threads=1", "-o", out}, {.address_space = bytes});
  };
  rlim_t too_little = 0, enough = rlim_t{64} << 30;
  while (enough - too_little > kStep) {
    const rlim_t middle = (too_little + enough) / 2;
    (run_within(middle).code == 0 ? enough : too_little) = middle;
  }
  for (rlim_t bytes = enough; bytes > enough - std::min(kBelow, enough); bytes -= kStep) {
    const Outcome outcome = run_within(bytes);
    INFO(bytes << " bytes: " << outcome.err);
    if (outcome.code == 127) break;  // the program itself does not fit
    CHECK((outcome.code == 0 || outcome.says("out of memory") || outcome.says("Cannot allocate memory")));
    CHECK(outcome.code <= 6);
    if (outcome.code != 0 && outcome.says("out of memory")) CHECK(outcome.code == 6);
    CHECK(std::filesystem::exists(out) == (outcome.code == 0));
  }
  std::filesystem::remove(out);
  CHECK(files_in(folder) == Words{"p.csv"});
}

TEST_CASE("82: a file system without locks") {
  if (is_sanitized()) return skipped(kSanitizer);
  const Scratch folder;
  make_cells(folder / "c.h5ad");
  const std::string other_file = ".o.h5.1-0123456789abcdef.part";
  const Setting none{.environment = {std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY, "KITH_FAULT=flock:0:95"}};
  const Words cluster{"cluster", folder / "c.h5ad:/X", "-k", "3", "-q", "-o"};
  for (const Words& more : {Words{}, Words{"--write-obs", "km"}}) {
    Words usual = cluster, other = cluster;
    usual.push_back(folder / "usual.h5");
    other.push_back(folder / "o.h5");
    for (Words* words : {&usual, &other}) words->insert(words->end(), more.begin(), more.end());
    done(usual);
    write_bytes(folder / other_file, "of another process, or of one that was killed");
    done(other, none);
    CHECK(std::filesystem::remove(folder / other_file));  // without locks nobody knows
    CHECK(bytes_of(folder / "o.h5") == bytes_of(folder / "usual.h5"));
    for (const char* name : {"o.h5", "usual.h5"}) std::filesystem::remove(folder / name);
  }
  done({"info", folder / "c.h5ad"}, none);
  Words kept = cluster;
  kept.insert(kept.end(), {folder / "o.h5", "--checkpoint", folder / "run.kith"});
  const Outcome outcome = done(kept, none);
  CHECK(outcome.says("run.kith: this file system has no locks; start no other run with this checkpoint"));
  CHECK(files_in(folder) == Words{"c.h5ad", "o.h5"});
}

TEST_CASE("a killed run leaves nothing that is wrong, and the next run removes its temporary file") {
  if (is_sanitized()) return skipped(kSanitizer);
  const std::string chosen = setting_of_test();
  if (!chosen.empty()) fmt::print("| command | killed | wrong |\n|---|---|---|\n");
  for (const FaultyCommand& command : faulty_commands()) {
    const bool is_quick = command.name == std::string("cluster") || command.name == std::string("cluster --write-obs");
    if (chosen.empty() ? !is_quick : chosen != "all" && chosen != command.name) continue;
    Experiment experiment(command);
    const auto places = places_to_kill(experiment, chosen.empty() ? 8 : command.is_large ? kMostOfLarge : kKills);
    long wrong = 0;
    for (const auto& [call, number] : places) {
      const std::string problem = experiment.try_kill(call, number);
      INFO(command.name << ": " << problem);
      CHECK(problem.empty());
      if (!problem.empty()) ++wrong;
    }
    if (!chosen.empty()) fmt::print("| {} | {} | {} |\n", command.name, places.size(), wrong);
  }
}
