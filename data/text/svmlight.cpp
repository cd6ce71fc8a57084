// Reads svmlight files in two passes: one finds the columns and counts the entries of each row, the other one stores
// them.
#include "data/text/svmlight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "data/format/raw_rows.h"
#include "data/format/sparse_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"
#include "data/text/number_lines.h"
#include "data/text/text_number.h"

namespace kith::data {
namespace {

constexpr const char* kLabels = "label";  // the dataset

bool to_number(std::string_view text, double& number) {
  const char* end = text.data() + text.size();
  return !text.empty() && parse_number(text.data(), end, number) == end;
}

/// Whether a label is a number or several, "1,3".
bool is_label(std::string_view text) {
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    double number = 0.0;
    if (!to_number(text.substr(0, comma), number)) return false;
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

/// INDEX:VALUE
struct Pair {
  std::int64_t index = 0;
  double value = 0.0;
};

bool to_pair(std::string_view text, Pair& pair) {
  const std::size_t colon = text.find(':');
  return colon != text.npos && to_whole_number(text.substr(0, colon), pair.index) && pair.index >= 0 &&
         to_number(text.substr(colon + 1), pair.value);
}

bool is_query(std::string_view word) { return word.starts_with("qid:"); }

/// Whether every line has a label and pairs with ascending indices. whole: the text is not cut off.
bool looks_like_svmlight(std::string_view begin, bool whole) {
  constexpr int kLines = 20;
  if (begin.starts_with("\xef\xbb\xbf")) begin.remove_prefix(3);
  // The last line counts as far as it is whole.
  if (!whole) begin = begin.substr(0, begin.find('\n') == begin.npos ? begin.find_last_of(" \t") : begin.rfind('\n'));
  bool has_pairs = false;
  for (int lines = 0; lines < kLines && !begin.empty();) {
    const std::size_t end = std::min(begin.find('\n'), begin.size());
    std::string_view line = begin.substr(0, end);
    begin.remove_prefix(std::min(end + 1, begin.size()));
    line = line.substr(0, line.find_first_of("#\r"));
    const std::string_view label = take_word(line);
    if (label.empty()) continue;
    ++lines;
    if (!is_label(label)) return false;
    std::int64_t last = -1;
    int pairs = 0;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      Pair pair;
      if (is_query(word)) continue;
      if (!to_pair(word, pair) || pair.index <= last) return false;
      last = pair.index;
      ++pairs;
    }
    has_pairs = has_pairs || pairs > 1;  // a label and one pair may be a number and a time of day
  }
  return has_pairs;
}

class Svmlight {
 public:
  Svmlight(const Location& location, const ReadOptions& options)
      : lines_(open_stream(location.file, "an svmlight file", options.scratch), '#') {}

  const InputBytes& input() const { return lines_.input(); }
  std::int64_t rows() const { return lines_.count(); }

  /// Calls row(label, number) for each row and then entry(row, index, value) for its entries, with the indices of the
  /// file, which ascend.
  template <class Row, class Entry>
  void visit(const Row& on_row, const Entry& on_entry) const {
    std::int64_t row = 0;
    lines_.visit([&](std::string_view line, std::int64_t number) {
      line = line.substr(0, line.find('#'));
      const std::string_view label = take_word(line);
      if (!is_label(label)) {
        lines_.refuse(number,
                      fmt::format("expected a label, a number, before INDEX:VALUE, found '{}'", quoted(label, 40)));
      }
      on_row(label, number);
      std::int64_t last = -1;
      for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
        Pair pair;
        if (is_query(word)) continue;
        if (!to_pair(word, pair)) {
          lines_.refuse(number, fmt::format("expected INDEX:VALUE, found '{}'", quoted(word, 40)));
        }
        if (pair.index <= last || pair.index >= std::numeric_limits<std::int32_t>::max()) {
          lines_.refuse(number, fmt::format("expected ascending indices from 0 or 1, less than 2^31 - 1, found {}{}",
                                            pair.index, last < 0 ? "" : fmt::format(" after {}", last)));
        }
        last = pair.index;
        on_entry(row, pair.index, pair.value);
      }
      ++row;
    });
  }

  [[noreturn]] void refuse(std::int64_t number, const std::string& problem) const { lines_.refuse(number, problem); }

 private:
  NumberLines lines_;
};

std::unique_ptr<PointSource> open_labels(const Svmlight& file, const ReadOptions& options) {
  RawTable table;
  table.name = fmt::format("{}:{}", file.input().name(), kLabels);
  table.element.number = Number::float64;
  table.rows = file.rows();
  table.columns = 1;
  require_memory(table.bytes(), table.name);
  std::vector<std::byte> labels;
  labels.reserve(static_cast<std::size_t>(table.bytes()));
  const auto on_row = [&](std::string_view label, std::int64_t number) {
    double value = 0.0;
    if (!to_number(label, value)) {
      file.refuse(number, fmt::format("expected one number as label, found '{}'", quoted(label, 40)));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    labels.insert(labels.end(), bytes, bytes + sizeof(value));
  };
  file.visit(on_row, [](std::int64_t, std::int64_t, double) {});
  return open_raw(InputBytes::held(table.name, std::move(labels)), table, options);
}

/// Calls count(row) for every entry. As in scikit-learn, indices count from 1 unless one is 0 or `given` says
/// otherwise.
template <class Count>
IndexedColumns find_columns(const Svmlight& file, const IndexedColumns& given, const Count& count) {
  std::int64_t first = 1, last = -1;
  file.visit([](std::string_view, std::int64_t) {},
             [&](std::int64_t row, std::int64_t index, double) {
               first = std::min(first, index);
               last = std::max(last, index);
               count(row);
             });
  if (last < 0) {
    refuse_input(file.input().name(), "expected INDEX:VALUE in some line, found none; give a file with points");
  }
  const std::int64_t base = given.base < 0 ? first : given.base;
  if (first < base) {
    refuse_input(file.input().name(),
                 "expected indices from 1 (--index-base 1, or as the points of the result have them), found 0; say "
                 "--index-base 0 if this file counts from 0");
  }
  return {base, std::max(last - base + 1, given.count)};
}

}  // namespace

bool is_svmlight(const std::string& file) {
  const std::string begin = begin_of_stream(file);
  if (begin.empty() || !is_text(begin)) return false;
  if (looks_like_svmlight(begin, std::ssize(begin) < kSampleBytes)) return true;
  constexpr const char* kEndings[] = {".svm",     ".libsvm",     ".svmlight",    ".svm.gz",      ".libsvm.gz",
                                      ".svm.zst", ".libsvm.zst", ".svmlight.gz", ".svmlight.zst"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&file](const char* ending) { return has_ending(file, ending); });
}

std::unique_ptr<PointSource> open_svmlight(const Location& location, const ReadOptions& options) {
  const Svmlight file(location, options);
  if (location.dataset == kLabels || location.dataset == std::string("/") + kLabels) return open_labels(file, options);
  if (!location.dataset.empty()) {
    refuse_input(location.file, fmt::format("no such dataset: '{}'; expected {}:{}, or the file for its points",
                                            location.dataset, location.file, kLabels));
  }
  SparseBuilder builder(file.input().name(), file.rows());
  const IndexedColumns columns =
      find_columns(file, options.indexed, [&builder](std::int64_t row) { builder.count(row); });
  builder.allocate();
  file.visit(
      [](std::string_view, std::int64_t) {},
      [&](std::int64_t row, std::int64_t index, double value) { builder.add(row, index - columns.base, value); });
  SparseMatrix shape;
  shape.name = shape.origin = file.input().name();
  shape.kind = "sparse by rows";
  shape.rows = file.rows();
  shape.columns = columns.count;
  shape.indexed = columns;
  return builder.finish(std::move(shape), options);
}

std::vector<DatasetInfo> list_svmlight(const Location& location, const ReadOptions& options) {
  const Svmlight file(location, options);
  DatasetInfo points, labels;
  points.shape = {file.rows(), find_columns(file, options.indexed, [](std::int64_t) {}).count};
  labels.path = std::string("/") + kLabels;
  labels.shape = {file.rows()};
  points.type = labels.type = "text";
  points.layout = "sparse by rows";
  points.stored_bytes = labels.stored_bytes = file.input().size();
  if (const std::string compression = compression_of(location.file); !compression.empty()) {
    points.filters.push_back(compression);
    labels.filters.push_back(compression);
  }
  if (location.dataset.empty()) return {points, labels};
  return {labels};
}

}  // namespace kith::data
