// The plan of a run: memory by sizes, time by the operations of its phases and the rates of the machine.
#include "app/run/planning.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "app/cli/units.h"
#include "app/run/held_points.h"
#include "data/file_set.h"
#include "kernels/cuda/runtime/device_use.h"

namespace kith::app {
namespace {

// Assumed, since nothing is known of the files of this machine before a run reads them. Bytes per second:
constexpr double kCacheRate = 4e9;      // from the page cache
constexpr double kDiskRate = 1e9;       // from a disk
constexpr double kTextRate = 2.5e8;     // of values that are text in the file, with each thread
constexpr double kInflateRate = 1e8;    // of values that are compressed in the file, with each thread
constexpr double kWriteRate = 4e8;      // of a result that is written, synced and read back
constexpr double kOpenSeconds = 0.015;  // to open files
constexpr std::int64_t kDriverBytes = std::int64_t{128} << 20;  // of the host's memory for a GPU's driver, assumed
// Of the heap, of HDF5 and of the panels of each thread; measured.
constexpr std::int64_t kBesides = std::int64_t{2} << 20, kBesidesPerThread = std::int64_t{1} << 20;

/// The share of a file in the page cache of the system, from a sample of its pages, without reading them; 1 if the
/// system does not say.
double cached_share(const std::string& file) {
  constexpr std::int64_t kSamples = 64;
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (opened < 0) return 1.0;
  const bool is_file = fstat(opened, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  const auto bytes = static_cast<std::size_t>(is_file ? status.st_size : 0);
  void* mapped = is_file ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, opened, 0) : MAP_FAILED;
  close(opened);
  if (mapped == MAP_FAILED) return 1.0;
  const std::int64_t page = sysconf(_SC_PAGESIZE), pages = (status.st_size + page - 1) / page;
  const std::int64_t samples = std::min(pages, kSamples);
  std::int64_t cached = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    unsigned char here = 1;
    mincore(static_cast<char*>(mapped) + i * pages / samples * page, static_cast<std::size_t>(page), &here);
    cached += here & 1;
  }
  munmap(mapped, bytes);
  return static_cast<double>(cached) / static_cast<double>(samples);
}

double real(std::int64_t number) { return static_cast<double>(number); }

/// Iterations of all runs.
std::int64_t iterations_of(const Report& report) {
  std::int64_t sum = 0;
  for (const RunRecord& run : report.runs) sum += run.iterations;
  if (report.sweep) {
    for (const SweepReport::Row& row : report.sweep->rows) sum += row.iterations;
  }
  return sum;
}

class Estimate {
 public:
  Estimate(const PlanRequest& request, const Job& job) : request_(request), job_(job) {}

  Plan plan() {
    Plan plan{.command = job_.report.command,
              .points = {},
              .backend = job_.report.backend,
              .device = job_.report.device,
              .threads = job_.report.threads,
              .tiers = {},
              .phases = {},
              .memory_reason = {},
              .limit = request_.limit,
              .basis = {},
              .advice = {}};
    plan.program_bytes = request_.program_bytes;
    plan.least_bytes = plan.host_bytes = request_.program_bytes + request_.required_bytes;
    if (request_.source == nullptr) return plan;
    const std::int64_t besides = request_.program_bytes + kBesides + kBesidesPerThread * plan.threads;
    const bool varies = !device().has_own_memory && !streams();
    const std::int64_t required = request_.required_bytes - (device().has_own_memory ? held_row_bytes() : 0);
    // A run is refused by what it needs at most, whatever it takes.
    plan.host_bytes = besides + (varies ? std::max(required, request_.use.most) : required);
    plan.least_bytes = besides + (varies ? request_.use.least : required);
    if (!device().has_own_memory) plan.memory_reason = request_.use.reason;
    const data::PointSource& source = *request_.source;
    plan.points = fmt::format("{}, {} {}", source.name(), show_shape(source.rows(), data::shown_columns(source)),
                              source.element_type());
    place_rows(plan);
    if (request_.work.empty()) {
      plan.basis = "not estimated for this command with these options";
      return plan;
    }
    plan.timed = device().machine.copied > 0.0;
    add_phases(plan, request_.work);
    add_basis(plan);
    if (plan.timed) {
      add_shortcut(plan, "seed", "choosing the first centroids", "with --init k-means||", with_seeding(plan));
      if (streams() && !is_direct()) {
        const std::string memory = fmt::format("with {} of memory, which hold all rows,", held_memory());
        add_shortcut(plan, "iterate", "reading the rows in every iteration", memory, with_memory(plan));
      }
      add_advice(plan);
    }
    return plan;
  }

 private:
  std::int64_t rows() const { return request_.source->rows(); }
  std::int64_t columns() const { return prepared_columns(*request_.source, job_.common); }
  std::int64_t row_bytes() const { return value_bytes(*request_.source) / rows(); }
  std::int64_t held_row_bytes() const { return rows() * request_.held_row_bytes; }
  const Device& device() const { return *job_.device; }
  /// A device with its own memory takes rows from a file that several threads can read.
  bool is_direct() const { return request_.stream && device().has_own_memory && request_.source->is_shared(); }
  bool streams() const { return request_.stream && (is_direct() || !request_.stream->optional); }
  bool spools() const { return streams() && request_.stream->spools; }
  /// Rows that are not read again in each pass.
  std::int64_t held_rows() const {
    if (is_direct()) return resident_rows();
    return streams() ? request_.stream->held_rows : rows();
  }
  /// Whether the first search reads the rows, and the next ones only if they do not fit on the device.
  bool searches_file() const { return is_direct() && request_.stream->only_searched; }
  /// The memory of each of several GPUs.
  cuda::DeviceUse device_use() const {
    const std::int64_t gpus = device().devices;
    return cuda::device_use({.rows = (rows() + gpus - 1) / gpus,
                             .columns = columns(),
                             .row_bytes = row_bytes(),
                             .free_bytes = device().free_memory / gpus,
                             .is_searched_by_block = searches_file()});
  }
  std::int64_t resident_rows() const { return std::min(device_use().resident_rows * device().devices, rows()); }
  double threads() const { return real(std::max<std::int64_t>(job_.report.threads, 1)); }

  void place_rows(Plan& plan) {
    const std::int64_t held = held_rows(), streamed = rows() - held;
    std::int64_t moved = 0;  // bytes that are not where the request has them
    if (is_direct()) {
      moved = -value_bytes(*request_.source);
    } else if (streams()) {
      moved = request_.stream->bytes - value_bytes(*request_.source);
      if (!device().has_own_memory) moved -= held_row_bytes();
      plan.least_bytes -= held * request_.held_row_bytes;
      plan.memory_reason = "by the screens that the data allow";
    }
    if (device().has_own_memory) moved += kDriverBytes;
    plan.host_bytes += moved;
    plan.least_bytes += moved;
    if (device().has_own_memory) {
      const std::int64_t resident = resident_rows();
      plan.devices = device().devices;
      plan.device_bytes = plan.devices * device_use().bytes;
      if (resident > 0) plan.tiers.push_back({"gpu", resident, resident * row_bytes()});
      if (!is_direct() && resident < held)
        plan.tiers.push_back({"memory", held - resident, (held - resident) * row_bytes()});
    } else {
      plan.tiers.push_back({"memory", held, held * row_bytes()});
    }
    if (streamed > 0) plan.tiers.push_back({spools() ? "scratch" : "file", streamed, streamed * row_bytes()});
    // Rows that do not fit are kept in the page cache if there is memory for it.
    cached_ = cached_share(data::each_file(request_.source->location()).front());
    const double file_bytes = spools() ? real(rows() * row_bytes()) : real(request_.source->file_bytes());
    stays_cached_ = real(data::free_memory().bytes - plan.host_bytes) > file_bytes * real(streamed) / real(rows());
  }

  /// Bytes per second of values that are decoded; 0: none are.
  double decoding_rate() const {
    const data::PointSource& source = *request_.source;
    if (!source.only_in_order().empty()) return kTextRate * threads();
    const std::string type = source.element_type();  // "float32", or another one, of at least a byte
    const auto digit = type.find_first_of("123456789");
    const std::int64_t bits = digit == type.npos ? 8 : std::strtol(type.c_str() + digit, nullptr, 10);
    return source.file_bytes() < rows() * source.columns() * bits / 8 ? kInflateRate * threads() : 0.0;
  }

  /// Seconds to read so many bytes of values, of which a share is not in the page cache. decoding: of decoding_rate().
  static double reading(double bytes, double from_disk, double decoding) {
    return std::max(bytes / (decoding > 0.0 ? decoding : kCacheRate), bytes * from_disk / kDiskRate);
  }

  void add_phases(Plan& plan, const std::vector<Work>& work) const {
    plan.phases.clear();
    const double decoding = spools() ? 0.0 : decoding_rate(), from_disk = 1.0 - cached_;
    double loaded = searches_file() ? 0.0 : real(held_rows() * row_bytes());
    if (request_.queries != nullptr) loaded += real(value_bytes(*request_.queries));
    const char* source = decoding > 0.0 ? "computing" : from_disk > 0.5 ? "disk" : "page cache";
    plan.phases.push_back({"open", 0, false, 0, kOpenSeconds + device().machine.opening, "computing"});
    plan.phases.push_back({"read", 1, false, 0, reading(loaded, from_disk, decoding), source});
    if (spools()) {
      const double all = real(rows() * row_bytes());
      plan.phases.push_back(
          {"spool", 1, false, 1, reading(all, from_disk, decoding_rate()) + all / kWriteRate, "disk"});
    }
    const std::size_t first = plan.phases.size();
    for (const Work& part : work) add_phase(plan, part);
    if (streams() && !spools() && stays_cached_) {  // the first pass fills the page cache
      plan.phases[first].seconds += real((rows() - held_rows()) * row_bytes()) * from_disk / kDiskRate;
    }
    if (request_.result_bytes > 0) {
      plan.phases.push_back({"write", 1, false, 0, real(request_.result_bytes) / kWriteRate, "disk"});
    }
  }

  void add_phase(Plan& plan, const Work& part) const {
    const Machine& machine = device().machine;
    const std::int64_t streamed = rows() - held_rows();
    Cost cost = cost_of(part, rows(), columns(), row_bytes(), machine);
    if (device().has_own_memory) cost.sent = real((rows() - resident_rows()) * row_bytes()) * real(part.times);
    PlannedPhase phase{part.phase, part.times, part.at_most, streamed > 0 ? part.passes : 0, 0.0, ""};
    phase.seconds = seconds(cost, machine) / real(device().devices);
    if (phase.seconds > 0.0) {
      phase.bound_by =
          2.0 * seconds({{.copied = cost.copied}}, machine) > seconds(cost, machine) ? "memory" : "computing";
    }
    // Rows are read while others are computed with.
    const bool searches = searches_file() && part.operation == Operation::search;
    const bool from_disk = searches ? cached_ < 0.5 : !stays_cached_;
    const double read = searches ? reading(real(rows() * row_bytes()), 1.0 - cached_, decoding_rate())
                                 : real(part.passes) * reading(real(streamed * row_bytes()), from_disk ? 1.0 : 0.0,
                                                               spools() ? 0.0 : decoding_rate());
    if (read > phase.seconds) {
      phase.seconds = read;
      phase.bound_by = from_disk ? "disk" : "page cache";
    }
    const auto before = std::find_if(plan.phases.begin(), plan.phases.end(),
                                     [&](const PlannedPhase& other) { return other.name == part.phase; });
    if (before == plan.phases.end()) {
      plan.phases.push_back(std::move(phase));
      return;
    }
    if (phase.seconds > before->seconds) before->bound_by = phase.bound_by;
    before->times += phase.times;
    before->passes += phase.passes;
    before->seconds += phase.seconds;
  }

  void add_basis(Plan& plan) const {
    if (!plan.timed) {
      plan.basis = "unknown, since the rates of this machine are";
      return;
    }
    plan.basis = "estimated from the rates of this machine, as if all distances were computed";
    const auto is_unknown = [](const PlannedPhase& phase) { return phase.bound_by.empty(); };
    if (std::any_of(plan.phases.begin(), plan.phases.end(), is_unknown)) {
      plan.basis += "; the search, in few columns, takes what the values decide";
    }
    const bool reads_disk = cached_ < 0.5 || (streams() && !stays_cached_);
    if (reads_disk) plan.basis += fmt::format("; a disk of {:g} GB/s is assumed", kDiskRate * 1e-9);
  }

  std::string held_memory() const { return show_bytes(request_.required_bytes); }

  /// The plan with k-means|| in place of k-means++.
  Plan with_seeding(const Plan& plan) const {
    Plan other = plan;
    add_phases(other, with_parallel_seeding(request_.work));
    return other;
  }

  /// The plan with enough memory for all rows.
  Plan with_memory(const Plan& plan) const {
    Plan other = plan;
    PlanRequest request = request_;
    request.stream.reset();
    Estimate held(request, job_);
    held.cached_ = cached_;
    held.add_phases(other, request_.work);
    return other;
  }

  static void add_shortcut(Plan& plan, const std::string& phase, const char* activity, const std::string& change,
                           const Plan& other) {
    const auto time = [&phase](const Plan& one) {
      double sum = 0.0;
      for (const PlannedPhase& part : one.phases) sum += part.name == phase ? part.seconds : 0.0;
      return sum;
    };
    const double now = time(plan);
    if (now > 0.0 && time(other) < now) plan.shortcuts.push_back({phase, activity, change, time(other) / now});
  }

  /// The change that saves most, if it saves a tenth.
  void add_advice(Plan& plan) const {
    const double now = plan.seconds();
    double least = 0.9 * now;
    const auto compare = [&](const Plan& other, const std::string& change) {
      const double seconds = other.seconds();
      if (seconds >= least) return;
      least = seconds;
      plan.advice = fmt::format("{}: {} instead of {}", change, show_seconds(seconds), show_seconds(now));
    };
    compare(with_seeding(plan), "--init k-means||, with other first centroids");
    if (streams() && !is_direct()) {
      compare(with_memory(plan), fmt::format("{} of memory, which hold all rows", held_memory()));
    }
  }

  const PlanRequest& request_;
  const Job& job_;
  double cached_ = 1.0;       // share of the file in the page cache now
  bool stays_cached_ = true;  // rows that are read again and again
};

}  // namespace

Plan estimate(const PlanRequest& request, const Job& job) { return Estimate(request, job).plan(); }

std::string compared(const Plan& plan, const Report& report) {
  std::string out = fmt::format("memory planned {}, measured {}", plan.show_memory(), show_bytes(report.host_memory));
  if (plan.device_bytes > 0) {
    out += fmt::format("; GPU{} planned {}, measured {}", plan.devices > 1 ? "s together" : "",
                       show_bytes(plan.device_bytes), show_bytes(report.device_memory));
  }
  if (!plan.timed) return out;
  std::string phases;
  double planned = 0.0, measured = 0.0;
  for (const PlannedPhase& phase : plan.phases) {
    const auto found = std::ranges::find_if(report.phases, [&](const Phase& p) { return p.name == phase.name; });
    const double there = phase.name == "iterate" && phase.times > 0
                             ? static_cast<double>(iterations_of(report)) / static_cast<double>(phase.times)
                             : 1.0;
    const double seconds = found == report.phases.end() ? 0.0 : found->seconds;
    planned += phase.seconds * there;
    measured += seconds;
    if (phase.seconds == 0.0) continue;
    phases += fmt::format("{}{} {} and {}", phases.empty() ? "" : ", ", phase.name, show_seconds(phase.seconds * there),
                          show_seconds(seconds));
  }
  return fmt::format("{}; time planned {}, measured {} ({})", out, show_seconds(planned), show_seconds(measured),
                     phases);
}

}  // namespace kith::app
