// Common parts of result files: root attributes, distances in the unit and precision of the run.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/run/report.h"
#include "core/kmeans/kmeans.h"
#include "core/points/matrix.h"
#include "core/scores/agreement.h"
#include "data/results/result.h"
#include "data/results/stored_result.h"
#include "data/source.h"

namespace kith::app {

/// The root attributes of all files: format, format_version, kith_version, command, and the inputs that it names.
void write_origin(data::ResultFile& file, const std::string& format, const std::string& command);
/// The number behind an option ("--n-init") of a stored command.
std::optional<std::int64_t> number_in(const std::string& command, const std::string& option);
/// Names as an attribute, one per line; their checksum as `<attribute>_crc32` if they are too long together, or if one
/// contains a line feed.
void write_names(data::ResultFile& file, const std::string& attribute, const std::vector<std::string>& names);
/// Whether the result stores a checksum of the names of its columns that these names do not have.
bool lists_other_columns(const data::StoredResult& result, const std::vector<std::string>& names);

inline constexpr const char* kIndexBase = "index_base";  // the attribute: IndexedColumns::base

/// Root attributes of every result of points: format, format_version, kith_version, command, points (name, shape,
/// type), metric, class. `command` contains only what determines the result.
struct ResultHead {
  std::string format;  // "kith-clusters"
  std::string command;
  ValueClass value_class = ValueClass::f32;
  Metric metric = Metric::euclidean;
};
void write_head(data::ResultFile& file, const ResultHead& head, const data::PointSource& points);
/// Texts padded with zeros, at most 4096 bytes of each: a vector, or a matrix of so many columns.
void write_texts(data::ResultFile& file, const std::string& name, const std::vector<std::string>& texts,
                 std::int64_t columns = 0);
/// If the points are a set of files: the group with name, first row, rows, bytes and mark of each.
void write_files(data::ResultFile& file, const std::string& group, const data::PointSource& points);
/// The name of the queries, and their files.
void write_queries(data::ResultFile& file, const data::PointSource& queries);

/// The unit of distances in a result. Of D, the square of a distance: root, squared, and of directions cosine_distance
/// (D / 2), as correlation is of theirs, and cosine (1 - D / 2). Of the squared chord of places: kilometers. Of a
/// negated product: inner_product, as it is. D itself: manhattan, chebyshev, hamming, jaccard.
enum class Unit {
  root,
  squared,
  cosine_distance,
  cosine,
  correlation,
  kilometers,
  inner_product,
  manhattan,
  chebyshev,
  hamming,
  jaccard
};
const char* name_of(Unit unit);
/// The unit of a metric; `squared` instead of the root where D is a square.
Unit unit_of(Metric metric, bool squared);

/// Converts D to distances in a unit, as float or double, in float64 with one rounding. NaN, of dropped rows, stays.
/// Throws Error(data) with the row of a distance outside the range of T; `first` is the number of the first row.
template <class T>
Matrix<T> convert_distances(MatrixView<const double> d, Unit unit, std::int64_t first);

/// Dataset `distances` (n) and the attribute that names its unit.
void write_distances(data::ResultFile& file, std::span<const double> squared, ValueClass value_class);

/// /labels, /counts, /inertia_per_cluster.
void write_assignment(data::ResultFile& file, const KMeansResult& result);

/// The iterations of a run and of the runs that it resumes: /iteration_inertia, /iteration_shift, /iteration_changed,
/// all (iterations).
struct Iterations {
  std::vector<double> inertia, shift;
  std::vector<std::int64_t> changed;
};
void write_iterations(data::ResultFile& file, const Iterations& before, const KMeansResult& result);

/// Records the iterations of a run, and why it ended.
void note_iterations(Report& report, const KMeansResult& result);
/// The report on the clusters.
ClusterReport cluster_report(const KMeansResult& result);
/// 2 n k d: the multiplications and additions of one assignment by a plain matrix product.
double assignment_flops(std::int64_t rows, std::int64_t columns, std::int64_t clusters);
/// Host bytes of assignments besides the points: state per row, centroids, and their sums.
struct AssignmentMemory {
  std::int64_t clusters = 0;
  bool keeps_distances = false;  // in the result
  bool seeds = false;            // by k-means++, with two numbers per row
  std::int64_t runs = 1;
  std::int64_t threads = 1;  // of the processor
};
std::int64_t assignment_bytes(const data::PointSource& points, const AssignmentMemory& memory);
/// Bytes of threads that share `tasks`, each with so many, beyond what plans count for any thread
/// (app/run/planning.cpp).
std::int64_t thread_bytes(std::int64_t tasks, std::int64_t bytes);
/// Bytes of threads that assign rows and add them up: two panels of rows, centred centroids and sums. Large with
/// many columns.
std::int64_t long_row_bytes(std::int64_t rows, std::int64_t columns, std::int64_t clusters, std::int64_t threads);
/// Bytes of the lists and orders of ambiguous rows, which only some data need, such as outliers.
std::int64_t listed_row_bytes(const data::PointSource& points, std::int64_t clusters);

/// Bytes of labels, and of distances, in a result.
std::int64_t label_bytes(const data::PointSource& points, bool with_distances);

/// Host bytes of one block when `rows` rows of results are computed in blocks of `block_rows`, or of `usual_rows` if
/// that is 0; at least one row.
struct BlockMemory {
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t block_rows = 0;
  std::int64_t usual_rows = 0;
};
std::int64_t block_bytes(const BlockMemory& block);

/// One line per cluster: points, share, inertia, nearest row if known; then a line for all.
std::string cluster_table(const KMeansResult& result);

/// The root attributes by name, in a fixed order; texts of several lines, the names of columns and classes, as arrays.
/// With `k`, the number of clusters, groups or neighbours, where the format has one, and `sizes` of clusters:
/// {"smallest", "largest", "empty", "counts"}. Throws Error(data) if the file is damaged.
nlohmann::ordered_json result_facts(const data::StoredResult& result);

/// The same for people, a line each, at most `width` columns wide.
std::string result_text(const nlohmann::ordered_json& facts, std::size_t width);

/// Values of all scores; NaN where one was not computed or is not defined.
struct Scores : Agreement {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double inertia = kNone;
  double silhouette = kNone;  // of a sweep, the requested kind; else the exact one
  double simplified_silhouette = kNone;
  double calinski_harabasz = kNone;
  double davies_bouldin = kNone;
  double bic = kNone;
  double gap = kNone;
  double gap_error = kNone;
};

/// What a score is computed for: numbers of clusters, labels and points, labels and known classes.
enum class ScoreUse : unsigned { sweep = 1, points = 2, classes = 4 };

struct Score {
  const char* name;     // in files and reports
  const char* shown;    // for people
  const char* heading;  // the same in at most 12 characters, as the heading of a column
  bool higher_is_better;
  unsigned uses;  // of ScoreUse
  double Scores::*value;
  const char* meaning = "";  // what it measures, and how to read it: for the page of a sweep
};

/// The scores with this use, in the order in which they are shown and stored.
std::vector<Score> scores_for(ScoreUse use);

}  // namespace kith::app
