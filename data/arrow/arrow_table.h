// Tables in Parquet and Arrow files (Feather version 2 too), if kith was built with Arrow C++.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/format/formats.h"

namespace kith::data {

/// Whether kith was built with Arrow C++; without it, is_arrow() recognises no file.
bool has_arrow();

/// Points of a table of a file, of which `text` is the text; messages are about its rows. remark: for
/// PointSource::remarks(), or empty.
std::unique_ptr<PointSource> open_own_text(InputBytes text, const ReadOptions& options, std::int64_t file_bytes,
                                           std::string remark);

/// One column that holds no numbers, as texts.
struct ArrowTexts {
  std::string name;  // "iris.parquet:species"
  std::vector<std::string> texts;
  std::int64_t file_bytes = 0;
};

/// Reads the column `location.dataset`, a name or number from 1. If there is one column or one named `what`, the
/// dataset may be empty, and is set. Returns nothing if the column holds numbers. Throws as read_text_column().
std::optional<ArrowTexts> read_arrow_texts(Location& location, const ReadOptions& options, const std::string& what);

}  // namespace kith::data
