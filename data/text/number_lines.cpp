// Indexes the lines as the records of a table.
#include "data/text/number_lines.h"

#include <fmt/format.h>

#include <utility>

#include "data/io/input_error.h"

namespace kith::data {

NumberLines::NumberLines(InputBytes input, char comment)
    : input_(std::move(input)), syntax_{.delimiter = kBlanks, .quotes = false, .comment = comment} {
  TextHead head;
  head.syntax = syntax_;
  if (input_.begin(3) == "\xef\xbb\xbf") head.rows_at = 3;
  index_ = index_text(input_, head);
}

void NumberLines::refuse(std::int64_t number, const std::string& problem) const {
  refuse_input(fmt::format("{}: line {}", input_.name(), number), problem + "; copy or create the file again");
}

}  // namespace kith::data
