// The filters that kith adds to the HDF5 library for reading.
#pragma once

namespace kith::data {

/// Registers lzf and, if kith was built with libzstd, zstd. For texts and whatever else the library itself reads;
/// points are decoded by ChunkDecoder. Nothing is compressed with them: what kith writes stays as it is.
void register_filters();

}  // namespace kith::data
