// The colours of a palette and their shares.
#include <fmt/format.h>

#include <algorithm>

#include "pictures/pictures.h"

namespace kith::pictures {

Picture palette(const std::string& name, const std::string& title, const std::vector<Swatch>& swatches) {
  constexpr std::size_t kMaxBars = 40;
  constexpr double kBar = 20.0, kFull = 300.0;  // height of a bar with its spacing, longest bar
  const std::size_t shown = std::min(swatches.size(), kMaxBars);
  Canvas canvas(480, 16 + kBar * static_cast<double>(shown));
  const double most = swatches.empty() ? 1.0 : std::max(swatches.front().share, 1e-9);
  for (std::size_t i = 0; i < shown; ++i) {
    const double y = 8 + kBar * static_cast<double>(i);
    const double length = std::max(kFull * std::min(swatches[i].share / most, 1.0), 4.0);
    canvas.text({34, y + 14}, std::to_string(i), "end");
    canvas.swatch({42, y + 2, length, kBar - 4}, swatches[i].color);
    canvas.text({48 + length, y + 14}, fmt::format("{} {:.1f} %", swatches[i].color, 100.0 * swatches[i].share),
                "small soft");
  }
  std::string caption = fmt::format("{} {}, by their share of the visible pixels.", swatches.size(),
                                    swatches.size() == 1 ? "colour" : "colours");
  if (!swatches.empty()) {
    caption +=
        fmt::format(" The first one is {} with {:.1f} %.", swatches.front().color, 100.0 * swatches.front().share);
  }
  if (shown < swatches.size()) caption += fmt::format(" Shown are the first {}.", shown);
  return {name, title, caption, canvas};
}

}  // namespace kith::pictures
