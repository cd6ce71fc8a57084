// Points from delimited text: several threads read and parse blocks of lines directly into the result.
#include "data/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "core/quoted.h"
#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/block_readers.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/stream_bytes.h"
#include "data/text/matrix_market.h"
#include "data/text/svmlight.h"
#include "data/text/text_faults.h"
#include "data/text/text_head.h"
#include "data/text/text_index.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

constexpr std::size_t kShownBytes = 40;  // of a field, in messages

InputBytes open_bytes(const Location& location, const std::string& scratch) {
  if (!location.dataset.empty()) {
    refuse_input(location.file, fmt::format("expected a text file without a dataset, since it holds one table, found "
                                            "':{0}'; leave it out, or choose columns with --columns {0}",
                                            location.dataset));
  }
  InputBytes input = open_stream(location.file, "a text file", scratch);
  const std::string begin = input.begin(kSampleBytes);
  const bool is_stream = is_standard_input(location.file);
  if (!is_text(begin) && (is_stream || !compression_of(location.file).empty())) {
    refuse_input(input.name(), fmt::format("expected text, found {}; give other formats as {}files",
                                           describe_bytes(begin), is_stream ? "" : "uncompressed "));
  }
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff")) {
    refuse_input(location.file, fmt::format("expected text in UTF-8, found {}", describe_bytes(begin)));
  }
  return input;
}

/// The columns of the points. Row names, which pandas and R write in a column without a name, are not points, even if
/// they are numbers.
ColumnChoice choose(const TextHead& head, const ReadOptions& options, const std::string& name) {
  ReadOptions adjusted = options;
  if (head.row_names && options.columns.empty() && options.id_column.empty()) adjusted.id_column = std::string("1");
  return choose_columns(adjusted, head.names, head.columns, name);
}

/// Calls visit(text, line) for every field of a column.
template <class Visit>
void for_texts(const InputBytes& input, const TextHead& head, const TextIndex& index, std::int64_t column,
               const Visit& visit) {
  Matrix<std::byte> buffer;
  for (const TextBlock& block : index.blocks) {
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t, std::int64_t line) {
      FieldCursor cursor(record, head.syntax.delimiter);
      for (std::int64_t j = 0; j < column && cursor.more(); ++j) cursor.take();
      if (!cursor.more()) refuse_length(input, head, record, line);
      visit(text_of(cursor.take()), line);
    });
  }
}

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

class TextSource final : public PointSource {
 public:
  TextSource(InputBytes input, TextHead head, const ReadOptions& options)
      : options_(options),
        input_(std::move(input)),
        head_(std::move(head)),
        choice_(choose(head_, options, input_.name())),
        target_(static_cast<std::size_t>(head_.columns), -1),
        class_(class_for(ValueClass::f64, options.precision)),
        header_detected_(options.header == Header::automatic),
        plain_(head_.numbers.is_plain()),
        missing_(options.missing),
        threads_(options.threads) {
    const std::vector<std::int64_t> texts = text_columns(head_, choice_.points, missing_);
    if (!texts.empty()) {
      refuse_faulty_columns(input_, head_, index_text(input_, head_), choice_.points, texts, options_);
      refuse_text_columns(head_, texts, input_.name());
    }
    for (std::size_t j = 0; j < choice_.points.size(); ++j) {
      target_[static_cast<std::size_t>(choice_.points[j])] = static_cast<std::int64_t>(j);
    }
    for (const std::string& text : missing_ == Missing::keep ? options.missing_texts : std::vector<std::string>()) {
      if (is_number_text(text)) parse_number(text.data(), text.data() + text.size(), missing_numbers_.emplace_back());
    }
    index_ = index_text(input_, head_);
  }

  std::string name() const override { return input_.name(); }
  std::string element_type() const override { return "text"; }
  std::int64_t rows() const override { return index_.rows; }
  std::int64_t columns() const override { return static_cast<std::int64_t>(choice_.points.size()); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return input_.size(); }
  std::int64_t held_bytes() const override {
    constexpr std::int64_t kUsualBytes = std::int64_t{1} << 20;  // blocks of longer records count
    return input_.held_bytes() + (index_.longest > kUsualBytes ? threads_ * index_.longest : 0);
  }
  std::string only_in_order() const override { return "text is parsed while it is read"; }
  std::int64_t changed_values() const override { return changed_; }
  std::vector<std::string> column_names() const override {
    std::vector<std::string> names;
    if (head_.names.empty()) return names;
    for (const std::int64_t j : choice_.points) names.push_back(head_.names[static_cast<std::size_t>(j)]);
    return names;
  }
  SkippedLines skipped_lines() const override {
    return {head_.skipped.comments + index_.skipped.comments, head_.skipped.blank + index_.skipped.blank};
  }
  std::vector<std::string> remarks() const override {
    return head_.remark.empty() ? std::vector<std::string>() : std::vector{head_.remark};
  }
  std::vector<std::string> kept(Kept which) const override;
  std::optional<TableForm> table_form() const override { return TableForm{head_.syntax.delimiter, head_.names}; }
  void visit_records(const std::function<void(std::string_view)>& visit) const override {
    Matrix<std::byte> buffer;
    for (const TextBlock& block : index_.blocks) {
      for_records(input_, head_.syntax, block, buffer,
                  [&visit](std::string_view record, std::int64_t, std::int64_t) { visit(record); });
    }
    input_.check_unchanged();
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  /// The position of a field, for messages.
  struct Place {
    std::int64_t line = 0;  // counted from 1
    std::int64_t column = 0;
  };

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out);
  template <class T>
  void parse_block(const TextBlock& block, std::int64_t first, MatrixView<T> out, Matrix<std::byte>& buffer);
  template <class T>
  std::int64_t parse_record(std::string_view record, std::int64_t line, T* row) const;
  /// Parses a field that is not an unquoted number: a quoted one, or an invalid one.
  /// Throws if the record has another number of fields than the head: a comment behind the first row, perhaps.
  void refuse_other_length(std::string_view record, std::int64_t line) const {
    const auto fields = std::ssize(fields_of(record, head_.syntax.delimiter));
    if (fields != head_.columns) refuse_length(input_, head_, record, line);
  }
  double take_number(FieldCursor& cursor, const Place& place) const;
  std::string or_drop() const { return missing_ == Missing::offer ? ", or drop all such rows with --nan drop" : ""; }
  [[noreturn]] void refuse_value(const Place& place, const std::string& problem) const;

  ReadOptions options_;
  InputBytes input_;
  TextHead head_;
  ColumnChoice choice_;
  std::vector<std::int64_t> target_;  // for each column of the file its column in the points, or -1
  ValueClass class_;
  bool header_detected_;
  bool plain_;  // the style of numbers
  Missing missing_;
  std::vector<double> missing_numbers_;  // those of ReadOptions::missing_texts
  int threads_;
  TextIndex index_;
  std::atomic<std::int64_t> changed_ = 0;
};

void TextSource::refuse_value(const Place& place, const std::string& problem) const {
  data::refuse_value(fmt::format("{}: line {}, {}", input_.name(), place.line, show_column(head_.names, place.column)),
                     problem);
}

double TextSource::take_number(FieldCursor& cursor, const Place& place) const {
  const Field field = cursor.take();
  const std::string text = text_of(field);
  const std::string drop_option = fmt::format("--drop-columns {}", option_text(head_.names, place.column));
  if (field.problem != nullptr) {
    refuse_value(place, fmt::format("expected a number, found '{}': {}", quoted(text, kShownBytes), field.problem));
  }
  double value = 0.0;
  const std::string number = plain_number(text, head_.numbers);
  if (!number.empty()) {
    parse_number(number.data(), number.data() + number.size(), value);
    return value;
  }
  if (missing_ == Missing::keep && is_missing(head_, text)) return std::numeric_limits<double>::quiet_NaN();
  if (text.empty()) {
    refuse_value(place, fmt::format("expected a number, found an empty field; fill it in, remove the line, or leave "
                                    "the column out with {}{}",
                                    drop_option, or_drop()));
  }
  if (!head_.numbers.is_plain() && is_number_text(text)) {
    refuse_value(place, fmt::format("expected a number as --decimal and --thousands describe it, found '{}'; correct "
                                    "it, or leave these options out",
                                    quoted(text, kShownBytes)));
  }
  if (const std::string options = style_options(text); !options.empty() && head_.numbers.is_plain()) {
    const bool also_thousands = options == "--decimal comma" && !plain_number(text, {'.', ','}).empty();
    refuse_value(place, fmt::format("expected a number, found '{}'; say {}{}{}", quoted(text, kShownBytes), options,
                                    also_thousands ? ", or --thousands comma if the comma separates thousands" : "",
                                    options == "--decimal comma" && head_.syntax.delimiter != ','
                                        ? ", or --delimiter comma if it separates fields"
                                        : ""));
  }
  const bool may_be_header = header_detected_ && head_.names.empty() && place.line == head_.first_line;
  refuse_value(place, fmt::format("expected a number, found '{}'; correct it, or leave the column out with {}{}{}",
                                  quoted(text, kShownBytes), drop_option, is_missing(head_, text) ? or_drop() : "",
                                  may_be_header ? "; if the line names the columns, say --header yes" : ""));
}

template <class T>
std::int64_t TextSource::parse_record(std::string_view record, std::int64_t line, T* row) const {
  std::int64_t changed = 0;
  FieldCursor cursor(record, head_.syntax.delimiter);
  for (std::int64_t j = 0; j < head_.columns; ++j) {
    if (!cursor.more()) refuse_length(input_, head_, record, line);
    const std::int64_t target = target_[static_cast<std::size_t>(j)];
    if (target < 0) {
      cursor.take();
      continue;
    }
    cursor.skip_blanks();
    double value = 0.0;
    const char* stop = parse_number(cursor.at(), cursor.end(), value);
    if (!plain_ || stop == cursor.at() || !cursor.finish(stop)) {
      if (record.starts_with('#')) refuse_other_length(record, line);
      value = take_number(cursor, {line, j});
    }
    if (std::find(missing_numbers_.begin(), missing_numbers_.end(), value) != missing_numbers_.end()) {
      value = std::numeric_limits<double>::quiet_NaN();
    }
    row[target] = static_cast<T>(value);
    if (!std::isfinite(row[target])) {
      if (missing_ == Missing::keep && !std::isfinite(value)) continue;
      refuse_value(
          {line, j},
          std::isnan(value) ? "expected a finite number, found NaN; replace the value or remove the line" + or_drop()
          : !std::isfinite(value)
              ? "expected a finite number, found infinity, or a number beyond the largest float64; replace the value "
                "or remove the line" +
                    or_drop()
              : fmt::format("expected a number up to the largest float32, found {}; leave out --precision f32", value));
    }
    if (static_cast<double>(row[target]) != value) ++changed;
  }
  if (cursor.more()) refuse_length(input_, head_, record, line);
  return changed;
}

template <class T>
void TextSource::parse_block(const TextBlock& block, std::int64_t first, MatrixView<T> out, Matrix<std::byte>& buffer) {
  std::int64_t changed = 0;
  for_records(input_, head_.syntax, block, buffer, [&](std::string_view record, std::int64_t row, std::int64_t line) {
    if (row < first || row >= first + out.rows) return;
    changed += parse_record(record, line, out.row(row - first).data());
  });
  changed_ += changed;
}

template <class T>
void TextSource::read_as(std::int64_t first, MatrixView<T> out) {
  check_request(*this, first, out);
  if (out.rows == 0) return;
  const auto before = [](std::int64_t row, const TextBlock& block) { return row < block.row; };
  const auto& blocks = index_.blocks;
  const auto begin = std::upper_bound(blocks.begin(), blocks.end(), first, before) - 1;
  const auto end = std::upper_bound(blocks.begin(), blocks.end(), first + out.rows - 1, before);
  try {
    read_in_blocks(end - begin, threads_, [&](std::int64_t block, Matrix<std::byte>& buffer) {
      parse_block(begin[block], first, out, buffer);
    });
  } catch (const Error& error) {
    input_.check_unchanged();  // a change of the file explains the error better
    if (error.cause() == Cause::value) refuse_faulty_columns(input_, head_, index_, choice_.points, {}, options_);
    throw;
  }
  input_.check_unchanged();
}

std::vector<std::string> TextSource::kept(Kept which) const {
  const std::int64_t column = which == Kept::id ? choice_.id : which == Kept::label ? choice_.label : choice_.weight;
  std::vector<std::string> texts;
  if (column < 0) return texts;
  TextList list(input_.name(), rows());
  for_texts(input_, head_, index_, column, [&list](std::string text, std::int64_t) { list.add(std::move(text)); });
  texts = list.take();
  return texts;
}

/// The column of `what` ("label"): the one in the location, else the only one, else the one with the name `what`, as in
/// label files of kith.
std::int64_t column_of(const std::string& what, const TextHead& head, const Location& location,
                       const std::string& name) {
  if (!location.dataset.empty()) {
    const std::string column = location.file + ":" + location.dataset;
    return choose_column(column.c_str(), location.dataset, head.names, head.columns, name);
  }
  if (head.columns == 1) return 0;
  const auto& names = head.names;
  if (std::count(names.begin(), names.end(), what) == 1) {
    return std::find(names.begin(), names.end(), what) - names.begin();
  }
  throw Error(ExitCode::usage,
              fmt::format("{}: expected the name of the column that holds the {}s, {}:COLUMN, found "
                          "{} columns{}",
                          name, what, location.file, head.columns, names.empty() ? "" : ": " + show_list(names, 30)));
}

}  // namespace

bool is_text_table(const std::string& file) {
  const std::string begin = begin_of_stream(file);
  if (is_matrix_market(file) || is_svmlight(file)) return false;
  // Whatever else comes from standard input can only be text.
  return is_standard_input(file) ? !begin.starts_with(kNumpySignature) : !begin.empty() && is_text(begin);
}

std::unique_ptr<PointSource> open_text(const Location& location, const ReadOptions& options) {
  InputBytes input = open_bytes(location, options.scratch);
  TextHead head = read_head(input, options);
  return std::make_unique<TextSource>(std::move(input), std::move(head), options);
}

TextColumn read_text_column(const Location& location, const ReadOptions& options, const TextFields& fields) {
  const std::string& what = fields.what;
  const InputBytes input = open_bytes({location.file, ""}, options.scratch);
  const TextHead head = read_head(input, options);
  const std::int64_t column = column_of(what, head, location, input.name());
  TextColumn result{fmt::format("{}:{}", input.name(), option_text(head.names, column)), {}, input.size()};
  const TextIndex index = index_text(input, head);
  TextList list(input.name(), index.rows);
  for_texts(input, head, index, column, [&](std::string text, std::int64_t line) {
    if (text.empty() && !fields.may_be_empty) {
      refuse_input(fmt::format("{}: line {}, {}", input.name(), line, show_column(head.names, column)),
                   fmt::format("expected a {}, found an empty field; fill it in or remove the line", what));
    }
    list.add(std::move(text));
  });
  result.texts = list.take();
  input.check_unchanged();
  const std::string header = head.names.empty() ? "" : head.names[static_cast<std::size_t>(column)];
  const bool ambiguous = options.header == Header::automatic && !header.empty();
  if (ambiguous && std::find(result.texts.begin(), result.texts.end(), header) != result.texts.end()) {
    refuse_input(input.name(),
                 fmt::format("line {}: is '{}' the name of the column or a {}, as it is further down? say "
                             "--header yes or --header no",
                             head.first_line, quoted(header), what));
  }
  return result;
}

std::vector<DatasetInfo> list_text(const Location& location, const ReadOptions& options) {
  const InputBytes input = open_bytes(location, options.scratch);
  const TextHead head = read_head(input, options);
  const TextIndex index = index_text(input, head);
  DatasetInfo info;
  info.shape = {index.rows, head.columns};
  info.type = "text";
  info.layout = name_of_delimiter(head.syntax.delimiter);
  if (const std::string compression = compression_of(location.file); !compression.empty()) {
    info.filters.push_back(compression);
  }
  info.stored_bytes = input.size();
  info.columns = head.names;
  info.skipped = {head.skipped.comments + index.skipped.comments, head.skipped.blank + index.skipped.blank};
  try {
    const ColumnChoice choice = choose(head, options, input.name());
    const std::vector<std::int64_t> columns = text_columns(head, choice.points, options.missing);
    info.text_columns = column_list(head, columns);
    if (!columns.empty()) refuse_text_columns(head, columns, input.name());
  } catch (const Error& error) {
    info.unreadable = error.what();
    info.is_readable = !info.text_columns.empty();  // the other columns are
  }
  return {info};
}

}  // namespace kith::data
