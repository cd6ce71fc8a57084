// Checksums in results of kith: attributes that say what a dataset, and the file as a whole, must contain. These
// functions use the HDF5 library: for a file to be read, call them with Hdf5Child.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// The attribute of datasets and of the root that holds a CRC-32 as int64.
inline constexpr const char* kChecksumName = "crc32";

/// The stored checksum of an object, if it has one.
std::optional<std::int64_t> stored_checksum(hid_t object);

/// CRC-32 of the values of a dataset, row after row, as their bytes are in the file before filters. Nullopt if they
/// cannot be read; hdf5_reason() tells why.
std::optional<std::int64_t> dataset_checksum(hid_t dataset);

/// CRC-32 of all that is not in datasets: names and values of the root's attributes in the order of their names; then,
/// for every object in the order of the names, its path, shape and stored checksum. Every text ends with a zero byte.
/// Nullopt if it cannot be read.
std::optional<std::int64_t> head_checksum(hid_t root);

/// Throws Error(data) if the dataset has a checksum that its values contradict. Points, which can be large, are not
/// checked.
void verify_dataset(const Hdf5InputFile& file, hid_t dataset, const std::string& path);

/// Throws Error(data) if the root has a checksum that the attributes or the list of datasets contradict.
void verify_head(const Hdf5InputFile& file);

/// Compares all datasets and attributes of a result with their checksums, and returns the number of datasets. Throws
/// Error(data) if anything differs, or if the file has no checksums.
std::int64_t verify_file(const std::string& file);

/// The path of the first object of the original that is not the same in a copy to which something was added; empty if
/// all are: their places, sizes, numbers of members, texts, and numbers without filters. Each group in `extended`,
/// "." for the root, has so many more members in the copy, and another value of `attribute`. Both files are open.
/// Throws Error(data) if texts cannot be read.
std::string find_change(hid_t original, hid_t copy, const std::map<std::string, std::int64_t>& extended,
                        const std::string& attribute);

}  // namespace kith::data
