// One call of the system fails, or the program is killed there: what remains is right or absent, whichever call it is.
//
// Without KITH_FAULTS a selection runs. KITH_FAULTS=all fails every call of every command (for malloc 200 of them) and
// prints the table of docs/trust.md; KITH_FAULTS=NAME does so for one command.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tests/support/program.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// Thousands of runs sync their files; in memory that takes no time.
const bool uses_memory = access("/dev/shm", W_OK) == 0 && setenv("TMPDIR", "/dev/shm", 0) == 0;

using Files = std::map<std::string, std::string>;  // bytes by name

struct Command {
  const char* name;
  Words words;
  Words outputs;
  bool replaces = false;  // the outputs exist before
};

const std::vector<Command> kCommands{
    {"cluster", {"cluster", "points.csv", "-k", "3", "-o", "out.h5"}, {"out.h5"}},
    {"cluster --force", {"cluster", "points.csv", "-k", "3", "-f", "-o", "out.h5"}, {"out.h5"}, true},
    {"cluster, csv", {"cluster", "points.h5:/points", "-k", "3", "-o", "out.csv"}, {"out.csv"}},
    {"cluster, npy", {"cluster", "points.h5:/points", "-k", "3", "-f", "-o", "out.npy"}, {"out.npy"}, true},
    {"cluster --write-obs",
     {"cluster", "cells.h5ad:/X", "-k", "3", "--write-obs", "km", "-o", "out.h5ad"},
     {"out.h5ad"}},
    {"cluster --init", {"cluster", "points.csv", "-k", "3", "--init", "stopped.h5", "-o", "out.h5"}, {"out.h5"}},
    {"assign", {"assign", "points.csv", "--centroids", "clusters.h5", "-o", "out.h5"}, {"out.h5"}},
    {"knn", {"knn", "points.csv", "-k", "2", "-o", "out.h5"}, {"out.h5"}},
    {"knn, bigann", {"knn", "points.csv", "-k", "2", "--format", "bigann", "-o", "out.bin"}, {"out.bin"}},
    {"knn, csv", {"knn", "points.csv", "-k", "2", "--graph", "-o", "out.csv"}, {"out.csv"}},
    {"distances", {"distances", "points.csv", "-o", "out.h5"}, {"out.h5"}},
    {"evaluate", {"evaluate", "clusters.h5:/labels", "--points", "points.csv", "-o", "out.h5"}, {"out.h5"}},
    {"sweep", {"sweep", "points.csv", "-k", "2-3", "-o", "out.h5"}, {"out.h5"}},
    {"sweep, csv", {"sweep", "points.csv", "-k", "2-3", "-o", "out.csv"}, {"out.csv"}},
    {"report", {"report", "clusters.h5", "--points", "points.csv", "-o", "out.html"}, {"out.html"}},
    {"generate", {"generate", "out.h5", "-n", "500", "-d", "3"}, {"out.h5"}},
    {"info", {"info", "clusters.h5", "points.csv", "--stats"}, {}},
};

struct Fault {
  const char* call;
  const char* action;  // an error number, "short" or "kill"
  const char* shown;
};
const std::vector<Fault> kFaults{
    {"open", "24", "EMFILE"},    {"read", "5", "EIO"},        {"read", "short", "short"},
    {"pread", "5", "EIO"},       {"pread", "short", "short"}, {"write", "28", "ENOSPC"},
    {"write", "short", "short"}, {"pwrite", "28", "ENOSPC"},  {"pwrite", "short", "short"},
    {"fsync", "5", "EIO"},       {"rename", "5", "EIO"},      {"close", "122", "EDQUOT"},
    {"mmap", "12", "ENOMEM"},    {"malloc", "12", "ENOMEM"},  {"pthread_create", "11", "EAGAIN"}};
constexpr long kMostMallocs = 200, kKills = 200;

std::string setting_of_test() {
  const char* value = std::getenv("KITH_FAULTS");
  return value != nullptr ? value : "";
}

std::string points_as_csv() {
  std::string text = "x,y,z\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{},{}\n", i % 3 * 10 + i * 0.01, i % 7, i % 5 * 0.5);
  return text;
}

/// A matrix /X and obs with an index of texts, as anndata writes them, without what kith does not read.
void make_cells(const std::string& name) {
  FileMaker maker(name);
  std::vector<float> values;
  for (int i = 0; i < 180; ++i) values.push_back(static_cast<float>(i % 9) + static_cast<float>(i % 3) * 20.0F);
  maker.floats("X", {60, 3}, values, {.chunk = {16, 3}, .deflate = 4});
  maker.group("obs");
  const data::Handle text = data::utf8_type(H5T_VARIABLE), obs(H5Gopen2(maker.id(), "obs", H5P_DEFAULT));
  const std::vector<const char*> index(60, "cell"), order{"batch"};
  maker.dataset("obs/_index", text.get(), {60}, text.get(), index.data());
  maker.dataset("obs/batch", H5T_STD_I32LE, {60}, H5T_NATIVE_INT32, std::vector<int>(60, 7).data());
  const auto attribute = [&](const char* attribute_name, const data::Handle& space, const void* value) {
    const data::Handle made(H5Acreate2(obs.get(), attribute_name, text.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Awrite(made.get(), text.get(), value) >= 0);
  };
  const hsize_t one = 1;
  const char* index_name = "_index";
  attribute("_index", data::Handle(H5Screate(H5S_SCALAR)), &index_name);
  attribute("column-order", data::Handle(H5Screate_simple(1, &one, nullptr)), order.data());
}

/// A folder with the inputs of the commands, and what one command makes of them.
class Experiment {
 public:
  explicit Experiment(const Command& command) : command_(command) {
    write_bytes(folder_ / "points.csv", points_as_csv());
    {
      FileMaker maker(folder_ / "points.h5");
      std::vector<float> values(180);
      for (int i = 0; i < 180; ++i) values[i] = static_cast<float>(i * i % 101);
      maker.floats("points", {60, 3}, values);
    }
    make_cells(folder_ / "cells.h5ad");
    const Setting here{.folder = folder_.path()};
    done({"cluster", "points.csv", "-k", "3", "-q", "-o", "clusters.h5"}, here);
    done({"cluster", "points.csv", "-k", "3", "-q", "--max-iterations", "1", "-o", "stopped.h5"}, here);
    if (command.replaces) {
      for (const std::string& output : command.outputs) write_bytes(folder_ / output, "old");
    }
    before_ = files();
    const Outcome outcome = run({fmt::format("KITH_FAULT_COUNTS={}", counts_ / "counts")});
    INFO(command.name << ": " << outcome.err);
    REQUIRE(outcome.code == 0);
    good_out_ = outcome.out;
    good_ = files();
    std::istringstream lines(bytes_of(counts_ / "counts"));
    std::string call;
    for (long count = 0; lines >> call >> count;) calls_[call] = count;
    REQUIRE(calls_["open"] > 0);
    restore();
  }

  long calls(const std::string& call) const { return calls_.at(call); }

  /// Runs the command with a fault. Returns what is wrong afterwards, or an empty text.
  std::string try_fault(const Fault& fault, long call) {
    const Outcome outcome = run({fmt::format("KITH_FAULT={}:{}:{}", fault.call, call, fault.action)});
    const Files after = files();
    std::string problem = problem_of(fault, outcome, after);
    if (!problem.empty())
      problem = fmt::format("{} {} {}: {}\n{}", fault.call, call, fault.action, problem, outcome.err);
    restore();
    return problem;
  }

  /// Kills the program at this call, and runs the command again. Returns what is wrong afterwards, or an empty text.
  std::string try_kill(const std::string& call, long number) {
    const Outcome killed = run({fmt::format("KITH_FAULT={}:{}:kill", call, number)});
    const Files between = files();
    std::string problem;
    const bool in_child = (killed.code == 3 && (killed.says("the HDF5 library was killed") ||
                                                killed.says("for the reasons that are shown"))) ||
                          (killed.code == 1 && killed.says("cannot start a process that reads HDF5 files"));
    if (killed.code != 128 + SIGKILL && killed.code != 0 && !in_child) problem = "not killed";
    for (const std::string& output : command_.outputs) {
      const auto found = between.find(output);
      const auto old = before_.find(output);
      const bool is_old =
          old == before_.end() ? found == between.end() : found != between.end() && found->second == old->second;
      if (!is_old && (found == between.end() || found->second != good_.at(output))) problem = "a wrong file after kill";
    }
    for (const auto& [name, bytes] : before_) {
      if (good_.at(name) == bytes && (between.count(name) == 0 || between.at(name) != bytes))
        problem = "an input changed";
    }
    for (const std::string& output : command_.outputs) {
      std::filesystem::remove(folder_ / output);
      if (before_.count(output) > 0) write_bytes(folder_ / output, before_.at(output));
    }
    const Outcome again = run({});
    if (again.code != 0 || files() != good_) problem = "the next run differs: " + again.err;
    if (!problem.empty()) problem = fmt::format("{} {} kill: {}", call, number, problem);
    restore();
    return problem;
  }

  long crashes() const { return crashes_; }

 private:
  Outcome run(Words environment) const {
    environment.push_back(std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY);
    Words words = command_.words;
    words.push_back("--threads=2");
    if (words[0] == "info") words.pop_back();
    return run_kith(words, {.environment = environment, .folder = folder_.path()});
  }

  std::string problem_of(const Fault& fault, const Outcome& outcome, const Files& after) {
    const bool is_memory = std::string(fault.call) == "malloc" || std::string(fault.call) == "mmap";
    if (outcome.code == 0) {
      if (after != good_) return "success, but the files are not those of an undisturbed run";
      return outcome.out == good_out_ || !command_.outputs.empty() ? "" : "success, but another text: " + outcome.out;
    }
    for (const auto& [name, bytes] : after) {
      const bool is_old = before_.count(name) > 0 && before_.at(name) == bytes;
      const bool is_right = good_.count(name) > 0 && good_.at(name) == bytes;
      if (!is_old && !is_right) return fmt::format("failure, and {} remains", name);
    }
    for (const auto& [name, bytes] : before_) {
      if (after.count(name) == 0) return fmt::format("failure, and {} is gone", name);
    }
    if (is_memory && (outcome.code == 128 + SIGSEGV || outcome.code == 128 + SIGABRT) && outcome.says("kith: ")) {
      ++crashes_;  // in the HDF5 library, or in the C library whose heap it has damaged
      return "";
    }
    if (outcome.code > 5) return fmt::format("exit code {}", outcome.code);
    if (outcome.code == 1 && !(is_memory && outcome.says("out of memory"))) return "internal error";
    return outcome.says("kith: ") ? "" : "no message";
  }

  Files files() const {
    Files all;
    for (const std::string& name : files_in(folder_)) all[name] = bytes_of(folder_ / name);
    return all;
  }

  void restore() const {
    for (const std::string& name : files_in(folder_)) {
      if (before_.count(name) == 0) std::filesystem::remove(folder_ / name);
    }
    for (const std::string& output : command_.outputs) {
      if (before_.count(output) > 0) write_bytes(folder_ / output, before_.at(output));
    }
  }

  const Command& command_;
  Scratch folder_, counts_;
  Files before_, good_;
  std::string good_out_;
  std::map<std::string, long> calls_;
  long crashes_ = 0;
};

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
  if (is_sanitized()) {
    WARN("skipped: nothing can be preloaded before a sanitizer");
    return;
  }
  const std::string chosen = setting_of_test();
  const bool all = !chosen.empty();
  if (all) fmt::print("| command | fault | calls | tried | wrong | HDF5 crashed |\n|---|---|---|---|---|---|\n");
  for (const Command& command : kCommands) {
    if (all && chosen != "all" && chosen != command.name) continue;
    Experiment experiment(command);
    for (const Fault& fault : kFaults) {
      const long count = experiment.calls(fault.call);
      const bool is_malloc = std::string(fault.call) == "malloc";
      const std::vector<long> places = some_of(count, !all ? 1 : is_malloc ? kMostMallocs : count);
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
  if (is_sanitized()) return;
  for (const std::size_t command : {0, 4}) {
    Experiment experiment(kCommands[command]);
    for (const Fault& fault : {Fault{"close", "122", ""}, Fault{"pwrite", "28", ""}}) {
      for (long call = 1; call <= experiment.calls(fault.call); ++call) {
        const std::string problem = experiment.try_fault(fault, call);
        INFO(kCommands[command].name << ": " << problem);
        CHECK(problem.empty());
      }
    }
  }
}

TEST_CASE("without threads the program computes with one") {
  if (is_sanitized()) return;
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

TEST_CASE("a thread of a device that does not start ends the run, and no other waits for ever") {
  if (is_sanitized()) return;
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "20000", "-d", "3", "-q"});
  int refused = 0;
  for (int call = 1; call <= 5; ++call) {
    const Words failing{std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY,
                        fmt::format("KITH_FAULT=pthread_create:{}:11", call)};
    const Outcome outcome = run_kith(
        {"cluster", folder / "x.h5", "-k", "3", "--backend", "cpu", "--threads", "1", "--devices", "0,0,0,0", "-q"},
        {.environment = failing});
    INFO("call " << call << ": " << outcome.err);
    CHECK((outcome.code == 0 || (outcome.code == 4 && outcome.says("threads for the devices"))));
    refused += outcome.code == 4 ? 1 : 0;
  }
  CHECK(refused == 3);
}

TEST_CASE("a result is written or refused in any address space, without a crash in the HDF5 library") {
  if (is_sanitized()) return;
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
    CHECK(outcome.code <= 5);
    CHECK(std::filesystem::exists(out) == (outcome.code == 0));
  }
  std::filesystem::remove(out);
  CHECK(files_in(folder) == Words{"p.csv"});
}

TEST_CASE("82: a file system without locks") {
  if (is_sanitized()) return;
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
}

TEST_CASE("a killed run leaves nothing that is wrong, and the next run removes its temporary file") {
  if (is_sanitized()) return;
  const std::string chosen = setting_of_test();
  if (!chosen.empty()) fmt::print("| command | killed | wrong |\n|---|---|---|\n");
  for (const Command& command : kCommands) {
    const bool is_quick = command.name == std::string("cluster") || command.name == std::string("cluster --write-obs");
    if (chosen.empty() ? !is_quick : chosen != "all" && chosen != command.name) continue;
    Experiment experiment(command);
    const auto places = places_to_kill(experiment, chosen.empty() ? 8 : kKills);
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
