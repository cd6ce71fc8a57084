// Reads texts from HDF5 files: vectors, attributes, and categorical columns of AnnData's obs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// All texts of a vector; nullopt if it is not a vector of texts. Throws Error(data) if it is missing or damaged.
std::optional<std::vector<std::string>> read_texts(const Hdf5InputFile& file, const std::string& path);

/// Whether the object is a group with `codes`, which are indices into its `categories`.
bool is_categorical(const Hdf5InputFile& file, const std::string& path);

/// The text of a scalar attribute, or empty.
std::string text_attribute(hid_t object, const std::string& name);

/// The parts between line ends, as kith stores lists of texts in one attribute.
std::vector<std::string> split_lines(const std::string& text);

}  // namespace kith::data
