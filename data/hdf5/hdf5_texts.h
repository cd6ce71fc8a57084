// Texts in HDF5 files: vectors of them, and columns of AnnData's obs that are categories.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// All texts of a vector; nothing when the object is none. Throws Error(data): missing, or damaged.
std::optional<std::vector<std::string>> read_texts(const Hdf5InputFile& file, const std::string& path);

/// Is it a group with `codes` that count through `categories`?
bool is_categorical(const Hdf5InputFile& file, const std::string& path);

}  // namespace kith::data
