// What an HDF5 dataset is, learned without reading its values, and whether points can be read from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/element.h"
#include "data/hdf5/hdf5_file.h"
#include "data/shape.h"
#include "data/source.h"

namespace kith::data {

struct DatasetFacts {
  DatasetInfo info;                    // `unreadable` is about points: two dimensions
  std::optional<ElementType> element;  // if it is one of the numbers that kith reads
  std::string obstacle;                // a layout or filter that keeps the values from being read, empty if none
  bool chunked = false;
  std::vector<std::int64_t> chunk;  // as the file says, of any length

  /// Rank 2, or 1 where a vector serves as one column.
  std::int64_t rows() const { return info.shape.at(0); }
  std::int64_t columns() const { return info.shape.size() == 1 ? 1 : info.shape.at(1); }
};

/// `dataset` is open; no other file is touched, whatever its layout.
DatasetFacts inspect(const Hdf5InputFile& file, hid_t dataset, const std::string& path);

/// Why points cannot be read from it: expected, found, and a remedy. Empty if they can. Opens and reads nothing.
std::string refusal(const Hdf5InputFile& file, const DatasetFacts& facts, const ReadOptions& options);

}  // namespace kith::data
