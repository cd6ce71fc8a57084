// Points from an HDF5 dataset: bytes come from HDF5 as they are in the file, block by block, and are converted here.
#include "data/hdf5/hdf5_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "data/hdf5/contiguous_rows.h"
#include "data/hdf5/hdf5_chunks.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_sparse.h"
#include "data/io/block_readers.h"
#include "data/io/file_kind.h"
#include "data/transposed.h"

namespace kith::data {
namespace {

// Raw bytes per read: what was read is still in the second-level cache when it is converted.
constexpr std::int64_t kBlockBytes = std::int64_t{512} << 10;

/// What the values are held as: bytes stay bytes where that is asked for.
Number held_for(Number number, ValueClass value_class, const ReadOptions& options) {
  const bool bytes = number == Number::uint8 || number == Number::int8;
  if (bytes && options.keep_bytes && value_class == ValueClass::f32) return number;
  return value_class == ValueClass::f32 ? Number::float32 : Number::float64;
}

/// Opens the dataset again, with the cache that suits H5Dread: room for a chunk where it has to decode; none where it
/// has not, as chunks are then read straight to where they belong, at the size they must have and not at the one they
/// claim. The dataset must not be open, or HDF5 would share that one, cache and all. Its path was walked before.
Handle open_with_cache(const Hdf5InputFile& file, const DatasetFacts& facts) {
  constexpr std::int64_t largest = std::int64_t{256} << 20;
  constexpr std::int64_t usual = std::int64_t{16} << 20;
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  if (facts.chunked) {
    std::int64_t bytes = size_of(facts.element->number);
    for (const std::int64_t c : facts.chunk) bytes *= c;  // one chunk: known to be below 4 GiB
    bytes = facts.info.filters.empty() ? 0 : std::clamp(bytes, usual, largest);
    H5Pset_chunk_cache(access.get(), 12421, static_cast<std::size_t>(bytes), 1.0);
  }
  return Handle(H5Dopen2(file.id(), facts.info.path.c_str(), access.get()));
}

/// The names of the columns of centroids, from the result that they are in.
std::vector<std::string> stored_names(const Hdf5InputFile& file, const std::string& path, std::int64_t columns) {
  std::vector<std::string> names;
  if (path != "/centroids") return names;
  const std::string text = text_attribute(open_object(file, "/").get(), "columns");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
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
    if (!dataset_) throw Error(ExitCode::data, fmt::format("{}: {}", name(), damage(hdf5_reason())));
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
      file_.check_unchanged();  // a better explanation of whatever was found
      throw;
    }
    file_.check_unchanged();
  }

  /// Only what HDF5 has no part in is for several threads.
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

  /// Where the block that begins at `row` ends: kBlockBytes on, but on the border of a chunk if there are chunks.
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
    // Values that have the size of T are read to where they belong and converted there; others through a buffer.
    auto* raw = reinterpret_cast<std::byte*>(out.data);
    if (size_of(element_.number) != sizeof(T)) {
      const std::int64_t needed = out.rows * row_bytes_;
      if (buffer.columns() < needed) buffer = Matrix<std::byte>(1, needed);
      raw = buffer.data();
    }
    read_raw(first, out.rows, raw);
    changed_ += require_converted(convert(element_, raw, out.size(), out.data, missing_), name(), first, columns());
  }

  /// Bytes as they are in the file, but decoded.
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
    throw Error(ExitCode::data,
                fmt::format("{}: data damaged in rows {} to {} (counted from 0): {}; copy or make the file again",
                            name(), first, first + count - 1, hdf5_reason()));
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
  Handle type_;  // of the file, so that HDF5 converts nothing
  std::optional<ChunkedRows> chunks_;
  std::optional<ContiguousRows> contiguous_;
  int threads_;
  Missing missing_;
  std::atomic<std::int64_t> changed_ = 0;
};

/// MATLAB stores the columns of a matrix one after another, so that HDF5 sees its dimensions reversed.
bool is_matlab(hid_t dataset) { return !text_attribute(dataset, "MATLAB_class").empty(); }

/// Why a MATLAB dataset holds no numbers, though its elements are some, or empty.
std::string refusal_of_matlab(hid_t dataset) {
  const std::string kind = text_attribute(dataset, "MATLAB_class");
  if (kind == "char") return "expected numbers, found MATLAB text";
  if (H5Aexists(dataset, "MATLAB_empty") > 0) return "expected at least 1 row and 1 column, found an empty matrix";
  return "";
}

DatasetInfo describe(const Hdf5InputFile& file, hid_t dataset, const std::string& path) {
  DatasetInfo info = inspect(file, dataset, path).info;
  if (!is_matlab(dataset)) return info;
  std::reverse(info.shape.begin(), info.shape.end());
  if (const std::string wrong = refusal_of_matlab(dataset); !wrong.empty()) {
    info.unreadable = wrong;
    info.type = fmt::format("MATLAB {}", text_attribute(dataset, "MATLAB_class"));
  }
  return info;
}

/// The sparse matrix to which a dataset belongs that says where its rows or columns begin.
std::optional<DatasetInfo> sparse_around(const Hdf5InputFile& file, const std::string& path) {
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
  for_each_dataset(file, [&](FoundObject found) {
    if (found.object) {
      list.push_back(describe(file, found.object.get(), found.path));
      try {
        if (const auto sparse = sparse_around(file, found.path)) list.push_back(*sparse);
      } catch (const Error&) {  // a damaged one is no matrix to be chosen; its parts are in the list
      }
    } else {
      DatasetInfo info;
      info.path = found.path;
      info.type = "unknown";
      info.unreadable = found.unreadable;
      list.push_back(info);
    }
  });
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return list;
}

std::string show(const std::vector<DatasetInfo>& list) {
  constexpr std::size_t shown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), shown); ++i) {
    text += fmt::format("{}{} ({}, {})", i > 0 ? ", " : "", list[i].path, show_shape(list[i].shape), list[i].type);
  }
  return list.size() > shown ? text + fmt::format(" and {} more", list.size() - shown) : text;
}

/// The only dataset of the rank that is wanted: matrices first, vectors where one serves as a column.
std::string only_dataset(const Hdf5InputFile& file, const ReadOptions& options) {
  const auto all = list_open_file(file);
  for (const std::size_t rank : {2, 1}) {
    if (rank == 1 && !options.vector_as_column) break;
    std::vector<DatasetInfo> fitting;
    std::copy_if(all.begin(), all.end(), std::back_inserter(fitting), [rank](const auto& info) {
      return info.shape.size() == rank && (is_number(info.type) || info.type == "sparse");
    });
    if (fitting.size() == 1) return fitting[0].path;
    if (fitting.size() > 1) {
      throw Error(ExitCode::data,
                  fmt::format("{}: expected one {}-dimensional dataset of numbers, found {}: {}; name one, as in {}:{}",
                              file.name(), rank, fitting.size(), show(fitting), file.name(), fitting[0].path));
    }
  }
  throw Error(ExitCode::data, fmt::format("{}: expected a 2-dimensional dataset of numbers, found {}", file.name(),
                                          all.empty() ? "no dataset at all" : show(all)));
}

/// The path of hard links on which an object was opened.
std::string own_path(hid_t object) {
  std::string path(static_cast<std::size_t>(std::max<ssize_t>(H5Iget_name(object, nullptr, 0), 0)), '\0');
  H5Iget_name(object, path.data(), path.size() + 1);
  return path;
}

}  // namespace

bool is_hdf5(const std::string& file) { return has_hdf5_signature(file); }

std::unique_ptr<PointSource> open_hdf5(const Location& location, const ReadOptions& options) {
  Hdf5InputFile file(location.file);
  const std::string path = location.dataset.empty() ? only_dataset(file, options) : normal_path(location.dataset);
  Handle found = open_object(file, path);
  const std::string name = fmt::format("{}:{}", file.name(), path);
  if (H5Iget_type(found.get()) != H5I_DATASET) {
    if (const auto sparse = sparse_group(file, own_path(found.get())))
      return open_sparse(file.name(), *sparse, options);
    const auto all = list_open_file(file);
    const std::string encoding = text_attribute(found.get(), "encoding-type");  // AnnData says what a group holds
    throw Error(ExitCode::data, fmt::format("{}: expected a dataset, found a {}; the file holds {}", name,
                                            H5Iget_type(found.get()) != H5I_GROUP ? "named type"
                                            : encoding.empty()                    ? "group"
                                                                                  : fmt::format("group ({})", encoding),
                                            all.empty() ? "no dataset at all" : show(all)));
  }
  const bool matlab = is_matlab(found.get());
  DatasetFacts facts = inspect(file, found.get(), path);
  std::string why_not = refusal_of_matlab(found.get());
  if (why_not.empty()) why_not = refusal(file, facts, options);
  if (!why_not.empty()) throw Error(ExitCode::data, fmt::format("{}: {}", name, why_not));
  found = Handle();
  const bool vector = facts.info.shape.size() == 1;
  std::unique_ptr<PointSource> source = std::make_unique<Hdf5Source>(std::move(file), std::move(facts), options);
  return matlab && !vector ? transposed(std::move(source)) : std::move(source);
}

std::vector<DatasetInfo> list_hdf5(const Location& place, const ReadOptions&) {
  const Hdf5InputFile file(place.file);
  auto all = list_open_file(file);
  if (place.dataset.empty()) return all;
  const std::string path = normal_path(place.dataset);
  const Handle found = open_object(file, path);
  if (H5Iget_type(found.get()) == H5I_DATASET) return {describe(file, found.get(), path)};
  const std::string group = own_path(found.get());
  const std::string begin = group == "/" ? group : group + "/";
  std::string held = all.empty() ? "no dataset at all" : show(all);
  std::erase_if(all, [&begin](const auto& info) { return !info.path.starts_with(begin); });
  if (!all.empty() || path == "/") return all;
  throw Error(ExitCode::data, fmt::format("{}:{}: no dataset is in it; the file holds {}", file.name(), path, held));
}

std::string root_text(const std::string& file, const std::string& attribute) {
  const Hdf5InputFile input(file);
  return text_attribute(open_object(input, "/").get(), attribute);
}

}  // namespace kith::data
