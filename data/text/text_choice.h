// Chooses the columns of a text table: those of the points, and among these the ones that hold numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/format/column_choice.h"
#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_encoding.h"
#include "data/text/text_head.h"

namespace kith::data {

/// The columns of the points. Row names, which pandas and R write in a column without a name, are not points, even if
/// they are numbers. Throws as choose_columns() does, or Error(data) if the table seems to begin further down.
ColumnChoice choose_text_columns(const InputBytes& input, const TextHead& head, const std::vector<std::string>& names);

/// The names of all columns; where features are made of texts, which have names, every column needs one.
std::vector<std::string> names_for(const TextHead& head);

/// The columns that are not encoded.
std::vector<std::int64_t> numbers_of(std::vector<std::int64_t> columns, const std::vector<ColumnEncoding>& encodings);

}  // namespace kith::data
