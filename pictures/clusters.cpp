// Charts with a bar, a histogram, a blade or an image for each cluster.
//
// P. J. Rousseeuw: Silhouettes: a graphical aid to the interpretation and validation of cluster analysis (1987).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

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
  constexpr double kBar = 18.0;  // height of a bar with its spacing
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

constexpr int kBins = 48;

struct Histogram {
  std::array<std::int64_t, kBins> rows{};
  std::vector<float> sorted;
  float median() const { return sorted[(sorted.size() - 1) / 2]; }
};

}  // namespace

Picture sizes(const std::vector<std::int64_t>& counts) {
  const std::int64_t rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  constexpr std::size_t kMaxBars = 40;
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

Picture distances(std::span<const float> distances, std::span<const std::int32_t> labels,
                  const std::vector<std::int64_t>& counts) {
  constexpr std::size_t kMaxHistograms = 30;
  constexpr double kRow = 30.0;
  const float most = *std::max_element(distances.begin(), distances.end());
  const double reach = most > 0 ? most : 1.0;
  std::vector<Histogram> histograms(counts.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    Histogram& histogram = histograms[labels[i]];
    ++histogram.rows[std::min(static_cast<int>(kBins * (distances[i] / reach)), kBins - 1)];
    histogram.sorted.push_back(distances[i]);
  }
  const std::vector<std::int64_t> displayed = largest_clusters(counts, kMaxHistograms);
  const double bottom = 10 + kRow * static_cast<double>(displayed.size());
  Canvas canvas(480, bottom + 42);
  const Scale x{0, reach, 48, 466};
  draw_frame(canvas, x, {0, 1, bottom, 10}, {"distance to the centroid", "", 6, 0});
  std::int64_t nearest = -1, widest = -1;
  for (std::size_t i = 0; i < displayed.size(); ++i) {
    const std::int64_t c = displayed[i];
    Histogram& histogram = histograms[c];
    if (histogram.sorted.empty()) continue;
    std::sort(histogram.sorted.begin(), histogram.sorted.end());
    if (nearest < 0 || histogram.median() < histograms[nearest].median()) nearest = c;
    if (widest < 0 || histogram.median() > histograms[widest].median()) widest = c;
    const double base = 10 + kRow * static_cast<double>(i + 1);
    const double highest = static_cast<double>(*std::max_element(histogram.rows.begin(), histogram.rows.end()));
    std::string data = fmt::format("M{} {}", coordinate(x(0)), coordinate(base));
    for (int bin = 0; bin < kBins; ++bin) {
      const double height = (kRow - 4) * static_cast<double>(histogram.rows[bin]) / highest;
      data += fmt::format("V{}H{}", coordinate(base - height), coordinate(x(reach * (bin + 1) / kBins)));
    }
    canvas.path(data + fmt::format("V{}z", coordinate(base)), colour_of(c));
    const double middle = x(histogram.median());
    canvas.line({middle, base}, {middle, base - kRow + 4}, "mark");
    canvas.text({42, base - 6}, std::to_string(c), "end");
  }
  std::string caption = fmt::format("Euclidean distances; the largest is {}.", display(most));
  if (nearest >= 0) {
    caption += fmt::format(
        " The rows of cluster {} lie nearest to their centroid, with a median of {}, those of cluster {} farthest, "
        "with {}. Dashed: the medians. Each histogram has its own height.",
        nearest, display(histograms[nearest].median()), widest, display(histograms[widest].median()));
  }
  return {"distances", "Distances to the centroids", caption + note_on_clusters(displayed.size(), counts), canvas};
}

Picture silhouettes(std::span<const float> values, std::span<const std::int32_t> labels,
                    const std::vector<std::int64_t>& counts, const std::string& kind) {
  constexpr std::size_t kMaxBars = 60;
  constexpr double kHeight = 360.0, kGap = 3.0;
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

Picture tiles(MatrixView<const double> centroids, const TileShape& shape, const std::vector<std::int64_t>& counts) {
  constexpr std::size_t kMaxTiles = 100;
  constexpr double kWidth = 480.0, kMargin = 8.0, kLine = 18.0;
  const std::vector<std::int64_t> clusters = largest_clusters(counts, kMaxTiles);
  double low = INFINITY, high = -INFINITY;
  for (const std::int64_t c : clusters) {
    const auto [least, most] = std::minmax_element(centroids.row(c).begin(), centroids.row(c).end());
    low = std::min(low, *least);
    high = std::max(high, *most);
  }
  const double scale = high > low ? 255.0 / (high - low) : 0.0;
  const std::size_t across = clusters.size() <= 20 ? 5 : 10;
  const double width = (kWidth - kMargin) / static_cast<double>(across) - kMargin;
  const double height = width * static_cast<double>(shape.rows) / static_cast<double>(shape.columns);
  const std::size_t lines = (clusters.size() + across - 1) / across;
  Canvas canvas(kWidth, kMargin + (height + kLine + kMargin) * static_cast<double>(lines));
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    std::vector<std::uint8_t> grey;
    for (const double value : centroids.row(clusters[i])) {
      grey.push_back(static_cast<std::uint8_t>(std::lround((value - low) * scale)));
    }
    const double x = kMargin + (width + kMargin) * static_cast<double>(i % across);
    const double y = kMargin + (height + kLine + kMargin) * static_cast<double>(i / across);
    canvas.image({x, y, width, height},
                 image_address({.size = {shape.columns, shape.rows}, .pixels = grey, .channels = 1}));
    canvas.text({x + width / 2, y + height + 14}, std::to_string(clusters[i]), "middle");
  }
  const std::string caption = fmt::format(
      "Centroids as images of {} x {} values, row by row: black is {}, white {}. Below each image is the number of "
      "its cluster.",
      shape.rows, shape.columns, display(low), display(high));
  return {"tiles", "Centroids as images", caption + note_on_clusters(clusters.size(), counts), canvas};
}

}  // namespace kith::pictures
