// Compares two HDF5 files: the original, and a copy to which something was added.
#pragma once

#include <hdf5.h>

#include <string>

namespace kith::data {

/// What the copy has and the original has not: a link in a group, and an attribute of that group that was replaced.
struct Addition {
  std::string group;
  std::string link;
  std::string attribute;
};

/// The path of the first object that is not the same in both files, with what differs; empty if all are the same:
/// links, types, shapes, layouts, attributes and values. Compressed chunks are compared as they are stored. Both files
/// must be open with the reading driver (data/hdf5/hdf5_driver.h).
std::string find_difference(hid_t original, hid_t copy, const Addition& addition);

}  // namespace kith::data
