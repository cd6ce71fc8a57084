// The properties of an HDF5 dataset, found without reading its values, and whether it can be read as points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/format/element.h"
#include "data/format/point_source.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

struct DatasetFacts {
  DatasetInfo info;                    // `unreadable` applies to points of two dimensions
  std::optional<ElementType> element;  // if kith can read the type
  std::string obstacle;                // the layout or filter that makes the values unreadable, empty if none
  bool chunked = false;
  std::vector<std::int64_t> chunk;  // its shape as in the file, unchecked

  /// For rank 2, or rank 1 as one column.
  std::int64_t rows() const { return info.shape.at(0); }
  std::int64_t columns() const { return info.shape.size() == 1 ? 1 : info.shape.at(1); }
};

/// `dataset` is open. Accesses no other file, for any layout.
DatasetFacts inspect(const Hdf5InputFile& file, hid_t dataset, const std::string& path);

/// Why it cannot be read as points: expected, found, and a remedy. Empty if it can. Accesses no file.
std::string refusal(const Hdf5InputFile& file, const DatasetFacts& facts, const ReadOptions& options);

}  // namespace kith::data
