// Texts of HDF5 files: vectors and attributes. The functions that take no
// Hdf5Child use the HDF5 library: call them with one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// An open vector of texts, or something else.
struct FoundTexts {
  std::int64_t count = -1;  // of texts; -1: no vector of texts
  std::int64_t id = -1;     // of the open dataset
  bool has_na = false;      // R wrote them, with "NA" for a missing one
};
template <class Archive>
void each_field(Archive& archive, FoundTexts& found) {
  archive(found.count, found.id, found.has_na);
}

/// Throws Error(data) if it is missing or damaged.
FoundTexts find_texts(const std::string& file, const std::string& path);

/// All texts that find_texts() found. Throws Error(data) if they are damaged, or take more memory than may be used.
std::vector<std::string> read_all_texts(Hdf5Child& child, const std::string& name, const FoundTexts& found);

/// All texts of an open vector of texts. `place` is for messages.
std::vector<std::string> texts_of_vector(hid_t dataset, const std::string& place);
/// All texts of a vector, in the process that has the library; nothing if there is no such vector.
std::vector<std::string> texts_of(const Hdf5InputFile& file, const std::string& path);
/// The texts of an attribute with several; nothing if it is something else.
std::vector<std::string> texts_attribute(hid_t object, const std::string& name);

/// The text of a scalar attribute, or empty.
std::string text_attribute(hid_t object, const std::string& name);

/// The parts between line ends, as kith stores lists of texts in one attribute.
std::vector<std::string> split_lines(const std::string& text);

}  // namespace kith::data
