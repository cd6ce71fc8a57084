// Splits a text file into blocks of whole records, in one pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/points/matrix.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"
#include "data/text/text_number.h"

namespace kith::data {

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

}  // namespace kith::data
