// --scale and --pca: points prepared before anything else, and the parameters in result files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "core/preparation.h"
#include "data/reading.h"
#include "data/results/result.h"

namespace kith::app {

/// --scale and --pca.
void add_preparation_options(OptionSet& set, CommonOptions& common);
PreparationRequest preparation_request(const CommonOptions& common);

/// How values become points once they are read: by parameters found in them, or given ones.
struct PreparationStep {
  PreparationRequest request;
  const Preparation* given = nullptr;  // outweighs the request
  bool is_none() const { return given == nullptr ? request.is_none() : given->is_none(); }
};

/// Prepares all rows of a reading that is complete, and makes them directions for --metric cosine. Returns the
/// parameters.
Preparation prepare(data::Reading& reading, const PreparationStep& step, const CommonOptions& common);

/// Host bytes that finding the parameters takes besides the points.
std::int64_t preparation_bytes(const data::PointSource& points, const CommonOptions& common);
/// "columns scaled by zscore, 3 principal components with 92.5 % of the variance"
std::string describe(const Preparation& found);

/// Attributes `scale` and `pca`, and the group /preparation.
void write_preparation(data::ResultFile& file, const Preparation& found);
/// /centroids_original: centroids (k, D) in the units of the points, where the preparation can be undone.
void write_original_centroids(data::ResultFile& file, MatrixView<const double> centroids, const Preparation& found,
                              Metric metric);

/// The preparation of the points of a result, nothing where there was none; `location` names its centroids or labels.
/// Throws Error(data) when what is stored of it does not fit together.
std::optional<Preparation> read_preparation(const std::string& location);
/// Columns that points have before they are prepared; 0: any number.
std::int64_t columns_before(const Preparation& found);
/// Throws Error(usage) where rows are weighted and parameters would have to be: rows would count as one each.
void check_weighted_preparation(const CommonOptions& common);
/// Throws Error(usage) where `init`, of --init, is a result whose points were prepared in another way.
void check_same_preparation(const std::string& init, const CommonOptions& common);

}  // namespace kith::app
