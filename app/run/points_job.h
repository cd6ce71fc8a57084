// The steps of a command that computes with points. A command supplies what differs between commands.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "app/plan/search_memory.h"
#include "app/plan/work.h"
#include "app/run/checkpointing.h"
#include "app/run/held_points.h"
#include "app/run/memory.h"
#include "core/kmeans/kmeans.h"
#include "data/results/result.h"

namespace kith::app {

/// run() takes a command through these steps: check the output, open, require memory, hold the points, compute, show,
/// write, report. With --dry-run it ends before it holds the points, and prints the plan.
class PointsJob : protected Job {
 public:
  /// The options have been parsed.
  PointsJob(OptionSet& set, CommonOptions& common);
  virtual ~PointsJob() = default;
  PointsJob(const PointsJob&) = delete;
  PointsJob& operator=(const PointsJob&) = delete;

  /// Returns the exit code of the program.
  int run();

 private:
  void run_computation(const std::optional<StreamPlan>& stream);
  /// Sets `required_bytes`; plan_memory().
  std::optional<StreamPlan> require_run_memory();
  /// The plan of this run, once its backend is open.
  Plan plan_of(const std::optional<StreamPlan>& stream) const;
  void print_plan(const std::optional<StreamPlan>& stream);
  /// Of --json-file.
  void check_report_file();
  void write_report_file();
  /// Collects what each process held and how long its phases took.
  void report_processes();
  /// Throws Error(usage) if the rows cannot be divided among the processes, or if these do not run the same command
  /// with the same files.
  void agree();
  /// data::mark_of(), once per file.
  const data::InputMark& mark_of(const std::string& file);
  /// How the rows of `source` are kept if the run does not fit into memory. Throws as require_memory() does if they
  /// cannot be read in passes.
  std::optional<StreamPlan> plan_memory() const;
  /// The error with the name of the points, if it names no input: core/ knows no files.
  Error named(const Error& error) const;

  data::OutputOptions report_output_;  // of --json-file
  std::map<std::string, data::InputMark> marks_;

 protected:
  /// Throws unless the output can be written.
  virtual void check_target() const { data::check_output(target, output); }
  /// Opens all inputs, sets `inputs` and `source`, and rejects whatever can be known to be wrong before values are
  /// read.
  virtual void open() = 0;
  /// Host bytes besides those of the points, their weights and their preparation, with which the run is possible.
  virtual std::int64_t bytes() const = 0;
  /// Of these, for each row, those that a backend takes only for rows that it holds.
  virtual std::int64_t held_row_bytes() const { return 0; }
  /// bytes() as the run uses them on a processor, if `spare` more are free.
  virtual MemoryUse memory_use(std::int64_t /*spare*/) const { return {bytes(), bytes(), ""}; }
  /// Why this run needs all rows of `source` in memory; empty if it can read them in passes.
  virtual std::string needs_memory() const { return "this command needs all rows in memory"; }
  /// Whether compute() only searches the points, by distances, so that rows of a file need no plan of all.
  virtual bool only_searches() const { return false; }
  /// What compute() does with all rows, for the plan; empty: its passes and time are not known.
  virtual std::vector<Work> work() const { return {}; }
  /// Whether a result is written, which names its inputs.
  virtual bool writes_result() const { return !target.empty(); }
  /// Of the output.
  virtual std::int64_t result_bytes() const { return 0; }
  /// Computes with `held`, and writes large results while it computes them.
  virtual void compute() = 0;
  /// Prints results for people.
  virtual void show() {}
  /// Writes the output, if there is one; it appears only when it is complete.
  virtual void write() = 0;
  /// Once the inputs are open: the command that a result stores.
  virtual std::string stored_command() const = 0;
  /// A command line that uses the result, or empty.
  virtual std::string next() const { return ""; }
  virtual ExitCode exit_code() const { return ExitCode::done; }

  /// For open(): opens the points of a command with one set of them.
  void open_points(const std::string& location);
  /// For open(): reads and reports the weights of the rows of `source`.
  void read_weights();
  /// For open(), at its end: the checkpoint of this run. words: behind the command's name; stored: what determines the
  /// result.
  void open_checkpoint(const CheckpointOptions& options, const std::vector<std::string>& words,
                       const std::string& stored);
  /// What the limit leaves besides the required bytes.
  std::int64_t spare_bytes() const;
  /// For compute(): what it leaves to trees and cells once the points are held.
  std::int64_t search_bytes_left() const {
    return common.memory > 0 ? spare_bytes() : memory_limit(common.memory).bytes / 2;
  }
  /// For compute(): completes a result with rows of weight 0, and converts row numbers to those of the file.
  void complete(KMeansResult& result);
  /// On standard output, unless --json was given.
  void print(const std::string& text) const;

  OptionSet& set;
  const std::string& target;  // the name of the output, or empty
  data::OutputOptions output;
  InputPair inputs;
  data::PointSource* source = nullptr;  // the points to hold; null: none
  std::optional<Preparation> given;     // parameters of their preparation, from a result
  std::optional<Weighting> weighting;
  std::optional<Checkpointing> checkpoint;
  std::int64_t required_bytes = 0;  // host memory of the run
  std::int64_t program_bytes = 0;   // host memory of the program before it
  HeldPoints held;
};

}  // namespace kith::app
