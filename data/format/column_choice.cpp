// Parses lists of columns, by name and by number, and restricts a source to the chosen columns.
#include "data/format/column_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/format/shape.h"
#include "data/io/memory_limit.h"
#include "data/io/nearest_name.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

/// The index from 0 of a number from 1; nullopt if the text is not a number.
std::optional<std::int64_t> index_of(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end || number < 0) return std::nullopt;
  return number - 1;
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

  /// The columns of a list such as "a,b,3-7", in its order.
  std::vector<std::int64_t> list(const char* option, const std::string& text) const {
    std::vector<std::int64_t> chosen;
    std::vector<bool> is_chosen(static_cast<std::size_t>(columns_));
    for (const ListItem& item : split_list(option, text)) {
      const auto [first, last] = item.quoted ? name(option, item.text) : range(option, item.text);
      for (std::int64_t j = first; j <= last; ++j) {
        if (is_chosen[static_cast<std::size_t>(j)]) {
          refuse(option, text, fmt::format("names {} twice", show_column(names_, j)));
        }
        is_chosen[static_cast<std::size_t>(j)] = true;
        chosen.push_back(j);
      }
    }
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

/// Some columns of another source.
class ChosenColumns final : public PointSource {
 public:
  ChosenColumns(std::unique_ptr<PointSource> inner, std::vector<std::int64_t> chosen)
      : inner_(std::move(inner)), chosen_(std::move(chosen)) {
    constexpr std::int64_t kLeast = std::int64_t{1} << 20, kMost = std::int64_t{32} << 20, kShare = 16;
    block_bytes_ = std::clamp(memory_limit() / kShare, kLeast, kMost);
  }

  std::string name() const override { return inner_->name(); }
  std::string element_type() const override { return inner_->element_type(); }
  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t columns() const override { return static_cast<std::int64_t>(chosen_.size()); }
  ValueClass value_class() const override { return inner_->value_class(); }
  std::int64_t file_bytes() const override { return inner_->file_bytes(); }
  std::int64_t held_bytes() const override { return inner_->held_bytes() + block_bytes_; }
  std::string only_in_order() const override { return inner_->only_in_order(); }
  void bypass_cache_from(std::int64_t row) override { inner_->bypass_cache_from(row); }
  bool is_compressed() const override { return inner_->is_compressed(); }
  std::int64_t changed_values() const override { return inner_->changed_values(); }
  std::vector<std::string> remarks() const override { return inner_->remarks(); }
  std::optional<IndexedColumns> indexed_columns() const override { return inner_->indexed_columns(); }
  std::vector<std::string> column_names() const override {
    const std::vector<std::string> all = inner_->column_names();
    std::vector<std::string> names;
    if (all.empty()) return names;
    for (const std::int64_t j : chosen_) names.push_back(all[static_cast<std::size_t>(j)]);
    return names;
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    const std::int64_t row_bytes = inner_->columns() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t block =
        std::clamp<std::int64_t>(block_bytes_ / row_bytes, 1, std::max<std::int64_t>(1, out.rows));
    Matrix<T> whole(block, inner_->columns());
    for (std::int64_t begin = 0; begin < out.rows; begin += block) {
      const std::int64_t rows = std::min(block, out.rows - begin);
      inner_->read(first + begin, whole.view().middle(0, rows));
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < chosen_.size(); ++j) {
          out(begin + i, static_cast<std::int64_t>(j)) = whole(i, chosen_[j]);
        }
      }
    }
  }

  std::unique_ptr<PointSource> inner_;
  std::vector<std::int64_t> chosen_;
  std::int64_t block_bytes_ = 0;  // of whole rows at a time
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

ColumnChoice choose_columns(const ReadOptions& options, const std::vector<std::string>& names, std::int64_t columns,
                            const std::string& table) {
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
  if (!options.columns.empty()) {
    choice.points = parser.list("--columns", options.columns);
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

std::unique_ptr<PointSource> with_columns(std::unique_ptr<PointSource> source, const ReadOptions& options) {
  if (source->has_chosen_columns()) return source;
  refuse_kept_columns(options, source->name());
  const std::vector<std::string> names = source->column_names();
  const bool chooses = !options.columns.empty() || !options.drop_columns.empty();
  if (!chooses && names == options.like) return source;
  ColumnChoice choice = choose_columns(options, names, source->columns(), source->name());
  if (std::ssize(choice.points) == source->columns() && std::is_sorted(choice.points.begin(), choice.points.end())) {
    return source;
  }
  return std::make_unique<ChosenColumns>(std::move(source), std::move(choice.points));
}

}  // namespace kith::data
