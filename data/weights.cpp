// Reads the weights of rows from vectors of numbers and from columns of text.
#include "data/weights.h"

#include <fmt/format.h>

#include <utility>

#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/source.h"
#include "data/text/text.h"
#include "data/text/text_number.h"

namespace kith::data {
namespace {

/// Throws unless all texts are numbers, which NaN and infinity are.
std::vector<double> numbers_of(const std::vector<std::string>& texts, const std::string& name,
                               const ReadOptions& options) {
  const NumberStyle style{options.decimal, options.thousands};
  require_memory(std::ssize(texts) * static_cast<std::int64_t>(sizeof(double)), name);
  std::vector<double> numbers;
  numbers.reserve(texts.size());
  for (const std::string& written : texts) {
    double value = 0.0;
    const std::string styled = style.is_plain() ? "" : plain_number(written, style);
    const std::string& text = style.is_plain() ? written : styled;
    const char* end = text.data() + text.size();
    if (text.empty() || parse_number(text.data(), end, value) != end) {
      refuse_input(fmt::format("{}: row {} (counted from 1)", name, numbers.size() + 1),
                   fmt::format("expected a number as weight, found {}; give rows to ignore the weight 0",
                               written.empty() ? "an empty field" : fmt::format("'{}'", quoted(written, 40))));
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace

RowNumbers read_weights(const std::string& name, const ReadOptions& options) {
  const Location location = parse_location(name);
  if (is_read_as_text(location.file)) {
    const TextColumn column = read_text_column(location, options, {.what = "weight"});
    return {column.name, numbers_of(column.texts, column.name, options)};
  }
  const auto source = open_points(name, {.precision = Precision::f64, .vector_as_column = true});
  if (source->columns() != 1) {
    refuse_input(source->name(),
                 fmt::format("expected weights, one number for each row, found {} x {}; name a vector of "
                             "the file",
                             source->rows(), source->columns()));
  }
  // The values are copied once.
  require_memory(capped_product(source->rows(), 2 * sizeof(double)) + source->held_bytes(), source->name());
  const auto values = std::get<Matrix<double>>(read_all(*source));
  return {source->name(), std::vector<double>(values.data(), values.data() + values.size())};
}

RowNumbers weights_of(const PointSource& points, const std::string& column, const ReadOptions& options) {
  std::string name = fmt::format("{}:{}", points.name(), column);
  std::vector<double> numbers = numbers_of(points.kept(Kept::weight), name, options);
  return {std::move(name), std::move(numbers)};
}

}  // namespace kith::data
