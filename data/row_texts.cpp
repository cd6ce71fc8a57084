// Reads identifiers and other texts of rows from text files, HDF5, NumPy and Parquet.
#include "data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/arrow/arrow_table.h"
#include "data/format/column_choice.h"
#include "data/format/filters.h"
#include "data/format/formats.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"
#include "data/labels.h"
#include "data/text/text_columns.h"

namespace kith::data {
namespace {

constexpr const char* kId = "id";

/// Whether a text file is a table by its name; others have a text a line.
bool is_table_by_name(std::string file) {
  for (const char* compression : {".gz", ".zst"}) {
    if (has_ending(file, compression)) file.resize(file.rfind('.'));
  }
  return has_ending(file, ".csv") || has_ending(file, ".tsv");
}

/// Options that read lines as they are, with nothing that separates, quotes or explains.
ReadOptions line_options(const ReadOptions& options) {
  ReadOptions lines;
  lines.delimiter = "\x1f";  // of ASCII's separators, which text does not contain
  lines.header = Header::no;
  lines.comment = '\0';
  lines.quotes = false;
  lines.scratch = options.scratch;
  return lines;
}

/// The labels of rows as texts; what has no label has no text.
std::vector<std::string> texts_of_labels(const std::string& name, const ReadOptions& options) {
  const Labels labels = read_labels(name, options, Unlabelled::keep);
  std::vector<std::string> texts;
  texts.reserve(labels.codes.size());
  for (const std::int32_t code : labels.codes) {
    texts.push_back(code < 0 ? "" : labels.values[static_cast<std::size_t>(code)]);
  }
  return texts;
}

RowTexts texts_of_column(const Location& location, const ReadOptions& options) {
  if (!is_arrow(location.file) && is_read_as_text(location.file)) {
    TextColumn column = read_text_column(location, options, {.what = kId, .may_be_empty = true});
    return {std::move(column.header), std::move(column.texts)};
  }
  const bool is_number = location.dataset.find_first_not_of("0123456789") == std::string::npos;
  return {is_number ? "" : location.dataset.substr(location.dataset.rfind('/') + 1),
          texts_of_labels(fmt::format("{}:{}", location.file, location.dataset), options)};
}

/// Points whose rows have their names and further texts in another file.
class NamedRows final : public SourceFilter {
 public:
  NamedRows(std::unique_ptr<PointSource> inner, const ReadOptions& options)
      : SourceFilter(std::move(inner)), location_(parse_location(options.ids)), options_(options) {
    options_.encode.clear();
    const bool is_text = !is_arrow(location_.file) && is_read_as_text(location_.file);
    is_lines_ = is_text && location_.dataset.empty() && !is_table_by_name(location_.file);
    if (is_lines_) {
      ids_.texts =
          read_text_column({location_.file, "1"}, line_options(options), {.what = kId, .may_be_empty = true}).texts;
    } else if (!location_.dataset.empty()) {
      ids_ = texts_of(location_.dataset);
    } else {
      read_default();
    }
    if (!ids_.texts.empty()) check(ids_, location_.dataset);
  }

  Number held_as() const override { return inner_->held_as(); }
  std::vector<std::string> kept(Kept which) const override {
    return which == Kept::id ? ids_.texts : inner_->kept(which);
  }
  std::string id_name() const override { return ids_.name; }
  RowTexts texts_of(const std::string& column) const override {
    if (is_lines_) {
      throw Error(ExitCode::usage, fmt::format("--join {}: expected a table, FILE.csv or FILE.tsv, found --ids {}, "
                                               "which has a text a line; its lines name the rows already",
                                               column, location_.file));
    }
    // A second column of an HDF5 file is beside the first one.
    const bool is_beside = column != location_.dataset && is_hdf5(location_.file) && !column.starts_with('/');
    const std::string folder = location_.dataset.substr(0, location_.dataset.rfind('/') + 1);
    RowTexts found = texts_of_column({location_.file, is_beside ? folder + column : column}, options_);
    check(found, column);
    return found;
  }
  bool read_integers(std::int64_t first, MatrixView<std::int64_t> out) override {
    return inner_->read_integers(first, out);
  }
  void read(std::int64_t first, MatrixView<float> out) override { inner_->read(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { inner_->read(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { inner_->read(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { inner_->read(first, out); }

 private:
  /// Reads the only column, or "id", where no name is given. If columns are joined, the file may have neither.
  void read_default() {
    try {
      Location location = location_;
      if (is_arrow(location.file)) read_arrow_texts(location, options_, kId);  // finds the column
      ids_ = location.dataset.empty() && !is_read_as_text(location.file)
                 ? RowTexts{"", texts_of_labels(location.file, options_)}
                 : texts_of_column(location, options_);
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage || options_.joined.empty()) throw;
    }
  }
  void check(const RowTexts& found, const std::string& column) const {
    if (std::ssize(found.texts) == rows()) return;
    const std::string name = column.empty() ? location_.file : fmt::format("{}:{}", location_.file, column);
    const bool has_header = is_lines_ && std::ssize(found.texts) == rows() + 1;
    refuse_input(fmt::format("--ids {}", quoted(name, name.size())),
                 fmt::format("expected a text for each of the {} rows of {}, found {}; {}", rows(), inner_->name(),
                             found.texts.size(),
                             has_header ? fmt::format("if its first line names the column, give {}:1", name)
                                        : "give the texts of these rows"));
  }

  Location location_;
  ReadOptions options_;
  bool is_lines_ = false;
  RowTexts ids_;  // without texts: rows are named by their numbers
};

}  // namespace

std::unique_ptr<PointSource> with_row_ids(std::unique_ptr<PointSource> points, const ReadOptions& options) {
  return std::make_unique<NamedRows>(std::move(points), options);
}

RowTexts texts_beside(const PointSource& points, const std::string& column) {
  const std::string file = parse_location(points.name()).file;
  const bool has_obs =
      dynamic_cast<const NamedRows*>(&points) == nullptr && is_hdf5(file) &&
      std::ranges::any_of(list_datasets(file), [](const DatasetInfo& info) { return info.path.starts_with("/obs/"); });
  if (!has_obs) return points.texts_of(column);
  RowTexts found{column, texts_of_labels(fmt::format("{}:/obs/{}", file, column), {})};
  if (std::ssize(found.texts) == points.rows()) return found;
  refuse_input(fmt::format("--join {}", quoted(column, column.size())),
               fmt::format("expected a text for each of the {} rows of {}, found {} in {}:/obs; give a table of these "
                           "rows with --ids FILE.csv",
                           points.rows(), points.name(), found.texts.size(), file));
}

}  // namespace kith::data
