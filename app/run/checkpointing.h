// Checkpoints of long runs: when they are written, what they must match, and how a run ends that is asked to stop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/signals.h"
#include "app/run/processes.h"
#include "app/run/progress.h"
#include "core/kmeans/kmeans_state.h"
#include "core/runtime/clock.h"
#include "data/results/checkpoint_file.h"

namespace kith::app {

struct CheckpointOptions {
  std::string file;         // empty: none
  double every = 30.0;      // seconds between two of them; 0: after every step
  double time_limit = 0.0;  // seconds; 0: none
  bool keep_best = false;
  bool same_inputs = false;  // whatever their times and inodes say

  /// Whether something remains of a run that is asked to stop.
  bool given() const { return !file.empty() || keep_best; }
};

/// --checkpoint, --checkpoint-every, --time-limit
void add_checkpoint_options(OptionSet& set, CheckpointOptions& options);
/// Host bytes of writing a state of k clusters and d columns.
std::int64_t checkpoint_bytes(const CheckpointOptions& options, std::int64_t clusters, std::int64_t columns);
/// Whether a run that was killed may have written the output after its last checkpoint, so that an existing file may be
/// the one that this run writes.
bool may_be_written(const CheckpointOptions& options, const std::string& output);
/// --keep-best, of commands that can write the result of an interrupted run
void add_keep_option(OptionSet& set, CheckpointOptions& options);

/// The lists of the first queries of a search, (rows, k) each.
struct KnnState {
  std::int64_t neighbors = 0;
  std::vector<double> distance;
  std::vector<std::int64_t> index;

  std::int64_t queries() const { return std::ssize(index) / std::max<std::int64_t>(neighbors, 1); }
};
template <class Archive>
void each_field(Archive& archive, KnnState& state) {
  archive(state.neighbors, state.distance, state.index);
}

/// The run was asked to stop: main() prints the message and ends the process by the signal, or with
/// ExitCode::time_limit if that is 0.
struct Stopped {
  int signal = 0;
  std::string message;
};

/// The checkpoint of one run of a command, which is a sequence of one or more computations of k-means, or a search.
class Checkpointing final : public KMeansKeeper {
 public:
  Checkpointing(const CheckpointOptions& options, Progress& progress);

  /// Reads the checkpoint of the options, if the file exists, and keeps `run`, which describes this run without place
  /// and state, for those that follow. Throws Error(usage) for a checkpoint of another command or version, Error(data)
  /// for one of other inputs and for a damaged one, and Error(output) if no checkpoint can be written, or if another
  /// run uses it. From here on this run does, unless it is one that only `plans`.
  void open(const data::Checkpoint& run, const std::vector<std::string>& inputs, const std::string& output, bool plans);
  /// From here on signals ask the run to stop.
  void begin() { signals_.emplace(); }
  /// Signals end the process again. One that came after the last iteration does not stop the run.
  void end() { signals_.reset(); }
  /// The state in which the next computation begins; null: a new one. begin()s, and the computation end()s in
  /// finished(), so that what follows it, such as scores, can be stopped. Throws Error(data) for other bytes.
  KMeansState* next();
  /// The state in which a search begins; nothing: a new one. Throws Error(data) for other bytes.
  struct SearchShape {
    std::int64_t neighbors = 0, queries = 0, rows = 0;
  };
  std::optional<KnnState> search(const SearchShape& shape);
  /// As keep(), for a search of `queries` queries: throws Stopped if the run was asked to stop.
  void keep(const KnnState& state, std::int64_t queries);

  bool due() override;
  bool keep(const KMeansState& state) override;
  void finished(const KMeansState& state) override;

  /// The output is written: removes the checkpoint, unless the output is that of an interrupted run. Then throws
  /// Stopped if a signal interrupted it.
  void close();
  bool interrupted() const { return interrupted_; }
  /// The file that continues the interrupted run; empty if there is none, or if it could not be written.
  std::string continued_by() const { return interrupted_ && !failed_ ? options_.file : ""; }
  /// Where the run began: the place of the checkpoint, or empty.
  const std::string& began() const { return began_; }

 private:
  void take(const data::Checkpoint& found, const std::string& file);
  /// What is to be done now. Processes agree: a signal to any of them, the clock of the first.
  struct Now {
    int signal = 0;      // that asks to stop; 0: none
    bool late = false;   // by the time limit
    bool write = false;  // by the interval of checkpoints
    bool stops() const { return signal != 0 || late; }
  };
  Now now() const;
  template <class State>
  void write(const State& state, const std::string& place);
  /// Writes the state if it is time, or if the run stops and `writes` allows it. Returns whether it stops.
  template <class State>
  bool keep_state(const State& state, const std::string& place, bool writes);
  template <class State>
  State stored(std::size_t number) const;
  std::string place_of(const KMeansState& state) const;
  [[noreturn]] void stop(const std::string& place) const;
  bool writes_files() const { return !options_.file.empty() && processes().is_first(); }

  CheckpointOptions options_;
  Progress& progress_;
  std::optional<data::CheckpointLock> lock_;
  data::Checkpoint run_;
  std::vector<std::string> stored_;    // packed, of the file: finished computations, then the one in progress
  std::deque<KMeansState> begun_;      // those of them that were asked for
  std::vector<std::string> finished_;  // packed, of this run
  std::optional<DeferredSignals> signals_;
  Clock::time_point started_ = Clock::now(), written_ = Clock::now();
  double cost_ = 0.0;  // seconds of the last write
  int signal_ = 0;     // the one that stopped the run
  bool interrupted_ = false;
  bool failed_ = false;  // the last write
  std::string began_;
};

}  // namespace kith::app
