// Reads a picture file: its format, the check of its size, and its orientation.
#include "data/picture/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/utf8.h"
#include "data/picture/decoders.h"

namespace kith::data {
namespace {

Error unknown_picture(const std::string& file, std::string_view head) {
  if (const Kind kind = kind_of_picture(head); kind.name != nullptr) {
    return {ExitCode::data, fmt::format("{}: expected a PNG, JPEG or PNM picture, found {}; convert it: {}",
                                        quoted(file), kind.name, kind.convert)};
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

// The name of an ICC colour profile (ICC.1:2022), from its tag `desc`.

namespace {

constexpr std::uint32_t kDescription = 0x64657363;  // "desc": the tag, and the type of its text in version 2
constexpr std::uint32_t kLocalised = 0x6d6c7563;    // "mluc": the type in version 4, UTF-16 in several languages
constexpr std::size_t kLongest = 60;                // bytes of a name in a message

/// The number at this byte, 0 behind the end.
std::uint32_t number(std::span<const unsigned char> bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < 4) return 0;
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

std::span<const unsigned char> part(std::span<const unsigned char> bytes, std::size_t at, std::size_t length) {
  return at > bytes.size() ? bytes.first(0) : bytes.subspan(at, std::min(length, bytes.size() - at));
}

std::string text_of(std::span<const unsigned char> tag) {
  std::string text;
  if (number(tag, 0) == kDescription) {
    for (const unsigned char c : part(tag, 12, number(tag, 8))) text += static_cast<char>(c);
  } else if (number(tag, 0) == kLocalised && number(tag, 8) > 0) {
    const auto wide = part(tag, number(tag, 24), number(tag, 20));
    for (std::size_t i = 0; i + 1 < wide.size(); i += 2) {
      text += wide[i] == 0 ? static_cast<char>(wide[i + 1]) : '?';
    }
  }
  return text.substr(0, std::min(text.find('\0'), kLongest));
}

}  // namespace

std::string profile_note(std::span<const unsigned char> profile) {
  constexpr std::size_t kHead = 128, kEntry = 12;
  std::string name;
  const std::size_t tags = std::min<std::size_t>(number(profile, kHead), profile.size() / kEntry);
  for (std::size_t i = 0; i < tags && name.empty(); ++i) {
    const std::size_t at = kHead + 4 + i * kEntry;
    if (number(profile, at) == kDescription) {
      name = text_of(part(profile, number(profile, at + 4), number(profile, at + 8)));
    }
  }
  if (name.find("sRGB") != name.npos) return "";
  return "the colour profile" + (name.empty() ? "" : " '" + kith::quoted(name) + "'") +
         " is ignored, values are taken as sRGB; convert the picture to sRGB first if exact colours matter";
}

// PNM pictures: bitmaps, grey maps and pixel maps, as text and binary (P1 to P6).

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
