// Starts kith in a process of its own, and collects what it writes and how it ends.
#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>
#include <thread>

template class nlohmann::basic_json<>;

namespace kith::testing {
namespace {

/// Becomes the program, in a forked process; its output goes to files of the folder.
[[noreturn]] void become(const Words& words, const Setting& setting, const Scratch& folder) {
  const auto redirect = [](const std::string& file, int stream) {
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
    if (opened < 0 || dup2(opened, stream) < 0) _exit(126);
  };
  redirect(folder / "err", STDERR_FILENO);
  redirect(setting.standard_output.empty() ? folder / "out" : setting.standard_output, STDOUT_FILENO);
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

}  // namespace

std::string unwrapped(const std::string& text) {
  static const std::regex continued(R"(( \\)?\n +)");
  return std::regex_replace(text, continued, " ");
}

nlohmann::json Outcome::json() const { return nlohmann::json::parse(out); }
bool Outcome::says(const std::string& text) const { return unwrapped(err).find(text) != std::string::npos; }

Running::Running(const Words& words, const Setting& setting) {
  process_ = fork();
  REQUIRE(process_ >= 0);
  if (process_ == 0) become(words, setting, folder_);
}

Outcome Running::wait() {
  int status = 0;
  rusage usage{};
  REQUIRE(wait4(process_, &status, 0, &usage) == process_);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, bytes_of(folder_ / "out"), bytes_of(folder_ / "err"), usage.ru_maxrss * std::int64_t{1024}};
}

Outcome run_kith(const Words& words, const Setting& setting) { return Running(words, setting).wait(); }

Outcome done(const Words& words, const Setting& setting) {
  Outcome outcome = run_kith(words, setting);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome;
}

void refuses(int code, const Words& words, const Words& said, const Setting& setting) {
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

std::vector<std::string> files_in(const Scratch& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool eventually(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 3000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

Words usable_backends() {
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
