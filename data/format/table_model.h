// How the columns of a table become the columns of points: what a result stores, so that other tables are read as the
// first one was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// A column of a table, and the features, columns of the points, that are made of it.
struct ColumnModel {
  std::string name = {};                // in the table; empty: the table names no columns
  std::int64_t number = 0;              // in the table, counted from 1
  Encode how = Encode::none;            // none: numbers
  std::vector<std::string> texts = {};  // of ordinal and onehot, in their order; the unit
  /// What replaces a missing value, one number for each feature; empty: rows that lack it are no points.
  std::vector<double> fill = {};

  /// Number of features.
  std::int64_t width() const { return how == Encode::onehot ? std::ssize(texts) : 1; }
  /// Whether a missing value becomes the commonest text or answer, and not a mean or median.
  bool has_categories() const { return how == Encode::onehot || how == Encode::ordinal || how == Encode::yesno; }
  /// The features of the value `place`: of a text its place in `texts`, of yes and no 1 and 0.
  std::vector<double> features_of(std::int64_t place) const;
  /// The value that has these features, if it is one of them.
  std::optional<std::int64_t> place_of(const std::vector<double>& features) const;
  bool operator==(const ColumnModel&) const = default;
};

/// Features of the points are those of the columns, in this order: first those of columns[0], and so on.
struct TableModel {
  std::vector<ColumnModel> columns = {};
  std::int64_t table_columns = 0;          // of the table
  std::vector<std::string> excluded = {};  // names of its other columns, in its order
  /// Options about the form of the table that were not the default, {"--decimal", "comma"}.
  std::vector<std::pair<std::string, std::string>> options = {};
  std::string scale = "none", metric = "euclidean";
  std::int64_t components = 0;  // of --pca; 0: none
  bool operator==(const TableModel&) const = default;

  bool has_names() const { return !columns.empty() && !columns.front().name.empty(); }
  bool has_encodings() const;
  /// Number of features.
  std::int64_t width() const;
  /// What the option was; empty: the default.
  std::string option(const std::string& name) const;
  /// The value of each feature that replaces a missing one; NaN: none. Empty: no column has one.
  std::vector<double> fills() const;
};

/// Whether texts of columns become features.
bool makes_features(const ReadOptions& options);

/// PointSource::table(), or one of all columns as they are.
TableModel table_of(const PointSource& source);

/// "number", "ordinal", "onehot", "date", "yesno", "unit" or "time".
const char* kind_of(Encode how);

/// The day of so many days since 1970-01-01, as "2024-12-31".
std::string date_text(double days);

}  // namespace kith::data
