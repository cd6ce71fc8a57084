// --nan drop: rows that were left out of the points have a place in the results.
#pragma once

#include <string>

#include "app/cli/common_options.h"
#include "app/run/progress.h"
#include "core/kmeans.h"
#include "data/reading.h"

namespace kith::app {

void add_missing_option(OptionSet& set, CommonOptions& common,
                        const char* help =
                            "Rows with NaN, infinity or an empty field: error refuses them, drop leaves "
                            "them out and gives them the label -1.");

/// Says how many rows were left out, and which is the first.
void tell_of_dropped_rows(const data::Reading& reading, Progress& progress);

/// From rows of the points to rows of the file: labels (n) with -1 for those that were left out, distances, where there
/// are any, with NaN, numbers of nearest rows.
void restore_rows(KMeansResult& result, const data::Reading& reading);

/// Rows of the file that belong to rows of the points from `first` on, up to the next one in `reading`: from
/// first_file_row() on, values (m, d) in the places of theirs and `elsewhere` in those that were left out.
std::int64_t first_file_row(std::int64_t first, const data::Reading& reading);
template <class T>
Matrix<T> in_file_rows(MatrixView<const T> values, std::int64_t first, T elsewhere, const data::Reading& reading);

/// The attribute `dropped_rows`, where --nan drop was given.
void write_dropped_rows(data::ResultFile& file, const CommonOptions& common, const data::Reading& reading);

}  // namespace kith::app
