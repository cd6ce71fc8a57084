// Counts the values of each column in one pass over the blocks of a table; what the counts say decides the type.
#include "data/text/column_types.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "data/format/column_choice.h"
#include "data/io/utf8.h"
#include "data/text/column_count.h"
#include "data/text/number_marks.h"
#include "data/text/text_columns.h"
#include "data/text/text_head.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

constexpr std::size_t kMostValues = 10'000;   // of a column, in its table
constexpr std::int64_t kAllValues = 400'000;  // of all columns

std::vector<ColumnCount> count_columns(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                       int threads) {
  const std::int64_t share = kAllValues / std::max<std::int64_t>(1, head.columns);
  const auto most = static_cast<std::size_t>(
      std::clamp<std::int64_t>(share, 4 * ColumnCount::kMostCategories, static_cast<std::int64_t>(kMostValues)));
  std::vector<ColumnCount> all(static_cast<std::size_t>(head.columns), ColumnCount(most));
  std::mutex mutex;
  std::vector<std::vector<ColumnCount>> free;  // of threads that are between two blocks
  read_in_blocks(std::ssize(index.blocks), threads, [&](std::int64_t number, Matrix<std::byte>& buffer) {
    std::vector<ColumnCount> own;
    {
      const std::lock_guard lock(mutex);
      if (!free.empty()) {
        own = std::move(free.back());
        free.pop_back();
      }
    }
    if (own.empty()) own.assign(static_cast<std::size_t>(head.columns), ColumnCount(most));
    const TextBlock& block = index.blocks[static_cast<std::size_t>(number)];
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t row, std::int64_t line) {
      FieldCursor cursor(record, head.syntax);
      for (ColumnCount& column : own) {
        if (!cursor.more()) refuse_length(input, head, record, line);
        const Field field = cursor.take();
        if (field.quoted || field.text.starts_with('=') || !is_utf8(field.text)) {
          column.add(text_of(field), row, head);
        } else {
          column.add(field.text, row, head);
        }
      }
      if (cursor.more() && !ends_empty(head, cursor)) refuse_length(input, head, record, line);
    });
    const std::lock_guard lock(mutex);
    free.push_back(std::move(own));
  });
  for (const std::vector<ColumnCount>& own : free) {
    for (std::size_t j = 0; j < all.size(); ++j) all[j].add(own[j]);
  }
  return all;
}

/// What the columns say of the table: the style that reads more of them, and the words that stand for missing values.
struct TableSigns {
  StyleChoice styles;
  bool any_style = false;   // of a column
  bool need_style = false;  // points separate thousands, though all values read as numbers
  std::set<std::string> marks;
  std::map<std::int64_t, std::string> unclear;  // columns with a mark that may be either, and a question for each
};

/// Also finds the signs, unless they are null.
TableProfile profile_of(const InputBytes& input, const TextHead& head, const TextIndex& index, int threads,
                        TableSigns* signs) {
  TableProfile table;
  table.rows = index.rows;
  table.names = head.names;
  table.numbers = head.numbers;
  table.skip_lines = head.options.skip_lines;
  std::vector<ColumnCount> counts = count_columns(input, head, index, threads);
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const std::string name = head.names.empty() ? std::to_string(j + 1) : head.names[j];
    table.columns.push_back(counts[j].profile(name));
    table.columns.back().column = static_cast<std::int64_t>(j);
  }
  if (signs == nullptr) return table;
  std::set<std::int64_t> rows;
  for (std::size_t j = 0; j < counts.size(); ++j) rows.insert(counts[j].row_of_word(table.columns[j].name));
  if (rows.size() == 1 && *rows.begin() >= 0) {  // which another table has
    for_records(input, head.syntax, index, [&](std::string_view, std::int64_t row, std::int64_t line) {
      if (row == *rows.begin()) refuse_row_of_words(input.name(), line);
    });
  }
  NumberMarks marks;
  for (const ColumnCount& count : counts) {
    if (count.holds_numbers()) marks.add(count.styles().marks());
    for (std::string& mark : count.marks()) signs->marks.insert(std::move(mark));
  }
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (!counts[j].holds_numbers()) continue;
    StyleChoice styles = counts[j].styles();
    const auto column = static_cast<std::int64_t>(j);
    const char unclear = settle_marks(styles, marks, head.syntax.delimiter);
    if (unclear != '\0') {
      signs->unclear[column] = question_about(unclear, counts[j].text_with_either(unclear), head.names, column) +
                               options_for_either(unclear, "");
      continue;
    }
    const bool groups = styles.style().thousands == '.' && styles.marks().has_either('.');
    signs->need_style = signs->need_style || groups;
    if (groups || counts[j].has_other_style()) {
      signs->styles.add(styles);
      signs->any_style = true;
      table.columns[j].number_options = groups || !table.columns[j].number_options.empty() ? styles.options() : "";
    }
  }
  return table;
}

std::int64_t columns_of_numbers(const TableProfile& table) {
  return std::count_if(table.columns.begin(), table.columns.end(), [](const ColumnProfile& column) {
    return column.is_number() && column.type != ColumnType::date;
  });
}

}  // namespace

const char* name_of(ColumnType type) {
  constexpr const char* kNames[] = {"number",     "yes/no",    "date",     "time", "few texts",
                                    "identifier", "free text", "constant", "empty"};
  return kNames[static_cast<int>(type)];
}

TableProfile profile_table(const std::vector<Location>& tables, const ReadOptions& options) {
  const bool several = tables.size() > 1;
  const InputBytes input = several ? joined_tables(tables, options) : open_text_bytes(tables.front(), options.scratch);
  ReadOptions read = options;
  if (several) read.skip_lines = 0;  // the rows have been joined without them
  TextHead head = read_head(input, read);
  // A title above the table leaves columns without names.
  const auto unnamed = std::count(head.names.begin(), head.names.end(), "");
  const bool is_even = std::all_of(head.samples.begin(), head.samples.end(),
                                   [&](const auto& row) { return std::ssize(row.fields) == head.columns; });
  if (const std::int64_t lines = unnamed > 1 || !is_even ? lines_before(input, head) : 0; lines > 0) {
    read.skip_lines = lines;
    head = read_head(input, read);
  }
  TableSigns signs;
  TableProfile table = profile_of(input, head, index_text(input, head), options.threads, &signs);
  const std::set<std::string>& marks = signs.marks;
  const std::string other = signs.any_style ? signs.styles.options() : "";
  const bool any_styled = !other.empty() && !input.is_own_text() &&
                          std::any_of(table.columns.begin(), table.columns.end(), [](const auto& column) {
                            return !column.number_options.empty() || !column.is_number();
                          });
  // The styles may read some columns and not others; then the words count without them.
  for (const bool styled : {true, false}) {
    if (styled ? !any_styled : marks.empty()) continue;
    ReadOptions adjusted = read;
    if (styled) {
      adjusted.decimal = signs.styles.style().decimal;
      adjusted.thousands = signs.styles.style().thousands;
    }
    adjusted.missing_texts.insert(adjusted.missing_texts.end(), marks.begin(), marks.end());
    const TextHead again = read_head(input, adjusted);
    if (again.columns != head.columns || again.names != head.names) continue;
    TableProfile better = profile_of(input, again, index_text(input, again), options.threads, nullptr);
    if (styled && columns_of_numbers(better) < columns_of_numbers(table) + (signs.need_style ? 0 : 1)) continue;
    table = std::move(better);
    if (styled) table.number_options = other;
    table.missing_texts = {marks.begin(), marks.end()};
    break;
  }
  const auto is_unusable = [](const ColumnProfile& column) {
    return column.type == ColumnType::text || column.type == ColumnType::identifier || column.type == ColumnType::empty;
  };
  const bool has_few_words = std::ranges::any_of(
      table.columns, [](const ColumnProfile& column) { return column.has_few_words && !column.is_number(); });
  if (has_few_words || std::ranges::all_of(table.columns, is_unusable)) refuse_lines_before(input, head);
  if (several) table.skip_lines = options.skip_lines;
  table.points = choose_text_columns(input, head, names_for(head)).points;
  for (const std::int64_t column : table.points) {
    if (table.unclear.empty() && signs.unclear.count(column) > 0) table.unclear = signs.unclear[column];
  }
  input.check_unchanged();
  return table;
}

}  // namespace kith::data