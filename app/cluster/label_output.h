// Outputs that contain only labels: CSV, NumPy, or a column in a copy of the points' AnnData file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/points_run.h"
#include "core/kmeans/kmeans.h"
#include "data/results/result.h"
#include "data/source.h"

namespace kith::app {

/// --labels, --append and --write-obs
void add_label_option(OptionSet& set, std::string& labels, std::string& write_obs, CommonOptions& common);
/// --labels for check_outputs().
SideOutput label_side_output(const std::string& labels);
/// add_common_options() for these commands, whose --output may be -: standard output.
void add_label_common_options(OptionSet& set, CommonOptions& common);
/// Why a dataset besides the labels is not written.
std::vector<Reason> output_reasons(const CommonOptions& common, const std::string& write_obs);
/// --save-distances
void add_distance_option(OptionSet& set, bool& save_distances, const CommonOptions& common, const std::string& labels,
                         const std::string& write_obs);

/// Endings that the name of the output may have, for a copy of the AnnData file or any result of such a command; "-"
/// for standard output.
std::vector<std::string> label_endings(const CommonOptions& common, const std::string& write_obs);

/// Whether --output contains only labels, because of its ending or of --write-obs.
bool is_label_output(const CommonOptions& common, const std::string& write_obs);

/// Files of points whose labels are in the folder of the output since an earlier run.
struct FinishedLabels {
  std::vector<std::string> files;
  bool are_all = false;
};
/// Before begin() of a run that only writes a folder of labels: those that need not be computed again, since an earlier
/// run of the same command, with the same inputs, has listed each with its checksum. Says what is kept.
FinishedLabels finished_labels(PointsRun& run, const std::string& stored_command);

/// Before the work of a run that writes such folders: makes them, and says in each which run its files are of. Throws
/// Error(output) if a file in its place is of another run, and --force is not given.
void begin_label_folders(PointsRun& run);

/// Throws Error(data) if the labels of the points cannot become the column `write_obs`, which may be empty, or be
/// appended to their table.
void check_label_output(const PointsRun& run, const std::string& write_obs);

/// Writes the file of --labels, if there is one, and the result by `write_result` if there is an output: the labels get
/// their name last, when both files are complete.
void write_with_labels(const PointsRun& run, const KMeansResult& result, const std::function<void()>& write_result);

/// Writes labels, with distances if the result has them. Reads the names of the rows from the points' file.
void write_label_output(const CommonOptions& common, const std::string& write_obs, const data::PointSource& points,
                        const KMeansResult& result, const data::OutputOptions& output);

}  // namespace kith::app
