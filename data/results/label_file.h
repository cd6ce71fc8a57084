// Labels in files of other programs: CSV, NumPy, and a column of AnnData's obs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/results/result.h"

namespace kith::data {

enum class LabelFormat { none, csv, numpy };
/// By the ending of the name: .csv, .npy, or none of these.
LabelFormat label_format(const std::string& path);

/// A line of CSV for each row: its id, or number from 0; its label; and what else is there. Empty columns are left out.
/// A row without a label has -1; its label and distance are empty fields.
struct LabelTable {
  std::span<const std::int32_t> labels;
  std::vector<std::string> ids = {};
  std::vector<std::string> known = {};      // labels of --label-column
  std::vector<std::string> distances = {};  // as text, rounded to their class
};

/// Writes them as the ending of `path` says; an array holds nothing but the labels, int32. The file appears when it is
/// whole. Throws Error(output).
void write_labels(const std::string& path, const OutputOptions& options, const LabelTable& table);

/// Throws Error(data) unless the file is AnnData's whose obs has `rows` rows and no column of this name.
void check_obs(const std::string& file, const std::string& column, std::int64_t rows);

/// A copy of the file `from`, to which the labels are added as a categorical column of obs; the file itself is not
/// touched. Throws Error(output).
struct ObsColumn {
  std::string from;
  std::string name;
  std::span<const std::int32_t> labels;
  std::int64_t categories = 0;  // labels are below; -1: none
};
void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column);

}  // namespace kith::data
