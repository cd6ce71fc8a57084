// Clusters the colours of pictures.
#include "app/image/color_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/points/data_plan.h"
#include "core/points/weights.h"

namespace kith::app {
namespace {

void put(const ColorConverter& convert, const Pixel& pixel, std::span<float> row) {
  const Color color = convert(pixel);
  for (int j = 0; j < 3; ++j) row[j] = static_cast<float>(color[j]);
}

void count_pixels(ColorClusters& clusters, const std::vector<double>& counts) {
  for (std::size_t i = 0; i < clusters.result.labels.size(); ++i) {
    clusters.palette[clusters.result.labels[i]].pixels += counts.empty() ? 1 : static_cast<std::int64_t>(counts[i]);
  }
}

/// Orders colours and labels by the number of pixels.
void order_by_pixels(ColorClusters& clusters) {
  std::vector<PaletteColor>& palette = clusters.palette;
  std::vector<std::int32_t> order(palette.size()), place(palette.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return palette[a].pixels > palette[b].pixels; });
  std::vector<PaletteColor> ordered;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::int32_t>(i);
    ordered.push_back(palette[order[i]]);
  }
  palette = std::move(ordered);
  for (std::int32_t& label : clusters.result.labels) label = place[label];
}

/// Every colour as a cluster of its own, which k-means would find by a seeding of n^2 steps.
ColorClusters all_colors(const Matrix<float>& rows, const std::vector<double>& counts, ColorSpace space) {
  ColorClusters out;
  out.result.stopped_by = "labels";
  out.result.labels.resize(static_cast<std::size_t>(rows.rows()));
  std::iota(out.result.labels.begin(), out.result.labels.end(), 0);
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const auto row = rows.row(i);
    out.palette.push_back({to_pixel({row[0], row[1], row[2]}, space)});
  }
  count_pixels(out, counts);
  order_by_pixels(out);
  return out;
}

}  // namespace

Matrix<float> color_rows(const cpu::ColorCounts& colors, ColorSpace space, Threads& threads) {
  constexpr std::int64_t kTaskRows = 4096;
  const ColorConverter convert(space);
  Matrix<float> out(colors.size(), 3);
  threads.run((out.rows() + kTaskRows - 1) / kTaskRows, [&](std::int64_t task, int) {
    const std::int64_t last = std::min((task + 1) * kTaskRows, out.rows());
    for (std::int64_t i = task * kTaskRows; i < last; ++i) put(convert, colors.color(i), out.row(i));
  });
  return out;
}

Matrix<float> pixel_rows(std::span<const Pixel> pixels, PictureSize size, ColorSpace space, double weight) {
  const ColorConverter convert(space);
  const double unit = weight * lightness_range(space) / static_cast<double>(std::max(size.width, size.height));
  const auto visible = std::count_if(pixels.begin(), pixels.end(), [](const Pixel& p) { return p.alpha != 0; });
  Matrix<float> out(visible, 5);
  for (std::int64_t i = 0, row = 0; i < size.pixels(); ++i) {
    if (pixels[i].alpha == 0) continue;
    put(convert, pixels[i], out.row(row));
    out(row, 3) = static_cast<float>(unit * static_cast<double>(i % size.width));
    out(row++, 4) = static_cast<float>(unit * static_cast<double>(i / size.width));
  }
  return out;
}

ColorClusters cluster_colors(const Matrix<float>& rows, const std::vector<double>& counts,
                             const std::vector<Pixel>& given, const ImageOptions& options, const std::string& name,
                             Backend& backend, Observer& observer) {
  const ColorSpace space = color_space(options);
  const std::int64_t clusters = given.empty() ? options.colors : std::ssize(given);
  if (given.empty() && clusters > rows.rows()) {
    observer.warning(fmt::format("{} has {} {}, fewer than -k {}; all are kept", name, rows.rows(),
                                 rows.rows() == 1 ? "colour" : "colours", clusters));
    return all_colors(rows, counts, space);
  }
  const Weights weights = counts.empty() ? equal_weights(rows.rows()) : checked_weights(counts, "pixels");
  const auto block = backend.hold({.values = rows.view(), .weights = weights.rows});
  const DataPlan plan = make_plan(*block, weights);
  block->prepare(plan);
  ColorClusters out;
  if (given.empty()) {
    out.result = kmeans(*block, plan, {.clusters = clusters, .seed = options.common.seed}, observer);
    for (std::int64_t c = 0; c < clusters; ++c) {
      const auto centroid = std::as_const(out.result.centroids).row(c);
      out.palette.push_back({to_pixel({centroid[0], centroid[1], centroid[2]}, space)});
    }
  } else {
    const ColorConverter convert(space);
    Matrix<double> centroids(clusters, 3);
    for (std::int64_t c = 0; c < clusters; ++c) {
      const Color color = convert(given[c]);
      std::copy(color.begin(), color.end(), centroids.row(c).begin());
      out.palette.push_back({given[c]});
    }
    out.result = assign_only(*block, plan, std::as_const(centroids).view(), observer);
  }
  count_pixels(out, counts);
  if (given.empty()) order_by_pixels(out);
  return out;
}

}  // namespace kith::app
