// All columns of a text table that cannot be points as they are, in one message with the options that read the table.
#pragma once

#include <cstdint>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"
#include "data/text/text_index.h"

namespace kith::data {

/// Reads the table from its beginning, at most 256 MiB, and throws Error(data) if several of the columns `points`
/// (counted from 0, ascending or not) hold text, missing values or numbers of another style, and not only text in the
/// columns `named`, which another message names; also if only one holds words. `options`: those by which the table was
/// opened.
void refuse_faulty_columns(const InputBytes& input, const TextHead& head, const TextIndex& index,
                           const std::vector<std::int64_t>& points, const std::vector<std::int64_t>& named,
                           const ReadOptions& options);

/// Those of the columns that hold words, ascending, in the part of the table that refuse_faulty_columns() reads.
std::vector<std::int64_t> columns_with_words(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                             const std::vector<std::int64_t>& columns);

}  // namespace kith::data
