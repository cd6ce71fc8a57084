// What PointData holds, and the check of values, for the parts of the library.
#pragma once

#include <kith/error.h>
#include <kith/points.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/points/matrix.h"

namespace kith {

struct PointData::Held {
  std::variant<PointsMatrix, std::vector<float>, std::vector<double>> own;  // of points from files, and taken over
  PointsView view;
};

/// Throws Error(data) about the first value that is not finite. name: of the values, for messages.
template <class T>
void require_finite(const std::string& name, std::span<const T> values, std::int64_t columns) {
  // Sums of products with 0 are NaN where a value is not finite; they take no branch for each value.
  constexpr std::size_t kBlock = 4096;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const auto block = values.subspan(first, std::min(kBlock, values.size() - first));
    T sums[16] = {};
    for (std::size_t i = 0; i < block.size(); ++i) sums[i % 16] += block[i] * T{0};
    if (std::none_of(std::begin(sums), std::end(sums), [](T sum) { return std::isnan(sum); })) continue;
    const auto wrong = std::find_if_not(block.begin(), block.end(), [](T v) { return std::isfinite(v); });
    const std::int64_t at = static_cast<std::int64_t>(first) + (wrong - block.begin());
    throw Error(ExitCode::data,
                fmt::format("{}: row {}, column {} (counted from 1): expected a finite number, found {}; replace the "
                            "value or remove the row",
                            name, at / columns + 1, at % columns + 1,
                            std::isnan(*wrong) ? "NaN"
                            : *wrong > 0       ? "infinity"
                                               : "-infinity"),
                Cause::value);
  }
}

}  // namespace kith
