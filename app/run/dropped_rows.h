// --nan drop: rows that are not among the points still have an entry in the results.
#pragma once

#include "app/cli/common_options.h"
#include "app/run/progress.h"
#include "core/kmeans/kmeans.h"
#include "data/reading.h"

namespace kith::app {

inline constexpr const char* kFillingHelp =
    "NaN, infinity and missing values of text (empty, NA, n/a, NULL, None, #DIV/0!, ?, . and so on): error stops; drop "
    "ignores their rows and gives them the label -1; mean and median replace them with the mean or median of their "
    "column.";
inline constexpr const char* kDroppingHelp =
    "Rows with NaN, infinity or a missing value of text (empty, NA, n/a, NULL, None, #DIV/0!, ?, . and so on): error "
    "stops, "
    "drop ignores them and gives them the label -1.";
/// fills: whether mean and median are choices. They are where all rows that determine the result are in one file.
void add_missing_options(OptionSet& set, CommonOptions& common, bool fills, const char* help);

/// Whether rows may be dropped: with --nan drop, those with a missing value; with mean and median, those without any
/// value, of which nothing but replacements would become a point.
bool may_drop_rows(const CommonOptions& common);

/// Warns of dropped rows: how many they are, and which is the first.
void warn_of_dropped_rows(const data::Reading& reading, const CommonOptions& common, Progress& progress);

/// Converts a result from rows of the points to rows of the file. Dropped rows have the label -1 and the distance NaN
/// (if the result has distances); nearest rows become row numbers of the file.
void restore_rows(KMeansResult& result, const data::Reading& reading);

/// Converts values (m, d) of the rows of the points from `first` on to rows of the file, which begin at
/// first_file_row(). Dropped rows contain `elsewhere`.
std::int64_t first_file_row(std::int64_t first, const data::Reading& reading);
template <class T>
Matrix<T> in_file_rows(MatrixView<const T> values, std::int64_t first, T elsewhere, const data::Reading& reading);

/// The attribute `dropped_rows`: with --nan drop, or if there are any.
void write_dropped_rows(data::ResultFile& file, const CommonOptions& common, const data::Reading& reading);

}  // namespace kith::app
