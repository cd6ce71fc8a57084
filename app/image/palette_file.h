// Files of palettes: text (#rrggbb on each line), GIMP palettes, and everything that kith reads as points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/pixel.h"
#include "data/io/output_target.h"

namespace kith::app {

struct PaletteColor {
  Pixel color;
  std::int64_t pixels = 0;
};

/// "#1a2b3c"
std::string hex_of(const Pixel& color);

/// The endings of --palette, for OutputOptions.
std::vector<std::string> palette_endings();

/// Reads the colours of a text file, a GIMP palette, or a matrix of k x 3 values from 0 to 255. Throws Error(data) with
/// the line, and the errors of the readers.
std::vector<Pixel> read_palette(const std::string& location);

/// Writes the colours with their shares; the ending decides: .gpl (GIMP), .h5 (/colors, /counts), else text.
/// command: as stored in results. Throws Error(output).
void write_palette(const std::string& path, const data::OutputOptions& options, const std::string& command,
                   const std::vector<PaletteColor>& palette);
/// A line for each colour: its number, colour, pixels and share.
std::string palette_table(const std::vector<PaletteColor>& palette);

}  // namespace kith::app
