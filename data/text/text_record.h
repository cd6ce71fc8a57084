// Splits delimited text into records and fields, with quotes and comments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/points/matrix.h"
#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_number.h"

namespace kith::data {

struct TextHead;

constexpr char kBlanks = ' ';  // as a delimiter: any run of blanks and tabs; ignored at both ends of a line

/// What separates fields, and which lines are no records.
struct TextSyntax {
  char delimiter = ',';
  bool quotes = true;          // a field may stand between quotation marks; else they are characters like others
  char comment = '\0';         // lines that begin with it are skipped; '\0': none are
  bool comments_lead = false;  // skipped before the first record only
};

/// Iterates over records. A record ends at the end of its line, except for line ends between the quotes of a field.
/// Blank lines and comments are not records.
class RecordCursor {
 public:
  /// `whole`: the bytes include the end of the text. Otherwise a last record without a line end is not returned.
  RecordCursor(std::string_view bytes, const TextSyntax& syntax, bool whole);
  /// Sets `record` to the next record, without its line end. Returns false if there is none.
  bool next(std::string_view& record);
  std::int64_t passed() const { return at_ - begin_; }  // bytes up to the end of the last record
  std::int64_t line() const { return line_; }           // first line of the last record, counted from 0
  std::int64_t lines_passed() const { return next_line_; }
  std::int64_t comments() const { return comments_; }  // passed so far
  std::int64_t blank_lines() const { return blank_lines_; }
  bool spans_lines() const { return next_line_ > line_ + 1; }  // the last record
  bool is_unclosed() const { return unclosed_; }               // the last record: a quote in it has no end
  /// Fields passed so far between quotes that begin and end on one line.
  std::int64_t quoted_fields() const { return quoted_fields_; }

 private:
  /// The end of the record at `at_`, whose first line ends at `stop`; counts its lines. Null if the bytes end before.
  const char* end_of_record(const char* stop, std::int64_t& lines);
  bool opens_field(const char* quote) const;

  const char* begin_;
  const char* at_;
  const char* end_;
  TextSyntax syntax_;
  bool whole_;
  bool quotes_;  // whether there are any
  bool unclosed_ = false;
  std::int64_t quoted_fields_ = 0;
  std::int64_t comments_ = 0;
  std::int64_t blank_lines_ = 0;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 0;
};

/// A field of a record: the text between delimiters or quotes, without surrounding blanks.
struct Field {
  std::string_view text;
  bool quoted = false;
  const char* problem = nullptr;  // an error in its quotes, else null
};

/// Iterates over the fields of a record. Inline because it is called for every value of a file.
class FieldCursor {
 public:
  FieldCursor(std::string_view record, const TextSyntax& syntax)
      : at_(record.data()), end_(record.data() + record.size()), delimiter_(syntax.delimiter), quotes_(syntax.quotes) {
    if (delimiter_ != kBlanks) return;
    while (at_ < end_ && is_blank(end_[-1])) --end_;
    skip_blanks();
  }
  bool more() const { return more_; }
  const char* at() const { return at_; }
  const char* end() const { return end_; }
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && delimiter_ != '\t'); }
  void skip_blanks() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
  }
  /// If a delimiter or the end of the record follows `stop`, the end of the current field's text, moves past it.
  bool finish(const char* stop) {
    const char* before = at_;
    at_ = stop;
    skip_blanks();
    if (at_ == end_) {
      more_ = false;
      return true;
    }
    if (delimiter_ == kBlanks ? at_ > stop : *at_ == delimiter_) {
      if (delimiter_ != kBlanks) ++at_;
      return true;
    }
    at_ = before;
    return false;
  }
  /// Returns the current field and moves past it.
  Field take();

 private:
  Field take_quoted();

  const char* at_;
  const char* end_;
  char delimiter_;
  bool quotes_;
  bool more_ = true;
};

/// The fields as text in UTF-8 (utf8_of()), with doubled quotes replaced by single ones.
std::vector<std::string> fields_of(std::string_view record, const TextSyntax& syntax);
std::string text_of(const Field& field);
/// Their number, up to `most`.
std::int64_t count_fields(std::string_view record, const TextSyntax& syntax, std::int64_t most);
/// The share of the lines of a record that have `columns` fields where quotation marks are characters like others.
double lines_like_records(std::string_view record, TextSyntax syntax, std::int64_t columns);

// Splits a text file into blocks of whole records, in one pass.

struct TextBlock {
  std::int64_t at = 0;  // position in the file
  std::int64_t bytes = 0;
  std::int64_t row = 0;    // number of its first row
  std::int64_t lines = 0;  // lines of the file before it
};

struct TextIndex {
  std::vector<TextBlock> blocks;
  std::int64_t rows = 0;
  std::int64_t longest = 0;  // bytes of the largest block
  SkippedLines skipped;      // after the head
};

/// Reads all bytes after the head. Throws Error(data) if a record is too long.
TextIndex index_text(const InputBytes& input, const TextHead& head);

/// PointSource::visit_text(): the bytes of the table, without delimiters at the end of a line that are no columns.
void visit_text(const InputBytes& input, const TextHead& head, const TextIndex& index,
                const std::function<void(TextPart, std::string_view)>& visit);

/// Calls visit(record, row, line) for every record of a block. The record is valid as long as `buffer`, and so are
/// kShortNumberBytes bytes behind it.
template <class Visit>
void for_records(const InputBytes& input, const TextSyntax& syntax, const TextBlock& block, Matrix<std::byte>& buffer,
                 const Visit& visit) {
  if (buffer.columns() < block.bytes + kShortNumberBytes)
    buffer = Matrix<std::byte>(1, block.bytes + kShortNumberBytes);
  input.read(block.at, block.bytes, buffer.data());
  std::fill_n(buffer.data() + block.bytes, kShortNumberBytes, std::byte{0});
  RecordCursor cursor({reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(block.bytes)}, syntax,
                      true);
  std::int64_t row = block.row;
  for (std::string_view record; cursor.next(record); ++row) visit(record, row, block.lines + cursor.line() + 1);
}

/// The same for every record of the file.
template <class Visit>
void for_records(const InputBytes& input, const TextSyntax& syntax, const TextIndex& index, const Visit& visit) {
  Matrix<std::byte> buffer;
  for (const TextBlock& block : index.blocks) for_records(input, syntax, block, buffer, visit);
}

// Lines of numbers that are no table: the words of each line, and the refusal of a line.

/// The lines of a file without blank ones and those that begin with `comment`.
class NumberLines {
 public:
  NumberLines(InputBytes input, char comment);

  const InputBytes& input() const { return input_; }
  std::int64_t count() const { return index_.rows; }
  /// Calls visit(line, number) for each, with its number in the file, counted from 1.
  template <class Visit>
  void visit(const Visit& visit) const {
    for_records(input_, syntax_, index_,
                [&visit](std::string_view text, std::int64_t, std::int64_t number) { visit(text, number); });
    input_.check_unchanged();
  }
  /// Throws Error(data) about the line with this number.
  [[noreturn]] void refuse(std::int64_t number, const std::string& problem) const;

 private:
  InputBytes input_;
  TextSyntax syntax_;
  TextIndex index_;
};

/// Takes the first word from `text`, up to a blank; empty at the end.
inline std::string_view take_word(std::string_view& text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t begin = 0;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

}  // namespace kith::data
