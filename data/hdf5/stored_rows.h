// Where the rows of an HDF5 dataset are in its file. These functions use the HDF5 library: call them with Hdf5Child.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_chunks.h"
#include "data/hdf5/hdf5_groups.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/io/input_bytes.h"

namespace kith::data {

/// A dataset with points, and how to read it.
struct StoredRows {
  DatasetFacts facts;
  std::int64_t file_bytes = 0;
  FileState state;                               // of the file when it was opened
  std::vector<std::string> names;                // of the features: the columns, or across the rows; or none
  bool across = false;                           // Loom: the points are the columns
  std::string field;                             // of records: the one that was named; or empty
  std::string remark;                            // what a reader of the result should know; or empty
  std::optional<std::int64_t> begin;             // of contiguous values: their place in the file
  std::optional<std::vector<FilterStep>> steps;  // of chunks that ChunkDecoder can decode
  std::int64_t id = -1;                          // of the dataset that stays open; -1: contiguous values need none
};

/// What FILE or FILE:DATASET names: a dataset, a sparse matrix or a data frame.
struct FoundPoints {
  std::optional<StoredRows> dense = {};
  std::optional<SparseGroup> sparse = {};
  std::optional<FrameGroup> frame = {};
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, StoredRows& rows) {
  archive(rows.facts, rows.file_bytes, rows.state, rows.names, rows.across, rows.field, rows.remark, rows.begin,
          rows.steps, rows.id);
}
template <class Archive>
void each_field(Archive& archive, FoundPoints& found) {
  archive(found.dense, found.sparse, found.frame);
}

/// An empty `path` finds the only matrix of the file. Throws Error(data) with the reason if it cannot be read as
/// points.
FoundPoints find_points(const std::string& file, const std::string& path, bool vector_as_column);
/// As find_points(), but throws Error(data) for a group.
StoredRows find_rows(const std::string& file, const std::string& path, bool vector_as_column);

/// The places of chunks first .. first + count - 1 of an open dataset, counted in row order.
std::vector<ChunkPlace> find_chunks(std::int64_t id, std::int64_t first, std::int64_t count);
/// The bytes of one element that was never written.
std::string read_fill_value(std::int64_t id);
/// The bytes of rows first .. first + count - 1, read and decoded by the library.
std::string read_rows(std::int64_t id, std::int64_t first, std::int64_t count);

// The datasets that stay open between calls of other processes. These functions use the HDF5 library.

struct OpenDataset {
  Hdf5InputFile file;
  DatasetFacts facts;
  Handle dataset;
  Handle type;  // as in the file, so that HDF5 does not convert
};

/// Opens the dataset of `facts` with a suitable cache and keeps it open. Throws Error(data).
std::int64_t keep_open(Hdf5InputFile file, DatasetFacts facts);
/// The one with this number. Throws Error(internal) if there is none.
OpenDataset& kept_open(std::int64_t id);
void close_dataset(std::int64_t id);
/// The numbers begin anew.
void close_all_datasets();

}  // namespace kith::data
