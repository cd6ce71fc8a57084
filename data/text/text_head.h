// What the first lines of a text file say about the rest: delimiter, header, number of columns, names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/io/input_bytes.h"
#include "data/source.h"

namespace kith::data {

struct TextHead {
  char delimiter = ',';  // kBlanks: runs of blanks and tabs
  std::int64_t columns = 0;
  std::vector<std::string> names;  // one for each column, or none
  bool row_names = false;          // the first column has no name in a header, as pandas and R write row names
  std::int64_t first_line = 0;     // of the table, counted from 1
  std::int64_t rows_at = 0;        // where the first row's bytes begin, or a line before it that is no record
  std::int64_t lines_before = 0;   // lines before that place
  struct Sample {
    std::int64_t line = 0;  // counted from 1
    std::vector<std::string> fields;
  };
  std::vector<Sample> samples;  // the first rows
};

/// Throws Error(data): no rows, text of another kind, a header that may or may not be one.
TextHead read_head(const InputBytes& input, const ReadOptions& options);

/// "comma-separated", ...
std::string name_of_delimiter(char delimiter);

}  // namespace kith::data
