// Sums up the files of a set by what their sources say of them.
#include "app/set_summary.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "core/error.h"
#include "data/file_set.h"
#include "data/format/shape.h"
#include "data/io/quoted.h"

namespace kith::app {
namespace {

/// "a, b" of the columns of points, or how many there are.
std::string columns_of(const data::PointSource& points) {
  const std::vector<std::string> names = points.column_names();
  return names.empty() ? fmt::format("{} columns", points.columns())
                       : fmt::format("{} columns: {}", names.size(), data::show_list(names));
}

}  // namespace

nlohmann::ordered_json summary_of_set(const std::string& name, const data::ReadOptions& options) {
  const auto set = data::named_set(name);
  std::int64_t rows = 0;
  std::uintmax_t bytes = 0;
  std::map<std::string, std::int64_t> types, endings;
  std::string columns, first;
  auto differ = nlohmann::ordered_json::array(), unreadable = nlohmann::ordered_json::array();
  for (const std::string& file : set->files) {
    const std::filesystem::path path = data::parse_location(file).file;
    std::error_code failure;
    bytes += std::filesystem::file_size(path, failure);
    ++endings[path.extension().string()];
    try {
      const auto points = data::open_points(file, options);
      const std::string found = columns_of(*points);
      if (first.empty()) first = file, columns = found;
      rows += points->rows();
      ++types[points->element_type()];
      if (found != columns) differ.push_back({{"file", file}, {"columns", found}});
    } catch (const Error& error) {
      unreadable.push_back({{"file", file}, {"reason", error.what()}});
    }
  }
  return {{"files", set->files.size()},
          {"endings", endings},
          {"rows", rows},
          {"bytes", bytes},
          {"types", types},
          {"columns", columns},
          {"first", first},
          {"differ", differ},
          {"unreadable", unreadable},
          {"skipped", set->skipped}};
}

std::string summary_text(const nlohmann::ordered_json& summary) {
  constexpr std::size_t kMost = 20;
  const std::size_t width = text_width(Stream::output);
  std::string out;
  const auto line = [&](const std::string& text) { out += hang("  ", wrap(visible(text), width - 2)); };
  const auto counted = [](const nlohmann::ordered_json& counts) {
    std::vector<std::string> items;
    for (const auto& [name, count] : counts.items()) {
      items.push_back(fmt::format("{} {}", count.get<std::int64_t>(), name.empty() ? "without an ending" : name));
    }
    return data::show_list(items);
  };
  line(fmt::format("{} files ({}), {} rows, {} bytes", summary["files"].get<std::int64_t>(),
                   counted(summary["endings"]), summary["rows"].get<std::int64_t>(),
                   summary["bytes"].get<std::int64_t>()));
  if (!summary["types"].empty()) line("values by file: " + counted(summary["types"]));
  if (!summary["types"].empty()) line(summary["columns"].get<std::string>());
  const auto list = [&](const char* key, const char* what, const std::string& title) {
    const auto& items = summary[key];
    if (items.empty()) return;
    out += "\n";
    line(fmt::format("{} of these files {}:", items.size(), title));
    for (std::size_t i = 0; i < std::min(items.size(), kMost); ++i) {
      const auto text = items[i][what].get<std::string>();
      const auto file = items[i]["file"].get<std::string>();
      out += hang("    ", wrap(visible(text.starts_with(file) ? text : file + ": " + text), width - 4));
    }
    if (items.size() > kMost) out += fmt::format("    and {} more\n", items.size() - kMost);
  };
  list("differ", "columns", "differ from " + summary["first"].get<std::string>());
  list("unreadable", "reason", "cannot be read");
  if (!summary["skipped"].empty()) {
    line(fmt::format("{} skipped, which have no name of points: {}", summary["skipped"].size(),
                     data::show_list(summary["skipped"].get<std::vector<std::string>>(), kMost)));
  }
  return out;
}

}  // namespace kith::app
