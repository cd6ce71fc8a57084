// Names and writes the pictures of kith image, and makes its page.
#include "app/image/image_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>

#include "core/error.h"
#include "data/io/utf8.h"
#include "kernels/cpu/picture/colors.h"
#include "pictures/pictures.h"

namespace kith::app {
namespace {

constexpr std::int64_t kSide = 480;        // pixels of the longer side of a picture on the page
constexpr std::size_t kMostPictures = 24;  // a page of more would have tens of megabytes
constexpr std::size_t kMostLines = 500;    // of a table
constexpr const char* kErrorNote =
    "Root mean square, over all visible pixels, of the distance in CIELAB (CIE 1976) between a pixel and the colour it "
    "got. Black and white are 100 apart; side by side, people just see a difference of about 2.3 (M. Mahy and "
    "others, 1994).";

std::string base_name(const std::string& file) { return std::filesystem::path(file).filename().string(); }

std::string data_url(const std::vector<std::uint8_t>& rgba, PictureSize size) {
  bool is_opaque = true;
  for (std::size_t i = 3; i < rgba.size(); i += 4) is_opaque = is_opaque && rgba[i] == 255;
  std::vector<std::uint8_t> rgb;
  for (std::size_t i = 0; is_opaque && i < rgba.size(); i += 4) rgb.insert(rgb.end(), &rgba[i], &rgba[i] + 3);
  data::PngPicture out{size};
  out.channels = is_opaque ? 3 : 4;
  out.pixels = is_opaque ? rgb : rgba;
  return pictures::image_address(out);
}

std::int64_t pixels_of(const std::vector<PaletteColor>& palette) {
  std::int64_t all = 0;
  for (const PaletteColor& entry : palette) all += entry.pixels;
  return std::max<std::int64_t>(all, 1);
}

std::vector<pictures::Swatch> swatches_of(const std::vector<PaletteColor>& palette) {
  std::vector<pictures::Swatch> out;
  for (const PaletteColor& entry : palette) out.push_back({hex_of(entry.color), share_of(entry, palette)});
  return out;
}

pictures::Table table_of(const std::vector<PaletteColor>& palette) {
  pictures::Table table{"Colours", {"number", "colour", "pixels", "percent"}, {}};
  for (std::size_t i = 0; i < std::min(palette.size(), kMostLines); ++i) {
    table.rows.push_back({std::to_string(i), hex_of(palette[i].color), std::to_string(palette[i].pixels),
                          fmt::format("{:.2f}", 100.0 * share_of(palette[i], palette))});
  }
  if (palette.size() > kMostLines) table.note = fmt::format("The first {} of {} colours.", kMostLines, palette.size());
  return table;
}

}  // namespace

ImageTarget image_target(const std::string& target, const std::vector<std::string>& pictures) {
  std::error_code failure;
  const bool is_folder = std::filesystem::is_directory(target, failure) || target.ends_with("/");
  if (pictures.size() == 1 && !is_folder) return {{}, {target}};
  ImageTarget out{target};
  while (out.folder.size() > 1 && out.folder.ends_with("/")) out.folder.pop_back();
  if (!is_folder && out.folder.ends_with(".png")) {
    throw Error(ExitCode::usage, fmt::format("-o {}: expected a folder for the {} pictures, found the name of a PNG "
                                             "file; give a folder, as in -o few/",
                                             target, pictures.size()));
  }
  std::map<std::string, std::string> from;  // the picture of each name
  for (const std::string& picture : pictures) {
    const std::string name = std::filesystem::path(picture).stem().string() + ".png";
    const auto [other, is_new] = from.emplace(name, picture);
    if (!is_new) {
      throw Error(ExitCode::usage,
                  fmt::format("-o {}: {} and {} would both be written as {}; rename one, or write "
                              "them to different folders",
                              target, kith::quoted(other->second), kith::quoted(picture), kith::quoted(name)));
    }
    out.names.push_back(fmt::format("{}/{}", out.folder == "/" ? "" : out.folder, name));
  }
  return out;
}

void check_image_target(const ImageTarget& target, const data::OutputOptions& options) {
  std::error_code failure;
  const auto kind = std::filesystem::status(target.folder, failure).type();
  if (!target.folder.empty() && kind == std::filesystem::file_type::not_found) {
    return data::check_output(target.folder, options);  // where the folder will be made
  }
  if (!target.folder.empty() && kind != std::filesystem::file_type::directory) {
    throw Error(ExitCode::output, fmt::format("{}: expected a folder, found something else; choose another name",
                                              kith::quoted(target.folder)));
  }
  for (const std::string& name : target.names) {
    if (!name.ends_with(".png")) {
      throw Error(ExitCode::output, fmt::format("{}: expected a name that ends with .png, the format of the picture "
                                                "that kith writes; give another name",
                                                name));
    }
    data::check_output(name, options);
  }
}

void make_folder(const ImageTarget& target) {
  if (target.folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directory(target.folder, failure);
  if (failure) {
    throw Error(ExitCode::output,
                fmt::format("{}: the folder cannot be made: {}", kith::quoted(target.folder), failure.message()));
  }
}

void write_reduced(const std::string& path, const data::OutputOptions& options, const data::Picture& picture,
                   std::span<const std::int32_t> labels, const std::vector<Pixel>& colors) {
  bool has_clear = false, has_partial = false;
  for (const Pixel& pixel : picture.has_alpha ? std::span<const Pixel>(picture.pixels) : std::span<const Pixel>()) {
    has_clear = has_clear || pixel.alpha == 0;
    has_partial = has_partial || (pixel.alpha != 0 && pixel.alpha != 65535);
  }
  data::PngPicture out{picture.size};
  std::vector<std::uint8_t> values;
  if (!has_partial && colors.size() + (has_clear ? 1 : 0) <= 256) {
    out.palette = colors;
    const auto clear = static_cast<std::uint8_t>(colors.size());
    if (has_clear) out.palette.push_back({0, 0, 0, 0});
    values.resize(labels.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = labels[i] < 0 ? clear : static_cast<std::uint8_t>(labels[i]);
    }
    out.indices = values;
  } else {
    out.channels = has_clear || has_partial ? 4 : 3;
    values.reserve(labels.size() * static_cast<std::size_t>(out.channels));
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Pixel color = labels[i] < 0 ? Pixel{0, 0, 0, 0} : colors[labels[i]];
      for (const std::uint16_t value : {color.red, color.green, color.blue}) {
        values.push_back(static_cast<std::uint8_t>(value >> 8));
      }
      if (out.channels == 4) values.push_back(static_cast<std::uint8_t>(picture.pixels[i].alpha >> 8));
    }
    out.pixels = values;
  }
  data::write_png(path, options, out);
}

void ImagePage::add(const Entry& entry, std::span<const std::int32_t> labels, const std::vector<Pixel>& drawn,
                    const std::vector<PaletteColor>& palette, Threads& threads) {
  const data::Picture& picture = entry.picture;
  Shown shown{base_name(entry.name),
              fmt::format("{}, {} bits", picture.format, picture.bits),
              picture.size,
              cpu::shrunk_size(picture.size, kSide),
              pixels_of(palette),
              entry.colors,
              entry.error,
              "",
              ""};
  if (shown_.size() < kMostPictures) {
    shown.before = data_url(cpu::shrink(picture.pixels, picture.size, shown.small, threads), shown.small);
    shown.after = data_url(cpu::shrink(picture.pixels, labels, drawn, picture.size, shown.small, threads), shown.small);
    if (!is_common_) shown.palette = palette;
  }
  shown_.push_back(std::move(shown));
}

std::string ImagePage::html(const std::vector<PaletteColor>& palette, const std::string& command) const {
  pictures::Page page;
  const std::string colors = is_common_ ? fmt::format(": {} colours", palette.size()) : "";
  page.title = (pictures_ == 1 ? shown_.front().name : fmt::format("{} pictures", pictures_)) + colors;
  double squares = 0.0, pixels = 0.0;
  for (const Shown& shown : shown_) {
    squares += shown.error * shown.error * static_cast<double>(shown.pixels);
    pixels += static_cast<double>(shown.pixels);
  }
  if (pictures_ == 1) {
    const Shown& shown = shown_.front();
    page.facts.emplace_back("Picture", fmt::format("{} x {} pixels (width x height), {}", shown.size.width,
                                                   shown.size.height, shown.format));
    page.facts.emplace_back("Colours", fmt::format("{} of {}", palette.size(), shown.colors));
  }
  page.facts.emplace_back("Error", fmt::format("{:.2f} in CIELAB", std::sqrt(squares / pixels)));
  page.facts.emplace_back("Command", "kith " + command);
  page.facts.emplace_back("Made by", fmt::format("kith {}", KITH_VERSION));
  pictures::Table errors{"Error of the colours", {"picture", "width", "height", "colours before", "error"}, {}};
  errors.texts = 1;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const Shown& shown = shown_[i];
    if (i < kMostLines) {
      errors.rows.push_back({shown.name, std::to_string(shown.size.width), std::to_string(shown.size.height),
                             std::to_string(shown.colors), fmt::format("{:.2f}", shown.error)});
    }
    if (shown.before.empty()) continue;
    const bool is_small = shown.small.width == shown.size.width && shown.small.height == shown.size.height;
    const std::string size = is_small ? ""
                                      : fmt::format(" Shown as {} x {} pixels, each the mean of its rectangle.",
                                                    shown.small.width, shown.small.height);
    const auto add = [&](const char* which, const std::string& address, const std::string& caption) {
      page.pictures.push_back(pictures::image(fmt::format("{}-{}", which, i + 1),
                                              fmt::format("{} {}", shown.name, which), caption,
                                              {address, shown.small.width, shown.small.height, is_small}));
    };
    add("before", shown.before, fmt::format("{} colours.{}", shown.colors, size));
    page.pictures.back().begins_row = true;
    add("after", shown.after, fmt::format("The error is {:.2f} in CIELAB.{}", shown.error, size));
    if (!is_common_) {
      page.pictures.push_back(
          pictures::palette(fmt::format("palette-{}", i + 1), "Colours of " + shown.name, swatches_of(shown.palette)));
    } else if (i == 0) {
      page.pictures.push_back(pictures::palette("palette", "Colours", swatches_of(palette)));
    }
  }
  if (shown_.size() > kMostPictures) {
    page.notes.push_back(fmt::format("The first {} of {} pictures are shown.", kMostPictures, shown_.size()));
  }
  errors.note = kErrorNote;
  if (shown_.size() > kMostLines) {
    errors.note += fmt::format(" The first {} of {} pictures.", kMostLines, shown_.size());
  }
  page.tables.push_back(std::move(errors));
  if (is_common_) page.tables.push_back(table_of(palette));
  return pictures::html(page);
}

}  // namespace kith::app
