// Which columns of a table are points: --columns, --drop-columns, --id-column and --label-column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

/// Columns of a file, counted from 0.
struct ColumnChoice {
  std::vector<std::int64_t> points;  // in the order in which they become columns of the points
  std::int64_t id = -1;              // -1: none
  std::int64_t label = -1;
  std::int64_t weight = -1;
};

/// `names` has `columns` entries or none; `table` is for messages. Throws Error(usage): what is no column, and which
/// there are.
ColumnChoice choose_columns(const ReadOptions& options, const std::vector<std::string>& names, std::int64_t columns,
                            const std::string& table);

/// One column by name or number from 1; `what` begins the message.
std::int64_t choose_column(const char* what, const std::string& text, const std::vector<std::string>& names,
                           std::int64_t columns, const std::string& table);

/// "column 3 ('age')", counted from 1, or "column 3" without names.
std::string show_column(const std::vector<std::string>& names, std::int64_t column);

/// What names a column in an option: its name, or its number where the name would not do.
std::string option_text(const std::vector<std::string>& names, std::int64_t column);

/// The chosen columns of a source that holds nothing but numbers. The source itself when none is chosen.
std::unique_ptr<PointSource> with_columns(std::unique_ptr<PointSource> source, const ReadOptions& options);

}  // namespace kith::data
