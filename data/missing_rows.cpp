// Drops rows with NaN or infinity, and counts the missing values of each column for the error message.
#include "data/missing_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/format/column_choice.h"

namespace kith::data {

MissingRows::MissingRows(const PointSource& source)
    : source_(source), missing_(static_cast<std::size_t>(source.columns()), 0) {}

template <class T>
bool MissingRows::keep(std::span<const T> current, std::int64_t row) {
  const auto is_missing = [](T v) { return !std::isfinite(static_cast<double>(v)); };
  if (std::any_of(current.begin(), current.end(), is_missing)) {
    for (std::size_t j = 0; j < current.size(); ++j) missing_[j] += is_missing(current[j]) ? 1 : 0;
    if (dropped_++ == 0) first_ = row;
    return false;
  }
  kept_.push_back(row);
  return true;
}

#define KITH_INSTANTIATE(T) template bool MissingRows::keep<T>(std::span<const T>, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

void MissingRows::check() const {
  if (!kept_.empty()) return;
  const auto emptiest = std::max_element(missing_.begin(), missing_.end());
  throw Error(
      ExitCode::data,
      fmt::format("{}: all {} rows were dropped for NaN or infinity; expected at least one without; {} lacks {} "
                  "values: drop columns that lack many with --drop-columns",
                  source_.name(), source_.rows(), show_column(source_.column_names(), emptiest - missing_.begin()),
                  *emptiest));
}

}  // namespace kith::data
