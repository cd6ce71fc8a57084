// Divides the rows into groups, and writes the bytes that kith-arrow makes of them as every output is written.
#include "data/results/table_file.h"

#include "core/error.h"
#include "data/io/utf8.h"
#include "data/results/other_formats.h"

namespace kith::data {
namespace {

std::int64_t bytes_of(const ArrowField& field) {
  const std::int64_t one = field.type == ArrowType::flag                                        ? 1
                           : field.type == ArrowType::text                                      ? 32
                           : field.type == ArrowType::int32 || field.type == ArrowType::float32 ? 4
                                                                                                : 8;
  return one * std::max<std::int64_t>(field.length, 1);
}

/// Takes rows out of a column, which drop_rows() makes shorter once for all groups.
ArrowColumnValues take_rows(TableColumn& column, std::int64_t first, std::int64_t rows) {
  ArrowColumnValues& all = column.values;
  if (rows == column.rows) return std::exchange(all, {});
  ArrowColumnValues part;
  if (column.field.type == ArrowType::text) {
    const auto begin = std::make_move_iterator(all.texts.begin() + first);
    part.texts.assign(begin, begin + rows);
  } else {
    const std::int64_t bytes = bytes_of(column.field);
    part.bytes = all.bytes.substr(static_cast<std::size_t>(first * bytes), static_cast<std::size_t>(rows * bytes));
  }
  if (!all.is_set.empty()) part.is_set.assign(all.is_set.begin() + first, all.is_set.begin() + first + rows);
  return part;
}

void drop_rows(TableColumn& column, std::int64_t rows) {
  ArrowColumnValues& all = column.values;
  column.rows -= rows;
  if (column.rows == 0) {
    all = {};
    return;
  }
  if (column.field.type == ArrowType::text) {
    all.texts.erase(all.texts.begin(), all.texts.begin() + rows);
  } else {
    all.bytes.erase(0, static_cast<std::size_t>(rows * bytes_of(column.field)));
  }
  if (!all.is_set.empty()) all.is_set.erase(all.is_set.begin(), all.is_set.begin() + rows);
}

}  // namespace

bool is_table_file(const std::string& path) { return has_ending(path, ".parquet") || has_ending(path, ".arrow"); }

void check_table_file(const std::string& path) {
  if (is_table_file(path) && arrow_program().empty()) refuse_without_arrow(path + ": this format");
}

void TableColumn::add_missing() {
  if (values.is_set.empty()) values.is_set.assign(static_cast<std::size_t>(rows), 1);
  if (field.type == ArrowType::text) {
    values.texts.emplace_back();
  } else {
    values.bytes.append(static_cast<std::size_t>(bytes_of(field)), '\0');
  }
  mark(1, 0);
}

void TableColumn::mark(std::int64_t count, std::uint8_t is_set) {
  if (is_set == 0 || !values.is_set.empty()) {
    values.is_set.insert(values.is_set.end(), static_cast<std::size_t>(count), is_set);
  }
  rows += count;
}

TableFile::TableFile(const std::string& path, const OutputOptions& options, const std::vector<ArrowField>& fields,
                     const InputBytes* behind)
    : program_(path, behind), out_(path, options) {
  if (behind != nullptr) starts_ = program_.call<ArrowDescription>(ArrowCall::describe, 0, path).start;
  const ArrowTableForm form{path, has_ending(path, ".parquet"), fields};
  out_.write(program_.call<std::string>(ArrowCall::begin_table, 0, form));
  for (const ArrowField& field : fields) columns_.push_back({field});
}

/// The rows of the next group: those of the next part of the input, or as many as have about this many bytes.
std::int64_t TableFile::next_group() const {
  constexpr std::int64_t kGroupBytes = std::int64_t{64} << 20, kMostRows = std::int64_t{1} << 20;
  if (!starts_.empty()) {
    const auto end = std::upper_bound(starts_.begin(), starts_.end(), written_);
    return (end == starts_.end() ? starts_.back() : *end) - written_;
  }
  std::int64_t bytes = 0;
  for (const TableColumn& column : columns_) bytes += bytes_of(column.field);
  return std::clamp<std::int64_t>(kGroupBytes / bytes, 1, kMostRows);
}

void TableFile::write_groups(bool all) {
  const std::int64_t there = columns_[0].rows;
  std::int64_t taken = 0;
  while (taken < there) {
    const std::int64_t group = next_group(), rows = std::min(group, there - taken);
    if (rows < group && !all) break;
    std::vector<ArrowColumnValues> values;
    std::int64_t bytes = 0;
    for (TableColumn& column : columns_) {
      values.push_back(take_rows(column, taken, rows));
      bytes += rows * bytes_of(column.field);
    }
    out_.write(program_.call<std::string>(ArrowCall::append_rows, bytes, rows, values));
    written_ += rows;
    taken += rows;
  }
  for (TableColumn& column : columns_) drop_rows(column, taken);
}

void TableFile::finish(const std::function<void()>& before_naming) {
  write_groups(true);
  out_.write(program_.call<std::string>(ArrowCall::finish_table, 0));
  out_.publish(before_naming);
}

/// NumPy's types of the fields of records, in the order of ArrowType; texts are row numbers there.
constexpr const char* kRecordTypes[] = {"<i4", "<i8", "<f4", "<f8", "|b1", "<i8"};

RowOutput::RowOutput(const std::string& path, const OutputOptions& options, const std::vector<ArrowField>& fields,
                     Print print, std::int64_t columns, const InputBytes* behind)
    : print_(std::move(print)), delimiter_(path.empty() ? '\t' : ','), columns_(columns) {
  if (path.empty()) return;
  if (is_table_file(path)) {
    table_.emplace(path, options, fields, behind);
    return;
  }
  file_ = std::make_unique<OutputBytes>(path, options);
  for (const ArrowField& field : fields) {
    if (makes_records(path)) {
      record_ += fmt::format("{}('{}', '{}')", record_.empty() ? "[" : ", ", field.name,
                             kRecordTypes[static_cast<std::size_t>(field.type)]);
    } else {
      begin_field();
      buffer_ += csv_field(field.name);
    }
  }
  if (are_records()) {
    record_ += "]";
    file_->seek(std::ssize(head()));
  } else {
    buffer_ += '\n';
    field_ = 0;
  }
}

std::string RowOutput::head() const {
  if (columns_ == 0) return numpy_head(record_, {rows_});
  return numpy_head(record_, {rows_ / columns_, columns_});
}

void RowOutput::begin_field() {
  if (field_++ > 0) buffer_ += delimiter_;
}

void RowOutput::add(const std::string& text) {
  if (table_) return table_->columns()[field_++].add(text);
  begin_field();
  buffer_ += delimiter_ == ',' ? csv_field(text) : quoted(text, text.size());
}

void RowOutput::add_missing(const char* shown) {
  if (table_) return table_->columns()[field_++].add_missing();
  begin_field();
  buffer_ += shown;
}

void RowOutput::end_row() {
  constexpr std::size_t kBuffer = std::size_t{1} << 16;
  constexpr std::int64_t kTableRows = std::int64_t{1} << 20;
  field_ = 0;
  ++rows_;
  if (!table_ && !are_records()) buffer_ += '\n';
  if (buffer_.size() >= kBuffer || (table_ && rows_ % kTableRows == 0)) flush();
}

void RowOutput::flush() {
  if (table_) return table_->flush();
  file_ ? file_->write(buffer_) : print_(buffer_);
  buffer_.clear();
}

void RowOutput::finish(const std::function<void()>& before_naming) {
  flush();
  if (table_) return table_->finish(before_naming);
  if (!file_) return;
  if (are_records()) {
    file_->seek(0);
    file_->write(head());
  }
  file_->publish(before_naming);
}

}  // namespace kith::data
