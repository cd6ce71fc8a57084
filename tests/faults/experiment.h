// A command whose calls of the system fail, one in each run, and what is wrong with the files afterwards.
#pragma once

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/commands.h"

namespace kith::testing {

struct Fault {
  const char* call;
  const char* action;  // an error number, "short" or "kill"
  const char* shown;
};

/// A folder with the inputs of the commands, and what one command makes of them.
class Experiment {
 public:
  explicit Experiment(const FaultyCommand& command) : command_(command) {
    const Words& words = command.words;
    saves_ = command.resumes || std::find(words.begin(), words.end(), "--checkpoint") != words.end();
    make_inputs(folder_, command);
    before_ = files();
    const Outcome outcome = run({fmt::format("KITH_FAULT_COUNTS={}", counts_ / "counts")});
    INFO(command.name << ": " << outcome.err);
    REQUIRE(outcome.code == 0);
    good_out_ = outcome.out;
    good_ = files();
    for (const std::string& output : command.outputs) REQUIRE(good_.count(output) == 1);
    std::istringstream lines(bytes_of(counts_ / "counts"));
    std::string call;
    for (long count = 0; lines >> call >> count;) calls_[call] = count;
    REQUIRE(calls_["open"] > 0);
    restore();
  }

  long calls(const std::string& call) const { return calls_.at(call); }
  /// Runs that ended by a signal in the HDF5 library, for want of memory.
  long crashes() const { return crashes_; }

  /// Runs the command with a fault. Returns what is wrong afterwards, or an empty text.
  std::string try_fault(const Fault& fault, long call) {
    const Outcome outcome = run({fmt::format("KITH_FAULT={}:{}:{}", fault.call, call, fault.action)});
    std::string problem = problem_of(fault, outcome, files());
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
      if (!is_old(output, between) && !is_right(output, between)) problem = "a wrong file after kill";
    }
    for (const auto& [name, bytes] : before_) {
      if (!is_output(name) && !is_state(name) && !is_old(name, between)) problem = "an input changed";
    }
    if (const std::string later = problem_of_next(between); !later.empty()) problem = later;
    if (!problem.empty()) problem = fmt::format("{} {} kill: {}", call, number, problem);
    restore();
    return problem;
  }

 private:
  using Files = std::map<std::string, std::string>;  // bytes by name

  Outcome run(Words environment) const {
    environment.push_back(std::string("LD_PRELOAD=") + KITH_FAULTS_LIBRARY);
    Words words = command_.words;
    if (words[0] != "info" && words[0] != "table") words.push_back("--threads=2");
    return run_kith(words, {.environment = environment, .folder = folder_.path()});
  }

  /// A checkpoint, which may stay after a failure.
  bool is_state(const std::string& name) const { return saves_ && name.starts_with("run.kith"); }
  bool is_output(const std::string& name) const {
    return std::find(command_.outputs.begin(), command_.outputs.end(), name) != command_.outputs.end();
  }
  static bool is_same(const std::string& name, const Files& a, const Files& b) {
    const auto in_a = a.find(name), in_b = b.find(name);
    if (in_a == a.end() || in_b == b.end()) return in_a == a.end() && in_b == b.end();
    return in_a->second == in_b->second;
  }
  bool is_old(const std::string& name, const Files& now) const { return is_same(name, now, before_); }
  bool is_right(const std::string& name, const Files& now) const { return is_same(name, now, good_); }
  bool all_right(const Files& now) const {
    return std::all_of(command_.outputs.begin(), command_.outputs.end(),
                       [&](const std::string& name) { return is_right(name, now); });
  }

  std::string problem_of(const Fault& fault, const Outcome& outcome, const Files& after) {
    const bool is_memory = std::string(fault.call) == "malloc" || std::string(fault.call) == "mmap";
    if (outcome.code == 0) {
      if (after != good_ && !(outcome.says("the checkpoint was not removed") && all_right(after)))
        return "success, but the files are not those of an undisturbed run";
      if (after != good_) return problem_of_next(after);
      return outcome.out == good_out_ || !command_.outputs.empty() ? "" : "success, but another text: " + outcome.out;
    }
    for (const auto& [name, bytes] : after) {
      if (!is_old(name, after) && !is_right(name, after) && !is_state(name))
        return fmt::format("failure, and {} remains", name);
    }
    for (const auto& [name, bytes] : before_) {
      if (after.count(name) == 0 && !(is_state(name) && all_right(after)))
        return fmt::format("failure, and {} is gone", name);
    }
    if (saves_) {
      if (const std::string later = problem_of_next(after); !later.empty()) return later;
    }
    if (is_memory && (outcome.code == 128 + SIGSEGV || outcome.code == 128 + SIGABRT) && outcome.says("kith: ")) {
      ++crashes_;  // in the HDF5 library, or in the C library whose heap it has damaged
      return "";
    }
    if (outcome.code > 6) return fmt::format("exit code {}", outcome.code);
    if (outcome.code == 1) return "internal error";
    if (outcome.code == 6 && !is_memory) return "no lack of memory";
    return outcome.says("kith: ") ? "" : "no message";
  }

  /// Runs the command again, undisturbed, with these files.
  std::string problem_of_next(const Files& now) const {
    const bool has_state =
        std::any_of(now.begin(), now.end(), [this](const auto& file) { return is_state(file.first); });
    if (command_.resumes && !has_state) return all_right(now) ? "" : "neither a checkpoint nor an output";
    for (const std::string& output : command_.outputs) {
      if (has_state) continue;  // the run continues, and finds its output
      std::filesystem::remove(folder_ / output);
      if (before_.count(output) > 0) write_bytes(folder_ / output, before_.at(output));
    }
    const Outcome again = run({});
    return again.code == 0 && files() == good_ ? "" : "the next run differs: " + again.err;
  }

  /// Of a report, what does not depend on time and memory.
  static std::string lasting_part(const std::string& text) {
    const auto report = nlohmann::json::parse(text, nullptr, false);
    if (!report.is_object()) return text;
    nlohmann::json lasting;
    for (const char* key : {"command", "points", "evaluation", "output"})
      lasting[key] = report.value(key, nlohmann::json());
    return lasting.dump();
  }

  Files files() const {
    Files all;
    for (const std::string& name : files_in(folder_)) {
      std::string bytes = bytes_of(folder_ / name);
      all[name] = name.ends_with(".json") ? lasting_part(bytes) : std::move(bytes);
    }
    return all;
  }

  void restore() const {
    for (const std::string& name : files_in(folder_)) {
      if (before_.count(name) == 0) std::filesystem::remove(folder_ / name);
    }
    for (const auto& [name, bytes] : before_) {
      if (is_output(name) || is_state(name)) write_bytes(folder_ / name, bytes);
    }
  }

  const FaultyCommand& command_;
  bool saves_ = false;
  Scratch folder_, counts_;
  Files before_, good_;
  std::string good_out_;
  std::map<std::string, long> calls_;
  long crashes_ = 0;
};

}  // namespace kith::testing
