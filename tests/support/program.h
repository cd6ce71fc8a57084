// Runs the kith program as a user does: with arguments, an environment, redirected streams, signals.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"

namespace kith::testing {

/// The 1797 digits: uint8, 64 columns.
inline const std::string kDigits = std::string(KITH_SOURCE_DIR) + "/samples/digits.h5";

using Words = std::vector<std::string>;

/// `text` with indented lines joined to the line above, and without the backslashes of continued commands.
inline std::string unwrapped(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(( \\)?\n +)"), " ");
}

struct Outcome {
  int code = -1;  // exit code, or 128 + the signal that ended it
  std::string out;
  std::string err;
  std::int64_t peak_bytes = 0;  // largest resident memory

  nlohmann::json json() const { return nlohmann::json::parse(out); }
  /// Whether `text` is on standard error, where long lines may have been wrapped.
  bool says(const std::string& text) const { return unwrapped(err).find(text) != std::string::npos; }
};

/// What differs from a plain run.
struct Setting {
  Words environment{};                // "KITH_SEED=3"
  std::string standard_output{};      // a file to open for it; empty: caught
  bool closed_output = false;         // no standard output at all
  bool broken_pipe = false;           // a pipe without a reader
  std::string folder{};               // to run in
  rlim_t file_bytes = RLIM_INFINITY;  // maximum size of a file
  rlim_t address_space = RLIM_INFINITY;
  std::string standard_input{};  // a file to open for it; empty: the input of the test
  Words runner{};                // a command that runs kith, such as "nice"
  std::string program = KITH_BINARY;
};

/// A started program. wait() must be called once.
class Running {
 public:
  explicit Running(const Words& words, const Setting& setting = {}) {
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) become(words, setting);
  }
  pid_t process() const { return process_; }

  Outcome wait() {
    int status = 0;
    rusage usage{};
    REQUIRE(wait4(process_, &status, 0, &usage) == process_);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, bytes_of(folder_ / "out"), bytes_of(folder_ / "err"), usage.ru_maxrss * std::int64_t{1024}};
  }

 private:
  [[noreturn]] void become(const Words& words, const Setting& setting) {
    const auto redirect = [](const std::string& file, int stream) {
      const int opened = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
      if (opened < 0 || dup2(opened, stream) < 0) _exit(126);
    };
    redirect(folder_ / "err", STDERR_FILENO);
    redirect(setting.standard_output.empty() ? folder_ / "out" : setting.standard_output, STDOUT_FILENO);
    if (!setting.standard_input.empty()) {
      const int opened = open(setting.standard_input.c_str(), O_RDONLY);
      if (opened < 0 || dup2(opened, STDIN_FILENO) < 0) _exit(126);
    }
    if (setting.closed_output) close(STDOUT_FILENO);
    int ends[2];
    if (setting.broken_pipe && (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0 || close(ends[0]) != 0)) _exit(126);
    const rlimit size{setting.file_bytes, setting.file_bytes};
    if (setting.file_bytes != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &size) != 0) _exit(126);
    const rlimit space{setting.address_space, setting.address_space};
    if (setting.address_space != RLIM_INFINITY && setrlimit(RLIMIT_AS, &space) != 0) _exit(126);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (!setting.folder.empty() && chdir(setting.folder.c_str()) != 0) _exit(126);
    signal(SIGPIPE, SIG_DFL);
    unsetenv("COLUMNS");
    for (const std::string& variable : setting.environment) putenv(const_cast<char*>(variable.c_str()));
    std::vector<char*> arguments;
    for (const std::string& word : setting.runner) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(const_cast<char*>(setting.runner.empty() ? "kith" : setting.program.c_str()));
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    setting.runner.empty() ? execv(setting.program.c_str(), arguments.data()) : execvp(arguments[0], arguments.data());
    _exit(127);
  }

  Scratch folder_;
  pid_t process_ = -1;
};

inline Outcome run_kith(const Words& words, const Setting& setting = {}) { return Running(words, setting).wait(); }

/// A run that must succeed.
inline Outcome done(const Words& words, const Setting& setting = {}) {
  Outcome outcome = run_kith(words, setting);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome;
}

/// A run that must exit with this code, with all of these texts on standard error and nothing on standard output, but
/// the error with --json.
inline void refuses(int code, const Words& words, const Words& said, const Setting& setting = {}) {
  const Outcome outcome = run_kith(words, setting);
  INFO("kith " << nlohmann::json(words).dump() << "\n" << outcome.err);
  CHECK(outcome.code == code);
  if (std::find(words.begin(), words.end(), "--json") == words.end()) {
    CHECK(outcome.out.empty());
  } else {
    CHECK(outcome.json()["error"]["code"] == code);
  }
  for (const std::string& text : said) {
    INFO("expected: " << text);
    CHECK(outcome.says(text));
  }
}

/// Names of the files in a folder, including hidden ones.
inline std::vector<std::string> files_in(const Scratch& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether a sanitizer is in the program: its library has to be loaded first, and it needs much address space.
inline bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

/// Waits up to half a minute for something to become true.
inline bool eventually(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 3000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Backends that are usable according to `kith devices`. KITH_REQUIRE=cuda makes a missing one a failure.
inline Words usable_backends() {
  Words names;
  const nlohmann::json report = done({"devices", "--json"}).json();
  for (const auto& backend : report["backends"]) {
    const std::string name = backend["name"];
    if (backend["usable"] && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  REQUIRE(std::find(names.begin(), names.end(), "cpu") != names.end());
  const char* required = std::getenv("KITH_REQUIRE");
  if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
    REQUIRE(std::find(names.begin(), names.end(), "cuda") != names.end());
  }
  return names;
}

}  // namespace kith::testing
