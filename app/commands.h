// The table of commands.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kith::app {

/// What follows the command's name.
using Arguments = std::vector<std::string>;

/// Every command returns the exit code of the program, and throws Error for everything that ends it early.
int run_cluster(const Arguments& arguments);
int run_dbscan(const Arguments& arguments);
int run_assign(const Arguments& arguments);
int run_knn(const Arguments& arguments);
int run_distances(const Arguments& arguments);
int run_sweep(const Arguments& arguments);
int run_evaluate(const Arguments& arguments);
int run_image(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_table(const Arguments& arguments);
int run_devices(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_resume(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_man(const Arguments& arguments);
int run_completion(const Arguments& arguments);
/// Becomes the program kith-bench.
int run_bench(const Arguments& arguments);

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

/// The words of the command that `resume FILE ...` continues, in whose folder the process then is; other words as they
/// are. Throws Error if the file is no checkpoint.
Arguments resumed(const Arguments& words);

/// The words of `COMMAND ARGUMENTS --dry-run` for `plan COMMAND ARGUMENTS`, those of resumed() for others.
Arguments planned(const Arguments& words);

/// All commands, in the order of the help.
std::span<const Command> commands();

/// Runs `kith WORDS...`: a command, --help or --version. Returns the exit code; throws Error(usage) for an unknown
/// name.
int run_program(const Arguments& words);

}  // namespace kith::app
