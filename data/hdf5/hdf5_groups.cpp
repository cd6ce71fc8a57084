// Sparse matrices in HDF5 files. AnnData marks a group with encoding-type csr_matrix or csc_matrix and its shape. 10x
// Genomics stores genes x cells by columns in the group /matrix, and h5Seurat in groups with the attribute dims; kith
// reads the cells as rows. MATLAB marks a group
// with MATLAB_sparse, its number of rows. All of them hold values, indices, and the start of each row or column.
#include "data/hdf5/hdf5_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

/// Integers of an attribute, at most two.
std::vector<std::int64_t> sizes_attribute(hid_t object, const char* name) {
  if (!has_attribute(object, name)) return {};
  const StoredAttribute value(object, name);
  if (!value.is_number() || value.count < 1 || value.count > 2) return {};  // R: integers or floats
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(value.count));
  if (!value.read(H5T_NATIVE_INT64, sizes.data())) return {};
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

namespace {

/// The path of the coordinates of a matrix's columns, as NetCDF refers to them; empty: there are none.
std::string coordinates_of_columns(const Hdf5InputFile& file, const std::string& matrix) {
  constexpr const char* kList = "DIMENSION_LIST";  // for each dimension a list of references
  const Handle dataset = open_object(file, matrix);
  if (H5Iget_type(dataset.get()) != H5I_DATASET || !has_attribute(dataset.get(), kList)) return "";
  const Handle attribute(H5Aopen(dataset.get(), kList, H5P_DEFAULT));
  const Handle type(H5Aget_type(attribute.get())), space(H5Aget_space(attribute.get()));
  const bool is_list = H5Tget_class(type.get()) == H5T_VLEN && H5Sget_simple_extent_npoints(space.get()) == 2 &&
                       H5Tget_class(Handle(H5Tget_super(type.get())).get()) == H5T_REFERENCE;
  hvl_t lists[2] = {};
  if (!is_list || H5Aread(attribute.get(), type.get(), lists) < 0) return "";
  std::string path;
  if (lists[1].len > 0) {
    const Handle coordinates(H5Rdereference2(dataset.get(), H5P_DEFAULT, H5R_OBJECT, lists[1].p));
    if (coordinates) path = hard_link_path(coordinates.get());
  }
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, lists);
  return path;
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

std::vector<std::string> names_of_features(const Hdf5InputFile& file, const std::string& matrix,
                                           std::int64_t features) {
  const bool is_layer = parted(matrix).first.ends_with("/layers");
  const std::string parent = is_layer ? parted(parted(matrix).first).first : parted(matrix).first;
  std::vector<std::string> places{matrix + "/features/id", matrix + "/genes", parent + "/features",
                                  parent + "/row_attrs/Accession", parent + "/row_attrs/Gene"};
  try {
    if (const std::string var = parent + "/var"; exists(file, var)) {
      const std::string index = text_attribute(open_object(file, var).get(), "_index");
      places.insert(places.begin(), fmt::format("{}/{}", var, index.empty() ? "_index" : index));
    }
    places.push_back(coordinates_of_columns(file, matrix));
    for (const std::string& place : places) {
      if (place.empty() || !exists(file, place)) continue;
      std::vector<std::string> names = texts_of(file, place);
      if (std::ssize(names) == features) return names;
    }
  } catch (const Error&) {  // damaged names leave the points as they are
  }
  return {};
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
  result.names = names_of_features(file, path == "/" ? "" : path, result.columns);
  return result;
}

// Finds the columns of a data frame by its attribute column-order, and copies their values into rows.

namespace {

FrameColumn column_of(const Hdf5InputFile& file, const std::string& group, const std::string& name) {
  FrameColumn column;
  column.field.name = name;
  column.values = fmt::format("{}/{}", group == "/" ? "" : group, name);
  Handle object = open_object(file, column.values);
  if (H5Iget_type(object.get()) == H5I_GROUP) {
    if (!has_link(object.get(), "values") || !has_link(object.get(), "mask")) {
      const bool is_categorical = has_link(object.get(), "codes") && has_link(object.get(), "categories");
      column.field.type = is_categorical ? "text" : describe_kind(object.get());
      return column;
    }
    column.mask = column.values + "/mask";
    column.values += "/values";
    object = open_dataset(file, column.values);
  }
  const DatasetFacts facts = inspect(file, object.get(), column.values);
  column.field.type = facts.info.type == "string" ? "text" : facts.info.type;
  if (refusal(facts, file.bytes(), true).empty() && !facts.has_records() && facts.columns() == 1)
    column.field.element = facts.element;
  return column;
}

/// The columns of a frame of pandas, in its order; none: the names of its columns are no texts.
std::vector<FrameColumn> columns_of_blocks(const Hdf5InputFile& file, const std::string& path) {
  const std::string order = path + "/axis0";
  if (!exists(file, order) || text_attribute(open_dataset(file, order).get(), "kind") != "string") return {};
  std::vector<FrameColumn> stored, columns;
  for (int block = 0; exists(file, fmt::format("{}/block{}_values", path, block)); ++block) {
    const std::string begin = fmt::format("{}/block{}_", path, block);
    FrameColumn column;
    column.values = begin + "values";
    const Handle dataset = open_dataset(file, column.values);
    const DatasetFacts facts = inspect(file, dataset.get(), column.values);
    const std::string kind = text_attribute(dataset.get(), "value_type");  // of dates
    column.field.type = kind.empty() ? facts.info.type == kVariableLength ? "text" : facts.info.type : quoted(kind, 60);
    const std::vector<std::string> names = texts_of(file, begin + "items");
    const bool is_matrix = refusal(facts, file.bytes(), false).empty() && !facts.has_records() &&
                           facts.columns() == std::ssize(names) && has_attribute(dataset.get(), "transposed");
    if (is_matrix && kind.empty()) column.field.element = facts.element;
    for (const std::string& name : names) {
      column.field.name = name;
      stored.push_back(column);
      ++column.number;
    }
  }
  for (const std::string& name : texts_of(file, order)) {
    const auto found = std::ranges::find(stored, name, [](const FrameColumn& column) { return column.field.name; });
    if (found != stored.end()) columns.push_back(*found);
  }
  return columns;
}

/// A column of the points, open.
struct OpenColumn {
  std::size_t source = 0;   // of its values
  std::int64_t number = 0;  // among the columns of the source
  std::unique_ptr<PointSource> mask;
};

class FrameSource final : public PointSource {
 public:
  FrameSource(const std::string& file, const FrameGroup& group, const std::vector<RecordField>& chosen,
              const ReadOptions& options)
      : name_(fmt::format("{}:{}", file, group.path)),
        type_(name_of(common_type(chosen).number)),
        class_(class_for(natural_class_of(common_type(chosen).number), options.precision)),
        missing_(options.missing) {
    ReadOptions vectors{
        .precision = class_ == ValueClass::f32 ? Precision::f32 : Precision::f64,
        .vector_as_column = true,
        .threads = options.threads,
        .missing = Missing::keep};              // what a mask hides, and columns that are not chosen, may be anything
    std::map<std::string, std::size_t> opened;  // among sources_
    for (const RecordField& field : chosen) {
      const auto column = std::find_if(group.columns.begin(), group.columns.end(),
                                       [&](const FrameColumn& c) { return c.field.name == field.name; });
      const auto [at, is_new] = opened.emplace(column->values, sources_.size());
      if (is_new) sources_.push_back(open_hdf5_dataset({file, column->values}, vectors));
      OpenColumn open{at->second, column->number, nullptr};
      if (!column->mask.empty()) open.mask = open_hdf5_dataset({file, column->mask}, vectors);
      const std::int64_t expected = rows();
      for (const PointSource* part : {sources_[open.source].get(), open.mask.get()}) {
        if (part == nullptr || (part->rows() == expected && part->columns() > open.number)) continue;
        refuse_input(part->name(), fmt::format("damaged: expected {} values, as the other columns have, found {} x {}; "
                                               "create the file again",
                                               expected, part->rows(), part->columns()));
      }
      names_.push_back(field.name);
      widest_ = std::max(widest_, sources_[open.source]->columns());
      order_.push_back(columns_.size());
      columns_.push_back(std::move(open));
    }
    std::ranges::stable_sort(order_, {}, [this](std::size_t j) { return columns_[j].source; });
  }

  std::string name() const override { return name_; }
  std::string element_type() const override { return type_ + ", a data frame"; }
  std::int64_t rows() const override { return sources_.front()->rows(); }
  std::int64_t columns() const override { return std::ssize(columns_); }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return sum(&PointSource::file_bytes); }
  std::int64_t held_bytes() const override { return sum(&PointSource::held_bytes); }
  std::int64_t changed_values() const override { return sum(&PointSource::changed_values); }
  std::string only_in_order() const override { return "a data frame is stored by columns"; }
  bool has_chosen_columns() const override { return true; }
  std::vector<std::string> column_names() const override { return names_; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  std::int64_t sum(std::int64_t (PointSource::*of)() const) const {
    std::int64_t total = 0;
    for (const auto& source : sources_) total += (source.get()->*of)();
    return total;
  }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    constexpr std::int64_t kBlockValues = std::int64_t{1} << 16;
    for (std::int64_t begin = 0, here = 0; begin < out.rows; begin += here) {
      here = std::min(std::max(kBlockValues / widest_, std::int64_t{1}), out.rows - begin);
      Matrix<T> block(here, 0), mask(here, 1);
      for (std::size_t at = 0; at < order_.size(); ++at) {
        const std::size_t j = order_[at];
        const OpenColumn& column = columns_[j];
        if (at == 0 || columns_[order_[at - 1]].source != column.source) {
          block = Matrix<T>(here, sources_[column.source]->columns());
          sources_[column.source]->read(first + begin, block.view());
        }
        if (column.mask) column.mask->read(first + begin, mask.view());
        for (std::int64_t i = 0; i < here; ++i) {
          const bool is_masked = column.mask && mask(i, 0) != T{0};
          out(begin + i, static_cast<std::int64_t>(j)) =
              is_masked ? missing_value<T>(first + begin + i, j) : block(i, column.number);
        }
      }
    }
    require_finite(out, missing_, name_, first);
  }

  template <class T>
  T missing_value(std::int64_t row, std::size_t column) const {
    if (missing_ == Missing::keep) return std::numeric_limits<T>::quiet_NaN();
    refuse_value(fmt::format("{}: row {} (counted from 1), {}", name_, row + 1,
                             show_column(names_, static_cast<std::int64_t>(column))),
                 fmt::format("expected a value, found a missing one; replace the value or remove the row{}",
                             missing_ == Missing::offer ? ", or drop all such rows with --nan drop" : ""));
  }

  std::string name_, type_;
  ValueClass class_;
  Missing missing_;
  std::vector<std::unique_ptr<PointSource>> sources_;
  std::vector<OpenColumn> columns_;
  std::vector<std::size_t> order_;  // of columns_, by their sources
  std::int64_t widest_ = 1;         // columns of a source
  std::vector<std::string> names_;
};

}  // namespace

std::optional<FrameGroup> frame_group(const Hdf5InputFile& file, const std::string& path) {
  const Handle group = open_object(file, path);
  if (H5Iget_type(group.get()) != H5I_GROUP) return std::nullopt;
  FrameGroup frame{path, {}};
  if (text_attribute(group.get(), "pandas_type") == "frame") frame.columns = columns_of_blocks(file, path);
  if (text_attribute(group.get(), "encoding-type") == "dataframe") {
    for (const std::string& name : texts_attribute(group.get(), "column-order"))
      frame.columns.push_back(column_of(file, path, name));
  }
  if (frame.columns.empty()) return std::nullopt;  // an index alone
  return frame;
}

std::unique_ptr<PointSource> open_frame(const std::string& file, const FrameGroup& group, const ReadOptions& options) {
  const std::string name = fmt::format("{}:{}", file, group.path);
  Records records;
  for (const FrameColumn& column : group.columns) {
    RecordField field = column.field;
    field.at = records.bytes;
    records.bytes += field.element ? size_of(field.element->number) : 1;
    records.fields.push_back(std::move(field));
  }
  if (const std::string problem = refusal_of_fields(records); !problem.empty()) refuse_input(name, problem);
  return std::make_unique<FrameSource>(file, group, choose_fields(records, options, name), options);
}

// Recognises columns of labels by the names of their parts, and by attributes. AnnData stores a categorical column as
// a group with `codes` and `categories`, and a nullable one as a group with `values` and `mask`. Its older versions
// store codes as a vector, with the categories in a folder beside it or under `uns`, or all columns as one dataset of
// records. h5Seurat stores a factor of R as a group with `values` and `levels`.

namespace {

FoundLabels labels_of_group(const Hdf5InputFile& file, const std::string& path, hid_t group) {
  const auto has = [group](const char* name) { return has_link(group, name); };
  if (has("codes") && has("categories")) return {.values = path + "/codes", .categories = path + "/categories"};
  if (has("values") && has("mask")) return {.values = path + "/values", .mask = path + "/mask"};
  if (has("values") && has("levels"))
    return {.values = path + "/values", .categories = path + "/levels", .from_one = true};
  refuse_input(fmt::format("{}:{}", file.name(), path),
               fmt::format("expected labels, one for each row, found {}; name a vector in it: the group holds {}",
                           describe_kind(group), show_list(names_in(group))));
}

}  // namespace

FoundLabels find_labels(const std::string& name, const std::string& named) {
  const Hdf5InputFile file(name);
  const std::string path = resolved_path(file, named);
  const auto [folder, column] = parted(path);
  const auto [object, field] = find_object(file, path);
  const bool is_field = !field.empty();
  FoundLabels found{.values = is_field ? folder : path, .field = field};
  if (H5Iget_type(object.get()) == H5I_GROUP) found = labels_of_group(file, path, object.get());
  found.path = path;
  if (H5Iget_type(object.get()) == H5I_GROUP) return found;
  // Codes whose names are elsewhere: under uns (AnnData 0.6), or in a folder beside the column (0.7).
  const std::string categories =
      is_field ? fmt::format("/uns/{}_categories", column) : fmt::format("{}/__categories/{}", folder, column);
  if (exists(file, categories)) found.categories = categories;
  return found;
}

std::string find_index(const std::string& name) {
  const Hdf5InputFile file(name);
  if (!exists(file, "/obs")) return "";
  const Handle obs = open_object(file, "/obs");
  const std::string index = text_attribute(obs.get(), "_index");
  const std::string path = fmt::format("/obs/{}", index.empty() ? "_index" : index);
  return H5Iget_type(obs.get()) == H5I_GROUP && exists(file, path) ? path : "";
}

}  // namespace kith::data
