// Writing results: an HDF5 file that appears under its name only when it is whole, synced and checked.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/matrix.h"

namespace kith::data {

struct OutputOptions {
  bool force = false;                    // replace an existing regular file
  std::vector<std::string> inputs = {};  // files that are never overwritten, by identity, not by name
  /// The usual ending of the result's name, then others that it may have; one that stands for another format is
  /// refused.
  std::vector<std::string> endings = {".h5"};
};

/// Checks before any work is done that `path` can be written: directory exists and is writable, target absent or
/// replaceable, regular, not an input. Throws Error(output) with the reason and remedy.
void check_output(const std::string& path, const OutputOptions& options);

/// A text as h5py writes it: of variable length, which it gives back as str, not as bytes.
struct Text {
  std::string value;
};
using Attribute = std::variant<std::string, Text, std::int64_t, double, std::vector<std::int64_t>>;

/// A result under construction in a temporary file beside the target. finish() syncs, re-opens and checks it and
/// renames it; a destructor without finish(), and a signal, remove it. Same calls, same bytes.
class ResultFile {
 public:
  ResultFile(const std::string& path, const OutputOptions& options);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void attribute(const std::string& name, const Attribute& value);  // on the root
  /// A group, for datasets whose names begin with "NAME/".
  void group(const std::string& name);
  /// A name with slashes is that of a dataset in a group, which is made with the first one in it.
  void dataset(const std::string& name, std::span<const std::int32_t> values);
  void dataset(const std::string& name, std::span<const std::int64_t> values);
  void dataset(const std::string& name, std::span<const float> values);
  void dataset(const std::string& name, std::span<const double> values);
  void dataset(const std::string& name, MatrixView<const double> values);

  /// A matrix, or a vector (its rows have one column), that is written in row blocks. Element: float, double,
  /// std::int32_t, std::int64_t, std::uint8_t.
  template <class T>
  void create_matrix(const std::string& name, std::int64_t rows, std::int64_t columns);
  template <class T>
  void create_vector(const std::string& name, std::int64_t size);
  template <class T>
  void write_rows(const std::string& name, std::int64_t first_row, MatrixView<const T> values);

  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Removes the temporary files of this process and says whether there was one; async-signal-safe.
bool remove_temporary_files_from_signal() noexcept;

}  // namespace kith::data
