// The colours of pictures: palettes, their files, and the k-means that finds them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "core/kmeans/kmeans.h"
#include "core/numbers/color.h"
#include "data/io/output_file.h"
#include "kernels/cpu/picture/colors.h"

namespace kith::app {

/// The options of kith image.
struct ImageOptions {
  std::vector<std::string> pictures;
  std::int64_t colors = 0;
  std::string space = "lab";
  bool dither = false;
  double spatial = 0.0;
  std::string edges = "none";
  bool palette_of_all = false;
  std::string palette, palette_from, labels, page;
  CommonOptions common;

  bool is_sobel() const { return edges == "sobel"; }
  bool has_several() const { return pictures.size() > 1; }
  /// Whether all pictures get the colours of one palette.
  bool has_common_palette() const { return !has_several() || palette_of_all || !palette_from.empty(); }
};

ColorSpace color_space(const ImageOptions& options);

struct PaletteColor {
  Pixel color;
  std::int64_t pixels = 0;
};

/// "#1a2b3c"
std::string hex_of(const Pixel& color);

/// The share of the pixels of a palette, from 0 to 1.
double share_of(const PaletteColor& entry, const std::vector<PaletteColor>& palette);

/// The endings of --palette, for OutputOptions.
std::vector<std::string> palette_endings();

/// Reads the colours of a text file, a GIMP palette, or a matrix of k x 3 values from 0 to 255. Throws Error(data) with
/// the line, and the errors of the readers.
std::vector<Pixel> read_palette(const std::string& location);

/// Writes the colours with their shares; the ending decides: .gpl (GIMP), .h5 (/colors, /counts), .png (a square for
/// each, eight or more in a line), else text.
/// command: as stored in results. Throws Error(output).
void write_palette(const std::string& path, const data::OutputOptions& options, const std::string& command,
                   const std::vector<PaletteColor>& palette);
/// A line for each colour: its number, colour, pixels and share; with color_block() before them.
std::string palette_table(const std::vector<PaletteColor>& palette);

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
