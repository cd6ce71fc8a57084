// A silhouette plot: the sorted silhouettes of each cluster.
//
// P. J. Rousseeuw: Silhouettes: a graphical aid to the interpretation and validation of cluster analysis (1987).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxBars = 60;
constexpr double kHeight = 360.0, kGap = 3.0;

}  // namespace

Picture silhouettes(std::span<const float> values, std::span<const std::int32_t> labels,
                    const std::vector<std::int64_t>& counts, const std::string& kind) {
  std::vector<std::vector<float>> blades(counts.size());
  double sum = 0.0, lowest = 0.0;
  std::int64_t rows = 0, negative = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    blades[labels[i]].push_back(values[i]);
    sum += values[i];
    ++rows;
    negative += values[i] < 0.0F ? 1 : 0;
    lowest = std::min(lowest, static_cast<double>(values[i]));
  }
  const double mean = rows > 0 ? sum / static_cast<double>(rows) : 0.0;
  const std::vector<std::int64_t> displayed = largest_clusters(counts, kMaxBars);
  std::int64_t shown_rows = 0;
  for (const std::int64_t c : displayed) shown_rows += std::ssize(blades[c]);
  const double gaps = kGap * static_cast<double>(displayed.size());
  const double row_height = kHeight / static_cast<double>(std::max<std::int64_t>(shown_rows, 1));
  const double bottom = 10 + kHeight + gaps;
  Canvas canvas(480, bottom + 42);
  const Scale x{std::max(-1.0, lowest < 0.0 ? lowest - 0.05 : 0.0), 1.0, 48, 466};
  draw_frame(canvas, x, {0, 1, bottom, 10}, {kind, "", 6, 0});
  double top = 10, last_number = 0;
  std::int64_t best = -1, worst = -1;
  std::vector<double> means(counts.size(), 0.0);
  for (const std::int64_t c : displayed) {
    std::vector<float>& blade = blades[c];
    if (blade.empty()) continue;
    std::sort(blade.begin(), blade.end(), std::greater<>());
    for (const float value : blade) means[c] += value / static_cast<double>(blade.size());
    if (best < 0 || means[c] > means[best]) best = c;
    if (worst < 0 || means[c] < means[worst]) worst = c;
    const double height = row_height * static_cast<double>(blade.size());
    const auto steps = std::clamp<std::size_t>(static_cast<std::size_t>(2 * height), 2, 400);
    std::vector<Point> points{{x(0), top}};
    for (std::size_t i = 0; i < steps; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(steps - 1);
      const auto at = static_cast<std::size_t>(std::llround(share * static_cast<double>(blade.size() - 1)));
      points.push_back({x(blade[at]), top + share * height});
    }
    points.push_back({x(0), top + height});
    canvas.path(line_through(points) + "z", colour_of(c));
    const double middle = top + height / 2 + 4;
    if (middle - last_number >= 12) {  // numbers do not overlap
      canvas.text({42, middle}, std::to_string(c), "end");
      last_number = middle;
    }
    top += height + kGap;
  }
  canvas.line({x(mean), 10}, {x(mean), bottom}, "mark");
  std::string caption = fmt::format(
      "The mean {} of all rows is {:.4f} (dashed); {} of {} rows are below 0, nearer to "
      "another cluster than to their own.",
      kind, mean, negative, rows);
  if (best >= 0) {
    caption += fmt::format(" Cluster {} is set apart best, with a mean of {:.3f}, cluster {} least, with {:.3f}.", best,
                           means[best], worst, means[worst]);
  }
  return {"silhouettes", "Silhouettes", caption + note_on_clusters(displayed.size(), counts), canvas};
}

}  // namespace kith::pictures
