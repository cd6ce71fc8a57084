// Chooses the columns of a text table by the options that it was read with.
#include "data/text/text_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "data/text/lines_before.h"

namespace kith::data {

ColumnChoice choose_text_columns(const InputBytes& input, const TextHead& head, const std::vector<std::string>& names) {
  ReadOptions adjusted = head.options;
  if (head.row_names && adjusted.columns.empty() && adjusted.id_column.empty()) adjusted.id_column = std::string("1");
  if (!adjusted.encode.empty()) adjusted.like = encoded_columns(adjusted.like, names);
  try {
    return choose_columns(adjusted, names, head.columns, input.name());
  } catch (const Error& error) {
    refuse_lines_before(input, head);
    std::string message = error.what();
    for (const std::string& remark : head.remarks) message += "; " + remark;
    throw Error(error.code(), message, error.cause());
  }
}

std::vector<std::string> names_for(const TextHead& head) {
  std::vector<std::string> names = head.names;
  if (head.options.encode.empty() || !names.empty()) return names;
  for (std::int64_t j = 1; j <= head.columns; ++j) names.push_back(fmt::format("column {}", j));
  return names;
}

std::vector<std::int64_t> numbers_of(std::vector<std::int64_t> columns, const std::vector<ColumnEncoding>& encodings) {
  std::unordered_set<std::int64_t> encoded;
  for (const ColumnEncoding& encoding : encodings) encoded.insert(encoding.column());
  std::erase_if(columns, [&encoded](std::int64_t column) { return encoded.count(column) > 0; });
  return columns;
}

}  // namespace kith::data
