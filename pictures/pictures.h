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

/// Bars of the cluster sizes, or a curve of the sorted sizes for many clusters. counts: (k)
Picture sizes(const std::vector<std::int64_t>& counts);

/// Coordinates of rows and centroids in a plane.
struct Plane {
  std::vector<float> x, y;                 // (n) rows
  std::vector<double> centre_x, centre_y;  // (k) centroids
  std::string across, up;                  // labels of the axes
  std::string note;                        // how the plane was chosen
};
/// A mark for each row, or a density map for many rows. labels: (n), grey if below 0. counts: (k)
Picture scatter(const Plane& plane, std::span<const std::int32_t> labels, const std::vector<std::int64_t>& counts);

/// Differences between centroids and the mean of all rows, in a unit of each column.
struct CentroidMap {
  Matrix<double> differences;      // (k, d) in `unit`
  std::vector<std::string> names;  // (d)
  std::string unit;                // "standard deviations of the points"
};
/// A heat map with a cell for each cluster and column; with many columns, those that differ most.
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
/// Curves of inertia and squared shift.
Picture iterations(const RunHistory& history);

/// A histogram per cluster of the distances to the centroid. distances, labels: (n)
Picture distances(std::span<const float> distances, std::span<const std::int32_t> labels,
                  const std::vector<std::int64_t>& counts);

/// The sorted silhouettes of each cluster. values, labels: (n). kind: for example "simplified silhouette"
Picture silhouettes(std::span<const float> values, std::span<const std::int32_t> labels,
                    const std::vector<std::int64_t>& counts, const std::string& kind);

/// A score for each number of clusters.
struct SweepCurve {
  std::string name;            // "inertia"
  std::vector<double> values;  // one for each k; NaN: none
};
/// A chart for each score. k: ascending; suggested: a k to mark
Picture sweep(const std::vector<double>& k, const std::vector<SweepCurve>& curves, std::optional<double> suggested);

/// A measured rate as a share of a limit.
struct LimitBar {
  std::string group;  // the heading of consecutive bars: "8192 x 8192"
  std::string label;
  double share = 0.0;
  std::string limit;  // its name
};
/// Horizontal bars, and a dashed line at the limit.
Picture limit_bars(const std::string& name, const std::string& title, const std::vector<LimitBar>& bars);

/// A picture before and after its colours were reduced.
struct Comparison {
  std::string name;                    // identifier on the page
  std::string title, caption;          // title: its file
  std::int64_t width = 0, height = 0;  // of both images, in pixels
  std::string before, after;           // their data URLs
  bool is_small = false;               // not made smaller for the page
};
/// Both images, one above the other if they are wide, else side by side.
Picture comparison(const Comparison& images);

/// A colour of a palette and its share of the pixels, from 0 to 1.
struct Swatch {
  std::string color;  // "#1a2b3c"
  double share = 0.0;
};
/// A bar for each colour, as long as its share; of many colours those of the largest shares. swatches: in descending
/// order of shares
Picture palette(const std::string& name, const std::string& title, const std::vector<Swatch>& swatches);

// Shared by several charts.

/// The `most` largest non-empty clusters in ascending order of their numbers; ties: the lower number.
std::vector<std::int64_t> largest_clusters(const std::vector<std::int64_t>& counts, std::size_t most);
/// The sentence " Shown are the 40 largest of 100 clusters.", or nothing if all are shown.
std::string note_on_clusters(std::size_t shown, const std::vector<std::int64_t>& counts);

struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below it
};

struct Page {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // name and value
  std::vector<std::string> notes;                          // warnings: what is missing, and the remedy
  std::vector<Picture> pictures;
  std::vector<Table> tables;
};

/// The page as HTML that is also well-formed XML.
std::string html(const Page& page);

}  // namespace kith::pictures
