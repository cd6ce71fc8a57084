// Finds objects inside an HDF5 file link by link, so that no link can lead out of the file, and lists its datasets and
// sparse matrices.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/format/point_source.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// An object, or a field of a dataset of records.
struct FoundObject {
  Handle object;
  std::string field;  // empty: the object itself
};

/// Opens the object at `path` ("/train", "train", "/group/train"), or the dataset of which it names a field. Follows
/// hard links and soft links; refuses external and user-defined links anywhere in the path, without accessing their
/// targets. Throws Error(data) with the missing name and the existing ones.
FoundObject find_object(const Hdf5InputFile& file, const std::string& path);

/// As find_object(), but throws Error(data) for a field.
Handle open_object(const Hdf5InputFile& file, const std::string& path);

/// As open_object(), but throws Error(data) for an object that is not a dataset.
Handle open_dataset(const Hdf5InputFile& file, const std::string& path);

/// "a group", for an object that is not a dataset.
std::string describe_kind(hid_t object);

/// The names of the links in a group. Throws Error(data) if they cannot be read.
std::vector<std::string> names_in(hid_t group);

/// Whether a group has a link, or an object an attribute, of this name. Throws Error(data) if that cannot be found out:
/// what is damaged must not look like something else.
bool has_link(hid_t group, const std::string& name);
bool has_attribute(hid_t object, const char* name);

/// An attribute, open, and what it holds.
struct StoredAttribute {
  StoredAttribute(hid_t object, const std::string& name);
  bool read(hid_t as, void* out) const { return H5Aread(id.get(), as, out) >= 0; }
  bool is_number() const { return kind == H5T_INTEGER || kind == H5T_FLOAT; }

  Handle id, type;
  H5T_class_t kind;
  hssize_t count;  // of its values; negative: unknown
};

/// "/group/train" for "group//train/".
std::string normal_path(const std::string& path);

/// The normal path of what a user names: from the root or, without a slash in front, the only path of the file that
/// ends with this name where the root has none ("X_pca" for "/obsm/X_pca"). Throws Error(data) with all such paths if
/// there are several, and as find_object() if there is none.
std::string resolved_path(const Hdf5InputFile& file, const std::string& path);

/// "/obs" and "kind" for "/obs/kind"; the root is "".
std::pair<std::string, std::string> parted(const std::string& path);

/// Whether an object can be found at a normal path.
bool exists(const Hdf5InputFile& file, const std::string& path);

/// A dataset or link that for_each_dataset() visits.
struct VisitedObject {
  std::string path;
  Handle object;           // the open dataset; empty if it cannot be opened
  std::string unreadable;  // why it cannot be opened
  bool is_damaged = false;
};

/// Visits every dataset once, even if links form cycles or duplicates, and every link that leads out of the file. The
/// order is unspecified.
void for_each_dataset(const Hdf5InputFile& file, const std::function<void(VisitedObject)>& visit);

// The datasets and sparse matrices of an HDF5 file, and its root. These functions use the HDF5 library: call them with
// Hdf5Child.

/// All datasets and sparse matrices, in the order of the paths.
std::vector<DatasetInfo> list_open_file(const Hdf5InputFile& file);
/// All of the file; with `dataset`, that one, or those of that group. Throws Error(data) if there is none.
std::vector<DatasetInfo> list_file(const std::string& file, const std::string& dataset);
/// "/a (3 x 4, float32), /b (7, string)".
std::string show_datasets(const std::vector<DatasetInfo>& list);

/// The path of the table of a frame of pandas (HDFStore, format "table") in a group, if its columns have their names;
/// or empty.
std::string table_of_pandas(const Hdf5InputFile& file, const std::string& group);

/// Throws Error(data) with the command that converts it, if pandas wrote the group.
void refuse_pandas_frame(const Hdf5InputFile& file, const std::string& group);

/// The path of the only matrix of the file; if there is none and a vector may be a column, of the only vector. Throws
/// Error(data) if there is none, or more than one.
std::string only_dataset(const Hdf5InputFile& file, bool vector_as_column);

/// The path of hard links by which an object was opened.
std::string hard_link_path(hid_t object);

}  // namespace kith::data
