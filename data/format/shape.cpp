// Shapes of datasets and lists of names, for all file formats.
#include "data/format/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data/io/utf8.h"

namespace kith::data {

std::string show_shape(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "()" : fmt::format("{}", fmt::join(shape, " x "));
}

std::string show_list(const std::vector<std::string>& items, std::size_t max_shown) {
  if (items.empty()) return "nothing";
  const std::size_t shown = std::min(items.size(), max_shown);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + quoted(items[i]);
  return shown < items.size() ? fmt::format("{} and {} more", text, items.size() - shown) : text;
}

std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::string refusal_of_shape(const std::vector<std::int64_t>& shape, bool vector_as_column) {
  const bool right_rank = shape.size() == 2 || (shape.size() == 1 && vector_as_column);
  if (!right_rank) {
    const char* remedy = shape.empty()       ? "it is a single value"
                         : shape.size() == 1 ? "store a vector as rows x 1"
                                             : "reshape it to rows x features: x.reshape(len(x), -1) of NumPy";
    return fmt::format("expected {}2 dimensions (rows, features), found {} ({}); {}", vector_as_column ? "1 or " : "",
                       shape.size(), show_shape(shape), remedy);
  }
  if (shape[0] == 0)
    return fmt::format("expected at least 1 row, found none ({}); name a dataset that holds points", show_shape(shape));
  if (shape.size() == 2 && shape[1] == 0) {
    return fmt::format("expected at least 1 column, found none ({}); name a dataset that holds points",
                       show_shape(shape));
  }
  return "";
}

std::string refusal_of_size(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = 8;  // some computations hold the values as float64
  for (const std::int64_t size : shape) bytes = size < 0 ? limit : capped_product(bytes, size);
  if (bytes < limit) return "";
  return fmt::format(
      "declared as {}, more values than can be counted; expected fewer than 2^60; it is damaged, copy or create it "
      "again",
      show_shape(shape));
}

}  // namespace kith::data
