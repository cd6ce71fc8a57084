// Columns that hold text, and the messages about them and about records of another length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"
#include "data/text/text_record.h"

namespace kith::data {

/// Whether the text stands for a missing value: an empty field, what programs write for one, or one of
/// ReadOptions::missing_texts.
bool is_missing(const TextHead& head, std::string_view text);

/// The same for a column whose texts are encoded: without --nan a text such as "n/a" is a category like any other.
bool is_missing_category(const TextHead& head, std::string_view text, Missing missing);

/// Whether the text is neither a number nor one of another style.
bool is_text_field(const TextHead& head, const std::string& field);

/// Those of `columns` that hold text in all of the first rows.
std::vector<std::int64_t> text_columns(const TextHead& head, const std::vector<std::int64_t>& columns, Missing missing);

/// Columns in ascending order, as a list for --drop-columns.
std::string column_list(const TextHead& head, const std::vector<std::int64_t>& columns);

/// The option that leaves out these columns, in ascending order, besides those that are left out already.
std::string drop_option(const TextHead& head, const std::vector<std::int64_t>& columns);

/// Throws Error(data) that names these columns, at least one of `points` columns, which hold text.
[[noreturn]] void refuse_text_columns(const TextHead& head, const std::vector<std::int64_t>& columns,
                                      std::size_t points, const std::string& name);

/// The options that read this text of a column as a number, and those in the first rows of the column, which may have
/// units: two with "or" between them if its mark may be either; empty if none do, or if the table was read with them.
std::string style_for(const TextHead& head, std::int64_t column, const std::string& text);

/// The question what a mark is that may separate decimals or thousands, which ends with "; say ".
std::string question_about(char mark, const std::string& text, const std::vector<std::string>& names,
                           std::int64_t column);

/// Throws Error(data) that asks about a column of `columns` in which points may separate thousands, unless other
/// columns of the table say that they do not; in the part of the table that refuse_faulty_columns() reads. Returns
/// those of which only other columns say it.
std::vector<std::int64_t> refuse_unclear_points(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                                const std::vector<std::int64_t>& columns);

/// "; if line 1 names the columns, say --header yes", for messages about the first line where that is not decided;
/// empty for other lines.
std::string or_header(const TextHead& head, std::int64_t line);

/// Throws Error(data) about a record with a quote that has no end. `line` is counted from 1.
[[noreturn]] void refuse_unclosed(const std::string& name, const TextHead& head, std::string_view record,
                                  std::int64_t line);

/// Whether the fields at the end of a record are empty ones that the header lacks.
inline bool ends_empty(const TextHead& head, FieldCursor cursor) {
  while (head.may_end_empty && cursor.more()) {
    const Field field = cursor.take();
    if (field.quoted || !field.text.empty()) return false;
  }
  return !cursor.more();
}

/// The record without empty fields at its end that the header lacks.
std::string_view without_surplus(const TextHead& head, std::string_view record);

/// Throws Error(data) about a row with a word in each column, which may begin another table. `line` is counted from 1.
[[noreturn]] void refuse_row_of_words(const std::string& name, std::int64_t line);

/// Throws Error(data) about a record with another number of fields than the head. `line` is counted from 1.
[[noreturn]] void refuse_length(const InputBytes& input, const TextHead& head, std::string_view record,
                                std::int64_t line);

/// The lines before a table that begins behind lines which are no part of it; 0 if it begins in the first line. For use
/// where signs say that the first line is none of the table.
std::int64_t lines_before(const InputBytes& input, const TextHead& head);

/// Throws Error(data) that proposes --skip-lines if the table begins behind lines that are no part of it. For use where
/// the file cannot be read as it is.
void refuse_lines_before(const InputBytes& input, const TextHead& head);

/// Throws Error(data) if the first lines have columns of fixed width, for which blanks are no delimiters.
void refuse_fixed_width(const InputBytes& input, const TextHead& head);

/// The command that removes the only quotation mark of a line.
std::string stray_quote_command(std::int64_t line);

/// "; or, if the table ends above it, cut it off: ..." for a line among the last ones; empty for others.
std::string or_cut(const InputBytes& input, const TextHead& head, const TextIndex& index, std::int64_t line);

/// Remarks on the first and the last row that have a word for sums. Adds one to those of the table if the last row has
/// another word in a column of numbers.
std::vector<std::string> remarks_on_totals(const InputBytes& input, TextHead& head, const TextIndex& index);

// All columns of a text table that cannot be points as they are, in one message with the options that read the table.

/// Reads the table from its beginning, at most 256 MiB, and throws Error(data) if several of the columns `points`
/// (counted from 0, ascending or not) hold text, missing values or numbers of another style, and not only text in the
/// columns `named`, which another message names; also if only one holds words. `options`: those by which the table was
/// opened.
void refuse_faulty_columns(const InputBytes& input, const TextHead& head, const TextIndex& index,
                           const std::vector<std::int64_t>& points, const std::vector<std::int64_t>& named,
                           const ReadOptions& options);

/// Those of the columns that hold words, ascending, in the part of the table that refuse_faulty_columns() reads.
std::vector<std::int64_t> columns_with_words(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                             const std::vector<std::int64_t>& columns);

/// The columns whose fields are numbers or missing, ascending, without columns of missing values alone; in the part of
/// the table that refuse_faulty_columns() reads.
std::vector<std::int64_t> numeric_columns(const InputBytes& input, const TextHead& head);

}  // namespace kith::data
