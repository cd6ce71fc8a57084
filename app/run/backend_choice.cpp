// Which backend computes a run, and on which devices.
#include "app/run/backend_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/held_points.h"
#include "app/run/job.h"
#include "app/run/processes.h"
#include "core/points/composed_points.h"
#include "core/runtime/threads.h"
#include "data/io/utf8.h"

namespace kith::app {
namespace {

constexpr std::int64_t kLeastRows = 1024;  // of a device; smaller blocks of rows are not divided
constexpr std::int64_t kMostGpus = 16;     // that a run takes without --devices
constexpr double kFirstOpening = 0.2;      // seconds for which a process initialises CUDA, besides opening each device

/// How often the work is done: of a limit of iterations, as many as most runs take.
std::int64_t expected_times(const Work& work) {
  constexpr std::int64_t kLeast = 10, kShare = 10;
  if (work.operation != Operation::iterate || !work.at_most) return work.times;
  return std::min(work.times, std::max(kLeast, work.times / kShare));
}

double sending_seconds(const RunShape& shape, const Machine& gpu) {
  return seconds({{.sent = static_cast<double>(shape.bytes)}}, gpu);
}

/// The threads that are given, else those that this process may use; processes that share threads divide them.
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

/// The rates of the processor, which is the last backend and always there, and those of the first, with GPUs.
Machine processor(const CommonOptions& common) { return backends().back().machine(backend_options(common)); }
Machine fastest_gpu(const CommonOptions& common) { return backends().front().machine(backend_options(common)); }

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
/// these options as many GPUs as are worth it.
std::vector<int> devices_of(const BackendEntry& entry, const BackendOptions& options, const CommonOptions& common,
                            const RunShape& shape, std::vector<Decision>& decisions) {
  constexpr std::int64_t kMost = 1023;
  std::vector<int> devices;
  if (common.devices.empty() && !entry.has_gpus) return {0};
  const bool is_named = common.set == nullptr || common.set->source("--device") != Source::none;
  if (common.devices.empty() && !is_named && processes().is_alone()) {
    Decision decision = choose_gpus_by_cost(shape, entry.machine(options), kMostGpus);
    devices = first_devices(entry, options, parse_integer(decision.method, "GPUs", {1, kMostGpus}));
    if (std::to_string(devices.size()) != decision.method) {
      decision.reason = fmt::format("there {} no more", devices.size() == 1 ? "is" : "are");
      decision.method = std::to_string(devices.size());
    }
    decisions.push_back(std::move(decision));
    return devices;
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
  for (const std::string& one : split_text(common.devices, ',')) {
    devices.push_back(static_cast<int>(parse_integer(one, "--devices", {0, kMost})));
  }
  return devices;
}

/// One backend, or one of several devices, which are opened at the same time.
std::unique_ptr<Backend> open(const BackendEntry& entry, BackendOptions options, const std::vector<int>& devices) {
  std::vector<std::unique_ptr<Backend>> all(devices.size());
  if (devices.size() > 1 && !entry.has_gpus) {
    const int threads = options.threads > 0 ? options.threads : usable_threads();
    options.threads = std::max(threads / static_cast<int>(devices.size()), 1);
  }
  Threads(static_cast<int>(devices.size()), {.nodes = 1}, "name fewer devices").run_on_each([&](std::size_t d) {
    BackendOptions own = options;
    own.device = devices[d];
    all[d] = entry.open(own, {});
  });
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
  std::vector<Decision> decisions;
  return devices_of(entry, backend_options(common), common, {}, decisions);
}

/// What the options say about the backend, or else what the shape of the run does. named: the option that names a GPU,
/// empty: none does. The method is the backend to try
/// first, empty: the first that works.
Decision wanted_backend(const Job& job, const std::string& named, const RunShape& shape) {
  Decision decision{.subject = "backend", .method = {}, .reason = {}};
  if (job.common.backend != "auto") {
    decision.method = job.common.backend;
    decision.reason = "--backend " + job.common.backend;
  } else if (!named.empty()) {
    decision.reason = named;
  } else if (shape.is_known()) {
    return choose_backend_by_cost(shape, processor(job.common), fastest_gpu(job.common));
  } else {
    decision.reason = "the first that works";
  }
  return decision;
}

}  // namespace

RunShape shape_of(const data::PointSource& points, const std::vector<Work>& work) {
  return {points.rows(), points.columns(), value_bytes(points), work};
}

double expected_seconds(const RunShape& shape, const Machine& machine) {
  constexpr std::int64_t kTreeRows = 8192;  // that are left to a query where a tree may spare nearly all
  double sum = 0.0;
  for (Work work : shape.work) {
    const bool prunes = work.at_most && work.operation != Operation::iterate;
    work.times = expected_times(work);
    work.at_most = false;
    const std::int64_t rows = prunes ? std::min(shape.rows, kTreeRows) : shape.rows;
    sum += seconds(cost_of(work, rows, shape.columns, shape.bytes / shape.rows, machine), machine);
  }
  return sum;
}

Decision choose_backend_by_cost(const RunShape& shape, const Machine& processor, const Machine& gpu) {
  const double here = expected_seconds(shape, processor), opening = kFirstOpening + gpu.opening;
  const double there = opening + expected_seconds(shape, gpu) + sending_seconds(shape, gpu);
  Decision decision{.subject = "backend", .method = {}, .reason = {}};
  decision.considered = {{.method = "cpu", .seconds = here},
                         {.method = "cuda", .seconds = there, .bytes = shape.bytes}};
  decision.method = here <= there ? "cpu" : "cuda";
  decision.reason = here <= opening ? fmt::format("opening a GPU alone takes {}", show_seconds(opening))
                    : here <= there ? "sending the rows to a GPU takes longer than it saves"
                                    : "a GPU saves more time than it takes to open";
  return decision;
}

Decision choose_gpus_by_cost(const RunShape& shape, const Machine& gpu, std::int64_t most) {
  const double work = expected_seconds(shape, gpu) + sending_seconds(shape, gpu);
  Decision decision{.subject = "GPUs", .method = {}, .reason = {}};
  double least = 0.0;
  for (std::int64_t count = 1; count <= most; count *= 2) {
    const auto gpus = static_cast<double>(count);
    const double time = kFirstOpening + gpus * gpu.opening + work / gpus;
    decision.considered.push_back({.method = std::to_string(count), .seconds = time});
    if (!decision.method.empty() && time >= least) continue;
    least = time;
    decision.method = std::to_string(count);
  }
  decision.reason = fmt::format("opening one more takes {}", show_seconds(gpu.opening));
  return decision;
}

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

std::unique_ptr<Backend> choose_backend(Job& job, const RunShape& shape) {
  job.progress.phase("open", 0);
  const BackendOptions options = backend_options(job.common);
  const std::string gpu = named_gpu(job.common);
  Decision decision = wanted_backend(job, gpu, shape);
  const auto exclude = [&](const BackendEntry& entry, const std::string& reason) {
    for (kith::Option& option : decision.considered) {
      if (option.method == entry.name) option.excluded = reason;
    }
  };
  std::string refusal;
  for (const BackendEntry& entry : backends()) {
    const bool named = job.common.backend == entry.name;
    if (!named && job.common.backend != "auto") continue;
    if (!gpu.empty() && !entry.has_gpus) {
      if (named) refusal = fmt::format("--backend {} has no GPUs; leave one of the two options out", entry.name);
      continue;
    }
    if (entry.has_gpus && decision.method == "cpu") continue;  // without asking for it, which takes time, too
    std::vector<Decision> decisions;
    const std::vector<int> devices = devices_of(entry, options, job.common, shape, decisions);
    std::string reason;
    for (const int device : devices) {
      if (reason.empty()) reason = missing(entry, options, device);
    }
    if (!reason.empty()) {
      refusal = fmt::format("{}: {}; without {} another backend may be used", entry.name, reason, gpu);
      if (named) throw Error(ExitCode::device, fmt::format("--backend {}: {}", entry.name, reason));
      // The remedy, behind the semicolon, is in `kith devices`.
      const std::string why = reason.substr(0, reason.find(';'));
      job.passed_over += fmt::format("{}{}: {}", job.passed_over.empty() ? "" : "; ", entry.name, why);
      decision.reason = fmt::format("{}: {}", entry.name, why);
      exclude(entry, why);
      continue;
    }
    std::unique_ptr<Backend> backend = open(entry, options, devices);
    const Device device = backend->device();
    job.report.backend = entry.name;
    job.report.device = text_of(device);
    job.report.threads = device.uses_threads ? planned_threads(job.common) : 1;
    job.device = device;
    decision.method = entry.name;
    decisions.insert(decisions.begin(), std::move(decision));
    job.report.decisions.insert(job.report.decisions.end(), decisions.begin(), decisions.end());
    Terminal& terminal = Terminal::instance();
    if (!job.common.dry_run) terminal.say(fmt::format("backend {}: {}", entry.name, job.report.device));
    if (!job.passed_over.empty()) terminal.detail("not used   " + job.passed_over);
    return backend;
  }
  if (!gpu.empty()) throw Error(ExitCode::device, fmt::format("{}: {}", gpu, refusal));
  throw Error(ExitCode::device, "no backend can be used: " + job.passed_over);
}

}  // namespace kith::app
