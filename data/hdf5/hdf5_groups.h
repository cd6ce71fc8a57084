// Sparse matrices of AnnData, 10x Genomics, h5Seurat and MATLAB in HDF5 files. These functions use the HDF5 library:
// call them with Hdf5Child.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/format/records.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// A group that holds a sparse matrix with compressed rows or columns.
struct SparseGroup {
  std::string path;                     // "/X"
  std::string kind;                     // "sparse by rows", in the terms of the program that wrote it
  std::int64_t rows = 0;                // of the points
  std::int64_t columns = 0;             // of the points
  bool by_columns = false;              // the columns of the points are compressed, not their rows
  std::string values, indices, starts;  // paths of its datasets
  std::string remark;                   // what a reader of the result should know; or empty
  std::vector<std::string> names;       // of the columns of the points, or none
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, SparseGroup& group) {
  archive(group.path, group.kind, group.rows, group.columns, group.by_columns, group.values, group.indices,
          group.starts, group.remark, group.names);
}

/// A remark if the columns of the matrix at this path, "" for the root, are of several kinds by what 10x Genomics or
/// AnnData say beside it; or nothing.
std::string kinds_of_features(const Hdf5InputFile& file, const std::string& matrix, std::int64_t features);

/// The names of the columns of the points in the matrix at this path, "" for the root: of AnnData's var, of the
/// features of 10x Genomics and h5Seurat, of the genes of Loom. None: there are none, or not as many as `features`.
std::vector<std::string> names_of_features(const Hdf5InputFile& file, const std::string& matrix, std::int64_t features);

/// The sparse matrix in the group at `path`; nullopt if there is none. Throws Error(data) if it is damaged.
std::optional<SparseGroup> sparse_group(const Hdf5InputFile& file, const std::string& path);

// Data frames, which are read side by side as points: of AnnData, a group with a vector for each column; of pandas'
// HDFStore, format "fixed", a group with a matrix for each type of values.

/// A column of a data frame.
struct FrameColumn {
  RecordField field;         // its name, and its type if kith can read it as numbers
  std::string values, mask;  // paths of datasets; an empty mask: no value is missing
  std::int64_t number = 0;   // of the column of `values`, from 0
};

struct FrameGroup {
  std::string path;  // "/obsm/df"
  std::vector<FrameColumn> columns;
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, FrameColumn& column) {
  archive(column.field, column.values, column.mask, column.number);
}
template <class Archive>
void each_field(Archive& archive, FrameGroup& group) {
  archive(group.path, group.columns);
}

/// The data frame in the group at `path`, without its index; nullopt if there is none. Throws Error(data) if it is
/// damaged or has no columns. It uses the HDF5 library: call it with Hdf5Child.
std::optional<FrameGroup> frame_group(const Hdf5InputFile& file, const std::string& path);

/// Opens its columns, or those that the options choose. Throws Error(data) with the option that leaves out columns
/// without numbers, and if the columns differ in length.
std::unique_ptr<PointSource> open_frame(const std::string& file, const FrameGroup& group, const ReadOptions& options);

// Where the labels of an HDF5 file are, in the conventions of the programs that write them. find_labels() uses the HDF5
// library: call it with Hdf5Child.

/// The datasets that together are one column of labels; an empty path: the column has no such part.
struct FoundLabels {
  std::string values = {};      // the labels themselves, or codes: indices into `categories`
  std::string field = {};       // `values` is a dataset of records, and this is the field of the labels
  std::string categories = {};  // the names of the codes
  bool from_one = false;        // the codes count from 1, as in R
  std::string mask = {};        // true: the row has no label
  std::string path = {};        // of the column, as resolved_path() has it
};
template <class Archive>
void each_field(Archive& archive, FoundLabels& found) {
  archive(found.values, found.field, found.categories, found.from_one, found.mask, found.path);
}

/// The labels at `path`: a vector; AnnData's categorical, nullable or older columns; or a factor of h5Seurat. Throws
/// Error(data) with the missing name, or with what is at `path`.
FoundLabels find_labels(const std::string& file, const std::string& named);

/// The path of the names of the rows of AnnData, the index of obs; empty: there is none. Call it with Hdf5Child.
std::string find_index(const std::string& name);

/// As open_hdf5(), but refuses groups, so that the parts of a sparse matrix cannot be sparse matrices themselves.
std::unique_ptr<PointSource> open_hdf5_dataset(const Location& location, const ReadOptions& options);

}  // namespace kith::data
