// Reads MatrixMarket files (R. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats, 1996) in two
// passes: one counts the entries of each line, the other one stores them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "data/format/formats.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/format/sparse_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/numbers.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"

namespace kith::data {
namespace {

constexpr std::string_view kBanner = "%%matrixmarket";  // or with one %, as SciPy reads it

/// What the first line says.
struct Banner {
  bool coordinate = false;  // else all values, column after column
  std::string field;        // "real", "integer", "pattern"
  std::string symmetry;     // "general", "symmetric", "skew-symmetric"
};

Banner read_banner(const InputBytes& input) {
  const std::string begin = input.begin(kSampleBytes);
  std::string line =
      lower_case(without_byte_order_mark(std::string_view(begin).substr(0, begin.find_first_of("\r\n"))));
  std::string_view rest = line;
  std::string words[5];
  for (std::string& word : words) word = take_word(rest);
  const auto is_one_of = [](const std::string& word, std::initializer_list<const char*> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  Banner banner{words[2] == "coordinate", words[3], words[4].empty() ? "general" : words[4]};
  if (banner.field == "double") banner.field = "real";
  if (banner.field == "unsigned-integer") banner.field = "integer";  // SciPy writes it
  if (banner.field == "complex") {
    refuse_input(
        input.name(),
        fmt::format("line 1: expected real or integer numbers or a pattern, found complex numbers ('{}'); save "
                    "their real parts or absolute values",
                    quoted(line, 80)));
  }
  if (banner.symmetry == "hermitian") banner.symmetry = "symmetric";  // the same for real numbers
  if (words[1] != "matrix" || !is_one_of(words[2], {"coordinate", "array"}) ||
      !is_one_of(banner.field, {"real", "integer", "pattern"}) ||
      !is_one_of(banner.symmetry, {"general", "symmetric", "skew-symmetric"}) ||
      (!banner.coordinate && banner.field == "pattern")) {
    refuse_input(input.name(),
                 fmt::format("line 1: expected a MatrixMarket matrix, coordinate or array, of real or integer numbers "
                             "or a pattern, general, symmetric or skew-symmetric, found '{}'; save such a matrix, or "
                             "give a table a name that does not end with .mtx",
                             quoted(line, 80)));
  }
  return banner;
}

/// A file with its head.
class MatrixMarket {
 public:
  MatrixMarket(const Location& location, const ReadOptions& options)
      : lines_(open_stream(location.file, "a MatrixMarket file", options.scratch), '%'),
        banner_(read_banner(lines_.input())) {
    if (!location.dataset.empty()) {
      refuse_input(location.file, fmt::format("expected the file only, since it holds one matrix, found ':{0}'; leave "
                                              "out ':{0}'",
                                              location.dataset));
    }
    bool first = true;
    visit_lines([&](std::string_view line, std::int64_t number) {
      if (std::exchange(first, false)) read_sizes(line, number);
    });
    if (first) refuse_input(name(), "expected the sizes of the matrix, found nothing but comments; create it again");
  }

  const std::string& name() const { return lines_.input().name(); }
  const Banner& banner() const { return banner_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::string kind() const { return banner_.coordinate ? "sparse, " + banner_.field : banner_.field; }
  std::int64_t bytes() const { return lines_.input().size(); }

  /// Calls visit(row, column, value) for each entry, counted from 0, and for those that follow by symmetry.
  template <class Visit>
  void visit_entries(const Visit& visit) const {
    std::int64_t found = 0, row = 0, column = 0, last = 0;
    const bool general = banner_.symmetry == "general", skew = banner_.symmetry == "skew-symmetric";
    if (!banner_.coordinate && skew) row = 1;
    visit_body([&](std::string_view line, std::int64_t number) {
      last = number;
      std::string_view word = take_word(line);
      if (++found > entries_) refuse_count(number, found);
      double value = 1.0;
      if (banner_.coordinate) {
        row = index(word, rows_, number);
        column = index(take_word(line), columns_, number);
        word = banner_.field == "pattern" ? std::string_view() : take_word(line);
      }
      if (!word.empty() || banner_.field != "pattern") value = this->value(word, number);
      if (!take_word(line).empty()) {
        lines_.refuse(number, fmt::format("expected {}, found more", !banner_.coordinate ? "a value"
                                                                     : banner_.field == "pattern"
                                                                         ? "a row and a column"
                                                                         : "a row, a column and a value"));
      }
      visit(row, column, value);
      if (!general && row != column) visit(column, row, skew ? -value : value);
      if (banner_.coordinate || ++row < rows_) return;
      row = general ? 0 : ++column + (skew ? 1 : 0);
      if (general) ++column;
    });
    if (found < entries_) refuse_count(last, found);
  }

 private:
  /// Lines without comments, which may also follow blanks or numbers, and without those that hold nothing else.
  template <class Visit>
  void visit_lines(const Visit& visit) const {
    lines_.visit([&](std::string_view line, std::int64_t number) {
      line = line.substr(0, line.find('%'));
      if (std::string_view rest = line; !take_word(rest).empty()) visit(line, number);
    });
  }

  template <class Visit>
  void visit_body(const Visit& visit) const {
    bool first = true;
    visit_lines([&](std::string_view line, std::int64_t number) {
      if (!std::exchange(first, false)) visit(line, number);
    });
  }

  void read_sizes(std::string_view line, std::int64_t number) {
    const int count = banner_.coordinate ? 3 : 2;
    std::int64_t sizes[3] = {};
    std::string_view rest = line;
    bool good = true;
    for (int i = 0; i < count; ++i) good = good && read_number(take_word(rest), sizes[i]) && sizes[i] >= 0;
    if (!good || !take_word(rest).empty()) {
      lines_.refuse(number, fmt::format("expected {} whole numbers, the sizes of the matrix{}, found '{}'", count,
                                        count == 3 ? " and the number of its entries" : "", quoted(line, 60)));
    }
    rows_ = sizes[0];
    columns_ = sizes[1];
    sizes_line_ = number;
    if (const std::string problem = refusal_of_size({rows_, columns_}); !problem.empty()) refuse_input(name(), problem);
    if (const std::string problem = refusal_of_shape({rows_, columns_}, false); !problem.empty()) {
      refuse_input(name(), problem);
    }
    const bool triangle = banner_.symmetry != "general", skew = banner_.symmetry == "skew-symmetric";
    if (triangle && rows_ != columns_) {
      lines_.refuse(number, fmt::format("expected a square matrix, since it is {}, found {}", banner_.symmetry,
                                        show_shape({rows_, columns_})));
    }
    entries_ = sizes[2];
    if (!banner_.coordinate) {
      entries_ = !triangle ? rows_ * columns_ : skew ? rows_ * (rows_ - 1) / 2 : rows_ * (rows_ + 1) / 2;
    }
    if (std::max(rows_, columns_) > std::numeric_limits<std::int32_t>::max()) {
      lines_.refuse(number,
                    fmt::format("expected less than 2^31 rows and columns, found {}", show_shape({rows_, columns_})));
    }
    if (lines_.count() - 1 < entries_) refuse_count(number, lines_.count() - 1);  // before memory is taken for them
  }

  std::int64_t index(std::string_view word, std::int64_t size, std::int64_t number) const {
    std::int64_t index = 0;
    if (!read_number(word, index) || index < 1 || index > size) {
      lines_.refuse(number, fmt::format("expected a row from 1 to {} and a column from 1 to {}, found '{}'", rows_,
                                        columns_, quoted(word, 40)));
    }
    return index - 1;
  }

  double value(std::string_view word, std::int64_t number) const {
    if (!is_number_text(word)) lines_.refuse(number, fmt::format("expected a number, found '{}'", quoted(word, 40)));
    return value_of(word);
  }

  [[noreturn]] void refuse_count(std::int64_t number, std::int64_t found) const {
    lines_.refuse(number, fmt::format("expected {} entries, as line {} says, found {}", entries_, sizes_line_,
                                      found > entries_ ? "more" : std::to_string(found)));
  }

  NumberLines lines_;
  Banner banner_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t entries_ = 0;  // that the file has
  std::int64_t sizes_line_ = 0;
};

/// A remark if the matrix lies where 10x Genomics writes genes x cells.
std::string remark_on(const std::string& file, bool transpose) {
  const std::filesystem::path path(file), folder = path.parent_path();
  const std::string name = path.filename();
  const std::string sample = name.substr(0, std::min(name.find("matrix.mtx"), name.size()));  // in GEO: GSM123_
  const std::string cells[] = {"barcodes.tsv", "barcodes.tsv.gz", sample + "barcodes.tsv", sample + "barcodes.tsv.gz"};
  const bool has_cells = !is_standard_input(file) && std::ranges::any_of(cells, [&folder](const std::string& beside) {
    std::error_code ignored;
    return std::filesystem::exists(folder / beside, ignored);
  });
  if (transpose || !has_cells) return "";
  return "barcodes.tsv is beside the matrix, so its rows are genes and its columns cells; --transpose makes the cells "
         "the points";
}

std::unique_ptr<PointSource> open_coordinates(const MatrixMarket& file, const std::string& path,
                                              const ReadOptions& options) {
  const bool by_columns = options.transpose;
  SparseBuilder builder(file.name(), by_columns ? file.columns() : file.rows());
  file.visit_entries([&](std::int64_t row, std::int64_t column, double) { builder.count(by_columns ? column : row); });
  builder.allocate();
  file.visit_entries([&](std::int64_t row, std::int64_t column, double value) {
    by_columns ? builder.add(column, row, value) : builder.add(row, column, value);
  });
  SparseMatrix shape;
  shape.name = file.name();
  shape.kind = "sparse";
  shape.origin = file.name();
  shape.by_columns = by_columns;
  shape.rows = file.rows();
  shape.columns = file.columns();
  shape.remark = remark_on(path, options.transpose);
  return builder.finish(std::move(shape), options);
}

std::unique_ptr<PointSource> open_array(const MatrixMarket& file, const ReadOptions& options) {
  const RawTable table{
      .name = file.name(), .element = {Number::float64}, .rows = file.rows(), .columns = file.columns()};
  require_memory(table.bytes(), file.name());
  std::vector<std::byte> values(static_cast<std::size_t>(table.bytes()));
  file.visit_entries([&](std::int64_t row, std::int64_t column, double value) {
    std::memcpy(values.data() + (row * file.columns() + column) * static_cast<std::int64_t>(sizeof(value)), &value,
                sizeof(value));
  });
  return open_raw(InputBytes::held(file.name(), std::move(values)), table, options);
}

}  // namespace

bool is_matrix_market(const std::string& file) {
  const std::string stored = begin_of_stream(file);
  const std::string begin = lower_case(without_byte_order_mark(stored).substr(0, kBanner.size()));
  const bool is_named = has_ending(file, ".mtx") || has_ending(file, ".mtx.gz") || has_ending(file, ".mtx.zst");
  return begin == kBanner || begin.starts_with(kBanner.substr(1)) || (is_named && !begin.empty());
}

std::unique_ptr<PointSource> open_matrix_market(const Location& location, const ReadOptions& options) {
  const MatrixMarket file(location, options);
  return file.banner().coordinate ? open_coordinates(file, location.file, options) : open_array(file, options);
}

std::vector<DatasetInfo> list_matrix_market(const Location& location, const ReadOptions& options) {
  const MatrixMarket file(location, options);
  return {{.shape = {file.rows(), file.columns()},
           .type = "text",
           .layout = file.kind(),
           .filters = filters_of(location.file),
           .stored_bytes = file.bytes()}};
}

// Reads svmlight files in two passes: one finds the columns and counts the entries of each row, the other one stores
// them.

namespace {

constexpr const char* kLabels = "label";  // the dataset

/// Whether a label is a number or several, "1,3".
bool is_label(std::string_view text) { return std::ranges::all_of(split_text(text, ','), is_number_text); }

/// INDEX:VALUE
struct Pair {
  std::int64_t index = 0;
  double value = 0.0;
};

bool to_pair(std::string_view text, Pair& pair) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || !is_number_text(text.substr(colon + 1))) return false;
  pair.value = value_of(text.substr(colon + 1));
  return read_number(text.substr(0, colon), pair.index) && pair.index >= 0;
}

bool is_query(std::string_view word) { return word.starts_with("qid:"); }

/// Whether every line has a label and pairs with ascending indices. whole: the text is not cut off.
bool looks_like_svmlight(std::string_view begin, bool whole) {
  constexpr int kLines = 20;
  begin = without_byte_order_mark(begin);
  // The last line counts as far as it is whole.
  if (!whole) begin = begin.substr(0, begin.find('\n') == begin.npos ? begin.find_last_of(" \t") : begin.rfind('\n'));
  bool has_pairs = false;
  for (int lines = 0; lines < kLines && !begin.empty();) {
    std::string_view line = take_until(begin, "\n");
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
  const std::string name = fmt::format("{}:{}", file.input().name(), kLabels);
  const RawTable table{.name = name, .element = {Number::float64}, .rows = file.rows(), .columns = 1};
  require_memory(table.bytes(), table.name);
  std::vector<std::byte> labels;
  labels.reserve(static_cast<std::size_t>(table.bytes()));
  const auto on_row = [&](std::string_view label, std::int64_t number) {
    if (!is_number_text(label)) {
      file.refuse(number, fmt::format("expected one number as label, found '{}'", quoted(label, 40)));
    }
    const double value = value_of(label);
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
  return std::ranges::any_of(kEndings, [&file](const char* ending) { return has_ending(file, ending); });
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
  DatasetInfo labels{.path = std::string("/") + kLabels,
                     .shape = {file.rows()},
                     .type = "text",
                     .filters = filters_of(location.file),
                     .stored_bytes = file.input().size()};
  if (!location.dataset.empty()) return {labels};
  DatasetInfo points = labels;
  points.path = "";
  points.shape.push_back(find_columns(file, options.indexed, [](std::int64_t) {}).count);
  points.layout = "sparse by rows";
  return {points, labels};
}

}  // namespace kith::data
