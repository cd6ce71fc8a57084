// Shows numbers with 6 digits, dates as ISO 8601 has them, and texts shortened.
#include "app/column_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/layout.h"
#include "app/run/profile.h"
#include "data/format/table_model.h"
#include "data/io/quoted.h"

namespace kith::app {
namespace {

constexpr std::size_t kMostShown = 50;   // columns
constexpr std::size_t kNameBytes = 24;   // of a column
constexpr std::size_t kValueBytes = 20;  // of a value

using data::ColumnProfile;
using data::ColumnType;

bool has_range(const ColumnProfile& column) {
  return column.type == ColumnType::date ||
         (column.is_number() && (column.type == ColumnType::number || column.type == ColumnType::identifier));
}

std::string shown_value(const ColumnProfile& column, double value) {
  return column.type == ColumnType::date ? data::date_text(value) : shown_number(value);
}

std::string shown_text(const std::string& text) { return unbreakable(quoted(text, kValueBytes)); }

/// "18 to 90; as 34, 27, 51", "Lyon 34 %, Paris 31 %", "as a7f3, 09bc".
std::string shown_values(const ColumnProfile& column, std::int64_t present) {
  if (column.type == ColumnType::empty) return "";
  if (column.type == ColumnType::constant) return shown_text(column.examples.front());
  std::vector<std::string> values;
  if (column.type == ColumnType::category || column.type == ColumnType::yesno) {
    for (const auto& [text, count] : column.commonest) {
      values.push_back(unbreakable(fmt::format("{} {:.0f} %", quoted(text, kValueBytes),
                                               100.0 * static_cast<double>(count) / static_cast<double>(present))));
    }
    return fmt::format("{}", fmt::join(values, ", "));
  }
  for (const std::string& text : column.examples) values.push_back(shown_text(text));
  const std::string range = has_range(column) ? unbreakable(fmt::format("{} to {}", shown_value(column, column.minimum),
                                                                        shown_value(column, column.maximum))) +
                                                    "; "
                                              : "";
  return fmt::format("{}as {}", range, fmt::join(values, ", "));
}

std::string shown_distinct(const ColumnProfile& column) {
  return fmt::format("{}{}", column.has_more_distinct ? "> " : "", column.distinct);
}

}  // namespace

std::string profile_table_text(const data::TableProfile& table, std::size_t width) {
  TextTable text{{Align::left, Align::left, Align::right, Align::right, Align::wrapped},
                 {{"column", "type", "missing", "distinct", "values"}},
                 1,
                 2};
  for (const ColumnProfile& column : table.columns) {
    if (text.rows.size() > kMostShown) break;
    text.rows.push_back({quoted(column.name, kNameBytes), name_of(column.type), std::to_string(column.missing),
                         shown_distinct(column), shown_values(column, table.rows - column.missing)});
  }
  std::string out = lay_out(text, width);
  if (table.columns.size() > kMostShown) {
    out += fmt::format("  and {} more columns, which --json lists\n", table.columns.size() - kMostShown);
  }
  return out;
}

nlohmann::ordered_json profile_json(const data::TableProfile& table) {
  auto list = nlohmann::ordered_json::array();
  for (const ColumnProfile& column : table.columns) {
    nlohmann::ordered_json object{{"column", column.name},
                                  {"type", name_of(column.type)},
                                  {"missing", column.missing},
                                  {"distinct", column.distinct}};
    if (column.has_more_distinct) object["has_more_distinct"] = true;
    if (!column.why.empty()) object["why"] = column.why;
    if (column.type == ColumnType::date) {
      object["minimum"] = data::date_text(column.minimum);
      object["maximum"] = data::date_text(column.maximum);
    } else if (has_range(column)) {
      object["minimum"] = column.minimum;
      object["maximum"] = column.maximum;
    }
    for (const auto& [text, count] : column.commonest)
      object["commonest"].push_back({{"value", text}, {"rows", count}});
    object["examples"] = column.examples;
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace kith::app
