// Reads as much of the beginning of a text file as holds its first records.
#include "data/text/first_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/text/foreign_text.h"

namespace kith::data {
namespace {

constexpr std::int64_t kFirstBytes = std::int64_t{64} << 10;
constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;

/// The memory of the fields of the first records is checked before they are split: a line may be nothing but
/// delimiters.
void require_memory_of_fields(const FirstRecords& first, const std::string& name) {
  std::int64_t fields = 0;
  for (const FirstRecord& line : first.lines) {
    for (const char c : {'\t', ';', ',', '|', kBlanks}) {
      fields = std::max<std::int64_t>(fields, std::count(line.text.begin(), line.text.end(), c));
    }
  }
  constexpr std::int64_t kLarge = std::int64_t{1} << 16, kBytes = 200;  // of a name, its place, and a choice of columns
  const std::int64_t copies = std::ssize(first.lines) + 2;
  if (fields < kLarge) return;
  require_memory(fields * (copies * static_cast<std::int64_t>(sizeof(std::string)) + kBytes), name + " (its columns)");
}

/// The position behind so many lines; npos if there are fewer.
std::size_t end_of_lines(std::string_view bytes, std::int64_t lines) {
  std::size_t at = 0;
  for (; lines > 0; --lines) {
    at = bytes.find('\n', at);
    if (at++ == bytes.npos) return bytes.npos;
  }
  return at;
}

}  // namespace

FirstRecords first_records(const InputBytes& input, const TextSyntax& syntax, std::int64_t skip_lines,
                           std::size_t count) {
  for (std::int64_t limit = kFirstBytes;; limit *= 8) {
    const std::string bytes = input.begin(limit);
    const bool whole = std::ssize(bytes) == input.size(), last = whole || limit >= kMaxBytes;
    if (bytes.find('\n') == bytes.npos && bytes.find('\r') != bytes.npos && last) {
      refuse_input(input.name(),
                   "expected lines that end with LF or CR LF, found CR only; convert it: tr '\\r' '\\n' < IN > OUT");
    }
    const std::size_t bom_bytes = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
    const std::size_t start = std::max(bom_bytes, end_of_lines(bytes, skip_lines));
    if (start == bytes.npos && !last) continue;
    if (start == bytes.npos) {
      refuse_input(input.name(), fmt::format("expected rows of numbers behind {} lines, as --skip-lines says, found {} "
                                             "lines; give a smaller number",
                                             skip_lines, std::count(bytes.begin(), bytes.end(), '\n')));
    }
    RecordCursor cursor(std::string_view(bytes).substr(start), syntax, whole);
    FirstRecords first;
    first.has_quotes = syntax.quotes && bytes.find('"', start) != bytes.npos;
    for (std::string_view record; first.lines.size() < count && cursor.next(record);) {
      const std::int64_t begin = record.data() - bytes.data();
      FirstRecord line{skip_lines + cursor.line() + 1, skip_lines + cursor.lines_passed(), begin,
                       static_cast<std::int64_t>(start) + cursor.passed(), std::string(record)};
      if (cursor.is_unclosed()) {
        first.unclosed = std::move(line);
        break;
      }
      if (first.lines.empty()) first.comments = bytes.substr(start, static_cast<std::size_t>(begin) - start);
      first.skipped.push_back({cursor.comments(), cursor.blank_lines()});
      first.lines.push_back(std::move(line));
      first.quoted_fields = cursor.quoted_fields();
    }
    if (whole || first.lines.size() >= 2) {
      if (const std::string foreign = foreign_text(std::string_view(bytes).substr(start)); !foreign.empty()) {
        refuse_input(input.name(), fmt::format("expected a table, such as CSV, found {}", foreign));
      }
      require_memory_of_fields(first, input.name());
      return first;
    }
    if (last) {
      refuse_input(input.name(),
                   fmt::format("its first lines are longer than {} bytes; is it a table, and is every quote "
                               "closed? --quote none reads quotation marks as characters like others",
                               kMaxBytes));
    }
  }
}

}  // namespace kith::data
