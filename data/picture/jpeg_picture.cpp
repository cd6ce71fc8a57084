// JPEG pictures by libjpeg(-turbo): baseline and progressive; grey, colour and CMYK.
#include <cstdio>  // before jpeglib.h, which needs FILE

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "data/picture/decoders.h"

namespace kith::data {
namespace {

constexpr int kMostScans = 200;         // a picture of more is made to take time; usual ones have about ten
constexpr double kPixelsOfByte = 2048;  // at most: an 8 x 8 block takes a bit or more
constexpr unsigned kMarkerBytes = 65533;

/// libjpeg leaves its functions by longjmp: between setjmp and there, only objects without destructors may live.
struct JpegState {
  jpeg_error_mgr errors;  // the first member: libjpeg knows only this
  jpeg_progress_mgr progress;
  std::jmp_buf leave;
  char reason[JMSG_LENGTH_MAX];
};

void on_exit(j_common_ptr jpeg) {
  auto* state = reinterpret_cast<JpegState*>(jpeg->err);
  (*jpeg->err->format_message)(jpeg, state->reason);
  longjmp(state->leave, 1);
}

/// Warnings mean lost pixels, but for a few that concern other bytes.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR) on_exit(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  auto* state = reinterpret_cast<JpegState*>(jpeg->err);
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  std::snprintf(state->reason, sizeof(state->reason), "more than %d scans", kMostScans);
  longjmp(state->leave, 1);
}

struct JpegReader {
  JpegReader() {
    jpeg.err = jpeg_std_error(&state.errors);
    state.errors.error_exit = on_exit;
    state.errors.emit_message = on_message;
    state.progress.progress_monitor = on_progress;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  jpeg_decompress_struct jpeg = {};
  JpegState state = {};
};

bool read_head(JpegReader& reader, std::span<const unsigned char> bytes) {
  if (setjmp(reader.state.leave) != 0) return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.jpeg.progress = &reader.state.progress;
  jpeg_mem_src(&reader.jpeg, bytes.data(), bytes.size());
  jpeg_save_markers(&reader.jpeg, JPEG_APP0 + 1, kMarkerBytes);  // EXIF
  jpeg_save_markers(&reader.jpeg, JPEG_APP0 + 2, kMarkerBytes);  // a colour profile
  jpeg_read_header(&reader.jpeg, TRUE);
  const bool is_cmyk = reader.jpeg.jpeg_color_space == JCS_CMYK || reader.jpeg.jpeg_color_space == JCS_YCCK;
  reader.jpeg.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  reader.jpeg.dct_method = JDCT_ISLOW;  // the same integers on every processor
  return true;
}

/// row: memory for a row of the decoder. Pixels are those of the file, from the top.
bool read_rows(JpegReader& reader, JSAMPROW row, Pixel* out) {
  if (setjmp(reader.state.leave) != 0) return false;
  jpeg_start_decompress(&reader.jpeg);
  const int channels = reader.jpeg.output_components;
  const bool is_inverted = reader.jpeg.saw_Adobe_marker != 0;
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    Pixel* to = out + static_cast<std::size_t>(reader.jpeg.output_scanline) * reader.jpeg.output_width;
    jpeg_read_scanlines(&reader.jpeg, &row, 1);
    for (JDIMENSION x = 0; x < reader.jpeg.output_width; ++x) {
      const JSAMPLE* in = row + static_cast<std::size_t>(x) * static_cast<std::size_t>(channels);
      unsigned value[3] = {in[0], in[1], in[2]};
      if (channels == 4) {
        for (unsigned& v : value) {
          const unsigned ink = is_inverted ? v : 255 - v, black = is_inverted ? in[3] : 255U - in[3];
          v = (ink * black + 127) / 255;
        }
      }
      to[x] = {static_cast<std::uint16_t>(value[0] * 257), static_cast<std::uint16_t>(value[1] * 257),
               static_cast<std::uint16_t>(value[2] * 257), 65535};
    }
  }
  jpeg_finish_decompress(&reader.jpeg);
  return true;
}

int orientation_of(const jpeg_decompress_struct& jpeg) {
  constexpr std::size_t kHead = 6;  // "Exif", two zeros
  for (const jpeg_marker_struct* marker = jpeg.marker_list; marker != nullptr; marker = marker->next) {
    if (marker->data_length < kHead || std::memcmp(marker->data, "Exif\0", kHead) != 0) continue;
    return exif_orientation({marker->data + kHead, marker->data_length - kHead});
  }
  return 1;
}

/// The note on a colour profile, by its first part, which has its name; one of more than 64 KB has several.
std::string note_of(const jpeg_decompress_struct& jpeg) {
  constexpr std::size_t kHead = 14;  // "ICC_PROFILE", a zero, the number of the part, the number of parts
  if (jpeg.out_color_space == JCS_CMYK) {
    return "CMYK values are converted without a colour profile; convert the picture to sRGB first if exact colours "
           "matter";
  }
  for (const jpeg_marker_struct* marker = jpeg.marker_list; marker != nullptr; marker = marker->next) {
    if (marker->data_length <= kHead || std::memcmp(marker->data, "ICC_PROFILE\0\1", kHead - 1) != 0) continue;
    return profile_note({marker->data + kHead, marker->data_length - kHead});
  }
  return "";
}

}  // namespace

Picture decode_jpeg(const PictureBytes& in) {
  JpegReader reader;
  const auto damaged = [&] {
    const std::size_t left = reader.jpeg.src != nullptr ? reader.jpeg.src->bytes_in_buffer : 0;
    return in.damaged("JPEG", in.bytes.size() - std::min(left, in.bytes.size()), reader.state.reason);
  };
  if (!read_head(reader, in.bytes)) throw damaged();
  Picture picture{"JPEG", {reader.jpeg.image_width, reader.jpeg.image_height}};
  in.check_size("JPEG", picture.size, static_cast<double>(in.bytes.size()) * kPixelsOfByte);
  const int orientation = orientation_of(reader.jpeg);  // the end of the decoding frees the markers
  picture.note = note_of(reader.jpeg);
  picture.pixels.resize(static_cast<std::size_t>(picture.size.pixels()));
  std::vector<JSAMPLE> row(static_cast<std::size_t>(picture.size.width) * 4);
  if (!read_rows(reader, row.data(), picture.pixels.data())) throw damaged();
  orient(picture, orientation);
  return picture;
}

}  // namespace kith::data
