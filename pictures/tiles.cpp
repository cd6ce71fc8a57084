// Centroids of image data as grey images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pictures/pictures.h"
#include "pictures/png.h"

namespace kith::pictures {
namespace {

constexpr std::size_t kMaxTiles = 100;
constexpr double kWidth = 480.0, kMargin = 8.0, kLine = 18.0;

}  // namespace

Picture tiles(MatrixView<const double> centroids, const TileShape& shape, const std::vector<std::int64_t>& counts) {
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
    Matrix<std::uint8_t> grey(shape.rows, shape.columns);
    const auto values = centroids.row(clusters[i]);
    std::transform(values.begin(), values.end(), grey.data(),
                   [&](double value) { return static_cast<std::uint8_t>(std::lround((value - low) * scale)); });
    const double x = kMargin + (width + kMargin) * static_cast<double>(i % across);
    const double y = kMargin + (height + kLine + kMargin) * static_cast<double>(i / across);
    canvas.image({x, y, width, height}, data_address(grey_png(grey.view())));
    canvas.text({x + width / 2, y + height + 14}, std::to_string(clusters[i]), "middle");
  }
  const std::string caption = fmt::format(
      "Centroids as images of {} x {} values, row by row: black is {}, white {}. Below each image is the number of "
      "its cluster.",
      shape.rows, shape.columns, display(low), display(high));
  return {"tiles", "Centroids as images", caption + note_on_clusters(clusters.size(), counts), canvas};
}

}  // namespace kith::pictures
