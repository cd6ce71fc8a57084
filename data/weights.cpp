// Weights of rows from vectors of numbers and from columns of text.
#include "data/weights.h"

#include <fmt/format.h>

#include <utility>

#include "data/text/text.h"
#include "data/text/text_number.h"

namespace kith::data {
namespace {

/// Throws unless all texts are numbers; NaN and infinity are.
std::vector<double> numbers_of(const std::vector<std::string>& texts, const std::string& name) {
  std::vector<double> numbers;
  numbers.reserve(texts.size());
  for (const std::string& text : texts) {
    double value = 0.0;
    const char* end = text.data() + text.size();
    if (text.empty() || parse_number(text.data(), end, value) != end) {
      throw Error(ExitCode::data,
                  fmt::format("{}: row {} (counted from 0): expected a number as weight, found {}; give rows that are "
                              "not to count the weight 0",
                              name, numbers.size(), text.empty() ? "an empty field" : fmt::format("'{}'", text)));
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace

RowNumbers read_weights(const std::string& location, const ReadOptions& options) {
  const Location place = parse_location(location);
  if (is_text_table(place.file)) {
    const TextColumn column = read_text_column(place, options, {.what = "weight"});
    return {column.name, numbers_of(column.texts, column.name)};
  }
  const auto source = open_points(location, {.precision = Precision::f64, .vector_as_column = true});
  if (source->columns() != 1) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected weights, one number for each row, found {} x {}; name a vector "
                            "of the file",
                            source->name(), source->rows(), source->columns()));
  }
  const auto values = std::get<Matrix<double>>(read_all(*source));
  return {source->name(), std::vector<double>(values.data(), values.data() + values.size())};
}

RowNumbers weights_of(const PointSource& points, const std::string& column) {
  std::string name = fmt::format("{}:{}", points.name(), column);
  std::vector<double> numbers = numbers_of(points.kept(Kept::weight), name);
  return {std::move(name), std::move(numbers)};
}

}  // namespace kith::data
