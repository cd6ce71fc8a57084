// Reading labels: one for each row, whole numbers or texts, from a result, a dataset, or a column of a text file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

struct Labels {
  std::string name;                 // "iris.csv:species", as shown and stored
  std::vector<std::int32_t> codes;  // (n) the label of each row, as a place in `values`
  /// Every label once: numbers by value, texts by their bytes, categories in the order of the file.
  std::vector<std::string> values;
  std::int64_t file_bytes = 0;  // read from the file
};

/// What becomes of rows without a label, whose field or text is empty or whose category is missing.
enum class Unlabelled { refuse, minus_one };

/// The label of rows that have none.
inline constexpr const char* kNoLabel = "-1";

/// `location` is FILE:DATASET of a vector, or of a matrix with one column; of an HDF5 file alone, /labels; a column
/// of AnnData's obs, FILE:/obs/NAME; FILE:COLUMN of a text file, as read_text_column() says. Throws Error(data) for
/// numbers that are not whole and for missing labels that are refused, Error(usage) where the column is in doubt.
Labels read_labels(const std::string& location, const ReadOptions& options, Unlabelled unlabelled = Unlabelled::refuse);

}  // namespace kith::data
