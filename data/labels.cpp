// Reads labels and counts through what they are, so that a label becomes its place in the sorted list of all.
#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_source.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/text/text.h"

namespace kith::data {
namespace {

/// Gives every different value a code, in the order in which they come.
template <class Value>
class Coder {
 public:
  std::int32_t code(const Value& value) {
    const auto [place, is_new] = known_.try_emplace(value, static_cast<std::int32_t>(values_.size()));
    if (is_new) {
      if (values_.size() == std::numeric_limits<std::int32_t>::max()) {
        throw Error(ExitCode::data, fmt::format("labels: expected at most {} different ones", values_.size()));
      }
      values_.push_back(value);
    }
    return place->second;
  }

  /// Makes the codes places in the ascending order of the values, which it returns.
  template <class Less>
  std::vector<Value> sort(std::vector<std::int32_t>& codes, const Less& less) {
    std::vector<std::int32_t> order(values_.size()), place(values_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return less(values_[a], values_[b]); });
    std::vector<Value> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<std::int32_t>(i);
      sorted.push_back(std::move(values_[order[i]]));
    }
    for (std::int32_t& code : codes) code = place[code];
    return sorted;
  }

 private:
  std::unordered_map<Value, std::int32_t> known_;
  std::vector<Value> values_;
};

/// Is all of the text a whole number?
bool to_number(const std::string& text, std::int64_t& number) {
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && stop == text.data() + text.size();
}

/// "9" before "10", and numbers before words.
bool is_before(const std::string& a, const std::string& b) {
  std::int64_t x = 0, y = 0;
  const bool a_number = to_number(a, x), b_number = to_number(b, y);
  if (a_number && b_number && x != y) return x < y;
  return a_number != b_number ? a_number : a < b;
}

Labels labels_of_texts(const TextColumn& column) {
  Labels labels{column.name, {}, {}, column.file_bytes};
  Coder<std::string> coder;
  labels.codes.reserve(column.texts.size());
  for (const std::string& text : column.texts) labels.codes.push_back(coder.code(text.empty() ? kNoLabel : text));
  labels.values = coder.sort(labels.codes, is_before);
  return labels;
}

Labels labels_of_numbers(const Location& place) {
  const std::string location = place.dataset.empty() ? place.file : fmt::format("{}:{}", place.file, place.dataset);
  const auto source = open_points(location, {.precision = Precision::f64, .vector_as_column = true});
  if (source->columns() != 1) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected labels, one number for each row, found {} x {}; name a vector "
                            "of the file, or keep one column",
                            source->name(), source->rows(), source->columns()));
  }
  Labels labels{source->name(), {}, {}, source->file_bytes()};
  Coder<double> coder;
  labels.codes.reserve(static_cast<std::size_t>(source->rows()));
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // rows
  Matrix<double> block(std::min(kBlock, source->rows()), 1);
  for (std::int64_t first = 0; first < source->rows(); first += kBlock) {
    const std::int64_t here = std::min(kBlock, source->rows() - first);
    source->read(first, block.view().middle(0, here));
    for (std::int64_t i = 0; i < here; ++i) {
      const double value = block(i, 0);
      if (value != std::rint(value)) {
        throw Error(ExitCode::data,
                    fmt::format("{}: row {} (counted from 0): expected a whole number as label, found {}; "
                                "name the dataset that holds the labels",
                                source->name(), first + i, value));
      }
      labels.codes.push_back(coder.code(value + 0.0));  // -0 is 0
    }
  }
  for (const double value : coder.sort(labels.codes, std::less<>()))
    labels.values.push_back(fmt::format("{:.0f}", value));
  return labels;
}

/// The names of categories, texts or numbers.
std::vector<std::string> read_categories(const Hdf5InputFile& file, const std::string& path) {
  if (auto texts = read_texts(file, path)) return std::move(*texts);
  const auto source =
      open_points(fmt::format("{}:{}", file.name(), path), {.precision = Precision::f64, .vector_as_column = true});
  const auto values = std::get<Matrix<double>>(read_all(*source));
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < values.rows(); ++i) names.push_back(fmt::format("{}", values(i, 0)));
  return names;
}

/// A column of AnnData's obs: codes that count through its categories, in the order of these.
Labels labels_of_categories(const Hdf5InputFile& file, const std::string& path, Unlabelled unlabelled) {
  const std::vector<std::string> categories = read_categories(file, path + "/categories");
  Labels labels = labels_of_numbers({file.name(), path + "/codes"});
  labels.name = fmt::format("{}:{}", file.name(), path);
  for (std::string& value : labels.values) {
    std::int64_t code = -1;
    to_number(value, code);
    if (code >= 0 && code < static_cast<std::int64_t>(categories.size())) {
      value = categories[static_cast<std::size_t>(code)];
      continue;
    }
    if (code == -1 && unlabelled == Unlabelled::minus_one) continue;  // which the text of the number is
    const auto first = std::find(labels.codes.begin(), labels.codes.end(), &value - labels.values.data());
    throw Error(
        ExitCode::data,
        fmt::format("{}: row {} (counted from 0): expected a label, found {}; leave such rows out of both", labels.name,
                    first - labels.codes.begin(),
                    code == -1 ? "none" : fmt::format("the code {} of {} categories", value, categories.size())));
  }
  return labels;
}

Labels labels_of_hdf5(const Location& place, Unlabelled unlabelled) {
  const Hdf5InputFile file(place.file);
  const std::string path = normal_path(place.dataset.empty() ? "/labels" : place.dataset);
  if (is_categorical(file, path)) return labels_of_categories(file, path, unlabelled);
  auto texts = read_texts(file, path);
  if (!texts) return labels_of_numbers({place.file, path});
  const std::string name = fmt::format("{}:{}", file.name(), path);
  const auto none = std::find(texts->begin(), texts->end(), "");
  if (none != texts->end() && unlabelled == Unlabelled::refuse) {
    throw Error(
        ExitCode::data,
        fmt::format("{}: row {} (counted from 0): expected a label, found an empty text; leave such rows out of both",
                    name, none - texts->begin()));
  }
  return labels_of_texts({name, std::move(*texts), file.bytes()});
}

}  // namespace

Labels read_labels(const std::string& location, const ReadOptions& options, Unlabelled unlabelled) {
  const Location place = parse_location(location);
  if (is_hdf5(place.file)) return labels_of_hdf5(place, unlabelled);
  if (!is_text_table(place.file)) return labels_of_numbers(place);
  return labels_of_texts(read_text_column(place, options, {.may_be_empty = unlabelled == Unlabelled::minus_one}));
}

}  // namespace kith::data
