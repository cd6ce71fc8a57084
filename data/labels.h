// Reads labels, one whole number or text per row, from a result, a dataset, or a column of a text file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

struct Labels {
  std::string name;  // "iris.csv:species", as shown and stored
  /// (n) the label of each row, as an index into `values`; -1: the row has none.
  std::vector<std::int32_t> codes;
  /// The distinct labels: numbers sorted by value, texts by their bytes, categories in the order of the file.
  std::vector<std::string> values;
  std::int64_t file_bytes = 0;  // size in the file
};

/// How to treat rows without a label: an empty field or text, NaN, a missing category, or a masked value.
enum class Unlabelled { refuse, keep };

/// The label with which clusterings mark rows without a label; a class may have this name.
inline constexpr const char* kNoLabel = "-1";

/// `name` is FILE:DATASET of a vector or of a matrix with one column; FILE of an HDF5 file, for its /labels;
/// FILE:/obs/NAME of a column of AnnData's obs (hdf5_labels.h); or FILE:COLUMN of a text file, as for
/// read_text_column(). Throws Error(data) for numbers that are not whole and for refused missing labels, Error(usage)
/// if the column is ambiguous.
Labels read_labels(const std::string& name, const ReadOptions& options, Unlabelled unlabelled = Unlabelled::refuse);

}  // namespace kith::data
