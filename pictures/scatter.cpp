// A scatter plot of rows coloured by cluster, or a density map for many rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxMarks = 3000;  // more rows than this become a density map
constexpr int kAcross = 100, kUp = 76;   // cells
constexpr double kLeft = 58, kRight = 466, kTop = 26, kBottom = 336;

const std::string kGrey = "7";

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
                std::span<const std::int32_t> labels) {
  std::map<std::int32_t, std::string> marks;
  for (std::size_t i = 0; i < labels.size(); ++i) marks[labels[i]] += mark(labels[i], x(plane.x[i]), y(plane.y[i]));
  for (const auto& [label, data] : marks) {
    const bool circles = std::max(label, 0) / kColours % 4 == 0;
    const std::string colour = label < 0 ? kGrey : std::to_string(label % kColours);
    canvas.path(data, circles ? "dots s" + colour : "c" + colour);
  }
}

/// The rows in one cell of the density map.
struct Cell {
  std::int64_t rows = 0;
  std::map<std::int32_t, std::int64_t> clusters;
  std::int32_t majority() const {  // the cluster with most rows; ties: the lower number
    return std::max_element(clusters.begin(), clusters.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
};

/// Draws each cell in the colour of its majority cluster; opacity grows with the number of rows. Returns the maximum
/// number of rows in a cell.
std::int64_t draw_cells(Canvas& canvas, const Plane& plane, const Scale& x, const Scale& y,
                        std::span<const std::int32_t> labels) {
  const double width = (kRight - kLeft) / kAcross, height = (kBottom - kTop) / kUp;
  std::vector<Cell> cells(static_cast<std::size_t>(kAcross) * kUp);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const int column = std::clamp(static_cast<int>((x(plane.x[i]) - kLeft) / width), 0, kAcross - 1);
    const int row = std::clamp(static_cast<int>((y(plane.y[i]) - kTop) / height), 0, kUp - 1);
    Cell& cell = cells[static_cast<std::size_t>(row) * kAcross + column];
    ++cell.rows;
    ++cell.clusters[labels[i]];
  }
  const auto fullest =
      std::max_element(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.rows < b.rows; });
  const double most = std::log1p(static_cast<double>(fullest->rows));
  std::map<std::pair<std::string, int>, std::string> shapes;  // by colour and opacity
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].rows == 0) continue;
    const int opacity = std::min(static_cast<int>(5 * std::log1p(static_cast<double>(cells[i].rows)) / most), 4);
    const std::int32_t cluster = cells[i].majority();
    const double left = kLeft + width * static_cast<double>(i % kAcross);
    const double top = kTop + height * static_cast<double>(i / kAcross);
    shapes[{cluster < 0 ? "c" + kGrey : colour_of(cluster), opacity}] +=
        fmt::format("M{} {}h{}v{}h-{}z", coordinate(left), coordinate(top), coordinate(width), coordinate(height),
                    coordinate(width));
  }
  for (const auto& [style, data] : shapes) {
    canvas.path(data,
                fmt::format("cells {}{}", style.first, style.second < 4 ? fmt::format(" o{}", style.second) : ""));
  }
  return fullest->rows;
}

/// Draws cluster numbers at the centroids, larger clusters first, skipping overlaps. Returns the number drawn.
std::int64_t draw_numbers(Canvas& canvas, const Plane& plane, const Scale& x, const Scale& y,
                          const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return counts[a] > counts[b]; });
  std::vector<Box> taken;
  for (const std::int64_t c : order) {
    const std::string number = std::to_string(c);
    const double width = 9.0 * static_cast<double>(number.size()) + 3, height = 14;
    const Box box{x(plane.centre_x[c]) - width / 2, y(plane.centre_y[c]) - height / 2, width, height};
    const bool is_free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
      return box.x < other.x + other.width && other.x < box.x + box.width && box.y < other.y + other.height &&
             other.y < box.y + box.height;
    });
    if (counts[c] == 0 || !is_free) continue;
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

}  // namespace

Picture scatter(const Plane& plane, std::span<const std::int32_t> labels, const std::vector<std::int64_t>& counts) {
  Canvas canvas(480, 378);
  const Scale x = scale_of(plane.x, plane.centre_x, kLeft, kRight);
  const Scale y = scale_of(plane.y, plane.centre_y, kBottom, kTop);
  draw_frame(canvas, x, y, {plane.across, plane.up});
  const bool many = labels.size() > kMaxMarks;
  std::string caption = fmt::format("{} ", plane.note);
  if (many) {
    const std::int64_t most = draw_cells(canvas, plane, x, y, labels);
    caption += fmt::format(
        "All {} rows are counted in cells. Each cell has the colour of the cluster to which most of its rows belong, "
        "and "
        "is more opaque the more rows it has, {} at most.",
        labels.size(), most);
  } else {
    draw_marks(canvas, plane, x, y, labels);
    caption += fmt::format("All {} rows are drawn.", labels.size());
  }
  const std::int64_t numbers = draw_numbers(canvas, plane, x, y, counts);
  const bool all_have = numbers == std::ssize(counts) - std::count(counts.begin(), counts.end(), 0);
  caption += fmt::format(" Numbers mark the centroids{}.", all_have ? "" : ", where they do not overlap");
  if (std::ssize(counts) > kColours) caption += fmt::format(" Colours repeat after {} clusters.", kColours);
  return {"scatter", "The points in a plane", caption, canvas};
}

}  // namespace kith::pictures
