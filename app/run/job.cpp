// The messages of one run, and its end.
#include "app/run/job.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "app/cli/failure.h"
#include "app/cli/terminal.h"

namespace kith::app {
namespace {

Show show_of(const CommonOptions& common) {
  if (common.progress == "always") return Show::always;
  if (Terminal::instance().may_feed_pager()) return Show::never;
  return common.progress == "never" || common.quiet ? Show::never : Show::late;
}

bool has_nvidia_driver() {
  std::error_code failure;
  return std::filesystem::exists("/proc/driver/nvidia/version", failure);
}

/// Seconds of the phases that a GPU shortens.
double compute_seconds(const Report& report) {
  double seconds = 0.0;
  for (const Phase& phase : report.phases) {
    const bool reads_or_writes = phase.name == "open" || phase.name == "read" || phase.name == "write";
    if (!reads_or_writes) seconds += phase.seconds;
  }
  return seconds;
}

}  // namespace

Job::Job(std::string command, const CommonOptions& options)
    : common(options), report{.command = std::move(command)}, progress(report, show_of(options)) {
  if (common.json) expect_json();
  Terminal& terminal = Terminal::instance();
  terminal.set_verbosity(common.quiet ? Verbosity::quiet : common.verbose ? Verbosity::verbose : Verbosity::normal);
  data::set_memory_limit(common.memory);
}

void Job::warn(const OptionSet& set) {
  for (const std::string& warning : set.warnings(report.backend, device ? &*device : nullptr))
    progress.warning(warning);
}

void Job::wrote(const std::string& path) {
  report.output = path;
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (!failure) report.phase("write").bytes += static_cast<std::int64_t>(bytes);
}

void Job::close(const std::string& next) {
  constexpr double kSlow = 10.0;  // seconds
  progress.finish();
  if (common.json) print_out(to_json(report));
  finish_out();
  Terminal& terminal = Terminal::instance();
  terminal.say(summary(report, next));
  if (!passed_over.empty() && compute_seconds(report) > kSlow && has_nvidia_driver()) {
    terminal.say(fmt::format("note: this run did not use the GPU: {}; see kith devices", passed_over));
  }
}

}  // namespace kith::app
