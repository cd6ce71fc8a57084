// The row of the table of formats for delimited text: CSV, TSV and their kin, also compressed by gzip or from standard
// input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

bool is_text_table(const std::string& file);
std::unique_ptr<PointSource> open_text(const Location& location, const ReadOptions& options);

/// What the fields of one column are.
struct TextFields {
  std::string what = "label";  // or "weight"
  bool may_be_empty = false;
};

/// The texts of one column. `location.dataset` is its name or number from 1; it may be left out where there is only one
/// column, or one named as what the fields are. Throws Error(usage): no such column, or which; Error(data): empty
/// fields, unless they may be, a first line that may be a header or not.
struct TextColumn {
  std::string name;  // "iris.csv:species"
  std::vector<std::string> texts;
  std::int64_t file_bytes = 0;
};
TextColumn read_text_column(const Location& location, const ReadOptions& options, const TextFields& fields);

std::vector<DatasetInfo> list_text(const Location& place, const ReadOptions& options);

}  // namespace kith::data
