// Checkpoints of long runs: when they are written, what they must match, and how a run ends that is asked to stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/signals.h"
#include "app/run/progress.h"
#include "core/kmeans_state.h"
#include "data/results/checkpoint_file.h"

namespace kith::app {

struct CheckpointOptions {
  std::string file;         // empty: none
  double every = 30.0;      // seconds between two of them; 0: after every step
  double time_limit = 0.0;  // seconds; 0: none
  bool keep_best = false;

  /// Whether something remains of a run that is asked to stop.
  bool given() const { return !file.empty() || keep_best; }
};

/// --checkpoint, --checkpoint-every, --time-limit
void add_checkpoint_options(OptionSet& set, CheckpointOptions& options);
/// Host bytes of writing a state of k clusters and d columns.
std::int64_t checkpoint_bytes(const CheckpointOptions& options, std::int64_t clusters, std::int64_t columns);
/// --keep-best, of commands that can write the result of an interrupted run
void add_keep_option(OptionSet& set, CheckpointOptions& options);

/// The run was asked to stop: main() prints the message and ends the process by the signal, or with
/// ExitCode::time_limit if that is 0.
struct Stopped {
  int signal = 0;
  std::string message;
};

/// The checkpoint of one run of a command, which is a sequence of one or more computations of k-means.
class Checkpointing final : public KMeansKeeper {
 public:
  Checkpointing(const CheckpointOptions& options, Progress& progress);

  /// Reads the checkpoint of the options, if the file exists, and keeps `run`, which describes this run without place
  /// and state, for those that follow. Throws Error(usage) for a checkpoint of another command or version, Error(data)
  /// for one of other inputs and for a damaged one, and Error(output) if no checkpoint can be written.
  void open(const data::Checkpoint& run, const std::vector<std::string>& inputs, const std::string& output);
  /// From here on signals ask the run to stop.
  void begin() { signals_.emplace(); }
  /// Signals end the process again. One that came after the last iteration does not stop the run.
  void end() { signals_.reset(); }
  /// The state in which the next computation begins; null: a new one.
  KMeansState* next();

  bool due() override;
  bool keep(const KMeansState& state) override;
  void finished(const KMeansState& state) override;

  /// The output is written: removes the checkpoint, unless the output is that of an interrupted run. Then throws
  /// Stopped if a signal interrupted it.
  void close();
  bool interrupted() const { return interrupted_; }

 private:
  using Clock = std::chrono::steady_clock;
  void take(const data::Checkpoint& found, const std::string& file);
  bool is_late() const;
  bool stops() const { return requested_signal() != 0 || is_late(); }
  bool is_time() const;
  void write(const KMeansState& state);
  std::string place_of(const KMeansState& state) const;
  [[noreturn]] void stop(const KMeansState& state) const;

  CheckpointOptions options_;
  Progress& progress_;
  data::Checkpoint run_;
  std::deque<KMeansState> stored_;     // of the file: finished computations, then the one in progress
  std::vector<std::string> finished_;  // packed, of this run
  std::optional<DeferredSignals> signals_;
  Clock::time_point started_ = Clock::now(), written_ = Clock::now();
  double cost_ = 0.0;  // seconds of the last write
  bool interrupted_ = false;
};

}  // namespace kith::app
