// Delimited text such as CSV and TSV, also compressed with gzip or from standard input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_text_table(const std::string& file);
std::unique_ptr<PointSource> open_text(const Location& location, const ReadOptions& options);

/// The meaning of the fields of one column.
struct TextFields {
  std::string what = "label";  // or "weight"
  bool may_be_empty = false;
};

/// One column of a text file, as texts.
struct TextColumn {
  std::string name;  // "iris.csv:species"
  std::vector<std::string> texts;
  std::int64_t file_bytes = 0;
};

/// Reads one column. `location.dataset` is its name or number from 1, optional if there is one column or one named
/// `fields.what`. Throws Error(usage) if the column does not exist or is ambiguous; Error(data) for empty fields that
/// are not allowed, and if it is unclear whether the first line is a header.
TextColumn read_text_column(const Location& location, const ReadOptions& options, const TextFields& fields);

std::vector<DatasetInfo> list_text(const Location& location, const ReadOptions& options);

}  // namespace kith::data
