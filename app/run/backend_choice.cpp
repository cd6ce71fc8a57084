// Which backend computes a run, and on which devices.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/job.h"
#include "app/run/processes.h"
#include "core/points/composed_backend.h"
#include "core/runtime/threads.h"

namespace kith::app {
namespace {

constexpr std::int64_t kLeastRows = 1024;  // of a device; smaller blocks of rows are not divided
// Of each GPU where none is named: opening one more takes 0.1 s, which fewer values do not win back.
constexpr std::int64_t kLeastValues = std::int64_t{1} << 29;

/// As given, else those that this process may use; processes that may use the same ones divide them.
int threads_of(const CommonOptions& common) {
  if (common.threads > 0 || sharing().threads == 1) return static_cast<int>(common.threads);
  return std::max(usable_threads() / sharing().threads, 1);
}

BackendOptions backend_options(const CommonOptions& common) {
  BackendOptions options;
  options.threads = threads_of(common);
  options.screen = common.screen;
  options.block_rows = common.block_rows;
  options.device_memory = common.device_memory > 0 ? common.device_memory : common.memory;
  return options;
}

std::string text_of(const Device& device) {
  return device.description.empty() ? device.name : fmt::format("{}, {}", device.name, device.description);
}

/// Why this backend cannot use the device; empty if it can.
std::string missing(const BackendEntry& entry, BackendOptions options, int device) {
  options.device = device;
  if (!entry.has_gpus && device > 0) return fmt::format("device {} does not exist; expected 0", device);
  return entry.missing(options);
}

/// The GPUs that are there, up to `most` of them, and at least the first.
std::vector<int> first_devices(const BackendEntry& entry, const BackendOptions& options, std::int64_t most) {
  std::vector<int> devices{0};
  for (int next = 1; next < most && missing(entry, options, next).empty(); ++next) devices.push_back(next);
  return devices;
}

/// The devices of --devices or --device that this backend is to use, perhaps without some that are missing; without
/// these options as many GPUs as the number of values is worth.
std::vector<int> devices_of(const BackendEntry& entry, const BackendOptions& options, const CommonOptions& common,
                            std::int64_t values) {
  constexpr std::int64_t kMost = 1023;
  std::vector<int> devices;
  if (common.devices.empty() && !entry.has_gpus) return {0};
  const bool is_named = common.set == nullptr || common.set->source("--device") != Source::none;
  if (common.devices.empty() && !is_named && processes().is_alone()) {
    return first_devices(entry, options, values / kLeastValues);
  }
  if (common.devices.empty()) {
    // Processes on one machine take a device each, as far as there are some.
    const int first = static_cast<int>(common.device), own = first + sharing().place;
    return {missing(entry, options, own).empty() ? own : first};
  }
  if (common.devices == "all") return first_devices(entry, options, kMost + 1);
  if (common.devices == "0") {
    throw Error(ExitCode::usage,
                "--devices 0: expected all, how many GPUs, or a list such as 0,2; for GPU 0 alone say --device 0");
  }
  if (common.devices.find(',') == std::string::npos) {
    const std::int64_t count = parse_integer(common.devices, "--devices", {1, kMost + 1});
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
  }
  for (std::size_t begin = 0; begin <= common.devices.size();) {
    const std::size_t end = std::min(common.devices.find(',', begin), common.devices.size());
    const std::string one = common.devices.substr(begin, end - begin);
    devices.push_back(static_cast<int>(parse_integer(one, "--devices", {0, kMost})));
    begin = end + 1;
  }
  return devices;
}

/// One backend, or one of several devices.
std::unique_ptr<Backend> open(const BackendEntry& entry, BackendOptions options, const std::vector<int>& devices) {
  std::vector<std::unique_ptr<Backend>> all;
  if (devices.size() > 1 && !entry.has_gpus) {
    const int threads = options.threads > 0 ? options.threads : usable_threads();
    options.threads = std::max(threads / static_cast<int>(devices.size()), 1);
  }
  for (const int device : devices) {
    options.device = device;
    all.push_back(entry.open(options, {}));
  }
  if (all.size() == 1) return std::move(all.front());
  return std::make_unique<ComposedBackend>(std::move(all), kLeastRows);
}

const BackendEntry& chosen_entry(const Job& job) {
  return *std::find_if(backends().begin(), backends().end(),
                       [&](const BackendEntry& entry) { return job.report.backend == entry.name; });
}

/// --devices, or all.
std::vector<int> named_or_all(const Job& job, const BackendEntry& entry) {
  CommonOptions common = job.common;
  if (common.devices.empty()) common.devices = "all";
  return devices_of(entry, backend_options(common), common, 0);
}

}  // namespace

std::int64_t planned_threads(const CommonOptions& common) {
  const int threads = threads_of(common);
  return threads > 0 ? threads : usable_threads();
}

int most_devices(const Job& job) {
  const BackendEntry& entry = chosen_entry(job);
  return entry.has_gpus ? static_cast<int>(named_or_all(job, entry).size()) : static_cast<int>(job.report.threads);
}

std::unique_ptr<Backend> open_devices(const Job& job, int count) {
  const BackendEntry& entry = chosen_entry(job);
  BackendOptions options = backend_options(job.common);
  if (!entry.has_gpus) {
    options.threads = count;
    return entry.open(options, {});
  }
  std::vector<int> devices = named_or_all(job, entry);
  devices.resize(static_cast<std::size_t>(count));
  return open(entry, options, devices);
}

std::unique_ptr<Backend> choose_backend(Job& job, std::int64_t values) {
  job.progress.phase("open", 0);
  const BackendOptions options = backend_options(job.common);
  const std::string gpu = named_gpu(job.common);
  std::string refusal;
  for (const BackendEntry& entry : backends()) {
    const bool named = job.common.backend == entry.name;
    if (!named && job.common.backend != "auto") continue;
    if (!gpu.empty() && !entry.has_gpus) {
      if (named) refusal = fmt::format("--backend {} has no GPUs; leave one of the two options out", entry.name);
      continue;
    }
    const std::vector<int> devices = devices_of(entry, options, job.common, values);
    std::string reason;
    for (const int device : devices) {
      if (reason.empty()) reason = missing(entry, options, device);
    }
    if (!reason.empty()) {
      refusal = fmt::format("{}: {}; without {} another backend may be used", entry.name, reason, gpu);
      if (named) throw Error(ExitCode::device, fmt::format("--backend {}: {}", entry.name, reason));
      // The remedy, behind the semicolon, is in `kith devices`.
      job.passed_over +=
          fmt::format("{}{}: {}", job.passed_over.empty() ? "" : "; ", entry.name, reason.substr(0, reason.find(';')));
      continue;
    }
    std::unique_ptr<Backend> backend = open(entry, options, devices);
    const Device device = backend->device();
    job.report.backend = entry.name;
    job.report.device = text_of(device);
    job.report.threads = device.uses_threads ? planned_threads(job.common) : 1;
    job.device = device;
    Terminal& terminal = Terminal::instance();
    if (!job.common.dry_run) terminal.say(fmt::format("backend {}: {}", entry.name, job.report.device));
    if (!job.passed_over.empty()) terminal.detail("not used   " + job.passed_over);
    return backend;
  }
  if (!gpu.empty()) throw Error(ExitCode::device, fmt::format("{}: {}", gpu, refusal));
  throw Error(ExitCode::device, "no backend can be used: " + job.passed_over);
}

}  // namespace kith::app
