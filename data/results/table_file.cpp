// Divides the rows into groups, and writes the bytes that kith-arrow makes of them as every output is written.
#include "data/results/table_file.h"

#include <algorithm>

#include "core/error.h"
#include "data/io/file_kind.h"

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

}  // namespace kith::data
