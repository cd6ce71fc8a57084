// Attributes, texts and groups of HDF5 files as other programs write them, and runs of kith on such files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace kith::testing {

/// Texts of variable length.
class VariableText {
 public:
  VariableText() : id_(H5Tcopy(H5T_C_S1)) { H5Tset_size(id_, H5T_VARIABLE); }
  ~VariableText() { H5Tclose(id_); }
  VariableText(const VariableText&) = delete;
  VariableText& operator=(const VariableText&) = delete;
  hid_t id() const { return id_; }

 private:
  hid_t id_;
};

/// Writes an attribute of the object at `path`: a vector, or a scalar if `count` is 0.
inline void attribute(const FileMaker& maker, const std::string& path, const char* name, hid_t type, const void* values,
                      hsize_t count = 0) {
  const hid_t object = H5Oopen(maker.id(), path.c_str(), H5P_DEFAULT);
  const hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr);
  const hid_t written = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(written, type, values) >= 0);
  H5Aclose(written);
  H5Sclose(space);
  H5Oclose(object);
}
inline void attribute(const FileMaker& maker, const std::string& path, const char* name, const char* text) {
  attribute(maker, path, name, VariableText().id(), &text);
}
inline void attribute(const FileMaker& maker, const std::string& path, const char* name, double value) {
  attribute(maker, path, name, H5T_NATIVE_DOUBLE, &value);
}
inline void attribute(const FileMaker& maker, const std::string& path, const char* name, float value) {
  attribute(maker, path, name, H5T_NATIVE_FLOAT, &value);
}

inline void texts(FileMaker& maker, const std::string& path, const std::vector<const char*>& values) {
  const VariableText type;
  maker.dataset(path, type.id(), {values.size()}, type.id(), values.data());
}

/// A group with an encoding of AnnData.
inline void encoded(FileMaker& maker, const std::string& path, const char* encoding) {
  maker.group(path);
  attribute(maker, path, "encoding-type", encoding);
}

/// The statistics of `cluster -k 2` as JSON.
inline nlohmann::json clustered(const std::string& location, const Words& more = {}) {
  Words words{"cluster", location, "-k", "2", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return done(words).json();
}

/// The labels of `cluster -k 2`, one line each; -1 for dropped rows.
inline std::string labels_of(const std::string& location, const Words& more = {}) {
  Words words{"cluster", location, "-k", "2", "-q", "-o", "-"};
  words.insert(words.end(), more.begin(), more.end());
  return done(words).out;
}

/// The rows that are not dropped.
inline std::int64_t kept(const std::string& location, const Words& more = {"--nan", "drop"}) {
  const nlohmann::json clusters = clustered(location, more)["clusters"];
  return clusters["smallest"].get<std::int64_t>() + clusters["largest"].get<std::int64_t>();
}

}  // namespace kith::testing
