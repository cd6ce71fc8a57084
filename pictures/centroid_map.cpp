// A heat map of centroids: the columns in which each cluster differs from the mean of all rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxRows = 40, kMaxColumns = 40;
constexpr double kLegend = 40.0;
/// Upper limits of the colour classes h0 to h7, in units; larger values get h8.
constexpr std::array<double, 8> kLevels{-2.0, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 2.0};

std::size_t level_of(double difference) {
  return static_cast<std::size_t>(std::upper_bound(kLevels.begin(), kLevels.end(), difference) - kLevels.begin());
}

/// The columns in which some cluster differs most, in ascending order.
std::vector<std::int64_t> distinctive_columns(const CentroidMap& map, const std::vector<std::int64_t>& clusters) {
  std::vector<double> largest(map.names.size(), 0.0);
  for (const std::int64_t c : clusters) {
    for (std::size_t j = 0; j < largest.size(); ++j)
      largest[j] = std::max(largest[j], std::abs(map.differences(c, static_cast<std::int64_t>(j))));
  }
  std::vector<std::int64_t> order(largest.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return largest[a] > largest[b]; });
  order.resize(std::min(order.size(), kMaxColumns));
  std::sort(order.begin(), order.end());
  return order;
}

/// A column name for use in a sentence; a number becomes "column N".
std::string name_in_sentence(const std::string& name) {
  const bool is_number = name.find_first_not_of("0123456789") == name.npos;
  return is_number ? fmt::format("column {}", name) : shortened(name, 40);
}

std::string caption_of(const CentroidMap& map, const std::vector<std::int64_t>& clusters,
                       const std::vector<std::int64_t>& columns) {
  std::string caption = fmt::format("Centroids minus the mean of all points, in {}.", map.unit);
  constexpr std::size_t kMaxSentences = 12;
  for (std::size_t i = 0; i < std::min(clusters.size(), kMaxSentences); ++i) {
    const auto row = map.differences.row(clusters[i]);
    const auto far = *std::max_element(columns.begin(), columns.end(), [&](std::int64_t a, std::int64_t b) {
      return std::abs(row[a]) < std::abs(row[b]);
    });
    caption += fmt::format("{} {} in {} ({:+.2f})", i == 0 ? " Each differs most: cluster" : ",", clusters[i],
                           name_in_sentence(map.names[far]), row[far]);
  }
  if (!clusters.empty()) caption += clusters.size() > kMaxSentences ? ", and so on." : ".";
  if (columns.size() < map.names.size()) {
    caption += fmt::format(" Of {} columns, these are the {} in which a cluster differs most.", map.names.size(),
                           columns.size());
  }
  return caption;
}

void draw_legend(Canvas& canvas, double left, double top) {
  constexpr double kWidth = 36;
  for (std::size_t level = 0; level <= kLevels.size(); ++level) {
    const double x = left + kWidth * static_cast<double>(level);
    canvas.box({x, top, kWidth, 10}, fmt::format("cells h{}", level));
    if (level < kLevels.size()) canvas.text({x + kWidth, top + 22}, display(kLevels[level]), "small soft middle");
  }
}

}  // namespace

Picture centroid_map(const CentroidMap& map, const std::vector<std::int64_t>& counts) {
  const std::vector<std::int64_t> clusters = largest_clusters(counts, kMaxRows);
  const std::vector<std::int64_t> columns = distinctive_columns(map, clusters);
  constexpr std::size_t kLetters = 20;
  std::size_t longest = 1;
  for (const std::int64_t j : columns) longest = std::max(longest, std::min(map.names[j].size(), kLetters));
  const bool is_short = longest <= 3;  // horizontal names fit
  const double top = is_short ? 24.0 : 10 + 7.0 * static_cast<double>(longest), left = 44;
  const double width = 424.0 / static_cast<double>(std::max<std::size_t>(columns.size(), 4));
  const double height = std::clamp(360.0 / static_cast<double>(std::max<std::size_t>(clusters.size(), 1)), 14.0, 26.0);
  Canvas canvas(480, top + height * static_cast<double>(clusters.size()) + kLegend);
  std::array<std::string, kLevels.size() + 1> cells;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const double y = top + height * static_cast<double>(i);
    canvas.text({left - 6, y + height / 2 + 4.5}, std::to_string(clusters[i]), "end");
    for (std::size_t j = 0; j < columns.size(); ++j) {
      cells[level_of(map.differences(clusters[i], columns[j]))] +=
          fmt::format("M{} {}h{}v{}h-{}z", coordinate(left + width * static_cast<double>(j)), coordinate(y),
                      coordinate(width), coordinate(height), coordinate(width));
    }
  }
  for (std::size_t level = 0; level < cells.size(); ++level) {
    if (!cells[level].empty()) canvas.path(cells[level], fmt::format("cells h{}", level));
  }
  // If not all names fit, show every second or third one.
  const auto step = static_cast<std::size_t>(std::ceil((is_short ? 24.0 : 13.0) / width));
  for (std::size_t j = 0; j < columns.size(); j += step) {
    const double middle = left + width * (static_cast<double>(j) + 0.5);
    const std::string name = shortened(map.names[columns[j]], kLetters);
    is_short ? canvas.text({middle, top - 6}, name, "small soft middle")
             : canvas.vertical_text({middle + 4, top - 5}, name, "small soft");
  }
  draw_legend(canvas, left, canvas.height() - kLegend + 10);
  return {"centroids", "Centroids relative to the mean of all points",
          caption_of(map, clusters, columns) + note_on_clusters(clusters.size(), counts), canvas};
}

}  // namespace kith::pictures
