// Reads labels and encodes each as its index in the sorted list of distinct labels.
#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "data/arrow/arrow_table.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_source.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/text/text.h"

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
    for (std::int32_t& code : codes) code = rank[code];
    return sorted;
  }

 private:
  static constexpr std::int64_t kBytesPerValue = 3 * sizeof(Value) + 64;  // map, list, sorted list, orders
  static std::int64_t extra_bytes(double) { return 0; }
  static std::int64_t extra_bytes(const std::string& text) { return 2 * std::ssize(text); }

  MemoryGrowth growth_;
  std::unordered_map<Value, std::int32_t> known_;
  std::vector<Value> values_;
};

/// Whether the whole text is an integer.
bool to_number(const std::string& text, std::int64_t& number) {
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && stop == text.data() + text.size();
}

/// Numbers come before other texts, and "9" before "10".
bool is_before(const std::string& a, const std::string& b) {
  std::int64_t x = 0, y = 0;
  const bool a_number = to_number(a, x), b_number = to_number(b, y);
  if (a_number && b_number && x != y) return x < y;
  return a_number != b_number ? a_number : a < b;
}

constexpr std::int64_t kCodeBytes = sizeof(std::int32_t);

Labels labels_of_texts(const TextColumn& column) {
  Labels labels{column.name, {}, {}, column.file_bytes};
  require_memory(std::ssize(column.texts) * kCodeBytes, column.name);
  LabelEncoder<std::string> encoder(column.name);
  labels.codes.reserve(column.texts.size());
  for (const std::string& text : column.texts) labels.codes.push_back(encoder.code(text.empty() ? kNoLabel : text));
  labels.values = encoder.sort(labels.codes, is_before);
  return labels;
}

Labels labels_of_numbers(const Location& location) {
  const std::string name =
      location.dataset.empty() ? location.file : fmt::format("{}:{}", location.file, location.dataset);
  const auto source = open_points(name, {.precision = Precision::f64, .vector_as_column = true});
  if (source->columns() != 1) {
    refuse_input(
        source->name(),
        fmt::format("expected labels, one number for each row, found {} x {}; name a vector of the file, or keep "
                    "one column",
                    source->rows(), source->columns()));
  }
  Labels labels{source->name(), {}, {}, source->file_bytes()};
  require_memory(capped_product(source->rows(), kCodeBytes) + source->held_bytes(), source->name());
  LabelEncoder<double> encoder(source->name());
  labels.codes.reserve(static_cast<std::size_t>(source->rows()));
  constexpr std::int64_t kBlockRows = std::int64_t{1} << 20;
  Matrix<double> block(std::min(kBlockRows, source->rows()), 1);
  for (std::int64_t first = 0; first < source->rows(); first += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, source->rows() - first);
    source->read(first, block.view().middle(0, rows));
    for (std::int64_t i = 0; i < rows; ++i) {
      const double value = block(i, 0);
      if (value != std::rint(value)) {
        refuse_row(
            source->name(), first + i,
            fmt::format("expected a whole number as label, found {}; name the dataset that holds the labels", value));
      }
      labels.codes.push_back(encoder.code(value + 0.0));  // -0 becomes 0
    }
  }
  const std::vector<double> values = encoder.sort(labels.codes, std::less<>());
  require_memory(std::ssize(values) * static_cast<std::int64_t>(sizeof(std::string)), source->name());
  labels.values.reserve(values.size());
  for (const double value : values) labels.values.push_back(fmt::format("{:.0f}", value));
  return labels;
}

/// The names of the categories, which are texts or numbers.
std::vector<std::string> read_categories(const std::string& file, const std::string& path) {
  const std::string name = fmt::format("{}:{}", file, path);
  const auto child = Hdf5Child::of(file);
  if (const FoundTexts found = child->call(name, &find_texts, file, path); found.count >= 0)
    return read_all_texts(*child, name, found);
  const auto source = open_points(name, {.precision = Precision::f64, .vector_as_column = true});
  const auto values = std::get<Matrix<double>>(read_all(*source));
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < values.rows(); ++i) names.push_back(fmt::format("{}", values(i, 0)));
  return names;
}

/// A categorical column of AnnData's obs: the codes are indices into its categories.
Labels labels_of_categories(const std::string& file, const std::string& path, Unlabelled unlabelled) {
  const std::vector<std::string> categories = read_categories(file, path + "/categories");
  Labels labels = labels_of_numbers({file, path + "/codes"});
  labels.name = fmt::format("{}:{}", file, path);
  for (std::string& value : labels.values) {
    std::int64_t code = -1;
    to_number(value, code);
    if (code >= 0 && code < static_cast<std::int64_t>(categories.size())) {
      value = categories[static_cast<std::size_t>(code)];
      continue;
    }
    if (code == -1 && unlabelled == Unlabelled::minus_one) continue;  // the value is "-1" already
    const auto first = std::find(labels.codes.begin(), labels.codes.end(), &value - labels.values.data());
    refuse_row(
        labels.name, first - labels.codes.begin(),
        fmt::format("expected a label, found {}; leave such rows out of both inputs",
                    code == -1 ? "none" : fmt::format("the code {} of {} categories", value, categories.size())));
  }
  return labels;
}

void refuse_empty_texts(const std::vector<std::string>& texts, const std::string& name, Unlabelled unlabelled) {
  const auto empty = std::find(texts.begin(), texts.end(), "");
  if (empty == texts.end() || unlabelled != Unlabelled::refuse) return;
  refuse_row(name, empty - texts.begin(), "expected a label, found an empty text; leave such rows out of both inputs");
}

Labels labels_of_hdf5(const Location& location, Unlabelled unlabelled) {
  const std::string path = normal_path(location.dataset.empty() ? "/labels" : location.dataset);
  const std::string name = fmt::format("{}:{}", location.file, path);
  const auto child = Hdf5Child::of(location.file);
  const FoundTexts found = child->call(name, &find_texts, location.file, path);
  if (found.categorical) return labels_of_categories(location.file, path, unlabelled);
  if (found.count < 0) return labels_of_numbers({location.file, path});
  std::vector<std::string> texts = read_all_texts(*child, name, found);
  refuse_empty_texts(texts, name, unlabelled);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(location.file));
  return labels_of_texts({name, std::move(texts), bytes});
}

Labels labels_of_arrow(Location& location, const ReadOptions& options, Unlabelled unlabelled) {
  auto column = read_arrow_texts(location, options, "label");
  if (!column) return labels_of_numbers(location);
  refuse_empty_texts(column->texts, column->name, unlabelled);
  return labels_of_texts({column->name, std::move(column->texts), column->file_bytes});
}

}  // namespace

Labels read_labels(const std::string& name, const ReadOptions& options, Unlabelled unlabelled) {
  Location location = parse_location(name);
  if (is_hdf5(location.file)) return labels_of_hdf5(location, unlabelled);
  if (is_arrow(location.file)) return labels_of_arrow(location, options, unlabelled);
  if (!is_read_as_text(location.file)) return labels_of_numbers(location);
  return labels_of_texts(read_text_column(location, options, {.may_be_empty = unlabelled == Unlabelled::minus_one}));
}

}  // namespace kith::data
