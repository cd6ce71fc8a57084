// Parses lists of columns, by name and by number, and restricts a source to the chosen columns.
#include "data/format/column_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/numbers/places.h"
#include "data/format/shape.h"
#include "data/format/table_model.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/nearest_name.h"
#include "data/io/numbers.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

constexpr const char* kNumeric = "numeric";

/// The index from 0 of a number from 1; nullopt if the text is not a number.
std::optional<std::int64_t> index_of(std::string_view text) {
  std::int64_t number = 0;
  return read_number(text, number) && number >= 0 ? std::optional(number - 1) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

class ColumnParser {
 public:
  ColumnParser(const std::vector<std::string>& names, std::int64_t columns, const std::string& table)
      : names_(names), columns_(columns), table_(table) {
    for (std::size_t j = 0; j < names.size(); ++j) {
      ++places_.try_emplace(names[j], Place{static_cast<std::int64_t>(j), 0}).first->second.count;
    }
  }

  /// The columns of a list such as "a,b,3-7", in its order. The word "numeric", unless it is a name, stands for the
  /// columns of `numeric` that the list does not name.
  std::vector<std::int64_t> list(const char* option, const std::string& text,
                                 const NumericColumns& numeric = {}) const {
    std::vector<std::int64_t> chosen, of_numbers;
    std::vector<bool> is_chosen(static_cast<std::size_t>(columns_));
    std::ptrdiff_t at = -1;  // where the columns of numbers stand
    for (const ListItem& item : split_list(option, text)) {
      if (numeric && !item.quoted && item.text == kNumeric && places_.count(kNumeric) == 0 && at < 0) {
        at = std::ssize(chosen);
        of_numbers = numeric();
        continue;
      }
      const auto [first, last] = item.quoted ? name(option, item.text) : range(option, item.text);
      for (std::int64_t j = first; j <= last; ++j) {
        if (is_chosen[static_cast<std::size_t>(j)]) {
          refuse(option, text, fmt::format("names {} twice", show_column(names_, j)));
        }
        is_chosen[static_cast<std::size_t>(j)] = true;
        chosen.push_back(j);
      }
    }
    std::erase_if(of_numbers, [&](std::int64_t j) { return is_chosen[static_cast<std::size_t>(j)]; });
    if (at >= 0) chosen.insert(chosen.begin() + at, of_numbers.begin(), of_numbers.end());
    return chosen;
  }

  /// The columns with these names; empty unless there is one of each.
  std::vector<std::int64_t> named(const std::vector<std::string>& names) const {
    std::vector<std::int64_t> found;
    for (const std::string& name : names) {
      const auto place = places_.find(name);
      if (place == places_.end() || place->second.count != 1) return {};
      found.push_back(place->second.index);
    }
    return found;
  }

  std::int64_t one(const char* option, const std::string& text) const {
    const auto [first, last] = range(option, text);
    if (first != last) refuse(option, text, "names several columns, expected one");
    return first;
  }

 private:
  std::pair<std::int64_t, std::int64_t> range(const char* option, std::string_view text) const {
    // A number is always a position, even if a column has this number as its name.
    if (const auto index = index_of(text)) return {checked(option, text, *index), *index};
    if (places_.find(text) != places_.end()) return name(option, text);
    if (const auto dash = text.find('-'); dash != text.npos && dash > 0) {
      const auto first = index_of(text.substr(0, dash)), last = index_of(text.substr(dash + 1));
      if (first && last) {
        if (*first > *last) refuse(option, text, "goes backwards");
        return {checked(option, text, *first), checked(option, text, *last)};
      }
    }
    return name(option, text);
  }

  std::pair<std::int64_t, std::int64_t> name(const char* option, std::string_view text) const {
    if (const auto place = places_.find(text); place != places_.end()) {
      const auto [index, count] = place->second;
      if (count > 1) refuse(option, text, fmt::format("is the name of {} columns; give a number", count));
      return {index, index};
    }
    if (names_.empty()) refuse(option, text, "is not the number of a column");
    const auto longer = std::find_if(names_.begin(), names_.end(), [text](const std::string& name) {
      return name.size() > text.size() && name.starts_with(text) && name[text.size()] == ',';
    });
    if (longer != names_.end()) {
      refuse(option, text,
             fmt::format("is no column's name; quote a name that contains a comma, as in '\"{}\"'", quoted(*longer)));
    }
    const std::string similar = similar_name(std::string(text), names_);
    refuse(option, text,
           similar.empty() ? "is neither a column's name nor a number"
                           : fmt::format("is no column's name; the nearest is '{}'", quoted(similar)));
  }

  std::int64_t checked(const char* option, std::string_view text, std::int64_t index) const {
    if (index < 0 || index >= columns_) refuse(option, text, "does not exist");
    return index;
  }

  [[noreturn]] void refuse(const char* option, std::string_view text, const std::string& why) const {
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' {}; expected columns of {}, which has columns 1 to {}{}", option, quoted(text),
                            why, table_, columns_, names_.empty() ? ", without names" : ": " + show_list(names_, 30)));
  }

  /// The first column of a name, and how many have the name.
  struct Place {
    std::int64_t index = 0;
    std::int64_t count = 0;
  };

  const std::vector<std::string>& names_;
  std::unordered_map<std::string_view, Place> places_;
  std::int64_t columns_;
  const std::string& table_;
};

}  // namespace

std::vector<ListItem> split_list(const char* option, const std::string& list) {
  std::vector<ListItem> items;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    ListItem item;
    while (at < list.size() && list[at] == ' ') ++at;
    const std::size_t begin = at;
    for (bool open = false; at < list.size() && (open || list[at] != ','); ++at) {
      if (list[at] == '"' && (item.quoted || at == begin)) {
        open = !open;
        item.quoted = true;
        if (open && at > begin && list[at - 1] == '"') item.text += '"';
      } else {
        item.text += list[at];
      }
      if (open && at + 1 == list.size()) {
        throw Error(ExitCode::usage, fmt::format("{}: expected a closing quote in '{}'", option, quoted(list)));
      }
    }
    if (!item.quoted) item.text = trimmed(item.text);
    items.push_back(std::move(item));
  }
  return items;
}

std::string show_column(const std::vector<std::string>& names, std::int64_t column) {
  return names.empty()
             ? fmt::format("column {}", column + 1)
             : fmt::format("column {} ('{}')", column + 1, quoted(names.at(static_cast<std::size_t>(column)), 60));
}

std::string option_text(const std::vector<std::string>& names, std::int64_t column) {
  const std::string name = names.empty() ? "" : names.at(static_cast<std::size_t>(column));
  const bool usable = !name.empty() && quoted(name, 60) == name && name.find_first_of(", '\"\n") == name.npos &&
                      !index_of(name) && std::count(names.begin(), names.end(), name) == 1;
  return usable ? name : std::to_string(column + 1);
}

std::int64_t choose_column(const char* option, const std::string& text, const std::vector<std::string>& names,
                           std::int64_t columns, const std::string& table) {
  return choose_each(option, {text}, names, columns, table).front();
}

std::vector<std::int64_t> choose_each(const char* option, const std::vector<std::string>& texts,
                                      const std::vector<std::string>& names, std::int64_t columns,
                                      const std::string& table) {
  const ColumnParser parser(names, columns, table);
  std::vector<std::int64_t> chosen;
  for (const std::string& text : texts) chosen.push_back(parser.one(option, text));
  return chosen;
}

namespace {

/// The columns that are named as latitude and longitude are, in this order.
std::vector<std::int64_t> place_columns(const std::vector<std::string>& names, const std::string& table) {
  std::vector<std::int64_t> columns;
  for (const PlaceAngle& angle : place_angles()) {
    const std::vector<std::int64_t> found = columns_named(angle, names);
    if (found.size() != 1) {
      std::vector<std::string> shown;
      for (const std::int64_t j : found) shown.push_back(names[static_cast<std::size_t>(j)]);
      throw Error(
          ExitCode::usage,
          fmt::format("{}: expected one column for --metric haversine that is named as a {} ({}), found {} among "
                      "{}; give --columns LATITUDE,LONGITUDE with the names of yours",
                      table, angle.name, fmt::join(angle.known, ", "), found.empty() ? "none" : show_list(shown, 8),
                      show_list(names, 30)));
    }
    columns.push_back(found[0]);
  }
  return columns;
}

}  // namespace

ColumnChoice choose_columns(const ReadOptions& options, const std::vector<std::string>& names, std::int64_t columns,
                            const std::string& table, const NumericColumns& numeric) {
  const ColumnParser parser(names, columns, table);
  ColumnChoice choice;
  if (options.columns.empty() && options.drop_columns.empty()) choice.points = parser.named(options.like);
  if (!choice.points.empty()) {  // points like others need not have their texts and weights
    const auto found = [&](const char* option, const std::string& name) {
      return name.empty() || (parser.named({name}).empty() && !index_of(name)) ? -1 : parser.one(option, name);
    };
    choice.id = found("--id-column", options.id_column);
    choice.label = found("--label-column", options.label_column);
    choice.weight = found("--weight-column", options.weight_column);
    return choice;
  }
  if (!options.id_column.empty()) choice.id = parser.one("--id-column", options.id_column);
  if (!options.label_column.empty()) choice.label = parser.one("--label-column", options.label_column);
  if (!options.weight_column.empty()) choice.weight = parser.one("--weight-column", options.weight_column);
  std::vector<std::int64_t> dropped;
  if (!options.drop_columns.empty()) dropped = parser.list("--drop-columns", options.drop_columns);
  if (!options.joined.empty() && options.ids.empty() && options.columns.empty()) {
    const std::vector<std::int64_t> joined = parser.list("--join", options.joined);
    dropped.insert(dropped.end(), joined.begin(), joined.end());
  }
  if (!options.columns.empty()) {
    const auto all = [columns] {
      std::vector<std::int64_t> found(static_cast<std::size_t>(columns));
      std::iota(found.begin(), found.end(), 0);
      return found;
    };
    choice.points = parser.list("--columns", options.columns, numeric ? numeric : NumericColumns(all));
  } else if (options.form == RowForm::places && options.drop_columns.empty() && !names.empty()) {
    choice.points = place_columns(names, table);
  } else {
    for (std::int64_t j = 0; j < columns; ++j) choice.points.push_back(j);
  }
  std::vector<bool> is_dropped(static_cast<std::size_t>(columns));
  for (const std::int64_t j : dropped) is_dropped[static_cast<std::size_t>(j)] = true;
  for (const std::int64_t j : {choice.id, choice.label, choice.weight}) {
    if (j >= 0) is_dropped[static_cast<std::size_t>(j)] = true;
  }
  std::erase_if(choice.points, [&](std::int64_t j) { return is_dropped[static_cast<std::size_t>(j)]; });
  if (choice.points.empty()) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: --columns and --drop-columns keep none of {} columns; expected at least one; drop fewer",
                    table, columns));
  }
  return choice;
}

ReadOptions without_id_of_model(ReadOptions options) {
  if (options.model && options.id_column == options.model->option("--id-column")) options.id_column.clear();
  return options;
}

ReadOptions with_columns_of_model(ReadOptions options, bool has_names, std::int64_t columns) {
  if (!options.model || !options.columns.empty() || !options.drop_columns.empty()) return options;
  options.like.clear();
  std::string numbers;
  for (const ColumnModel& column : options.model->columns) {
    options.like.push_back(column.name);
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", column.number);
  }
  std::vector<std::string> sorted = options.like;
  std::sort(sorted.begin(), sorted.end());
  const bool are_unique = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  if (has_names && options.model->has_names() && are_unique) return options;
  options.like.clear();
  if (!has_names && options.model->has_names()) options = without_id_of_model(std::move(options));
  const bool by_number = !options.model->has_names() || (has_names && !are_unique);
  if (by_number && columns == options.model->table_columns) options.columns = numbers;
  return options;
}

bool asks_for_numeric(const std::string& columns, const std::vector<std::string>& names) {
  if (columns.find(kNumeric) == columns.npos || std::count(names.begin(), names.end(), kNumeric) > 0) return false;
  const std::vector<ListItem> items = split_list("--columns", columns);
  return std::ranges::any_of(items, [](const ListItem& item) { return !item.quoted && item.text == kNumeric; });
}

void refuse_kept_columns(const ReadOptions& options, const std::string& name) {
  for (const auto& [option, value] :
       {std::pair{"--id-column", &options.id_column}, std::pair{"--label-column", &options.label_column},
        std::pair{"--weight-column", &options.weight_column}}) {
    if (value->empty()) continue;
    throw Error(ExitCode::usage, fmt::format("{} {}: expected a text file, found {}, which is not text; choose columns "
                                             "with --columns or --drop-columns",
                                             option, *value, name));
  }
}

namespace {

std::string show(const std::vector<DatasetInfo>& arrays) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> items(arrays.size());
  for (std::size_t i = 0; i < std::min(arrays.size(), kShown); ++i) {
    items[i] = fmt::format("{} ({}, {})", arrays[i].path, show_shape(arrays[i].shape),
                           arrays[i].type.empty() ? "no array" : arrays[i].type);
  }
  return show_list(items, kShown);
}

}  // namespace

void leave_out_trivial(std::vector<DatasetInfo>& candidates) {
  const auto is_trivial = [](const DatasetInfo& info) {
    return std::ranges::count(info.shape, 0) > 0 || std::ranges::count(info.shape, 1) == std::ssize(info.shape);
  };
  if (!std::ranges::all_of(candidates, is_trivial)) std::erase_if(candidates, is_trivial);
}

std::string usual_array(const std::vector<DatasetInfo>& candidates) {
  for (const char* ending : {"/obsm/X_pca", "/centroids_original", "/X", "/matrix"}) {
    const auto found = std::ranges::find_if(candidates, [&](const auto& info) { return info.path.ends_with(ending); });
    if (found != candidates.end()) return found->path;
  }
  const auto train = std::ranges::find_if(
      candidates, [](const auto& info) { return info.path.find("train", info.path.rfind('/')) != info.path.npos; });
  if (train != candidates.end()) return train->path;
  const auto numbers = std::ranges::find_if(candidates, [](const auto& info) {
    return info.type.find("logical") == info.type.npos && info.type.find("bool") == info.type.npos;
  });
  return (numbers == candidates.end() ? candidates.begin() : numbers)->path;
}

bool is_of_kind(const DatasetInfo& info, TableKind kind, bool vector_as_column) {
  if (kind == TableKind::records) return !info.columns.empty();
  const bool numbers = is_number(info.type) || info.type == "sparse";
  if (kind == TableKind::matrix) return numbers && info.shape.size() == 2;
  return vector_as_column && numbers && info.shape.size() == 1;
}

std::string describe(TableKind kind, const char* noun) {
  if (kind == TableKind::records) return fmt::format("{} of records", noun);
  return fmt::format("{}-dimensional {} of numbers", kind == TableKind::matrix ? 2 : 1, noun);
}

std::size_t choose_array(const std::vector<DatasetInfo>& arrays, const Location& location, bool vector_as_column) {
  if (!location.dataset.empty()) {
    const std::string path = (location.dataset.starts_with('/') ? "" : "/") + location.dataset;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].path == path || arrays[i].path + ".npy" == path) return i;
    }
    refuse_input(location.file, fmt::format("no such array: '{}'; the file holds {}", location.dataset, show(arrays)));
  }
  for (const TableKind kind : kTableKinds) {
    std::vector<DatasetInfo> candidates;
    std::ranges::copy_if(arrays, std::back_inserter(candidates),
                         [&](const DatasetInfo& info) { return is_of_kind(info, kind, vector_as_column); });
    leave_out_trivial(candidates);
    if (candidates.size() == 1) {
      const auto only = std::ranges::find(arrays, candidates[0].path, &DatasetInfo::path);
      return static_cast<std::size_t>(only - arrays.begin());
    }
    if (candidates.size() > 1) {
      refuse_input(location.file,
                   fmt::format("expected one {}, found {}: {}; name one, as in {}:{}", describe(kind, "array"),
                               candidates.size(), show(arrays), location.file, usual_array(candidates)));
    }
  }
  for (const DatasetInfo& array : arrays) {
    if ((!array.type.empty() && arrays.size() > 1) || array.unreadable.empty()) continue;
    if (array.unreadable.starts_with(location.file)) throw Error(ExitCode::data, array.unreadable);
    refuse_input(fmt::format("{}:{}", location.file, array.path), array.unreadable);
  }
  refuse_input(location.file,
               fmt::format("expected a 2-dimensional array of numbers, found {}; give a file with one; "
                           "numpy.column_stack() makes one of vectors, x.reshape(len(x), -1) of more dimensions",
                           show(arrays)));
}

}  // namespace kith::data
