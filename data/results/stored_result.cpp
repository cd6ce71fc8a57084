// Reads result files of kith: attributes of the root, and datasets like any other HDF5 input.
#include "data/results/stored_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_handle.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_source.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

std::string existing(const std::string& file) {
  if (std::filesystem::exists(file)) return file;
  refuse_input(file, "no such file; check the name and the directory");
}

/// Throws if HDF5 failed: what cannot be read must not pass for absent.
bool present(const std::string& file, const std::string& name, htri_t found) {
  if (found >= 0) return found > 0;
  refuse_input(file, fmt::format("{} cannot be read: {}", name, describe_damage(hdf5_reason())));
}

/// The text of a root attribute; empty if there is none, or if it is no text.
std::string attribute_text(const std::string& file, const std::string& name) {
  const Hdf5InputFile input(file);
  const Handle root = open_object(input, "/");
  if (!present(file, name, H5Aexists(root.get(), name.c_str()))) return "";
  if (std::string text = text_attribute(root.get(), name); !text.empty()) return text;
  const Handle attribute(H5Aopen(root.get(), name.c_str(), H5P_DEFAULT)), type(H5Aget_type(attribute.get()));
  present(file, name, type ? 1 : -1);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0) return "";
  std::vector<char> value(static_cast<std::size_t>(H5Aget_storage_size(attribute.get())));
  if (!value.empty()) present(file, name, H5Aread(attribute.get(), type.get(), value.data()));
  return {value.begin(), std::find(value.begin(), value.end(), '\0')};
}

std::string format_attribute(const std::string& file) { return is_hdf5(file) ? attribute_text(file, "format") : ""; }

/// The numbers of a root attribute; none if there is no such attribute.
template <class T>
std::vector<T> read_numbers(const std::string& file, const std::string& name, hid_t type) {
  const Hdf5InputFile input(file);
  const Handle root = open_object(input, "/");
  if (!present(file, name, H5Aexists(root.get(), name.c_str()))) return {};
  const Handle attribute(H5Aopen(root.get(), name.c_str(), H5P_DEFAULT));
  const Handle space(H5Aget_space(attribute.get()));
  std::vector<T> values(static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.get()), 0)));
  if (!values.empty()) present(file, name, H5Aread(attribute.get(), type, values.data()));
  return values;
}

}  // namespace

StoredResult::StoredResult(const std::string& file) : file_(existing(file)), format_(format_attribute(file)) {
  if (format_.starts_with("kith-")) {
    verify_head(Hdf5InputFile(file_));
    return;
  }
  refuse_input(file, fmt::format("expected a result of kith, an HDF5 file with the attribute `format`, found {}; `kith "
                                 "cluster ... -o RESULT.h5` writes one",
                                 format_.empty() ? "none" : format_));
}

bool StoredResult::is_one(const std::string& file) { return format_attribute(file).starts_with("kith-"); }

std::string StoredResult::text(const std::string& name) const { return attribute_text(file_, name); }

std::vector<std::string> StoredResult::lines(const std::string& attribute) const {
  return split_lines(text(attribute));
}

std::optional<double> StoredResult::number(const std::string& attribute) const {
  const auto values = read_numbers<double>(file_, attribute, H5T_NATIVE_DOUBLE);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::optional<std::int64_t> StoredResult::whole(const std::string& attribute) const {
  const auto values = wholes(attribute);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::vector<std::int64_t> StoredResult::wholes(const std::string& attribute) const {
  return read_numbers<std::int64_t>(file_, attribute, H5T_NATIVE_INT64);
}

bool StoredResult::has(const std::string& dataset) const {
  const Hdf5InputFile input(file_);
  const Handle root = open_object(input, "/");
  return present(file_, dataset, H5Lexists(root.get(), dataset.c_str(), H5P_DEFAULT));
}

Matrix<double> StoredResult::matrix(const std::string& dataset) const {
  const auto source = open_hdf5({file_, "/" + dataset},
                                {.precision = Precision::f64, .vector_as_column = true, .missing = Missing::keep});
  return std::get<Matrix<double>>(read_all(*source));
}

std::vector<double> StoredResult::vector(const std::string& dataset) const {
  const Matrix<double> values = matrix(dataset);
  return {values.data(), values.data() + values.size()};
}

}  // namespace kith::data
