// Heads of NumPy arrays, records in them, and archives of arrays.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "data/io/output_bytes.h"

namespace kith::data {

/// The bytes before the values of a .npy file of format 1.0. `type` is NumPy's descr, quoted or a list: "'<i4'". The
/// length depends only on `type` and the number of dimensions.
std::string numpy_head(const std::string& type, const std::vector<std::int64_t>& shape);

template <class T>
constexpr const char* numpy_type() {
  if constexpr (std::is_same_v<T, bool>) return "|b1";
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, double>) return "<f8";
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
}

/// NumPy's descr of records with fields of these names and types, one after another.
template <class... T>
std::string record_type(const std::array<const char*, sizeof...(T)>& names) {
  std::string out = "[";
  const char* types[] = {numpy_type<T>()...};
  for (std::size_t i = 0; i < names.size(); ++i) out += fmt::format("('{}', '{}'), ", names[i], types[i]);
  out.resize(out.size() - 2);
  return out + "]";
}

template <class... T>
struct RecordBytes {
  static constexpr std::int64_t size = (std::int64_t{sizeof(T)} + ...);
};

/// Appends the bytes of a record.
template <class... T>
void append_record(std::string& out, const T&... values) {
  (out.append(reinterpret_cast<const char*>(&values), sizeof(T)), ...);
}

/// A SciPy CSR matrix as scipy.sparse.save_npz(compressed=False) writes it, which appears when it is complete.
class SparseArchive {
 public:
  /// begin (rows + 1): the first edge of each row. value_type: "<f4" or "<f8". Throws Error(output).
  SparseArchive(const std::string& path, const OutputOptions& options, const std::vector<std::int64_t>& begin,
                std::int64_t columns, const std::string& value_type);
  ~SparseArchive();
  /// The next `count` edges: their columns, and their values in the type of the archive.
  void append(const std::int64_t* columns, const void* values, std::int64_t count);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
