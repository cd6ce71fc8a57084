// Compares the columns of the files of a set, and reads their rows as those of one file.
#include "data/file_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "data/format/column_choice.h"
#include "data/format/table_model.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/source.h"

namespace kith::data {

/// What all files must have in common, or what is added over them.
struct FileSet::Description {
  std::vector<std::string> names;           // of the columns of the points
  std::shared_ptr<const TableModel> table;  // null: the columns are as they are in the file
  std::int64_t columns = 0;                 // of the table
  ValueClass value_class = ValueClass::f32;
  Number held_as = Number::float32;
  std::optional<IndexedColumns> indexed;
  bool is_text = false;

  explicit Description(const PointSource& source)
      : names(source.column_names()),
        table(source.table()),
        columns(table ? std::ssize(table->columns) : source.columns()),
        value_class(source.value_class()),
        held_as(source.held_as()),
        indexed(source.indexed_columns()),
        is_text(source.table_form().has_value()) {
    if (!table || !table->has_names()) return;
    names.clear();
    for (const ColumnModel& column : table->columns) names.push_back(column.name);
  }

  /// Throws Error(data) if the columns of `file` are not those of the first one.
  void check(const std::string& file, const Description& first, const std::string& first_file) const {
    const auto refuse = [&](const std::string& expected, const std::string& found) {
      refuse_input(file, fmt::format("expected {}, as in {}, found {}; leave the file out, or name columns that all "
                                     "files have with --columns",
                                     expected, first_file, found));
    };
    const bool both_named = !names.empty() && !first.names.empty();
    for (std::size_t j = 0; both_named && j < std::min(names.size(), first.names.size()); ++j) {
      if (names[j] != first.names[j]) {
        refuse(show_column(first.names, static_cast<std::int64_t>(j)),
               show_column(names, static_cast<std::int64_t>(j)));
      }
    }
    if (columns != first.columns && !(indexed && first.indexed)) {
      refuse(fmt::format("{} columns", first.columns), std::to_string(columns));
    }
    if (is_text && first.is_text && names.empty() != first.names.empty()) {
      refuse_input(file, fmt::format("expected {} line that names the columns, as in {}, found {}; say it of all files "
                                     "with --header yes or --header no",
                                     first.names.empty() ? "no" : "a", first_file, names.empty() ? "none" : "one"));
    }
  }
};

namespace {

/// The encodings of one more file, added to those of the files before it. Throws Error(data) if they contradict.
void merge(TableModel& all, const TableModel& other, const std::string& file) {
  for (std::size_t j = 0; j < all.columns.size(); ++j) {
    ColumnModel& column = all.columns[j];
    const ColumnModel& added = other.columns[j];
    if (added.how != Encode::none && added.how != column.how) {
      const bool contradicts = column.how == Encode::date_day_first || column.how == Encode::date_month_first;
      if (contradicts && added.how != Encode::date) {
        refuse_input(file,
                     fmt::format("column {} ('{}'): its dates have the {} first, those of the files before it the "
                                 "{}; leave the file out, or write its dates as the others are",
                                 column.number, column.name, added.how == Encode::date_day_first ? "day" : "month",
                                 added.how == Encode::date_day_first ? "month" : "day"));
      }
      if (!contradicts) column.how = added.how;
    }
    std::vector<std::string> texts;
    std::ranges::set_union(column.texts, added.texts, std::back_inserter(texts));
    // Of onehot, a missing value may be a text as others are.
    const ColumnModel& with_missing = column.fill.empty() ? added : column;
    std::optional<std::string> missing;
    if (!with_missing.fill.empty() && with_missing.how == Encode::onehot) {
      if (const auto place = with_missing.place_of(with_missing.fill)) {
        missing = with_missing.texts[static_cast<std::size_t>(*place)];
      }
    }
    column.texts = std::move(texts);
    if (missing) column.fill = column.features_of(std::ranges::find(column.texts, *missing) - column.texts.begin());
  }
}

}  // namespace

FileSet::FileSet(std::string name, const ReadOptions& options, Open open)
    : name_(std::move(name)), names_(named_set(name_)), options_(options), open_(std::move(open)) {
  for (const std::string& file : names_->files) files_.push_back({file, file.substr(names_->folder.size())});
  open_files_.resize(files_.size());
  describe_all();
}

std::unique_ptr<PointSource> FileSet::open_file(std::size_t i, const ReadOptions& options) const {
  File& file = files_[i];
  const FileStamp stamp = stamp_of(parse_location(file.name).file);
  if (file.stamp != FileStamp{} && stamp != file.stamp) require_unchanged(i);
  file.stamp = stamp;
  return open_(file.name, options);
}

void FileSet::describe_all() {
  std::optional<Description> first;
  std::size_t first_described = 0;
  std::set<std::string> types;
  TableModel merged;
  bool is_encoded = false;
  IndexedColumns indexed{1, 0};
  std::set<ValueClass> classes;
  std::set<Number> held;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    file.first_row = rows_;
    std::unique_ptr<PointSource> opened;
    try {
      opened = open_file(i, options_);
    } catch (const NoRows&) {  // as Spark writes for a part without rows
      if (!first && i + 1 == files_.size()) throw;
      continue;
    }
    const Description found(*opened);
    if (!first) {
      first = found;
      first_described = i;
      // The columns of numbers of the first file are those of all, also where another file has more.
      if (asks_for_numeric(options_.columns, {}) && found.table) {
        options_.columns.clear();
        for (const ColumnModel& column : found.table->columns) {
          options_.columns += fmt::format("{}{}", options_.columns.empty() ? "" : ",", column.number);
        }
      }
      if (found.table) merged = *found.table;
    }
    found.check(file.name, *first, files_[first_described].name);
    if (found.table && first->table && !options_.model) {
      merge(merged, *found.table, file.name);
      is_encoded = is_encoded || found.table->has_encodings();
    }
    if (found.indexed) {
      const std::int64_t end = std::max(indexed.count + indexed.base, found.indexed->count + found.indexed->base);
      indexed.base = std::min(indexed.base, found.indexed->base);
      indexed.count = end - indexed.base;
    }
    classes.insert(found.value_class);
    held.insert(found.held_as);
    types.insert(opened->element_type());
    file.rows = opened->rows();
    rows_ += file.rows;
    file_bytes_ += opened->file_bytes();
    held_bytes_ = std::max(held_bytes_, opened->held_bytes());
    if (only_in_order_.empty()) only_in_order_ = opened->only_in_order();
    is_compressed_ = is_compressed_ || opened->is_compressed();
    is_shared_ = is_shared_ && opened->is_shared();
    skipped_lines_.comments += opened->skipped_lines().comments;
    skipped_lines_.blank += opened->skipped_lines().blank;
    if (last_used_.size() < kMostOpen) {
      open_files_[i] = std::move(opened);
      last_used_.push_back(i);
    }
  }
  held_bytes_ *= static_cast<std::int64_t>(std::min(kMostOpen, files_.size()));
  type_ = fmt::format("{}", fmt::join(types, " and "));
  is_widened_ = classes.size() > 1;
  if (is_widened_) options_.precision = Precision::f64;
  if (held.size() > 1) options_.keep_bytes = false;
  if (first->indexed) options_.indexed = indexed;
  if (is_encoded) {
    options_.model = std::make_shared<const TableModel>(merged);
    options_.encode.clear();
  }
  const bool leaves_out = !names_->left_out.empty();
  const bool other_options = is_widened_ || held.size() > 1 || is_encoded || first->indexed || leaves_out;
  if (other_options) {
    while (!last_used_.empty()) close(last_used_.back());
    for (File& file : files_) file.changed_values = 0, file.remarks.clear();
  }
  if (leaves_out) {
    std::erase_if(files_, [this](const File& file) { return names_->left_out.contains(file.name); });
    rows_ = 0;
    for (File& file : files_) file.first_row = std::exchange(rows_, rows_ + file.rows);
  }
  const auto has_rows = [](const File& file) { return file.rows > 0; };
  const auto with_rows = std::ranges::find_if(files_, has_rows);
  const Shared model = source(with_rows == files_.end() ? 0 : static_cast<std::size_t>(with_rows - files_.begin()));
  columns_ = model->columns();
  class_ = model->value_class();
  held_as_ = model->held_as();
  column_names_ = model->column_names();
  indexed_ = model->indexed_columns();
  id_name_ = model->id_name();
  table_ = model->table();
}

void FileSet::require_unchanged(std::size_t i) const {
  const File& file = files_[i];
  if (stamp_of(parse_location(file.name).file) == file.stamp) return;
  refuse_input(file.name,
               fmt::format("changed while kith read {}; run kith again when no other program writes to it", name()));
}

void FileSet::close(std::size_t i) const {
  File& file = files_[i];
  file.changed_values += open_files_[i]->changed_values();
  file.remarks = open_files_[i]->remarks();
  file.unknown_rows = std::max(file.unknown_rows, open_files_[i]->unknown_rows());
  open_files_[i].reset();
  last_used_.remove(i);
}

FileSet::Shared FileSet::source(std::size_t i) const {
  const std::lock_guard lock(mutex_);
  if (!open_files_[i]) {
    if (last_used_.size() >= kMostOpen) {
      const auto is_idle = [this](std::size_t file) { return open_files_[file].use_count() == 1; };
      const auto oldest = std::find_if(last_used_.rbegin(), last_used_.rend(), is_idle);
      close(oldest != last_used_.rend() ? *oldest : last_used_.back());
    }
    open_files_[i] = open_file(i, options_);
    if (bypassed_from_ >= 0 && files_[i].first_row + files_[i].rows > bypassed_from_) {
      open_files_[i]->bypass_cache_from(std::max<std::int64_t>(bypassed_from_ - files_[i].first_row, 0));
    }
    last_used_.push_front(i);
  } else if (last_used_.front() != i) {
    last_used_.splice(last_used_.begin(), last_used_, std::ranges::find(last_used_, i));
  }
  return open_files_[i];
}

template <class T>
void FileSet::read_as(std::int64_t first, MatrixView<T> out) {
  // A source reads so few bytes by one thread: several threads read pieces of several files instead, where they may.
  constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
  check_request(*this, first, out);
  struct Piece {
    std::size_t file;
    std::int64_t row, rows;  // row: of the set
  };
  std::vector<Piece> pieces;
  const auto after = [](std::int64_t row, const File& file) { return row < file.first_row; };
  auto i = static_cast<std::size_t>(std::upper_bound(files_.begin(), files_.end(), first, after) - files_.begin()) - 1;
  const std::int64_t end = first + out.rows;
  const bool is_divided = is_shared_ && files_[i].first_row + files_[i].rows < end;
  const std::int64_t row_bytes = columns_ * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = is_divided ? std::max<std::int64_t>(kPieceBytes / row_bytes, 1) : out.rows;
  for (std::int64_t row = first; row < end; ++i) {
    for (const std::int64_t end_of_file = std::min(files_[i].first_row + files_[i].rows, end); row < end_of_file;) {
      pieces.push_back({i, row, std::min(most, end_of_file - row)});
      row += pieces.back().rows;
    }
  }
  const int threads = is_divided ? std::min(options_.threads, static_cast<int>(kMostOpen)) : 1;
  const auto read_piece = [&](std::int64_t number, Matrix<std::byte>&) {
    const Piece& piece = pieces[static_cast<std::size_t>(number)];
    const File& file = files_[piece.file];
    const Shared opened = source(piece.file);
    if (opened->rows() != file.rows || opened->columns() != columns_) require_unchanged(piece.file);
    opened->read(piece.row - file.first_row, out.middle(piece.row - first, piece.rows));
    require_unchanged(piece.file);
  };
  read_in_blocks(std::ssize(pieces), threads, read_piece, 1);
}

void FileSet::bypass_cache_from(std::int64_t row) {
  bypassed_from_ = row;
  while (!last_used_.empty()) close(last_used_.back());
}

std::int64_t FileSet::changed_values() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    sum += files_[i].changed_values + (open_files_[i] ? open_files_[i]->changed_values() : 0);
  }
  return sum;
}

std::int64_t FileSet::unknown_rows() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    sum += std::max(files_[i].unknown_rows, open_files_[i] ? open_files_[i]->unknown_rows() : 0);
  }
  return sum;
}

std::vector<std::string> FileSet::remarks() const {
  constexpr std::size_t kMost = 3;
  const std::lock_guard lock(mutex_);
  std::vector<std::string> remarks;
  if (is_widened_) remarks.push_back(fmt::format("files of {}; all are read as float64", type_));
  std::size_t more = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const std::string& remark : open_files_[i] ? open_files_[i]->remarks() : files_[i].remarks) {
      if (remarks.size() < kMost) {
        remarks.push_back(fmt::format("{}: {}", files_[i].relative, remark));
      } else {
        ++more;
      }
    }
  }
  if (more > 0) remarks.push_back(fmt::format("{} more remarks on its files are left out", more));
  return remarks;
}

std::vector<std::string> FileSet::kept(Kept which) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].rows == 0) continue;
    std::vector<std::string> texts = source(i)->kept(which);
    if (texts.empty()) {
      if (all.empty()) return {};
      refuse_input(files_[i].name, fmt::format("expected the column that {} has, found none; add it to this file",
                                               files_.front().name));
    }
    std::ranges::move(texts, std::back_inserter(all));
  }
  return all;
}

RowTexts FileSet::texts_of(const std::string& column) const {
  RowTexts all;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].rows == 0) continue;
    RowTexts texts = texts_beside(*source(i), column);
    if (all.name.empty()) all.name = texts.name;
    std::ranges::move(texts.texts, std::back_inserter(all.texts));
  }
  return all;
}

}  // namespace kith::data
