// Messages and the choice of the backend of one run.
#include "app/run/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/cli/terminal.h"
#include "app/run/memory.h"
#include "app/run/processes.h"
#include "app/run/summary.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::app {
namespace {

Show show_of(const CommonOptions& common) {
  if (common.progress == "always") return Show::always;
  if (Terminal::instance().may_feed_pager()) return Show::never;
  return common.progress == "never" || common.quiet ? Show::never : Show::late;
}

/// As given, else those that this process may use; processes that may use the same ones divide them.
int threads_of(const CommonOptions& common) {
  if (common.threads > 0 || sharing().threads == 1) return static_cast<int>(common.threads);
  return std::max(cpu::usable_threads() / sharing().threads, 1);
}

BackendOptions backend_options(const CommonOptions& common) {
  BackendOptions options;
  options.threads = threads_of(common);
  options.device = static_cast<int>(common.device);
  options.screen = common.screen;
  options.block_rows = common.block_rows;
  options.device_memory = common.device_memory > 0 ? common.device_memory : common.memory;
  return options;
}

std::string text_of(const Device& device) {
  return device.description.empty() ? device.name : fmt::format("{}, {}", device.name, device.description);
}

/// A backend without threads of its own is driven by one.
std::int64_t threads_used(const Device& device, const CommonOptions& common) {
  if (!device.uses_threads) return 1;
  const int threads = threads_of(common);
  return threads > 0 ? threads : cpu::usable_threads();
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

Job::Job(std::string command, CommonOptions& options)
    : common(options), report{.command = std::move(command)}, progress(report, show_of(options)) {
  Terminal& terminal = Terminal::instance();
  terminal.set_verbosity(common.quiet ? Verbosity::quiet : common.verbose ? Verbosity::verbose : Verbosity::normal);
  data::set_memory_limit(common.memory);
}

void Job::warn(const OptionSet& set) {
  for (const std::string& warning : set.warnings()) progress.warning(warning);
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

std::unique_ptr<Backend> choose_backend(Job& job) {
  job.progress.phase("open", 0);
  BackendOptions options = backend_options(job.common);
  const std::string gpu = named_gpu(job.common);
  std::string refusal;
  for (const BackendEntry& entry : backends()) {
    // Processes on one machine take a device each, as far as there are some.
    options.device = static_cast<int>(job.common.device) + sharing().place;
    if (!entry.missing(options).empty()) options.device = static_cast<int>(job.common.device);
    const bool named = job.common.backend == entry.name;
    if (!named && job.common.backend != "auto") continue;
    if (!gpu.empty() && !entry.has_gpus) {
      if (named) refusal = fmt::format("--backend {} has no GPUs; leave one of the two options out", entry.name);
      continue;
    }
    if (const std::string reason = entry.missing(options); !reason.empty()) {
      refusal = fmt::format("{}: {}; without {} another backend may be used", entry.name, reason, gpu);
      if (named) throw Error(ExitCode::device, fmt::format("--backend {}: {}", entry.name, reason));
      // The remedy, behind the semicolon, is in `kith devices`.
      job.passed_over +=
          fmt::format("{}{}: {}", job.passed_over.empty() ? "" : "; ", entry.name, reason.substr(0, reason.find(';')));
      continue;
    }
    std::unique_ptr<Backend> backend = entry.open(options, {});
    const Device device = backend->device();
    job.report.backend = entry.name;
    job.report.device = text_of(device);
    job.report.threads = threads_used(device, job.common);
    job.common.chosen = {entry.name, device};
    Terminal& terminal = Terminal::instance();
    if (!job.common.dry_run) terminal.say(fmt::format("backend {}: {}", entry.name, job.report.device));
    if (!job.passed_over.empty()) terminal.detail("not used   " + job.passed_over);
    return backend;
  }
  if (!gpu.empty()) throw Error(ExitCode::device, fmt::format("{}: {}", gpu, refusal));
  throw Error(ExitCode::device, "no backend can be used: " + job.passed_over);
}

}  // namespace kith::app
