// Collects the texts of columns in one pass, and names the features.
#include "data/text/text_columns.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/scratch_file.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/text/text_number.h"
#include "data/text/text_refusal.h"
#include "data/text/text_units.h"

namespace kith::data {
namespace {

constexpr std::size_t kMostFeatures = 1000;  // of one column

/// The texts as a part of a name; their number and checksum if a list could not be read back.
std::string list_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kMostListed = 50;
  const bool listed = texts.size() <= kMostListed && std::none_of(texts.begin(), texts.end(), [](const auto& text) {
                        return text.find('|') != text.npos;
                      });
  if (listed) return fmt::format("{}", fmt::join(texts, "|"));
  uLong sum = crc32(0, nullptr, 0);
  for (const std::string& text : texts) {
    sum = crc32(sum, reinterpret_cast<const Bytef*>(text.c_str()), static_cast<uInt>(text.size() + 1));
  }
  return fmt::format("{} texts, CRC-32 {:08x}", texts.size(), sum);
}

/// The column of which a feature with this name is made, if it is one of `columns`, else the name.
std::string_view column_of(std::string_view name, const std::unordered_set<std::string_view>& columns) {
  std::string_view column = name;
  while (columns.count(column) == 0) {
    if (column.find('=') == column.npos) return name;
    column = column.substr(0, column.rfind('='));
  }
  return column;
}

/// The texts of which features with these names are made, "city=Lyon", or one that lists them; `begin`: the bytes up to
/// the sign. Empty if they do not list any.
std::vector<std::string> texts_of(const std::vector<std::string_view>& names, std::size_t begin, Encode how) {
  std::vector<std::string> texts;
  for (const std::string_view name : names) {
    if (name.size() <= begin) return {};
    const std::string text(name.substr(begin));
    if (how == Encode::onehot) {
      texts.push_back(text);
      continue;
    }
    for (std::string& part : split_text(text, '|')) texts.push_back(std::move(part));
    if (list_of(texts) != text || texts.size() < 2) return {};
  }
  return std::is_sorted(texts.begin(), texts.end()) ? texts : std::vector<std::string>();
}

/// The rule for a column whose first rows hold, beside missing values, only dates, words for yes and no of which some
/// are no numbers, or texts; none if they hold others.
Encode encode_for(const TextHead& head, std::int64_t column, const std::vector<Encode>& rules) {
  const auto has = [&rules](Encode how) { return std::find(rules.begin(), rules.end(), how) != rules.end(); };
  bool any = false, dates = false, all_dates = true, texts = true, yes_no = true, times = true;
  std::set<std::string> units;  // empty: of a value that has none
  for (const TextHead::Sample& row : head.samples) {
    if (column >= std::ssize(row.fields)) return Encode::none;
    const std::string& field = row.fields[static_cast<std::size_t>(column)];
    if (is_missing(head, field)) continue;
    const bool is_text = is_text_field(head, field);
    any = any || is_text;
    texts = texts && is_text;
    dates = dates || is_date_text(field);
    all_dates = all_dates && date_readings(field).any();
    yes_no = yes_no && parse_yes_no(field);
    times = times && parse_time(field);
    units.insert(split_unit(field).unit);
    if (!texts && !yes_no) return Encode::none;
  }
  if (!any) return Encode::none;
  for (const Encode how : rules) {
    if (how >= Encode::date && how <= Encode::date_month_first && texts && all_dates) return how;
  }
  if (yes_no && has(Encode::yesno)) return Encode::yesno;
  if (units.count("") == 0 && !common_unit(units, false).empty() && has(Encode::unit)) return Encode::unit;
  if (times && has(Encode::time)) return Encode::time;
  const auto last = std::find_if(rules.rbegin(), rules.rend(), [](Encode how) { return !is_one_number(how); });
  return dates || !texts || last == rules.rend() ? Encode::none : *last;
}

}  // namespace

void ColumnEncoding::set_texts(std::vector<std::string> texts) {
  texts_ = std::move(texts);
  places_.clear();
  for (std::size_t i = 0; i < texts_.size(); ++i) places_.emplace(texts_[i], i);
}

std::int64_t ColumnEncoding::place(std::string_view text) const {
  const auto found = places_.find(text);
  return found == places_.end() ? -1 : found->second;
}

std::optional<double> ColumnEncoding::number(std::string_view text) const {
  if (how_ == Encode::yesno) return parse_yes_no(text);
  if (how_ == Encode::time) {
    const std::optional<TimeText> time = parse_time(with_colons(text));
    return time ? std::optional(time->hours) : std::nullopt;
  }
  if (how_ == Encode::unit) return number_in(text, texts_.front(), numbers_);
  return parse_date(text, how_ == Encode::date_day_first     ? DateOrder::day_first
                          : how_ == Encode::date_month_first ? DateOrder::month_first
                                                             : DateOrder::unknown);
}

void ColumnEncoding::append_names(const std::string& column_name, std::vector<std::string>& names) const {
  if (is_one_number(how_)) {
    names.push_back(column_name);
    return;
  }
  if (how_ == Encode::ordinal) {
    names.push_back(column_name + "=" + list_of(texts_));
    return;
  }
  for (const std::string& text : texts_) names.push_back(column_name + "=" + text);
}

const ColumnModel* model_of(const TableModel& model, const TextHead& head, const std::vector<std::int64_t>& points,
                            std::size_t i) {
  const auto by_name = [&](const ColumnModel& column) {
    return column.name == head.names[static_cast<std::size_t>(points[i])];
  };
  // By default the points are the columns of the model; other ones are those that options choose.
  if (points.size() == model.columns.size()) {
    const ColumnModel& same = model.columns[i];
    if (head.names.empty() || same.name.empty() || by_name(same)) return &same;
  }
  if (head.names.empty() || !model.has_names()) return nullptr;
  const auto found = std::find_if(model.columns.begin(), model.columns.end(), by_name);
  return found == model.columns.end() ? nullptr : &*found;
}

std::vector<ColumnEncoding> find_encodings(const TextHead& head, const std::vector<std::string>& names,
                                           const std::vector<std::int64_t>& points, const ReadOptions& options,
                                           const std::string& table) {
  std::vector<ColumnEncoding> encodings;
  if (options.model) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const ColumnModel* column = model_of(*options.model, head, points, i);
      if (column == nullptr || column->how == Encode::none) continue;
      Encode how = column->how;
      for (const EncodeRule& rule : options.encode) {  // the order of dates is that of the table
        const bool is_order = rule.how == Encode::date_day_first || rule.how == Encode::date_month_first;
        const bool is_its_own = rule.column.empty() || rule.column == names[static_cast<std::size_t>(points[i])] ||
                                rule.column == std::to_string(points[i] + 1);
        if (is_order && is_its_own && kind_of(how) == kind_of(rule.how)) how = rule.how;
      }
      encodings.emplace_back(points[i], how, false, head.numbers).give_texts(column->texts);
    }
    return encodings;
  }
  if (options.encode.empty()) return encodings;
  std::vector<Encode> all;  // for columns without a rule of their own
  bool all_keep_missing = false;
  std::unordered_map<std::int64_t, const EncodeRule*> chosen;
  std::unordered_set<std::int64_t> is_point(points.begin(), points.end());
  std::vector<std::string> named;
  std::vector<const EncodeRule*> rules;
  for (const EncodeRule& rule : options.encode) {
    if (rule.column.empty()) {
      all.push_back(rule.how);
      all_keep_missing = all_keep_missing || rule.keeps_missing;
      continue;
    }
    named.push_back(rule.column);
    rules.push_back(&rule);
  }
  const std::vector<std::int64_t> columns = choose_each("--encode", named, names, head.columns, table);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_point.count(columns[i]) == 0) {
      if (options.columns.empty() && !options.drop_columns.empty()) continue;  // a message has said to leave it out
      throw Error(ExitCode::usage, fmt::format("--encode: {} is not one of the points of {}; leave it out, or choose "
                                               "the column with --columns",
                                               show_column(head.names, columns[i]), table));
    }
    chosen[columns[i]] = rules[i];
  }
  for (const std::int64_t column : points) {
    const auto rule = chosen.find(column);
    const bool by_name = rule != chosen.end();
    const Encode how = by_name ? rule->second->how : encode_for(head, column, all);
    const bool keeps_missing = by_name ? rule->second->keeps_missing : all_keep_missing && how == Encode::onehot;
    if (how == Encode::none) continue;
    encodings.emplace_back(column, how, keeps_missing, head.numbers);
    if (by_name) encodings.back().give_texts(rule->second->order);
  }
  return encodings;
}

void find_encoded_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                        const std::vector<std::string>& names, const ReadOptions& options,
                        std::vector<ColumnEncoding>& encodings) {
  if (options.model) return;
  struct Found {
    std::set<std::string, std::less<>> texts;  // or units
    std::string unit;                          // the first
    DatesFound dates;                          // or times
    ColumnEncoding* encoding = nullptr;
  };
  std::unordered_set<std::string_view> encoded;
  for (const ColumnEncoding& encoding : encodings) encoded.insert(names[static_cast<std::size_t>(encoding.column())]);
  std::unordered_map<std::string_view, std::vector<std::string_view>> given;  // features of each column
  for (const std::string& name : options.like) given[column_of(name, encoded)].push_back(name);
  std::vector<Found> all(encodings.size());
  std::vector<Found*> of_column(static_cast<std::size_t>(head.columns));
  bool any = false;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    const auto column = static_cast<std::size_t>(encodings[i].column());
    all[i].encoding = &encodings[i];
    const Encode how = encodings[i].how();
    if (is_one_number(how) && how != Encode::date && how != Encode::unit && how != Encode::time) continue;
    if (!is_one_number(how) && encodings[i].texts().empty())
      encodings[i].set_texts(texts_of(given[names[column]], names[column].size() + 1, how));
    if (!encodings[i].texts().empty()) continue;
    of_column[column] = &all[i];
    any = true;
  }
  if (!any) return;
  constexpr std::int64_t kBytesPerText = 256;  // in the set, the list and the map
  MemoryGrowth growth(input.name());
  for_records(input, head.syntax, index, [&](std::string_view record, std::int64_t, std::int64_t line) {
    FieldCursor cursor(record, head.syntax);
    for (Found* found : of_column) {
      if (!cursor.more()) break;
      const Field field = cursor.take();
      if (found == nullptr) continue;
      if (!field.quoted && found->texts.find(field.text) != found->texts.end()) continue;
      std::string text = text_of(field);
      if (found->encoding->keeps_missing() && is_missing(head, text)) {
        text = kMissingCategory;
      } else if (is_missing_category(head, text, options.missing)) {
        continue;
      }
      if (found->encoding->how() == Encode::date || found->encoding->how() == Encode::time) {
        found->dates.add(found->encoding->how(), text, line);
        continue;
      }
      if (found->encoding->how() == Encode::unit) {
        const bool is_number = !plain_number(text, head.numbers).empty();
        text = split_unit(text).unit;
        if (text.empty() && !is_number) continue;  // reading the rows refuses it
        if (found->unit.empty()) found->unit = text;
      }
      const auto bytes = kBytesPerText + 2 * std::ssize(text);
      if (!found->texts.insert(std::move(text)).second) continue;
      growth.add(bytes);
      if (found->encoding->how() == Encode::onehot && found->texts.size() > kMostFeatures) {
        const std::int64_t column = found->encoding->column();
        refuse_input(input.name(), fmt::format("expected at most {} different texts in {}, one feature each, found "
                                               "more; say --encode {}=ordinal, or leave the column out with "
                                               "--drop-columns {}",
                                               kMostFeatures, show_column(head.names, column),
                                               option_text(head.names, column), option_text(head.names, column)));
      }
    }
  });
  for (Found& found : all) {
    Encode how = found.encoding->how();
    if (how == Encode::date || how == Encode::time) {
      how = found.dates.settle(how, input.name(), head, found.encoding->column());
      found.encoding->set_how(how);
    }
    if ((is_one_number(how) && how != Encode::unit) || !found.encoding->texts().empty()) continue;
    if (how == Encode::unit && found.unit.empty()) found.texts.clear();
    if (found.texts.empty()) {
      const std::int64_t column = found.encoding->column();
      refuse_input(input.name(),
                   fmt::format("expected {} in {}, found {}; leave it out with "
                               "--drop-columns {}",
                               how == Encode::unit ? "numbers with a unit" : "texts", show_column(head.names, column),
                               how == Encode::unit ? "none" : "missing values only", option_text(head.names, column)));
    }
    std::vector<std::string> texts(found.texts.begin(), found.texts.end());
    if (how == Encode::unit) {
      const std::string common = common_unit({texts.begin(), texts.end()}, options.form == RowForm::places);
      texts = {common.empty() ? found.unit : common};  // reading the rows refuses other units
    }
    if (how == Encode::ordinal) {
      if (TextOrder order = known_order(texts); !order.texts.empty()) texts = std::move(order.texts);
    }
    found.encoding->set_texts(std::move(texts));
  }
}

std::vector<std::string> encoded_columns(const std::vector<std::string>& like, const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> known(names.begin(), names.end());
  std::unordered_set<std::string_view> seen;
  std::vector<std::string> columns;
  for (const std::string& name : like) {
    const std::string_view column = column_of(name, known);
    if (seen.insert(column).second) columns.emplace_back(column);
  }
  return columns;
}

ColumnChoice choose_text_columns(const InputBytes& input, const TextHead& head, const std::vector<std::string>& names) {
  ReadOptions adjusted = head.options;
  if (head.row_names && adjusted.columns.empty() && adjusted.id_column.empty()) adjusted.id_column = std::string("1");
  if (!adjusted.encode.empty()) adjusted.like = encoded_columns(adjusted.like, names);
  adjusted = with_columns_of_model(std::move(adjusted), !head.names.empty(), head.columns);
  const bool needs_names = adjusted.model && adjusted.columns.empty() && adjusted.drop_columns.empty() &&
                           std::ssize(adjusted.like) != head.columns;
  for (const std::string& name : needs_names ? adjusted.like : std::vector<std::string>()) {
    const auto count = std::count(names.begin(), names.end(), name);
    if (count == 1) continue;
    refuse_input(input.name(),
                 fmt::format("expected a column '{}', as the points before have, found {} among {}; give "
                             "that name to one column",
                             quoted(name, 60), count == 0 ? "none" : std::to_string(count), show_list(names, 30)));
  }
  try {
    return choose_columns(adjusted, names, head.columns, input.name(), [&] { return numeric_columns(input, head); });
  } catch (const Error& error) {
    refuse_lines_before(input, head);
    std::string message = error.what();
    for (const std::string& remark : head.remarks) message += "; " + remark;
    message += or_header(head, head.first_line);
    throw Error(error.code(), message, error.cause());
  }
}

std::vector<std::string> names_for(const TextHead& head) {
  std::vector<std::string> names = head.names;
  if (!makes_features(head.options) || !names.empty()) return names;
  for (std::int64_t j = 1; j <= head.columns; ++j) names.push_back(fmt::format("column {}", j));
  return names;
}

std::vector<std::int64_t> numbers_of(std::vector<std::int64_t> columns, const std::vector<ColumnEncoding>& encodings) {
  std::unordered_set<std::int64_t> encoded;
  for (const ColumnEncoding& encoding : encodings) encoded.insert(encoding.column());
  std::erase_if(columns, [&encoded](std::int64_t column) { return encoded.count(column) > 0; });
  return columns;
}

namespace {

/// The first of the numbers of a column such as 08.30, if all of the first rows may be times of day; empty for others.
std::string time_among_numbers(const TextHead& head, std::int64_t column) {
  std::string first;
  for (const TextHead::Sample& row : head.samples) {
    if (column >= std::ssize(row.fields)) return "";
    const std::string& field = row.fields[static_cast<std::size_t>(column)];
    if (is_missing(head, field)) continue;
    if (!is_time_with_point(field)) return "";
    const bool is_padded = field[0] == '0' && field[1] != '.';  // as numbers are not
    if (is_padded && first.empty()) first = field;
  }
  return first;
}

}  // namespace

std::vector<std::string> remarks_on_encodings(const TextHead& head, const std::vector<std::int64_t>& numbers,
                                              const std::vector<ColumnEncoding>& encodings) {
  std::vector<std::string> remarks;
  for (const std::int64_t j : numbers) {
    const std::string time = head.numbers.is_plain() ? time_among_numbers(head, j) : "";
    if (time.empty()) continue;
    remarks.push_back(fmt::format(
        "{} holds numbers such as {}, which were read as decimals; if they are times of day, say --encode {}=time",
        show_column(head.names, j), time, option_text(head.names, j)));
    break;
  }
  for (const std::int64_t j : numbers) {
    const auto is_code = [j](const TextHead::Sample& row) {  // 01234, and no 1.5
      return j < std::ssize(row.fields) && has_leading_zero(row.fields[static_cast<std::size_t>(j)]);
    };
    const auto is_other = [j](const TextHead::Sample& row) {
      return j < std::ssize(row.fields) &&
             row.fields[static_cast<std::size_t>(j)].find_first_not_of("0123456789") != std::string::npos;
    };
    const auto code = std::ranges::find_if(head.samples, is_code);
    if (code == head.samples.end() || std::ranges::any_of(head.samples, is_other)) continue;
    remarks.push_back(
        fmt::format("{} holds numbers such as {}, whose zero says that they may be codes; if so, leave it out with "
                    "--drop-columns {}",
                    show_column(head.names, j), code->fields[static_cast<std::size_t>(j)], option_text(head.names, j)));
    break;
  }
  for (const ColumnEncoding& encoding : encodings) {
    if (encoding.how() != Encode::ordinal || encoding.has_given_texts() || std::ssize(encoding.texts()) < 3) continue;
    if (!known_order(encoding.texts()).texts.empty()) continue;
    remarks.push_back(fmt::format(
        "{}: the places of its texts are those of the alphabet, {}; if they have another order, say it: --encode "
        "'{}=low<medium<high'",
        show_column(head.names, encoding.column()), show_list(encoding.texts(), 5),
        option_text(head.names, encoding.column())));
  }
  return remarks;
}

namespace {

/// The texts of all rows, within the memory of the run.
class TextList {
 public:
  TextList(const std::string& name, std::int64_t rows) : growth_(name) {
    require_memory(capped_product(rows, sizeof(std::string)), name);
    texts_.reserve(static_cast<std::size_t>(rows));
  }
  void add(std::string text) {
    if (text.capacity() >= sizeof(std::string) / 2) growth_.add(std::ssize(text));  // short ones need no more memory
    texts_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  MemoryGrowth growth_;
  std::vector<std::string> texts_;
};

/// The column of `what` ("label"): the one in the location, else the only one, else the one with the name `what`, as in
/// label files of kith.
std::int64_t column_of(const std::string& what, const TextHead& head, const Location& location,
                       const InputBytes& input) {
  const std::string& name = input.name();
  if (!location.dataset.empty()) {
    const std::string column = location.file + ":" + location.dataset;
    try {
      return choose_column(column.c_str(), location.dataset, head.names, head.columns, name);
    } catch (const Error&) {
      refuse_lines_before(input, head);
      throw;
    }
  }
  if (head.columns == 1) return 0;
  const auto& names = head.names;
  if (std::count(names.begin(), names.end(), what) == 1) {
    return std::find(names.begin(), names.end(), what) - names.begin();
  }
  refuse_lines_before(input, head);
  throw Error(ExitCode::usage,
              fmt::format("{}: expected the name of the column that holds the {}s, {}:COLUMN, found "
                          "{} columns{}",
                          name, what, location.file, head.columns, names.empty() ? "" : ": " + show_list(names, 30)));
}

}  // namespace

InputBytes open_text_bytes(const Location& location, const std::string& scratch) {
  if (!location.dataset.empty()) {
    refuse_input(location.file, fmt::format("expected a text file without a dataset, since it holds one table, found "
                                            "':{0}'; leave it out, or choose columns with --columns {0}",
                                            location.dataset));
  }
  if (is_arrow(location.file)) return text_of_arrow(location, scratch);
  InputBytes input = open_stream(location.file, "a text file", scratch);
  const std::string begin = input.begin(kSampleBytes);
  const bool is_stream = is_standard_input(location.file);
  const std::string convert = is_text(begin) ? "" : conversion_of_bytes(begin);
  if (!convert.empty()) {
    refuse_input(input.name(),
                 fmt::format("expected text in UTF-8, found {}; convert it: {}", describe_bytes(begin), convert));
  }
  if (!is_text(begin) && (is_stream || !compression_of(location.file).empty())) {
    refuse_input(input.name(), fmt::format("expected text, found {}; give other formats as {}files",
                                           describe_bytes(begin), is_stream ? "" : "uncompressed "));
  }
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff")) {
    refuse_input(location.file, fmt::format("expected text in UTF-8, found {}", describe_bytes(begin)));
  }
  return input;
}

std::vector<std::string> column_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                      std::int64_t column,
                                      const std::function<void(const std::string&, std::int64_t)>& check) {
  TextList list(input.name(), index.rows);
  for_records(input, head.syntax, index, [&](std::string_view record, std::int64_t, std::int64_t line) {
    FieldCursor cursor(record, head.syntax);
    for (std::int64_t j = 0; j < column && cursor.more(); ++j) cursor.take();
    if (!cursor.more()) refuse_length(input, head, record, line);
    std::string text = text_of(cursor.take());
    if (check) check(text, line);
    list.add(std::move(text));
  });
  return list.take();
}

std::vector<std::vector<std::string>> identifying_texts(const Location& location, const ReadOptions& options,
                                                        const std::vector<std::int64_t>& columns) {
  const InputBytes input = open_text_bytes(location, options.scratch);
  const TextHead head = read_head(input, options);
  struct Column {
    std::deque<std::string> texts = {};  // which stay where they are
    std::unordered_set<std::string_view> known = {};
    bool is_open = false;
  };
  std::vector<Column> all(static_cast<std::size_t>(head.columns));
  for (const std::int64_t column : columns) all[static_cast<std::size_t>(column)].is_open = true;
  constexpr std::int64_t kBytesPerText = 128;
  MemoryGrowth growth(input.name());
  const TextIndex index = index_text(input, head);
  for_records(input, head.syntax, index, [&](std::string_view record, std::int64_t, std::int64_t line) {
    FieldCursor cursor(record, head.syntax);
    for (Column& column : all) {
      if (!cursor.more()) refuse_length(input, head, record, line);
      const Field field = cursor.take();
      if (!column.is_open) continue;
      const std::string& text = column.texts.emplace_back(text_of(field));
      if (text.empty() || !column.known.insert(text).second) column = {};
      growth.add(kBytesPerText + std::ssize(field.text));
    }
  });
  input.check_unchanged();
  std::vector<std::vector<std::string>> texts;
  for (const std::int64_t column : columns) {
    std::deque<std::string>& from = all[static_cast<std::size_t>(column)].texts;
    texts.emplace_back(std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
  return texts;
}

TextColumn read_text_column(const Location& location, const ReadOptions& options, const TextFields& fields) {
  const std::string& what = fields.what;
  const InputBytes input = open_text_bytes({location.file, ""}, options.scratch);
  const TextHead head = read_head(input, options);
  const std::int64_t column = column_of(what, head, location, input);
  const std::string header = head.names.empty() ? "" : head.names[static_cast<std::size_t>(column)];
  TextColumn result{fmt::format("{}:{}", input.name(), option_text(head.names, column)), {}, input.size(), header};
  const TextIndex index = index_text(input, head);
  result.texts = column_texts(input, head, index, column, [&](const std::string& text, std::int64_t line) {
    if (text.empty() && !fields.may_be_empty) {
      refuse_input(fmt::format("{}: line {}, {}", input.name(), line, show_column(head.names, column)),
                   fmt::format("expected a {}, found an empty field; fill it in or remove the line{}", what,
                               or_header(head, line)));
    }
  });
  input.check_unchanged();
  const bool ambiguous = options.header == Header::automatic && !header.empty();
  if (ambiguous && std::find(result.texts.begin(), result.texts.end(), header) != result.texts.end()) {
    refuse_input(input.name(),
                 fmt::format("line {}: is '{}' the name of the column or a {}, as it is further down? say "
                             "--header yes or --header no",
                             head.first_line, quoted(header), what));
  }
  return result;
}

InputBytes joined_tables(const std::vector<Location>& tables, const ReadOptions& options) {
  ByteStore store(tables.front().file, options.scratch);
  bool are_own = false, have_lines = true;
  for (const Location& table : tables) {
    const InputBytes input = open_text_bytes(table, options.scratch);
    const TextHead head = read_head(input, options);
    are_own = input.is_own_text();
    have_lines = have_lines && input.has_own_lines();
    visit_text(input, head, index_text(input, head), [&](TextPart part, std::string_view text) {
      const bool is_taken = part == TextPart::row || (part == TextPart::header && store.size() == 0);
      if (!is_taken) return;
      store.append(text);
      store.append("\n");
    });
  }
  InputBytes all = store.finish();
  if (are_own) all.mark_as_own_text(have_lines);
  return all;
}

}  // namespace kith::data
