// What the first lines of a text table say: its delimiter, whether a line names the columns, and other forms of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
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
  bool may_be_thousands = false;           // points in numbers, if other signs say so: no option says what they are
  std::vector<std::string> missing_texts;  // ReadOptions::missing_texts
  std::vector<std::string> remarks;        // about lines that may have another meaning
  ReadOptions options;                     // that it was read with
  std::int64_t not_utf8 = 0;               // the first of the first lines that is in another encoding; 0: none
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

struct FirstRecord {
  std::int64_t number;      // of its first line, counted from 1
  std::int64_t last;        // of its last line
  std::int64_t begin, end;  // in the file, line end included
  std::string text;
};

struct FirstRecords {
  std::vector<FirstRecord> lines;
  std::vector<SkippedLines> skipped;    // before each of them
  std::string comments;                 // lines before the first record
  std::optional<FirstRecord> unclosed;  // the last record, which a quote without an end makes of all lines that follow
  bool has_quotes = false;              // quotation marks, which may hide line ends
  std::int64_t quoted_fields = 0;       // between quotes on one line
};

/// The first records behind `skip_lines` lines, at most `count`. Throws Error(data) if there are no such lines, if line
/// ends are unknown or records too long, or if the text has a known form that is no table.
FirstRecords first_records(const InputBytes& input, const TextSyntax& syntax, std::int64_t skip_lines,
                           std::size_t count);

enum class FirstLine { row, names, unclear };

struct FirstLineChoice {
  FirstLine is = FirstLine::row;
  /// Of a line that is unclear, or whose names look like values: what it has in common with names, as in "counts up
  /// from 0".
  std::string why = {};
};

/// What judge_first_line() compares: the fields of the first line, and the first rows below it.
struct FirstFields {
  const std::vector<std::string>& first;
  const std::vector<const std::vector<std::string>*>& rows;
  NumberStyle numbers;
  const std::vector<std::string>& missing_texts;  // ReadOptions::missing_texts
  bool is_shorter = false;  // the line had one field less than the rows; `first` begins with an empty field for it
};

/// A line of words is a header. One with numbers is a header if all of them are what names can be and no row below is
/// like it: whole numbers that count from 0, are equally spaced or are years, above fractions or other magnitudes; it
/// is unclear if only some signs say so; and else a row.
FirstLineChoice judge_first_line(const FirstFields& fields);

/// What a column with a row of bits in each field holds, and the command that makes a file of bits of it; empty for
/// others.
std::string bits_in_column(const TextHead& head, std::int64_t column);

/// What the text is and the command that converts it, "an ARFF file; convert it: ..."; empty if it may be a
/// table. `begin`: the first bytes of the text, whole or at least a few lines.
std::string foreign_text(std::string_view begin);

}  // namespace kith::data
