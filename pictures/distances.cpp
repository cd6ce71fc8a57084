// Histograms of the distances between rows and their centroid, one per cluster.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxHistograms = 30;
constexpr int kBins = 48;
constexpr double kRow = 30.0;

struct Histogram {
  std::array<std::int64_t, kBins> rows{};
  std::vector<float> sorted;
  float median() const { return sorted[(sorted.size() - 1) / 2]; }
};

}  // namespace

Picture distances(std::span<const float> distances, std::span<const std::int32_t> labels,
                  const std::vector<std::int64_t>& counts) {
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

}  // namespace kith::pictures
