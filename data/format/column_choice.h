// Chooses an array of a file that holds several, and the columns of a table: --columns, --drop-columns, --id-column,
// --label-column and --weight-column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// Columns of a file, counted from 0.
struct ColumnChoice {
  std::vector<std::int64_t> points;  // in the order of the columns of the points
  std::int64_t id = -1;              // -1: none
  std::int64_t label = -1;
  std::int64_t weight = -1;
};

/// The columns that the word "numeric" stands for in --columns; called where it occurs.
using NumericColumns = std::function<std::vector<std::int64_t>()>;

/// `names` has `columns` entries or none; `table` is for messages. Without `numeric`, all columns hold numbers. Throws
/// Error(usage) for an unknown column.
ColumnChoice choose_columns(const ReadOptions& options, const std::vector<std::string>& names, std::int64_t columns,
                            const std::string& table, const NumericColumns& numeric = {});

/// The options with the columns of ReadOptions::model, if it is given and no option chooses columns: by their names, or
/// by their numbers if its table names none, or not uniquely, and this one has as many `columns`.
ReadOptions with_columns_of_model(ReadOptions options, bool has_names, std::int64_t columns);

/// The options without the column that names rows in the table of the model, which this one need not have.
ReadOptions without_id_of_model(ReadOptions options);

/// Whether --columns asks for columns of numbers, unless a column has that name.
bool asks_for_numeric(const std::string& columns, const std::vector<std::string>& names);

/// An item of a list with commas between items; quotes as in CSV let one contain commas.
struct ListItem {
  std::string text;
  bool quoted = false;
};
/// Throws Error(usage) for a quote that is never closed. Messages begin with `option`.
std::vector<ListItem> split_list(const char* option, const std::string& list);

/// One column by name or by number from 1; messages begin with `option`.
std::int64_t choose_column(const char* option, const std::string& text, const std::vector<std::string>& names,
                           std::int64_t columns, const std::string& table);

/// The same for several columns.
std::vector<std::int64_t> choose_each(const char* option, const std::vector<std::string>& texts,
                                      const std::vector<std::string>& names, std::int64_t columns,
                                      const std::string& table);

/// "column 3 ('age')", counted from 1, or "column 3" without names.
std::string show_column(const std::vector<std::string>& names, std::int64_t column);

/// A column as an option names it: its name, or its number if the name is not unique or needs quotes.
std::string option_text(const std::vector<std::string>& names, std::int64_t column);

/// Throws Error(usage) if an option names a column of text that is not part of the points, which only text files have.
void refuse_kept_columns(const ReadOptions& options, const std::string& name);

/// What may be a table, the preferred kind first: a matrix, a vector if it may be a column, named columns.
enum class TableKind { matrix, vector, records };
inline constexpr TableKind kTableKinds[] = {TableKind::matrix, TableKind::vector, TableKind::records};
/// Leaves out arrays without a value or with one, unless all are such: beside others they are never meant.
void leave_out_trivial(std::vector<DatasetInfo>& candidates);
/// The path of the array that most users of such a file mean: what scanpy computes neighbours of; the centroids of a
/// result in the units of its points; AnnData's and Loom's matrix; the points of ann-benchmarks, or of a split into two
/// sets; else the first that does not hold truth values.
std::string usual_array(const std::vector<DatasetInfo>& candidates);
bool is_of_kind(const DatasetInfo& info, TableKind kind, bool vector_as_column);
/// "2-dimensional array of numbers", for the noun "array".
std::string describe(TableKind kind, const char* noun);

/// The index of the array that the location names; else of the only one of the first of these kinds. Arrays that cannot
/// be described have no type. Throws Error(data) with what the file holds.
std::size_t choose_array(const std::vector<DatasetInfo>& arrays, const Location& location, bool vector_as_column);

}  // namespace kith::data
