// Commands that become another one: resume, plan, and bench, which is a program of its own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "app/cli/options.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "core/error.h"
#include "data/io/location.h"
#include "data/results/checkpoint_file.h"

namespace kith::app {
namespace {

constexpr std::array<std::string_view, 3> kWithCheckpoints{"cluster", "sweep", "knn"};

std::string shown(const Arguments& words) {
  std::string line = "kith";
  for (const std::string& word : words) line += " " + shell_word(word);
  return line;
}

}  // namespace

Arguments resumed(const Arguments& words) {
  const bool resumes = words.size() >= 2 && words[0] == "resume" && !words[1].starts_with('-');
  if (!resumes || std::any_of(words.begin(), words.end(), [](const auto& w) { return w == "--help" || w == "-h"; })) {
    return words;
  }
  const std::string& file = words[1];
  if (!data::file_exists(file)) {
    const std::string previous = data::previous_generation(file);
    const bool has_previous = data::file_exists(previous);
    throw Error(ExitCode::usage,
                fmt::format("resume {}: the file does not exist; {}", file,
                            has_previous ? fmt::format("the generation before it does: mv {} {}", shell_word(previous),
                                                       shell_word(file))
                                         : "a checkpoint is removed when its run has written its result"));
  }
  const data::Checkpoint checkpoint = data::read_generation(file);
  Arguments all = checkpoint.words;
  if (all.empty() || std::find(kWithCheckpoints.begin(), kWithCheckpoints.end(), all[0]) == kWithCheckpoints.end()) {
    throw Error(ExitCode::data, fmt::format("{}: expected the checkpoint of cluster, sweep or knn, found that of {}",
                                            file, all.empty() ? "no command" : all[0]));
  }
  for (auto word = all.begin(); word != all.end();) {  // the file may have another name now
    const bool named = *word == "--checkpoint" && word + 1 != all.end();
    word = named || word->starts_with("--checkpoint=") ? all.erase(word, word + (named ? 2 : 1)) : word + 1;
  }
  all.insert(all.end(), {"--checkpoint", std::filesystem::absolute(file).string()});
  all.insert(all.end(), words.begin() + 2, words.end());
  std::error_code failure;
  std::filesystem::current_path(checkpoint.directory, failure);
  if (!failure) return all;
  throw Error(ExitCode::usage, fmt::format("resume {}: the run was in the folder {}: {}; where its files are now, give "
                                           "the command again: {}",
                                           file, checkpoint.directory, failure.message(), shown(all)));
}

/// Its help; resumed() has replaced every other use by the command that it continues.
int run_resume(const Arguments& arguments) {
  std::string file;
  OptionSet set({.command = "resume",
                 .summary = "continues an interrupted run from the file of its --checkpoint. The result has the same "
                            "bytes as that of an uninterrupted run.",
                 .usage = "FILE [options of the command]",
                 .examples = {"kith resume run.kith", "kith resume run.kith --threads 4 --time-limit 2h",
                              "kith cluster points.h5 -k 1000 --checkpoint run.kith --time-limit 2h -o clusters.h5"}});
  set.positional({.names = "FILE",
                  .help = "The checkpoint. It holds the command line, which runs again in the folder where it ran "
                          "first; options given here override those of that command line. Resume only checkpoints that "
                          "you trust: kith runs the command that they contain.",
                  .required = "the checkpoint"},
                 file);
  set.parse(arguments);
  return 0;
}

namespace {

constexpr std::array<std::string_view, 7> kPlanned{"cluster",   "sweep",    "assign", "knn",
                                                   "distances", "evaluate", "resume"};

}  // namespace

Arguments planned(const Arguments& words) {
  const bool plans = words.size() >= 2 && words[0] == "plan" && !words[1].starts_with('-');
  if (!plans) return resumed(words);
  if (std::find(kPlanned.begin(), kPlanned.end(), words[1]) == kPlanned.end()) {
    throw Error(ExitCode::usage, fmt::format("plan {}: expected {}; kith COMMAND --dry-run checks the others", words[1],
                                             fmt::join(kPlanned, ", ")));
  }
  Arguments command = resumed({words.begin() + 1, words.end()});
  command.insert(command.begin() + 1, "--dry-run");
  return command;
}

/// Its help; planned() has replaced every other use by the command.
int run_plan(const Arguments& arguments) {
  std::string command;
  OptionSet set({.command = "plan",
                 .summary =
                     "where the rows of a run will be, its passes over them, memory and time, before it computes. "
                     "The same as COMMAND with --dry-run.",
                 .usage = "COMMAND ARGUMENTS",
                 .examples = {"kith plan cluster points.h5:/train -k 256 --memory 300MB",
                              "kith plan knn base.fbin --queries queries.fbin -k 10 --json"}});
  set.positional({.names = "COMMAND",
                  .help = "cluster, sweep, assign, knn, distances, evaluate or resume, with its arguments.",
                  .required = "the command to plan"},
                 command);
  set.parse(arguments);
  return 0;
}

namespace {

constexpr const char* kProgram = "kith-bench";

}  // namespace

/// Starts the program kith-bench, as git starts git-NAME: what measures is no part of kith itself.
int run_bench(const Arguments& arguments) {
  Arguments all = arguments;
  all.insert(all.begin(), kProgram);
  std::vector<char*> words;
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  std::error_code failure;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", failure).replace_filename(kProgram);
  execv(beside.c_str(), words.data());
  if (errno == ENOENT) execvp(kProgram, words.data());
  throw Error(
      ExitCode::usage,
      fmt::format("bench: the program {} cannot be started, beside {} or on PATH: {}; the packages kith and "
                  "kith-cuda have it, and so do the wheel and the tarball; a build makes it with: cmake --build "
                  "build --target programs",
                  kProgram, beside.parent_path().string(), std::strerror(errno)));
}

}  // namespace kith::app
