// Reads points from files, prepares them and gives them to a backend.
#include "app/run/held_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "app/cli/terminal.h"
#include "app/run/advice.h"
#include "app/run/dropped_rows.h"
#include "app/run/processes.h"
#include "core/points/composed_points.h"
#include "core/points/row_blocks.h"
#include "core/points/streamed_points.h"
#include "core/runtime/clock.h"
#include "data/format/row_range.h"

namespace kith::app {
namespace {

data::ReadingOptions reading_options(const CommonOptions& common) { return {.drop_missing = common.nan == "drop"}; }

/// Shows the progress of reading, and separates its time from that of copying rows to the device.
class ShownArrival final : public Arrival {
 public:
  ShownArrival(data::Reading& reading, bool uploads, Job& job) : reading_(reading), uploads_(uploads), job_(job) {
    job_.progress.phase("read", reading.rows());
  }

  std::int64_t wait_for(std::int64_t rows) override {
    const auto begin = Clock::now();
    const std::int64_t arrived = reading_.wait_for(rows);
    waited_ += Clock::now() - begin;
    job_.progress.progress(arrived);
    if (arrived == reading_.rows()) finish();
    return arrived;
  }
  /// Waits in steps, to show progress.
  void wait_for_all() {
    const std::int64_t rows = reading_.rows();
    for (std::int64_t arrived = 0; arrived < rows;) arrived = wait_for(arrived + 1);
  }
  /// Seconds since construction, without those of waiting for rows.
  double busy_seconds() const { return std::chrono::duration<double>(Clock::now() - begin_ - waited_).count(); }

 private:
  void finish() {
    if (std::exchange(finished_, true)) return;
    const data::PointSource &source = reading_.source(), &from = reading_.from();
    Phase& read = job_.report.phase("read");
    read.bytes +=
        static_cast<std::int64_t>(static_cast<double>(from.file_bytes()) * static_cast<double>(reading_.rows()) /
                                  static_cast<double>(std::max<std::int64_t>(from.rows(), 1)));
    read.busy_seconds += reading_.seconds();
    for (const std::string& remark : source.remarks()) {
      job_.progress.warning(fmt::format("{}: {}", source.name(), remark));
    }
    if (source.changed_values() > 0) {
      job_.progress.warning(fmt::format("{}: --precision f32 changed {} of {} values", source.name(),
                                        source.changed_values(), source.rows() * source.columns()));
    }
    if (uploads_) job_.progress.phase("upload", 0);
  }

  data::Reading& reading_;
  bool uploads_;  // to device memory, once they have arrived
  Job& job_;
  Clock::time_point begin_ = Clock::now();
  Clock::duration waited_{};
  bool finished_ = false;
};

/// Points that the device takes from the file itself.
std::unique_ptr<Points> hold_directly(const HeldPoints& held, std::int64_t first_row, std::span<const double> weights,
                                      bool only_searched, Job& job) {
  const auto begin = Clock::now();
  auto points =
      held.backend->hold({held.reader->shape(), first_row, nullptr, weights, held.reader.get(), only_searched});
  Phase& read = job.report.phase("read");
  read.bytes = held.reader->bytes();
  read.busy_seconds = seconds_since(begin);
  return points;
}

/// The rows of all processes. own: those of this one; null: none.
std::unique_ptr<Points> composed(std::unique_ptr<Points> own, std::int64_t columns, Backend& backend) {
  ComposedPoints::Parts parts;
  if (own) parts.points.push_back(std::move(own));
  return std::make_unique<ComposedPoints>(std::move(parts), columns, backend, processes());
}

/// Writes the prepared rows to a file of --scratch. preparation: the parameters, if the step computes them.
std::unique_ptr<data::SpooledRows> spool(data::PointSource& source, Job& job, const data::ReadingOptions& reading,
                                         const StreamPlan& stream, const PreparationStep& step,
                                         Preparation& preparation) {
  job.progress.phase("spool", source.rows());
  auto rows =
      std::make_unique<data::SpooledRows>(source,
                                          data::SpoolOptions{.folder = job.common.scratch,
                                                             .block_bytes = stream.block_bytes,
                                                             .least_rows = job.common.pca > 0 ? kRowsOfBlocks : 1,
                                                             .drop_missing = reading.drop_missing},
                                          [&job](std::int64_t read) { job.progress.progress(read); });
  if (!step.is_none()) {
    job.progress.phase("prepare", 0);
    preparation = prepare(*rows, step, job.common);
  }
  Phase& phase = job.report.phase("spool");
  phase.bytes += source.file_bytes();
  return rows;
}

/// The columns of svmlight files that are used together: their indices count from 0 if one of them has that index, and
/// the file with the largest index says how many columns there are, since features that are absent are 0.
data::IndexedColumns shared_columns(const data::PointSource& a, const data::PointSource& b) {
  const auto of_a = a.indexed_columns(), of_b = b.indexed_columns();
  const std::int64_t base = std::min(of_a ? of_a->base : 1, of_b ? of_b->base : 1);
  const auto columns = [base](const data::PointSource& source) {
    const auto indexed = source.indexed_columns();
    return indexed ? indexed->count + indexed->base - base : source.columns();
  };
  return {base, std::max(columns(a), columns(b))};
}

}  // namespace

std::unique_ptr<data::PointSource> open_input(const std::string& location, const CommonOptions& common,
                                              const Preparation* given) {
  data::ReadOptions options = read_options(common);
  const bool prepares = !PreparationStep{preparation_request(common), given}.is_none();
  if (prepares) options.keep_bytes = false;
  // Prepared rows get their directions after the preparation.
  if (metric_of(common) == Metric::cosine) options.form = prepares ? data::RowForm::wide : data::RowForm::directions;
  return data::open_points(location, options);
}

ValueClass InputPair::value_class() const {
  const bool narrow = first->value_class() == ValueClass::f32 && (!second || second->value_class() == ValueClass::f32);
  return narrow ? ValueClass::f32 : ValueClass::f64;
}

InputPair open_inputs(const std::string& first, const std::string& second, const Job& job) {
  InputPair pair{open_input(first, job.common), nullptr};
  CommonOptions of_first = job.common, of_second = job.common;
  of_second.like_columns = pair.first->column_names();
  if (second.empty()) return pair;
  if (const auto indexed = pair.first->indexed_columns(); indexed && !job.common.columns.empty()) {
    of_second.indexed.count = indexed->count;  // so that the columns can be chosen
  }
  pair.second = open_input(second, of_second);
  of_first.indexed = of_second.indexed = shared_columns(*pair.first, *pair.second);
  const auto has_others = [&of_first](const data::PointSource& source) {
    return source.indexed_columns().value_or(of_first.indexed) != of_first.indexed;
  };
  if (has_others(*pair.first)) pair.first = open_input(first, of_first);
  if (has_others(*pair.second)) pair.second = open_input(second, of_second);
  // With cosine, all rows are held as float64.
  const bool unchanged = preparation_request(job.common).is_none() || metric_of(job.common) == Metric::cosine;
  if (unchanged) return pair;
  const auto in_class_of_run = [&](std::unique_ptr<data::PointSource>& source, const std::string& location,
                                   const CommonOptions& common) {
    data::ReadOptions options = read_options(common);
    options.precision = data::Precision::f64;
    source = data::open_points(location, options);
  };
  const ValueClass of_run = pair.value_class();
  if (pair.first->value_class() != of_run) in_class_of_run(pair.first, first, of_first);
  if (pair.second->value_class() != of_run) in_class_of_run(pair.second, second, of_second);
  return pair;
}

std::int64_t prepared_columns(const data::PointSource& points, const CommonOptions& common) {
  return common.pca > 0 ? common.pca : points.columns();
}

std::int64_t value_bytes(const data::PointSource& source) {
  const std::int64_t values = checked_product(source.rows(), source.columns(), source.name().c_str());
  return checked_product(values, data::size_of(source.held_as()), source.name().c_str());
}

std::int64_t own_value_bytes(const data::PointSource& source) {
  const std::int64_t most = row_share(source.rows(), 0, processes().size()).count;
  return value_bytes(source) / std::max<std::int64_t>(source.rows(), 1) * most;
}

std::int64_t row_state_bytes(const data::PointSource& source) {
  constexpr std::int64_t kBytesPerRow = 16;
  return checked_product(source.rows(), kBytesPerRow, "rows");
}

std::int64_t column_state_bytes(std::int64_t columns) {
  constexpr std::int64_t kPlan = 48, kCopies = 2;  // range, grid, center and mean; of the program and of the backend
  return checked_product(columns, kCopies * kPlan, "columns");
}

std::int64_t points_bytes(const data::PointSource& source) { return value_bytes(source) + source.held_bytes(); }

std::unique_ptr<data::Reading> read_points(data::PointSource& source, Job& job, const Preparation* given) {
  const PreparationStep step{{}, given};
  auto reading = std::make_unique<data::Reading>(source, reading_options(job.common));
  ShownArrival(*reading, false, job).wait_for_all();
  warn_of_dropped_rows(*reading, job.common, job.progress);
  if (!step.is_none()) {
    job.progress.phase("prepare", 0);
    prepare(*reading, step, job.common);
  }
  return reading;
}

HeldPoints hold_points(data::PointSource& all, Job& job, const std::function<void()>& opened,
                       const std::optional<Weighting>& weighting, const Preparation* given,
                       std::optional<StreamPlan> stream) {
  HeldPoints held;
  const RowShare share = own_rows(all.rows());
  // A process without rows reads one, which it does not use.
  if (!processes().is_alone()) {
    held.own = std::make_unique<data::RowRange>(all, std::min(share.first, all.rows() - 1),
                                                std::max<std::int64_t>(share.count, 1));
  }
  data::PointSource& source = held.own ? *held.own : all;
  PreparationStep step{preparation_request(job.common), given};
  if (held.own && !step.is_none() && given == nullptr) {
    job.progress.phase("prepare", 0);
    held.preparation = fit(all, job.common);
    step.given = &held.preparation;
  }
  data::ReadingOptions options = reading_options(job.common);
  // A device with its own memory takes the rows from the file, so that they need none of the host's.
  const std::int64_t values = source.rows() * source.columns();
  if (stream)
    held.backend = choose_backend(job, values);  // first: a backend that is missing is an error before the long work
  if (stream && stream->spools) {
    held.spooled = spool(source, job, options, *stream, step, held.preparation);
    options.spooled = held.spooled.get();
  }
  data::PointSource& streamed = held.spooled ? *held.spooled : source;
  const bool direct = stream && streamed.is_shared() && held.backend->device().has_own_memory;
  if (stream && stream->optional && !direct) stream.reset();
  if (stream) {
    options.rows = direct ? 1
                          : std::clamp<std::int64_t>(stream->held_rows * source.columns() / streamed.columns(), 1,
                                                     streamed.rows());
  }
  // Dropped rows, rows of weight 0 and the parameters of a preparation are known only after the last row has arrived.
  const bool prepares = !step.is_none() && !held.spooled;
  const bool all_at_once = options.drop_missing || prepares || (weighting && weighting->absent > 0);
  held.values = std::make_unique<data::Reading>(source, options);
  if (!held.backend) held.backend = choose_backend(job, values);
  opened();
  Weights weights;
  {
    ShownArrival arrival(*held.values, held.backend->device().has_own_memory, job);
    if (all_at_once) arrival.wait_for_all();
    if (options.drop_missing) warn_of_dropped_rows(*held.values, job.common, job.progress);
    if (prepares) {
      job.progress.phase("prepare", 0);
      Preparation computed = prepare(*held.values, step, job.common, share.first);
      if (step.given == nullptr) held.preparation = std::move(computed);
    }
    if (!step.is_none()) job.report.prepared = describe(given == nullptr ? held.preparation : *given);
    if (weighting) held.weighed = std::make_unique<WeighedRows>(*weighting, *held.values);
    weights = weighting  ? held.weighed->weights()
              : held.own ? equal_weights(all.rows())
                         : equal_weights(stream ? streamed.rows() : rows_of(held.rows()));
    const std::span<const double> own_weights =
        weights.given() && held.own
            ? weights.rows.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.count))
            : weights.rows;
    if (stream) {
      arrival.wait_for_all();
      held.in_passes = !stream->optional;
      if (held.in_passes) bypass_full_cache(streamed, options.rows);
      held.reader =
          std::make_unique<data::FileRows>(streamed, data::FileRowsOptions{.block_bytes = stream->block_bytes});
      if (stream->only_searched || (held.in_passes && !direct)) job.progress.show_reads(held.reader->counts());
      if (direct) {
        held.points = hold_directly(held, share.first, own_weights, stream->only_searched, job);
      } else {
        auto points = std::make_unique<StreamedPoints>(
            *held.backend, StreamedRows{held.rows(), held.reader.get(), own_weights, held.own ? share.first : 0,
                                        stream->only_searched});
        held.plan = points->plan();
        held.points = std::move(points);
      }
    } else if (share.count > 0) {
      held.points =
          held.backend->hold({held.rows(), held.own ? share.first : 0, all_at_once ? nullptr : &arrival, own_weights});
    }
    if (held.own) {
      arrival.wait_for_all();
      held.points = composed(std::move(held.points), columns_of(held.rows()), *held.backend);
    }
    // Rows that do not fit into device memory stay on the host.
    if (!stream && job.common.block_rows == 0 && held.backend->device_bytes() >= value_bytes(source)) {
      Phase& upload = job.report.phase("upload");
      upload.bytes += value_bytes(source);
      upload.busy_seconds += arrival.busy_seconds();
    }
  }
  if (stream && stream->only_searched) {
    note_device_memory(held, job);
    return held;
  }
  job.progress.phase("prepare", 0);
  try {
    held.plan = make_plan(*held.points, weights);
    require_digits(held.plan.range, measure_of(metric_of(job.common)));
  } catch (const Error& error) {  // core/ does not know the name of the file
    throw Error(error.code(), fmt::format("{}: {}", source.name(), error.what()));
  }
  held.points->prepare(held.plan);
  note_device_memory(held, job);
  return held;
}

std::vector<std::int64_t> HeldPoints::row_numbers() const {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(points->rows()));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (weighed && !weighed->counted_rows().empty()) numbers = weighed->counted_rows();
  const std::span<const std::int64_t> kept = values->kept_rows();
  for (std::int64_t& number : numbers) number = kept.empty() ? number : kept[static_cast<std::size_t>(number)];
  return numbers;
}

void check_counted(std::int64_t clusters, const HeldPoints& held, const data::PointSource& source,
                   const CommonOptions& common) {
  const std::int64_t counted = held.plan.rows;
  if (clusters <= counted) return advise_on_clusters(clusters, counted, common);
  const std::int64_t ignored = source.rows() - counted;
  throw Error(
      ExitCode::usage,
      fmt::format("-k {}: {} has {} rows, of which {} {} ignored (dropped by --nan, or of weight 0); expected at "
                  "most {} clusters",
                  clusters, source.name(), source.rows(), ignored, ignored == 1 ? "is" : "are", counted));
}

void note_device_memory(const HeldPoints& held, Job& job) {
  job.report.device_memory = std::max(job.report.device_memory, held.backend->device_bytes());
}

PointsReport describe(const data::PointSource& source) {
  return {source.name(),
          source.rows(),
          source.columns(),
          source.element_type(),
          data::size_of(source.held_as()) == 1,
          source.skipped_lines()};
}

}  // namespace kith::app
