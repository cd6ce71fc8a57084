// Grey images as PNG data URLs, for self-contained pages.
#pragma once

#include <cstdint>
#include <string>

#include "core/points/matrix.h"

namespace kith::pictures {

/// An uncompressed 8-bit grey PNG of values (rows, columns); equal values give equal bytes.
std::string grey_png(MatrixView<const std::uint8_t> values);

/// The data URL "data:image/png;base64,..." of these bytes.
std::string data_address(const std::string& png);

}  // namespace kith::pictures
