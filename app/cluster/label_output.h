// Results that are labels alone: CSV, NumPy, or a column of a copy of the AnnData file that the points came from.
#pragma once

#include <string>

#include "app/run/job.h"
#include "core/kmeans.h"
#include "data/results/result.h"
#include "data/source.h"

namespace kith::app {

inline constexpr const char* kLabelOutputHelp =
    "Write the result to this HDF5 file, or labels alone to .csv or .npy; it appears only when it is complete.";

/// --write-obs, for commands whose results are labels.
void add_label_option(OptionSet& set, std::string& write_obs);

/// Endings that the name of the output may have: of a copy of AnnData's file, or of any result of such a command.
std::vector<std::string> label_endings(const std::string& write_obs);

/// Does --output name such a result, by its ending, or because of --write-obs?
bool is_label_output(const CommonOptions& common, const std::string& write_obs);

/// Warns of --save-distances where no distances are written.
void warn_of_distances(const OptionSet& set, const std::string& write_obs, Invocation& invocation);

/// Everything about it that can be known to be wrong before the points are read. Throws Error(usage) and Error(data).
void check_label_output(const CommonOptions& common, const std::string& write_obs, const data::PointSource& points);

/// Writes labels, with distances where the result has some. The points may be read again, for names of their rows.
void write_label_output(const CommonOptions& common, const std::string& write_obs, const data::PointSource& points,
                        const KMeansResult& result, const data::OutputOptions& output);

}  // namespace kith::app
