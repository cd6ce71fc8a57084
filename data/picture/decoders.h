// The decoders of the picture formats, and what they share. Private to data/picture/.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/error.h"
#include "data/picture/picture.h"

namespace kith::data {

/// The bytes of a picture file.
struct PictureBytes {
  std::string name;
  std::span<const unsigned char> bytes;
  const std::function<void(PictureSize)>& on_size;

  /// The error of a picture that is damaged at this byte.
  Error damaged(const char* format, std::size_t at, const std::string& reason) const;
  /// Checks a size before memory is allocated. `most`: pixels that this many bytes can hold.
  void check_size(const char* format, PictureSize size, double most) const;
};

/// The orientation, 1 to 8, in EXIF data that begin with the TIFF header; 1 if there is none.
int exif_orientation(std::span<const unsigned char> tiff);
/// Turns and mirrors the picture upright.
void orient(Picture& picture, int orientation);

/// What to say about the ICC profile of a picture; empty if it is that of sRGB. A damaged one has no name.
std::string profile_note(std::span<const unsigned char> profile);

Picture decode_png(const PictureBytes& in);
Picture decode_jpeg(const PictureBytes& in);
Picture decode_pnm(const PictureBytes& in);

}  // namespace kith::data
