// The datasets that stay open between calls of other processes. These functions use the HDF5 library.
#pragma once

#include <cstdint>

#include "data/hdf5/hdf5_inspect.h"

namespace kith::data {

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

}  // namespace kith::data
