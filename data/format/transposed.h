// A source with rows and columns exchanged.
#pragma once

#include <memory>

#include "data/format/point_source.h"

namespace kith::data {

/// The columns of `source` become the rows. The first read() reads the whole source and keeps it in memory.
std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source);

}  // namespace kith::data
