// The choice is made of options that a user could give, so that results, models and stored commands know nothing of it.
#include "app/run/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "core/error.h"
#include "data/file_names.h"
#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/text/column_types.h"

namespace kith::app {
namespace {

using data::ColumnProfile;
using data::ColumnType;

/// What becomes of a column.
struct Treatment {
  std::string shown;     // "scaled", "left out"
  std::string why = {};  // for people
  std::string encode = {};
  bool is_dropped = false;
  bool names_rows = false;
  bool is_weighed = false;  // its indicators count as one column
};

Treatment left_out(const std::string& why) { return {.shown = "left out", .why = why, .is_dropped = true}; }

std::string missing_values(const ColumnProfile& column, const std::string& become) {
  if (column.missing == 0) return "";
  return fmt::format("{} missing {} {}", column.missing, column.missing == 1 ? "value becomes" : "values become",
                     become);
}

/// The options of the user that name columns.
struct GivenColumns {
  std::set<std::int64_t> encoded, weighed, chosen;
  bool encodes_all = false;  // a rule of --encode for all columns of text
};

/// `scaled`: behind what the values become, ", scaled" or nothing; `fill`: what missing numbers become.
Treatment treatment_of(const ColumnProfile& column, const GivenColumns& given, const std::string& scaled,
                       const std::string& fill) {
  if (given.encoded.count(column.column) > 0) return {.shown = "as --encode says"};
  const bool is_kept = given.weighed.count(column.column) > 0 || given.chosen.count(column.column) > 0;
  const Treatment number{.shown = "number" + scaled, .why = missing_values(column, fill)};
  const bool is_number =
      column.type == ColumnType::number || column.type == ColumnType::identifier || column.type == ColumnType::constant;
  if (is_kept && column.reads_as_number && is_number) return number;
  switch (column.type) {
    case ColumnType::number:
      if (column.reads_as_number) return number;
      if (column.is_number()) {
        const std::string gaps = missing_values(column, fill);
        return {.shown = "number" + scaled,
                .why = fmt::format("{} {}{}{}", column.unit.find(", ") == column.unit.npos ? "without" : "in one unit:",
                                   quoted(column.unit), gaps.empty() ? "" : "; ", gaps),
                .encode = "unit"};
      }
      return left_out(fmt::format("{} reads it, but not the other columns", column.number_options));
    case ColumnType::yesno: {
      Treatment yesno{.shown = "1 and 0" + scaled, .why = missing_values(column, fill)};
      const std::string& first = column.commonest.front().first;  // words are, which also read as numbers: True
      if (std::isalpha(static_cast<unsigned char>(first.front())) != 0) yesno.encode = "yesno";
      return yesno;
    }
    case ColumnType::date:
      if (!column.date_order.empty()) {
        return left_out(fmt::format("{}; --encode {}=dmy or mdy says it", column.date_order, column.name));
      }
      return {.shown = "days" + scaled, .why = missing_values(column, fill), .encode = "date"};
    case ColumnType::time:
      return {.shown = "hours" + scaled, .why = missing_values(column, fill), .encode = "time"};
    case ColumnType::constant: {
      // A mark such as x, or nothing, answers a question.
      constexpr std::int64_t kPercent = 5;
      const std::int64_t present = column.commonest.empty() ? 0 : column.commonest.front().second;
      const std::int64_t rows = present + column.missing, fewer = std::min(present, column.missing);
      if (column.reads_as_number || 100 * fewer < kPercent * rows || given.encodes_all) return left_out(column.why);
      return {.shown = "one-hot, 2",
              .why = fmt::format("'{}' or nothing", quoted(column.commonest.front().first, 20)),
              .encode = "onehot+missing",
              .is_weighed = true};
    }
    case ColumnType::category: {
      if (given.encodes_all) return {.shown = "as --encode says"};
      if (column.is_ordered) {
        const std::string gaps =
            missing_values(column, fill == "an error" || fill == "dropped rows" ? fill : "the commonest text");
        return {.shown = "places" + scaled, .why = column.why + (gaps.empty() ? "" : "; " + gaps), .encode = "ordinal"};
      }
      const bool has_missing = column.missing > 0;
      return {.shown = fmt::format("one-hot, {}", column.distinct + (has_missing ? 1 : 0)),
              .why = missing_values(column, "a text of their own"),
              .encode = has_missing ? "onehot+missing" : "onehot",
              .is_weighed = true};
    }
    default:
      return left_out(column.why);
  }
}

std::set<std::int64_t> columns_of(const char* option, const std::string& list, const data::TableProfile& table,
                                  const std::string& name, bool& names_all) {
  std::set<std::int64_t> columns;
  if (list.empty()) return columns;
  std::vector<std::string> named;
  for (const data::ListItem& item : data::split_list(option, list)) {
    const std::size_t equals = item.text.rfind('=');
    names_all = names_all || equals == item.text.npos;
    if (equals != item.text.npos) named.push_back(item.text.substr(0, equals));
  }
  const auto found = data::choose_each(option, named, table.names, std::ssize(table.columns), name);
  columns.insert(found.begin(), found.end());
  return columns;
}

void append(std::string& list, const std::string& items) {
  if (!items.empty()) list += (list.empty() ? "" : ",") + items;
}

/// A text as an item of a list, which split_list() reads.
std::string list_item(const std::string& text) {
  return text.find_first_of(",\"") == text.npos ? text : double_quoted(text);
}

/// A column as the options name it: by its name, as far as that names it.
std::string column_word(const std::vector<std::string>& names, std::int64_t column) {
  const std::string word = data::option_text(names, column);
  const std::string name = names.empty() ? "" : names[static_cast<std::size_t>(column)];
  const bool is_number = name.find_first_not_of("0123456789-") == name.npos;
  return word == name || is_number || std::count(names.begin(), names.end(), name) > 1 ? word : name;
}

/// Options that read numbers, such as "--decimal comma --thousands point".
void take_number_options(const std::string& options, CommonOptions& common) {
  const std::vector<std::string> words = split_words(options);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    (words[i] == "--decimal" ? common.decimal : common.thousands) = words[i + 1];
  }
}

/// A line for each column, and the command that repeats the choice.
void print(const data::TableProfile& table, const std::vector<std::pair<const ColumnProfile*, Treatment>>& choice,
           std::int64_t skipped, const std::string& command) {
  constexpr std::size_t kMostShown = 50, kNameBytes = 24;
  TextTable text{{Align::left, Align::left, Align::left, Align::wrapped}, {{"column", "type", "becomes", "why"}}, 1, 2};
  std::size_t used = 0;
  for (const auto& [column, treatment] : choice) {
    used += treatment.is_dropped || treatment.names_rows ? 0 : 1;
    if (text.rows.size() > kMostShown) continue;
    text.rows.push_back(
        {quoted(column->name, kNameBytes), name_of(column->type), treatment.shown, visible(treatment.why)});
  }
  const std::size_t width = text_width(Stream::error);
  std::string out =
      fmt::format("prepare    {} rows; {} of {} columns become points\n", table.rows, used, choice.size());
  if (!table.missing_texts.empty()) {
    const bool is_one = table.missing_texts.size() == 1;
    const std::string meaning = fmt::format("'{}' {} values that are missing",
                                            visible(fmt::format("{}", fmt::join(table.missing_texts, "' and '"))),
                                            is_one ? "stands for" : "stand for");
    constexpr std::int64_t kMany = 15;  // percent of a column
    const bool any_dash = std::ranges::any_of(table.missing_texts, [](const std::string& text) {
      return text.find_first_not_of("-\xe2\x80\x93\x94") == text.npos;
    });
    const bool are_many = std::ranges::any_of(choice, [&table](const auto& each) {
      return each.first->type == ColumnType::number && 100 * each.first->missing > kMany * table.rows;
    });
    const char* zero = any_dash && are_many ? "; where a dash means 0, as in accounts, write 0 in the file" : "";
    out += hang("  ", wrap(meaning + zero, width - 2));
  }
  if (skipped > 0) out += fmt::format("  the table begins behind {} line{}\n", skipped, skipped == 1 ? "" : "s");
  out += lay_out(text, width);
  if (choice.size() > kMostShown) out += fmt::format("  and {} more columns\n", choice.size() - kMostShown);
  out += "  the same by hand:\n";
  for (const std::string& line : wrap_command(visible(command), width - 4)) {
    out += fmt::format("{}{}\n", line.starts_with("kith ") ? "  " : "    ", line);
  }
  out.pop_back();  // the terminal ends the line
  Terminal::instance().say(out);
}

}  // namespace

void add_prepare_option(OptionSet& set, CommonOptions& common) {
  common.has_prepare = true;
  set.choice({.names = "--prepare",
              .value = "HOW",
              .help = "auto: look at all rows of a text table, leave out columns that name rows or hold free text, "
                      "make numbers of dates, yes or no and few texts, fill in missing values, scale, and print the "
                      "options that do the same; options that are given stay.",
              .section = Section::preparation,
              .refused = {when([&common] { return common.prepare == "auto" && common.transpose; },
                               "--prepare auto cannot be combined with --transpose; leave one of them out")}},
             {"none", "auto"}, common.prepare);
}

void choose_preparation(const std::string& points, const OptionSet& set, CommonOptions& common) {
  if (common.prepare != "auto") return;
  std::vector<data::Location> tables;
  const auto several = data::named_set(points);
  for (const std::string& file : several ? several->files : std::vector{points})
    tables.push_back(data::parse_location(file));
  if (data::is_standard_input(tables.front().file)) {
    throw Error(ExitCode::usage,
                "--prepare auto reads the table twice, but standard input can be read once; save it in a file");
  }
  for (const data::Location& table : tables) {
    if (data::is_read_as_text(table.file) || data::is_arrow(table.file)) continue;
    data::open_points(table.file, read_options(common));  // refuses UTF-16, for instance, in better words
    throw Error(ExitCode::usage,
                fmt::format("--prepare auto: expected a table whose columns have types, in a text, "
                            "Parquet or Arrow file, found {}; use --scale zscore, and choose columns with --columns",
                            table.file));
  }
  const data::ReadOptions options = read_options(common);
  const data::TableProfile table = data::profile_table(tables, options);
  if (!table.unclear.empty()) throw Error(ExitCode::data, fmt::format("{}: {}", points, table.unclear));
  const std::int64_t skipped = table.skip_lines - options.skip_lines;
  common.skip_lines = table.skip_lines;
  append(common.na_values, fmt::format("{}", fmt::join(table.missing_texts, ",")));
  if (options.decimal == '\0') take_number_options(table.number_options, common);
  if (set.source("--nan") == Source::none) common.nan = "median";
  if (set.source("--scale") == Source::none && !common.weighted()) common.scale = "zscore";
  GivenColumns given;
  bool ignored = false;
  given.encoded = columns_of("--encode", common.encode, table, points, given.encodes_all);
  given.weighed = columns_of("--column-weights", common.column_weights, table, points, ignored);
  if (!common.columns.empty()) given.chosen.insert(table.points.begin(), table.points.end());
  const bool scales = common.scale == "zscore" || common.scale == "minmax";
  const std::string fill = common.nan == "median" || common.nan == "mean" ? "the " + common.nan
                           : common.nan == "drop"                         ? "dropped rows"
                                                                          : "an error";
  std::vector<std::pair<const ColumnProfile*, Treatment>> choice;
  std::vector<FarValue> far_values;
  bool any = false;
  for (const std::int64_t j : table.points) {
    const ColumnProfile& column = table.columns[static_cast<std::size_t>(j)];
    choice.emplace_back(&column, treatment_of(column, given, scales ? ", scaled" : "", fill));
    const bool is_used = !choice.back().second.is_dropped;
    any = any || is_used;
    if (is_used && !column.far_value.empty())
      far_values.push_back({j, column.far_value, column.rest.first, column.rest.second});
  }
  warn_of_far_values(points, table.names, far_values, common);
  std::unordered_map<std::uint64_t, const ColumnProfile*> first_with;  // columns that are used, by their values
  for (auto& [column, treatment] : choice) {
    if (treatment.is_dropped) continue;
    const ColumnProfile* first = first_with.try_emplace(column->fingerprint, column).first->second;
    const std::int64_t j = column->column;
    const bool is_named = given.chosen.contains(j) || given.encoded.contains(j) || given.weighed.contains(j);
    if (first != column && !is_named) treatment = left_out(fmt::format("the same values as {}", quoted(first->name)));
  }
  // The column that most surely identifies the rows names them, unless the user has said what does.
  const auto surely = [](const auto& each) { return each.second.is_dropped ? each.first->names_rows : 0; };
  const auto names = std::ranges::max_element(choice, {}, surely);
  if (any && common.id_column.empty() && common.ids.empty() && surely(*names) > 0) {
    names->second = {.shown = "names the rows", .why = names->first->why, .names_rows = true};
    common.id_column = column_word(table.names, names->first->column);
  }
  std::string encode, weights;
  std::vector<std::string> dropped;
  for (auto& [column, treatment] : choice) {
    const std::int64_t j = column->column;
    if (!any && column->reads_as_number && column->type == ColumnType::identifier && !column->is_code) {
      treatment = {.shown = scales ? "number, scaled" : "number", .why = "no other column can be used"};
    }
    const std::string name = column_word(table.names, j);
    if (treatment.is_dropped) dropped.push_back(list_item(name));
    if (!treatment.encode.empty()) append(encode, list_item(name + "=" + treatment.encode));
    if (treatment.is_weighed && scales && given.weighed.count(j) == 0) append(weights, list_item(name + "=1"));
  }
  append(common.encode, encode);
  append(common.column_weights, weights);
  append(common.drop_columns, fmt::format("{}", fmt::join(dropped, ",")));
  const std::string output = common.output.empty() ? "" : " -o " + shell_word(common.output);
  print(table, choice, skipped, set.shown_command(set.command(), {{"POINTS", shell_names(points)}}) + output);
  if (any || dropped.size() < table.points.size()) return;
  throw Error(ExitCode::data, fmt::format("{}: expected a column that distances can use, found none; to use one, name "
                                          "it, as in --encode {}=onehot",
                                          points, dropped.front()));
}

}  // namespace kith::app
