// The features of columns.
#include "data/format/table_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace kith::data {

std::vector<double> ColumnModel::features_of(std::int64_t place) const {
  if (how != Encode::onehot) return {static_cast<double>(place)};
  std::vector<double> features(texts.size(), 0.0);
  features[static_cast<std::size_t>(place)] = 1.0;
  return features;
}

std::optional<std::int64_t> ColumnModel::place_of(const std::vector<double>& features) const {
  const std::int64_t places = how == Encode::yesno ? 2 : std::ssize(texts);
  for (std::int64_t place = 0; place < places; ++place) {
    if (features_of(place) == features) return place;
  }
  return std::nullopt;
}

bool TableModel::has_encodings() const {
  return std::any_of(columns.begin(), columns.end(), [](const ColumnModel& c) { return c.how != Encode::none; });
}

std::int64_t TableModel::width() const {
  std::int64_t features = 0;
  for (const ColumnModel& column : columns) features += column.width();
  return features;
}

std::string TableModel::option(const std::string& name) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const auto& item) { return item.first == name; });
  return found == options.end() ? "" : found->second;
}

std::vector<double> TableModel::fills() const {
  std::vector<double> all;
  bool any = false;
  for (const ColumnModel& column : columns) {
    const auto width = static_cast<std::size_t>(column.width());
    any = any || !column.fill.empty();
    if (column.fill.size() == width) {
      all.insert(all.end(), column.fill.begin(), column.fill.end());
    } else {
      all.insert(all.end(), width, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return any ? all : std::vector<double>();
}

bool makes_features(const ReadOptions& options) {
  return !options.encode.empty() || (options.model && options.model->has_encodings());
}

TableModel table_of(const PointSource& source) {
  if (const auto table = source.table()) return *table;
  TableModel table{.table_columns = source.columns()};
  const std::vector<std::string> names = source.column_names();
  for (std::int64_t j = 0; j < source.columns(); ++j) {
    table.columns.push_back({.name = names.empty() ? "" : names[static_cast<std::size_t>(j)], .number = j + 1});
  }
  return table;
}

const char* kind_of(Encode how) {
  constexpr const char* kKinds[] = {"number", "ordinal", "onehot", "date", "date", "date", "yesno", "unit", "time"};
  static_assert(std::size(kKinds) == static_cast<std::size_t>(Encode::time) + 1);
  return kKinds[static_cast<std::size_t>(how)];
}

std::string date_text(double days) {
  const std::chrono::sys_days day{std::chrono::days{static_cast<int>(std::floor(days))}};
  const std::chrono::year_month_day date{day};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace kith::data
