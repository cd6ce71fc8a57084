// --scale, --column-weights and --pca: preparation of points before any other step, and its parameters in result files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/cli/options.h"
#include "core/preparation/preparation.h"
#include "data/reading.h"
#include "data/results/result.h"

namespace kith::app {

/// --scale, --column-weights and --pca.
void add_preparation_options(OptionSet& set, CommonOptions& common);
/// Whether these options change the points.
bool prepares(const CommonOptions& common);
/// Throws Error(usage) if --column-weights names a column that the points do not have.
PreparationRequest preparation_request(const CommonOptions& common, const data::PointSource& points);

/// How values that were read become points: with parameters computed from them, or with given ones.
struct PreparationStep {
  PreparationRequest request;
  const Preparation* given = nullptr;  // takes precedence over the request
  bool is_none() const { return given == nullptr ? request.is_none() : given->is_none(); }
};

/// Prepares all rows of a complete reading, and takes their directions for --metric cosine. Returns the parameters.
/// first_row: the number of row 0 in the data set, for messages.
Preparation prepare(data::Reading& reading, const PreparationStep& step, const CommonOptions& common,
                    std::int64_t first_row = 0);
/// The parameters of all rows of a source, in up to six passes, by a process that holds some of them.
Preparation fit(data::PointSource& source, const CommonOptions& common);
/// The same for rows in a file, in passes over it; the file holds the prepared rows afterwards.
Preparation prepare(data::SpooledRows& rows, const PreparationStep& step, const CommonOptions& common);

/// Host bytes that computing the parameters takes besides the points.
std::int64_t preparation_bytes(const data::PointSource& points, const CommonOptions& common);
/// "columns scaled by zscore, 3 principal components with 92.5 % of the variance"
std::string describe(const Preparation& parameters);

/// Attributes `scale` and `pca`, and the group /preparation.
void write_preparation(data::ResultFile& file, const Preparation& parameters);
/// /centroids_original: centroids (k, D) in the units of the points, if the preparation can be inverted.
void write_original_centroids(data::ResultFile& file, MatrixView<const double> centroids, const Preparation& parameters,
                              Metric metric);

/// The preparation of a result's points, if any; `location` names its centroids or labels. Throws Error(data) if the
/// stored parameters do not match.
std::optional<Preparation> read_preparation(const std::string& location);
/// Number of columns of points before their preparation; 0: any number.
std::int64_t columns_before(const Preparation& parameters);
/// Throws Error(usage) if the value of this option, --init or --freeze, is a result whose points were prepared
/// differently.
void check_same_preparation(const char* option, const std::string& centroids, const CommonOptions& common);

// --prepare auto, which chooses from what the columns of a text table hold (auto_preparation.cpp).

/// --prepare, of commands that fill in missing values.
void add_prepare_option(OptionSet& set, CommonOptions& common);

/// With --prepare auto: reads the table, sets the options that prepare it (--drop-columns, --encode, --nan, --scale,
/// --column-weights, --decimal), as far as they are not given, and prints what becomes of each column, and the command
/// with these options, which does the same. Throws Error(usage) if the points are no text table, Error(data) if no
/// column can be used.
void choose_preparation(const std::string& points, const OptionSet& set, CommonOptions& common);

/// A number such as -999 in a column, whose other values are far from it, between these.
struct FarValue {
  std::int64_t column = 0;
  std::string value;
  double least = 0.0, most = 0.0;
};
/// One warning about all of them, if there are any. names: of the columns of the points.
void warn_of_far_values(const std::string& points, const std::vector<std::string>& names,
                        const std::vector<FarValue>& found, const CommonOptions& common);

}  // namespace kith::app
