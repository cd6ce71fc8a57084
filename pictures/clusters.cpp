// Charts with a bar, a histogram, a blade or an image for each cluster.
//
// P. J. Rousseeuw: Silhouettes: a graphical aid to the interpretation and validation of cluster analysis (1987).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMostClusters = 16, kShownOfMany = 12;  // see shown_clusters()

std::string caption_of(const std::vector<std::int64_t>& counts, std::int64_t rows) {
  const auto [smallest, largest] = std::minmax_element(counts.begin(), counts.end());
  const auto empty = std::count(counts.begin(), counts.end(), 0);
  return fmt::format(
      "{} rows in {} {}, {} on average. The largest is cluster {} with {} rows, the smallest cluster {} with {}; {} "
      "empty.",
      rows, counts.size(), counts.size() == 1 ? "cluster" : "clusters",
      display(static_cast<double>(rows) / static_cast<double>(counts.size())), largest - counts.begin(), *largest,
      smallest - counts.begin(), *smallest,
      empty == 0 ? "none is" : fmt::format("{} {}", empty, empty == 1 ? "is" : "are"));
}

/// The width that the numbers of these clusters take, or the word for all others.
double left_of(const std::vector<std::int64_t>& clusters, bool has_others) {
  double widest = has_others ? text_width("others") : 0.0;
  for (const std::int64_t c : clusters) widest = std::max(widest, text_width(std::to_string(c)));
  return widest + 10.0;
}

Canvas bars(const std::vector<std::int64_t>& counts, std::int64_t rows) {
  const double bar = std::clamp(280.0 / static_cast<double>(counts.size()), 18.0, 34.0);  // height with its spacing
  const auto label = [&](std::int64_t count) {
    return fmt::format("{} ({:.1f} %)", count,
                       100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(rows, 1)));
  };
  const std::int64_t largest = *std::max_element(counts.begin(), counts.end());
  const double left = text_width(std::to_string(counts.size() - 1)) + 10.0;
  const double full = kChartWidth - left - 12.0 - text_width(label(largest), Letters::small);
  Canvas canvas(kChartWidth, 16 + bar * static_cast<double>(counts.size()));
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const double y = 8 + bar * static_cast<double>(c), middle = y + bar / 2 + 4.5;
    const double length =
        full * static_cast<double>(counts[c]) / static_cast<double>(std::max<std::int64_t>(largest, 1));
    canvas.text({left - 6, middle}, std::to_string(c), "end");
    canvas.box({left, y + 2, length, bar - 4}, colour_of(static_cast<std::int64_t>(c)));
    canvas.text({left + length + 6, middle}, label(counts[c]), "small soft");
  }
  return canvas;
}

Canvas sorted_curve(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end(), std::greater<>());
  Canvas canvas(kChartWidth, 290);
  const Scale y{0, 1.05 * static_cast<double>(std::max<std::int64_t>(counts.front(), 1)), 246, 26};
  const Scale x{0, static_cast<double>(counts.size()), pictures::left_of(y, 5), kChartRight};
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
  std::vector<float> sorted{};
  float median() const { return sorted[(sorted.size() - 1) / 2]; }
};

/// What a chart draws one below the other: the clusters that are shown one by one, then, if there are more, all others.
struct Lines {
  explicit Lines(const std::vector<std::int64_t>& counts)
      : clusters(shown_clusters(counts)), of_cluster(counts.size()) {
    std::fill(of_cluster.begin(), of_cluster.end(), clusters.size());
    for (std::size_t i = 0; i < clusters.size(); ++i) of_cluster[static_cast<std::size_t>(clusters[i])] = i;
    std::int64_t shown_rows = 0, rows = 0;
    for (const std::int64_t c : clusters) shown_rows += counts[static_cast<std::size_t>(c)];
    for (const std::int64_t count : counts) rows += count;
    has_others = shown_rows < rows;
  }
  std::size_t size() const { return clusters.size() + (has_others ? 1 : 0); }
  std::string label(std::size_t line) const {
    return line < clusters.size() ? std::to_string(clusters[line]) : "others";
  }
  std::string colour(std::size_t line) const { return colour_of(line < clusters.size() ? clusters[line] : kOthers); }

  std::vector<std::int64_t> clusters;
  std::vector<std::size_t> of_cluster;  // (k) the line of each
  bool has_others = false;
};

double mean_of(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

std::string percent(std::int64_t part, std::int64_t all) {
  return fmt::format("{:.1f} %",
                     100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(all, 1)));
}

}  // namespace

Picture sizes(const std::vector<std::int64_t>& counts) {
  const std::int64_t rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return {"sizes", "Sizes of the clusters", caption_of(counts, rows),
          counts.size() <= kMostClusters ? bars(counts, rows) : sorted_curve(counts)};
}

std::vector<std::int64_t> shown_clusters(const std::vector<std::int64_t>& counts) {
  const auto with_rows = counts.size() - static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 0));
  return largest_clusters(counts, with_rows <= kMostClusters ? kMostClusters : kShownOfMany);
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
  return shown < with_rows ? fmt::format("The {} largest of {} clusters.", shown, with_rows) : "";
}

Picture distances(std::span<const float> distances, std::span<const std::int32_t> labels,
                  const std::vector<std::int64_t>& counts) {
  const float most = *std::max_element(distances.begin(), distances.end());
  const double reach = most > 0 ? most : 1.0;
  const Lines lines(counts);
  std::vector<Histogram> histograms(lines.clusters.size() + 1);  // the last: of all others
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    Histogram& histogram = histograms[lines.of_cluster[static_cast<std::size_t>(labels[i])]];
    ++histogram.rows[std::min(static_cast<int>(kBins * (distances[i] / reach)), kBins - 1)];
    histogram.sorted.push_back(distances[i]);
  }
  const double row = std::clamp(290.0 / static_cast<double>(lines.size()), 22.0, 90.0);
  const double bottom = 10 + row * static_cast<double>(lines.size());
  Canvas canvas(kChartWidth, bottom + 42);
  const Scale x{0, reach, left_of(lines.clusters, lines.has_others), kChartRight};
  draw_frame(canvas, x, {0, 1, bottom, 10}, {"distance to the centroid", "", 6, 0});
  std::optional<std::size_t> nearest, widest;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Histogram& histogram = histograms[i];
    if (histogram.sorted.empty()) continue;
    std::sort(histogram.sorted.begin(), histogram.sorted.end());
    if (i < lines.clusters.size()) {
      if (!nearest || histogram.median() < histograms[*nearest].median()) nearest = i;
      if (!widest || histogram.median() > histograms[*widest].median()) widest = i;
    }
    const double base = 10 + row * static_cast<double>(i + 1);
    const double highest = static_cast<double>(*std::max_element(histogram.rows.begin(), histogram.rows.end()));
    std::string data = fmt::format("M{} {}", coordinate(x(0)), coordinate(base));
    for (int bin = 0; bin < kBins; ++bin) {
      const double height = (row - 4) * static_cast<double>(histogram.rows[bin]) / highest;
      data += fmt::format("V{}H{}", coordinate(base - height), coordinate(x(reach * (bin + 1) / kBins)));
    }
    canvas.path(data + fmt::format("V{}z", coordinate(base)), lines.colour(i));
    const double middle = x(histogram.median());
    canvas.line({middle, base}, {middle, base - row + 4}, "mark");
    canvas.text({x.from - 6, base - row / 2 + 5}, lines.label(i), "end");
  }
  std::string caption = fmt::format(
      "How far the rows are from the centroid of their cluster: more rows where a histogram is higher, each on a scale "
      "of its own. Dashed: the medians. The largest Euclidean distance is {}.",
      display(most));
  if (nearest) {
    caption += fmt::format(
        " The rows of cluster {} lie nearest to their centroid, with a median of {}, those of cluster {} farthest, "
        "with {}.",
        lines.clusters[*nearest], display(histograms[*nearest].median()), lines.clusters[*widest],
        display(histograms[*widest].median()));
  }
  return {"distances", "Distances to the centroids", caption, canvas, note_on_clusters(lines.clusters.size(), counts)};
}

Picture silhouettes(const Silhouettes& scored, const std::vector<std::int64_t>& counts) {
  constexpr double kHeight = 290.0, kGap = 3.0, kLeast = 13.0;
  constexpr std::int64_t kFew = 4;  // rows of a sample for each cluster that is shown; fewer say nothing about it
  Lines lines(counts);
  std::vector<std::vector<float>> blades(lines.clusters.size() + 1);  // the last: of all others
  double lowest = 0.0;
  std::vector<float> all;
  std::int64_t negative = 0, of_shown = 0;
  for (std::size_t i = 0; i < scored.labels.size(); ++i) {
    if (scored.labels[i] < 0) continue;
    const std::size_t line = lines.of_cluster[static_cast<std::size_t>(scored.labels[i])];
    const float value = scored.values[i];
    blades[line].push_back(value);
    all.push_back(value);
    of_shown += line < lines.clusters.size() ? 1 : 0;
    negative += value < 0.0F ? 1 : 0;
    lowest = std::min(lowest, static_cast<double>(value));
  }
  const auto rows = static_cast<std::int64_t>(all.size());
  const double mean = mean_of(all);
  const bool is_one = scored.is_sample && of_shown < kFew * std::ssize(lines.clusters);
  if (is_one) blades.assign(1, all);
  const auto filled = static_cast<double>(
      std::count_if(blades.begin(), blades.end(), [](const auto& blade) { return !blade.empty(); }));
  // Every blade is high enough for its number; what is left of the height is shared by their rows.
  const double row_height =
      std::max(kHeight - (kLeast + kGap) * filled, 0.0) / static_cast<double>(std::max<std::int64_t>(rows, 1));
  const double bottom = 10 + std::max(kHeight, (kLeast + kGap) * filled);
  Canvas canvas(kChartWidth, bottom + 42);
  const Scale x{std::max(-1.0, lowest < 0.0 ? lowest - 0.05 : 0.0), 1.0,
                is_one ? text_width("all") + 10.0 : left_of(lines.clusters, lines.has_others), kChartRight};
  draw_frame(canvas, x, {0, 1, bottom, 10}, {"silhouette", "", 6, 0});
  double top = 10;
  std::optional<std::size_t> best, worst;
  std::vector<double> means(blades.size(), 0.0);
  for (std::size_t i = 0; i < blades.size(); ++i) {
    std::vector<float>& blade = blades[i];
    if (blade.empty()) continue;
    std::sort(blade.begin(), blade.end(), std::greater<>());
    means[i] = mean_of(blade);
    if (!is_one && i < lines.clusters.size()) {
      if (!best || means[i] > means[*best]) best = i;
      if (!worst || means[i] < means[*worst]) worst = i;
    }
    const double height = kLeast + row_height * static_cast<double>(blade.size());
    const auto steps = std::clamp<std::size_t>(static_cast<std::size_t>(2 * height), 2, 400);
    std::vector<Point> points{{x(0), top}};
    for (std::size_t j = 0; j < steps; ++j) {
      const double share = static_cast<double>(j) / static_cast<double>(steps - 1);
      const auto at = static_cast<std::size_t>(std::llround(share * static_cast<double>(blade.size() - 1)));
      points.push_back({x(blade[at]), top + share * height});
    }
    points.push_back({x(0), top + height});
    canvas.path(line_through(points) + "z", is_one ? colour_of(0) : lines.colour(i));
    canvas.text({x.from - 6, top + height / 2 + 4.5}, is_one ? "all" : lines.label(i), "end");
    top += height + kGap;
  }
  canvas.line({x(mean), 10}, {x(mean), bottom}, "mark");
  std::string caption = fmt::format(
      "How well the rows fit their clusters, the best row of each cluster first: near 1 a row is far from all other "
      "clusters, near 0 it lies between two, and below 0 another cluster is nearer. The mean silhouette is {:.4f} "
      "(dashed). {} of {} rows ({}) {} below 0.",
      mean, negative, rows, percent(negative, rows), negative == 1 ? "is" : "are");
  if (best && *best != *worst) {
    caption += fmt::format(" Cluster {} is set apart best, with a mean of {:.3f}, cluster {} least, with {:.3f}.",
                           lines.clusters[*best], means[*best], lines.clusters[*worst], means[*worst]);
  }
  const std::string note = is_one ? "" : note_on_clusters(lines.clusters.size(), counts);
  return {"silhouettes", "Silhouettes", caption, canvas,
          scored.source + (scored.source.empty() || note.empty() ? "" : " ") + note};
}

Picture tiles(MatrixView<const double> centroids, const TileShape& shape, const std::vector<std::int64_t>& counts) {
  constexpr std::size_t kMaxTiles = 100;
  constexpr double kWidth = kChartWidth, kMargin = 8.0, kLine = 18.0;
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
  return {"tiles", "Centroids as images", caption, canvas, note_on_clusters(clusters.size(), counts)};
}

}  // namespace kith::pictures
