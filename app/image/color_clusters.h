// The k-means of kith image: colours, weighted by their pixels, or visible pixels with their positions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/image/image_options.h"
#include "app/image/palette_file.h"
#include "app/run/job.h"
#include "core/kmeans/kmeans.h"
#include "kernels/cpu/picture/distinct_colors.h"

namespace kith::app {

/// A palette, from the most frequent colour on unless it was given. The labels of the result are numbers of its
/// colours.
struct ColorClusters {
  std::vector<PaletteColor> palette;
  KMeansResult result;
};

/// (size, 3) the colours in this space.
Matrix<float> color_rows(const cpu::ColorCounts& colors, ColorSpace space, Threads& threads);

/// (visible pixels, 5) colour and position; the longer side counts as `weight` times the range of lightness.
Matrix<float> pixel_rows(std::span<const Pixel> pixels, PictureSize size, ColorSpace space, double weight);

/// Clusters rows of color_rows() with their counts, or of pixel_rows() with none. given: a palette whose nearest
/// colours are taken. name: of the picture, for warnings.
ColorClusters cluster_colors(const Matrix<float>& rows, const std::vector<double>& counts,
                             const std::vector<Pixel>& given, const ImageOptions& options, const std::string& name,
                             Backend& backend, Observer& observer);

}  // namespace kith::app
