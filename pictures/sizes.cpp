// The number of rows in each cluster.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxBars = 40;
constexpr double kBar = 18.0;  // height of a bar with its spacing

std::string caption_of(const std::vector<std::int64_t>& counts, std::int64_t rows) {
  const auto [smallest, largest] = std::minmax_element(counts.begin(), counts.end());
  const auto empty = std::count(counts.begin(), counts.end(), 0);
  return fmt::format(
      "{} rows in {} {}. The largest is cluster {} with {} rows, the smallest cluster {} with {}; {} empty.", rows,
      counts.size(), counts.size() == 1 ? "cluster" : "clusters", largest - counts.begin(), *largest,
      smallest - counts.begin(), *smallest,
      empty == 0 ? "none is" : fmt::format("{} {}", empty, empty == 1 ? "is" : "are"));
}

Canvas bars(const std::vector<std::int64_t>& counts, std::int64_t rows) {
  Canvas canvas(480, 16 + kBar * static_cast<double>(counts.size()));
  const double most = static_cast<double>(std::max<std::int64_t>(*std::max_element(counts.begin(), counts.end()), 1));
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const double y = 8 + kBar * static_cast<double>(c), length = 300 * static_cast<double>(counts[c]) / most;
    const double percent =
        100.0 * static_cast<double>(counts[c]) / static_cast<double>(std::max<std::int64_t>(rows, 1));
    canvas.text({40, y + 13}, std::to_string(c), "end");
    canvas.box({48, y + 2, length, kBar - 4}, colour_of(static_cast<std::int64_t>(c)));
    canvas.text({54 + length, y + 13}, fmt::format("{} ({:.1f} %)", counts[c], percent), "small soft");
  }
  return canvas;
}

Canvas sorted_curve(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end(), std::greater<>());
  Canvas canvas(480, 270);
  const Scale x{0, static_cast<double>(counts.size()), 64, 466};
  const Scale y{0, 1.05 * static_cast<double>(std::max<std::int64_t>(counts.front(), 1)), 226, 26};
  draw_frame(canvas, x, y, {"clusters, the largest first", "rows"});
  // Limit the number of steps to what is visible.
  const std::size_t steps = std::min<std::size_t>(counts.size(), 400);
  std::vector<Point> points;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t first = i * counts.size() / steps, end = (i + 1) * counts.size() / steps;
    const double height = y(static_cast<double>(counts[first]));
    points.push_back({x(static_cast<double>(first)), height});
    points.push_back({x(static_cast<double>(end)), height});
  }
  canvas.path(line_through(points), "curve s0");
  return canvas;
}

}  // namespace

Picture sizes(const std::vector<std::int64_t>& counts) {
  const std::int64_t rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return {"sizes", "Sizes of the clusters", caption_of(counts, rows),
          counts.size() <= kMaxBars ? bars(counts, rows) : sorted_curve(counts)};
}

std::vector<std::int64_t> largest_clusters(const std::vector<std::int64_t>& counts, std::size_t most) {
  std::vector<std::int64_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int64_t c) { return counts[c] <= 0; });
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return counts[a] > counts[b]; });
  order.resize(std::min(order.size(), most));
  std::sort(order.begin(), order.end());
  return order;
}

std::string note_on_clusters(std::size_t shown, const std::vector<std::int64_t>& counts) {
  const auto with_rows = counts.size() - static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 0));
  return shown < with_rows ? fmt::format(" Shown are the {} largest of {} clusters.", shown, with_rows) : "";
}

}  // namespace kith::pictures
