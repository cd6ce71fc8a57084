// Sparse matrices in HDF5 files. AnnData marks a group with encoding-type csr_matrix or csc_matrix and its shape. 10x
// Genomics stores genes x cells by columns in the group /matrix, and h5Seurat in groups with the attribute dims; kith
// reads the cells as rows. MATLAB marks a group
// with MATLAB_sparse, its number of rows. All of them hold values, indices, and the start of each row or column.
#include "data/hdf5/hdf5_sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "data/format/shape.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

/// Integers of an attribute, at most two.
std::vector<std::int64_t> sizes_attribute(hid_t object, const char* name) {
  if (!has_attribute(object, name)) return {};
  const Handle value(H5Aopen(object, name, H5P_DEFAULT));
  const Handle type(H5Aget_type(value.get()));
  const Handle space(H5Aget_space(value.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  const bool is_number = H5Tget_class(type.get()) == H5T_INTEGER || H5Tget_class(type.get()) == H5T_FLOAT;  // R: both
  if (!is_number || count < 1 || count > 2) return {};
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count));
  if (H5Aread(value.get(), H5T_NATIVE_INT64, sizes.data()) < 0) return {};
  return sizes;
}

/// The open dataset at `path`, a part of a sparse matrix, and what it holds. Refuses what cannot be read as a vector.
std::pair<Handle, DatasetFacts> open_vector(const Hdf5InputFile& file, const std::string& path) {
  Handle dataset = open_dataset(file, path);
  DatasetFacts facts = inspect(file, dataset.get(), path);
  if (const std::string problem = refusal(facts, file.bytes(), true); !problem.empty())
    refuse_input(fmt::format("{}:{}", file.name(), path), problem);
  return {std::move(dataset), std::move(facts)};
}

std::int64_t size_of_vector(const Hdf5InputFile& file, const std::string& path) {
  return open_vector(file, path).second.rows();
}

/// The two whole numbers of a dataset with a shape.
std::vector<std::int64_t> read_sizes(const Hdf5InputFile& file, const std::string& path) {
  const auto [dataset, facts] = open_vector(file, path);
  const auto fail = [&](const std::string& problem) { refuse_input(fmt::format("{}:{}", file.name(), path), problem); };
  if (facts.rows() != 2 || facts.columns() != 1)
    fail(fmt::format("damaged: expected the 2 sizes of a sparse matrix, found {} values; copy or create the file again",
                     show_shape(facts.info.shape)));
  std::vector<std::int64_t> sizes(2);
  if (H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, sizes.data()) < 0)
    fail(describe_damage(hdf5_reason()));
  return sizes;
}

/// A remark if the columns are of several kinds, such as genes and antibodies, which are counted on different scales.
std::string remark_on_kinds(const std::vector<std::string>& kinds, std::int64_t columns_of_points) {
  if (std::ssize(kinds) != columns_of_points) return "";
  std::vector<std::string> shown;
  std::string columns;  // of the first kind, as a list for --columns
  for (std::size_t first = 0, end = 0; first < kinds.size(); first = end) {
    end = static_cast<std::size_t>(std::find_if(kinds.begin() + static_cast<std::ptrdiff_t>(first), kinds.end(),
                                                [&](const auto& kind) { return kind != kinds[first]; }) -
                                   kinds.begin());
    const std::string range = end - first == 1 ? fmt::format("{}", end) : fmt::format("{}-{}", first + 1, end);
    if (kinds[first] == kinds[0]) columns += (columns.empty() ? "" : ",") + range;
    shown.push_back(fmt::format("{}: columns {}", kinds[first], range));
  }
  if (shown.size() < 2) return "";
  return fmt::format("its columns are features of several kinds ({}); to read {} alone: --columns {}",
                     show_list(shown, 6), kith::quoted(kinds[0]), columns);
}

/// The texts of a column of AnnData: themselves, or the categories of codes. Nothing if it is something else.
std::vector<std::string> texts_of_column(const Hdf5InputFile& file, const std::string& path) {
  const Handle column = open_object(file, path);
  if (H5Iget_type(column.get()) == H5I_DATASET) return texts_of(file, path);
  if (!has_link(column.get(), "codes") || !has_link(column.get(), "categories")) return {};
  const std::vector<std::string> categories = texts_of(file, path + "/categories");
  const auto [dataset, facts] = open_vector(file, path + "/codes");
  require_memory(capped_product(facts.rows(), sizeof(std::int64_t) + sizeof(std::string)), file.name());
  std::vector<std::int64_t> codes(static_cast<std::size_t>(facts.rows()));
  if (H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, codes.data()) < 0) return {};
  std::vector<std::string> texts;
  for (const std::int64_t code : codes) {
    texts.push_back(code >= 0 && code < std::ssize(categories) ? categories[static_cast<std::size_t>(code)] : "none");
  }
  return texts;
}

}  // namespace

std::string kinds_of_features(const Hdf5InputFile& file, const std::string& matrix, std::int64_t features) {
  std::string parent = parted(matrix).first;
  if (parent.ends_with("/layers")) parent = parted(parent).first;
  for (const std::string& path : {matrix + "/features/feature_type", parent + "/var/feature_types"}) {
    try {
      if (exists(file, path)) return remark_on_kinds(texts_of_column(file, path), features);
    } catch (const Error&) {  // damaged names leave the points as they are
    }
  }
  return "";
}

std::optional<SparseGroup> sparse_group(const Hdf5InputFile& file, const std::string& path) {
  const Handle group = open_object(file, path);
  if (H5Iget_type(group.get()) != H5I_GROUP) return std::nullopt;
  const std::string begin = path == "/" ? path : fmt::format("{}/", path);
  SparseGroup result;
  result.path = path;
  result.values = begin + "data";
  result.indices = begin + "indices";
  result.starts = begin + "indptr";
  if (has_attribute(group.get(), "MATLAB_sparse") && has_link(group.get(), "jc")) {
    const auto rows = sizes_attribute(group.get(), "MATLAB_sparse");
    result.indices = begin + "ir";
    result.starts = begin + "jc";
    result.kind = "sparse by columns";
    result.by_columns = true;
    result.rows = rows.empty() ? 0 : rows[0];
    result.columns = size_of_vector(file, result.starts) - 1;
    return result;
  }
  if (!has_link(group.get(), "data") || !has_link(group.get(), "indices") || !has_link(group.get(), "indptr")) {
    return std::nullopt;
  }
  const std::string encoding = text_attribute(group.get(), "encoding-type");
  const std::string older = text_attribute(group.get(), "h5sparse_format");
  std::vector<std::int64_t> shape = sizes_attribute(group.get(), encoding.empty() ? "h5sparse_shape" : "shape");
  if (encoding.empty() && older.empty() && has_link(group.get(), "shape")) {  // 10x: features x cells, by columns
    shape = read_sizes(file, begin + "shape");
    if (shape.size() == 2) std::swap(shape[0], shape[1]);
    result.kind = "sparse by cells";
  } else if (encoding.empty() && older.empty() && has_attribute(group.get(), "dims")) {  // h5Seurat: the same
    shape = sizes_attribute(group.get(), "dims");
    if (shape.size() == 2) std::swap(shape[0], shape[1]);
    result.kind = "sparse by cells";
  } else if (encoding == "csr_matrix" || older == "csr") {
    result.kind = "sparse by rows";
  } else if (encoding == "csc_matrix" || older == "csc") {
    result.kind = "sparse by columns";
    result.by_columns = true;
  } else {
    return std::nullopt;
  }
  if (shape.size() != 2) {
    refuse_input(
        fmt::format("{}:{}", file.name(), path),
        "damaged: expected a sparse matrix with its shape, found a sparse matrix without a shape; copy or create "
        "the file again");
  }
  result.rows = shape[0];
  result.columns = shape[1];
  result.remark = kinds_of_features(file, path == "/" ? "" : path, result.columns);
  return result;
}

}  // namespace kith::data
