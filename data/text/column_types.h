// What the columns of a text table hold, from all of its rows: types, ranges, missing and distinct values, examples.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/location.h"
#include "data/text/text_number.h"

namespace kith::data {

/// number: numbers that distances can use. category: few texts that repeat. identifier: numbers or texts that only name
/// a row. time: times of day or durations. text: many texts, or texts among numbers. constant: one value. empty:
/// missing values only.
enum class ColumnType { number, yesno, date, time, category, identifier, text, constant, empty };
/// "number", "yes/no", "date", "time", "few texts", "identifier", "free text", "constant", "empty"
const char* name_of(ColumnType type);

/// One column; missing values count for `missing` alone.
struct ColumnProfile {
  std::int64_t column = 0;  // of the file, counted from 0
  std::string name;         // its number from 1 in a table without names
  ColumnType type = ColumnType::empty;
  std::string why;  // of the type, for people: "12 different texts"
  std::int64_t missing = 0;
  std::int64_t distinct = 0;       // different values
  bool has_more_distinct = false;  // `distinct` were counted before counting ended
  int names_rows = 0;              // 1: an identifier that is a text, different in all rows; 2: one whose name says so
  bool reads_as_number = false;    // every value, with the options of the table
  bool has_few_words = false;      // most of its values are numbers, and some are words
  std::string unit;                // of every value, which is a number beside it; empty: none
  std::string number_options;      // that read every value as a number, if the options of the table do not
  std::uint64_t fingerprint = 0;   // equal of columns with the same text in each row
  bool is_code = false;            // its numbers have leading zeros, as 01234 has
  bool is_ordered = false;         // its few texts are answers of a scale, or ranges
  std::string far_value;           // a number such as -999, far from all others, which are between these; empty: none
  std::pair<double, double> rest;
  std::string date_order;               // of a date, if both orders can be read and differ: "day or month first"
  double minimum = 0.0, maximum = 0.0;  // of numbers; of dates in days since 1970
  std::vector<std::pair<std::string, std::int64_t>> commonest;  // up to three values, the most frequent first
  std::vector<std::string> examples;                            // up to three different values, the first rows first
  /// Whether distances can use its values as they are, or without their unit.
  bool is_number() const { return reads_as_number || (!unit.empty() && number_options.empty()); }
};

struct TableProfile {
  std::int64_t rows = 0;
  std::vector<ColumnProfile> columns;  // all of the file, in its order
  std::vector<std::int64_t> points;    // those that the options choose, in their order
  std::vector<std::string> names;      // of all columns of the file; none without a header
  /// The options --decimal and --thousands that read the most columns as numbers, "--decimal comma"; empty: those that
  /// the table is read with.
  std::string number_options;
  NumberStyle numbers;  // of these options
  /// A column of the points whose numbers may be read in two ways, with both as options, for an error; empty: none.
  std::string unclear;
  std::vector<std::string> missing_texts;  // words that stand for missing values, besides those of the options
  std::int64_t skip_lines = 0;             // before the table: the option, or as many as hold a title
};

/// Reads all rows, in parallel, with memory for some values of each column; of several tables of the same columns, with
/// a copy of their rows. Throws as open_text() does for files that
/// are no tables, but not for columns that hold no numbers. If `options` describe plain numbers, tries other styles.
TableProfile profile_table(const std::vector<Location>& tables, const ReadOptions& options);

}  // namespace kith::data
