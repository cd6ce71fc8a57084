// Every command of docs/tour.md prints what the page shows.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/support/program.h"

using namespace kith::testing;

namespace {

struct Step {
  std::string command;  // "kith cluster ..."
  Words said;           // the lines below it on the page
};

/// The commands of the indented code blocks: lines that begin with a dollar sign.
std::vector<Step> steps_of(const std::string& page) {
  const std::string indent = "    ", prompt = indent + "$ ";
  std::vector<Step> steps;
  bool in_block = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(prompt)) {
      steps.push_back({line.substr(prompt.size()), {}});
      for (std::string& command = steps.back().command; command.ends_with('\\');) {
        command.pop_back();
        if (std::getline(lines, line)) command += line;
      }
      in_block = true;
    } else if (in_block && (line.empty() || line.starts_with(indent))) {
      steps.back().said.push_back(line.empty() ? "" : line.substr(indent.size()));
    } else {
      in_block = false;
    }
  }
  for (Step& step : steps) {
    while (!step.said.empty() && step.said.back().empty()) step.said.pop_back();
  }
  return steps;
}

/// Without the lines that differ between machines, which may continue on further lines.
Words portable(const Words& lines) {
  Words kept;
  bool differs = false;
  for (const std::string& line : lines) {
    differs = line.starts_with("backend ") || line.starts_with("time ") || (differs && line.starts_with(" "));
    if (!differs) kept.push_back(line);
  }
  return kept;
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return portable(lines);
}

/// Checks what a terminal shows: the lines of both streams, each stream in its own order.
void check_said(const Words& said, const Words& out, const Words& err) {
  std::size_t from_out = 0, from_err = 0;
  for (const std::string& line : portable(said)) {
    INFO("on the page: " << line);
    if (from_out < out.size() && out[from_out] == line) {
      ++from_out;
    } else {
      REQUIRE(from_err < err.size());
      CHECK(err[from_err++] == line);
    }
  }
  CHECK(from_out == out.size());
  CHECK(from_err == err.size());
}

}  // namespace

TEST_CASE("every command of the tour prints what the page shows") {
  const Scratch folder;
  const std::string root = KITH_SOURCE_DIR;
  std::filesystem::copy(root + "/samples", folder / "samples");
  const std::vector<Step> steps = steps_of(bytes_of(root + "/docs/tour.md"));
  Words commands;
  const std::string programs = std::filesystem::path(KITH_BINARY).parent_path().string();
  for (const Step& step : steps) {
    const std::string line =
        fmt::format("cd '{}' && export PATH='{}':\"$PATH\" COLUMNS=80 KITH_PROGRESS=never && {{ {}; }} > '{}' 2> '{}'",
                    folder / "", programs, step.command, folder / "out", folder / "err");
    const int code = std::system(line.c_str());
    INFO(step.command << "\n" << bytes_of(folder / "err"));
    const bool is_stopped = step.command.find("--time-limit") != std::string::npos;
    REQUIRE(WEXITSTATUS(code) == (is_stopped ? 124 : 0));
    check_said(step.said, lines_of(bytes_of(folder / "out")), lines_of(bytes_of(folder / "err")));
    commands.push_back(step.command.substr(0, step.command.find(' ', 5)));
  }
  for (const char* name : {"cluster", "sweep", "evaluate", "assign", "report", "knn", "image"}) {
    CHECK(std::count(commands.begin(), commands.end(), fmt::format("kith {}", name)) > 0);
  }
}
