// The texts of one column of a table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"
#include "data/text/text_index.h"

namespace kith::data {

/// The bytes of a text file or of standard input, inflated. Throws Error(data) if they are not text in UTF-8, or if the
/// location has a dataset.
InputBytes open_text_bytes(const Location& location, const std::string& scratch);

/// The texts of a column (counted from 0) in all rows, of each of which `check` learns with its line. Throws as
/// require_memory().
std::vector<std::string> column_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                      std::int64_t column,
                                      const std::function<void(const std::string&, std::int64_t)>& check = {});

}  // namespace kith::data
