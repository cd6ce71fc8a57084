// Records and fields of delimited text: lines, quotes, comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith::data {

constexpr char kBlanks = ' ';  // as a delimiter: any run of blanks and tabs, also at the ends of a line

/// Goes from record to record. A record ends with its line, or later where a line end stands between quotes. Lines that
/// are empty, blank, or begin with # are none.
class RecordCursor {
 public:
  /// `whole`: the text ends where the bytes end; else its last, perhaps unfinished record is not given.
  RecordCursor(std::string_view bytes, char delimiter, bool whole);
  /// The next record, without its line end; false when there is none.
  bool next(std::string_view& record);
  std::int64_t passed() const { return at_ - begin_; }  // bytes up to the end of the last record
  std::int64_t line() const { return line_; }           // that the last record begins in, counted from 0
  std::int64_t lines_passed() const { return next_line_; }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
  char delimiter_;
  bool whole_;
  bool quotes_;  // is there any?
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 0;
};

/// A field of a record: what stands between delimiters or quotes, without blanks around it.
struct Field {
  std::string_view text;
  bool quoted = false;
  const char* wrong = nullptr;  // about its quotes, if anything is
};

/// Takes fields off the front of a record. Inline, as it is called for every value of a file.
class FieldCursor {
 public:
  FieldCursor(std::string_view record, char delimiter)
      : at_(record.data()), end_(record.data() + record.size()), delimiter_(delimiter) {
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
  /// Goes on behind `stop`, the end of the present field's text, if a delimiter or the record's end follows.
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
  /// The present field; goes on behind it.
  Field take();

 private:
  Field take_quoted();

  const char* at_;
  const char* end_;
  char delimiter_;
  bool more_ = true;
};

/// The fields as text, doubled quotes made single.
std::vector<std::string> fields_of(std::string_view record, char delimiter);
std::string text_of(const Field& field);

}  // namespace kith::data
