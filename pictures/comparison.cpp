// A picture before and after its colours were reduced.
#include <algorithm>

#include "pictures/pictures.h"

namespace kith::pictures {

Picture comparison(const Comparison& images) {
  constexpr double kWidth = 480.0, kLine = 22.0, kGap = 12.0;
  const auto width = static_cast<double>(images.width), height = static_cast<double>(images.height);
  const bool is_wide = images.width >= images.height;
  // Images of few pixels are magnified by a whole number, so that all of their pixels have the same size.
  const double space = is_wide ? kWidth : (kWidth - kGap) / 2.0;
  const double scale =
      images.is_small && width <= space ? static_cast<double>(static_cast<int>(space / width)) : space / width;
  const double across = width * scale, up = std::max(height * scale, 1.0);
  Canvas canvas(kWidth, is_wide ? 2.0 * (kLine + up) + kGap : kLine + up);
  const Point second = is_wide ? Point{0.0, kLine + up + kGap} : Point{space + kGap, 0.0};
  const bool smooth = !images.is_small;
  canvas.text({0.0, 14.0}, "before", "soft");
  canvas.image({0.0, kLine, across, up}, images.before, smooth);
  canvas.text({second.x, second.y + 14.0}, "after", "soft");
  canvas.image({second.x, second.y + kLine, across, up}, images.after, smooth);
  return {images.name, images.title, images.caption, canvas};
}

}  // namespace kith::pictures
