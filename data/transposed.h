// A source seen with rows and columns exchanged.
#pragma once

#include <memory>

#include "data/source.h"

namespace kith::data {

/// The columns of `source` are the rows. All of it is read, and held, when the first rows are asked for.
std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source);

}  // namespace kith::data
