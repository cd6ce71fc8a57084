// What every computing command goes through: points read, a backend chosen, points held and planned.
#include "app/run/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/dropped_rows.h"
#include "app/run/summary.h"
#include "data/text/text.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::app {
namespace {

Show show_of(const CommonOptions& common) {
  if (common.progress == "always") return Show::always;
  return common.progress == "never" || common.quiet ? Show::never : Show::late;
}

BackendOptions backend_options(const CommonOptions& common) {
  BackendOptions options;
  options.threads = static_cast<int>(common.threads);
  options.device = static_cast<int>(common.device);
  options.screen = common.screen;
  options.block_rows = common.block_rows;
  options.device_memory = common.device_memory > 0 ? common.device_memory : common.memory;
  return options;
}

std::string describe(const Device& device) {
  return device.description.empty() ? device.name : fmt::format("{}, {}", device.name, device.description);
}

/// Only the cpu backend computes on threads of its own; a graphics card is driven by one.
std::int64_t threads_used(const std::string& backend, const CommonOptions& common) {
  if (backend != "cpu") return 1;
  return common.threads > 0 ? common.threads : cpu::usable_threads();
}

/// Directions are made behind what prepares the points.
data::ReadingOptions reading_options(const CommonOptions& common, const PreparationStep& step) {
  return {.metric = step.is_none() ? metric_of(common) : Metric::euclidean, .drop_missing = common.nan == "drop"};
}

/// Shows how the rows arrive, and knows which time is the reading's and which the device's.
class ShownArrival final : public Arrival {
 public:
  ShownArrival(data::Reading& reading, const Backend* backend, Invocation& invocation)
      : reading_(reading), backend_(backend), invocation_(invocation) {
    invocation_.progress.phase("read", reading.source().rows());
  }

  std::int64_t wait_for(std::int64_t rows) override {
    const auto begin = Clock::now();
    const std::int64_t there = reading_.wait_for(rows);
    waited_ += Clock::now() - begin;
    invocation_.progress.progress(there);
    if (there == reading_.source().rows()) finish();
    return there;
  }
  /// In steps, so that progress can be shown.
  void wait_for_all() {
    const std::int64_t rows = reading_.source().rows();
    for (std::int64_t there = 0; there < rows;) there = wait_for(there + 1);
  }
  /// Seconds since the beginning that were not spent waiting.
  double busy_seconds() const { return std::chrono::duration<double>(Clock::now() - begin_ - waited_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  void finish() {
    if (std::exchange(finished_, true)) return;
    const data::PointSource& source = reading_.source();
    Phase& read = invocation_.report.phase("read");
    read.bytes += source.file_bytes();
    read.busy_seconds += reading_.seconds();
    if (source.changed_values() > 0) {
      invocation_.progress.warning(fmt::format("{}: --precision f32 changed {} of {} values", source.name(),
                                               source.changed_values(), source.rows() * source.columns()));
    }
    const bool has_own_memory = backend_ != nullptr && backend_->device_bytes() > 0;
    if (has_own_memory) invocation_.progress.phase("upload", 0);
  }

  data::Reading& reading_;
  const Backend* backend_;
  Invocation& invocation_;
  Clock::time_point begin_ = Clock::now();
  Clock::duration waited_{};
  bool finished_ = false;
};

}  // namespace

Invocation::Invocation(std::string command, const CommonOptions& options)
    : common(options), report{.command = std::move(command)}, progress(report, show_of(options)) {
  Terminal& terminal = Terminal::instance();
  terminal.set_verbosity(common.quiet ? Verbosity::quiet : common.verbose ? Verbosity::verbose : Verbosity::normal);
}

void Invocation::warn_without_effect(const OptionSet& set, const std::string& option, const std::string& why) {
  if (set.on_command_line(option)) progress.warning(fmt::format("{} has no effect: {}", option, why));
}

void Invocation::warn_without_effect(const OptionSet& set) {
  if (common.output.empty()) warn_without_effect(set, "--force", "there is no --output");
  if (report.backend == "cpu") {
    for (const char* option : {"--device", "--device-memory", "--screen"}) {
      warn_without_effect(set, option, "the backend is cpu");
    }
  }
  if (report.backend == "cuda") warn_without_effect(set, "--threads", "the backend is cuda");
}

void Invocation::warn_of_text_options(const OptionSet& set, std::vector<std::string> inputs) {
  inputs.push_back(common.weights);
  const auto is_text = [](const std::string& input) {
    return !input.empty() && data::is_text_table(data::parse_location(input).file);
  };
  if (std::any_of(inputs.begin(), inputs.end(), is_text)) return;
  for (const char* option : {"--delimiter", "--header"}) {
    warn_without_effect(set, option, "no input that it describes is text");
  }
}

void Invocation::wrote(const std::string& path) {
  report.output = path;
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (!failure) report.phase("write").bytes += static_cast<std::int64_t>(bytes);
}

void Invocation::close(const std::string& next) {
  progress.finish();
  if (common.json) print_out(to_json(report));
  finish_out();
  Terminal::instance().say(summary(report, next));
}

std::unique_ptr<data::PointSource> open_input(const std::string& location, const Invocation& invocation,
                                              const Preparation* given) {
  data::ReadOptions options = read_options(invocation.common);
  if (given != nullptr || !preparation_request(invocation.common).is_none()) options.keep_bytes = false;
  return data::open_points(location, options);
}

ValueClass InputPair::value_class() const {
  const bool narrow = first->value_class() == ValueClass::f32 && (!second || second->value_class() == ValueClass::f32);
  return narrow ? ValueClass::f32 : ValueClass::f64;
}

InputPair open_inputs(const std::string& first, const std::string& second, const Invocation& invocation) {
  InputPair pair{open_input(first, invocation), second.empty() ? nullptr : open_input(second, invocation)};
  const bool as_they_are =
      preparation_request(invocation.common).is_none() && metric_of(invocation.common) != Metric::cosine;
  if (!pair.second || as_they_are) return pair;
  data::ReadOptions options = read_options(invocation.common);
  options.precision = data::Precision::f64;
  const ValueClass of_run = pair.value_class();
  if (pair.first->value_class() != of_run) pair.first = data::open_points(first, options);
  if (pair.second->value_class() != of_run) pair.second = data::open_points(second, options);
  return pair;
}

std::int64_t prepared_columns(const data::PointSource& points, const CommonOptions& common) {
  return common.pca > 0 ? common.pca : points.columns();
}

std::int64_t value_bytes(const data::PointSource& source) {
  const std::int64_t values = checked_product(source.rows(), source.columns(), source.name().c_str());
  return checked_product(values, data::size_of(source.held_as()), source.name().c_str());
}

std::int64_t points_bytes(const data::PointSource& source) { return value_bytes(source) + source.held_bytes(); }

std::unique_ptr<data::Reading> read_points(data::PointSource& source, Invocation& invocation,
                                           const Preparation* given) {
  const PreparationStep step{{}, given};
  auto reading = std::make_unique<data::Reading>(source, reading_options(invocation.common, step));
  ShownArrival(*reading, nullptr, invocation).wait_for_all();
  tell_of_dropped_rows(*reading, invocation.progress);
  if (!step.is_none()) {
    invocation.progress.phase("prepare", 0);
    prepare(*reading, step, invocation.common);
  }
  return reading;
}

std::unique_ptr<Backend> choose_backend(Invocation& invocation) {
  invocation.progress.phase("open", 0);
  const BackendOptions options = backend_options(invocation.common);
  std::string passed_over;
  for (const BackendEntry& entry : backends()) {
    const bool named = invocation.common.backend == entry.name;
    if (!named && invocation.common.backend != "auto") continue;
    if (const std::string reason = entry.missing(options); !reason.empty()) {
      if (named) throw Error(ExitCode::device, fmt::format("--backend {}: {}", entry.name, reason));
      // The remedy, behind the semicolon, is in `kith devices`.
      passed_over += fmt::format("; {} passed over: {}", entry.name, reason.substr(0, reason.find(';')));
      continue;
    }
    std::unique_ptr<Backend> backend = entry.open(options);
    invocation.report.backend = entry.name;
    invocation.report.device = describe(backend->device());
    invocation.report.threads = threads_used(entry.name, invocation.common);
    Terminal::instance().say(fmt::format("backend {}: {}{}", entry.name, invocation.report.device, passed_over));
    return backend;
  }
  throw Error(ExitCode::device, fmt::format("no backend can be used{}", passed_over));
}

HeldPoints hold_points(data::PointSource& source, Invocation& invocation, const std::function<void()>& opened,
                       const std::optional<Weighting>& weighting, const Preparation* given) {
  HeldPoints held;
  const PreparationStep step{preparation_request(invocation.common), given};
  const data::ReadingOptions options = reading_options(invocation.common, step);
  // Which rows there are is known at the end where some may be left out, and so are parameters found in all of them.
  const bool all_at_once = options.drop_missing || !step.is_none() || (weighting && weighting->absent > 0);
  held.values = std::make_unique<data::Reading>(source, options);
  held.backend = choose_backend(invocation);
  opened();
  Weights weights;
  {
    ShownArrival arrival(*held.values, held.backend.get(), invocation);
    if (all_at_once) arrival.wait_for_all();
    if (options.drop_missing) tell_of_dropped_rows(*held.values, invocation.progress);
    if (!step.is_none()) {
      invocation.progress.phase("prepare", 0);
      held.preparation = prepare(*held.values, step, invocation.common);
      invocation.report.prepared = describe(given == nullptr ? held.preparation : *given);
    }
    if (weighting) held.weighed = std::make_unique<WeighedRows>(*weighting, *held.values);
    weights = weighting ? held.weighed->weights() : equal_weights(rows_of(held.rows()));
    held.points = held.backend->hold({held.rows(), 0, all_at_once ? nullptr : &arrival, weights.rows});
    // Rows that do not fit stay on the host.
    if (invocation.common.block_rows == 0 && held.backend->device_bytes() >= value_bytes(source)) {
      Phase& upload = invocation.report.phase("upload");
      upload.bytes += value_bytes(source);
      upload.busy_seconds += arrival.busy_seconds();
    }
  }
  invocation.progress.phase("prepare", 0);
  try {
    held.plan = make_plan(*held.points, weights);
  } catch (const Error& error) {  // of the values, whose file the mathematics does not know
    throw Error(error.code(), fmt::format("{}: {}", source.name(), error.what()));
  }
  held.points->prepare(held.plan);
  note_device_memory(held, invocation);
  return held;
}

std::vector<std::int64_t> HeldPoints::row_numbers() const {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows_of(rows())));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (weighed && !weighed->counted_rows().empty()) numbers = weighed->counted_rows();
  const std::span<const std::int64_t> kept = values->kept_rows();
  for (std::int64_t& number : numbers) number = kept.empty() ? number : kept[static_cast<std::size_t>(number)];
  return numbers;
}

void check_counted(std::int64_t clusters, const HeldPoints& held, const data::PointSource& source) {
  const std::int64_t counted = rows_of(held.rows());
  if (clusters <= counted) return;
  throw Error(
      ExitCode::usage,
      fmt::format("-k {}: {} has {} rows, of which {} are left out (by --nan drop, or of weight 0); expected at "
                  "most {} clusters",
                  clusters, source.name(), source.rows(), source.rows() - counted, counted));
}

void note_device_memory(const HeldPoints& held, Invocation& invocation) {
  invocation.report.device_memory = std::max(invocation.report.device_memory, held.backend->device_bytes());
}

PointsReport describe(const data::PointSource& source) {
  return {source.name(), source.rows(), source.columns(), source.element_type(), data::size_of(source.held_as()) == 1};
}

}  // namespace kith::app
