// The marks of an HDF5 dataset on its numbers: attributes of NetCDF and of R. It uses the HDF5 library: call it with
// Hdf5Child.
#pragma once

#include <cstdint>
#include <string>

#include "data/format/value_marks.h"
#include "data/hdf5/hdf5_handle.h"

namespace kith::data {

/// NA among the booleans of R, FALSE, TRUE and NA.
inline constexpr std::uint8_t kNoneOfBooleans = 2;

/// The marks of a dataset of numbers. Changes the sign of `type` if the attribute _Unsigned does. Sets `problem` if the
/// attributes cannot be understood. The fill value of HDF5 itself is what unwritten values are, and no mark, but for
/// the default of NetCDF in its files.
ValueMarks marks_of(hid_t dataset, ElementType& type, std::string& problem);

}  // namespace kith::data
