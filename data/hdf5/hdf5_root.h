// The root of an HDF5 file: its attributes, and the names of its members. For callers that do not know HDF5.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kith::data {

struct RootFacts {
  std::vector<std::pair<std::string, std::string>> texts;                 // attributes with one text
  std::vector<std::pair<std::string, std::vector<double>>> numbers;       // attributes with numbers
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> wholes;  // the same, as HDF5 converts them
  std::vector<std::string> members;
  std::vector<std::string> unreadable;  // attributes that cannot be read, and texts of another form

  /// The text of an attribute, or empty.
  std::string text(const std::string& attribute) const;
};
template <class Archive>
void each_field(Archive& archive, RootFacts& root) {
  archive(root.texts, root.numbers, root.wholes, root.members, root.unreadable);
}

/// Throws Error(data) with the reason if the file cannot be opened; with `verify_results`, also if the root of a result
/// of kith contradicts its checksum. Runs in another process: see Hdf5Child.
RootFacts read_root(const std::string& file, bool verify_results = false);

}  // namespace kith::data
