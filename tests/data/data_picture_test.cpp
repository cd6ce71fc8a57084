// Pictures: every kind of PNG, JPEG and PNM, orientation, and damaged files.
#include <cstdio>  // before jpeglib.h, which needs FILE

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/error.h"
#include "data/picture/picture.h"
#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::testing;

namespace {

data::Picture read(const std::string& file) {
  return data::read_picture(file, [](PictureSize) {});
}

std::string refusal(const std::string& file) {
  try {
    read(file);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::data);
    return error.what();
  }
  return "";
}

Pixel byte_pixel(int red, int green, int blue, int alpha = 255) {
  const auto wide = [](int v) { return static_cast<std::uint16_t>(v * 257); };
  return {wide(red), wide(green), wide(blue), wide(alpha)};
}

/// A PNG of this type and depth whose row bytes are `rows`, written by libpng.
std::string png_of(int width, int height, int type, int depth, std::vector<png_byte> rows, bool interlaced = false) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep bytes, size_t n) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(bytes), n);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, depth, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (type == PNG_COLOR_TYPE_PALETTE) {
    const png_color colors[] = {{255, 0, 0}, {0, 255, 0}, {1, 2, 3}};
    const png_byte alphas[] = {255, 0};
    png_set_PLTE(png, info, colors, 3);
    png_set_tRNS(png, info, alphas, 2, nullptr);
  }
  png_write_info(png, info);
  const std::size_t step = rows.size() / height;
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y) pointers.push_back(rows.data() + y * step);
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

/// A JPEG of a red and a blue half, in quarters of 16 pixels: 48 x 32, red on the left third.
/// channels: 1 grey, 3 colour, 4 CMYK. profile: of ICC; empty: none.
std::string jpeg_of(bool progressive, int orientation, int channels = 3, const std::string& profile = "") {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = 48;
  jpeg.image_height = 32;
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::string exif("Exif\0\0MM\0\x2a\0\0\0\x8\0\x1\x1\x12\0\x3\0\0\0\x1\0", 25);
  exif += static_cast<char>(orientation);
  exif += std::string("\0\0\0\0\0\0", 6);
  jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()), exif.size());
  if (!profile.empty()) {
    const std::string marker = std::string("ICC_PROFILE\0\1\1", 14) + profile;
    jpeg_write_marker(&jpeg, JPEG_APP0 + 2, reinterpret_cast<const JOCTET*>(marker.data()), marker.size());
  }
  std::array<JSAMPLE, 48 * 4> row{};
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 48; ++x) {
      const bool red = x < 16 && y < 16;
      const JSAMPLE color[] = {static_cast<JSAMPLE>(red ? 250 : 10), 20, static_cast<JSAMPLE>(red ? 5 : 240)};
      // Four channels: the inks of Adobe's inverted CMYK are the colours, without black.
      for (int c = 0; c < channels; ++c) row[channels * x + c] = c < 3 ? color[c] : 255;
    }
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&jpeg, &pointer, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  const std::string out(reinterpret_cast<const char*>(memory), bytes);
  std::free(memory);
  return out;
}

bool is_red(const data::Picture& picture, std::int64_t x, std::int64_t y) {
  const Pixel& p = picture.pixels[y * picture.size.width + x];
  return p.red > 200 * 257 && p.blue < 60 * 257;
}

}  // namespace

TEST_CASE("PNM pictures of every kind are read") {
  const Scratch folder;
  const auto pixels = [&](const std::string& text) {
    write_bytes(folder / "p", text);
    return read(folder / "p").pixels;
  };
  const Pixel black = byte_pixel(0, 0, 0), white = byte_pixel(255, 255, 255);
  CHECK(pixels("P1\n# comment\n2 2\n10 01") == std::vector<Pixel>{black, white, white, black});
  CHECK(pixels("P4 2 2\n\x80\x40") == std::vector<Pixel>{black, white, white, black});
  CHECK(pixels("P2 2 1 255 0 7") == std::vector<Pixel>{black, byte_pixel(7, 7, 7)});
  CHECK(pixels(std::string("P5 2 1 255\n\0\x7", 13)) == std::vector<Pixel>{black, byte_pixel(7, 7, 7)});
  CHECK(pixels("P3 1 1 15 15 0 3") == std::vector<Pixel>{byte_pixel(255, 0, 51)});
  CHECK(pixels("P6 1 1 255\nabc") == std::vector<Pixel>{byte_pixel('a', 'b', 'c')});
  CHECK(pixels(std::string("P5 1 1 65535\n\x01\x02", 15)) == std::vector<Pixel>{{258, 258, 258, 65535}});
}

TEST_CASE("PNG pictures of every kind are read") {
  const Scratch folder;
  const auto pixels = [&](const std::string& bytes) {
    write_bytes(folder / "p", bytes);
    return read(folder / "p").pixels;
  };
  CHECK(pixels(png_of(2, 1, PNG_COLOR_TYPE_GRAY, 16, {1, 2, 255, 255}))[0] == Pixel{258, 258, 258, 65535});
  CHECK(read(folder / "p").bits == 16);
  CHECK(pixels(png_of(3, 1, PNG_COLOR_TYPE_PALETTE, 2, {0x18})) ==
        std::vector<Pixel>{byte_pixel(255, 0, 0), byte_pixel(0, 255, 0, 0), byte_pixel(1, 2, 3)});
  CHECK(read(folder / "p").has_alpha);
  CHECK(pixels(png_of(1, 1, PNG_COLOR_TYPE_RGBA, 8, {1, 2, 3, 4})) == std::vector<Pixel>{byte_pixel(1, 2, 3, 4)});
  CHECK(pixels(png_of(1, 1, PNG_COLOR_TYPE_GRAY_ALPHA, 8, {9, 4})) == std::vector<Pixel>{byte_pixel(9, 9, 9, 4)});
  std::vector<png_byte> rows(5 * 7 * 3);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<png_byte>(i * 7);
  CHECK(pixels(png_of(5, 7, PNG_COLOR_TYPE_RGB, 8, rows)) == pixels(png_of(5, 7, PNG_COLOR_TYPE_RGB, 8, rows, true)));
  // What kith writes, it reads again.
  const std::vector<std::uint8_t> indices{0, 1, 2, 2, 1, 0};
  const std::vector<Pixel> palette{byte_pixel(1, 2, 3), byte_pixel(4, 5, 6), byte_pixel(0, 0, 0, 0)};
  data::PngPicture out;
  out.size = {3, 2};
  out.palette = palette;
  out.indices = indices;
  data::write_png(folder / "o.png", {.endings = {".png"}}, out);
  const data::Picture back = read(folder / "o.png");
  REQUIRE(back.size.width == 3);
  for (std::size_t i = 0; i < indices.size(); ++i) CHECK(back.pixels[i] == palette[indices[i]]);
}

TEST_CASE("JPEG pictures are read upright") {
  const Scratch folder;
  // The red corner after each orientation: whether it is on the right, and below.
  const bool right[] = {false, false, true, true, false, false, true, true, false};
  const bool below[] = {false, false, false, true, true, false, false, true, true};
  for (const bool progressive : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      INFO("orientation " << orientation << ", progressive " << progressive);
      write_bytes(folder / "p.jpg", jpeg_of(progressive, orientation));
      const data::Picture picture = read(folder / "p.jpg");
      const auto [width, height] = picture.size;
      CHECK(width == (orientation < 5 ? 48 : 32));
      CHECK(height == (orientation < 5 ? 32 : 48));
      for (const bool r : {false, true}) {
        for (const bool b : {false, true}) {
          CHECK(is_red(picture, r ? width - 4 : 3, b ? height - 4 : 3) ==
                (r == right[orientation] && b == below[orientation]));
        }
      }
    }
  }
}

TEST_CASE("profiles and CMYK are noted, and other pictures named") {
  const Scratch folder;
  const auto profile = [](const std::string& type, const std::string& text) {
    const auto number = [](std::size_t v) {
      return std::string{0, 0, static_cast<char>(v >> 8), static_cast<char>(v)};
    };
    std::string tag = type + number(0);
    if (type == "desc") {
      tag += number(text.size() + 1) + text + '\0';
    } else {
      std::string wide;
      for (const char c : text) wide += {'\0', c};
      tag += number(1) + number(12) + "enUS" + number(wide.size()) + number(28) + wide;
    }
    return std::string(128, ' ') + number(1) + "desc" + number(144) + number(tag.size()) + tag;
  };
  const auto note = [&](const std::string& bytes) {
    write_bytes(folder / "p.jpg", bytes);
    return read(folder / "p.jpg").note;
  };
  CHECK(note(jpeg_of(false, 1)).empty());
  for (const char* type : {"desc", "mluc"}) {
    CHECK(note(jpeg_of(false, 1, 3, profile(type, "sRGB IEC61966-2.1"))).empty());
    CHECK(note(jpeg_of(false, 1, 3, profile(type, "Display P3"))).find("profile 'Display P3' is") != std::string::npos);
  }
  CHECK(note(jpeg_of(false, 1, 3, profile("desc", "x").substr(0, 150))).find("the colour profile is") == 0);
  CHECK(note(jpeg_of(false, 1, 4)).find("CMYK") == 0);
  CHECK(is_red(read(folder / "p.jpg"), 3, 3));
  CHECK(!is_red(read(folder / "p.jpg"), 40, 3));
  CHECK(note(jpeg_of(true, 1, 1)).empty());
  for (const auto& [bytes, name] :
       std::map<std::string, std::string>{{"GIF89a....", "GIF picture; convert it: convert IN OUT.png"},
                                          {std::string("\0\0\0\x18"
                                                       "ftypheic\0\0",
                                                       14),
                                           "HEIC picture"},
                                          {std::string("RIFF\1\2\0\0WEBPVP8 ", 16), "WebP picture"},
                                          {std::string("II*\0\x8\0\0\0", 8), "TIFF picture"},
                                          {"a,b\n1,2\n", "text"}}) {
    write_bytes(folder / "p", bytes);
    INFO(refusal(folder / "p"));
    CHECK(refusal(folder / "p").find("found") != std::string::npos);
    CHECK(refusal(folder / "p").find(name) != std::string::npos);
  }
}

TEST_CASE("sizes that a picture cannot have are refused before it is unpacked") {
  const Scratch folder;
  const auto refused = [&](const std::string& bytes, const std::string& reason) {
    write_bytes(folder / "bomb", bytes);
    const std::string message = refusal(folder / "bomb");
    INFO(message);
    CHECK(message.find("bomb: ") != std::string::npos);
    CHECK(message.find(reason) != std::string::npos);
  };
  const auto big_endian = [](std::uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                       static_cast<char>(value)};
  };
  // The second one has a row of gigabytes, which libpng would allocate before it unpacks.
  for (const auto& [width, height] : {std::pair{40'000U, 40'000U}, {800'000'000U, 2U}}) {
    std::string png = png_of(1, 1, PNG_COLOR_TYPE_RGB, 8, {1, 2, 3});
    png.replace(16, 8, big_endian(width) + big_endian(height));
    png.replace(
        29, 4,
        big_endian(static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const unsigned char*>(png.data()) + 12, 17))));
    refused(png, "states " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  }
  std::string jpeg = jpeg_of(false, 1);
  const std::size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, std::string("\x80\0\x80\0", 4));
  refused(jpeg, "states 32768 x 32768 pixels");
  refused("P6 100000 100000 255\nabc", "100000 x 100000 pixels");
  refused("P5 0 4 255\n", "at least 1 x 1");
  refused("GIF89a..", "expected a PNG, JPEG or PNM picture");
  std::int64_t asked = 0;
  write_bytes(folder / "p", "P5 2 1 255\nab");
  CHECK_THROWS_AS(data::read_picture(folder / "p",
                                     [&](PictureSize size) {
                                       asked = size.pixels();
                                       throw Error(ExitCode::usage, "too large");
                                     }),
                  Error);
  CHECK(asked == 2);
}

TEST_CASE("300 damaged pictures are refused with name and place") {
  const Scratch folder;
  std::vector<png_byte> rows(20 * 10 * 3);
  std::uint32_t state = 1;
  const auto random = [&state] { return state = state * 1664525U + 1013904223U; };
  for (png_byte& value : rows) value = static_cast<png_byte>(random() >> 24);
  std::string text = "P3 9 9 255";
  for (int i = 0; i < 243; ++i) text += " " + std::to_string(random() >> 24);
  const std::vector<std::string> whole{png_of(20, 10, PNG_COLOR_TYPE_RGB, 8, rows),
                                       png_of(20, 10, PNG_COLOR_TYPE_RGB, 8, rows, true),
                                       jpeg_of(false, 6),
                                       jpeg_of(true, 1),
                                       "P6 20 10 255\n" + std::string(600, 'x'),
                                       text};
  int refused = 0;
  for (const std::string& bytes : whole) {
    write_bytes(folder / "picture", bytes);
    REQUIRE(refusal(folder / "picture").empty());
    for (std::size_t i = 0; i < 50; ++i) {  // cut off; the last number of a text may lose a digit unseen
      const std::size_t length = 8 + (bytes.size() - 8 - 4) * i / 50;
      write_bytes(folder / "picture", bytes.substr(0, length));
      const std::string message = refusal(folder / "picture");
      INFO("cut off at byte " << length << " of " << bytes.size() << ": " << message);
      CHECK(message.find("picture: ") != std::string::npos);
      CHECK((message.find("byte ") != std::string::npos || message.find(" bytes of the file") != std::string::npos));
      ++refused;
    }
  }
  CHECK(refused == 300);
  for (const std::string& bytes : whole) {  // changed: PNG has checksums, the others may be other pictures
    for (std::size_t i = 0; i < 100; ++i) {
      std::string changed = bytes;
      const std::size_t at = random() % bytes.size();
      changed[at] = static_cast<char>(changed[at] ^ (1 << i % 8));
      write_bytes(folder / "picture", changed);
      const std::string message = refusal(folder / "picture");
      if (&bytes > &whole[1]) continue;
      INFO("byte " << at);
      CHECK(message.find("picture: ") != std::string::npos);
    }
  }
}

TEST_CASE("changed pictures of every kind are read or refused, within their size") {
  constexpr int kChanges = 120;
  constexpr std::int64_t kMostPixels = 1 << 20;
  const Scratch folder;
  std::uint32_t state = 11;
  const auto random = [&state](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return std::size_t{state >> 8} % below;
  };
  std::vector<png_byte> rows(24 * 10 * 8);
  for (png_byte& value : rows) value = static_cast<png_byte>(random(256));
  const auto some_rows = [&](std::size_t bytes) { return std::vector<png_byte>(rows.begin(), rows.begin() + bytes); };
  std::string digits = "P2 9 9 255";
  for (int i = 0; i < 81; ++i) digits += " " + std::to_string(random(256));
  const std::vector<std::string> whole{png_of(24, 10, PNG_COLOR_TYPE_RGBA, 16, rows),
                                       png_of(24, 10, PNG_COLOR_TYPE_RGB, 8, some_rows(24 * 10 * 3), true),
                                       png_of(24, 10, PNG_COLOR_TYPE_GRAY, 1, some_rows(3 * 10)),
                                       png_of(24, 10, PNG_COLOR_TYPE_GRAY_ALPHA, 8, some_rows(24 * 10 * 2)),
                                       png_of(4, 3, PNG_COLOR_TYPE_PALETTE, 2, {0x18, 0x24, 0x81}, true),
                                       jpeg_of(false, 6),
                                       jpeg_of(true, 3, 1),
                                       jpeg_of(true, 1, 3, std::string(300, 'i')),
                                       jpeg_of(false, 1, 4),
                                       "P1\n# comment\n4 2\n1001 0110\n",
                                       digits,
                                       "P4 24 10\n" + std::string(30, '\x5a'),
                                       "P5 20 10 1000\n" + std::string(400, '\1'),
                                       "P6\n20 10\n255\n" + std::string(600, 'x')};
  int read_again = 0, refused = 0;
  for (const std::string& bytes : whole) {
    for (int i = 0; i < kChanges; ++i) {
      std::string changed = bytes;
      const bool in_head = random(2) == 0;  // sizes and tables, in most formats
      for (std::size_t n = 1 + random(3); n > 0; --n) {
        const std::size_t at = random(in_head ? std::min<std::size_t>(changed.size(), 64) : changed.size());
        const std::size_t length = 1 + random(std::min<std::size_t>(changed.size() - at, 40));
        const std::size_t kind = random(5);
        if (kind == 0) changed[at] = static_cast<char>(changed[at] ^ (1 << random(8)));
        if (kind == 1) changed[at] = static_cast<char>(random(3) == 0 ? 0xff : random(256));
        if (kind == 2 && changed.size() > length) changed.erase(at, length);
        if (kind == 3) changed.insert(at, changed.substr(random(changed.size()), length));
        if (kind == 4) changed[at] = "0123456789 \n"[random(12)];
      }
      if (changed[0] == '\x89') {  // checksums that are right, so that the decoder sees what they protect
        for (std::size_t at = 8; at + 12 <= changed.size();) {
          std::size_t length = 0;
          for (std::size_t b = 0; b < 4; ++b) length = length << 8 | static_cast<unsigned char>(changed[at + b]);
          if (length > changed.size() - at - 12) break;
          const auto* chunk = reinterpret_cast<const unsigned char*>(changed.data()) + at + 4;
          const auto sum = static_cast<std::uint32_t>(crc32(0, chunk, static_cast<unsigned>(length + 4)));
          for (std::size_t b = 0; b < 4; ++b) changed[at + 8 + length + b] = static_cast<char>(sum >> (24 - 8 * b));
          at += 12 + length;
        }
      }
      write_bytes(folder / "picture", changed);
      INFO("kind " << &bytes - whole.data() << ", change " << i);
      try {
        const data::Picture picture = data::read_picture(folder / "picture", [](PictureSize size) {
          if (size.pixels() > kMostPixels) throw Error(ExitCode::usage, "picture: too large");
        });
        CHECK(std::ssize(picture.pixels) == picture.size.pixels());
        ++read_again;
      } catch (const Error& error) {
        CHECK((error.code() == ExitCode::data || error.code() == ExitCode::usage));
        CHECK(std::string(error.what()).find("picture: ") != std::string::npos);
        ++refused;
      }
    }
  }
  INFO(read_again << " read, " << refused << " refused");
  CHECK(refused >= 300);
  CHECK(read_again > 100);
}
