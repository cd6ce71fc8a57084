// Data frames of AnnData: a group with a vector for each column, which are read side by side as points.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/format/records.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// A column of a data frame.
struct FrameColumn {
  RecordField field;         // its name, and its type if kith can read it as numbers
  std::string values, mask;  // paths of datasets; an empty mask: no value is missing
};

struct FrameGroup {
  std::string path;  // "/obsm/df"
  std::vector<FrameColumn> columns;
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, FrameColumn& column) {
  archive(column.field, column.values, column.mask);
}
template <class Archive>
void each_field(Archive& archive, FrameGroup& group) {
  archive(group.path, group.columns);
}

/// The data frame in the group at `path`, without its index; nullopt if there is none. Throws Error(data) if it is
/// damaged or has no columns. It uses the HDF5 library: call it with Hdf5Child.
std::optional<FrameGroup> frame_group(const Hdf5InputFile& file, const std::string& path);

/// Opens its columns, or those that the options choose. Throws Error(data) with the option that leaves out columns
/// without numbers, and if the columns differ in length.
std::unique_ptr<PointSource> open_frame(const std::string& file, const FrameGroup& group, const ReadOptions& options);

}  // namespace kith::data
