// The row of the table of formats for delimited text: CSV, TSV and their kin, also compressed by gzip or from standard
// input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

bool is_text_table(const std::string& file);
std::unique_ptr<PointSource> open_text(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_text(const Location& place, const ReadOptions& options);

}  // namespace kith::data
