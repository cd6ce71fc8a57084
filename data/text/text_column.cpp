// Opens text, and reads one column of it.
#include "data/text/text_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/format/column_choice.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"
#include "data/text/lines_before.h"
#include "data/text/text.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

/// The texts of all rows, within the memory of the run.
class TextList {
 public:
  TextList(const std::string& name, std::int64_t rows) : growth_(name) {
    require_memory(capped_product(rows, sizeof(std::string)), name);
    texts_.reserve(static_cast<std::size_t>(rows));
  }
  void add(std::string text) {
    if (text.capacity() >= sizeof(std::string) / 2) growth_.add(std::ssize(text));  // short ones need no more memory
    texts_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  MemoryGrowth growth_;
  std::vector<std::string> texts_;
};

/// The column of `what` ("label"): the one in the location, else the only one, else the one with the name `what`, as in
/// label files of kith.
std::int64_t column_of(const std::string& what, const TextHead& head, const Location& location,
                       const InputBytes& input) {
  const std::string& name = input.name();
  if (!location.dataset.empty()) {
    const std::string column = location.file + ":" + location.dataset;
    try {
      return choose_column(column.c_str(), location.dataset, head.names, head.columns, name);
    } catch (const Error&) {
      refuse_lines_before(input, head);
      throw;
    }
  }
  if (head.columns == 1) return 0;
  const auto& names = head.names;
  if (std::count(names.begin(), names.end(), what) == 1) {
    return std::find(names.begin(), names.end(), what) - names.begin();
  }
  refuse_lines_before(input, head);
  throw Error(ExitCode::usage,
              fmt::format("{}: expected the name of the column that holds the {}s, {}:COLUMN, found "
                          "{} columns{}",
                          name, what, location.file, head.columns, names.empty() ? "" : ": " + show_list(names, 30)));
}

}  // namespace

InputBytes open_text_bytes(const Location& location, const std::string& scratch) {
  if (!location.dataset.empty()) {
    refuse_input(location.file, fmt::format("expected a text file without a dataset, since it holds one table, found "
                                            "':{0}'; leave it out, or choose columns with --columns {0}",
                                            location.dataset));
  }
  InputBytes input = open_stream(location.file, "a text file", scratch);
  const std::string begin = input.begin(kSampleBytes);
  const bool is_stream = is_standard_input(location.file);
  const std::string convert = is_text(begin) ? "" : conversion_of_bytes(begin);
  if (!convert.empty()) {
    refuse_input(input.name(),
                 fmt::format("expected text in UTF-8, found {}; convert it: {}", describe_bytes(begin), convert));
  }
  if (!is_text(begin) && (is_stream || !compression_of(location.file).empty())) {
    refuse_input(input.name(), fmt::format("expected text, found {}; give other formats as {}files",
                                           describe_bytes(begin), is_stream ? "" : "uncompressed "));
  }
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff")) {
    refuse_input(location.file, fmt::format("expected text in UTF-8, found {}", describe_bytes(begin)));
  }
  return input;
}

std::vector<std::string> column_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                                      std::int64_t column,
                                      const std::function<void(const std::string&, std::int64_t)>& check) {
  TextList list(input.name(), index.rows);
  Matrix<std::byte> buffer;
  for (const TextBlock& block : index.blocks) {
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t, std::int64_t line) {
      FieldCursor cursor(record, head.syntax);
      for (std::int64_t j = 0; j < column && cursor.more(); ++j) cursor.take();
      if (!cursor.more()) refuse_length(input, head, record, line);
      std::string text = text_of(cursor.take());
      if (check) check(text, line);
      list.add(std::move(text));
    });
  }
  return list.take();
}

TextColumn read_text_column(const Location& location, const ReadOptions& options, const TextFields& fields) {
  const std::string& what = fields.what;
  const InputBytes input = open_text_bytes({location.file, ""}, options.scratch);
  const TextHead head = read_head(input, options);
  const std::int64_t column = column_of(what, head, location, input);
  TextColumn result{fmt::format("{}:{}", input.name(), option_text(head.names, column)), {}, input.size()};
  const TextIndex index = index_text(input, head);
  result.texts = column_texts(input, head, index, column, [&](const std::string& text, std::int64_t line) {
    if (text.empty() && !fields.may_be_empty) {
      refuse_input(fmt::format("{}: line {}, {}", input.name(), line, show_column(head.names, column)),
                   fmt::format("expected a {}, found an empty field; fill it in or remove the line{}", what,
                               or_header(head, line)));
    }
  });
  input.check_unchanged();
  const std::string header = head.names.empty() ? "" : head.names[static_cast<std::size_t>(column)];
  const bool ambiguous = options.header == Header::automatic && !header.empty();
  if (ambiguous && std::find(result.texts.begin(), result.texts.end(), header) != result.texts.end()) {
    refuse_input(input.name(),
                 fmt::format("line {}: is '{}' the name of the column or a {}, as it is further down? say "
                             "--header yes or --header no",
                             head.first_line, quoted(header), what));
  }
  return result;
}

}  // namespace kith::data
