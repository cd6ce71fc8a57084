// Where the labels of an HDF5 file are, in the conventions of the programs that write them. find_labels() uses the HDF5
// library: call it with Hdf5Child.
#pragma once

#include <string>

#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// The datasets that together are one column of labels; an empty path: the column has no such part.
struct FoundLabels {
  std::string values = {};      // the labels themselves, or codes: indices into `categories`
  std::string field = {};       // `values` is a dataset of records, and this is the field of the labels
  std::string categories = {};  // the names of the codes
  bool from_one = false;        // the codes count from 1, as in R
  std::string mask = {};        // true: the row has no label
};
template <class Archive>
void each_field(Archive& archive, FoundLabels& found) {
  archive(found.values, found.field, found.categories, found.from_one, found.mask);
}

/// The labels at `path`: a vector; AnnData's categorical, nullable or older columns; or a factor of h5Seurat. Throws
/// Error(data) with the missing name, or with what is at `path`.
FoundLabels find_labels(const std::string& file, const std::string& path);

}  // namespace kith::data
