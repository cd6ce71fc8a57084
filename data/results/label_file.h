// Writes labels in the formats of other programs: CSV, NumPy, and a column of AnnData's obs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/output_file.h"

namespace kith::data {

enum class LabelFormat { none, csv, numpy, lines };
/// The text in quotes if it would otherwise not be read back as one field.
std::string csv_field(const std::string& text);

/// From the ending of the name: .csv or .npy, else none; lines for "-", standard output.
LabelFormat label_format(const std::string& path);

/// One line of CSV per row: its id or its number from 0, its label, and the columns that are not empty. A row with the
/// label -1, which means none, has an empty distance.
struct LabelTable {
  std::span<const std::int32_t> labels;
  std::vector<std::string> ids = {};
  std::string id_name = {};                 // of their column; empty: "id"
  std::vector<std::string> known = {};      // the labels of --label-column
  std::vector<std::string> distances = {};  // as text, rounded to their class
  std::span<const std::string> names = {};  // of the labels; empty: their numbers. Arrays hold numbers only.
};

/// Writes the bytes of the text table `points`, whose header and rows get the label and, if there are any, the
/// distance, in columns with names that the table does not have. Ids and known labels are in the table itself. Throws
/// Error(output).
void write_appended(const std::string& path, const OutputOptions& options, const PointSource& points,
                    const LabelTable& table);

/// Writes the format of the ending of `path`; an array holds only the labels, as int32. The file appears when it is
/// complete. Throws Error(output).
void write_labels(const std::string& path, const OutputOptions& options, const LabelTable& table);

/// One line of CSV per row: its id or its number from 0, and a number of each column, in the shortest digits that give
/// it back. Throws Error(output).
struct NumberColumn {
  std::string name;
  std::span<const double> values;
};
void write_columns(const std::string& path, const OutputOptions& options, const std::vector<std::string>& ids,
                   const std::string& id_name, const std::vector<NumberColumn>& columns);

/// Throws Error(data) unless the file is an AnnData file whose obs has `rows` rows and no column of this name.
void check_obs(const std::string& file, const std::string& column, std::int64_t rows);

/// Labels to be added as a categorical column of obs to a copy of the file `from`.
struct ObsColumn {
  std::string from;
  std::string name;
  std::span<const std::int32_t> labels;
  std::int64_t categories = 0;  // every label is below; -1: none
};
/// Writes the copy with the new column, and does not modify the file itself. Throws Error(output).
void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column);

}  // namespace kith::data
