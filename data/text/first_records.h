// The first records of a text file, from which its form is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_record.h"

namespace kith::data {

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

}  // namespace kith::data
