// The points in a plane, and a heat map of the columns in which each cluster differs from all rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxMarks = 3000;  // more rows than this become a density map
constexpr int kAcross = 100, kUp = 76;   // cells
constexpr double kTop = 26, kBottom = 300;

/// Circles for the first clusters, other shapes where colours repeat.
std::string mark(std::int64_t cluster, double x, double y) {
  switch (std::max<std::int64_t>(cluster, 0) / kColours % 4) {
    case 0:
      return fmt::format("M{} {}h0", coordinate(x), coordinate(y));
    case 1:
      return fmt::format("M{} {}l4 0l-2-3.6z", coordinate(x - 2), coordinate(y + 1.6));
    case 2:
      return fmt::format("M{} {}h3.4v3.4h-3.4z", coordinate(x - 1.7), coordinate(y - 1.7));
    default:
      return fmt::format("M{} {}l2.4 2.4l-2.4 2.4l-2.4-2.4z", coordinate(x), coordinate(y - 2.4));
  }
}

void draw_marks(Canvas& canvas, const Plane& plane, const Scale& x, const Scale& y,
                std::span<const std::int64_t> clusters) {
  std::map<std::int64_t, std::string> marks;  // those of the others come first, behind all
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    marks[clusters[i]] += mark(clusters[i], x(plane.x[i]), y(plane.y[i]));
  }
  for (const auto& [cluster, data] : marks) {
    const bool circles = std::max<std::int64_t>(cluster, 0) / kColours % 4 == 0;
    canvas.path(data, circles ? "dots " + stroke_of(cluster) : colour_of(cluster));
  }
}

/// The rows in one cell of the density map.
struct Cell {
  std::int64_t rows = 0;
  std::map<std::int64_t, std::int64_t> clusters;
  std::int64_t majority() const {  // the cluster with most rows; ties: the lower number
    return std::ranges::max_element(clusters, [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  }
};

/// Draws each cell in the colour of its majority cluster; opacity grows with the number of rows. Returns the maximum
/// number of rows in a cell.
std::int64_t draw_cells(Canvas& canvas, const Plane& plane, const Scale& x, const Scale& y,
                        std::span<const std::int64_t> labels) {
  const double left_end = x.from, width = (x.to - left_end) / kAcross, height = (kBottom - kTop) / kUp;
  std::vector<Cell> cells(static_cast<std::size_t>(kAcross) * kUp);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const int column = std::clamp(static_cast<int>((x(plane.x[i]) - left_end) / width), 0, kAcross - 1);
    const int row = std::clamp(static_cast<int>((y(plane.y[i]) - kTop) / height), 0, kUp - 1);
    Cell& cell = cells[static_cast<std::size_t>(row) * kAcross + column];
    ++cell.rows;
    ++cell.clusters[labels[i]];
  }
  const auto fullest = std::ranges::max_element(cells, [](const Cell& a, const Cell& b) { return a.rows < b.rows; });
  const double most = std::log1p(static_cast<double>(fullest->rows));
  std::map<std::pair<std::string, int>, std::string> shapes;  // by colour and opacity
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].rows == 0) continue;
    const int opacity = std::min(static_cast<int>(5 * std::log1p(static_cast<double>(cells[i].rows)) / most), 4);
    const std::int64_t cluster = cells[i].majority();
    const double left = left_end + width * static_cast<double>(i % kAcross);
    const double top = kTop + height * static_cast<double>(i / kAcross);
    shapes[{colour_of(cluster), opacity}] += fmt::format("M{} {}h{}v{}h-{}z", coordinate(left), coordinate(top),
                                                         coordinate(width), coordinate(height), coordinate(width));
  }
  for (const auto& [style, data] : shapes) {
    canvas.path(data,
                fmt::format("cells {}{}", style.first, style.second < 4 ? fmt::format(" o{}", style.second) : ""));
  }
  return fullest->rows;
}

/// Draws the numbers of clusters at the centroids, larger clusters first, skipping overlaps. Returns how many it drew.
std::int64_t draw_numbers(Canvas& canvas, const Plane& plane, const Scale& x, const Scale& y,
                          const std::vector<std::int64_t>& counts, std::vector<std::int64_t> order) {
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return counts[a] > counts[b]; });
  std::vector<Box> taken;
  for (const std::int64_t c : order) {
    const std::string number = std::to_string(c);
    const double width = text_width(number) + 3, height = 14;
    const Box box{x(plane.centre_x[c]) - width / 2, y(plane.centre_y[c]) - height / 2, width, height};
    const bool is_free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
      return box.x < other.x + other.width && other.x < box.x + box.width && box.y < other.y + other.height &&
             other.y < box.y + box.height;
    });
    if (!is_free) continue;
    canvas.text({box.x + width / 2, box.y + height / 2 + 5}, number, "middle halo");
    taken.push_back(box);
  }
  return std::ssize(taken);
}

Scale scale_of(const std::vector<float>& rows, const std::vector<double>& centres, double from, double to) {
  std::vector<double> all(rows.begin(), rows.end());
  all.insert(all.end(), centres.begin(), centres.end());
  return scale_over(all, from, to);
}

constexpr std::size_t kMaxColumns = 24;
constexpr double kLegend = 58.0;
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
  std::string caption =
      fmt::format("Where each cluster is above (orange) or below (blue) the mean of all rows, in {}.", map.unit);
  constexpr std::size_t kMaxSentences = 12;
  for (std::size_t i = 0; i < std::min(clusters.size(), kMaxSentences); ++i) {
    const auto row = map.differences.row(clusters[i]);
    const auto far = *std::ranges::max_element(
        columns, [&](std::int64_t a, std::int64_t b) { return std::abs(row[a]) < std::abs(row[b]); });
    caption += fmt::format("{} {} in {} ({})", i == 0 ? " Each differs most: cluster" : ",", clusters[i],
                           name_in_sentence(map.names[far]), row[far] < 0.0 ? "below" : "above");
  }
  if (!clusters.empty()) caption += clusters.size() > kMaxSentences ? ", and so on." : ".";
  return caption;
}

void draw_legend(Canvas& canvas, double left, double top) {
  constexpr double kWidth = 40;
  for (std::size_t level = 0; level <= kLevels.size(); ++level) {
    const double x = left + kWidth * static_cast<double>(level);
    canvas.box({x, top, kWidth, 10}, fmt::format("cells h{}", level));
    if (level < kLevels.size()) canvas.text({x + kWidth, top + 23}, display(kLevels[level]), "small soft middle");
  }
  canvas.text({left, top + 40}, "below the mean of all rows", "small soft");
  canvas.text({left + kWidth * (kLevels.size() + 1), top + 40}, "above it", "small soft end");
}

}  // namespace

std::string heat_class(double difference) {
  const std::size_t level = level_of(difference);
  return 2 * level == kLevels.size() ? "" : fmt::format("h{}", level);
}

Picture scatter(const Plane& plane, std::span<const std::int32_t> labels, const std::vector<std::int64_t>& counts) {
  Canvas canvas(kChartWidth, kBottom + 42);
  const Scale y = scale_of(plane.y, plane.centre_y, kBottom, kTop);
  const Scale x = scale_of(plane.x, plane.centre_x, left_of(y, 5), kChartRight);
  draw_frame(canvas, x, y, {plane.across, plane.up});
  const std::vector<std::int64_t> shown = shown_clusters(counts);
  std::vector<std::int64_t> clusters(labels.begin(), labels.end());
  for (std::int64_t& cluster : clusters) {
    if (!std::binary_search(shown.begin(), shown.end(), cluster)) cluster = kOthers;
  }
  const bool many = labels.size() > kMaxMarks;
  std::string caption = fmt::format("{} ", plane.note);
  if (many) {
    const std::int64_t most = draw_cells(canvas, plane, x, y, clusters);
    caption += fmt::format(
        "All {} rows are counted in cells. Each cell has the colour of the cluster to which most of its rows belong, "
        "and is more opaque the more rows it has, {} at most.",
        labels.size(), most);
  } else {
    draw_marks(canvas, plane, x, y, clusters);
    caption += fmt::format("All {} rows are drawn.", labels.size());
  }
  const std::int64_t numbers = draw_numbers(canvas, plane, x, y, counts, shown);
  caption +=
      fmt::format(" Numbers mark the centroids{}.", numbers == std::ssize(shown) ? "" : ", where they do not overlap");
  if (!shown.empty() && shown.back() >= kColours && numbers > 0) {
    caption += fmt::format(" Colours repeat after {} clusters{}.", kColours, many ? "" : ", with another shape");
  }
  std::string above = note_on_clusters(shown.size(), counts);
  if (!above.empty()) above += " Rows of the others are grey.";
  return {"scatter", "The points in a plane", caption, canvas, above};
}

Picture centroid_map(const CentroidMap& map, const std::vector<std::int64_t>& counts) {
  const std::vector<std::int64_t> clusters = shown_clusters(counts);
  const std::vector<std::int64_t> columns = distinctive_columns(map, clusters);
  constexpr double kMostName = 150.0, kMost = 90.0;  // width of the names; of a cell
  double longest = text_width("column"), widest = 0.0;
  std::vector<std::string> names;
  for (const std::int64_t j : columns) {
    names.push_back(fitted(name_in_sentence(map.names[j]), kMostName, Letters::small));
    longest = std::max(longest, text_width(names.back(), Letters::small));
  }
  for (const std::int64_t c : clusters) widest = std::max(widest, text_width(std::to_string(c)));
  const double left = longest + 10.0;
  const double width =
      std::min(kMost, (kChartWidth - 6 - left) / static_cast<double>(std::max<std::size_t>(clusters.size(), 1)));
  const bool is_upright = widest + 3 > width;  // numbers that would touch read upwards
  const double top = is_upright ? widest + 12.0 : 24.0;
  const double height = std::clamp(290.0 / static_cast<double>(std::max<std::size_t>(columns.size(), 1)), 14.0, 30.0);
  Canvas canvas(kChartWidth, top + height * static_cast<double>(columns.size()) + kLegend);
  canvas.text({left - 6, top - 6}, "cluster", "small soft end");
  std::array<std::string, kLevels.size() + 1> cells;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const double x = left + width * static_cast<double>(i), middle = x + width / 2;
    const std::string number = std::to_string(clusters[i]);
    is_upright ? canvas.vertical_text({middle + 5, top - 5}, number) : canvas.text({middle, top - 6}, number, "middle");
    for (std::size_t j = 0; j < columns.size(); ++j) {
      cells[level_of(map.differences(clusters[i], columns[j]))] +=
          fmt::format("M{} {}h{}v{}h-{}z", coordinate(x), coordinate(top + height * static_cast<double>(j)),
                      coordinate(width), coordinate(height), coordinate(width));
    }
  }
  for (std::size_t level = 0; level < cells.size(); ++level) {
    if (!cells[level].empty()) canvas.path(cells[level], fmt::format("cells h{}", level));
  }
  for (std::size_t j = 0; j < names.size(); ++j) {
    canvas.text({left - 6, top + height * (static_cast<double>(j) + 0.5) + 4}, names[j], "small soft end");
  }
  draw_legend(canvas, 20, canvas.height() - kLegend + 12);
  std::string above = note_on_clusters(clusters.size(), counts);
  if (columns.size() < map.names.size()) {
    above += fmt::format("{}The {} of {} columns in which a cluster differs most.", above.empty() ? "" : " ",
                         columns.size(), map.names.size());
  }
  return {"centroids", "What sets each cluster apart", caption_of(map, clusters, columns), canvas, above};
}

}  // namespace kith::pictures
