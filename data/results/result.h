// Writes results: an HDF5 file that appears under its name only when it is complete, synced and checked.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/points/matrix.h"
#include "data/io/output_file.h"

namespace kith::data {

/// A text of variable length, which h5py reads as str, not as bytes.
struct Text {
  std::string value;
};
using Attribute = std::variant<std::string, Text, std::int64_t, std::uint64_t, double, std::vector<std::int64_t>>;
/// Signed, as all whole numbers of results are, unless it is too large for that.
inline Attribute seed_attribute(std::uint64_t seed) {
  const bool is_signed = seed <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return is_signed ? Attribute(static_cast<std::int64_t>(seed)) : Attribute(seed);
}

/// An element of a vector of texts in UTF-8, padded with zeros.
template <std::size_t width>
struct FixedText {
  char bytes[width];
};

/// A result in a temporary file next to the target. finish() syncs, reopens, checks and renames it. The destructor
/// without finish(), or a signal, removes it. The same calls give the same bytes.
class ResultFile {
 public:
  ResultFile(const std::string& path, const OutputOptions& options);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void attribute(const std::string& name, const Attribute& value);  // on the root
  /// Creates a group for datasets whose names begin with "NAME/".
  void group(const std::string& name);
  /// A name with slashes stands for a dataset in a group, which is created with its first dataset.
  void dataset(const std::string& name, std::span<const std::int32_t> values);
  void dataset(const std::string& name, std::span<const std::int64_t> values);
  void dataset(const std::string& name, std::span<const float> values);
  void dataset(const std::string& name, std::span<const double> values);
  void dataset(const std::string& name, MatrixView<const double> values);

  /// A matrix, or a vector (rows of one column), that write_rows() writes in blocks. Element: float, double,
  /// std::int32_t, std::int64_t, std::uint8_t, FixedText<16, 64, 256 or 4096>.
  template <class T>
  void create_matrix(const std::string& name, std::int64_t rows, std::int64_t columns);
  template <class T>
  void create_vector(const std::string& name, std::int64_t size);
  template <class T>
  void write_rows(const std::string& name, std::int64_t first_row, MatrixView<const T> values);

  void finish();

  /// OutputOptions::marks
  const std::vector<std::string>& marks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
