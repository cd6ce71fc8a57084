// Splits delimited text into records and fields, after RFC 4180 and common variants.
#include "data/text/text_record.h"

#include "data/text/text_head.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"
#include "data/text/text_refusal.h"

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
    const char* last = stop;
    while (last > at_ && last[-1] == '\r') --last;  // two, if a program made CR LF of the LF of CR LF
    const std::string_view text(at_, static_cast<std::size_t>(last - at_));
    at_ = stop < end_ ? stop + 1 : end_;
    line_ = next_line_;
    next_line_ += lines;
    // A form feed begins a page, 0x1a ends a file of DOS, and zeros are what a logger without power leaves.
    const auto is_space = [this](char c) {
      return c == ' ' || c == '\f' || c == '\x1a' || c == '\0' || (c == '\t' && syntax_.delimiter != '\t');
    };
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

namespace {

/// Spreadsheets take ="00123" for a text.
std::string without_formula(std::string text) {
  const bool is_one =
      text.size() > 3 && text.starts_with("=\"") && text.ends_with('"') && text.find('"', 2) + 1 == text.size();
  return is_one ? text.substr(2, text.size() - 3) : text;
}

}  // namespace

std::string text_of(const Field& field) {
  if (!field.quoted) return without_formula(utf8_of(field.text));
  std::string text;
  text.reserve(field.text.size());
  for (std::size_t at = 0; at < field.text.size();) {
    const std::size_t quote = std::min(field.text.find("\"\"", at), field.text.size() - 1);
    text += field.text.substr(at, quote + 1 - at);
    at = quote + (quote + 1 < field.text.size() ? 2 : 1);
  }
  return without_formula(is_utf8(text) ? text : utf8_of(text));
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

double lines_like_records(std::string_view record, TextSyntax syntax, std::int64_t columns) {
  syntax.quotes = false;
  double lines = 0.0, records = 0.0;
  for (; !record.empty(); ++lines) {
    records += count_fields(take_until(record, "\n"), syntax, columns + 1) == columns ? 1.0 : 0.0;
  }
  return columns > 1 ? records / lines : 0.0;
}

// Counts the records of a text file window by window. A record that a window cuts off begins the next window.

namespace {

constexpr std::int64_t kWindowBytes = std::int64_t{256} << 10;  // fits into the second-level cache
constexpr std::int64_t kMaxRecordBytes = std::int64_t{256} << 20;

/// Where quotes mislead, if they do.
class QuoteCheck {
 public:
  QuoteCheck(const InputBytes& input, const TextHead& head)
      : input_(input), head_(head), quoted_(head.quoted_fields > 0), line_(head.spans_lines ? head.first_line : 0) {}

  /// The record that the cursor has passed; `line` is that of its begin, counted from 1.
  void add(const RecordCursor& cursor, std::string_view record, std::int64_t line) {
    if (cursor.is_unclosed()) refuse_unclosed(input_.name(), head_, record, line);
    if (head_.options.quotes || !cursor.spans_lines()) return;
    const double share = lines_like_records(record, head_.syntax, head_.columns);
    if (share == 1.0) refuse(line, "though each of its lines has as many fields as a row");
    // A text of several lines has few that look like rows; a mark that hides rows has hidden many.
    if (line_ == 0 && share > 0.5) line_ = line;
  }
  /// `quoted_fields`: on one line.
  void finish(std::int64_t quoted_fields) const {
    if (line_ > 0 && !quoted_ && quoted_fields == 0 && !head_.options.quotes) {
      refuse(line_, "and no other field is between quotation marks");
    }
  }

 private:
  [[noreturn]] void refuse(std::int64_t line, const char* sign) const {
    refuse_input(input_.name(), fmt::format("line {}: a field between quotation marks goes on in the next line, {}: "
                                            "are they quotes (double), or characters like others (none)? say --quote "
                                            "none or --quote double",
                                            line, sign));
  }

  const InputBytes& input_;
  const TextHead& head_;
  bool quoted_;
  std::int64_t line_;  // of the first record with lines that may be rows, counted from 1; 0: none has
};

constexpr std::int64_t kLargeBytes = std::int64_t{8} << 20;
constexpr std::int64_t kBytesPerByte = 2;  // of a long record: the window, and its copy while it is parsed

}  // namespace

TextIndex index_text(const InputBytes& input, const TextHead& head) {
  TextIndex index;
  std::int64_t at = head.rows_at, lines = head.lines_before, window = kWindowBytes;
  std::int64_t trailing_blank = 0;
  std::int64_t quoted_fields = 0;
  QuoteCheck check(input, head);
  Matrix<std::byte> buffer(1, window);
  while (at < input.size()) {
    const std::int64_t count = std::min(window, input.size() - at);
    if (count > kLargeBytes) require_memory(kBytesPerByte * count, fmt::format("{}: line {}", input.name(), lines + 1));
    if (buffer.columns() < count) buffer = Matrix<std::byte>(1, count);
    input.read(at, count, buffer.data());
    const bool last = at + count == input.size();
    RecordCursor cursor({reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(count)}, head.syntax,
                        last);
    std::int64_t rows = 0;
    std::int64_t blank = 0;  // up to the last record: blank lines at the end of the file are no missing rows
    for (std::string_view record; cursor.next(record); ++rows) {
      blank = cursor.blank_lines();
      if (cursor.spans_lines() || cursor.is_unclosed()) check.add(cursor, record, lines + cursor.line() + 1);
    }
    if (cursor.passed() == 0) {
      if (window >= kMaxRecordBytes) {
        refuse_input(input.name(),
                     fmt::format("line {} is longer than {} bytes; is it a table, and is every quote closed? "
                                 "--quote none reads quotation marks as characters like others",
                                 lines + 1, kMaxRecordBytes));
      }
      window *= 2;
      continue;
    }
    index.longest = std::max(index.longest, cursor.passed());
    if (rows > 0) index.blocks.push_back({at, cursor.passed(), index.rows, lines});
    quoted_fields += cursor.quoted_fields();
    at += cursor.passed();
    lines += cursor.lines_passed();
    index.rows += rows;
    index.skipped.comments += cursor.comments();
    if (rows > 0) {
      index.skipped.blank += trailing_blank + blank;
      trailing_blank = 0;
    }
    trailing_blank += cursor.blank_lines() - blank;
    window = kWindowBytes;
  }
  check.finish(quoted_fields);
  return index;
}

void visit_text(const InputBytes& input, const TextHead& head, const TextIndex& index,
                const std::function<void(TextPart, std::string_view)>& visit) {
  std::int64_t at = 0;
  const auto copy = [&](std::int64_t end, TextPart part) {
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    for (std::string bytes; at < end; at += std::ssize(bytes)) {
      bytes.resize(static_cast<std::size_t>(part == TextPart::header ? end - at : std::min(kMost, end - at)));
      input.read(at, std::ssize(bytes), reinterpret_cast<std::byte*>(bytes.data()));
      visit(part, part == TextPart::header ? without_surplus(head, bytes) : bytes);
    }
  };
  copy(head.header_at, TextPart::between);
  copy(head.header_at + head.header_bytes, TextPart::header);
  Matrix<std::byte> buffer;
  for (const TextBlock& block : index.blocks) {
    copy(block.at, TextPart::between);
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t, std::int64_t) {
      const char* bytes = reinterpret_cast<const char*>(buffer.data());
      const std::int64_t begin = block.at + (record.data() - bytes);
      visit(TextPart::between, {bytes + (at - block.at), static_cast<std::size_t>(begin - at)});
      visit(TextPart::row, without_surplus(head, record));
      at = begin + std::ssize(record);
    });
  }
  copy(input.size(), TextPart::between);
  input.check_unchanged();
}

NumberLines::NumberLines(InputBytes input, char comment)
    : input_(std::move(input)), syntax_{.delimiter = kBlanks, .quotes = false, .comment = comment} {
  TextHead head;
  head.syntax = syntax_;
  head.rows_at = input_.begin(kByteOrderMark.size()) == kByteOrderMark ? std::ssize(kByteOrderMark) : 0;
  index_ = index_text(input_, head);
}

void NumberLines::refuse(std::int64_t number, const std::string& problem) const {
  refuse_input(fmt::format("{}: line {}", input_.name(), number), problem + "; copy or create the file again");
}

}  // namespace kith::data
