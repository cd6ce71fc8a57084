// The page of kith image: pictures before and after, palettes, and the error of the colours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/image/palette_file.h"
#include "data/picture/picture.h"
#include "kernels/cpu/picture/distinct_colors.h"

namespace kith::app {

/// Collects what the page shows while the pictures are in memory.
class ImagePage {
 public:
  /// Of a page with so many pictures, each with its own palette or all with one.
  ImagePage(std::size_t pictures, bool has_common_palette) : pictures_(pictures), is_common_(has_common_palette) {}

  /// A picture whose pixels have these labels. error: in CIELAB, the root of the mean square.
  struct Entry {
    std::string name;
    const data::Picture& picture;
    std::int64_t colors = 0;  // distinct ones before
    double error = 0.0;
  };
  /// labels and drawn: as drawn, with borders.
  void add(const Entry& entry, std::span<const std::int32_t> labels, const std::vector<Pixel>& drawn,
           const std::vector<PaletteColor>& palette, Threads& threads);

  /// The page as HTML. palette: of all pictures if they have one; command: as stored in results.
  std::string html(const std::vector<PaletteColor>& palette, const std::string& command) const;

 private:
  struct Shown {
    std::string name, format;
    PictureSize size, small;
    std::int64_t pixels = 0, colors = 0;
    double error = 0.0;
    std::string before, after;            // PNG data URLs; empty: too many pictures to show them all
    std::vector<PaletteColor> palette{};  // its own
  };

  std::size_t pictures_;
  bool is_common_;
  std::vector<Shown> shown_;
};

}  // namespace kith::app
