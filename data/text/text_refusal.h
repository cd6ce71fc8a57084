// Columns that hold text, and the messages about them and about records of another length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"

namespace kith::data {

/// Whether the text stands for a missing value: an empty field, what programs write for one, or one of
/// ReadOptions::missing_texts.
bool is_missing(const TextHead& head, std::string_view text);

/// Whether the text is neither a number nor one of another style.
bool is_text_field(const TextHead& head, const std::string& field);

/// What to do with a column of dates, beside leaving it out.
std::string remedy_for_dates(const TextHead& head, std::int64_t column);

/// Those of `columns` that hold text in all of the first rows.
std::vector<std::int64_t> text_columns(const TextHead& head, const std::vector<std::int64_t>& columns, Missing missing);

/// Columns in ascending order, as a list for --drop-columns.
std::string column_list(const TextHead& head, const std::vector<std::int64_t>& columns);

/// Throws Error(data) that names these columns, at least one, which hold text.
[[noreturn]] void refuse_text_columns(const TextHead& head, const std::vector<std::int64_t>& columns,
                                      const std::string& name);

/// Throws Error(data) about a record with another number of fields than the head. `line` is counted from 1.
[[noreturn]] void refuse_length(const InputBytes& input, const TextHead& head, std::string_view record,
                                std::int64_t line);

}  // namespace kith::data
