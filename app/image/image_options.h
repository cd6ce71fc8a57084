// The options of kith image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "core/numbers/color.h"

namespace kith::app {

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

void declare(OptionSet& set, ImageOptions& options);

ColorSpace color_space(const ImageOptions& options);

}  // namespace kith::app
