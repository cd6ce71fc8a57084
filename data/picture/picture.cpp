// Reads a picture file: its format, the check of its size, and its orientation.
#include "data/picture/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/quoted.h"
#include "data/picture/decoders.h"

namespace kith::data {
namespace {

Error unknown_picture(const std::string& file, std::string_view head) {
  const bool is_drawing = head.starts_with("<svg");  // a text, which no signature of a file distinguishes
  const std::string convert = is_drawing ? "convert IN OUT.png" : conversion_of_bytes(head);
  if (convert.ends_with(" OUT.png")) {
    return {ExitCode::data, fmt::format("{}: expected a PNG, JPEG or PNM picture, found {}; convert it: {}",
                                        quoted(file), is_drawing ? "an SVG drawing" : describe_bytes(head), convert)};
  }
  return {ExitCode::data, fmt::format("{}: expected a PNG, JPEG or PNM picture, found {}; convert it to one of these "
                                      "formats",
                                      quoted(file), describe_bytes(head))};
}

}  // namespace

Error PictureBytes::damaged(const char* format, std::size_t at, const std::string& reason) const {
  return {ExitCode::data, fmt::format("{}: expected an undamaged {} picture, found an error at byte {} of {}: {}; "
                                      "copy the file again",
                                      quoted(name), format, std::min(at, bytes.size()), bytes.size(), quoted(reason))};
}

void PictureBytes::check_size(const char* format, PictureSize size, double most) const {
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 31;
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::data, fmt::format("{}: the {} header states {} x {} pixels, but {}", quoted(name), format,
                                            size.width, size.height, why));
  };
  if (size.width < 1 || size.height < 1) refuse("expected at least 1 x 1");
  if (size.height > kMostPixels / size.width) refuse(fmt::format("kith reads at most {} pixels", kMostPixels));
  if (static_cast<double>(size.pixels()) > most) {
    refuse(
        fmt::format("the {} bytes of the file cannot hold more than {:.0f}; the file is cut off, or made to "
                    "exhaust the memory",
                    bytes.size(), std::floor(std::max(most, 0.0))));
  }
  on_size(size);
}

int exif_orientation(std::span<const unsigned char> tiff) {
  constexpr std::size_t kEntry = 12;
  constexpr unsigned kOrientation = 0x112;
  if (tiff.size() < 10 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= std::size_t{tiff[at + i]} << 8 * (tiff[0] == 'I' ? i : bytes - 1 - i);
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (directory > tiff.size() - 2) return 1;
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0, at = directory + 2; i < entries && at + kEntry <= tiff.size(); ++i, at += kEntry) {
    if (number(at, 2) != kOrientation) continue;
    const std::size_t value = number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void orient(Picture& picture, int orientation) {
  if (orientation == 1) return;
  const auto [width, height] = picture.size;
  const bool swaps = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const PictureSize size = swaps ? PictureSize{height, width} : picture.size;
  std::vector<Pixel> out(picture.pixels.size());
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      const std::int64_t column = swaps ? y : x, row = swaps ? x : y;
      out[y * size.width + x] =
          picture.pixels[(from_below ? height - 1 - row : row) * width + (from_right ? width - 1 - column : column)];
    }
  }
  picture.pixels = std::move(out);
  picture.size = size;
}

Picture read_picture(const std::string& file, const std::function<void(PictureSize)>& on_size) {
  const InputBytes input = InputBytes::open(file, "a picture");
  const std::string head = input.begin(8);
  const bool is_png = head == "\x89PNG\r\n\x1a\n", is_jpeg = head.starts_with("\xff\xd8\xff");
  const bool is_pnm = head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6';
  if (!is_png && !is_jpeg && !is_pnm) throw unknown_picture(file, input.begin(64));
  std::vector<unsigned char> bytes(static_cast<std::size_t>(input.size()));
  input.read(0, input.size(), reinterpret_cast<std::byte*>(bytes.data()));
  input.check_unchanged();
  const PictureBytes in{file, bytes, on_size};
  return is_png ? decode_png(in) : is_jpeg ? decode_jpeg(in) : decode_pnm(in);
}

}  // namespace kith::data
