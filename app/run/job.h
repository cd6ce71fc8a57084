// What every computing command goes through: options checked, points read, a backend chosen, points held and planned.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/preparation.h"
#include "app/run/progress.h"
#include "app/run/report.h"
#include "app/run/weighting.h"
#include "core/backend.h"
#include "core/data_plan.h"
#include "data/reading.h"

namespace kith::app {

/// The report and the progress of one run, and what was asked of it.
struct Invocation {
  Invocation(std::string command, const CommonOptions& common);

  const CommonOptions& common;
  Report report;
  Progress progress;

  /// Warns that an option given on the command line does nothing here.
  void warn_without_effect(const OptionSet& set, const std::string& option, const std::string& why);
  /// The same for options that depend on the backend of the report and on whether there is an output file.
  void warn_without_effect(const OptionSet& set);
  /// The same for --delimiter and --header, where none of the inputs that they describe is text: of `inputs`, which may
  /// be empty names, and the weights.
  void warn_of_text_options(const OptionSet& set, std::vector<std::string> inputs);
  /// Notes the finished result file in the report.
  void wrote(const std::string& path);
  /// Ends the run: the report on standard output if --json asked for it, the summary on standard error. `next` is a
  /// command line that continues from the result, or empty.
  void close(const std::string& next);
};

/// Opens the points of `location`; nothing but their description is read. `given`: the parameters they are to be
/// prepared with, if not those of --scale and --pca.
std::unique_ptr<data::PointSource> open_input(const std::string& location, const Invocation& invocation,
                                              const Preparation* given = nullptr);
/// Two sets of points, of which rows of one are measured against rows of the other.
struct InputPair {
  std::unique_ptr<data::PointSource> first, second;  // second: null where there is one set
  ValueClass value_class() const;                    // of the run: f64 where one of them is
};
/// Opens both as open_input() does; `second` may be empty. Where rows are prepared, or become directions, both are read
/// in the class of the run, to which prepared values are rounded.
InputPair open_inputs(const std::string& first, const std::string& second, const Invocation& invocation);
/// Columns that points have when they are prepared.
std::int64_t prepared_columns(const data::PointSource& points, const CommonOptions& common);

/// Host bytes of all values, once they are read.
std::int64_t value_bytes(const data::PointSource& source);
/// Host bytes of all values and of what their source holds beside them while they are read.
std::int64_t points_bytes(const data::PointSource& source);

/// Reads all rows, with progress, and prepares them with `given` parameters if there are any, else not at all. The
/// memory for all that is held together is to be required before.
std::unique_ptr<data::Reading> read_points(data::PointSource& source, Invocation& invocation,
                                           const Preparation* given = nullptr);

/// The backend of --backend, opened and named in the report. auto takes the best that works and says what it passed
/// over. Throws Error(device) with the reason when a named one, or all, cannot be used.
std::unique_ptr<Backend> choose_backend(Invocation& invocation);

/// Points where they are computed with, and what is known about all of them. The values are on the host, too.
struct HeldPoints {
  std::unique_ptr<data::Reading> values;
  std::unique_ptr<WeighedRows> weighed;  // null: every row weighs 1
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Points> points;
  DataPlan plan;
  Preparation preparation;  // the parameters that were found for --scale and --pca

  /// The rows that the points hold.
  PointsView rows() const { return weighed ? weighed->values() : values->values(); }
  /// Their numbers in the source.
  std::vector<std::int64_t> row_numbers() const;
};

/// Reads all rows while the backend is opened and takes them, and makes their plan. `opened` is called between, with
/// the backend in the report. Nothing may use HDF5 meanwhile. Rows of weight 0 are not among the points. Points are
/// prepared as --scale and --pca say, or with `given` parameters.
HeldPoints hold_points(data::PointSource& source, Invocation& invocation, const std::function<void()>& opened,
                       const std::optional<Weighting>& weighting = std::nullopt, const Preparation* given = nullptr);
/// Throws Error(usage) if the rows that were not left out are fewer than the clusters.
void check_counted(std::int64_t clusters, const HeldPoints& held, const data::PointSource& source);
/// Notes what the device holds now, if it is more than before.
void note_device_memory(const HeldPoints& held, Invocation& invocation);

PointsReport describe(const data::PointSource& source);

}  // namespace kith::app
