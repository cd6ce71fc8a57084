// Points from delimited text: several threads read and parse blocks of lines directly into the result.
#include "data/text/column_remedies.h"
#include "data/text/text_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/text/number_marks.h"
#include "data/text/text_head.h"
#include "data/text/text_notes.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"
#include "data/text/text_units.h"
#include "data/text/text_values.h"
#include "data/text/text_words.h"

namespace kith::data {
namespace {

constexpr std::size_t kShownBytes = 40;  // of a field, in messages
constexpr std::int64_t kSkipped = -1, kEncoded = -2;

class TextSource final : public PointSource {
 public:
  /// is_whole: the rows are those of a file, not some of many.
  TextSource(InputBytes input, TextHead head, const ReadOptions& options, bool is_whole = true)
      : options_(options),
        input_(std::move(input)),
        head_(std::move(head)),
        names_(names_for(head_)),
        choice_(choose_text_columns(input_, head_, names_)),
        encodings_(find_encodings(head_, names_, choice_.points, options, input_.name())),
        target_(static_cast<std::size_t>(head_.columns), kSkipped),
        marks_(head_.may_be_thousands && !options.model ? static_cast<std::size_t>(head_.columns) : 0),
        class_(class_for(ValueClass::f64, options.precision)),
        plain_(head_.numbers.is_plain()),
        missing_(options.missing),
        keeps_unknown_(options.model != nullptr && options.keep_unknown),
        is_whole_(is_whole),
        threads_(options.threads) {
    const std::vector<std::int64_t> numbers = numbers_of(choice_.points, encodings_);
    const std::vector<std::int64_t> texts = text_columns(head_, numbers, missing_);
    refuse_angles(head_, choice_.points, input_.name());
    for (const std::int64_t column : numbers) {
      const std::string bits = texts.empty() ? bits_in_column(head_, column) : "";
      if (bits.empty()) continue;
      refuse_input(input_.name(),
                   fmt::format("expected numbers, found in {} {}", show_column(head_.names, column), bits));
    }
    if (!texts.empty() && !keeps_unknown_) {
      refuse_lines_before(input_, head_);
      refuse_faulty_columns(input_, head_, index_text(input_, head_), numbers, texts, options_);
      refuse_text_columns(head_, texts, numbers.size(), input_.name());
    }
    if (missing_ == Missing::keep || options.model) missing_numbers_ = numbers_among(options.missing_texts);
    index_ = index_text(input_, head_);
    if (is_whole_) totals_ = remarks_on_totals(input_, head_, index_);
    if (!encodings_.empty()) find_encoded_texts(input_, head_, index_, names_, options, encodings_);
    std::size_t encoded = 0;
    for (const std::int64_t column : choice_.points) {
      std::int64_t& target = target_[static_cast<std::size_t>(column)];
      if (encoded == encodings_.size() || encodings_[encoded].column() != column) {
        target = columns_++;
        continue;
      }
      target = kEncoded - static_cast<std::int64_t>(encoded);
      first_feature_.push_back(columns_);
      columns_ += encodings_[encoded++].width();
    }
    if (options.model) take_fills(*options.model);
    all_keep_missing_ = encodings_.size() == choice_.points.size() &&
                        std::all_of(encodings_.begin(), encodings_.end(),
                                    [](const ColumnEncoding& encoding) { return encoding.keeps_missing(); });
  }

  std::string name() const override { return input_.name(); }
  std::string element_type() const override { return "text"; }
  std::int64_t rows() const override { return index_.rows; }
  std::int64_t columns() const override { return columns_; }
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
    if (names_.empty()) return names;
    for (const std::int64_t j : choice_.points) {
      const std::string& name = names_[static_cast<std::size_t>(j)];
      const std::int64_t target = target_[static_cast<std::size_t>(j)];
      target >= 0 ? names.push_back(name) : encoding(target).append_names(name, names);
    }
    return names;
  }
  SkippedLines skipped_lines() const override {
    return {head_.skipped.comments + index_.skipped.comments, head_.skipped.blank + index_.skipped.blank};
  }
  std::vector<std::string> remarks() const override;
  std::int64_t unknown_rows() const override { return notes_.unknown_rows(); }
  std::shared_ptr<const TableModel> table() const override;
  bool has_chosen_columns() const override { return true; }
  std::vector<std::string> kept(Kept which) const override;
  std::string id_name() const override {
    return choice_.id < 0 || names_.empty() ? "" : names_[static_cast<std::size_t>(choice_.id)];
  }
  RowTexts texts_of(const std::string& column) const override;
  std::optional<TableForm> table_form() const override { return TableForm{column_delimiter(), head_.names}; }
  void visit_text(const std::function<void(TextPart, std::string_view)>& visit) const override {
    data::visit_text(input_, head_, index_, visit);
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  /// The position of a field, for messages.
  struct Place {
    std::int64_t line = 0;  // counted from 1
    std::int64_t column = 0;
    std::string_view record = {};
  };

  /// What separates further columns. A table of one column has no delimiter that could be found.
  char column_delimiter() const {
    if (head_.columns > 1 || !options_.delimiter.empty() || head_.syntax.delimiter != '\t')
      return head_.syntax.delimiter;
    return options_.decimal == ',' || options_.thousands == ',' ? ';' : ',';
  }
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out);
  template <class T>
  std::int64_t parse_record(std::string_view record, std::int64_t line, T* row) const;
  /// Returns how many values were rounded. `is_present` becomes true if the field has a value.
  template <class T>
  std::int64_t encode(FieldCursor& cursor, const Place& place, std::int64_t target, T* row, bool& is_present) const;
  const ColumnEncoding& encoding(std::int64_t target) const {
    return encodings_[static_cast<std::size_t>(kEncoded - target)];
  }
  /// The text of a field. Throws if its quotes are wrong.
  std::string take_text(FieldCursor& cursor, const Place& place, const char* expected) const;
  [[noreturn]] void refuse_empty(const Place& place, const char* expected) const;
  [[noreturn]] void refuse_word(const Place& place, const std::string& text, Encode how) const;
  /// Parses a field that is not an unquoted number: a quoted one, or an invalid one. Nothing: the model does not know
  /// it, so that it is missing and has no replacement.
  std::optional<double> take_number(FieldCursor& cursor, const Place& place) const;
  /// A table keeps one column at least.
  std::string or_leave_out(const Place& place) const {
    if (choice_.points.size() == 1 || options_.model) return "";
    return ", or leave the column out with " + drop_option(head_, {place.column});
  }
  std::string or_drop() const { return missing_ == Missing::offer ? ", or drop all such rows with --nan drop" : ""; }
  [[noreturn]] void refuse_value(const Place& place, const std::string& problem) const;
  /// The values that the model has in place of missing ones.
  void take_fills(const TableModel& model);
  /// Whether there are values in place of missing ones in a column of the file.
  bool fills(std::int64_t column) const { return !fill_.empty() && !fill_[static_cast<std::size_t>(column)].empty(); }
  template <class T>
  void note_text(const Place& place, std::string_view text, const T* row) const {
    const std::int64_t before = place.column > 0 ? target_[static_cast<std::size_t>(place.column) - 1] : kSkipped;
    notes_.add_text(place.line, place.column, text, before >= 0 && row[before] < 0);
  }
  /// Notes a whole number that this value is not.
  void note_rounded(const char* begin, const char* end, double value, const Place& place) const {
    std::string text(begin, end);
    if (text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) != text.npos) return;
    if (fmt::format("{:.0f}", value) != text) notes_.add(TextNotes::rounded, place.line, place.column, text);
  }
  /// Asks, once all rows have been read, whether points separate thousands where the rows suggest it.
  void check_marks();
  /// Counts a row with a value that the model does not know. Throws if its whole column is written in another way.
  void keep_unknown(const Place& place, const std::string& text) const;
  /// refuse_other_style(), where a model and all rows are there.
  bool judge(const Place& place, const std::string& text) const {
    return is_whole_ && options_.model &&
           refuse_other_style(input_, head_, index_, choice_.points, encodings_, place.column, text);
  }

  ReadOptions options_;
  InputBytes input_;
  TextHead head_;
  std::vector<std::string> names_;  // of the columns of the file; none if it has none, and nothing is encoded
  ColumnChoice choice_;
  std::vector<ColumnEncoding> encodings_;
  std::vector<std::int64_t> first_feature_;  // of each encoding, in the points
  /// For each column of the file its column in the points, kSkipped, or kEncoded less the index of its encoding.
  std::vector<std::int64_t> target_;
  std::int64_t columns_ = 0;  // of the points
  mutable ColumnMarks marks_;
  std::vector<std::int64_t> doubtful_;  // columns of which only others say that points do not separate thousands
  ValueClass class_;
  bool plain_;  // the style of numbers
  Missing missing_;
  bool keeps_unknown_, is_whole_;
  bool all_keep_missing_ = false;          // a missing value is one like others in every column
  std::vector<std::vector<double>> fill_;  // for each column of the file, of its features; empty: none
  mutable TextNotes notes_{head_};
  std::vector<std::string> totals_;  // remarks on the first and the last row
  mutable std::mutex judging_;
  mutable std::set<std::int64_t> judged_;  // columns whose style has been compared with that of the model
  std::vector<double> missing_numbers_;    // those of ReadOptions::missing_texts
  int threads_;
  TextIndex index_;
  std::atomic<std::int64_t> changed_ = 0;
  std::atomic<std::int64_t> least_row_ = std::numeric_limits<std::int64_t>::max();  // that was read
};

void TextSource::refuse_value(const Place& place, const std::string& problem) const {
  const std::int64_t fields = count_fields(place.record, head_.syntax, head_.columns + 1);
  const bool fits = fields == head_.columns || (head_.may_end_empty && fields > head_.columns);
  if (!fits) refuse_length(input_, head_, place.record, place.line);
  data::refuse_value(fmt::format("{}: line {}, {}", input_.name(), place.line, show_column(head_.names, place.column)),
                     problem + or_header(head_, place.line));
}

std::string TextSource::take_text(FieldCursor& cursor, const Place& place, const char* expected) const {
  const Field field = cursor.take();
  std::string text = text_of(field);
  if (field.problem == nullptr) return text;
  refuse_value(place, fmt::format("expected {}, found '{}': {}", expected, quoted(text, kShownBytes), field.problem));
}

void TextSource::refuse_empty(const Place& place, const char* expected) const {
  refuse_value(place, fmt::format("expected {}, found an empty field; fill it in or remove the line{}{}", expected,
                                  or_leave_out(place), or_drop()));
}

void TextSource::take_fills(const TableModel& model) {
  fill_.resize(static_cast<std::size_t>(head_.columns));
  for (std::size_t i = 0; i < choice_.points.size(); ++i) {
    const ColumnModel* column = model_of(model, head_, choice_.points, i);
    if (column != nullptr) fill_[static_cast<std::size_t>(choice_.points[i])] = column->fill;
  }
}

void TextSource::keep_unknown(const Place& place, const std::string& text) const {
  notes_.add(TextNotes::unknown, place.line, place.column, text);
  const std::lock_guard lock(judging_);
  if (!judged_.contains(place.column) && judge(place, text)) judged_.insert(place.column);
}

std::vector<std::string> TextSource::remarks() const {
  std::vector<std::string> remarks = head_.remarks;
  if (head_.not_utf8 > 0) {
    remarks.push_back(
        fmt::format("{} not UTF-8: texts are read as Windows-1252; another encoding can be converted: "
                    "iconv -f ENCODING -t UTF-8 IN > OUT",
                    is_whole_ ? fmt::format("line {} is", head_.not_utf8) : "some lines are"));
  }
  for (std::string& remark : marks_.remarks(head_, doubtful_)) remarks.push_back(std::move(remark));
  for (std::string& remark : remarks_on_encodings(head_, numbers_of(choice_.points, encodings_), encodings_)) {
    remarks.push_back(std::move(remark));
  }
  for (std::string& remark : notes_.remarks(head_, index_.rows, totals_)) remarks.push_back(std::move(remark));
  return remarks;
}

std::shared_ptr<const TableModel> TextSource::table() const {
  TableModel table{.table_columns = head_.columns};
  std::vector<bool> is_point(static_cast<std::size_t>(head_.columns));
  for (const std::int64_t j : choice_.points) {
    const auto column = static_cast<std::size_t>(j);
    is_point[column] = true;
    ColumnModel& added = table.columns.emplace_back();
    added.name = head_.names.empty() ? "" : head_.names[column];
    added.number = j + 1;
    if (!fill_.empty()) added.fill = fill_[column];
    if (target_[column] >= 0) continue;
    added.how = encoding(target_[column]).how();
    added.texts = encoding(target_[column]).texts();
    const std::int64_t missing = encoding(target_[column]).place(kMissingCategory);
    if (encoding(target_[column]).keeps_missing() && missing >= 0) added.fill = added.features_of(missing);
  }
  for (std::size_t j = 0; j < head_.names.size(); ++j) {
    if (!is_point[j]) table.excluded.push_back(head_.names[j]);
  }
  return std::make_shared<const TableModel>(std::move(table));
}

void TextSource::refuse_word(const Place& place, const std::string& text, Encode how) const {
  judge(place, text);
  const std::vector<std::string>& texts = encoding(target_[static_cast<std::size_t>(place.column)]).texts();
  const std::string expected = expected_by(how, texts.empty() ? "" : texts.front());
  const UnitText unit = how == Encode::unit ? split_unit(text) : UnitText{};
  const bool is_styled = !unit.unit.empty() && plain_number(unit.number, head_.numbers).empty();
  const std::string style = is_styled ? style_for(head_, place.column, unit.number) : "";
  const std::string remedy =
      !style.empty() ? fmt::format("say {}", style)
      : how != Encode::unit && how != Encode::time && stands_for_no_date(text) && missing_ != Missing::refuse
          ? fmt::format("if it stands for a missing value, say --na-values '{}'{}", text,
                        missing_ == Missing::keep ? "" : " --nan drop")
          : "correct it" + or_leave_out(place) + (is_missing(head_, text) ? or_drop() : "");
  refuse_value(place, fmt::format("expected {}, found '{}'; {}", expected, quoted(text, kShownBytes), remedy));
}

template <class T>
std::int64_t TextSource::encode(FieldCursor& cursor, const Place& place, std::int64_t target, T* row,
                                bool& is_present) const {
  const ColumnEncoding& encoding = this->encoding(target);
  T* features = row + first_feature_[static_cast<std::size_t>(kEncoded - target)];
  const char* expected = encoding.how() == Encode::yesno  ? "yes or no"
                         : encoding.how() == Encode::unit ? "a number with a unit"
                         : encoding.how() == Encode::time ? "a time"
                         : is_one_number(encoding.how())  ? "a date"
                                                          : "a text";
  std::string text = take_text(cursor, place, expected);
  note_text(place, text, row);
  is_present = is_present || all_keep_missing_ || !is_missing(head_, text);
  if (encoding.keeps_missing() && is_missing(head_, text)) text = kMissingCategory;
  const std::int64_t found = is_one_number(encoding.how()) ? -1 : encoding.place(text);
  const bool is_known = options_.model && found >= 0;  // a category of the table of the model, whatever it means here
  if (fills(place.column) && !is_known && is_missing(head_, text)) {
    std::transform(fill_[static_cast<std::size_t>(place.column)].begin(),
                   fill_[static_cast<std::size_t>(place.column)].end(), features,
                   [](double value) { return static_cast<T>(value); });
    return 0;
  }
  const bool is_kept = is_known || (encoding.keeps_missing() && found >= 0);
  if (!is_kept && is_missing_category(head_, text, missing_)) {
    if (missing_ != Missing::keep) refuse_empty(place, expected);
    std::fill_n(features, encoding.width(), std::numeric_limits<T>::quiet_NaN());
    return 0;
  }
  if (is_one_number(encoding.how())) {
    const std::optional<double> number = encoding.number(text);
    if (!number && !keeps_unknown_) refuse_word(place, text, encoding.how());
    if (!number) {
      keep_unknown(place, text);
      *features = std::numeric_limits<T>::quiet_NaN();
      return 0;
    }
    if (encoding.how() == Encode::unit) {
      const UnitText parts = split_unit(text);
      const double factor = factor_of(parts.unit, encoding.texts().front()).value_or(1.0);
      marks_.add(place.column, parts.number.data(), parts.number.data() + parts.number.size(), *number / factor);
    }
    if (kind_of(encoding.how()) == std::string_view("date") && std::floor(*number) == kOpenEnd)
      notes_.add(TextNotes::open_end, place.line, place.column, text);
    *features = static_cast<T>(*number);
    return static_cast<double>(*features) != *number ? 1 : 0;
  }
  if (found < 0 && keeps_unknown_) {
    keep_unknown(place, text);
    std::fill_n(features, encoding.width(), std::numeric_limits<T>::quiet_NaN());
    return 0;
  }
  if (found < 0) {  // the texts are those of other points, or of the option
    refuse_value(place,
                 fmt::format("expected one of the texts that --encode has, {}, found '{}'; correct or remove the "
                             "line, or add the text to those of --encode",
                             show_list(encoding.texts(), 8), quoted(text, kShownBytes)));
  }
  if (encoding.how() == Encode::ordinal) {
    *features = static_cast<T>(found);
    return 0;
  }
  std::fill_n(features, encoding.width(), T{0});
  features[found] = T{1};
  return 0;
}

std::optional<double> TextSource::take_number(FieldCursor& cursor, const Place& place) const {
  const std::string text = take_text(cursor, place, "a number");
  const std::string number = plain_number(text, head_.numbers);
  if (!number.empty()) {
    const double value = value_of(number);
    marks_.add(place.column, number.data(), number.data() + number.size(), value);
    if (std::string_view("TtFf").find(text.front()) != std::string_view::npos)
      notes_.add(TextNotes::truth, place.line, place.column, text);
    if (number.starts_with('-') && (is_in_parentheses(text) || text.ends_with('-')))
      notes_.add(TextNotes::of_accounts, place.line, place.column, text);
    return value;
  }
  if (missing_ == Missing::keep || fills(place.column)) {
    if (is_missing(head_, text)) return std::numeric_limits<double>::quiet_NaN();
  }
  if (keeps_unknown_) {
    keep_unknown(place, text);
    return std::nullopt;
  }
  judge(place, text);
  if (text.empty()) refuse_empty(place, "a number");
  if (!head_.numbers.is_plain() && is_number_text(text)) {
    const std::string remedy = is_month_with_point(text) ? remedy_for_dates(head_, place.column, text)
                                                         : "correct it, or leave these options out";
    refuse_value(place, fmt::format("expected a number as --decimal and --thousands describe it, found '{}'; {}",
                                    quoted(text, kShownBytes), remedy));
  }
  if (const std::string options = style_for(head_, place.column, text); !options.empty()) {
    const bool may_divide =
        options == "--decimal comma" && head_.syntax.delimiter != ',' && place.record.find('"') == place.record.npos;
    refuse_value(place, fmt::format("expected a number, found '{}'; say {}{}", quoted(text, kShownBytes), options,
                                    may_divide ? ", or --delimiter comma if it separates fields" : ""));
  }
  refuse_value(place, fmt::format("expected a number, found '{}'; correct it{}{}", quoted(text, kShownBytes),
                                  or_leave_out(place), is_missing(head_, text) ? or_drop() : ""));
}

template <class T>
std::int64_t TextSource::parse_record(std::string_view record, std::int64_t line, T* row) const {
  std::int64_t changed = 0;
  bool is_present = false;  // a value of the row
  FieldCursor cursor(record, head_.syntax);
  for (std::int64_t j = 0; j < head_.columns; ++j) {
    if (!cursor.more()) refuse_length(input_, head_, record, line);
    const std::int64_t target = target_[static_cast<std::size_t>(j)];
    if (target < 0) {
      if (target == kSkipped) {
        note_text({line, j, record}, cursor.take().text, row);
      } else {
        changed += encode(cursor, {line, j, record}, target, row, is_present);
      }
      continue;
    }
    cursor.skip_blanks();
    double value = 0.0;
    const char* begin = cursor.at();
    const char* stop = parse_short_number(begin, value);
    bool is_read = plain_ && stop != nullptr && cursor.finish(stop);
    if (!is_read) {
      stop = parse_number(begin, cursor.end(), value);
      is_read = plain_ && stop != begin && cursor.finish(stop);
      if (is_read) notes_.add_exponent(line, j, begin, stop, value);
    }
    if (is_read) {
      marks_.add(j, begin, stop, value);
      constexpr double kExact = 9007199254740992;  // 2^53
      if (value >= kExact || value <= -kExact) note_rounded(begin, stop, value, {line, j, record});
    } else {
      const std::optional<double> taken = take_number(cursor, {line, j, record});
      if (!taken) {
        row[target] = std::numeric_limits<T>::quiet_NaN();
        continue;
      }
      value = *taken;
    }
    if (std::find(missing_numbers_.begin(), missing_numbers_.end(), value) != missing_numbers_.end()) {
      value = std::numeric_limits<double>::quiet_NaN();
    }
    is_present = is_present || std::isfinite(value);
    if (!std::isfinite(value) && fills(j)) {
      row[target] = static_cast<T>(fill_[static_cast<std::size_t>(j)].front());
      continue;
    }
    row[target] = static_cast<T>(value);
    if (!std::isfinite(row[target])) {
      if (missing_ == Missing::keep && !std::isfinite(value)) continue;
      refuse_value(
          {line, j, record},
          std::isnan(value) ? "expected a finite number, found NaN; replace the value or remove the line" + or_drop()
          : !std::isfinite(value)
              ? "expected a finite number, found infinity, or a number beyond the largest float64; replace the value "
                "or remove the line" +
                    or_drop()
              : fmt::format("expected a number up to the largest float32, found {}; leave out --precision f32", value));
    }
    if (static_cast<double>(row[target]) != value) ++changed;
  }
  if (cursor.more() && !ends_empty(head_, cursor)) refuse_length(input_, head_, record, line);
  // Replacements alone, or the text for missing ones, are no point.
  if (!is_present && missing_ == Missing::keep) std::fill_n(row, columns_, std::numeric_limits<T>::quiet_NaN());
  return changed;
}

template <class T>
void TextSource::read_as(std::int64_t first, MatrixView<T> out) {
  check_request(*this, first, out);
  if (out.rows == 0) return;
  for (std::int64_t known = least_row_; first < known && !least_row_.compare_exchange_weak(known, first);) {
  }
  const auto before = [](std::int64_t row, const TextBlock& block) { return row < block.row; };
  const auto& blocks = index_.blocks;
  const auto begin = std::upper_bound(blocks.begin(), blocks.end(), first, before) - 1;
  const auto end = std::upper_bound(blocks.begin(), blocks.end(), first + out.rows - 1, before);
  try {
    read_in_blocks(end - begin, threads_, [&](std::int64_t block, Matrix<std::byte>& buffer) {
      std::int64_t changed = 0;
      for_records(input_, head_.syntax, begin[block], buffer,
                  [&](std::string_view record, std::int64_t row, std::int64_t line) {
                    if (row < first || row >= first + out.rows) return;
                    changed += parse_record(record, line, out.row(row - first).data());
                  });
      changed_ += changed;
    });
  } catch (const Error& error) {
    input_.check_unchanged();  // a change of the file explains the error better
    if (error.cause() == Cause::value && !options_.model) {
      refuse_lines_before(input_, head_);
      refuse_faulty_columns(input_, head_, index_, numbers_of(choice_.points, encodings_), {}, options_);
    }
    throw;
  }
  input_.check_unchanged();
  if (first + out.rows == index_.rows) check_marks();
}

void TextSource::check_marks() {
  const bool has_all = least_row_ == 0;  // else other processes have seen the rows before
  std::vector<std::int64_t> columns;
  for (std::int64_t j = 0; j < marks_.columns(); ++j) {
    const NumberMarks marks = marks_.of(j);
    const bool is_read = target_[static_cast<std::size_t>(j)] != kSkipped;
    if (has_all ? marks.may_be_thousands('.') : is_read && !marks.is_settled()) columns.push_back(j);
  }
  if (columns.empty()) return;
  doubtful_ = refuse_unclear_points(input_, head_, index_, columns);
  for (const std::int64_t column : columns) marks_.settle(column);
}

std::vector<std::string> TextSource::kept(Kept which) const {
  const std::int64_t column = which == Kept::id ? choice_.id : which == Kept::label ? choice_.label : choice_.weight;
  return column < 0 ? std::vector<std::string>() : column_texts(input_, head_, index_, column);
}

RowTexts TextSource::texts_of(const std::string& column) const {
  const std::int64_t chosen = choose_column("--join", column, head_.names, head_.columns, input_.name());
  return {head_.names.empty() ? "" : head_.names[static_cast<std::size_t>(chosen)],
          column_texts(input_, head_, index_, chosen)};
}

}  // namespace

std::unique_ptr<PointSource> open_text(const Location& location, const ReadOptions& options) {
  return open_text_table(open_text_bytes(location, options.scratch), options);
}

std::unique_ptr<PointSource> open_text_table(InputBytes input, const ReadOptions& options) {
  TextHead head = read_head(input, options);
  const ReadOptions read = head.options;
  return std::make_unique<TextSource>(std::move(input), std::move(head), read);
}

std::unique_ptr<PointSource> open_text_bytes(InputBytes input, std::int64_t first_line, const ReadOptions& options) {
  TextHead head = read_head(input, options);
  head.lines_before = first_line - 1;
  return std::make_unique<TextSource>(std::move(input), std::move(head), options, false);
}

std::vector<DatasetInfo> list_text(const Location& location, const ReadOptions& options) {
  const InputBytes input = open_text_bytes(location, options.scratch);
  TextHead head = read_head(input, options);
  const TextIndex index = index_text(input, head);
  for (std::string& remark : remarks_on_totals(input, head, index)) head.remarks.push_back(std::move(remark));
  DatasetInfo info{.shape = {index.rows, head.columns},
                   .type = "text",
                   .layout = name_of_delimiter(head.syntax.delimiter),
                   .filters = filters_of(location.file),
                   .stored_bytes = input.size(),
                   .columns = head.names,
                   .remarks = head.remarks};
  info.skipped = {head.skipped.comments + index.skipped.comments, head.skipped.blank + index.skipped.blank};
  try {
    const std::vector<std::string> names = names_for(head);
    const std::vector<std::int64_t> points = choose_text_columns(input, head, names).points;
    const std::vector<std::int64_t> numbers =
        numbers_of(points, find_encodings(head, names, points, options, input.name()));
    const std::vector<std::int64_t> columns = columns_with_words(input, head, index, numbers);
    if (!columns.empty()) {
      refuse_lines_before(input, head);
      info.text_columns = column_list(head, columns);
      ReadOptions offered = options;  // the message is for the commands that have --nan
      if (options.missing == Missing::refuse) offered.missing = Missing::offer;
      const std::vector<std::int64_t> texts = text_columns(head, numbers, offered.missing);
      refuse_faulty_columns(input, head, index, numbers, texts, offered);
      if (!texts.empty()) refuse_text_columns(head, texts, numbers.size(), input.name());
    }
  } catch (const Error& error) {
    info.unreadable = error.what();
    info.is_readable = !info.text_columns.empty();  // the other columns are
  }
  return {info};
}

}  // namespace kith::data
