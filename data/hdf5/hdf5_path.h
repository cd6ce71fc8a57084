// Finds objects inside an HDF5 file link by link, so that no link can lead out of the file.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

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

/// "/group/train" for "group//train/".
std::string normal_path(const std::string& path);

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

}  // namespace kith::data
