// What kith image writes: the names of its pictures, the pictures themselves, and the page that shows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/image/palette.h"
#include "data/io/output_file.h"
#include "data/picture/picture.h"

namespace kith::app {

/// Where the pictures are written.
struct ImageTarget {
  std::string folder = {};              // to be made if it is missing; empty: one file
  std::vector<std::string> names = {};  // one for each picture
};

/// One picture is written to the file `target`; several, or one if `target` is a folder or ends with a slash, to
/// NAME.png in that folder. Throws Error(usage) if two pictures would have the same name, or for a folder that has the
/// name of a PNG file.
ImageTarget image_target(const std::string& target, const std::vector<std::string>& pictures);
/// Throws Error(output) unless every picture can be written. Before the first one is read.
void check_image_target(const ImageTarget& target, const data::OutputOptions& options);
/// Makes the folder if it is missing. Throws Error(output).
void make_folder(const ImageTarget& target);

/// A picture whose pixels have these colours: with a palette if there are at most 256 and no partly transparent pixels,
/// else with 8 bits per channel. labels: (n), -1: transparent. Throws Error(output).
void write_reduced(const std::string& path, const data::OutputOptions& options, const data::Picture& picture,
                   std::span<const std::int32_t> labels, const std::vector<Pixel>& colors);

/// Collects what the page shows while the pictures are in memory.
class ImagePage {
 public:
  /// A page with so many pictures, each with its own palette or all with one.
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
