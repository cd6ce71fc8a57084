// Writes checkpoints in time, compares them with the run that continues, and ends runs that are asked to stop.
#include "app/run/checkpointing.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <type_traits>

#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "core/error.h"
#include "data/io/location.h"
#include "data/io/packed.h"

// The fields of the states of k-means (core/kmeans/kmeans_state.h) in checkpoints.
namespace kith {

template <class Archive>
void each_field(Archive& archive, Matrix<double>& matrix) {
  std::int64_t rows = matrix.rows(), columns = matrix.columns();
  std::vector<double> values(matrix.data(), matrix.data() + matrix.size());
  archive(rows, columns, values);
  if constexpr (std::is_same_v<Archive, data::Unpacker>) {
    if (rows < 0 || columns < 0 || checked_product(rows, columns, "centroids") != std::ssize(values)) {
      throw data::UnpackError();
    }
    matrix = Matrix<double>(rows, columns);
    std::copy(values.begin(), values.end(), matrix.data());
  }
}

template <class Archive>
void each_field(Archive& archive, IterationRecord& record) {
  archive(record.inertia, record.changed, record.shift, record.seconds, record.assign_seconds, record.screened,
          record.products, record.pairs, record.ambiguous, record.candidates, record.relocated);
}

template <class Archive>
void each_field(Archive& archive, RunRecord& record) {
  archive(record.run, record.inertia, record.iterations, record.stopped_by, record.empty_clusters);
}

template <class Archive>
void each_field(Archive& archive, SeedingState& state) {
  archive(state.seeds, state.candidates, state.drawn, state.rounds);
}

template <class Archive>
void each_field(Archive& archive, BatchState& state) {
  archive(state.done, state.seen, state.centroids);
}

/// The fields that do not follow from the centroids and the points.
template <class Archive>
void each_field(Archive& archive, KMeansResult& result) {
  archive(result.centroids, result.inertia, result.iterations, result.changed, result.stopped_by, result.stopped_value,
          result.shift_threshold, result.continues, result.run, result.history);
}

template <class Archive>
void each_field(Archive& archive, KMeansState& state) {
  archive(state.runs, state.best, state.seeding, state.batches, state.assigned, state.updated, state.history,
          state.continues);
}

}  // namespace kith

namespace kith::app {
namespace {

using data::Checkpoint;

template <class T>
std::string packed(const T& value) {
  data::Packer packer;
  packer(value);
  return packer.take();
}

[[noreturn]] void refuse_state(const std::string& file) {
  throw Error(ExitCode::data,
              fmt::format("{}: expected the state of this command, found other bytes; remove the file to "
                          "begin a new run",
                          file));
}

/// Throws unless the input is the file that it was. Its samples are the same, so that only rows between them can
/// differ.
void check_identity(const data::InputMark& found, const data::InputMark& run, const std::string& file) {
  if (!found.identity || !run.identity || *found.identity == *run.identity) return;
  const data::FileIdentity &before = *found.identity, &now = *run.identity;
  const char* what = before.modified_ns != now.modified_ns ? "time of modification"
                     : before.changed_ns != now.changed_ns ? "time of change (ctime)"
                                                           : "inode";
  throw Error(
      ExitCode::data,
      fmt::format("{}: expected the input {} as it was when the run began, found that it has another {}, with the "
                  "same size and the same samples; if it was only copied, restored, renamed or touched, so that "
                  "all of its bytes are the same, add --same-inputs, else remove {} to begin a new run",
                  file, run.name, what, file));
}

/// Earlier versions whose runs this one continues, since its steps are the same.
constexpr std::array<std::string_view, 1> kContinued{"0.1.0"};

/// Throws unless the checkpoint is one of this run.
void check_same(const Checkpoint& found, const Checkpoint& run, const std::string& file, bool same_inputs) {
  const std::string remedy = "remove it to begin a new run, or choose another name for --checkpoint";
  if (found.kith_version != run.kith_version && std::ranges::find(kContinued, found.kith_version) == kContinued.end()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: expected a checkpoint of kith {}, found one of {}; continue with that "
                            "version, or {}",
                            file, run.kith_version, found.kith_version, remedy));
  }
  if (found.command != run.command) {
    throw Error(ExitCode::usage, fmt::format("{}: expected a checkpoint of '{}', found one of '{}'; {}", file,
                                             run.command, found.command, remedy));
  }
  if (found.points != run.points) {
    throw Error(ExitCode::data, fmt::format("{}: expected a checkpoint of points that are {}, found {}; {}", file,
                                            run.points, found.points, remedy));
  }
  for (std::size_t i = 0; i < std::max(found.inputs.size(), run.inputs.size()); ++i) {
    if (i < found.inputs.size() && i < run.inputs.size() && found.inputs[i].is_like(run.inputs[i])) {
      // Other processes may read copies of the file, on their own machines.
      if (!same_inputs && processes().is_first()) check_identity(found.inputs[i], run.inputs[i], file);
      continue;
    }
    const std::string name = i < run.inputs.size() ? run.inputs[i].name : found.inputs[i].name;
    throw Error(ExitCode::data, fmt::format("{}: expected a checkpoint of the same inputs, found that {} has changed "
                                            "since; {}",
                                            file, name, remedy));
  }
}

}  // namespace

void add_checkpoint_options(OptionSet& set, CheckpointOptions& options) {
  const Reason none = when([&options] { return options.file.empty(); }, "there is no --checkpoint");
  set.text(
      {.names = "--checkpoint",
       .value = "FILE",
       .help = "Save the state of the run in this file, and continue from it if it exists. The result has the same "
               "bytes as that of an uninterrupted run. kith removes the file when it has written the result.",
       .section = Section::output},
      options.file);
  set.seconds(
      {.names = "--checkpoint-every",
       .value = "TIME",
       .help = "Minimum time between two checkpoints. kith waits longer if writing one takes more than 1 % of this "
               "time; 0: write after every step.",
       .section = Section::output,
       .no_effect = {none}},
      options.every);
  set.seconds(
      {.names = "--time-limit",
       .value = "TIME",
       .help =
           "Stop after the iteration in which the run reaches this time: 2h, 30min, 45s; 0: no limit. The exit code is "
           "then 124.",
       .section = Section::output,
       .shown_default = "none",
       .refused = {when([&options] { return options.time_limit > 0.0 && !options.given(); },
                        "--time-limit needs --checkpoint FILE, or cluster --keep-best, so that something "
                        "remains of the run; give it")}},
      options.time_limit);
  set.flag({.names = "--same-inputs",
            .help = "Continue although the times or inodes of the inputs differ from those that the checkpoint names: "
                    "they were copied, restored, renamed or touched, and have the same bytes. kith still compares "
                    "their sizes and samples.",
            .section = Section::output,
            .no_effect = {none}},
           options.same_inputs);
}

void add_keep_option(OptionSet& set, CheckpointOptions& options) {
  set.flag({.names = "--keep-best",
            .help = "If a signal or --time-limit stops the run, write the result of its iterations so far, marked as "
                    "interrupted.",
            .section = Section::output},
           options.keep_best);
  set["--time-limit"].help =
      "Stop after the iteration in which the run reaches this time: 2h, 30min, 45s; 0: no limit. The exit code is then "
      "124, or 0 if --keep-best writes a result.";
}

std::int64_t checkpoint_bytes(const CheckpointOptions& options, std::int64_t clusters, std::int64_t columns) {
  constexpr std::int64_t kMatrices = 10;  // three of a state, packed twice and read once, and one on its way
  if (options.file.empty()) return 0;
  const std::int64_t values = checked_product(clusters, columns, "centroids");
  return checked_product(values, kMatrices * static_cast<std::int64_t>(sizeof(double)), "centroids");
}

bool may_be_written(const CheckpointOptions& options, const std::string& output) {
  if (options.file.empty() || output.empty()) return false;
  std::error_code failure;
  const auto kept = std::filesystem::last_write_time(options.file, failure);
  if (failure) return false;
  const auto written = std::filesystem::last_write_time(output, failure);
  return !failure && written >= kept;
}

Checkpointing::Checkpointing(const CheckpointOptions& options, Progress& progress)
    : options_(options), progress_(progress) {}

void Checkpointing::open(const Checkpoint& run, const std::vector<std::string>& inputs, const std::string& output,
                         bool plans) {
  if (options_.file.empty()) return;
  run_ = run;
  const std::string& file = options_.file;
  const std::string previous = data::previous_generation(file);
  if (!output.empty() && (data::same_place(file, output) || data::same_place(previous, output))) {
    throw Error(ExitCode::usage,
                fmt::format("--checkpoint {}: expected another name than that of the output {}; choose "
                            "another one",
                            file, output));
  }
  data::check_checkpoint_names(file, inputs);
  if (!plans && writes_files()) {
    lock_.emplace(file);
    if (!lock_->is_held()) {
      progress_.warning(
          fmt::format("--checkpoint {}: this file system has no locks; start no other run with this "
                      "checkpoint",
                      file));
    }
  }
  if (data::file_exists(file)) {
    take(data::read_generation(file), file);
  } else if (data::file_exists(previous)) {
    take(data::read_checkpoint(previous), previous);
  }
}

void Checkpointing::take(const Checkpoint& found, const std::string& file) {
  check_same(found, run_, file, options_.same_inputs);
  stored_ = data::unpacked<std::vector<std::string>>(found.state, [&file] { refuse_state(file); });
  began_ = found.place;
  advise_after_signal("continue with: kith resume " + shell_word(options_.file));
  Terminal::instance().say(fmt::format("continues from {}: {}", file, found.place));
}

template <class State>
State Checkpointing::stored(std::size_t number) const {
  return data::unpacked<State>(stored_[number], [this] { refuse_state(options_.file); });
}

KMeansState* Checkpointing::next() {
  const std::size_t number = finished_.size();
  begin();
  return number < stored_.size() ? &begun_.emplace_back(stored<KMeansState>(number)) : nullptr;
}

std::optional<KnnState> Checkpointing::search(const SearchShape& shape) {
  if (stored_.empty()) return std::nullopt;
  KnnState state = stored<KnnState>(0);
  stored_.clear();
  const bool whole = state.neighbors == shape.neighbors && state.distance.size() == state.index.size() &&
                     std::ssize(state.index) % shape.neighbors == 0 && state.queries() <= shape.queries;
  const auto is_row = [&](std::int64_t row) { return row >= -1 && row < shape.rows; };
  if (!whole || !std::all_of(state.index.begin(), state.index.end(), is_row)) refuse_state(options_.file);
  return state;
}

Checkpointing::Now Checkpointing::now() const {
  constexpr double kShare = 0.01;  // of the time of the run
  const bool late = options_.time_limit > 0.0 && seconds_since(started_) >= options_.time_limit;
  const bool write = !options_.file.empty() &&
                     (options_.every == 0.0 || seconds_since(written_) >= std::max(options_.every, cost_ / kShare));
  const bool first = processes().is_first();
  std::array<double, 3> all{static_cast<double>(requested_signal()), first && late ? 1.0 : 0.0,
                            first && write ? 1.0 : 0.0};
  processes().take_largest(all);
  return {static_cast<int>(all[0]), all[1] > 0.0, all[2] > 0.0};
}

bool Checkpointing::due() {
  const Now now = this->now();
  return now.stops() || now.write;
}

template <class State>
bool Checkpointing::keep_state(const State& state, const std::string& place, bool writes) {
  const Now now = this->now();
  signal_ = now.signal;
  if (now.write || (now.stops() && !interrupted_ && writes)) {
    try {
      if (writes_files()) write(state, place);
      failed_ = false;
    } catch (const Error& error) {
      failed_ = true;
      if (now.stops() && !options_.keep_best) throw;
      progress_.warning(fmt::format("{}; the run goes on without this checkpoint", error.what()));
    }
    written_ = Clock::now();
  }
  return now.stops();
}

bool Checkpointing::keep(const KMeansState& state) {
  const bool has_result = !state.history.empty() || state.batches.done > 0 || !state.runs.empty();
  const std::string place = place_of(state);
  if (!keep_state(state, place, has_result || !options_.keep_best)) return false;
  if (!options_.keep_best) stop(place);
  interrupted_ = interrupted_ || has_result;
  return has_result;
}

void Checkpointing::keep(const KnnState& state, std::int64_t queries) {
  const std::string place = fmt::format("after {} of {} queries", state.queries(), queries);
  if (keep_state(state, place, true)) stop(place);
}

void Checkpointing::finished(const KMeansState& state) {
  end();
  finished_.push_back(packed(state));
}

std::string Checkpointing::place_of(const KMeansState& state) const {
  std::string place = finished_.empty() ? "" : fmt::format("after {} numbers of clusters, ", finished_.size());
  if (!state.runs.empty()) place += fmt::format("after {} runs, ", state.runs.size());
  if (!state.history.empty()) return place + fmt::format("after iteration {}", state.history.size());
  return place + "before the first iteration";
}

template <class State>
void Checkpointing::write(const State& state, const std::string& place) {
  const PhaseWithin phase(progress_, "checkpoint");
  const auto begin = Clock::now();
  Checkpoint checkpoint = run_;
  checkpoint.place = place;
  finished_.push_back(packed(state));  // until it is packed with the others
  checkpoint.state = packed(finished_);
  finished_.pop_back();
  data::write_checkpoint(options_.file, checkpoint);
  advise_after_signal("continue with: kith resume " + shell_word(options_.file));
  cost_ = seconds_since(begin);
}

void Checkpointing::stop(const std::string& place) const {
  throw Stopped{signal_, fmt::format("stopped {}{}; no output was written; continue with: kith resume {}", place,
                                     signal_ != 0 ? "" : " by --time-limit", shell_word(options_.file))};
}

void Checkpointing::close() {
  if (!interrupted_) {
    if (!writes_files()) return;
    // First, so that nothing remains if the process is killed: a run that comes between finds the last step.
    lock_.reset();
    advise_after_signal("");
    for (const std::string& name : data::remove_checkpoint(options_.file)) {
      progress_.warning(
          fmt::format("{}: the checkpoint was not removed; the result is written, so remove it by hand", name));
    }
  } else if (signal_ != 0) {
    throw Stopped{signal_, ""};
  }
}

}  // namespace kith::app
