// Reads points from files, prepares them and gives them to a backend.
#include "app/run/held_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <tuple>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/dropped_rows.h"
#include "app/run/model.h"
#include "app/run/processes.h"
#include "core/points/composed_points.h"
#include "core/points/row_reader.h"
#include "core/points/streamed_points.h"
#include "core/runtime/clock.h"
#include "data/file_set.h"
#include "data/format/column_choice.h"
#include "data/format/filters.h"
#include "data/format/shape.h"

namespace kith::app {
namespace {

data::ReadingOptions reading_options(const CommonOptions& common) { return {.drop_missing = may_drop_rows(common)}; }

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

data::ReadOptions input_options(const CommonOptions& common, const Preparation* given,
                                const ExpectedColumns& expected) {
  data::ReadOptions options = read_options(common, expected);
  if (compares_bits(common)) {
    options.form = data::RowForm::bits;
    options.bits = common.bits;
    return options;
  }
  const bool is_prepared = given == nullptr ? prepares(common) : !given->is_none();
  if (is_prepared) options.keep_bytes = false;
  // Prepared rows get their directions after the preparation.
  const Metric metric = metric_of(common);
  if (takes_directions(metric) && is_prepared) options.form = data::RowForm::wide;
  if (metric == Metric::cosine && !is_prepared) options.form = data::RowForm::directions;
  if (metric == Metric::correlation && !is_prepared) options.form = data::RowForm::deviations;
  if (metric == Metric::haversine) options.form = data::RowForm::places;
  return options;
}

std::unique_ptr<data::PointSource> open_input(const std::string& location, const CommonOptions& common,
                                              const Preparation* given, const ExpectedColumns& expected) {
  check_bit_options(common);
  return data::open_points(location, input_options(common, given, expected));
}

namespace {

/// A line of what the run does, "columns    12 for --columns numeric".
void say_line(const char* name, const std::string& text) {
  Terminal::instance().say(named_text(name, visible(text), prose_width(Stream::error)));
}

}  // namespace

void say_set(const data::PointSource& source) {
  constexpr std::size_t kShown = 5;
  const data::FileSet* set = source.set();
  if (set == nullptr) return;
  const std::vector<data::FileSet::File>& files = set->files();
  const std::vector<std::string>& skipped = set->names().skipped;
  const std::string which = files.size() == 1 ? "1 file of " + set->name() + ", " + files.front().relative
                                              : fmt::format("{} files of {}, {} to {}", files.size(), set->name(),
                                                            files.front().relative, files.back().relative);
  const std::string others = skipped.empty()
                                 ? ""
                                 : fmt::format("; {} skipped, which are no points of their own by name or kind: {}",
                                               skipped.size(), data::show_list(skipped, kShown));
  say_line("files", which + others);
}

void say_numeric(const data::PointSource& source, const CommonOptions& common) {
  constexpr std::size_t kShown = 30;
  if (!data::asks_for_numeric(common.columns, {})) return;
  const std::vector<std::string> names = source.column_names();
  const std::string which = names.empty() ? "" : ": " + data::show_list(names, kShown);
  say_line("columns", fmt::format("{} for --columns {}{}", source.columns(), common.columns, which));
}

void say_bits(const data::PointSource& source) {
  const data::RowBits bits = source.row_bits();
  if (bits.count == 0) return;
  const char* stored = bits.are_packed ? "eight in each byte of the file (--bits D if a row has fewer)"
                       : source.element_type() == data::kFingerprint ? "in hexadecimal digits in the file"
                                                                     : "a column of the file for each";
  say_line("bits", fmt::format("{} in {} {} a row, {}", bits.count, source.columns(),
                               source.columns() == 1 ? "byte" : "bytes", stored));
}

ValueClass InputPair::value_class() const {
  const bool narrow = first->value_class() == ValueClass::f32 && (!second || second->value_class() == ValueClass::f32);
  return narrow ? ValueClass::f32 : ValueClass::f64;
}

namespace {

/// Throws if one set are centroids of prepared points, and the other one has the units of the points.
void refuse_other_units(const std::string& first, const std::string& second) {
  const auto prepared = [](const std::string& location) {
    if (!names_model(location)) return false;
    const std::optional<Preparation> preparation = read_preparation(location);
    return preparation && !preparation->is_none();
  };
  const bool is_first = prepared(first);
  if (is_first == prepared(second)) return;
  const std::string& centroids = is_first ? first : second;
  throw Error(ExitCode::data,
              fmt::format("{}: expected centroids in the units of {}, found those of prepared points (--scale or "
                          "--pca); give {}:/centroids_original",
                          centroids, is_first ? second : first, data::parse_location(centroids).file));
}

}  // namespace

InputPair open_inputs(const std::string& first, const std::string& second, const Job& job) {
  const CommonOptions& common = job.common;
  if (!second.empty()) refuse_other_units(first, second);
  InputPair pair{open_input(first, common), nullptr};
  say_set(*pair.first);
  say_numeric(*pair.first, common);
  say_bits(*pair.first);
  if (second.empty()) return pair;
  ExpectedColumns of_first, of_second{.names = pair.first->column_names(), .are_queries = true};
  of_second.model = pair.first->table();  // queries have the texts of the base
  if (const auto indexed = pair.first->indexed_columns(); indexed && !common.columns.empty()) {
    of_second.indexed.count = indexed->count;  // so that the columns can be chosen
  }
  pair.second = open_input(second, common, nullptr, of_second);
  say_set(*pair.second);
  const data::RowBits of_first_set = pair.first->row_bits(), of_second_set = pair.second->row_bits();
  if (of_first_set.are_packed != of_second_set.are_packed) say_bits(*pair.second);
  const std::string difference =
      common.columns.empty() && common.drop_columns.empty()
          ? difference_of_columns(pair.second->column_names(), of_second.names, pair.first->name())
          : "";
  if (!difference.empty()) {
    throw Error(ExitCode::data, fmt::format("{}: {}; give points with the same columns, or choose them with --columns",
                                            pair.second->name(), difference));
  }
  of_first.indexed = of_second.indexed = shared_columns(*pair.first, *pair.second);
  const auto has_others = [&of_first](const data::PointSource& source) {
    return source.indexed_columns().value_or(of_first.indexed) != of_first.indexed;
  };
  if (has_others(*pair.first)) pair.first = open_input(first, common, nullptr, of_first);
  if (has_others(*pair.second)) pair.second = open_input(second, common, nullptr, of_second);
  // Directions are held as float64.
  const bool unchanged = !prepares(common) || takes_directions(metric_of(common));
  if (unchanged) return pair;
  const auto in_class_of_run = [&](std::unique_ptr<data::PointSource>& source, const std::string& location,
                                   const ExpectedColumns& expected) {
    data::ReadOptions options = read_options(common, expected);
    options.precision = data::Precision::f64;
    source = data::open_points(location, options);
  };
  const ValueClass of_run = pair.value_class();
  if (pair.first->value_class() != of_run) in_class_of_run(pair.first, first, of_first);
  if (pair.second->value_class() != of_run) in_class_of_run(pair.second, second, of_second);
  return pair;
}

void require_same_columns(const data::PointSource& points, const data::PointSource& others, const char* what) {
  const std::int64_t expected = data::shown_columns(points), found = data::shown_columns(others);
  if (expected == found) return;
  std::string remedy = fmt::format("give {} of the same columns, or choose them with --columns", what);
  for (const auto& [packed, other] : {std::pair(&points, &others), std::pair(&others, &points)}) {
    constexpr std::int64_t kOfByte = 8;
    const std::int64_t bits = data::shown_columns(*other), padding = packed->columns() * kOfByte - bits;
    if (!packed->row_bits().are_packed || padding < 0 || padding >= kOfByte) continue;
    remedy = fmt::format("if a row of {} has {} bits, and 0 behind them, say --bits {}", packed->name(), bits, bits);
  }
  throw Error(ExitCode::data, fmt::format("{}: expected {} columns, as {} has, found {}; {}", others.name(), expected,
                                          points.name(), found, remedy));
}

std::int64_t prepared_columns(const data::PointSource& points, const CommonOptions& common) {
  return common.pca > 0 ? common.pca : points.columns();
}

std::int64_t value_bytes(const data::PointSource& source) {
  const std::int64_t values = checked_product(source.rows(), source.columns(), source.name().c_str());
  return checked_product(values, data::size_of(source.held_as()), source.name().c_str());
}

std::int64_t own_value_bytes(const data::PointSource& source) {
  const std::int64_t most = shard_of(source.rows(), 0, processes().size()).count;
  return value_bytes(source) / std::max<std::int64_t>(source.rows(), 1) * most;
}

std::int64_t row_state_bytes(const data::PointSource& source) {
  constexpr std::int64_t kBytesPerRow = 16;
  return checked_product(source.rows(), kBytesPerRow, source.name().c_str());
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

namespace {

/// What the ways to hold rows share: the rows of this process, and what is known about them.
struct Holding {
  const HoldRequest& request;
  Job& job;
  data::PointSource& source;     // the rows of this process
  std::int64_t rows_of_all = 0;  // of all processes
  std::int64_t first_row = 0;    // of the rows in the data set
  PreparationStep step;
  HeldPoints held;

  const CommonOptions& common() const { return job.common; }
};

/// The backend, once it is open: only then options without effect on it, and the plan of the run, are known.
std::unique_ptr<Backend> open_backend(const Holding& h) {
  auto backend = choose_backend(h.job, shape_of(h.source, h.request.work));
  if (h.request.set != nullptr) h.job.warn(*h.request.set);
  if (h.request.plan != nullptr && (h.common().verbose || h.job.progress.is_shown())) {
    Plan plan = estimate(*h.request.plan, h.job);
    if (processes().is_alone()) h.job.progress.expect(plan, !h.common().no_advice);
    if (h.common().verbose) {
      Terminal::instance().detail(as_text(plan, text_width(Stream::error)));
      h.job.report.plan = std::move(plan);
    }
  }
  return backend;
}

/// Waits for rows that must all be there before they are held: dropped rows, rows of weight 0 and the parameters of a
/// preparation are known only after the last row has arrived. Returns whether it did so.
bool wait_if_needed(Holding& h, const data::ReadingOptions& options, ShownArrival& arrival) {
  const bool prepares = !h.step.is_none() && !h.held.spooled;
  const bool all_at_once =
      options.drop_missing || prepares || (h.request.weighting != nullptr && h.request.weighting->absent > 0);
  if (all_at_once) arrival.wait_for_all();
  if (options.drop_missing) warn_of_dropped_rows(*h.held.values, h.common(), h.job.progress);
  if (prepares) {
    h.job.progress.phase("prepare", 0);
    Preparation computed = prepare(*h.held.values, h.step, h.common(), h.first_row);
    if (h.step.given == nullptr) h.held.preparation = std::move(computed);
  }
  if (!h.step.is_none()) {
    h.job.report.prepared = describe(h.request.given == nullptr ? h.held.preparation : *h.request.given);
  }
  return all_at_once;
}

/// The weights of the rows of all processes, `rows` of which are those of this one.
Weights weights_of(Holding& h, std::int64_t rows) {
  if (h.request.weighting == nullptr) return equal_weights(h.held.own ? h.rows_of_all : rows);
  h.held.weighed = std::make_unique<WeighedRows>(h.request.weighting->of_rows, h.request.weighting->name,
                                                 h.held.values->values(), h.held.values->kept_rows());
  return h.held.weighed->weights();
}

/// The weights of the rows of this process.
std::span<const double> own_weights(const Weights& weights, const Holding& h) {
  if (!weights.given() || !h.held.own) return weights.rows;
  const Shard share = own_rows(h.rows_of_all);
  return weights.rows.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.count));
}

/// Records where the rows are, and the memory that decided it.
void record_place(const Holding& h, const char* place) {
  if (h.request.plan == nullptr) return;
  const auto& [required, limit] = std::tie(h.request.plan->required_bytes, h.request.plan->limit);
  const std::string memory =
      fmt::format("the run needs {} of {} {}", show_bytes(required), show_bytes(limit.bytes), limit.source);
  Decision decision{.subject = "rows", .method = place, .reason = memory};
  if (required > limit.bytes) {
    decision.considered = {{.method = "in memory", .bytes = required, .excluded = "more than the limit"},
                           {.method = place, .bytes = h.request.stream ? h.request.stream->bytes : 0}};
  }
  h.job.report.decisions.push_back(std::move(decision));
}

/// Reads all rows while the backend opens and copies them. It is open already if rows could have stayed in their file.
Weights hold_in_memory(Holding& h) {
  HeldPoints& held = h.held;
  const data::ReadingOptions options = reading_options(h.common());
  held.values = std::make_unique<data::Reading>(h.source, options);
  if (!held.backend) held.backend = open_backend(h);
  record_place(h, "in memory");
  ShownArrival arrival(*held.values, held.backend->device().has_own_memory, h.job);
  const bool all_at_once = wait_if_needed(h, options, arrival);
  const Weights weights = weights_of(h, rows_of(held.rows()));
  if (!held.own || own_rows(h.rows_of_all).count > 0) {
    held.points =
        held.backend->hold({held.rows(), h.first_row, all_at_once ? nullptr : &arrival, own_weights(weights, h)});
  }
  arrival.wait_for_all();
  // Rows that do not fit into device memory stay on the host.
  if (h.common().block_rows == 0 && held.backend->device_bytes() >= value_bytes(h.source)) {
    Phase& upload = h.job.report.phase("upload");
    upload.bytes += value_bytes(h.source);
    upload.busy_seconds += arrival.busy_seconds();
  }
  return weights;
}

/// Leaves rows in `file`, which is that of the source or of --scratch. A device with its own memory takes all of them
/// from there; else those that fit stay in memory.
Weights hold_from_file(Holding& h, data::PointSource& file, const StreamPlan& stream) {
  HeldPoints& held = h.held;
  const bool direct = file.is_shared() && held.backend->device().has_own_memory;
  record_place(h, direct         ? "sent from their file to the device"
                  : held.spooled ? "in passes over a file of --scratch"
                                 : "in passes over their file");
  data::ReadingOptions options = reading_options(h.common());
  options.spooled = held.spooled.get();
  options.rows =
      direct ? 1 : std::clamp<std::int64_t>(stream.held_rows * h.source.columns() / file.columns(), 1, file.rows());
  held.values = std::make_unique<data::Reading>(h.source, options);
  ShownArrival arrival(*held.values, held.backend->device().has_own_memory, h.job);
  wait_if_needed(h, options, arrival);
  const Weights weights = weights_of(h, file.rows());
  arrival.wait_for_all();
  held.in_passes = !stream.optional;
  if (held.in_passes) bypass_full_cache(file, options.rows);
  held.reader = std::make_unique<data::FileRows>(file, data::FileRowsOptions{.block_bytes = stream.block_bytes});
  if (stream.only_searched || (held.in_passes && !direct)) h.job.progress.show_reads(held.reader->counts());
  if (!direct) {
    auto points = std::make_unique<StreamedPoints>(
        *held.backend,
        StreamedRows{held.rows(), held.reader.get(), own_weights(weights, h), h.first_row, stream.only_searched});
    held.plan = points->plan();
    held.points = std::move(points);
    return weights;
  }
  const auto begin = Clock::now();
  held.points = held.backend->hold(
      {held.reader->shape(), h.first_row, nullptr, own_weights(weights, h), held.reader.get(), stream.only_searched});
  Phase& read = h.job.report.phase("read");
  read.bytes = held.reader->bytes();
  read.busy_seconds = seconds_since(begin);
  return weights;
}

/// Writes all rows, prepared, to a file of --scratch, and leaves them there.
Weights hold_spooled(Holding& h, const StreamPlan& stream) {
  h.job.progress.phase("spool", h.source.rows());
  h.held.spooled =
      std::make_unique<data::SpooledRows>(h.source,
                                          data::SpoolOptions{.folder = h.common().scratch,
                                                             .block_bytes = stream.block_bytes,
                                                             .least_rows = h.common().pca > 0 ? kRowsOfBlocks : 1,
                                                             .drop_missing = reading_options(h.common()).drop_missing},
                                          [&h](std::int64_t read) { h.job.progress.progress(read); });
  if (!h.step.is_none()) {
    h.job.progress.phase("prepare", 0);
    h.held.preparation = prepare(*h.held.spooled, h.step, h.common());
  }
  h.job.report.phase("spool").bytes += h.source.file_bytes();
  return hold_from_file(h, *h.held.spooled, stream);
}

/// Holds the rows of this process in one of the three ways. A backend that is missing is an error before long work.
Weights hold_own(Holding& h) {
  const std::optional<StreamPlan>& stream = h.request.stream;
  if (!stream) return hold_in_memory(h);
  h.held.backend = open_backend(h);
  if (stream->spools) return hold_spooled(h, *stream);
  const bool direct = h.source.is_shared() && h.held.backend->device().has_own_memory;
  return stream->optional && !direct ? hold_in_memory(h) : hold_from_file(h, h.source, *stream);
}

/// Holds the rows of this process, and makes points of those of all processes.
Weights hold_composed(Holding& h) {
  Weights weights = hold_own(h);
  ComposedPoints::Shards shards;
  if (h.held.points) shards.points.push_back(std::move(h.held.points));
  h.held.points =
      std::make_unique<ComposedPoints>(std::move(shards), columns_of(h.held.rows()), *h.held.backend, processes());
  return weights;
}

}  // namespace

HeldPoints hold_points(const HoldRequest& request, Job& job) {
  data::PointSource& all = request.source;
  const Shard share = own_rows(all.rows());
  std::unique_ptr<data::PointSource> own;
  if (!processes().is_alone()) {  // a process without rows reads one, which it does not use
    own = std::make_unique<data::RowRange>(all, std::min(share.first, all.rows() - 1),
                                           std::max<std::int64_t>(share.count, 1));
  }
  Holding h{request,
            job,
            own ? *own : all,
            all.rows(),
            own ? share.first : 0,
            {preparation_request(job.common, all), request.given},
            {}};
  HeldPoints& held = h.held;
  held.own = std::move(own);
  if (held.own && !h.step.is_none() && request.given == nullptr) {
    job.progress.phase("prepare", 0);
    held.preparation = fit(all, job.common);
    h.step.given = &held.preparation;
  }
  const Weights weights = held.own ? hold_composed(h) : hold_own(h);
  if (held.reader == nullptr || !request.stream->only_searched) {
    job.progress.phase("prepare", 0);
    held.plan = make_plan(*held.points, weights);
    require_digits(held.plan.range, measure_of(metric_of(job.common)));
    if (!compares_bits(job.common)) held.points->prepare(held.plan);
  }
  note_device_memory(held, job);
  return std::move(held);
}

std::vector<std::int64_t> HeldPoints::row_numbers() const {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(points->rows()));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (weighed && !weighed->counted_rows().empty()) numbers = weighed->counted_rows();
  const std::span<const std::int64_t> kept = values->kept_rows();
  for (std::int64_t& number : numbers) number = kept.empty() ? number : kept[static_cast<std::size_t>(number)];
  return numbers;
}

void note_device_memory(const HeldPoints& held, Job& job) {
  job.report.device_memory = std::max(job.report.device_memory, held.backend->device_bytes());
}

PointsReport describe(const data::PointSource& source) {
  return {source.name(),
          source.rows(),
          data::shown_columns(source),
          source.element_type(),
          data::size_of(source.held_as()) == 1 && source.row_bits().count == 0,
          source.skipped_lines()};
}

}  // namespace kith::app
