// A pixel, and the size of a picture.
#pragma once

#include <cstdint>

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

}  // namespace kith
