// Reads labels and weights, one for each row, from a result, a dataset, or a column of a text file.
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
  std::string matched_by = {};  // the column of identifiers that gave the order of the rows; empty: that of the file
};

/// Removes the values that no row has; the others keep their order.
void drop_unused_values(Labels& labels);

/// How to treat rows without a label: an empty field or text, NaN, a missing category, or a masked value.
enum class Unlabelled { refuse, keep };

/// The label with which clusterings mark rows without a label; a class may have this name.
inline constexpr const char* kNoLabel = "-1";

/// `name` is FILE:DATASET of a vector or of a matrix with one column; FILE of an HDF5 file, for its /labels;
/// FILE:/obs/NAME of a column of AnnData's obs (hdf5_groups.h); or FILE:COLUMN of a text file, as for
/// read_text_column(). Throws Error(data) for numbers that are not whole and for refused missing labels, Error(usage)
/// if the column is ambiguous. If this file and that of `of`, the rows that the labels belong to, are text tables with
/// a column of the same name that has another text in each row, rows are matched by it: Error(data) if its texts
/// differ.
Labels read_labels(const std::string& name, const ReadOptions& options, Unlabelled unlabelled = Unlabelled::refuse,
                   const std::string& of = {});

struct RowNumbers {
  std::string name;            // "sales.csv:amount", as shown and stored
  std::vector<double> values;  // (n)
  std::string matched_by = {};
};

/// `name` is FILE:DATASET of a vector of any numeric type or of a matrix with one column; or FILE:COLUMN of a text
/// file, where COLUMN is optional if there is one column or one named weight. Throws Error(data) for a text that is not
/// a number, Error(usage) if the column is ambiguous. Rows are matched with those of `of` as read_labels() does.
RowNumbers read_weights(const std::string& name, const ReadOptions& options, const std::string& of = {});

/// Weights from ReadOptions::weight_column of the points; `column` is its name as shown.
RowNumbers weights_of(const PointSource& points, const std::string& column, const ReadOptions& options);

}  // namespace kith::data
