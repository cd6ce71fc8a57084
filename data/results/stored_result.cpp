// Reads result files of kith: attributes of the root, and datasets like any other HDF5 input.
#include "data/results/stored_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/format/formats.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

RootFacts root_of(const std::string& file, bool verify) {
  return is_hdf5(file) ? read_root(file, verify) : RootFacts();
}

std::string regular(const std::string& file) {
  require_regular(file, "a result of kith");
  return file;
}

/// What cannot be read must not pass for absent.
void require_readable(const std::string& file, const RootFacts& root, const std::string& name) {
  if (std::find(root.unreadable.begin(), root.unreadable.end(), name) == root.unreadable.end()) return;
  refuse_input(file,
               fmt::format("the attribute {} cannot be read; the file is damaged: restore it from a copy, or make "
                           "it again",
                           name));
}

/// The values of a root attribute; none if there is no such attribute.
template <class T>
std::vector<T> values_of(const std::vector<std::pair<std::string, std::vector<T>>>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&name](const auto& item) { return item.first == name; });
  return found == all.end() ? std::vector<T>() : found->second;
}

}  // namespace

StoredResult::StoredResult(const std::string& file)
    : file_(regular(file)), root_(root_of(file, true)), format_(root_.text("format")) {
  if (format_.starts_with("kith-")) return;
  refuse_input(file, fmt::format("expected a result of kith, an HDF5 file with the attribute `format`, found {}; `kith "
                                 "cluster ... -o RESULT.h5` writes one",
                                 format_.empty() ? "none" : kith::quoted(format_)));
}

bool StoredResult::is_one(const std::string& file) { return root_of(file, false).text("format").starts_with("kith-"); }

std::string StoredResult::text(const std::string& attribute) const {
  require_readable(file_, root_, attribute);
  return root_.text(attribute);
}

std::vector<std::string> StoredResult::lines(const std::string& attribute) const {
  return split_lines(text(attribute));
}

std::optional<double> StoredResult::number(const std::string& attribute) const {
  require_readable(file_, root_, attribute);
  const auto values = values_of(root_.numbers, attribute);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::optional<std::int64_t> StoredResult::whole(const std::string& attribute) const {
  const auto values = wholes(attribute);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::vector<std::int64_t> StoredResult::wholes(const std::string& attribute) const {
  require_readable(file_, root_, attribute);
  return values_of(root_.wholes, attribute);
}

bool StoredResult::has(const std::string& dataset) const {
  const std::size_t slash = dataset.find('/');
  const std::string member = dataset.substr(0, slash);
  const bool is_member = std::find(root_.members.begin(), root_.members.end(), member) != root_.members.end();
  if (!is_member || slash == dataset.npos) return is_member;
  const std::vector<DatasetInfo> all = list_hdf5({file_, "/" + member}, {});
  return std::any_of(all.begin(), all.end(), [&](const DatasetInfo& info) { return info.path == "/" + dataset; });
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

std::int64_t verify_result(const std::string& file) { return Hdf5Child::of(file)->call(file, &verify_file, file); }

}  // namespace kith::data
