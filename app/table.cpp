// kith table: a row for each result, with its attributes as columns.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/run/job.h"
#include "app/run/results.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

using Json = nlohmann::ordered_json;

/// The values of a result that fit into a cell.
Json row_of(const std::string& file) {
  const Json facts = result_facts(data::StoredResult(file));
  Json row{{"file", file}};
  for (const auto& [name, value] : facts.items()) {
    if (name == "format_version" || name == "points_type" || name.ends_with("_crc32")) continue;
    if (name == "points_shape") {
      row["rows"] = value.at(0);
      row["columns"] = value.at(1);
    } else if (name == "sizes") {
      for (const char* size : {"smallest", "largest", "empty"}) row[size] = value[size];
    } else if (!value.is_array()) {
      row[name] = value;
    }
  }
  return row;
}

/// Tables are read by people too, through pagers and in files: what a terminal would obey is escaped (--json has it).
std::string cell_of(const Json& value) {
  if (value.is_string()) return data::csv_field(visible(value.get<std::string>()));
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

std::string as_csv(const std::vector<Json>& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) {
    for (const auto& [name, value] : row.items()) {
      if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + data::csv_field(visible(name));
  out += "\n";
  for (const Json& row : rows) {
    std::string line;
    for (const std::string& name : names) {
      line += (&name == &names.front() ? "" : ",") + (row.contains(name) ? cell_of(row[name]) : "");
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace

int run_table(const Arguments& arguments) {
  std::vector<std::string> files;
  CommonOptions common;
  OptionSet set({.command = "table",
                 .summary = "a table of results on standard output, as CSV: a row each, with all that they say about "
                            "themselves.",
                 .usage = "RESULT... [options]",
                 .examples = {"kith table results/*.h5 > all.csv", "kith table k*.h5 --json"}});
  set.positionals({.names = "RESULT", .help = "Results of kith.", .required = "the first result", .input = Input::file},
                  files);
  set.begin_common();
  add_message_options(set, common);
  if (!set.parse(arguments)) return 0;
  Job job("table", common);
  std::vector<Json> rows;
  for (const std::string& file : files) rows.push_back(row_of(file));
  job.progress.finish();
  if (common.dry_run) return 0;
  if (!common.json) {
    print_out(as_csv(rows));
    return 0;
  }
  const Json object{{"command", "table"}, {"version", KITH_VERSION}, {"rows", rows}};
  print_out(printable_json(object.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n");
  return 0;
}

}  // namespace kith::app
