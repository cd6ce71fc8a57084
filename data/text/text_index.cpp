// Counts the records of a text file window by window. A record that a window cuts off begins the next window.
#include "data/text/text_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/points/matrix.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"

namespace kith::data {
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
    if (line_ == 0) line_ = line;
    if (lines_are_records(record, head_.syntax, head_.columns)) {
      refuse(line, "though each of its lines has as many fields as a row");
    }
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
  std::int64_t line_;  // of the first record that spans lines, counted from 1; 0: none does
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

}  // namespace kith::data
