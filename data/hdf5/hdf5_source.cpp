// Points from HDF5 datasets: another process finds where the values are (stored_rows.h); this one reads their bytes
// block by block and converts them.
#include "data/format/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "data/format/filters.h"
#include "data/format/sparse_rows.h"
#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_chunks.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/stored_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

// Raw bytes per block; a block is still in the second-level cache when it is converted.
constexpr std::int64_t kBlockBytes = std::int64_t{512} << 10;

/// The type in which the values are held: bytes if ReadOptions::keep_bytes asks for them and all are values, else by
/// class.
Number held_for(Number number, const ValueMarks& marks, ValueClass value_class, const ReadOptions& options) {
  const bool bytes = (number == Number::uint8 || number == Number::int8) && !marks.any();
  if (bytes && options.keep_bytes && value_class == ValueClass::f32) return number;
  return value_class == ValueClass::f32 ? Number::float32 : Number::float64;
}

/// Checks what another process says about a dataset, as far as this process relies on it.
StoredRows checked(StoredRows rows, const std::string& name) {
  const DatasetFacts& facts = rows.facts;
  std::string problem = refusal(facts, rows.file_bytes, true);
  const auto require = [&problem](bool right, const char* what) {
    if (problem.empty() && !right) problem = what;
  };
  const std::int64_t features = problem.empty() ? (rows.across ? facts.rows() : facts.columns()) : 0;
  require(rows.names.empty() || std::ssize(rows.names) == features, "names of columns");
  if (problem.empty()) problem = refusal_of_fields(facts.records);
  if (problem.empty() && rows.begin) {
    const std::int64_t bytes = capped_product(facts.rows() * facts.columns(), facts.element_bytes());
    require(!facts.chunked && bytes <= rows.file_bytes && *rows.begin >= 0 && *rows.begin <= rows.file_bytes - bytes,
            "the place of the values");
  }
  for (const auto& [mark, element] : facts.marks.missing)
    require(facts.element && std::ssize(element) == size_of(facts.element->number), "missing values");
  require(!rows.steps || (facts.chunked && rows.steps->size() <= 32), "filters");
  if (!problem.empty()) refuse_input(name, "damaged: " + problem + "; copy or create the file again");
  return rows;
}

bool is_index(const DatasetFacts& facts, const RecordField& field) {
  return std::ranges::find(facts.index, field.name) != facts.index.end();
}

/// The columns of records, or of the field that is named. pandas' index is left out, unless --columns names it.
std::vector<RecordField> fields_of(const DatasetFacts& facts, const std::string& named, const ReadOptions& options,
                                   const std::string& name) {
  if (!facts.has_records()) return {};
  if (!named.empty()) {  // a field with a column for each of its values
    ReadOptions of_field;
    of_field.columns = "\"" + named + "\"";
    Records records = facts.records;
    for (RecordField& field : records.fields) field.is_code = false;
    return choose_fields(records, of_field, name);
  }
  Records records = facts.records;  // an index of texts is no fault, if nobody asks for it
  for (RecordField& field : records.fields) {
    if (!options.columns.empty() || !is_index(facts, field)) continue;
    field.element = ElementType{Number::uint8, false};
    field.is_code = false;
  }
  std::vector<RecordField> fields = choose_fields(records, options, name);
  if (options.columns.empty()) std::erase_if(fields, [&](const auto& field) { return is_index(facts, field); });
  if (fields.empty()) refuse_input(name, "expected columns of numbers besides pandas' index, found none");
  return fields;
}

/// The names of columns that are left out as pandas' index.
std::vector<std::string> left_out_index(const DatasetFacts& facts, const ReadOptions& options) {
  std::vector<std::string> names;
  for (const RecordField& field : facts.records.fields) {
    if (options.columns.empty() && is_index(facts, field)) names.push_back(field.name);
  }
  return names;
}

/// What a reader should know about a dataset, or a question to who reads a matrix that looks as if its points were its
/// columns.
std::vector<std::string> remarks_on(const StoredRows& rows, const ReadOptions& options) {
  constexpr std::int64_t kFewestColumns = 1000, kTimesAsMany = 20;
  const DatasetFacts& facts = rows.facts;
  if (rows.across && !options.transpose) {
    return {fmt::format("Loom stores genes x cells: the points are its {} columns, the cells (also with --transpose)",
                        facts.columns())};
  }
  if (const auto index = left_out_index(facts, options); rows.field.empty() && !index.empty()) {
    return {
        fmt::format("the column{} '{}' {} pandas' index of the rows and no part of the points; --columns can name "
                    "{}",
                    index.size() > 1 ? "s" : "", fmt::join(index, "' and '"), index.size() > 1 ? "are" : "is",
                    index.size() > 1 ? "them" : "it")};
  }
  if (const std::string remark = facts.marks.remark(); !remark.empty()) return {remark};
  if (!rows.remark.empty()) return {rows.remark};
  if (facts.reversed || options.transpose || facts.info.shape.size() != 2 || facts.columns() < kFewestColumns ||
      facts.columns() / kTimesAsMany < facts.rows())
    return {};
  return {
      fmt::format("{} rows of {} columns; Julia and R store the columns of a matrix as rows: if the points are the "
                  "columns, give --transpose",
                  facts.rows(), facts.columns())};
}

class Hdf5Source final : public PointSource {
 public:
  Hdf5Source(const std::string& file, std::shared_ptr<Hdf5Child> child, StoredRows rows, const ReadOptions& options)
      : name_(fmt::format("{}:{}{}", file, rows.facts.info.path, rows.field.empty() ? "" : "/" + rows.field)),
        child_(std::move(child)),
        rows_(checked(std::move(rows), name_)),
        file_(InputBytes::open(file, "an HDF5 file")),
        fields_(fields_of(rows_.facts, rows_.field, options, name_)),
        element_(fields_.empty() ? *rows_.facts.element : common_type(fields_)),
        class_(class_for(class_of(element_, rows_.facts.marks), options.precision)),
        held_as_(held_for(element_.number, rows_.facts.marks, class_, options)),
        row_bytes_(rows_.facts.columns() * rows_.facts.element_bytes()),
        chunk_rows_(rows_.facts.chunked ? std::clamp<std::int64_t>(rows_.facts.chunk[0], 1, rows_.facts.rows()) : 1),
        threads_(options.threads),
        missing_(options.missing),
        remarks_(remarks_on(rows_, options)) {
    file_.require_state(rows_.state);
    if (rows_.begin) child_.reset();  // their bytes are read without the library, so that many files take one process
    if (!rows_.steps) return;
    const auto find = [this](std::int64_t first, std::int64_t count) {
      return child_->call(name_, &find_chunks, rows_.id, first, count);
    };
    chunks_.emplace(rows_, name_, ChunkIndex{find, [this] { return child_->call(name_, &read_fill_value, rows_.id); }});
    require_memory(chunks_->held_bytes(), name_ + ", whose chunks `h5repack` can make smaller");
  }
  ~Hdf5Source() override {
    try {
      if (child_ != nullptr && rows_.id >= 0) child_->call(name_, &close_dataset, rows_.id);
    } catch (...) {  // the process has died: the dataset is closed
    }
  }
  Hdf5Source(const Hdf5Source&) = delete;
  Hdf5Source& operator=(const Hdf5Source&) = delete;

  std::string name() const override { return name_; }
  std::string element_type() const override { return rows_.facts.info.type; }
  std::int64_t rows() const override { return rows_.facts.rows(); }
  std::int64_t columns() const override { return fields_.empty() ? rows_.facts.columns() : std::ssize(fields_); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return rows_.facts.info.stored_bytes; }
  std::int64_t held_bytes() const override { return chunks_ ? chunks_->held_bytes() : 0; }
  bool is_shared() const override { return rows_.begin.has_value(); }
  bool is_compressed() const override { return rows_.steps && !rows_.steps->empty(); }
  void bypass_cache_from(std::int64_t row) override {
    if (rows_.begin) file_.bypass_cache_from(*rows_.begin + row * row_bytes_);
  }
  std::int64_t changed_values() const override { return changed_; }
  Number held_as() const override { return held_as_; }
  bool has_chosen_columns() const override { return !fields_.empty() && rows_.field.empty(); }
  std::vector<std::string> column_names() const override {
    std::vector<std::string> names = rows_.across ? std::vector<std::string>() : rows_.names;
    for (const RecordField& field : fields_) names.push_back(field.name);
    return names;
  }
  std::vector<std::string> kept(Kept which) const override {  // of rows that become columns
    return which == Kept::id && rows_.across ? rows_.names : std::vector<std::string>();
  }
  std::vector<std::string> remarks() const override { return remarks_; }

  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }
  bool read_integers(std::int64_t first, MatrixView<std::int64_t> out) override {
    if (!fields_.empty() || marks().any() || size_of(element_.number) != sizeof(std::int64_t)) return false;
    auto* raw = reinterpret_cast<std::byte*>(out.data);
    if (!copy_integers(element_, raw, 0, out.data)) return false;
    read_raw(first, out.rows, raw);
    file_.check_unchanged();
    return copy_integers(element_, raw, out.size(), out.data);
  }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    try {
      read_blocks(first, out);
    } catch (const Error&) {
      file_.check_unchanged();  // a change of the file explains the error better
      throw;
    }
    file_.check_unchanged();
  }

  /// Chunks are decoded by one thread: neighbours share a chunk.
  template <class T>
  void read_blocks(std::int64_t first, MatrixView<T> out) {
    const std::int64_t end = first + out.rows;
    std::vector<std::int64_t> begins;
    for (std::int64_t row = first; row < end; row = block_end(row, end)) begins.push_back(row);
    const int threads = rows_.begin ? threads_ : 1;
    read_in_blocks(static_cast<std::int64_t>(begins.size()), threads,
                   [&](std::int64_t block, Matrix<std::byte>& buffer) {
                     const std::int64_t row = begins[static_cast<std::size_t>(block)];
                     read_block(row, out.middle(row - first, block_end(row, end) - row), buffer);
                   });
  }

  /// The end of the block that begins at `row`: about kBlockBytes, rounded to whole chunks.
  std::int64_t block_end(std::int64_t row, std::int64_t end) const {
    const std::int64_t bands = std::max<std::int64_t>(1, kBlockBytes / (row_bytes_ * chunk_rows_));
    return std::min(end, (row / chunk_rows_ + bands) * chunk_rows_);
  }

  template <class T>
  void read_block(std::int64_t first, MatrixView<T> out, Matrix<std::byte>& buffer) {
    if constexpr (sizeof(T) == 1) {  // bytes as in the file
      return read_raw(first, out.rows, reinterpret_cast<std::byte*>(out.data));
    } else {
      read_converted(first, out, buffer);
    }
  }

  template <class T>
  void read_converted(std::int64_t first, MatrixView<T> out, Matrix<std::byte>& buffer) {
    // Values with the size of T are read into `out` and converted in place; others go through the buffer, as do values
    // with marks.
    auto* raw = reinterpret_cast<std::byte*>(out.data);
    if (!fields_.empty() || marks().any() || size_of(element_.number) != sizeof(T)) {
      const std::int64_t needed = out.rows * row_bytes_;
      if (buffer.columns() < needed) buffer = Matrix<std::byte>(1, needed);
      raw = buffer.data();
    }
    read_raw(first, out.rows, raw);
    const Conversion conversion =
        !fields_.empty() ? convert_records(fields_, row_bytes_, raw, out.rows, out.data, missing_)
        : marks().any()  ? convert_marked(element_, marks(), raw, out.size(), out.data, missing_)
                         : convert(element_, raw, out.size(), out.data, missing_);
    changed_ += require_converted(conversion, name(), first, columns());
  }

  const ValueMarks& marks() const { return rows_.facts.marks; }

  /// Bytes as in the file, decoded.
  void read_raw(std::int64_t first, std::int64_t count, std::byte* out) {
    if (rows_.begin) return read_contiguous(first, count, out);
    if (chunks_) return chunks_->read(file_, first, count, out);
    const std::string bytes = child_->call(name_, &read_rows, rows_.id, first, count);
    if (std::ssize(bytes) != count * row_bytes_)
      refuse_input(name_, "damaged: rows are missing; copy or create the file again");
    std::memcpy(out, bytes.data(), bytes.size());
  }

  void read_contiguous(std::int64_t first, std::int64_t count, std::byte* out) const {
    const std::string problem = file_.try_read(*rows_.begin + first * row_bytes_, count * row_bytes_, out);
    if (problem.empty()) return;
    refuse_input(name_, fmt::format("cannot read rows {} to {} (counted from 1): {}; copy or create the file again",
                                    first + 1, first + count, problem));
  }

  std::string name_;
  std::shared_ptr<Hdf5Child> child_;
  StoredRows rows_;
  InputBytes file_;
  std::vector<RecordField> fields_;  // of records: the columns
  ElementType element_;              // of the values, or the common type of the fields
  ValueClass class_;
  Number held_as_;
  std::int64_t row_bytes_;
  std::int64_t chunk_rows_;
  std::optional<ChunkedRows> chunks_;
  int threads_;
  Missing missing_;
  std::vector<std::string> remarks_;
  std::atomic<std::int64_t> changed_ = 0;
};

std::unique_ptr<PointSource> open_dense(const std::string& file, const std::shared_ptr<Hdf5Child>& child,
                                        StoredRows rows, const ReadOptions& options) {
  const bool by_columns = (rows.facts.reversed && rows.facts.info.shape.size() == 2) ||
                          (rows.across && !options.transpose);  // with --transpose, the caller exchanges them
  std::unique_ptr<PointSource> source = std::make_unique<Hdf5Source>(file, child, std::move(rows), options);
  return by_columns ? transposed(std::move(source), options.scratch) : std::move(source);
}

SparseMatrix sparse_matrix(const std::string& file, const SparseGroup& group) {
  return {fmt::format("{}:{}", file, group.path),
          group.kind,
          group.starts,
          group.by_columns,
          group.rows,
          group.columns,
          [file, group](SparseMatrix::Part part, const ReadOptions& vectors) {
            const std::string& path = part == SparseMatrix::starts    ? group.starts
                                      : part == SparseMatrix::indices ? group.indices
                                                                      : group.values;
            return open_hdf5_dataset({file, path}, vectors);
          },
          group.remark,
          {},
          group.names};
}

std::string place_of(const Location& location) {
  return location.dataset.empty() ? location.file : fmt::format("{}:{}", location.file, location.dataset);
}

}  // namespace

bool is_hdf5(const std::string& file) { return has_hdf5_signature(file); }

std::unique_ptr<PointSource> open_hdf5_dataset(const Location& location, const ReadOptions& options) {
  const auto child = Hdf5Child::of(location.file);
  StoredRows rows =
      child->call(place_of(location), &find_rows, location.file, location.dataset, options.vector_as_column);
  return open_dense(location.file, child, std::move(rows), options);
}

std::unique_ptr<PointSource> open_hdf5(const Location& location, const ReadOptions& options) {
  const auto child = Hdf5Child::of(location.file);
  FoundPoints found =
      child->call(place_of(location), &find_points, location.file, location.dataset, options.vector_as_column);
  if (found.sparse) return open_sparse(sparse_matrix(location.file, *found.sparse), options);
  if (found.frame) return open_frame(location.file, *found.frame, options);
  if (!found.dense)
    refuse_input(place_of(location), "damaged: neither dense nor sparse; copy or create the file again");
  return open_dense(location.file, child, std::move(*found.dense), options);
}

std::vector<DatasetInfo> list_hdf5(const Location& location, const ReadOptions&) {
  return Hdf5Child::of(location.file)->call(place_of(location), &list_file, location.file, location.dataset);
}

}  // namespace kith::data
