// Splits delimited text into records and fields, with quotes and comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith::data {

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

/// The fields as text, with doubled quotes replaced by single ones.
std::vector<std::string> fields_of(std::string_view record, const TextSyntax& syntax);
std::string text_of(const Field& field);
/// Their number, up to `most`.
std::int64_t count_fields(std::string_view record, const TextSyntax& syntax, std::int64_t most);
/// Whether each line of a record that spans lines has `columns` fields where quotation marks are characters like
/// others.
bool lines_are_records(std::string_view record, TextSyntax syntax, std::int64_t columns);

}  // namespace kith::data
