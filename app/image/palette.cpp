// Reads and writes palettes, and clusters the colours of pictures.
#include "app/image/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/run/results.h"
#include "core/points/data_plan.h"
#include "core/points/weights.h"
#include "data/io/input_bytes.h"
#include "data/io/location.h"
#include "data/io/utf8.h"
#include "data/picture/picture.h"
#include "data/reading.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

constexpr std::int64_t kMostText = 1 << 24;  // bytes of a palette in text
constexpr std::string_view kGimp = "GIMP Palette";

Pixel color_of(unsigned red, unsigned green, unsigned blue) {
  const auto wide = [](unsigned v) { return static_cast<std::uint16_t>(v * 257); };
  return {wide(red), wide(green), wide(blue), 65535};
}
int byte_of(std::uint16_t value) { return value >> 8; }

/// Lines "#rrggbb ..." or, in a GIMP palette, "r g b ...".
std::vector<Pixel> parse_palette(const std::string& text, const std::string& name) {
  const bool is_gimp = text.starts_with(kGimp);
  std::vector<Pixel> colors;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    unsigned red = 0, green = 0, blue = 0;
    if (is_gimp) {
      if (number == 1 || line.empty() || line[0] == '#' || line.starts_with("Name:") || line.starts_with("Columns:")) {
        continue;
      }
      std::istringstream words(line);
      if (words >> red >> green >> blue && red < 256 && green < 256 && blue < 256) {
        colors.push_back(color_of(red, green, blue));
        continue;
      }
    } else {
      if (line.empty()) continue;
      if (line[0] == '#' && line.size() >= 7 && line.find_first_not_of("0123456789abcdefABCDEF", 1) >= 7 &&
          (line.size() == 7 || line[7] == ' ' || line[7] == '\t')) {
        const auto value = static_cast<unsigned>(std::stoul(line.substr(1, 6), nullptr, 16));
        colors.push_back(color_of(value >> 16, value >> 8 & 255U, value & 255U));
        continue;
      }
    }
    throw Error(ExitCode::data,
                fmt::format("{}: line {}: expected {}, found '{}'", quoted(name), number,
                            is_gimp ? "three numbers from 0 to 255" : "a colour such as #1a2b3c", quoted(line, 40)));
  }
  return colors;
}

std::vector<Pixel> matrix_palette(const std::string& location) {
  const auto source = data::open_points(location, {.precision = data::Precision::f64});
  if (source->columns() != 3) {
    throw Error(ExitCode::data, fmt::format("{}: expected colours, k x 3 values from 0 to 255, found {} x {}",
                                            source->name(), source->rows(), source->columns()));
  }
  data::Reading reading(*source);
  reading.wait_for(source->rows());
  const auto values = std::get<MatrixView<const double>>(reading.values());
  std::vector<Pixel> colors;
  for (std::int64_t i = 0; i < values.rows; ++i) {
    for (const double value : values.row(i)) {
      if (value >= 0.0 && value <= 255.0 && std::rint(value) == value) continue;
      throw Error(ExitCode::data,
                  fmt::format("{}: row {} (counted from 1): expected whole numbers from 0 to 255, found {}",
                              source->name(), i + 1, value));
    }
    const auto channel = [&](int j) { return static_cast<unsigned>(values(i, j)); };
    colors.push_back(color_of(channel(0), channel(1), channel(2)));
  }
  return colors;
}

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

/// A square for each colour, in lines of eight or, if there are many, in as many lines as columns; what remains of the
/// last line is transparent.
void write_swatches(const std::string& path, const data::OutputOptions& options,
                    const std::vector<PaletteColor>& palette) {
  constexpr std::int64_t kLeastColumns = 8, kSide = 64, kSmallSide = 8, kFewColors = 1024;
  const auto colors = std::ssize(palette);
  const auto square = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(colors))));
  const std::int64_t columns = std::min(colors, std::max(square, kLeastColumns));
  const std::int64_t side = colors <= kFewColors ? kSide : kSmallSide;
  const PictureSize size{.width = columns * side, .height = (colors + columns - 1) / columns * side};
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(4 * size.pixels()), 0);
  std::uint8_t* next = pixels.data();
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x, next += 4) {
      const std::int64_t at = y / side * columns + x / side;
      if (at >= colors) continue;
      const Pixel& color = palette[static_cast<std::size_t>(at)].color;
      next[0] = static_cast<std::uint8_t>(byte_of(color.red));
      next[1] = static_cast<std::uint8_t>(byte_of(color.green));
      next[2] = static_cast<std::uint8_t>(byte_of(color.blue));
      next[3] = 255;
    }
  }
  data::PngPicture picture{size};
  picture.pixels = pixels;
  picture.channels = 4;
  data::write_png(path, options, picture);
}

}  // namespace

std::string hex_of(const Pixel& color) {
  return fmt::format("#{:02x}{:02x}{:02x}", byte_of(color.red), byte_of(color.green), byte_of(color.blue));
}

double share_of(const PaletteColor& entry, const std::vector<PaletteColor>& palette) {
  std::int64_t all = 0;
  for (const PaletteColor& other : palette) all += other.pixels;
  return all > 0 ? static_cast<double>(entry.pixels) / static_cast<double>(all) : 0.0;
}

std::vector<std::string> palette_endings() { return {".txt", ".gpl", ".h5", ".png"}; }

/// The colours of a picture of squares, in the order of its pixels.
static std::vector<Pixel> picture_palette(const std::string& file) {
  constexpr std::size_t kMostColors = 1024;
  std::vector<Pixel> colors;
  for (const Pixel& pixel : data::read_picture(file, [](PictureSize) {}).pixels) {
    if (pixel.alpha == 0 || (!colors.empty() && colors.back() == pixel)) continue;
    if (std::find(colors.begin(), colors.end(), pixel) == colors.end()) colors.push_back(pixel);
    if (colors.size() <= kMostColors) continue;
    throw Error(ExitCode::data, fmt::format("{}: expected a picture of squares with at most {} colours, found more; to "
                                            "find few, kith image {} -k 8 --palette colors.gpl",
                                            quoted(file), kMostColors, shell_word(file)));
  }
  return colors;
}

std::vector<Pixel> read_palette(const std::string& location) {
  const std::string file = data::parse_location(location).file;
  const data::InputBytes input = data::InputBytes::open(file, "a palette");
  const std::string head = input.begin(16);
  std::vector<Pixel> colors;
  if (head.starts_with(kGimp) || head.starts_with("#")) {
    if (input.size() > kMostText) {
      throw Error(ExitCode::data, fmt::format("{}: expected a palette of at most {} bytes, found {}", quoted(file),
                                              kMostText, input.size()));
    }
    colors = parse_palette(input.begin(input.size()), file);
  } else if (head.starts_with("\x89PNG") || head.starts_with("\xff\xd8\xff")) {
    colors = picture_palette(file);
  } else {
    colors = matrix_palette(location);
  }
  if (colors.empty())
    throw Error(ExitCode::data, fmt::format("{}: expected a colour or more, found none", quoted(file)));
  return colors;
}

void write_palette(const std::string& path, const data::OutputOptions& options, const std::string& command,
                   const std::vector<PaletteColor>& palette) {
  if (path.ends_with(".h5")) {
    data::ResultFile file(path, options);
    write_origin(file, "kith-palette", command);
    Matrix<std::uint8_t> colors(std::ssize(palette), 3);
    std::vector<std::int64_t> counts;
    for (std::int64_t i = 0; i < colors.rows(); ++i) {
      const Pixel& color = palette[i].color;
      colors(i, 0) = static_cast<std::uint8_t>(byte_of(color.red));
      colors(i, 1) = static_cast<std::uint8_t>(byte_of(color.green));
      colors(i, 2) = static_cast<std::uint8_t>(byte_of(color.blue));
      counts.push_back(palette[i].pixels);
    }
    file.create_matrix<std::uint8_t>("colors", colors.rows(), 3);
    file.write_rows<std::uint8_t>("colors", 0, std::as_const(colors).view());
    file.dataset("counts", std::span<const std::int64_t>(counts));
    return file.finish();
  }
  if (path.ends_with(".png")) return write_swatches(path, options, palette);
  const bool is_gimp = path.ends_with(".gpl");
  std::string text = is_gimp ? fmt::format("{}\nName: kith\n#\n", kGimp) : "";
  for (const PaletteColor& entry : palette) {
    const Pixel& color = entry.color;
    const std::string share = fmt::format("{:.6f}", share_of(entry, palette));
    text += is_gimp ? fmt::format("{:3} {:3} {:3}\t{} {}\n", byte_of(color.red), byte_of(color.green),
                                  byte_of(color.blue), hex_of(color), share)
                    : fmt::format("{} {} {}\n", hex_of(color), share, entry.pixels);
  }
  data::write_text_file(path, options, text);
}

std::string palette_table(const std::vector<PaletteColor>& palette) {
  std::string out = color_block(0, 0, 0).empty() ? "" : "     ";
  out += "color  value      pixels  share\n";
  for (std::size_t i = 0; i < palette.size(); ++i) {
    const Pixel& color = palette[i].color;
    out += color_block(byte_of(color.red), byte_of(color.green), byte_of(color.blue));
    out += fmt::format("{:>5}  {} {:>9}  {:5.1f} %\n", i, hex_of(color), palette[i].pixels,
                       100.0 * share_of(palette[i], palette));
  }
  return out;
}

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

ColorSpace color_space(const ImageOptions& options) {
  return options.space == "lab" ? ColorSpace::lab : options.space == "linear" ? ColorSpace::linear : ColorSpace::srgb;
}

}  // namespace kith::app
