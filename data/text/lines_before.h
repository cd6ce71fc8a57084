// Finds lines of another kind before a table, for messages.
#pragma once

#include "data/io/input_bytes.h"
#include "data/text/text_head.h"

namespace kith::data {

/// Throws Error(data) that proposes --skip-lines if the table begins behind lines that are no part of it. For use where
/// the file cannot be read as it is.
void refuse_lines_before(const InputBytes& input, const TextHead& head);

}  // namespace kith::data
