// The datasets and sparse matrices of an HDF5 file. These functions use the HDF5 library: call them with Hdf5Child.
#pragma once

#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// All datasets and sparse matrices, in the order of the paths.
std::vector<DatasetInfo> list_open_file(const Hdf5InputFile& file);
/// All of the file; with `dataset`, that one, or those of that group. Throws Error(data) if there is none.
std::vector<DatasetInfo> list_file(const std::string& file, const std::string& dataset);
/// "/a (3 x 4, float32), /b (7, string)".
std::string show_datasets(const std::vector<DatasetInfo>& list);

/// Throws Error(data) with the command that converts it, if pandas wrote the group.
void refuse_pandas_frame(const Hdf5InputFile& file, const std::string& group);

/// The path of the only matrix of the file; if there is none and a vector may be a column, of the only vector. Throws
/// Error(data) if there is none, or more than one.
std::string only_dataset(const Hdf5InputFile& file, bool vector_as_column);

/// The path of hard links by which an object was opened.
std::string hard_link_path(hid_t object);

}  // namespace kith::data
