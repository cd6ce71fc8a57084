// Splits a text file into blocks of whole records, in one pass.
#pragma once

#include <cstdint>
#include <vector>

#include "data/io/input_bytes.h"
#include "data/text/text_head.h"

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

}  // namespace kith::data
