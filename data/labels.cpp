// Reads labels and encodes each as its index in the sorted list of distinct labels; reads weights.
#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/arrays/numpy.h"
#include "data/arrow/arrow_table.h"
#include "data/file_names.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_groups.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/numbers.h"
#include "data/io/utf8.h"
#include "data/text/number_marks.h"
#include "data/text/text_columns.h"
#include "data/text/text_number.h"

namespace kith::data {
namespace {

[[noreturn]] void refuse_row(const std::string& name, std::int64_t row, const std::string& problem) {
  refuse_input(fmt::format("{}: row {} (counted from 1)", name, row + 1), problem);
}

/// Assigns a code to every distinct value, in the order of first appearance.
template <class Value>
class LabelEncoder {
 public:
  explicit LabelEncoder(const std::string& name) : growth_(name) {}

  std::int32_t code(const Value& value) {
    const auto [entry, is_new] = known_.try_emplace(value, static_cast<std::int32_t>(values_.size()));
    if (is_new) {
      growth_.add(kBytesPerValue + extra_bytes(value));
      if (values_.size() == std::numeric_limits<std::int32_t>::max()) {
        throw Error(ExitCode::data,
                    fmt::format("labels: expected at most {} different labels, found more", values_.size()));
      }
      values_.push_back(value);
    }
    return entry->second;
  }

  /// Returns the values in ascending order, and changes the codes to indices into it.
  template <class Less>
  std::vector<Value> sort(std::vector<std::int32_t>& codes, const Less& less) {
    known_ = {};
    growth_.require(std::ssize(values_) * static_cast<std::int64_t>(2 * sizeof(std::int32_t) + sizeof(Value)));
    std::vector<std::int32_t> order(values_.size()), rank(values_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return less(values_[a], values_[b]); });
    std::vector<Value> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = static_cast<std::int32_t>(i);
      sorted.push_back(std::move(values_[order[i]]));
    }
    for (std::int32_t& code : codes) code = code < 0 ? code : rank[code];
    return sorted;
  }

 private:
  static constexpr std::int64_t kBytesPerValue = 3 * sizeof(Value) + 64;  // map, list, sorted list, orders
  template <class Number>
  static std::int64_t extra_bytes(Number) {
    return 0;
  }
  static std::int64_t extra_bytes(const std::string& text) { return 2 * std::ssize(text); }

  MemoryGrowth growth_;
  std::unordered_map<Value, std::int32_t> known_;
  std::vector<Value> values_;
};

/// Numbers come before other texts, and "9" before "10".
bool is_before(const std::string& a, const std::string& b) {
  std::int64_t x = 0, y = 0;
  const bool a_number = read_number(a, x), b_number = read_number(b, y);
  if (a_number && b_number && x != y) return x < y;
  return a_number != b_number ? a_number : a < b;
}

constexpr std::int64_t kCodeBytes = sizeof(std::int32_t);
constexpr std::int32_t kNone = -1;  // the code of rows without a label

/// Removes ".0" behind whole numbers, which programs write for labels where one of them is missing, if all labels are
/// whole numbers; "01" is a name like others.
void unify_whole_numbers(std::vector<std::string>& texts) {
  const auto whole = [](const std::string& text) -> std::string_view {
    const std::size_t end = std::min(text.find('.'), text.size());
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    const bool is_whole = end > first &&
                          text.find_first_not_of("0123456789", first) == (end < text.size() ? end : text.npos) &&
                          text.find_first_not_of('0', end + 1) == text.npos && (text[first] != '0' || end == first + 1);
    return is_whole ? std::string_view(text).substr(0, end) : std::string_view();
  };
  if (!std::ranges::all_of(texts, [&](const auto& text) { return text.empty() || !whole(text).empty(); })) return;
  for (std::string& text : texts) text.resize(whole(text).size());
}

/// A column of a text file, where words stand for labels that are missing.
TextColumn read_label_column(const Location& location, const ReadOptions& options, bool may_be_empty) {
  TextColumn column = read_text_column(location, options, {.may_be_empty = may_be_empty});
  const auto& missing = options.missing_texts;
  for (std::string& text : column.texts) {
    if (!is_missing_label(text) && std::find(missing.begin(), missing.end(), text) == missing.end()) continue;
    if (!may_be_empty) {
      refuse_row(column.name, &text - column.texts.data(),
                 fmt::format("expected a label, found '{}', which stands for a missing one; give this row a label, or "
                             "leave such rows out of both inputs",
                             quoted(text, 40)));
    }
    text.clear();
  }
  unify_whole_numbers(column.texts);
  return column;
}

Labels labels_of_texts(const TextColumn& column) {
  Labels labels{column.name, {}, {}, column.file_bytes};
  require_memory(std::ssize(column.texts) * kCodeBytes, column.name);
  LabelEncoder<std::string> encoder(column.name);
  labels.codes.reserve(column.texts.size());
  for (const std::string& text : column.texts) labels.codes.push_back(text.empty() ? kNone : encoder.code(text));
  labels.values = encoder.sort(labels.codes, is_before);
  return labels;
}

/// Encodes the values of a source with one column, which read(first, block) reads. code(encoder, value, row) is that of
/// one value, less(a, b) their order.
template <class Number, class Read, class Code, class Less>
std::vector<Number> encode(PointSource& source, Labels& labels, const Read& read, const Code& code, const Less& less) {
  constexpr std::int64_t kBlockRows = std::int64_t{1} << 20;
  LabelEncoder<Number> encoder(source.name());
  Matrix<Number> block(std::min(kBlockRows, source.rows()), 1);
  for (std::int64_t first = 0; first < source.rows(); first += kBlockRows) {
    const MatrixView<Number> rows = block.view().middle(0, std::min(kBlockRows, source.rows() - first));
    read(first, rows);
    for (std::int64_t i = 0; i < rows.rows; ++i) labels.codes.push_back(code(encoder, rows(i, 0), first + i));
  }
  std::vector<Number> values = encoder.sort(labels.codes, less);
  require_memory(std::ssize(values) * static_cast<std::int64_t>(sizeof(std::string)), source.name());
  return values;
}

/// Whole numbers as texts, in their order.
Labels labels_of_numbers(const Location& location) {
  const std::string name =
      location.dataset.empty() ? location.file : fmt::format("{}:{}", location.file, location.dataset);
  const auto source =
      open_points(name, {.precision = Precision::f64, .vector_as_column = true, .missing = Missing::keep});
  if (source->columns() != 1) {
    refuse_input(source->name(), fmt::format("expected labels, one number for each row, found a matrix of {} x {}; "
                                             "name the vector that holds them as FILE:DATASET, or keep "
                                             "one column",
                                             source->rows(), source->columns()));
  }
  Labels labels{source->name(), {}, {}, source->file_bytes()};
  require_memory(capped_product(source->rows(), kCodeBytes) + source->held_bytes(), source->name());
  labels.codes.reserve(static_cast<std::size_t>(source->rows()));
  std::int64_t none = 0;
  if (source->read_integers(0, MatrixView<std::int64_t>{&none, 0, 1})) {
    const bool is_signed = source->element_type() != name_of(Number::uint64);
    const auto values = encode<std::int64_t>(
        *source, labels, [&](std::int64_t first, auto block) { source->read_integers(first, block); },
        [](auto& encoder, std::int64_t value, std::int64_t) { return encoder.code(value); },
        [is_signed](std::int64_t a, std::int64_t b) {
          return is_signed ? a < b : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
        });
    for (const std::int64_t value : values)
      labels.values.push_back(is_signed ? fmt::format("{}", value)
                                        : fmt::format("{}", static_cast<std::uint64_t>(value)));
    return labels;
  }
  const auto code = [&](auto& encoder, double value, std::int64_t row) {
    if (std::isnan(value)) return kNone;
    if (value != std::rint(value) || std::isinf(value)) {
      refuse_row(
          source->name(), row,
          fmt::format(
              "expected a whole number, as labels and identifiers are, found {}; name the dataset that holds them",
              value));
    }
    return encoder.code(value + 0.0);  // -0 becomes 0
  };
  const auto values = encode<double>(
      *source, labels, [&](std::int64_t first, auto block) { source->read(first, block); }, code, std::less<>());
  for (const double value : values) labels.values.push_back(fmt::format("{:.0f}", value));
  return labels;
}

/// A vector of texts or numbers, or a field of records, which holds numbers.
Labels labels_of_dataset(const std::string& file, const std::string& path, const std::string& field) {
  const std::string name = fmt::format("{}:{}", file, path);
  if (!field.empty()) return labels_of_numbers({file, fmt::format("{}/{}", path, field)});
  const auto child = Hdf5Child::of(file);
  const FoundTexts found = child->call(name, &find_texts, file, path);
  if (found.count < 0) return labels_of_numbers({file, path});
  std::vector<std::string> texts = read_all_texts(*child, name, found);
  if (found.has_na) std::replace(texts.begin(), texts.end(), std::string("NA"), std::string());
  return labels_of_texts({name, std::move(texts), static_cast<std::int64_t>(std::filesystem::file_size(file))});
}

/// The names of the categories, which are texts or numbers, in the order of the file.
std::vector<std::string> read_categories(const std::string& file, const std::string& path) {
  const std::string name = fmt::format("{}:{}", file, path);
  const auto child = Hdf5Child::of(file);
  if (const FoundTexts found = child->call(name, &find_texts, file, path); found.count >= 0)
    return read_all_texts(*child, name, found);
  const auto source = open_points(name, {.precision = Precision::f64, .vector_as_column = true});
  std::vector<std::string> names;
  if (source->element_type() == name_of(Number::int64) || source->element_type() == name_of(Number::uint64)) {
    const Labels numbers = labels_of_numbers({file, path});
    for (const std::int32_t code : numbers.codes) names.push_back(numbers.values[static_cast<std::size_t>(code)]);
    return names;
  }
  const auto values = std::get<Matrix<double>>(read_all(*source));
  for (std::int64_t i = 0; i < values.rows(); ++i) names.push_back(fmt::format("{}", values(i, 0)));
  return names;
}

/// Replaces the values of labels, which are codes, by the names of the categories. Negative codes, and 0 where codes
/// count from 1, stand for no label.
void name_codes(Labels& labels, const std::vector<std::string>& categories, bool from_one) {
  std::vector<std::string> names;
  std::vector<std::int32_t> places;
  for (const std::string& value : labels.values) {
    std::int64_t code = -1;
    const bool is_code = read_number(value, code);
    const std::int64_t place = code - (from_one ? 1 : 0);
    places.push_back(place < 0 ? kNone : static_cast<std::int32_t>(names.size()));
    if (is_code && place < std::ssize(categories)) {
      if (place >= 0) names.push_back(categories[static_cast<std::size_t>(place)]);
      continue;
    }
    const auto first = std::find(labels.codes.begin(), labels.codes.end(), &value - labels.values.data());
    refuse_row(labels.name, first - labels.codes.begin(),
               fmt::format("expected a label, found the code {} of {} categories; leave such rows out of both inputs",
                           value, categories.size()));
  }
  for (std::int32_t& code : labels.codes) code = code < 0 ? code : places[static_cast<std::size_t>(code)];
  labels.values = std::move(names);
}

/// Removes the labels of rows whose mask is true, and values that no row has any more.
void apply_mask(Labels& labels, const std::string& mask) {
  const auto source = open_points(mask, {.precision = Precision::f64, .vector_as_column = true});
  if (source->rows() != std::ssize(labels.codes) || source->columns() != 1) {
    refuse_input(mask, fmt::format("damaged: expected a mask of {} values, found {} x {}; create the file again",
                                   labels.codes.size(), source->rows(), source->columns()));
  }
  const auto values = std::get<Matrix<double>>(read_all(*source));
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    if (values(static_cast<std::int64_t>(i), 0) != 0.0) labels.codes[i] = kNone;
  }
  drop_unused_values(labels);
}

Labels labels_of_hdf5(const Location& location) {
  const std::string path = location.dataset.empty() ? "/labels" : location.dataset;
  const std::string name = fmt::format("{}:{}", location.file, normal_path(path));
  const FoundLabels found = Hdf5Child::of(location.file)->call(name, &find_labels, location.file, path);
  Labels labels = labels_of_dataset(location.file, found.values, found.field);
  labels.name = fmt::format("{}:{}", location.file, found.path);
  if (!found.mask.empty()) apply_mask(labels, fmt::format("{}:{}", location.file, found.mask));
  if (!found.categories.empty()) name_codes(labels, read_categories(location.file, found.categories), found.from_one);
  return labels;
}

Labels labels_of_arrow(Location& location, const ReadOptions& options) {
  auto column = read_arrow_texts(location, options, "label");
  if (!column) return labels_of_numbers(location);
  return labels_of_texts({column->name, std::move(column->texts), column->file_bytes});
}

/// Whole numbers, or the words of an array of NumPy.
Labels labels_of_array(const Location& location) {
  std::optional<std::vector<std::string>> texts = read_numpy_texts(location);
  if (!texts) return labels_of_numbers(location);
  const std::string name =
      location.dataset.empty() ? location.file : fmt::format("{}:{}", location.file, location.dataset);
  return labels_of_texts(
      {name, std::move(*texts), static_cast<std::int64_t>(std::filesystem::file_size(location.file))});
}

/// A column that may name the rows of a file.
struct NamingColumn {
  std::string name;
  Location place;
  bool is_index = false;  // of AnnData, whose name is hardly ever that of a column of another table
};

/// All columns of a text table, a Parquet or an Arrow file; the index of AnnData; none for anything else.
std::vector<NamingColumn> naming_columns(const std::string& name, const ReadOptions& options) {
  const std::string file = parse_location(name).file;
  if (file.empty() || file == "-" || named_set(name)) return {};
  if (is_hdf5(file)) {
    const std::string index = Hdf5Child::of(file)->call(file, &find_index, file);
    if (index.empty()) return {};
    return {{index.substr(index.rfind('/') + 1), {file, index}, true}};
  }
  std::vector<std::string> names;
  if (is_arrow(file)) {
    names = list_datasets(file).front().columns;
  } else if (is_read_as_text(file)) {
    names = read_head(open_text_bytes({file, ""}, options.scratch), options).names;
  }
  std::vector<NamingColumn> columns;
  for (const std::string& column : names) {  // those of text by their numbers, since some have no name
    columns.push_back({column, {file, is_arrow(file) ? column : std::to_string(columns.size() + 1)}});
  }
  return columns;
}

using Texts = std::vector<std::string>;

/// The texts of such columns of one file; of a text table in one pass. A column that holds something else, or equal or
/// empty texts, has none.
std::vector<Texts> texts_naming_rows(const std::vector<const NamingColumn*>& columns, const ReadOptions& options) {
  if (columns.empty()) return {};
  const std::string& file = columns.front()->place.file;
  if (!is_arrow(file) && is_read_as_text(file)) {
    std::vector<std::int64_t> numbers;
    for (const NamingColumn* column : columns) numbers.push_back(std::stoll(column->place.dataset) - 1);
    return identifying_texts({file, ""}, options, numbers);
  }
  std::vector<Texts> all(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    try {
      const Labels labels =
          read_labels(fmt::format("{}:{}", file, columns[i]->place.dataset), options, Unlabelled::keep);
      for (const std::int32_t code : labels.codes) {
        all[i].push_back(code < 0 ? "" : labels.values[static_cast<std::size_t>(code)]);
      }
    } catch (const Error&) {  // fractions, or lists
      all[i].clear();
    }
  }
  return all;
}

/// The places of texts, or nothing if one is empty or occurs twice.
std::unordered_map<std::string_view, std::int64_t> places_of(const std::vector<std::string>& texts) {
  std::unordered_map<std::string_view, std::int64_t> places;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || !places.emplace(texts[i], static_cast<std::int64_t>(i)).second) return {};
  }
  return places;
}

/// Where the rows of one table are in another one.
struct MatchedRows {
  std::string by;                  // the name of the column of identifiers; empty: both have the same order
  std::vector<std::int64_t> rows;  // (n)
};

/// Numbers that differ may be measured twice, but words that name each row are identifiers.
bool are_words(const std::vector<std::string>& texts) {
  return std::ranges::none_of(texts, [](const std::string& text) { return text.empty() || is_number_text(text); });
}

MatchedRows match_rows(const std::string& name, const std::string& of, const ReadOptions& options) {
  const auto [file, own] = parse_location(name);
  const std::string other = of.empty() ? "" : parse_location(of).file;
  if (other.empty() || other == file || file == "-") return {};
  const std::vector<NamingColumn> mine = naming_columns(name, options);
  std::vector<NamingColumn> others;
  try {
    others = naming_columns(of, options);
  } catch (const Error&) {  // who opens that table says what is wrong, or knows how to read it
  }
  const auto called = [](const std::vector<NamingColumn>& columns, const std::string& column) {
    return std::ranges::count(columns, column, &NamingColumn::name);
  };
  std::vector<const NamingColumn*> named, same;  // columns that may name the same rows in both
  for (const NamingColumn& column : mine) {
    const bool is_shared = called(mine, column.name) == 1 && called(others, column.name) == 1;
    if (column.name == own || others.empty()) continue;
    // An index of AnnData is compared with a column of its name, or with the first one.
    const bool is_first = &column == &mine.front() && (column.is_index || others.front().is_index);
    if (!is_first && (!is_shared || column.name.empty())) continue;
    named.push_back(&column);
    same.push_back(is_shared ? &*std::ranges::find(others, column.name, &NamingColumn::name) : &others.front());
  }
  std::vector<Texts> own_texts = texts_naming_rows(named, options);
  // Where there are no identifiers, the other table, often the large one, is not read for them.
  for (std::size_t i = named.size(); i-- > 0;) {
    if (!places_of(own_texts[i]).empty()) continue;
    for (auto* list : {&named, &same}) list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
    own_texts.erase(own_texts.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::vector<Texts> other_texts = texts_naming_rows(same, options);
  MatchedRows matched;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::string& column = named[i]->name;
    const Texts &here = own_texts[i], &there = other_texts[i];
    if (here.size() != there.size() || here == there || places_of(there).empty()) continue;
    const auto places = places_of(here);
    std::vector<std::int64_t> rows;
    for (const std::string& text : there) {
      const auto found = places.find(text);
      if (found != places.end()) {
        rows.push_back(found->second);
      } else if (column == same[i]->name && are_words(here) && are_words(there)) {
        refuse_input(file, fmt::format("expected the rows of {}, found none whose '{}' is '{}'; give a file with the "
                                       "same rows, or without this column",
                                       other, quoted(column, 60), quoted(text, 60)));
      } else {
        break;
      }
    }
    if (rows.size() < there.size() || !matched.by.empty()) continue;
    matched = {column.empty() ? same[i]->name : column, std::move(rows)};
  }
  return matched;
}

template <class T>
void reorder(std::vector<T>& values, const std::vector<std::int64_t>& rows) {
  const std::vector<T> before = values;
  std::ranges::transform(rows, values.begin(), [&](std::int64_t row) { return before[static_cast<std::size_t>(row)]; });
}

}  // namespace

void drop_unused_values(Labels& labels) {
  std::vector<std::int32_t> places(labels.values.size(), kNone);
  for (const std::int32_t code : labels.codes) {
    if (code >= 0) places[static_cast<std::size_t>(code)] = 0;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    places[i] = static_cast<std::int32_t>(names.size());
    names.push_back(std::move(labels.values[i]));
  }
  for (std::int32_t& code : labels.codes) code = code < 0 ? code : places[static_cast<std::size_t>(code)];
  labels.values = std::move(names);
}

Labels read_labels(const std::string& name, const ReadOptions& options, Unlabelled unlabelled, const std::string& of) {
  Location location = parse_location(name);
  const bool may_be_empty = unlabelled == Unlabelled::keep;
  Labels labels = is_hdf5(location.file)    ? labels_of_hdf5(location)
                  : is_arrow(location.file) ? labels_of_arrow(location, options)
                  : !is_read_as_text(location.file)
                      ? labels_of_array(location)
                      : labels_of_texts(read_label_column(location, options, may_be_empty));
  if (auto matched = match_rows(name, of, options); matched.rows.size() == labels.codes.size()) {
    reorder(labels.codes, matched.rows);
    labels.matched_by = std::move(matched.by);
  }
  if (labels.codes.empty()) refuse_input(labels.name, "expected labels, found none: 0 rows; name a vector with labels");
  const auto none = std::find(labels.codes.begin(), labels.codes.end(), kNone);
  if (none == labels.codes.end() || may_be_empty) return labels;
  refuse_row(labels.name, none - labels.codes.begin(),
             "expected a label, found none; give this row a label, or leave such rows out of both inputs");
}

namespace {

/// Throws unless all texts are numbers, which NaN and infinity are.
std::vector<double> numbers_of(const std::vector<std::string>& texts, const std::string& name,
                               const ReadOptions& options) {
  const NumberStyle style{options.decimal == '\0' ? '.' : options.decimal, options.thousands};
  require_memory(std::ssize(texts) * static_cast<std::int64_t>(sizeof(double)), name);
  std::vector<double> numbers;
  numbers.reserve(texts.size());
  for (const std::string& written : texts) {
    const std::string text = plain_number(written, style), other = text.empty() ? style_options(written) : "";
    if (text.empty()) {
      refuse_input(fmt::format("{}: row {} (counted from 1)", name, numbers.size() + 1),
                   fmt::format("expected a number as weight, found {}; {}",
                               written.empty() ? "an empty field" : fmt::format("'{}'", quoted(written, 40)),
                               other.empty() ? "give rows to ignore the weight 0" : "say " + other));
    }
    numbers.push_back(value_of(text));
  }
  return numbers;
}

}  // namespace

RowNumbers read_weights(const std::string& name, const ReadOptions& options, const std::string& of) {
  const Location location = parse_location(name);
  if (is_read_as_text(location.file)) {
    const TextColumn column = read_text_column(location, options, {.what = "weight"});
    RowNumbers weights{column.name, numbers_of(column.texts, column.name, options)};
    if (auto matched = match_rows(name, of, options); matched.rows.size() == weights.values.size()) {
      reorder(weights.values, matched.rows);
      weights.matched_by = std::move(matched.by);
    }
    return weights;
  }
  const auto source = open_points(name, {.precision = Precision::f64, .vector_as_column = true});
  if (source->columns() != 1) {
    refuse_input(source->name(),
                 fmt::format("expected weights, one number for each row, found {} x {}; name a vector of "
                             "the file",
                             source->rows(), source->columns()));
  }
  // The values are copied once.
  require_memory(capped_product(source->rows(), 2 * sizeof(double)) + source->held_bytes(), source->name());
  const auto values = std::get<Matrix<double>>(read_all(*source));
  return {source->name(), std::vector<double>(values.data(), values.data() + values.size())};
}

RowNumbers weights_of(const PointSource& points, const std::string& column, const ReadOptions& options) {
  std::string name = fmt::format("{}:{}", points.name(), column);
  std::vector<double> numbers = numbers_of(points.kept(Kept::weight), name, options);
  return {std::move(name), std::move(numbers)};
}

}  // namespace kith::data
