// Rows of bits, packed in bytes: eight columns in each, the first one in the most significant place, as
// numpy.packbits() writes them.
#pragma once

#include <memory>

#include "data/format/point_source.h"

namespace kith::data {

/// The rows of `source` as bits. Values of uint8 hold eight bits each, unless ReadOptions::bits is the number of
/// columns; of any other type, each column is a bit. Bytes behind the last bit of a row must be 0. Throws Error(usage)
/// if ReadOptions::bits does not fit the columns; read() throws Error(data) with the place of the first value that is
/// no bit.
std::unique_ptr<PointSource> as_bits(std::unique_ptr<PointSource> source, const ReadOptions& options);

}  // namespace kith::data
