// Names and writes the pictures of kith image.
#include "app/image/image_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "core/error.h"
#include "data/io/quoted.h"

namespace kith::app {

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

}  // namespace kith::app
