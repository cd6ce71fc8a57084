// A run of a command that computes with points: what was asked, what the run finds, and the steps that all commands
// share. A command calls these steps one after another, with its own work between them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/terminal.h"
#include "app/run/checkpointing.h"
#include "app/run/held_points.h"
#include "app/run/memory.h"
#include "app/run/planning.h"
#include "core/kmeans/kmeans.h"
#include "data/results/result.h"

namespace kith::app {

/// What a command says about its run when its inputs are open, before values are read.
struct Needs {
  std::string stored_command = {};  // that a result stores
  bool writes_result = true;        // so that the marks of the inputs are needed
  std::int64_t bytes = 0;           // of the host, besides those of the points, their weights and their preparation
  /// The share of `bytes` for each row that a backend holds; rows that are read in each pass do not take it.
  std::int64_t held_row_bytes = 0;
  std::optional<MemoryUse> use = {};  // `bytes` as a processor will use them; nothing: all of them
  std::string all_rows = {};          // why all rows of the points must be in memory; empty: they can be read in passes
  bool only_searches = false;         // the points, by distances, so that rows of a file need no plan of all
  std::vector<Work> work = {};        // with all rows, as far as sizes tell
  bool is_all_work = true;            // else the passes and the time of the plan are not known
  std::int64_t result_bytes = 0;      // of the output
};

/// A file besides the output, of an option of its own.
struct SideOutput {
  const char* option;  // "--profile"
  std::string file;    // empty: not asked for
  std::vector<std::string> endings;
};

struct PointsRun : Job {
  /// The options have been parsed; `endings` are those that the name of the output may have.
  PointsRun(const OptionSet& set, const CommonOptions& common, std::vector<std::string> endings);

  const OptionSet& set;
  std::string target;          // the name of the output; empty: there is none, or another process writes it
  std::string report_file;     // the same of --json-file
  data::OutputOptions output;  // of the target
  std::vector<SideOutput> side_outputs;
  InputPair inputs;
  data::PointSource* source = nullptr;  // the points to hold; null: none
  std::optional<Preparation> given;     // parameters of their preparation, from a result
  std::optional<Weighting> weighting;
  std::optional<Checkpointing> checkpoint;
  Needs needs;
  std::optional<StreamPlan> stream;  // how rows that do not fit in memory are kept
  std::int64_t required_bytes = 0;   // of host memory
  PlanRequest plan;                  // for begin() to print, and to show once the backend is open
  HeldPoints held;

  /// The file of the side output, and how to write it; empty: there is none, or another process writes it.
  std::string side_file(const char* option) const;
  data::OutputOptions side_output(const char* option) const;
  /// data::mark_of(), once per file.
  const data::InputMark& mark_of(const std::string& file);
  /// On standard output, unless --json was given.
  void print(const std::string& text, Styles styles = Styles::show) const;
  /// Whether the result is written to standard output.
  bool prints_result() const;

 private:
  std::map<std::string, data::InputMark> marks_;
};

/// Whether an output is a folder, which gets a file for each file of the points: it exists, or its name ends with a
/// slash.
bool names_folder(const std::string& path);
/// Step 1: throws unless the output, those beside it, and that of --json-file can be written.
void check_outputs(PointsRun& run, const std::vector<SideOutput>& beside = {});
/// The same of --json-file, and that inputs reach all processes, for commands that check their output themselves.
void check_report_file(PointsRun& run);

/// What every stored command says of its points, which the option or positional `word` names: their name, and the
/// class of their values, but for bits, which have none.
OptionSet::Replacements stored_words(const std::string& word, const data::PointSource& points, ValueClass value_class,
                                     const CommonOptions& common);

/// Step 2, in parts, as a command needs them. The points of a command with one set of them:
void open_points(PointsRun& run, const std::string& location, const ExpectedColumns& expected = {});
/// Reads and reports the weights of the rows of `source`.
void read_weights(PointsRun& run);
/// The checkpoint of this run. words: behind the command's name; stored: what determines the result.
void open_checkpoint(PointsRun& run, const CheckpointOptions& options, const std::vector<std::string>& words,
                     const std::string& stored);
/// What the limit of memory leaves beside a run that needs so many bytes, as Needs has them.
std::int64_t spare_bytes(const PointsRun& run, std::int64_t bytes);

/// Step 3: refuses runs that do not fit into memory, or that several processes cannot divide. Returns false if the run
/// ends here: with --dry-run it prints the plan, and a check of freshness needs no more.
bool begin(PointsRun& run, Needs needs);

/// Step 4: reads the points, prepares them and gives them to a backend.
void hold_points(PointsRun& run);

/// Advice where the answer to a run is right but may mislead, unless --no-advice is given. On columns that distances
/// should perhaps not use, unless the points are prepared; on one start for each number of clusters.
void advise(const PointsRun& run);
void advise_on_starts(std::int64_t runs, const CommonOptions& common);
/// Throws Error(usage) if fewer rows than clusters remain after dropped rows and rows of weight 0. Prints advice if
/// there are nearly as many.
void check_counted(std::int64_t clusters, const PointsRun& run);

/// For the computation: what the limit leaves to trees and cells once the points are held.
std::int64_t search_bytes_left(const PointsRun& run);
/// Completes a result with rows of weight 0, and converts row numbers to those of the file.
void complete(KMeansResult& result, const PointsRun& run);

/// Step 5, after the computation: records how rows were read, and what other processes have done.
void end_computation(PointsRun& run);

/// Step 6: whether there is an output to write now.
bool begin_write(PointsRun& run);

/// Step 7: reports the run. next: a command line that uses the result, or empty. Returns the exit code.
int finish(PointsRun& run, const std::string& next, ExitCode code = ExitCode::done);

/// The error with the name of the points, if it comes from the computation and names no input: core/ knows no files.
Error named(const Error& error);

}  // namespace kith::app
