// Colours as points of a space in which they are clustered: sRGB, linear light or CIELAB; and pixels of pictures.
//
// sRGB: IEC 61966-2-1, with its matrix for the white D65. CIELAB: CIE 15, with the white that the matrix gives, so that
// greys have a = b = 0. Roots are computed with additions, multiplications and divisions alone: the same bits
// everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace kith {

/// A pixel in sRGB; 8-bit values v are held as 257 v. alpha 0: transparent, 65535: opaque.
struct Pixel {
  std::uint16_t red = 0, green = 0, blue = 0, alpha = 65535;
  bool operator==(const Pixel&) const = default;
};

struct PictureSize {
  std::int64_t width = 0, height = 0;
  std::int64_t pixels() const { return width * height; }
};

enum class ColorSpace { lab, linear, srgb };
using Color = std::array<double, 3>;  // L, a, b; or red, green, blue from 0 to 1

/// The length of the axis that stands for lightness: 100 for lab, else 1.
inline double lightness_range(ColorSpace space) { return space == ColorSpace::lab ? 100.0 : 1.0; }

/// Converts many pixels of one picture.
class ColorConverter {
 public:
  explicit ColorConverter(ColorSpace space);
  /// alpha is ignored.
  Color operator()(const Pixel& pixel) const;

 private:
  ColorSpace space_;
  std::vector<double> linear_;  // (65536) light of the sRGB values; empty for srgb
};

/// The nearest colour of 8 bits per channel, opaque. Values outside sRGB are clamped.
Pixel to_pixel(const Color& color, ColorSpace space);

}  // namespace kith
