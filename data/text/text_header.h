// Decides whether the first line of a table names its columns, by what stands below it.
#pragma once

#include <string>
#include <vector>

#include "data/text/text_number.h"

namespace kith::data {

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

}  // namespace kith::data
