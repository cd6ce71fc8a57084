// Points of files: opened, read, prepared, and held by a backend.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/run/job.h"
#include "app/run/memory.h"
#include "app/run/planning.h"
#include "app/run/preparation.h"
#include "app/run/weighting.h"
#include "core/kmeans/weighed_rows.h"
#include "core/points/backend.h"
#include "core/points/data_plan.h"
#include "data/file_rows.h"
#include "data/reading.h"

namespace kith::app {

/// Opens the points of `location`, without reading their values. `given`: the parameters of their preparation, if they
/// are not computed for --scale and --pca.
std::unique_ptr<data::PointSource> open_input(const std::string& location, const CommonOptions& common,
                                              const Preparation* given = nullptr, const ExpectedColumns& expected = {});
/// How the rows of open_input() are read.
data::ReadOptions input_options(const CommonOptions& common, const Preparation* given = nullptr,
                                const ExpectedColumns& expected = {});
/// One set of points, or two of which rows of one are measured against rows of the other.
struct InputPair {
  std::unique_ptr<data::PointSource> first, second;  // second: null for one set
  ValueClass value_class() const;                    // of the run: f64 if either set is
};
/// Says which files are points, if there are several.
void say_set(const data::PointSource& source);
/// Says which columns --columns numeric has chosen.
void say_numeric(const data::PointSource& source, const CommonOptions& common);
/// Says how many bits a row has, and how the file stores them, if rows are bits.
void say_bits(const data::PointSource& source);

/// Opens both as open_input() does; `second` may be empty. Its columns are found by the names of the first. If rows are
/// prepared, both are read in the class of the run, to which prepared values are rounded.
InputPair open_inputs(const std::string& first, const std::string& second, const Job& job);
/// Throws Error(data) unless `others`, which are `what` ("queries"), have the columns of the points.
void require_same_columns(const data::PointSource& points, const data::PointSource& others, const char* what);
/// Number of columns of the prepared points.
std::int64_t prepared_columns(const data::PointSource& points, const CommonOptions& common);

/// Host bytes of all values.
std::int64_t value_bytes(const data::PointSource& source);
/// The same of the rows of one process: the most that any has, since all of them must decide alike.
std::int64_t own_value_bytes(const data::PointSource& source);
/// Host bytes that a backend keeps for the rows besides their values: two labels and a distance each.
std::int64_t row_state_bytes(const data::PointSource& source);
/// Bytes of the plan of the data (core/points/data_plan.h) and of what passes over the columns keep.
std::int64_t column_state_bytes(std::int64_t columns);
/// Host bytes of all values and of what their source holds besides while it is read.
std::int64_t points_bytes(const data::PointSource& source);

/// Reads all rows, with progress, and prepares them if there are `given` parameters. The caller has required the
/// memory.
std::unique_ptr<data::Reading> read_points(data::PointSource& source, Job& job, const Preparation* given = nullptr);

/// Points in the memory of a backend, and their plan. The values are on the host, too; those of streamed points are in
/// the file, but for the first rows. With several processes `points` are those of all, and the values those of this
/// one.
struct HeldPoints {
  std::unique_ptr<data::PointSource> own;      // the rows of this process; null: all
  std::unique_ptr<data::SpooledRows> spooled;  // null: rows are read from their own file
  std::unique_ptr<data::Reading> values;
  std::unique_ptr<data::FileRows> reader;  // null: all rows are in memory
  bool in_passes = false;                  // the reader is there because the memory does not suffice
  std::unique_ptr<WeighedRows> weighed;    // null: every row weighs 1
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Points> points;
  DataPlan plan;            // of points that are only searched: of the rows in memory, or none
  Preparation preparation;  // the parameters computed for --scale and --pca

  /// The rows of `points` that are in memory: the first ones, if there is a reader.
  PointsView rows() const { return weighed ? weighed->values() : values->values(); }
  /// The row numbers in the source of all rows of `points`.
  std::vector<std::int64_t> row_numbers() const;
};

/// Points to hold, and what is known about them.
struct HoldRequest {
  data::PointSource& source;
  const Weighting* weighting = nullptr;   // null: every row weighs 1. Rows of weight 0 are not among the points.
  const Preparation* given = nullptr;     // parameters of their preparation; null: those of --scale and --pca
  std::optional<StreamPlan> stream = {};  // by which most rows stay in the file, or go from there to the device
  const std::vector<Work>& work;          // with the rows, for the choice of a backend
  const OptionSet* set = nullptr;         // not null: warns of its options that have no effect on this backend
  const PlanRequest* plan = nullptr;      // not null: shown with --verbose, once the backend is open
};
/// Holds the rows of this process and computes their plan. Nothing else may use HDF5 meanwhile.
HeldPoints hold_points(const HoldRequest& request, Job& job);
/// Records the peak of device memory.
void note_device_memory(const HeldPoints& held, Job& job);

PointsReport describe(const data::PointSource& source);

}  // namespace kith::app
