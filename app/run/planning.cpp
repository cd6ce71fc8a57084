// The model: every operation takes its measured time per row, and rows that are read meanwhile bound it.
#include "app/run/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "app/cli/units.h"
#include "app/plan/page_cache.h"
#include "app/run/held_points.h"
#include "core/runtime/threads.h"

namespace kith::app {
namespace {

constexpr double kDiskRate = 1e9;       // bytes per second, assumed
constexpr double kTextRate = 2.5e8;     // of values that are text in the file, with each thread; assumed
constexpr double kInflateRate = 1e8;    // of values that are compressed in the file, with each thread; assumed
constexpr double kWriteRate = 4e8;      // of a result that is written, synced and read back; assumed
constexpr double kOpenSeconds = 0.015;  // to open files and a backend, assumed
// Of kernels/cuda/runtime/held_rows.cu.
constexpr std::int64_t kState = 32;  // bytes of each row
constexpr std::int64_t kBlocks =
    4 * (std::int64_t{64} << 20);  // bytes of the blocks that are sent, and what is made of them
// Bytes of a part that is searched, and the number of parts of smaller sets, of kernels/cuda/parts.cpp.
constexpr std::int64_t kLeastPart = std::int64_t{1} << 28, kMostPart = std::int64_t{1} << 32, kParts = 8;
constexpr std::int64_t kDriverBytes = std::int64_t{128} << 20;  // of the host's memory for a GPU's driver, assumed
constexpr std::int64_t kGroup = 64;                             // columns of fp16 rows
// Of the heap, of HDF5 and of the panels of each thread; measured.
constexpr std::int64_t kBesides = std::int64_t{2} << 20, kBesidesPerThread = std::int64_t{1} << 20;

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
  Estimate(const PlanRequest& request, const Job& job)
      : request_(request), job_(job), rates_(rates_for(job.report.backend, job.report.device, job.report.threads)) {}

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
    plan.points =
        fmt::format("{}, {} {}", source.name(), show_shape(source.rows(), source.columns()), source.element_type());
    place_rows(plan);
    if (request_.work.empty()) {
      plan.basis = "not estimated for this command with these options";
      return plan;
    }
    plan.timed = rates_.seconds_per_row(Operation::prepare, columns(), 0) > 0.0;
    add_phases(plan, request_.work);
    add_basis(plan);
    if (plan.timed) add_advice(plan);
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
  // Of each of several GPUs.
  std::int64_t rows_of_gpu() const { return (rows() + device().devices - 1) / device().devices; }
  std::int64_t bytes_of_gpu() const { return device().free_memory / device().devices; }
  std::int64_t working_bytes() const { return std::min(std::int64_t{1} << 30, bytes_of_gpu() / 4); }
  /// kernels/cuda/runtime/held_rows.cu: the rows on the device, besides the state of all and working memory.
  std::int64_t resident_rows_of_gpu() const {
    const std::int64_t left = bytes_of_gpu() - rows_of_gpu() * kState - working_bytes();
    if (rows_of_gpu() * row_bytes() <= left) return rows_of_gpu();
    if (searches_file()) return 0;
    return std::clamp<std::int64_t>((left - std::min(kBlocks, bytes_of_gpu() / 2)) / row_bytes(), 0, rows_of_gpu());
  }
  std::int64_t resident_rows() const { return std::min(resident_rows_of_gpu() * device().devices, rows()); }
  /// The peak of the device memory, of each of several GPUs.
  std::int64_t device_bytes_of_gpu() const {
    const std::int64_t resident = resident_rows_of_gpu();
    const std::int64_t part = std::clamp(rows_of_gpu() * row_bytes() / kParts, kLeastPart, kMostPart) / row_bytes();
    const std::int64_t parts = searches_file() && resident == 0 ? std::min(part, rows_of_gpu()) : 0;
    // fp16 copies of all rows, or of as many as fit; two parts, and the copies of one.
    const std::int64_t copied = parts > 0 ? parts : rows_of_gpu();
    const std::int64_t copies = 2 * copied * ((columns() + kGroup - 1) / kGroup * kGroup);
    const std::int64_t used = copied * kState + (resident + 2 * parts) * row_bytes() + copies;
    return std::min(used + working_bytes() / 4, std::max<std::int64_t>(bytes_of_gpu() - working_bytes() / 4, 0));
  }
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
      plan.device_bytes = plan.devices * device_bytes_of_gpu();
      if (resident > 0) plan.tiers.push_back({"gpu", resident, resident * row_bytes()});
      if (!is_direct() && resident < held)
        plan.tiers.push_back({"memory", held - resident, (held - resident) * row_bytes()});
    } else {
      plan.tiers.push_back({"memory", held, held * row_bytes()});
    }
    if (streamed > 0) plan.tiers.push_back({spools() ? "scratch" : "file", streamed, streamed * row_bytes()});
    // Rows that do not fit are kept in the page cache if there is memory for it.
    const data::Location place = data::parse_location(request_.source->name());
    cached_ = cached_share(place.file);
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

  /// Seconds to read so many bytes of values at a rate, of which a share is not in the page cache. decoding: of
  /// decoding_rate().
  static double reading(double bytes, double rate, double from_disk, double decoding) {
    return std::max(bytes / (decoding > 0.0 ? decoding : rate), bytes * from_disk / kDiskRate);
  }

  void add_phases(Plan& plan, const std::vector<Work>& work) const {
    plan.phases.clear();
    const double decoding = spools() ? 0.0 : decoding_rate();
    double loaded = searches_file() ? 0.0 : real(held_rows() * row_bytes());
    if (request_.queries != nullptr) loaded += real(value_bytes(*request_.queries));
    const bool from_disk = cached_ < 0.5;
    plan.phases.push_back({"open", 0, false, 0, kOpenSeconds, "computing"});
    plan.phases.push_back({"read", 1, false, 0,
                           plan.timed ? reading(loaded, rates_.load, 1.0 - cached_, decoding) : 0.0,
                           decoding > 0.0 ? "computing"
                           : from_disk    ? "disk"
                                          : "page cache"});
    if (spools()) {
      const double all = real(rows() * row_bytes());
      const double seconds = reading(all, rates_.load, 1.0 - cached_, decoding_rate()) + all / kWriteRate;
      plan.phases.push_back({"spool", 1, false, 1, plan.timed ? seconds : 0.0, "disk"});
    }
    const std::size_t first = plan.phases.size();
    for (const Work& part : work) add_phase(plan, part);
    if (plan.timed && streams() && !spools() && stays_cached_) {  // the first pass fills the page cache
      const double bytes = real((rows() - held_rows()) * row_bytes());
      plan.phases[first].seconds += bytes * (1.0 - cached_) / kDiskRate;
    }
    if (request_.result_bytes > 0) {
      plan.phases.push_back({"write", 1, false, 0, real(request_.result_bytes) / kWriteRate, "disk"});
    }
  }

  void add_phase(Plan& plan, const Work& part) const {
    const double share = real(rows() - held_rows()) / real(rows());
    const double computing =
        part.operation == Operation::search
            ? rates_.search_seconds(rows(), columns(), part.size)
            : real(rows()) * real(part.times) * rates_.seconds_per_row(part.operation, columns(), part.size);
    const double bytes = real(rows() * row_bytes());
    PlannedPhase phase{part.phase, part.times, part.at_most, share > 0.0 ? part.passes : 0, computing, "computing"};
    if (plan.timed && bytes * real(part.times) / rates_.memory > computing / 2) phase.bound_by = "memory";
    if (plan.timed && share == 0.0 && searches_file() && part.operation == Operation::search) {
      const double read = reading(bytes, rates_.load, 1.0 - cached_, decoding_rate());
      if (read > phase.seconds) phase.bound_by = cached_ < 0.5 ? "disk" : "page cache";
      phase.seconds = std::max(phase.seconds, read);
    }
    if (plan.timed && share > 0.0) {
      // Threads that read from the page cache take their time from those that compute.
      const bool from_disk = !stays_cached_;
      const double read = real(part.passes) * reading(bytes * share, rates_.reread, from_disk ? 1.0 : 0.0,
                                                      spools() ? 0.0 : decoding_rate());
      const bool shares_threads = !from_disk && device().uses_threads;
      const double copying = shares_threads ? read * read_options(job_.common).threads / threads() : 0.0;
      const double both = computing * share + copying;
      phase.seconds = computing * (1 - share) + std::max(both, read);
      if (read > computing * share) phase.bound_by = from_disk ? "disk" : "page cache";
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
      plan.basis = fmt::format("unknown; kith bench limits --backend {} measures this device", plan.backend);
      return;
    }
    plan.basis = rates_.measured ? "measured: rates of this machine by kith bench limits"
                                 : "modelled: rates of another processor; kith bench limits measures this one";
    plan.basis += ", for points without clusters";
    const bool reads_disk = cached_ < 0.5 || (streams() && !stays_cached_);
    if (reads_disk) plan.basis += fmt::format("; a disk of {:g} GB/s is assumed", kDiskRate * 1e-9);
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
    Plan other = plan;
    add_phases(other, with_parallel_seeding(request_.work));
    compare(other, "--init k-means||, with other first centroids");
    if (streams() && !is_direct()) {
      PlanRequest request = request_;
      request.stream.reset();
      Estimate held(request, job_);
      held.cached_ = cached_;
      held.add_phases(other, request_.work);
      compare(other, fmt::format("{} of memory, which hold all rows", show_bytes(request_.required_bytes)));
    }
    const std::int64_t usable = usable_threads();
    if (device().uses_threads && job_.report.threads < usable) {
      other = plan;
      for (PlannedPhase& phase : other.phases) {
        if (phase.bound_by == "computing") phase.seconds *= real(job_.report.threads) / real(usable);
      }
      compare(other, fmt::format("--threads {}", usable));
    }
    if (!plan.advice.empty()) return;
    const auto longest = std::max_element(plan.phases.begin(), plan.phases.end(),
                                          [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    const bool on_gpu = device().has_own_memory;
    if (longest->bound_by == "computing" && !on_gpu) plan.advice = "a GPU, or more processor cores";
    if (longest->bound_by == "disk") plan.advice = "a faster disk, or more memory";
  }

  const PlanRequest& request_;
  const Job& job_;
  Rates rates_;
  double cached_ = 1.0;       // share of the file in the page cache now
  bool stays_cached_ = true;  // rows that are read again and again
};

}  // namespace

Plan estimate(const PlanRequest& request, const Job& job) { return Estimate(request, job).plan(); }

std::string compared(const Plan& plan, const Report& report, std::int64_t peak_bytes) {
  std::string out = fmt::format("memory planned {}, measured {}", plan.show_memory(), show_bytes(peak_bytes));
  if (plan.device_bytes > 0) {
    out += fmt::format("; GPU{} planned {}, measured {}", plan.devices > 1 ? "s together" : "",
                       show_bytes(plan.device_bytes), show_bytes(report.device_memory));
  }
  if (!plan.timed) return out;
  std::string phases;
  double planned = 0.0, measured = 0.0;
  for (const PlannedPhase& phase : plan.phases) {
    const auto found =
        std::find_if(report.phases.begin(), report.phases.end(), [&](const Phase& p) { return p.name == phase.name; });
    const double there = phase.name == "iterate" && phase.times > 0
                             ? static_cast<double>(iterations_of(report)) / static_cast<double>(phase.times)
                             : 1.0;
    const double seconds = found == report.phases.end() ? 0.0 : found->seconds;
    planned += phase.seconds * there;
    measured += seconds;
    phases += fmt::format("{}{} {} and {}", phases.empty() ? "" : ", ", phase.name, show_seconds(phase.seconds * there),
                          show_seconds(seconds));
  }
  return fmt::format("{}; time planned {}, measured {} ({})", out, show_seconds(planned), show_seconds(measured),
                     phases);
}

}  // namespace kith::app
