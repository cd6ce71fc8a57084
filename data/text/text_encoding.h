// Columns of text as features: one column of 0 and 1 for each text, or the place of the text among all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"
#include "data/text/text_head.h"
#include "data/text/text_index.h"

namespace kith::data {

/// The features made of one column.
class ColumnEncoding {
 public:
  ColumnEncoding(std::int64_t column, Encode how) : column_(column), how_(how) {}

  ColumnEncoding(ColumnEncoding&&) = default;  // not copied: places_ refers to texts_

  std::int64_t column() const { return column_; }  // of the file, counted from 0
  Encode how() const { return how_; }
  /// The texts, in ascending order.
  const std::vector<std::string>& texts() const { return texts_; }
  void set_texts(std::vector<std::string> texts);
  /// Number of features.
  std::int64_t width() const { return how_ == Encode::onehot ? std::ssize(texts_) : 1; }
  /// The place of a text; -1 if it is not one of them.
  std::int64_t place(std::string_view text) const;
  /// Appends the names of the features: "city=Lyon", "city=Paris", or "city=Lyon|Paris" for their places. Equal names
  /// mean equal encodings.
  void append_names(const std::string& column_name, std::vector<std::string>& names) const;

 private:
  std::int64_t column_;
  Encode how_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, std::int64_t> places_;  // of texts_
};

/// Those of `points` that the options make features of, in their order, without texts. `names` has a name for each
/// column. Throws Error(usage) for a column that does not exist or is not one of the points.
std::vector<ColumnEncoding> find_encodings(const TextHead& head, const std::vector<std::string>& names,
                                           const std::vector<std::int64_t>& points, const ReadOptions& options,
                                           const std::string& table);

/// Finds the texts in all rows; or takes those of the features that ReadOptions::like names. Throws Error(data) if they
/// are too many for a column each, and as require_memory().
void find_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                const std::vector<std::string>& names, const ReadOptions& options,
                std::vector<ColumnEncoding>& encodings);

/// The columns of the file of which the features `like` are made.
std::vector<std::string> encoded_columns(const std::vector<std::string>& like, const std::vector<std::string>& names);

}  // namespace kith::data
