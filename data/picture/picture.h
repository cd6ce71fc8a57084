// Pictures: PNG, JPEG and PNM in, PNG out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/numbers/color.h"
#include "data/io/output_file.h"

namespace kith::data {

/// Rows from the top, pixels from the left, after the orientation that the file stores (EXIF).
struct Picture {
  std::string format;  // "PNG", "JPEG", "PNM"
  PictureSize size = {};
  int bits = 8;            // 8 or 16 per channel
  bool has_alpha = false;  // whether a pixel may be transparent
  std::vector<Pixel> pixels = {};
  std::string note = "";  // on colours that are not those of the file, for a warning; empty: none
};

/// Reads a picture; the content decides the format. `on_size` is called before anything is unpacked, and may throw.
/// Colour profiles are ignored: values are taken as sRGB, with a note. Throws Error(data) with the name and the byte
/// for a file that is no picture, is damaged, or states a size that its bytes cannot hold.
Picture read_picture(const std::string& file, const std::function<void(PictureSize)>& on_size);

/// A picture to write: indices into a palette of at most 256 colours, or pixels of 8 bits.
struct PngPicture {
  PictureSize size;
  std::vector<Pixel> palette = {};             // empty: `pixels` are written
  std::span<const std::uint8_t> indices = {};  // (height x width)
  std::span<const std::uint8_t> pixels = {};   // (height x width x channels)
  int channels = 3;                            // of `pixels`: 1 grey, 3 RGB, 4 RGBA
};
/// The bytes of a PNG file: equal pictures give equal bytes.
std::string encode_png(const PngPicture& picture);
/// The file appears when it is complete. Throws Error(output).
void write_png(const std::string& path, const OutputOptions& options, const PngPicture& picture);

}  // namespace kith::data
