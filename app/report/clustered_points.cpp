// Reads the points of a clustering again, projects them, and measures distances to its centroids.
#include "app/report/clustered_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "app/cli/units.h"
#include "app/cli/words.h"
#include "app/evaluate/internal_evaluation.h"
#include "app/run/memory.h"
#include "app/run/model.h"
#include "core/kmeans/result.h"
#include "core/neighbors/neighbors.h"
#include "core/numbers/distance.h"
#include "core/preparation/preparation.h"
#include "core/preparation/principal_components.h"
#include "core/scores/silhouette.h"

namespace kith::app {
namespace {

/// Evenly spaced rows as float64: all, or as many as hold four million values, but at least a thousand.
Matrix<double> sample_of(const PointsView& values) {
  constexpr std::int64_t kValues = 4'000'000, kLeast = 1000;
  const std::int64_t rows = rows_of(values), columns = columns_of(values);
  const std::int64_t taken = std::min(rows, std::max(kLeast, kValues / columns));
  Matrix<double> sample(taken, columns);
  for (std::int64_t i = 0; i < taken; ++i) copy_queries(values, i * rows / taken, sample.view().middle(i, 1));
  return sample;
}

/// Calls place(row) for every row, as float64 (d).
template <class Place>
void for_each_row(const PointsView& values, const Place& place) {
  Matrix<double> row(1, columns_of(values));
  for (std::int64_t i = 0; i < rows_of(values); ++i) {
    copy_queries(values, i, row.view());
    place(row.data());
  }
}

void add_places(pictures::Plane& plane, const PointsView& values, const Clustering& clustering,
                const PrincipalPlane& axes) {
  for_each_row(values, [&](const double* row) {
    const auto [x, y] = project(axes, row);
    plane.x.push_back(static_cast<float>(x));
    plane.y.push_back(static_cast<float>(y));
  });
  for (std::int64_t c = 0; c < clustering.centroids.rows(); ++c) {
    const auto [x, y] = project(axes, clustering.means.row(c).data());
    plane.centre_x.push_back(x);
    plane.centre_y.push_back(y);
  }
}

/// The columns themselves if there are one or two, else the first two principal components.
pictures::Plane plane_of(const PointsView& values, const Clustering& clustering) {
  const std::int64_t columns = columns_of(values);
  pictures::Plane plane;
  if (columns == 1) {
    plane.across = clustering.names[0];
    plane.up = "row";
    plane.note = "The only column against the number of the row.";
    for_each_row(values, [&](const double* row) {
      plane.y.push_back(static_cast<float>(plane.x.size()));
      plane.x.push_back(static_cast<float>(row[0]));
    });
    for (std::int64_t c = 0; c < clustering.centroids.rows(); ++c) {
      plane.centre_x.push_back(clustering.means(c, 0));
      plane.centre_y.push_back(static_cast<double>(plane.x.size()) / 2);
    }
    return plane;
  }
  if (columns == 2) {
    plane.across = clustering.names[0];
    plane.up = clustering.names[1];
    plane.note = "The two columns of the points.";
    PrincipalPlane same{{0.0, 0.0}, Matrix<double>(2, 2), {}};
    same.axes(0, 0) = same.axes(1, 1) = 1.0;
    same.axes(0, 1) = same.axes(1, 0) = 0.0;
    add_places(plane, values, clustering, same);
    return plane;
  }
  const Matrix<double> sample = sample_of(values);
  const PrincipalPlane axes = principal_plane(sample.view());
  plane.across = fmt::format("principal component 1 ({:.1f} %)", 100.0 * axes.share[0]);
  plane.up = fmt::format("principal component 2 ({:.1f} %)", 100.0 * axes.share[1]);
  plane.note = fmt::format(
      "The plane of largest variance of {}; it holds {:.1f} % of their variance.",
      sample.rows() == rows_of(values) ? "the points" : fmt::format("{} evenly spaced points", sample.rows()),
      100.0 * (axes.share[0] + axes.share[1]));
  add_places(plane, values, clustering, axes);
  return plane;
}

/// Euclidean distances to the rows' own centroids.
std::vector<float> distances_to_centroids(const PointsView& values, const Clustering& clustering,
                                          const std::vector<std::int32_t>& labels) {
  std::vector<float> distances;
  for_each_row(values, [&](const double* row) {
    const auto centroid = clustering.centroids.row(labels[distances.size()]);
    const double squared = squared_distance(row, centroid.data(), clustering.centroids.columns());
    distances.push_back(static_cast<float>(std::sqrt(squared)));
  });
  return distances;
}

/// Rows whose silhouettes take a second or two, each against all rows: all, or 1, 2 or 5 times a power of ten. 0: even
/// few take longer. It depends on the shape alone, so that equal results give equal pages.
std::int64_t rows_to_score(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kProducts = 6'400'000'000;  // of values
  constexpr std::int64_t kFewest = 50;
  const std::int64_t most = kProducts / rows / columns;
  if (most >= rows) return rows;
  if (most < kFewest) return 0;
  std::int64_t power = 10;
  while (10 * power <= most) power *= 10;
  return power * (5 * power <= most ? 5 : 2 * power <= most ? 2 : 1);
}

/// The sample is that of kith evaluate --sample with the same seed.
std::optional<pictures::Silhouettes> score(const HeldPoints& held, const Clustering& clustering,
                                           const std::vector<std::int32_t>& labels, Job& job) {
  constexpr std::uint64_t kSeed = 0;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(clustering.centroids.rows()));
  for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  if (std::ssize(counts) - std::count(counts.begin(), counts.end(), 0) < 2) return std::nullopt;
  const std::int64_t rows = std::ssize(labels), sample = rows_to_score(rows, held.points->columns());
  if (sample == 0) return std::nullopt;
  const std::vector<std::int64_t> scored = sampled_rows(rows, sample, kSeed);
  held.points->set_labels(labels);
  const SilhouetteRequest request{labels, counts, scored, held.plan.weights, {}, clustering.means.view()};
  const Silhouette found = exact_silhouette(*held.points, held.plan, request, job.progress);
  pictures::Silhouettes silhouettes{.values = {found.rows.begin(), found.rows.end()}, .is_sample = !scored.empty()};
  for (const std::int64_t row : scored) silhouettes.labels.push_back(labels[static_cast<std::size_t>(row)]);
  if (scored.empty()) silhouettes.labels = labels;
  silhouettes.source = scored.empty()
                           ? fmt::format("Exact silhouettes of all {} rows.", rows)
                           : fmt::format(
                                 "Exact silhouettes of {} of {} rows, drawn at random with seed {}, each against all "
                                 "rows; kith evaluate --sample takes more.",
                                 sample, rows, kSeed);
  return silhouettes;
}

}  // namespace

Clustering::Clustering(const data::StoredResult& result) : centroids(result.matrix("centroids")) {
  for (const double count : result.vector("counts")) counts.push_back(static_cast<std::int64_t>(count));
  for (const double label : result.vector("labels")) labels.push_back(static_cast<std::int32_t>(label));
  const auto clusters = static_cast<std::int32_t>(centroids.rows());
  const std::vector<double> weights = result.vector(result.has("weights") ? "weights" : "counts"),
                            inertia = result.vector("inertia_per_cluster");
  const bool fits =
      std::ssize(counts) == clusters && std::ssize(weights) == clusters && std::ssize(inertia) == clusters &&
      std::all_of(labels.begin(), labels.end(), [&](std::int32_t label) { return label >= -1 && label < clusters; });
  if (!fits) {
    throw Error(
        ExitCode::data,
        fmt::format("{}: expected a count for each of {} centroids and labels below that number; the file has been "
                    "changed, cluster again",
                    result.file(), clusters));
  }
  const Metric metric = metric_named(result.text("metric"));
  means = cluster_means(centroids.view(), metric, weights, inertia);
  names = result.lines("columns");
  if (std::ssize(names) == centroids.columns()) return;
  names.clear();
  for (std::int64_t j = 0; j < centroids.columns(); ++j) names.push_back(std::to_string(j + 1));
}

std::optional<std::string> find_points(const data::StoredResult& result, const std::string& given) {
  if (!given.empty()) return given;
  const std::string stored = result.text("points");
  for (const std::filesystem::path& folder :
       {std::filesystem::path(), std::filesystem::path(result.file()).parent_path()}) {
    const std::string location = (folder / stored).string();
    const std::filesystem::path file = data::parse_location(location).file;
    // kith stores names without folders. A file from a stranger must not make kith read one in another folder.
    if (!stored.empty() && file.parent_path() == folder && std::filesystem::exists(file)) return location;
  }
  return std::nullopt;
}

std::vector<std::string> take_input_options(const data::StoredResult& result, CommonOptions& common) {
  const std::vector<std::string> words = split_words(result.text("command"));
  const CommonOptions defaults;
  const auto take = [&](const TextOption& option) {
    const auto found = std::find(words.begin(), words.end(), option.name);
    std::string& value = common.*option.target;
    if (value == defaults.*option.target && found != words.end() && found + 1 != words.end()) value = found[1];
  };
  const bool chooses = !common.columns.empty() || !common.drop_columns.empty();
  std::vector<std::string> names = result.lines("columns");
  std::sort(names.begin(), names.end());
  const bool by_name = !names.empty() && std::adjacent_find(names.begin(), names.end()) == names.end();
  if (common.nan == "error") common.nan.clear();  // the default of the option
  if (!chooses && !by_name) {
    take({"--columns", &CommonOptions::columns});
    take({"--drop-columns", &CommonOptions::drop_columns});
  }
  for (const TextOption& option : kFormOptions) take(option);
  take({"--label-column", &CommonOptions::label_column});
  take({"--weight-column", &CommonOptions::weight_column});
  take({"--encode", &CommonOptions::encode});
  take({"--metric", &CommonOptions::metric});
  take({"--nan", &CommonOptions::nan});
  const auto skips = std::find(words.begin(), words.end(), "--skip-lines");
  if (common.skip_lines == 0 && words.end() - skips > 1) {
    common.skip_lines = parse_integer(skips[1], "--skip-lines", {0, std::numeric_limits<std::int64_t>::max()});
  }
  if (common.nan.empty()) common.nan = "error";
  common.transpose = common.transpose || std::find(words.begin(), words.end(), "--transpose") != words.end();
  return by_name ? result.lines("columns") : std::vector<std::string>();
}

ClusteredPoints read_clustered_points(const std::string& location, const data::StoredResult& result,
                                      const Clustering& clustering, const std::vector<std::string>& names, Job& job) {
  const std::optional<Preparation> preparation = read_preparation(result.file());
  const Preparation* given = preparation ? &*preparation : nullptr;
  const std::int64_t before = preparation ? columns_before(*preparation) : 0;
  const std::int64_t rows = std::ssize(clustering.labels),
                     columns = before > 0 ? before : clustering.centroids.columns();
  ExpectedColumns expected{names, indexed_columns_of(result.file(), columns), data::read_model(result)};
  // Rows of the clustering have the texts and the replacements of the clustering, unless others are asked for.
  if (!job.common.columns.empty() || !job.common.drop_columns.empty()) expected.model.reset();
  const auto source = open_input(location, job.common, given, expected);
  if (source->rows() != rows || source->columns() != columns) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected {} x {} points, from which {} was made, found {} x {}; give them with "
                            "--points, and their columns with --columns",
                            source->name(), rows, columns, result.file(), source->rows(), source->columns()));
  }
  job.report.points = describe(*source);
  constexpr std::int64_t kBytesPerRow = 64;  // coordinates, distances, and copies to sort
  const std::int64_t sample = rows_to_score(rows, clustering.centroids.columns());
  const std::int64_t scores =
      exact_silhouette_bytes({rows, clustering.centroids.columns(), clustering.centroids.rows(), sample});
  const std::int64_t clusters = clustering.centroids.rows();
  require_memory(std::max(points_bytes(*source) + checked_product(rows, kBytesPerRow, "rows") + scores,
                          profile_bytes(*source, clusters)),
                 source->name(), job.common.memory);
  ClusteredPoints points;
  if (why_no_profile(*source, job.common).empty()) {
    job.progress.phase("profile", 0);
    points.profile = make_profile({*source, job.common, clustering.labels, clusters});
    points.profile->counts = clustering.counts;
  }
  const std::vector<Work> work{exact_silhouettes(*source, sample)};
  const HeldPoints held = hold_points({.source = *source, .given = given, .work = work}, job);
  for (const std::int64_t row : held.row_numbers()) {
    points.labels.push_back(clustering.labels[static_cast<std::size_t>(row)]);
  }
  job.progress.phase("measure", 0);
  points.distances = distances_to_centroids(held.rows(), clustering, points.labels);
  double squares = 0.0;
  for (const float distance : points.distances) squares += static_cast<double>(distance) * distance;
  points.doubt = doubt_of_rows(result, squares, source->name());
  if (!points.doubt.empty()) job.progress.warning(points.doubt);
  points.silhouettes = score(held, clustering, points.labels, job);
  job.progress.phase("project", 0);
  points.plane = plane_of(held.rows(), clustering);
  return points;
}

}  // namespace kith::app
