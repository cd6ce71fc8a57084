// Reading and writing of palettes.
#include "app/image/palette_file.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "app/run/results.h"
#include "core/quoted.h"
#include "data/io/input_bytes.h"
#include "data/io/location.h"
#include "data/reading.h"
#include "data/results/text_file.h"

namespace kith::app {
namespace {

constexpr std::int64_t kMostText = 1 << 24;  // bytes of a palette in text
constexpr std::string_view kGimp = "GIMP Palette";

Pixel color_of(unsigned red, unsigned green, unsigned blue) {
  const auto wide = [](unsigned v) { return static_cast<std::uint16_t>(v * 257); };
  return {wide(red), wide(green), wide(blue), 65535};
}
int byte_of(std::uint16_t value) { return value >> 8; }

double share_of(const PaletteColor& entry, const std::vector<PaletteColor>& palette) {
  std::int64_t all = 0;
  for (const PaletteColor& other : palette) all += other.pixels;
  return all > 0 ? static_cast<double>(entry.pixels) / static_cast<double>(all) : 0.0;
}

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

}  // namespace

std::string hex_of(const Pixel& color) {
  return fmt::format("#{:02x}{:02x}{:02x}", byte_of(color.red), byte_of(color.green), byte_of(color.blue));
}

std::vector<std::string> palette_endings() { return {".txt", ".gpl", ".h5"}; }

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
  std::string out = "color  value      pixels  share\n";
  for (std::size_t i = 0; i < palette.size(); ++i) {
    out += fmt::format("{:>5}  {} {:>9}  {:5.1f} %\n", i, hex_of(palette[i].color), palette[i].pixels,
                       100.0 * share_of(palette[i], palette));
  }
  return out;
}

}  // namespace kith::app
