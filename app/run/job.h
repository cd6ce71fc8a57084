// One run of a command: its options, its report, its progress and its messages.
#pragma once

#include <optional>
#include <string>

#include "app/cli/common_options.h"
#include "app/run/backend_choice.h"
#include "app/run/progress.h"
#include "app/run/report.h"
#include "core/points/backend.h"

namespace kith::app {

struct Job {
  Job(std::string command, const CommonOptions& common);

  const CommonOptions& common;
  Report report;
  Progress progress;
  std::optional<Device> device;  // of the backend, once one is open
  std::string passed_over;       // why backends better than the chosen one cannot be used, empty if there is none

  /// Warns of options that were given on the command line and have no effect.
  void warn(const OptionSet& set);
  /// Records the finished result file in the report.
  void wrote(const std::string& path);
  /// Ends the run: prints the report on standard output if --json was given, and the summary on standard error. `next`
  /// is a command line that uses the result, or empty.
  void close(const std::string& next);
};

}  // namespace kith::app
