// Opens Parquet and Arrow files, lists their columns, and reads columns of text, with the program kith-arrow.
#include "data/arrow/arrow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "data/arrow/arrow_helper.h"
#include "data/format/column_choice.h"
#include "data/format/records.h"
#include "data/format/shape.h"
#include "data/format/table_model.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/scratch_file.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

constexpr const char* kShowColumns = "`kith info` shows its columns";

constexpr std::string_view kParquet = "PAR1", kEncrypted = "PARE", kIpc = "ARROW1";

/// A file that kith-arrow has opened.
struct ArrowTable {
  InputBytes input;
  std::unique_ptr<ArrowConnection> program;
  ArrowDescription file;
  std::string remark = {};  // for PointSource::remarks()

  explicit ArrowTable(const Location& location, const ReadOptions& options)
      : input(open_stream(location.file, "a Parquet or Arrow file", options.scratch)) {
    const std::string begin = input.begin(std::ssize(kIpc));
    if (begin.starts_with(kEncrypted)) {
      refuse_input(name(), "expected a Parquet file, found an encrypted one; write it without encryption");
    }
    if (!begin.starts_with(kParquet) && !begin.starts_with(kIpc)) refuse_unknown_kind(location.file);
    program = std::make_unique<ArrowConnection>(name(), &input);
    file = call<ArrowDescription>(ArrowCall::describe, 0, name());
    // What the program says is checked as if the file said it.
    const auto& start = file.start;
    const bool ascends = !start.empty() && start[0] == 0 && std::is_sorted(start.begin(), start.end());
    const bool counts = std::ranges::all_of(file.records.fields, [](const RecordField& field) {
      return field.count >= 1 && field.count < std::int64_t{1} << 31;
    });
    if (!ascends || !counts || file.rows() > std::int64_t{1} << 53) program->refuse_reply();
  }

  const std::string& name() const { return input.name(); }

  /// The texts of a field in the rows of a part.
  std::vector<std::string> texts(std::int64_t field, std::int64_t part) const {
    auto some = call<std::vector<std::string>>(ArrowCall::read_texts, 0, name(), field, part);
    const auto at = file.start.begin() + part;
    if (std::ssize(some) != at[1] - at[0]) program->refuse_reply();
    return some;
  }

  /// A change of the file explains an error better than the error.
  template <class Result, class... Arguments>
  Result call(ArrowCall which, std::int64_t bytes, const Arguments&... arguments) const {
    try {
      return program->call<Result>(which, bytes, arguments...);
    } catch (const Error&) {
      input.check_unchanged();
      throw;
    }
  }

  /// The texts of a field in all rows.
  std::vector<std::string> texts(std::int64_t field) const {
    require_memory(capped_product(file.rows(), sizeof(std::string)), name());
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(file.rows()));
    for (std::int64_t part = 0; part + 1 < std::ssize(file.start); ++part) {
      auto some = texts(field, part);
      all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    input.check_unchanged();
    return all;
  }
};

std::vector<std::string> field_names(const Records& records) {
  std::vector<std::string> names;
  for (const RecordField& field : records.fields) names.push_back(field.name);
  return names;
}

class ArrowSource final : public PointSource {
 public:
  ArrowSource(ArrowTable table, std::string name, const ColumnChoice& choice, const ReadOptions& options)
      : table_(std::move(table)), name_(std::move(name)), choice_(choice), missing_(options.missing) {
    const std::vector<RecordField> all = columns_of(table_.file.records, name_);
    std::vector<RecordField> chosen;
    for (const std::int64_t j : choice_.points) chosen.push_back(all[static_cast<std::size_t>(j)]);
    for (const RecordField& column : chosen) names_.push_back(column.name);
    const bool one_type = std::ranges::all_of(
        chosen, [&chosen](const RecordField& column) { return column.element == chosen[0].element; });
    type_ = one_type ? name_of(chosen[0].element->number) : "table";
    class_ = class_for(natural_class_of(common_type(chosen).number), options.precision);
    const ArrowRows rows{choice_.points, class_ == ValueClass::f64, missing_, std::max(options.threads, 1)};
    opened_ = table_.call<ArrowOpened>(ArrowCall::open_rows, 0, name_, rows);
    opened_.decoding_bytes = std::clamp<std::int64_t>(opened_.decoding_bytes, 0, std::int64_t{1} << 40);
    stored_ = chosen[0].element->number;
    const bool can_be_lists = (stored_ == Number::float32 || stored_ == Number::float64) && one_type &&
                              refusal_of_size({table_.file.rows(), columns()}).empty();
    if (opened_.are_lists && !can_be_lists) table_.program->refuse_reply();
    threads_ = options.threads;
    const std::int64_t bytes =
        capped_product(capped_product(table_.file.rows(), columns()), class_ == ValueClass::f32 ? 4 : 8);
    shared_ = std::clamp(bytes / 16, std::int64_t{1} << 20, opened_.are_lists ? kMostOfLists : kMostOfRows);
    stretches_.resize(table_.file.start.size() - 1);
  }

  const ArrowTable& opened_table() const { return table_; }
  std::string name() const override { return name_; }
  std::string element_type() const override { return type_; }
  std::int64_t rows() const override { return table_.file.rows(); }
  std::int64_t columns() const override { return std::ssize(choice_.points); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return table_.input.size(); }
  std::int64_t held_bytes() const override { return table_.input.held_bytes() + opened_.decoding_bytes + 2 * shared_; }
  std::string only_in_order() const override {
    return opened_.are_lists ? "" : table_.file.kind + " is decoded while it is read";
  }
  bool is_compressed() const override { return !opened_.are_lists || !table_.file.filters.empty(); }
  bool has_chosen_columns() const override { return true; }
  std::vector<std::string> column_names() const override { return names_; }
  std::vector<std::string> remarks() const override {
    return table_.remark.empty() ? std::vector<std::string>() : std::vector{table_.remark};
  }
  std::int64_t changed_values() const override { return changed_; }
  std::vector<std::string> kept(Kept which) const override {
    const std::int64_t column = which == Kept::id ? choice_.id : which == Kept::label ? choice_.label : choice_.weight;
    if (column < 0) return {};
    return table_.texts(field_of_column(table_.file.records, column));
  }
  RowTexts texts_of(const std::string& column) const override {
    const std::vector<std::string> names = field_names(table_.file.records);
    const std::int64_t field = choose_column("--join", column, names, std::ssize(names), name_);
    return {names[static_cast<std::size_t>(field)], table_.texts(field)};
  }
  std::string id_name() const override {
    constexpr std::string_view kUnnamed = "__index_level_";  // as pandas calls an index without a name
    if (choice_.id < 0) return "";
    const auto field = static_cast<std::size_t>(field_of_column(table_.file.records, choice_.id));
    const std::string& name = table_.file.records.fields[field].name;
    return name.starts_with(kUnnamed) ? "" : name;
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  // Bytes at a time. Lists stay in the cache until they are taken; rows of columns are decoded in several parts at
  // once.
  static constexpr std::int64_t kMostOfLists = std::int64_t{4} << 20, kMostOfRows = std::int64_t{16} << 20;

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    if (out.rows == 0) return;
    try {
      if (!opened_.are_lists || !read_lists(first, out)) read_rows(first, out);
    } catch (const Error&) {
      table_.input.check_unchanged();  // a change of the file explains the error better
      throw;
    }
    table_.input.check_unchanged();
  }

  /// The program decodes rows into one half of the shared memory while this process takes the other half:
  /// take(reply, first row, rows, bytes) returns whether to go on.
  template <class Reply, class Take>
  void decode(ArrowCall call, std::int64_t first, std::int64_t rows, std::int64_t row_bytes, std::int64_t at_a_time,
              const Take& take) {
    const std::int64_t step = std::clamp<std::int64_t>(at_a_time / row_bytes, 1, rows);
    ArrowConnection& program = *table_.program;
    const std::span<std::byte> shared = program.shared(2 * step * row_bytes);
    std::int64_t asked = 0;
    const auto ask = [&] {
      if (asked >= rows) return;
      const std::int64_t some = std::min(step, rows - asked), half = asked / step % 2;
      program.send(call, some * row_bytes, first + asked, some, half * step * row_bytes);
      asked += some;
    };
    ask();
    bool goes_on = true;
    for (std::int64_t done = 0; done < asked; done += step) {
      if (goes_on) ask();
      const auto reply = program.receive<Reply>();
      goes_on = goes_on && take(reply, first + done, std::min(step, rows - done),
                                shared.data() + done / step % 2 * step * row_bytes);
    }
  }

  template <class T>
  void read_rows(std::int64_t first, MatrixView<T> out) {
    constexpr ElementType kDecoded{sizeof(T) == 4 ? Number::float32 : Number::float64, false};
    const auto take = [&](std::int64_t changed, std::int64_t row, std::int64_t rows, const std::byte* bytes) {
      changed_ += changed;
      const Conversion copied =
          convert(kDecoded, bytes, rows * out.columns, out.middle(row - first, rows).data, missing_);
      if (copied.refused >= 0) table_.program->refuse_reply();  // the program has checked the values, too
      return true;
    };
    decode<std::int64_t>(ArrowCall::read_rows, first, out.rows, out.columns * std::int64_t{sizeof(T)}, shared_, take);
  }

  /// Lists whose numbers are read where the file has them, and else decoded. Returns false for other lists.
  template <class T>
  bool read_lists(std::int64_t first, MatrixView<T> out) {
    const std::int64_t columns = out.columns, begin = first * columns, end = begin + out.rows * columns;
    std::vector<ArrowStretch> direct, decoded;  // parts of the numbers of the file
    const auto& start = table_.file.start;
    for (auto part = std::upper_bound(start.begin(), start.end(), first) - start.begin() - 1;
         start[static_cast<std::size_t>(part)] < first + out.rows; ++part) {
      const std::vector<ArrowStretch>* all = stretches_of(part);
      if (all == nullptr) return false;
      const std::int64_t before = start[static_cast<std::size_t>(part)] * columns;
      for (const ArrowStretch& stretch : *all) {
        const std::int64_t from = std::max(before + stretch.first, begin), to = std::min(before + stretch.end(), end);
        if (from >= to) continue;
        const std::int64_t at = stretch.at + (from - before - stretch.first) * size_of(stored_);
        if (stretch.at >= 0) {
          direct.push_back({from, to - from, at});
        } else if (!decoded.empty() && decoded.back().end() == from) {
          decoded.back().count += to - from;
        } else {
          decoded.push_back({from, to - from});
        }
      }
    }
    std::vector<Conversion> done;
    for (const ArrowStretch& stretch : decoded) {
      if (!decode_lists(stretch, begin, out, done)) return false;
    }
    read_directly(direct, begin, out, done);
    changed_ += require_converted(first_refused(std::move(done)), name_, first, columns);
    return true;
  }

  /// Converts numbers of the lists; `first`: the first one of them, `begin`: the one of `out`.
  template <class T>
  Conversion convert_lists(const std::byte* bytes, std::int64_t first, std::int64_t count, std::int64_t begin,
                           MatrixView<T> out) const {
    Conversion done = convert({stored_, false}, bytes, count, out.data + (first - begin), missing_);
    if (done.refused >= 0) done.refused += first - begin;
    return done;
  }

  template <class T>
  bool decode_lists(const ArrowStretch& stretch, std::int64_t begin, MatrixView<T> out, std::vector<Conversion>& done) {
    const std::int64_t columns = out.columns, first_row = stretch.first / columns, size = size_of(stored_);
    const std::int64_t rows = (stretch.end() + columns - 1) / columns - first_row;
    bool are_lists = true;
    const auto take = [&](bool found, std::int64_t row, std::int64_t count, const std::byte* bytes) {
      if (!found) return are_lists = false;
      const std::int64_t from = std::max(row * columns, stretch.first);
      const std::int64_t to = std::min((row + count) * columns, stretch.end());
      done.push_back(convert_lists(bytes + (from - row * columns) * size, from, to - from, begin, out));
      return true;
    };
    decode<bool>(ArrowCall::read_lists, first_row, rows, columns * size, shared_, take);
    return are_lists;
  }

  template <class T>
  void read_directly(const std::vector<ArrowStretch>& stretches, std::int64_t begin, MatrixView<T> out,
                     std::vector<Conversion>& done) const {
    constexpr std::int64_t kPieceBytes = std::int64_t{512} << 10;  // still in the second-level cache when converted
    const std::int64_t size = size_of(stored_), most = kPieceBytes / size;
    std::vector<ArrowStretch> pieces;
    for (const ArrowStretch& stretch : stretches) {
      for (std::int64_t i = 0; i < stretch.count; i += most) {
        pieces.push_back({stretch.first + i, std::min(most, stretch.count - i), stretch.at + i * size});
      }
    }
    const std::size_t before = done.size();
    done.resize(before + pieces.size());
    read_in_blocks(std::ssize(pieces), threads_, [&](std::int64_t number, Matrix<std::byte>& buffer) {
      const ArrowStretch& piece = pieces[static_cast<std::size_t>(number)];
      auto* raw = reinterpret_cast<std::byte*>(out.data + (piece.first - begin));
      if (size != sizeof(T)) {
        if (buffer.columns() < kPieceBytes) buffer = Matrix<std::byte>(1, kPieceBytes);
        raw = buffer.data();
      }
      table_.input.read(piece.at, piece.count * size, raw);
      done[before + static_cast<std::size_t>(number)] = convert_lists(raw, piece.first, piece.count, begin, out);
    });
  }

  /// The stretches of a part; null: its rows are other lists.
  const std::vector<ArrowStretch>* stretches_of(std::int64_t part) {
    const auto index = static_cast<std::size_t>(part);
    std::vector<ArrowStretch>& all = stretches_[index];
    const std::int64_t numbers = (table_.file.start[index + 1] - table_.file.start[index]) * columns();
    if (!all.empty() || numbers == 0) return &all;
    all = table_.call<std::vector<ArrowStretch>>(ArrowCall::find_lists, 0, part);
    if (all.empty()) return nullptr;
    // What the program says is checked as if the file said it.
    std::int64_t end = 0;
    for (const ArrowStretch& stretch : all) {
      if (stretch.first != end || stretch.count < 1 || stretch.count > numbers - end ||
          (stretch.at >= 0 && stretch.at > table_.input.size() - stretch.count * size_of(stored_))) {
        table_.program->refuse_reply();
      }
      end = stretch.end();
    }
    if (end != numbers) table_.program->refuse_reply();
    return &all;
  }

  ArrowTable table_;
  std::string name_;
  ColumnChoice choice_;
  Missing missing_;
  std::vector<std::string> names_;  // of the points' columns
  std::string type_;
  ValueClass class_ = ValueClass::f64;
  ArrowOpened opened_;
  Number stored_ = Number::float32;                   // of the first column
  std::vector<std::vector<ArrowStretch>> stretches_;  // of each part; empty: not asked for
  int threads_ = 1;
  std::int64_t shared_ = 0;  // bytes of rows at a time, of which there are two
  std::atomic<std::int64_t> changed_ = 0;
};

/// The field that FILE:COLUMN names, counted from 0.
std::int64_t field_of_location(const Location& location, const Records& records) {
  const std::vector<std::string> names = field_names(records);
  const std::string option = fmt::format("{}:{}", location.file, location.dataset);
  return choose_column(option.c_str(), location.dataset, names, std::ssize(names), location.file);
}

/// Restricts the options to the column that FILE:COLUMN names.
void choose_location(const Location& location, const Records& records, ReadOptions& options) {
  if (location.dataset.empty()) return;
  if (!options.columns.empty() || !options.drop_columns.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}:{}: expected a file without the name of a column beside --columns and --drop-columns, "
                            "found ':{}'; give the one or the other",
                            location.file, location.dataset, location.dataset));
  }
  const std::int64_t field = field_of_location(location, records);
  std::int64_t first = 1;
  for (std::int64_t i = 0; i < field; ++i) first += records.fields[static_cast<std::size_t>(i)].count;
  options.columns = fmt::format("{}-{}", first, first + records.fields[static_cast<std::size_t>(field)].count - 1);
  options.like.clear();
}

/// The index of pandas, named by its metadata or by its own convention, names the rows: it is not part of the points,
/// even if it is a number. Returns a remark about one that has a name.
std::string exclude_index(const ArrowTable& table, ReadOptions& options) {
  if (!options.columns.empty()) return "";
  const std::vector<std::string>& index = table.file.index;
  const std::vector<ListItem> dropped = split_list("--drop-columns", options.drop_columns);
  std::vector<std::string> named;
  std::int64_t number = 1;
  for (const RecordField& field : table.file.records.fields) {
    const bool by_name = std::find(index.begin(), index.end(), field.name) != index.end();
    const std::string text = std::to_string(number);
    const auto is_it = [&](const std::string& option) { return option == field.name || option == text; };
    const bool is_chosen = is_it(options.id_column) || is_it(options.label_column) || is_it(options.weight_column) ||
                           std::any_of(dropped.begin(), dropped.end(), [&](const auto& d) { return is_it(d.text); });
    if ((by_name || field.name.starts_with("__index_level_")) && !is_chosen) {
      if (by_name && !field.name.starts_with("__index_level_")) named.push_back(field.name);
      if (options.id_column.empty()) {
        options.id_column = text;
      } else {
        options.drop_columns += fmt::format("{}{}", options.drop_columns.empty() ? "" : ",", text);
      }
    }
    number += field.count;
  }
  return named.empty() ? ""
                       : fmt::format(
                             "the index of pandas ({}) names the rows and is not part of the points; "
                             "--columns can choose it",
                             show_list(named));
}

std::string type_of(const Records& records) {
  std::vector<std::string> types;
  for (const RecordField& field : records.fields) {
    if (std::find(types.begin(), types.end(), field.type) == types.end()) types.push_back(field.type);
  }
  return types.size() == 1 ? types[0] : "table";
}

bool is_whole(const std::string& text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  return text.size() > sign && text.find_first_not_of("0123456789", sign) == text.npos;
}

/// A field of a text table, between quotation marks where it needs them.
std::string text_field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == text.npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

/// The table as text (InputBytes::mark_as_own_text()). Numbers have the digits that give them back, and missing values
/// are empty fields.
InputBytes as_text(ArrowTable table, const ReadOptions& options) {
  const Records records = table.file.records;
  const std::vector<std::int64_t> start = table.file.start;
  const std::string name = table.name();
  const std::vector<RecordField> columns = columns_of(records, name);
  ColumnChoice numbers;              // the columns that are read as numbers; of the others,
  std::vector<std::int64_t> fields;  // those that are read as texts; -1: none
  for (std::int64_t j = 0; j < std::ssize(columns); ++j) {
    const int field = field_of_column(records, j);
    const RecordField& form = records.fields[static_cast<std::size_t>(field)];
    const bool is_wide = form.element && size_of(form.element->number) == 8 && form.element->number != Number::float64;
    const bool is_number = form.element && (form.count > 1 || !is_wide);  // float64 lacks digits of wide integers
    if (is_number) numbers.points.push_back(j);
    fields.push_back(is_number ? -1 : field);
  }
  ByteStore store(name, options.scratch);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    store.append(j > 0 ? "," : "");
    store.append(text_field(columns[j].name));
  }
  store.append("\n");
  ReadOptions exact = options;
  exact.precision = Precision::f64;
  exact.missing = Missing::keep;
  std::unique_ptr<ArrowSource> source;
  if (!numbers.points.empty()) source = std::make_unique<ArrowSource>(std::move(table), name, numbers, exact);
  const ArrowTable& open = source ? source->opened_table() : table;
  bool are_lines = true;
  for (std::int64_t part = 0; part + 1 < std::ssize(start); ++part) {
    constexpr std::int64_t kRows = 4096;
    const std::int64_t begin = start[static_cast<std::size_t>(part)], end = start[static_cast<std::size_t>(part) + 1];
    std::vector<std::vector<std::string>> texts;
    for (const std::int64_t field : fields) {
      if (field >= 0) texts.push_back(open.texts(field, part));
    }
    Matrix<double> values(std::min(kRows, end - begin), std::ssize(numbers.points));
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t i = (row - begin) % kRows;
      if (source && i == 0) source->read(row, values.view().middle(0, std::min(kRows, end - row)));
      std::size_t number = 0, text = 0;
      std::string line;
      for (std::size_t j = 0; j < fields.size(); ++j) {
        std::string field;
        if (fields[j] < 0) {
          const double value = values(i, static_cast<std::int64_t>(number++));
          if (!std::isnan(value)) field = fmt::format("{}", value);
        } else {
          field = texts[text++][static_cast<std::size_t>(row - begin)];
          are_lines = are_lines && field.find_first_of("\r\n") == field.npos;
          // Codes of other programs, such as the months of pandas' periods, are no numbers.
          const std::string& type = columns[j].type;
          const bool is_code = !columns[j].element && type.find("string") == type.npos && is_whole(field);
          const std::size_t inner = field.find_first_not_of(" \t");  // as of the other formats, blanks around are none
          field = text_field(is_code ? fmt::format("{} {}", type, field) : field.substr(std::min(inner, field.size())));
        }
        line += (j > 0 ? "," : "") + field;
      }
      store.append(line.empty() ? "\"\"" : line);  // a blank line is no row
      store.append("\n");
    }
  }
  open.input.check_unchanged();
  InputBytes text = store.finish();
  text.mark_as_own_text(are_lines);
  return text;
}

/// How texts become numbers, for messages.
std::string or_features(const ReadOptions& options, const Records& records) {
  const bool permuted =
      std::ranges::any_of(records.fields, [](const RecordField& field) { return field.type == kPermutedTensor; });
  return fmt::format("make features of texts with --encode onehot{}{}",
                     options.offers_prepare ? ", or let kith choose with --prepare auto" : "",
                     permuted ? "; to_numpy_ndarray() of pyarrow makes an array of a permuted tensor" : "");
}

}  // namespace

bool has_arrow() { return !arrow_program().empty(); }

bool is_arrow(const std::string& file) {
  if (!has_arrow()) return false;
  const std::string begin = begin_of_stream(file);
  return begin.starts_with(kParquet) || begin.starts_with(kIpc) || begin.starts_with(kEncrypted);
}

std::unique_ptr<PointSource> open_arrow(const Location& location, const ReadOptions& options) {
  ArrowTable table(location, options);
  const std::string file = table.name();
  ReadOptions chosen = options;
  choose_location({file, location.dataset}, table.file.records, chosen);
  table.remark = exclude_index(table, chosen);
  if (makes_features(options) && location.dataset.empty()) {
    const std::int64_t bytes = table.input.size();
    std::string remark = std::move(table.remark);
    return open_own_text(as_text(std::move(table), chosen), chosen, bytes, std::move(remark));
  }
  const std::string name = location.dataset.empty() ? file : fmt::format("{}:{}", file, location.dataset);
  const bool numbers = std::any_of(table.file.records.fields.begin(), table.file.records.fields.end(),
                                   [](const RecordField& field) { return field.element.has_value(); });
  if (!numbers) {
    std::vector<std::string> shown;
    for (const RecordField& field : table.file.records.fields)
      shown.push_back(fmt::format("{} ({})", quoted(field.name, 60), field.type));
    refuse_input(file, fmt::format("expected columns of numbers or of lists of numbers, found {}; {}", show_list(shown),
                                   or_features(options, table.file.records)));
  }
  const ColumnChoice columns =
      choose_record_columns(table.file.records, chosen, name, ", or " + or_features(options, table.file.records));
  return std::make_unique<ArrowSource>(std::move(table), name, columns, options);
}

InputBytes text_of_arrow(const Location& location, const std::string& scratch) {
  ReadOptions options;
  options.scratch = scratch;
  return as_text(ArrowTable(location, options), options);
}

std::vector<DatasetInfo> list_arrow(const Location& location, const ReadOptions& options) {
  const ArrowTable table(location, options);
  Records records = table.file.records;
  if (!location.dataset.empty()) {
    const RecordField field = records.fields[static_cast<std::size_t>(field_of_location(location, records))];
    records.fields = {field};
  }
  DatasetInfo info;
  describe_columns(records, table.name(), info);
  info.path = location.dataset;
  info.shape = {table.file.rows(), std::ssize(info.columns)};
  info.type = type_of(records);
  info.layout = table.file.layout;
  info.filters = table.file.filters;
  info.stored_bytes = table.input.size();
  return {info};
}

std::optional<ArrowTexts> read_arrow_texts(Location& location, const ReadOptions& options, const std::string& what) {
  const ArrowTable table(location, options);
  if (location.dataset.empty()) {
    const std::vector<std::string> names = field_names(table.file.records);
    const bool is_named = std::find(names.begin(), names.end(), what) != names.end();
    if (names.size() > 1 && !is_named) {
      throw Error(ExitCode::usage, fmt::format("{}: expected the name of the {} column, as in {}:COLUMN; {}",
                                               location.file, what, location.file, kShowColumns));
    }
    location.dataset = is_named ? what : "1";
  }
  const std::int64_t field = field_of_location(location, table.file.records);
  if (table.file.records.fields[static_cast<std::size_t>(field)].element) return std::nullopt;
  return ArrowTexts{fmt::format("{}:{}", table.name(), location.dataset), table.texts(field), table.input.size()};
}

}  // namespace kith::data
