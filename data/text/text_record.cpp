// Splits delimited text into records and fields, after RFC 4180 and common variants.
#include "data/text/text_record.h"

#include <algorithm>
#include <cstring>

namespace kith::data {
namespace {

const char* find(const char* begin, const char* end, char c) {
  const auto* match = begin < end ? std::memchr(begin, c, static_cast<std::size_t>(end - begin)) : nullptr;
  return match != nullptr ? static_cast<const char*>(match) : end;
}

/// The quote that ends the text at `first`; `end` if there is none.
const char* closing_quote(const char* first, const char* end) {
  const char* close = find(first, end, '"');
  while (close + 1 < end && close[1] == '"') close = find(close + 2, end, '"');
  return close;
}

}  // namespace

RecordCursor::RecordCursor(std::string_view bytes, const TextSyntax& syntax, bool whole)
    : begin_(bytes.data()),
      at_(bytes.data()),
      end_(bytes.data() + bytes.size()),
      syntax_(syntax),
      whole_(whole),
      quotes_(syntax.quotes && bytes.find('"') != bytes.npos) {}

bool RecordCursor::opens_field(const char* quote) const {
  const char* before = quote;
  while (before > at_ && (before[-1] == ' ' || (before[-1] == '\t' && syntax_.delimiter != '\t'))) --before;
  if (before == at_ || (syntax_.delimiter == kBlanks && before < quote)) return true;
  return before[-1] == syntax_.delimiter;
}

const char* RecordCursor::end_of_record(const char* stop, std::int64_t& lines) {
  for (const char* p = at_;;) {
    const char* quote = find(p, stop, '"');
    if (quote == stop) return stop;
    p = quote + 1;
    if (!opens_field(quote)) continue;  // it is a character like others: 5" for inches
    const char* close = closing_quote(p, end_);
    if (close == end_) {
      lines += std::count(stop, end_, '\n') - (end_ > stop && end_[-1] == '\n' ? 1 : 0);
      unclosed_ = true;  // FieldCursor reports it
      return whole_ ? end_ : nullptr;
    }
    p = close + 1;
    if (close < stop) {
      ++quoted_fields_;
      continue;
    }
    lines += std::count(stop, close, '\n');
    stop = find(close, end_, '\n');
    if (stop == end_ && !whole_) return nullptr;
  }
}

bool RecordCursor::next(std::string_view& record) {
  while (at_ < end_) {
    const char* stop = find(at_, end_, '\n');
    if (stop == end_ && !whole_) return false;
    std::int64_t lines = 1;
    const bool comment = syntax_.comment != '\0' && *at_ == syntax_.comment;
    unclosed_ = false;
    if (quotes_ && !comment) stop = end_of_record(stop, lines);
    if (stop == nullptr) return false;
    const char* last = stop > at_ && stop[-1] == '\r' ? stop - 1 : stop;
    const std::string_view text(at_, static_cast<std::size_t>(last - at_));
    at_ = stop < end_ ? stop + 1 : end_;
    line_ = next_line_;
    next_line_ += lines;
    const auto is_space = [this](char c) { return c == ' ' || (c == '\t' && syntax_.delimiter != '\t'); };
    if (comment || std::all_of(text.begin(), text.end(), is_space)) {
      ++(comment ? comments_ : blank_lines_);
      continue;
    }
    if (syntax_.comments_lead) syntax_.comment = '\0';
    record = text;
    return true;
  }
  return false;
}

Field FieldCursor::take() {
  skip_blanks();
  if (quotes_ && at_ < end_ && *at_ == '"') return take_quoted();
  const char* stop = delimiter_ == kBlanks ? std::find_if(at_, end_, [this](char c) { return is_blank(c); })
                                           : find(at_, end_, delimiter_);
  const char* last = stop;
  while (last > at_ && is_blank(last[-1])) --last;
  Field field{{at_, static_cast<std::size_t>(last - at_)}};
  finish(stop);
  return field;
}

Field FieldCursor::take_quoted() {
  const char* first = at_ + 1;
  const char* close = closing_quote(first, end_);
  Field field{{first, static_cast<std::size_t>(close - first)}, true};
  if (close == end_) {
    field.problem = "its quote is never closed; close it";
    finish(end_);
  } else if (!finish(close + 1)) {
    field.problem = "text follows its closing quote; remove it";
    finish(delimiter_ == kBlanks ? std::find_if(close, end_, [this](char c) { return is_blank(c); })
                                 : find(close, end_, delimiter_));
  }
  return field;
}

std::string text_of(const Field& field) {
  if (!field.quoted) return std::string(field.text);
  std::string text;
  text.reserve(field.text.size());
  for (std::size_t at = 0; at < field.text.size();) {
    const std::size_t quote = std::min(field.text.find("\"\"", at), field.text.size() - 1);
    text += field.text.substr(at, quote + 1 - at);
    at = quote + (quote + 1 < field.text.size() ? 2 : 1);
  }
  return text;
}

std::vector<std::string> fields_of(std::string_view record, const TextSyntax& syntax) {
  std::vector<std::string> fields;
  for (FieldCursor cursor(record, syntax); cursor.more();) fields.push_back(text_of(cursor.take()));
  return fields;
}

std::int64_t count_fields(std::string_view record, const TextSyntax& syntax, std::int64_t most) {
  std::int64_t count = 0;
  for (FieldCursor cursor(record, syntax); cursor.more() && count < most; ++count) cursor.take();
  return count;
}

bool lines_are_records(std::string_view record, TextSyntax syntax, std::int64_t columns) {
  syntax.quotes = false;
  for (std::size_t begin = 0; begin < record.size();) {
    const std::size_t end = std::min(record.find('\n', begin), record.size());
    if (count_fields(record.substr(begin, end - begin), syntax, columns + 1) != columns) return false;
    begin = end + 1;
  }
  return columns > 1;
}

}  // namespace kith::data
