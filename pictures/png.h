// Grey pictures as PNG, for pages that hold all they show.
#pragma once

#include <cstdint>
#include <string>

#include "core/matrix.h"

namespace kith::pictures {

/// The bytes of an 8-bit grey PNG of values (rows, columns), not compressed: the same for the same values everywhere.
std::string grey_png(MatrixView<const std::uint8_t> values);

/// "data:image/png;base64,..." for these bytes.
std::string data_address(const std::string& png);

}  // namespace kith::pictures
