// One run of a command: its options, its report, its progress and its messages.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/cli/common_options.h"
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

/// Opens the backend of --backend and records it in the report and in `job.device`. auto takes the best that works.
/// values: of the points, rows x columns; many are divided among several GPUs. Throws Error(device) with the reason if
/// the named backend, or every backend, cannot be used.
std::unique_ptr<Backend> choose_backend(Job& job, std::int64_t values = 0);

/// The threads of a processor that computes this run.
std::int64_t planned_threads(const CommonOptions& common);
/// How many devices --devices names, all if it is not given; for a backend without GPUs: threads.
int most_devices(const Job& job);
/// The chosen backend with the first `count` of these.
std::unique_ptr<Backend> open_devices(const Job& job, int count);

}  // namespace kith::app
