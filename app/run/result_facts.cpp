// Collects the attributes of a result and counts its clusters.
#include "app/run/result_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/results.h"
#include "data/format/shape.h"

namespace kith::app {
namespace {

using Json = nlohmann::ordered_json;

/// These attributes come first; the others follow in the order of the file.
constexpr const char* kFirst[] = {"format",       "format_version", "kith_version", "command", "points",
                                  "points_shape", "points_type",    "class",        "metric",  "k"};

bool is_list(const std::string& attribute) {
  return attribute == "columns" || attribute == "classes" || attribute == "clusters" || attribute == "inputs";
}

/// A whole number exactly; 64 bits without a sign if it is that large.
Json number_of(double value, std::int64_t whole) {
  const auto bits = static_cast<std::uint64_t>(whole);
  if (value >= 0x1p63) return static_cast<double>(bits) == value ? Json(bits) : Json(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

/// All attributes by name.
Json attributes_of(const data::StoredResult& result) {
  const data::RootFacts& root = result.root();
  Json all = Json::object();
  for (const auto& [name, text] : root.texts) {
    all[name] = is_list(name) ? Json(result.lines(name)) : Json(result.text(name));
  }
  for (std::size_t i = 0; i < root.numbers.size(); ++i) {
    const auto& [name, values] = root.numbers[i];
    if (name == "crc32") continue;
    const std::vector<std::int64_t> wholes = result.wholes(name);
    Json list = Json::array();
    for (std::size_t j = 0; j < values.size(); ++j) list.push_back(number_of(values[j], wholes[j]));
    all[name] = name != "points_shape" && name != "shape" && list.size() == 1 ? list[0] : list;
  }
  return all;
}

std::vector<std::int64_t> counts_of(const data::StoredResult& result) {
  const std::vector<double> counts = result.vector("counts");
  return {counts.begin(), counts.end()};
}

std::string value_text(const std::string& name, const Json& value) {
  if (name == "command") return "kith " + value.get<std::string>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(value_text("", item));
  return name.ends_with("shape") ? fmt::format("{}", fmt::join(items, " x ")) : data::show_list(items);
}

}  // namespace

nlohmann::ordered_json result_facts(const data::StoredResult& result) {
  Json all = attributes_of(result);
  Json sizes;
  if (result.has("counts")) {
    const std::vector<std::int64_t> counts = counts_of(result);
    all["k"] = counts.size();
    if (!counts.empty()) {
      const auto [smallest, largest] = std::minmax_element(counts.begin(), counts.end());
      sizes = {{"smallest", *smallest},
               {"largest", *largest},
               {"empty", std::count(counts.begin(), counts.end(), 0)},
               {"counts", counts}};
    }
  } else if (const std::int64_t neighbors = number_in(result.text("command"), "--neighbors").value_or(0);
             neighbors > 0) {
    all["k"] = neighbors;
  } else if (result.format() == "kith-sweep" && result.has("k")) {
    Json numbers = Json::array();
    for (const double number : result.vector("k")) numbers.push_back(static_cast<std::int64_t>(number));
    all["k"] = numbers;
  }
  Json facts = Json::object();
  for (const char* name : kFirst) {
    if (all.contains(name)) facts[name] = all[name];
  }
  for (const auto& [name, value] : all.items()) {
    if (!facts.contains(name)) facts[name] = value;
  }
  if (!sizes.is_null()) facts["sizes"] = sizes;
  return facts;
}

std::string result_text(const nlohmann::ordered_json& facts, std::size_t width) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [name, value] : facts.items()) {
    if (name == "format_version" || name == "kith_version" || name == "sizes") continue;
    std::string text = value_text(name, value);
    if (name == "format" && facts.contains("kith_version")) {
      text += fmt::format(", version {}, of kith {}", value_text("", facts["format_version"]),
                          value_text("", facts["kith_version"]));
    }
    std::string shown = name;
    std::replace(shown.begin(), shown.end(), '_', ' ');
    lines.emplace_back(std::move(shown), std::move(text));
  }
  if (facts.contains("sizes")) {
    const Json& sizes = facts["sizes"];
    lines.emplace_back("sizes", fmt::format("{} to {} rows, {} empty: {}", sizes["smallest"].get<std::int64_t>(),
                                            sizes["largest"].get<std::int64_t>(), sizes["empty"].get<std::int64_t>(),
                                            value_text("counts", sizes["counts"])));
  }
  std::size_t widest = 0;
  for (const auto& [name, text] : lines) widest = std::max(widest, name.size());
  std::string out;
  for (const auto& [name, text] : lines) {
    const std::string lead = fmt::format("  {:<{}}  ", visible(name), widest);
    out += lead.size() <= width / 2 ? hang(lead, wrap(visible(text), width - lead.size()))
                                    : hang("  ", {visible(name)}) + hang("    ", wrap(visible(text), width - 4));
  }
  return out;
}

}  // namespace kith::app
