// The columns of a text table: their choice, features made of texts, and the texts of one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/format/column_choice.h"
#include "data/format/point_source.h"
#include "data/format/table_model.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"
#include "data/text/text_record.h"
#include "data/text/text_values.h"

namespace kith::data {

/// The text that stands for missing values where EncodeRule::keeps_missing asks for one.
inline constexpr const char* kMissingCategory = "missing";

/// The features made of one column.
class ColumnEncoding {
 public:
  /// `numbers`: how the table writes them.
  ColumnEncoding(std::int64_t column, Encode how, bool keeps_missing, const NumberStyle& numbers)
      : column_(column), how_(how), keeps_missing_(keeps_missing), numbers_(numbers) {}

  ColumnEncoding(ColumnEncoding&&) = default;  // not copied: places_ refers to texts_

  std::int64_t column() const { return column_; }  // of the file, counted from 0
  Encode how() const { return how_; }
  bool keeps_missing() const { return keeps_missing_; }
  void set_how(Encode how) { how_ = how; }  // once the order of day and month is known
  /// The texts, in ascending order; the unit.
  const std::vector<std::string>& texts() const { return texts_; }
  void set_texts(std::vector<std::string> texts);
  /// Whether an option or a model says which texts there are, in which order.
  bool has_given_texts() const { return has_given_texts_; }
  void give_texts(std::vector<std::string> texts) {
    has_given_texts_ = !texts.empty();
    set_texts(std::move(texts));
  }
  /// Number of features.
  std::int64_t width() const { return how_ == Encode::onehot ? std::ssize(texts_) : 1; }
  /// The place of a text; -1 if it is not one of them.
  std::int64_t place(std::string_view text) const;
  /// The number that a date, a word for yes or no or a number with the unit becomes; nothing if the text is none.
  std::optional<double> number(std::string_view text) const;
  /// Appends the names of the features: "city=Lyon", "city=Paris", or "city=Lyon|Paris" for their places; equal names
  /// mean equal encodings. Dates and yes or no keep the name of the column.
  void append_names(const std::string& column_name, std::vector<std::string>& names) const;

 private:
  std::int64_t column_;
  Encode how_;
  bool keeps_missing_, has_given_texts_ = false;
  NumberStyle numbers_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, std::int64_t> places_;  // of texts_
};

/// The column of the model that the column points[i] is; null if it is none.
const ColumnModel* model_of(const TableModel& model, const TextHead& head, const std::vector<std::int64_t>& points,
                            std::size_t i);

/// Those of `points` that the options or the model make features of, in their order, without texts. `names` has a name
/// for each column. Throws Error(usage) for a column that does not exist or is not one of the points.
std::vector<ColumnEncoding> find_encodings(const TextHead& head, const std::vector<std::string>& names,
                                           const std::vector<std::int64_t>& points, const ReadOptions& options,
                                           const std::string& table);

/// Finds the texts in all rows, or takes those of the features that ReadOptions::like names; and the order of day and
/// month in dates. Throws Error(data) if the texts are too many for a column each, or if both orders or none can be
/// meant, and as require_memory().
void find_encoded_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                        const std::vector<std::string>& names, const ReadOptions& options,
                        std::vector<ColumnEncoding>& encodings);

/// The dates or times of a column, as far as they say in which order or parts they are. Lines are counted from 1; 0:
/// none.
class DatesFound {
 public:
  void add(Encode how, const std::string& text, std::int64_t line);
  /// Encode::date with its order, or Encode::time. Throws Error(data) if that is unclear.
  Encode settle(Encode how, const std::string& table, const TextHead& head, std::int64_t column) const;

 private:
  std::int64_t day_line_ = 0, month_line_ = 0;  // the first that only this order reads
  bool has_points_ = false;                     // in a date that both orders read as different days
  std::int64_t clear_line_ = 0;                 // of the first time with seconds, or with units
  std::int64_t unclear_line_ = 0;  // of a date without points that both orders read, or a time of two numbers
  std::string unclear_ = {};
};

/// `text` is a value of a column that the model of other points does not know. Throws Error(data) with the options that
/// read this table if the whole column is written in another way than that of the model, which misreads some of its
/// values or does not know many: dates with another order of day and month, or numbers with other marks. False: no way
/// to write values reads the text, so that nothing was compared.
bool refuse_other_style(const InputBytes& input, const TextHead& head, const TextIndex& index,
                        const std::vector<std::int64_t>& points, const std::vector<ColumnEncoding>& encodings,
                        std::int64_t column, const std::string& text);

/// The columns of the file of which the features `like` are made.
std::vector<std::string> encoded_columns(const std::vector<std::string>& like, const std::vector<std::string>& names);

/// The columns of the points. Row names, which pandas and R write in a column without a name, are not points, even if
/// they are numbers. Throws as choose_columns() does, or Error(data) if the table seems to begin further down.
ColumnChoice choose_text_columns(const InputBytes& input, const TextHead& head, const std::vector<std::string>& names);

/// The names of all columns; where features are made of texts, which have names, every column needs one.
std::vector<std::string> names_for(const TextHead& head);

/// The columns that are not encoded.
std::vector<std::int64_t> numbers_of(std::vector<std::int64_t> columns, const std::vector<ColumnEncoding>& encodings);

/// On texts that have the order of the alphabet, and on the first of these columns of numbers that may be times.
std::vector<std::string> remarks_on_encodings(const TextHead& head, const std::vector<std::int64_t>& numbers,
                                              const std::vector<ColumnEncoding>& encodings);

/// The bytes of a text file or of standard input, inflated; of a Parquet or Arrow file, its table as text. Throws
/// Error(data) if they are not text in UTF-8, or if the location has a dataset.
InputBytes open_text_bytes(const Location& location, const std::string& scratch);
/// The rows of several tables under the header of the first one.
InputBytes joined_tables(const std::vector<Location>& tables, const ReadOptions& options);

/// The texts of a column (counted from 0) in all rows, of each of which `check` learns with its line. Throws as
/// require_memory().
std::vector<std::string> column_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                      std::int64_t column,
                                      const std::function<void(const std::string&, std::int64_t)>& check = {});

/// The texts of each of these columns that can name rows, since they differ and are not empty, in one pass; none of a
/// column with others.
std::vector<std::vector<std::string>> identifying_texts(const Location& location, const ReadOptions& options,
                                                        const std::vector<std::int64_t>& columns);

/// The meaning of the fields of one column.
struct TextFields {
  std::string what = "label";  // or "weight"
  bool may_be_empty = false;
};

/// One column of a text file, as texts.
struct TextColumn {
  std::string name;  // "iris.csv:species"
  std::vector<std::string> texts;
  std::int64_t file_bytes = 0;
  std::string header = {};  // the name of the column, "species"; empty: it has none
};

/// Reads one column. `location.dataset` is its name or number from 1, optional if there is one column or one named
/// `fields.what`. Throws Error(usage) if the column does not exist or is ambiguous; Error(data) for empty fields that
/// are not allowed, and if it is unclear whether the first line is a header.
TextColumn read_text_column(const Location& location, const ReadOptions& options, const TextFields& fields);

}  // namespace kith::data
