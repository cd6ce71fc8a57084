// Finding objects inside an HDF5 file link by link, so that no link can lead out of it.
#pragma once

#include <functional>
#include <string>

#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// Opens the object at `path` ("/train", "train", "/group/train"). Hard links and soft links are followed, external and
/// user-defined links are refused wherever they stand, before anything behind them is touched.
/// Throws Error(data): what is missing and what is there instead.
Handle open_object(const Hdf5InputFile& file, const std::string& path);

/// "/group/train" for "group//train/".
std::string normal_path(const std::string& path);

/// An object that listing a file comes across.
struct FoundObject {
  std::string path;
  Handle object;           // a dataset, open; empty when it cannot be opened
  std::string unreadable;  // why it cannot
};

/// Visits every dataset once, whatever cycles and doublings the links make, and every link that leads out of the file.
/// In no particular order.
void for_each_dataset(const Hdf5InputFile& file, const std::function<void(FoundObject)>& visit);

}  // namespace kith::data
