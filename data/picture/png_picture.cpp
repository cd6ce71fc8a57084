// PNG pictures by libpng: reading of all types, and writing of palettes and 8-bit pixels.
#include <fmt/format.h>
#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstring>
#include <utility>

#include "data/io/output_file.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/picture/decoders.h"

namespace kith::data {
namespace {

constexpr png_alloc_size_t kChunk = 1 << 24;  // bytes of a chunk besides pixels: EXIF data, a profile

/// libpng leaves its functions by longjmp: between setjmp and there, only objects without destructors may live.
struct PngState {
  std::span<const unsigned char> bytes = {};
  std::size_t at = 0;
  char reason[128] = "";
  std::string out = {};
  bool no_memory = false;
  bool has_clear = false;  // a transparent colour
};

void on_error(png_structp png, png_const_charp reason) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state->reason, reason, sizeof(state->reason) - 1);
  longjmp(png_jmpbuf(png), 1);
}
void on_warning(png_structp /*png*/, png_const_charp /*reason*/) {}

void on_read(png_structp png, png_bytep out, size_t count) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state->bytes.size() - state->at) {
    state->at = state->bytes.size();
    png_error(png, "the file ends here");
  }
  std::memcpy(out, state->bytes.data() + state->at, count);
  state->at += count;
}

void on_write(png_structp png, png_bytep bytes, size_t count) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  try {
    state->out.append(reinterpret_cast<const char*>(bytes), count);
    return;
  } catch (const std::bad_alloc&) {
    state->no_memory = true;
  }
  png_error(png, "no memory");
}
void on_flush(png_structp /*png*/) {}

struct PngReader {
  explicit PngReader(PngState& state)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning)) {
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) throw Error(ExitCode::internal, "libpng could not be started");
    png_set_read_fn(png, &state, on_read);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png, kChunk);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png;
  png_infop info = nullptr;
};

/// False if libpng found an error.
bool read_head(const PngReader& reader, PngState& state) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_info(reader.png, reader.info);
  state.has_clear = png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
  return true;
}

/// To 16 bits of red, green, blue and alpha, or to bytes with indices. From here on libpng holds rows: the size must
/// have been checked.
bool begin_rows(const PngReader& reader, bool indexed) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  if (indexed) {
    png_set_packing(reader.png);
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
    return true;
  }
  png_set_expand_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_add_alpha(reader.png, 0xffff, PNG_FILLER_AFTER);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(const PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, reader.info);
  return true;
}

/// The colours of a palette; none for other pictures.
std::vector<Pixel> palette_of(const PngReader& reader) {
  png_colorp colors = nullptr;
  png_bytep alphas = nullptr;
  int count = 0, alpha_count = 0;
  std::vector<Pixel> palette;
  if (png_get_color_type(reader.png, reader.info) != PNG_COLOR_TYPE_PALETTE) return palette;
  png_get_PLTE(reader.png, reader.info, &colors, &count);
  png_get_tRNS(reader.png, reader.info, &alphas, &alpha_count, nullptr);
  const auto wide = [](png_byte value) { return static_cast<std::uint16_t>(value * 257); };
  for (int i = 0; i < count; ++i) {
    palette.push_back({wide(colors[i].red), wide(colors[i].green), wide(colors[i].blue),
                       wide(i < alpha_count ? alphas[i] : png_byte{255})});
  }
  return palette;
}

struct PngWriter {
  explicit PngWriter(PngState& state)
      : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning)) {
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) throw Error(ExitCode::internal, "libpng could not be started");
    png_set_write_fn(png, &state, on_write, on_flush);
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  png_structp png;
  png_infop info = nullptr;
};

/// Bits of an index into so many colours.
int index_bits(std::size_t colors) { return colors <= 2 ? 1 : colors <= 4 ? 2 : colors <= 16 ? 4 : 8; }

bool write_all(const PngWriter& writer, const PngPicture& picture, std::span<const png_color> colors,
               std::span<const png_byte> alphas) {
  if (setjmp(png_jmpbuf(writer.png)) != 0) return false;
  const bool indexed = !colors.empty();
  const int type = indexed                 ? PNG_COLOR_TYPE_PALETTE
                   : picture.channels == 1 ? PNG_COLOR_TYPE_GRAY
                   : picture.channels == 3 ? PNG_COLOR_TYPE_RGB
                                           : PNG_COLOR_TYPE_RGBA;
  const auto width = static_cast<png_uint_32>(picture.size.width);
  png_set_user_limits(writer.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(writer.png, writer.info, width, static_cast<png_uint_32>(picture.size.height),
               indexed ? index_bits(colors.size()) : 8, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(writer.png, 2);
  if (indexed) {
    png_set_PLTE(writer.png, writer.info, colors.data(), static_cast<int>(colors.size()));
    if (!alphas.empty()) {
      png_set_tRNS(writer.png, writer.info, alphas.data(), static_cast<int>(alphas.size()), nullptr);
    }
    png_set_filter(writer.png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  }
  png_write_info(writer.png, writer.info);
  if (indexed) png_set_packing(writer.png);
  const unsigned char* values = indexed ? picture.indices.data() : picture.pixels.data();
  const std::int64_t step = picture.size.width * (indexed ? 1 : picture.channels);
  for (std::int64_t y = 0; y < picture.size.height; ++y) png_write_row(writer.png, values + y * step);
  png_write_end(writer.png, nullptr);
  return true;
}

}  // namespace

Picture decode_png(const PictureBytes& in) {
  PngState state{in.bytes};
  const PngReader reader(state);
  if (!read_head(reader, state)) throw in.damaged("PNG", state.at, state.reason);
  Picture picture{
      .format = "PNG",
      .size = {png_get_image_width(reader.png, reader.info), png_get_image_height(reader.png, reader.info)}};
  const int depth = in.bytes.size() > 25 ? in.bytes[24] : 8, type = in.bytes.size() > 25 ? in.bytes[25] : 0;
  const int channels = (type & PNG_COLOR_MASK_PALETTE) != 0 ? 1
                                                            : ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) +
                                                                  ((type & PNG_COLOR_MASK_ALPHA) != 0 ? 1 : 0);
  picture.bits = depth == 16 ? 16 : 8;
  picture.has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || state.has_clear;
  in.check_size("PNG", picture.size,
                static_cast<double>(in.bytes.size()) * kDeflateExpansion * 8.0 / (depth * channels));
  picture.pixels.resize(static_cast<std::size_t>(picture.size.pixels()));
  const std::vector<Pixel> palette = palette_of(reader);
  const auto width = static_cast<std::size_t>(picture.size.width);
  // Indices are read into the end of their row of pixels, which then takes their colours from its beginning on.
  const std::size_t before = palette.empty() ? 0 : (sizeof(Pixel) - 1) * width;
  std::vector<png_bytep> rows(static_cast<std::size_t>(picture.size.height));
  for (std::size_t y = 0; y < rows.size(); ++y) {
    rows[y] = reinterpret_cast<png_bytep>(picture.pixels.data() + y * width) + before;
  }
  if (!begin_rows(reader, !palette.empty()) || !read_rows(reader, rows.data())) {
    throw in.damaged("PNG", state.at, state.reason);
  }
  for (std::size_t y = 0; y < rows.size() && !palette.empty(); ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t index = rows[y][x];
      if (index >= palette.size()) {
        throw Error(ExitCode::data,
                    fmt::format("{}: row {}, column {} (counted from 1): expected one of the {} colours of the "
                                "palette, found the number {} (counted from 0); save the picture again",
                                kith::quoted(in.name), y + 1, x + 1, palette.size(), index));
      }
      picture.pixels[y * width + x] = palette[index];
    }
  }
  png_bytep exif = nullptr, profile = nullptr;
  png_charp name = nullptr;
  int compression = 0;
  png_uint_32 length = 0;
  if (png_get_iCCP(reader.png, reader.info, &name, &compression, &profile, &length) != 0) {
    picture.note = profile_note({profile, length});
  }
  if (png_get_eXIf_1(reader.png, reader.info, &length, &exif) != 0) orient(picture, exif_orientation({exif, length}));
  return picture;
}

std::string encode_png(const PngPicture& picture) {
  std::vector<png_color> colors;
  std::vector<png_byte> alphas;
  for (const Pixel& color : picture.palette) {
    const auto byte = [](std::uint16_t value) { return static_cast<png_byte>(value >> 8); };
    colors.push_back({byte(color.red), byte(color.green), byte(color.blue)});
    if (color.alpha < 65535) {
      alphas.resize(colors.size(), 255);
      alphas.back() = byte(color.alpha);
    }
  }
  PngState state;
  const PngWriter writer(state);
  if (!write_all(writer, picture, colors, alphas)) {
    if (state.no_memory) throw std::bad_alloc();
    throw Error(ExitCode::internal, std::string("libpng could not encode a picture: ") + state.reason);
  }
  return std::move(state.out);
}

void write_png(const std::string& path, const OutputOptions& options, const PngPicture& picture) {
  const std::string bytes = encode_png(picture);
  OutputBytes file(path, options);
  file.require_space(std::ssize(bytes));
  file.write(bytes);
  file.publish();
}

}  // namespace kith::data
