// PNM pictures: bitmaps, grey maps and pixel maps, as text and binary (P1 to P6).
#include <fmt/format.h>

#include <limits>

#include "data/picture/decoders.h"

namespace kith::data {
namespace {

class PnmReader {
 public:
  explicit PnmReader(const PictureBytes& in) : in_(in) {}

  /// The next number in the text, of any length; one above `most` is refused.
  std::int64_t number(std::int64_t most, const char* what) {
    skip_space();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < in_.bytes.size() && is_digit(in_.bytes[at_]); ++at_) {
      value = value * 10 + (in_.bytes[at_] - '0');
      if (value <= most) continue;
      while (at_ < in_.bytes.size() && is_digit(in_.bytes[at_])) ++at_;
      const std::string digits(in_.bytes.begin() + begin, in_.bytes.begin() + at_);
      throw in_.damaged("PNM", at_, fmt::format("expected {} of at most {}, found {}", what, most, digits));
    }
    if (at_ == begin) throw in_.damaged("PNM", at_, fmt::format("expected {}", what));
    return value;
  }
  /// The next digit of a bitmap as text, in which no space need follow.
  std::int64_t bit() {
    skip_space();
    if (at_ >= in_.bytes.size() || (in_.bytes[at_] != '0' && in_.bytes[at_] != '1')) {
      throw in_.damaged("PNM", at_, "expected 0 or 1");
    }
    return in_.bytes[at_++] - '0';
  }
  /// The white space that ends the header.
  void end_head() {
    if (at_ >= in_.bytes.size() || !is_space(in_.bytes[at_])) {
      throw in_.damaged("PNM", at_, "expected white space after the header");
    }
    ++at_;
  }
  std::size_t left() const { return in_.bytes.size() - at_; }
  std::size_t at() const { return at_; }
  /// The next byte; the caller has checked that there are enough.
  std::uint32_t byte() { return in_.bytes[at_++]; }
  /// Whether anything but white space and comments follows.
  bool has_more() {
    skip_space();
    return at_ < in_.bytes.size();
  }

 private:
  static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
  static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip_space() {
    for (; at_ < in_.bytes.size(); ++at_) {
      if (in_.bytes[at_] == '#') {
        while (at_ < in_.bytes.size() && in_.bytes[at_] != '\n' && in_.bytes[at_] != '\r') ++at_;
        if (at_ == in_.bytes.size()) return;
      } else if (!is_space(in_.bytes[at_])) {
        return;
      }
    }
  }

  const PictureBytes& in_;
  std::size_t at_ = 2;  // after "P6"
};

}  // namespace

Picture decode_pnm(const PictureBytes& in) {
  const int kind = in.bytes[1] - '0';
  const bool is_bitmap = kind == 1 || kind == 4, is_text = kind <= 3;
  const int channels = kind == 3 || kind == 6 ? 3 : 1;
  PnmReader reader(in);
  Picture picture{"PNM"};
  constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
  picture.size.width = reader.number(kMostSize, "a width");
  picture.size.height = reader.number(kMostSize, "a height");
  const auto most = static_cast<std::uint32_t>(is_bitmap ? 1 : reader.number(65535, "a largest value"));
  if (most < 1) throw in.damaged("PNM", reader.at(), "expected a largest value from 1 to 65535, found 0");
  reader.end_head();
  picture.bits = most > 255 ? 16 : 8;
  const auto left = static_cast<double>(reader.left());
  // Text: a digit and a space for each value, but for the last one; the digits of a bitmap need no space.
  const double pixels = kind == 4   ? left * 8.0
                        : kind == 1 ? left
                        : is_text   ? (left + 1.0) / (2.0 * channels)
                                    : left / (channels * (most > 255 ? 2.0 : 1.0));
  in.check_size("PNM", picture.size, pixels);
  const std::int64_t row_bytes = (picture.size.width + 7) / 8;
  if (kind == 4 && static_cast<std::size_t>(row_bytes * picture.size.height) > reader.left()) {
    throw in.damaged("PNM", in.bytes.size(), "the file ends here");
  }
  picture.pixels.resize(static_cast<std::size_t>(picture.size.pixels()));
  const auto sample = [&]() -> std::uint16_t {
    const auto value = static_cast<std::uint32_t>(kind == 1    ? reader.bit()
                                                  : is_text    ? reader.number(most, "a value")
                                                  : most > 255 ? reader.byte() << 8 | reader.byte()
                                                               : reader.byte());
    if (value > most) {
      throw in.damaged("PNM", reader.at(), fmt::format("expected a value of at most {}, found {}", most, value));
    }
    if (is_bitmap) return value == 0 ? 65535 : 0;
    if (most > 255) return static_cast<std::uint16_t>((value * 65535U + most / 2) / most);
    return static_cast<std::uint16_t>((value * 255U + most / 2) / most * 257);
  };
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < picture.size.pixels(); ++i) {
    Pixel& pixel = picture.pixels[i];
    if (kind == 4) {
      const std::int64_t column = i % picture.size.width % 8;
      if (column == 0) bits = reader.byte();
      pixel.red = pixel.green = pixel.blue = (bits >> (7 - column) & 1U) != 0 ? 0 : 65535;
      continue;
    }
    pixel.red = sample();
    pixel.green = channels == 3 ? sample() : pixel.red;
    pixel.blue = channels == 3 ? sample() : pixel.red;
  }
  if (reader.has_more()) picture.note = "more follows the first picture of the file, and is not read";
  return picture;
}

}  // namespace kith::data
