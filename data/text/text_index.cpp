// Counts the records of a text file window by window. A record that a window cuts off begins the next window.
#include "data/text/text_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/matrix.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/text/text_record.h"

namespace kith::data {
namespace {

constexpr std::int64_t kWindowBytes = std::int64_t{256} << 10;  // fits into the second-level cache
constexpr std::int64_t kMaxRecordBytes = std::int64_t{256} << 20;

constexpr std::int64_t kLargeBytes = std::int64_t{8} << 20;
constexpr std::int64_t kBytesPerByte = 2;  // of a long record: the window, and its copy while it is parsed

}  // namespace

TextIndex index_text(const InputBytes& input, const TextHead& head) {
  TextIndex index;
  std::int64_t at = head.rows_at, lines = head.lines_before, window = kWindowBytes;
  std::int64_t trailing_blank = 0;
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
    for (std::string_view record; cursor.next(record); ++rows) blank = cursor.blank_lines();
    if (cursor.passed() == 0) {
      if (window >= kMaxRecordBytes) {
        refuse_input(input.name(),
                     fmt::format("line {} is longer than {} bytes; is it a table, and is every quote closed?",
                                 lines + 1, kMaxRecordBytes));
      }
      window *= 2;
      continue;
    }
    index.longest = std::max(index.longest, cursor.passed());
    if (rows > 0) index.blocks.push_back({at, cursor.passed(), index.rows, lines});
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
  return index;
}

}  // namespace kith::data
