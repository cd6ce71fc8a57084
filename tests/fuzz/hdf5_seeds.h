// Small HDF5 files of every layout that kith reads or refuses, and the commands that read them: seeds of mutations.
#pragma once

#include <string>
#include <vector>

namespace kith::testing {

struct Hdf5Seed {
  std::string name;                                // of the file in the folder
  std::vector<std::vector<std::string>> commands;  // {} stands for the file
};

/// Writes all files into `folder`.
std::vector<Hdf5Seed> make_hdf5_seeds(const std::string& folder);

}  // namespace kith::testing
