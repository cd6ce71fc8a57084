// Detects the structure of a text file from its first lines: delimiter, header, number of columns, names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/missing_texts.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"

namespace kith::data {

struct TextHead {
  TextSyntax syntax;  // of the rows; delimiter kBlanks: runs of blanks and tabs
  std::int64_t columns = 0;
  std::vector<std::string> names;  // one for each column, or none
  bool row_names = false;          // the header has no name for the first column, as pandas and R write row names
  std::string header_option;       // "--header yes " for commands that a message proposes, if signs decided
  bool may_end_empty = false;      // rows may have more fields than the header, which are empty and no columns
  std::int64_t first_line = 0;     // of the table, counted from 1
  std::int64_t header_at = 0;      // position of the line with the names, and its bytes without the line end
  std::int64_t header_bytes = 0;
  std::int64_t rows_at = 0;       // position of the first row, or of blank lines or comments before it
  std::int64_t lines_before = 0;  // lines before that position
  SkippedLines skipped;           // before that position
  NumberStyle numbers;
  std::vector<std::string> missing_texts;  // ReadOptions::missing_texts
  std::vector<std::string> remarks;        // about lines that may have another meaning
  ReadOptions options;                     // that it was read with
  std::int64_t quoted_fields = 0;          // of the header: between quotes on one line
  bool spans_lines = false;                // the header, whose lines may be rows: a field between quotes
  struct Sample {
    std::int64_t line = 0;  // counted from 1
    std::vector<std::string> fields;
  };
  std::vector<Sample> samples;  // the first rows
};

/// Throws Error(data) if there are no rows, if the text is not a table or of a known other format, or if it is unclear
/// whether there is a header.
TextHead read_head(const InputBytes& input, const ReadOptions& options);

/// "comma-separated", ...
std::string name_of_delimiter(char delimiter);

}  // namespace kith::data
