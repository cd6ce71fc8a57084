// Points from HDF5 datasets: reads the bytes of a dataset block by block and converts them.
#include "data/hdf5/hdf5_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "data/format/transposed.h"
#include "data/hdf5/contiguous_rows.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_chunks.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_sparse.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/block_readers.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

// Raw bytes per block; a block is still in the second-level cache when it is converted.
constexpr std::int64_t kBlockBytes = std::int64_t{512} << 10;

/// The type in which the values are held: bytes if ReadOptions::keep_bytes asks for them, else by class.
Number held_for(Number number, ValueClass value_class, const ReadOptions& options) {
  const bool bytes = number == Number::uint8 || number == Number::int8;
  if (bytes && options.keep_bytes && value_class == ValueClass::f32) return number;
  return value_class == ValueClass::f32 ? Number::float32 : Number::float64;
}

/// Reopens the dataset with a suitable cache for H5Dread: one chunk if HDF5 has to decode; none if the chunks have no
/// filters, so that HDF5 reads directly into the target, with the size a chunk must have and not with its size in the
/// file. The dataset must be closed, or HDF5 would share the open one and its cache. Its path is checked already.
Handle open_with_cache(const Hdf5InputFile& file, const DatasetFacts& facts) {
  constexpr std::int64_t max_bytes = std::int64_t{256} << 20;
  constexpr std::int64_t min_bytes = std::int64_t{16} << 20;
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  if (facts.chunked) {
    std::int64_t bytes = size_of(facts.element->number);
    for (const std::int64_t c : facts.chunk) bytes *= c;  // one chunk: known to be below 4 GiB
    bytes = facts.info.filters.empty() ? 0 : std::clamp(bytes, min_bytes, max_bytes);
    H5Pset_chunk_cache(access.get(), 12421, static_cast<std::size_t>(bytes), 1.0);
  }
  return Handle(H5Dopen2(file.id(), facts.info.path.c_str(), access.get()));
}

/// The column names of centroids, from the result file that holds them.
std::vector<std::string> stored_names(const Hdf5InputFile& file, const std::string& path, std::int64_t columns) {
  if (path != "/centroids") return {};
  std::vector<std::string> names = split_lines(text_attribute(open_object(file, "/").get(), "columns"));
  if (std::ssize(names) != columns) names.clear();  // principal components have no names
  return names;
}

class Hdf5Source final : public PointSource {
 public:
  Hdf5Source(Hdf5InputFile file, DatasetFacts facts, const ReadOptions& options)
      : file_(std::move(file)),
        names_(stored_names(file_, facts.info.path, facts.columns())),
        facts_(std::move(facts)),
        element_(*facts_.element),
        class_(class_for(natural_class_of(element_.number), options.precision)),
        held_as_(held_for(element_.number, class_, options)),
        row_bytes_(facts_.columns() * size_of(element_.number)),
        threads_(options.threads),
        missing_(options.missing) {
    chunk_rows_ = facts_.chunked ? std::clamp<std::int64_t>(facts_.chunk[0], 1, facts_.rows()) : 1;
    dataset_ = open_with_cache(file_, facts_);
    if (!dataset_) refuse_input(name(), describe_damage(hdf5_reason()));
    type_ = Handle(H5Dget_type(dataset_.get()));
    chunks_ = ChunkedRows::open(dataset_.get(), facts_, name());
    contiguous_ = ContiguousRows::open(file_, dataset_.get(), facts_, name());
  }

  std::string name() const override { return fmt::format("{}:{}", file_.name(), facts_.info.path); }
  std::string element_type() const override { return facts_.info.type; }
  std::int64_t rows() const override { return facts_.rows(); }
  std::int64_t columns() const override { return facts_.columns(); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return facts_.info.stored_bytes; }
  std::int64_t changed_values() const override { return changed_; }
  Number held_as() const override { return held_as_; }
  std::vector<std::string> column_names() const override { return names_; }

  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    prepare_hdf5();
    check_request(*this, first, out);
    try {
      read_blocks(first, out);
    } catch (const Error&) {
      file_.check_unchanged();  // a change of the file explains the error better
      throw;
    }
    file_.check_unchanged();
  }

  /// Uses several threads only if HDF5, which is not thread-safe, takes no part.
  template <class T>
  void read_blocks(std::int64_t first, MatrixView<T> out) {
    const std::int64_t end = first + out.rows;
    std::vector<std::int64_t> begins;
    for (std::int64_t row = first; row < end; row = block_end(row, end)) begins.push_back(row);
    const int threads = contiguous_ ? threads_ : 1;
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
    // Values with the size of T are read into `out` and converted in place; others go through the buffer.
    auto* raw = reinterpret_cast<std::byte*>(out.data);
    if (size_of(element_.number) != sizeof(T)) {
      const std::int64_t needed = out.rows * row_bytes_;
      if (buffer.columns() < needed) buffer = Matrix<std::byte>(1, needed);
      raw = buffer.data();
    }
    read_raw(first, out.rows, raw);
    changed_ += require_converted(convert(element_, raw, out.size(), out.data, missing_), name(), first, columns());
  }

  /// Bytes as in the file, decoded.
  void read_raw(std::int64_t first, std::int64_t count, std::byte* out) {
    if (contiguous_) return contiguous_->read(first, count, out);
    if (chunks_) return chunks_->read(first, count, out);
    const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
    const hsize_t shape[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(columns())};
    const int rank = static_cast<int>(facts_.info.shape.size());
    const Handle in_file(H5Dget_space(dataset_.get()));
    const Handle in_memory(H5Screate_simple(rank, shape, nullptr));
    if (H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, shape, nullptr) >= 0 &&
        H5Dread(dataset_.get(), type_.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, out) >= 0) {
      return;
    }
    refuse_input(name(),
                 fmt::format("data damaged in rows {} to {} (counted from 0): {}; copy or create the file again", first,
                             first + count - 1, hdf5_reason()));
  }

  Hdf5InputFile file_;
  std::vector<std::string> names_;
  DatasetFacts facts_;
  ElementType element_;
  ValueClass class_;
  Number held_as_;
  std::int64_t row_bytes_;
  std::int64_t chunk_rows_ = 1;
  Handle dataset_;
  Handle type_;  // as in the file, so that HDF5 does not convert
  std::optional<ChunkedRows> chunks_;
  std::optional<ContiguousRows> contiguous_;
  int threads_;
  Missing missing_;
  std::atomic<std::int64_t> changed_ = 0;
};

/// Whether MATLAB wrote the dataset. MATLAB stores matrices in column order, so HDF5 shows their dimensions reversed.
bool is_matlab(hid_t dataset) { return !text_attribute(dataset, "MATLAB_class").empty(); }

/// Why a MATLAB dataset with numeric elements does not hold points, or empty.
std::string refusal_of_matlab(hid_t dataset) {
  const std::string kind = text_attribute(dataset, "MATLAB_class");
  if (kind == "char") return "expected numbers, found MATLAB text; name a dataset of numbers";
  if (H5Aexists(dataset, "MATLAB_empty") > 0)
    return "expected at least 1 row and 1 column, found an empty matrix; name another dataset";
  return "";
}

DatasetInfo describe(const Hdf5InputFile& file, hid_t dataset, const std::string& path) {
  DatasetInfo info = inspect(file, dataset, path).info;
  if (!is_matlab(dataset)) return info;
  std::reverse(info.shape.begin(), info.shape.end());
  if (const std::string problem = refusal_of_matlab(dataset); !problem.empty()) {
    info.unreadable = problem;
    info.type = fmt::format("MATLAB {}", text_attribute(dataset, "MATLAB_class"));
  }
  return info;
}

/// The sparse matrix whose starts of rows or columns are in the dataset at `path`; nullopt for any other dataset.
std::optional<DatasetInfo> sparse_matrix_of(const Hdf5InputFile& file, const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string last = path.substr(slash + 1);
  if (last != "indptr" && last != "jc") return std::nullopt;
  const auto group = sparse_group(file, slash == 0 ? "/" : path.substr(0, slash));
  if (!group) return std::nullopt;
  DatasetInfo info;
  info.path = group->path;
  info.shape = {group->rows, group->columns};
  info.type = "sparse";
  info.layout = group->kind;
  return info;
}

std::vector<DatasetInfo> list_open_file(const Hdf5InputFile& file) {
  std::vector<DatasetInfo> list;
  for_each_dataset(file, [&](VisitedObject visited) {
    if (visited.object) {
      list.push_back(describe(file, visited.object.get(), visited.path));
      try {
        if (const auto sparse = sparse_matrix_of(file, visited.path)) list.push_back(*sparse);
      } catch (const Error&) {  // a damaged matrix is not listed; its parts are
      }
    } else {
      DatasetInfo info;
      info.path = visited.path;
      info.type = "unknown";
      info.unreadable = visited.unreadable;
      list.push_back(info);
    }
  });
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return list;
}

std::string show(const std::vector<DatasetInfo>& list) {
  if (list.empty()) return "no dataset at all";
  std::vector<std::string> items;
  for (const DatasetInfo& info : list) {
    items.push_back(fmt::format("{} ({}, {})", info.path, show_shape(info.shape), info.type));
  }
  return show_list(items);
}

/// The only matrix of the file; if there is none and a vector may be a column, the only vector.
std::string only_dataset(const Hdf5InputFile& file, const ReadOptions& options) {
  const auto all = list_open_file(file);
  for (const std::size_t rank : {2, 1}) {
    if (rank == 1 && !options.vector_as_column) break;
    std::vector<DatasetInfo> candidates;
    std::copy_if(all.begin(), all.end(), std::back_inserter(candidates), [rank](const auto& info) {
      return info.shape.size() == rank && (is_number(info.type) || info.type == "sparse");
    });
    if (candidates.size() == 1) return candidates[0].path;
    if (candidates.size() > 1) {
      refuse_input(file.name(),
                   fmt::format("expected one {}-dimensional dataset of numbers, found {}: {}; name one, as in {}:{}",
                               rank, candidates.size(), show(candidates), file.name(), candidates[0].path));
    }
  }
  refuse_input(file.name(),
               fmt::format("expected a 2-dimensional dataset of numbers, found {}; give a file with one", show(all)));
}

/// The path of hard links by which an object was opened.
std::string hard_link_path(hid_t object) {
  std::string path(static_cast<std::size_t>(std::max<ssize_t>(H5Iget_name(object, nullptr, 0), 0)), '\0');
  H5Iget_name(object, path.data(), path.size() + 1);
  return path;
}

}  // namespace

bool is_hdf5(const std::string& file) { return has_hdf5_signature(file); }

std::unique_ptr<PointSource> open_hdf5(const Location& location, const ReadOptions& options) {
  Hdf5InputFile file(location.file);
  const std::string path = location.dataset.empty() ? only_dataset(file, options) : normal_path(location.dataset);
  Handle object = open_object(file, path);
  const std::string name = fmt::format("{}:{}", file.name(), path);
  if (H5Iget_type(object.get()) != H5I_DATASET) {
    if (const auto sparse = sparse_group(file, hard_link_path(object.get())))
      return open_sparse(file.name(), *sparse, options);
    const std::string encoding = text_attribute(object.get(), "encoding-type");  // AnnData's name for the content
    const std::string kind = H5Iget_type(object.get()) != H5I_GROUP ? "named type"
                             : encoding.empty()                     ? "group"
                                                                    : fmt::format("group ({})", encoding);
    refuse_input(name, fmt::format("expected a dataset, found a {}; name a dataset, the file holds {}", kind,
                                   show(list_open_file(file))));
  }
  const bool matlab = is_matlab(object.get());
  DatasetFacts facts = inspect(file, object.get(), path);
  std::string problem = refusal_of_matlab(object.get());
  if (problem.empty()) problem = refusal(file, facts, options);
  if (!problem.empty()) refuse_input(name, problem);
  verify_dataset(file, object.get(), path);
  object = Handle();  // Hdf5Source opens it again
  const bool vector = facts.info.shape.size() == 1;
  std::unique_ptr<PointSource> source = std::make_unique<Hdf5Source>(std::move(file), std::move(facts), options);
  return matlab && !vector ? transposed(std::move(source)) : std::move(source);
}

std::vector<DatasetInfo> list_hdf5(const Location& location, const ReadOptions&) {
  const Hdf5InputFile file(location.file);
  auto all = list_open_file(file);
  if (location.dataset.empty()) return all;
  const std::string path = normal_path(location.dataset);
  const Handle object = open_object(file, path);
  if (H5Iget_type(object.get()) == H5I_DATASET) return {describe(file, object.get(), path)};
  const std::string group = hard_link_path(object.get());
  const std::string begin = group == "/" ? group : group + "/";
  const std::string existing = show(all);
  std::erase_if(all, [&begin](const auto& info) { return !info.path.starts_with(begin); });
  if (!all.empty() || path == "/") return all;
  refuse_input(fmt::format("{}:{}", file.name(), path),
               fmt::format("expected a dataset or a group with datasets, found neither; the file holds {}", existing));
}

std::string root_text(const std::string& file, const std::string& attribute) {
  const Hdf5InputFile input(file);
  return text_attribute(open_object(input, "/").get(), attribute);
}

}  // namespace kith::data
