// kith plan: a command with --dry-run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "app/cli/options.h"
#include "app/commands.h"
#include "core/error.h"

namespace kith::app {
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
                     "where the rows of a run will be, its passes over them, memory and time, from headers alone. "
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

}  // namespace kith::app
