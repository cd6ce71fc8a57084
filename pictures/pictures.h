// The charts of a clustering, of measured rates and of pictures, and the page that shows them. Each chart is made from
// plain numbers and has a caption that describes it in words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/points/matrix.h"
#include "pictures/svg.h"

namespace kith::pictures {

/// Bars of the cluster sizes, or a curve of the sorted sizes if not all clusters are shown one by one. counts: (k)
Picture sizes(const std::vector<std::int64_t>& counts);

/// Coordinates of rows and centroids in a plane.
struct Plane {
  std::vector<float> x, y;                 // (n) rows
  std::vector<double> centre_x, centre_y;  // (k) centroids
  std::string across, up;                  // labels of the axes
  std::string note;                        // how the plane was chosen
};
/// A mark for each row, or a density map for many rows. labels: (n), grey if below 0 or if the cluster is not shown.
/// counts: (k)
Picture scatter(const Plane& plane, std::span<const std::int32_t> labels, const std::vector<std::int64_t>& counts);

/// Differences between clusters and all rows, in a unit of each column.
struct CentroidMap {
  Matrix<double> differences;      // (k, d) in `unit`
  std::vector<std::string> names;  // (d)
  std::string unit;                // "standard deviations within the clusters"
};
/// The class of the colour of a difference, "h0" to "h8" from far below to far above; "" for a small one.
std::string heat_class(double difference);
/// A heat map with a line for each column and a cell for each cluster; with many columns, those that differ most.
Picture centroid_map(const CentroidMap& map, const std::vector<std::int64_t>& counts);

struct TileShape {
  std::int64_t rows = 0, columns = 0;
};
/// Each centroid (k, d) as a grey image of shape.rows x shape.columns = d values.
Picture tiles(MatrixView<const double> centroids, const TileShape& shape, const std::vector<std::int64_t>& counts);

/// The iterations of a run.
struct RunHistory {
  std::vector<double> inertia, shift;  // (iterations)
  std::string stopped_by;
  double threshold = 0.0;  // of the squared shift; 0: none
};
/// Curves of inertia and squared shift. So few iterations that a sentence says it all have no picture.
std::optional<Picture> iterations(const RunHistory& history);

/// A histogram per cluster of the distances to the centroid. distances, labels: (n)
Picture distances(std::span<const float> distances, std::span<const std::int32_t> labels,
                  const std::vector<std::int64_t>& counts);

/// The silhouettes of some rows or of all, and what is said about them.
struct Silhouettes {
  std::vector<float> values{};         // (scored)
  std::vector<std::int32_t> labels{};  // (scored)
  bool is_sample = false;              // not of all rows
  std::string source{};                // which rows they are of: "Exact silhouettes of all 150 rows."
};
/// The sorted silhouettes of each cluster. counts: (k) all rows
Picture silhouettes(const Silhouettes& scored, const std::vector<std::int64_t>& counts);

/// A score for each number of clusters.
struct SweepCurve {
  std::string name;                 // identifier: "inertia"
  std::string title;                // "simplified silhouette"
  std::string better;               // which values are better: "larger is better"
  std::string meaning;              // what it measures, as sentences
  std::vector<double> values;       // one for each k; NaN: none
  std::optional<std::size_t> best;  // the place of the k that this criterion prefers
  bool is_low = false;              // the curve lies above its best point
};
/// A chart of one score, with its best k marked. k: ascending; suggested: a k to mark. number: of its colour
Picture sweep(const std::vector<double>& k, const SweepCurve& curve, std::optional<double> suggested, int number);

/// A measured rate as a share of a limit.
struct LimitBar {
  std::string label;
  double share = 0.0;
  std::size_t limit = 0;  // the place of its name among those of the page
};
/// Horizontal bars, a dashed line at the limit, and a legend. limits: their names, each with its colour
Picture limit_bars(const std::string& name, const std::string& title, const std::vector<LimitBar>& bars,
                   const std::vector<std::string>& limits);

/// An image of the page: a data URL, and its size in pixels.
struct Image {
  std::string address;
  std::int64_t width = 0, height = 0;
  bool is_small = false;  // not made smaller for the page: magnified by a whole number if it fits more than once
};
Picture image(const std::string& name, const std::string& title, const std::string& caption, const Image& image);

/// A colour of a palette and its share of the pixels, from 0 to 1.
struct Swatch {
  std::string color;  // "#1a2b3c"
  double share = 0.0;
};
/// A bar for each colour, as long as its share; of many colours those of the largest shares. swatches: in descending
/// order of shares
Picture palette(const std::string& name, const std::string& title, const std::vector<Swatch>& swatches);

// Shared by several charts.

/// The clusters that charts show one by one, in ascending order: all that are not empty, or if they are more than 16,
/// the 12 largest; ties: the lower number.
std::vector<std::int64_t> shown_clusters(const std::vector<std::int64_t>& counts);
/// The `most` largest non-empty clusters in ascending order of their numbers; ties: the lower number.
std::vector<std::int64_t> largest_clusters(const std::vector<std::int64_t>& counts, std::size_t most);
/// "The 12 largest of 100 clusters.", or nothing if all are shown.
std::string note_on_clusters(std::size_t shown, const std::vector<std::int64_t>& counts);

struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::string note{};      // below it
  std::size_t texts = 0;   // its first columns are texts, aligned left; the others are numbers
  bool is_folded = false;  // only its title shows until somebody opens it
  /// (rows, columns) a class of style() for each cell: that of heat_class(), "best" or ""; none: no cell has
  /// one
  std::vector<std::vector<std::string>> classes{};
};

struct Page {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts{};  // name and value
  std::vector<std::string> notes{};                          // warnings: what is missing, and the remedy
  std::vector<Table> answers{};                              // tables before the pictures
  std::vector<Picture> pictures{};
  std::vector<Table> tables{};
};

/// The page as HTML that is also well-formed XML.
std::string html(const Page& page);

}  // namespace kith::pictures
