// Results as inputs of other runs: whether a location names their centroids or labels, their metric and columns.
#pragma once

#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/cli/terminal.h"
#include "app/run/progress.h"
#include "data/format/table_model.h"
#include "data/results/stored_result.h"

namespace kith::app {

/// Whether the location names the centroids of a result of kith cluster or sweep.
bool names_model(const std::string& location);

/// Whether the location names the labels of a result of kith cluster, sweep or assign.
bool names_labels(const std::string& location);

/// An argument with centroids or labels; `location` may be empty.
struct Given {
  const char* option;  // "--centroids", "LABELS"
  std::string location;
  const char* what = "centroids";
};

/// Sets the metric to that of the results among the arguments, and prints it if it is not the default. Throws
/// Error(usage) if a result has another metric than --metric or an earlier result, Error(data) for an unknown metric.
/// Other matrices and labels have no metric.
/// Without such results, sets it as take_file_metric() does for the points.
void take_metric(const std::vector<Given>& given, const std::vector<std::string>& points, const OptionSet& set,
                 CommonOptions& common);

/// The description of the columns in the result that the location names; null: it names none, or the result has none.
/// CLUSTERS.h5:/centroids is the matrix alone.
std::shared_ptr<const data::TableModel> table_model(const std::string& location);

/// Sets the options about the form of a table to those that the model was made with, as far as they are not given.
/// `given` names the result, "--centroids r.h5". Throws Error(usage) if an option is given that says something else of
/// a column than the model does.
void take_table_options(const data::TableModel& model, const std::string& given, const OptionSet& set,
                        CommonOptions& common);
/// The same with the options that prepare points: --columns, --drop-columns, --encode, --nan, --scale and --pca.
void take_all_options(const data::TableModel& model, const std::string& given, const OptionSet& set,
                      CommonOptions& common);

struct TextOption {
  const char* name;
  std::string CommonOptions::*target;
};

/// Options about the form of a table, which another table may have in another form.
inline constexpr TextOption kFormOptions[] = {
    {"--id-column", &CommonOptions::id_column},   {"--delimiter", &CommonOptions::delimiter},
    {"--decimal", &CommonOptions::decimal},       {"--thousands", &CommonOptions::thousands},
    {"--header", &CommonOptions::header},         {"--quote", &CommonOptions::quote},
    {"--comment", &CommonOptions::comment},       {"--na-values", &CommonOptions::na_values},
    {"--index-base", &CommonOptions::index_base}, {"--precision", &CommonOptions::precision}};

/// Writes /model, the description of the columns of the points, if something has to be known to read such a table:
/// names, a choice of columns, encodings, or what becomes of missing values.
void write_table_model(data::ResultFile& file, const data::PointSource& points, const CommonOptions& common);

/// "expected 'y' as column 2 (counted from 1), as RESULT has, found 'x'", or which name is missing, if both lists of
/// names are known and differ; else empty. `whose` has the expected names.
std::string difference_of_columns(const std::vector<std::string>& names, const std::vector<std::string>& expected,
                                  const std::string& whose);

/// Opens the centroids of an option for these points: columns of both are matched by their names, if both have names.
/// Throws Error(data) if the names differ. Principal components (--pca) have no names.
std::unique_ptr<data::PointSource> open_centroids_for(const data::PointSource& points, const Given& given,
                                                      const CommonOptions& common);

/// Why rows with the labels of this result seem to be others than it was made of, if the sum of their squared distances
/// is `squares`, which other rows, or the same in another order, make larger; empty: they do not.
std::string doubt_of_rows(const data::StoredResult& result, double squares, const std::string& points);

/// What svmlight files need so that their columns are those of `columns` centroids, or of labelled points: the first
/// index, if the location names a result that has one.
data::IndexedColumns indexed_columns_of(const std::string& location, std::int64_t columns);

/// Unless --metric is given: sets the metric to the one that the files of these points name, and prints it if it is not
/// the default. Locations may be empty. Throws Error(usage) with the option to give if a file names a metric that kith
/// or the command does not support, or if two files name different ones.
void take_file_metric(const std::vector<std::string>& points, const OptionSet& set, CommonOptions& common);

/// Warns if the file of these lists names another metric than that of the run, so that different lists are no error.
void warn_of_truth_metric(const std::string& truth, const OptionSet& set, const CommonOptions& common,
                          Progress& progress);

/// Says that rows of two files were matched by their identifiers, since their order differs.
/// `read` are data::Labels or data::RowNumbers for the rows of the file `of`.
template <class Read>
void say_matched(const Read& read, const std::string& of) {
  if (read.matched_by.empty()) return;
  Terminal::instance().say(fmt::format("note: rows of {} are matched with those of {} by the column '{}'",
                                       visible(read.name), visible(of), visible(read.matched_by)));
}

}  // namespace kith::app
