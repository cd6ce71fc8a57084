// Writes the matrix with the HDF5 library in a child process, some values at a time, and reads it back.
#include "data/results/obsp_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/hdf5_path.h"
#include "data/io/checksum.h"
#include "data/results/copied_file.h"

namespace kith::data {

/// What the child needs to know: names as in NewColumn, and sizes.
struct NewMatrix {
  std::string copy, output, name;
  std::int64_t rows = 0, values = 0;
  bool single = false;
};
template <class Archive>
void each_field(Archive& archive, NewMatrix& matrix) {
  archive(matrix.copy, matrix.output, matrix.name, matrix.rows, matrix.values, matrix.single);
}

namespace {

constexpr const char* kIndices = "indices";
constexpr const char* kStarts = "indptr";
constexpr const char* kData = "data";

struct OpenMatrix {
  NewMatrix matrix;
  Handle file, group, indices, starts, data;
};

/// Never destroyed, because the library would then write to a copy that was given up.
OpenMatrix* open_matrix = nullptr;

void begin_matrix(const NewMatrix& matrix) {
  prepare_hdf5();
  const CopyChecker check(matrix.output);
  auto open = std::make_unique<OpenMatrix>();
  open->matrix = matrix;
  open->file = open_copy(matrix.copy, H5F_ACC_RDWR);
  check(static_cast<bool>(open->file), "opening the copy");
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  const auto make_group = [&](hid_t parent, const char* name) {
    Handle made(H5Gcreate2(parent, name, H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    check(static_cast<bool>(made), "creating a group");
    return made;
  };
  Handle all;
  if (H5Lexists(open->file.get(), "obsp", H5P_DEFAULT) > 0) {
    all = Handle(H5Gopen2(open->file.get(), "obsp", H5P_DEFAULT));
    check(static_cast<bool>(all), "opening obsp");
  } else {
    all = make_group(open->file.get(), "obsp");
    write_encoding(check, all.get(), "dict", "0.1.0");
  }
  open->group = make_group(all.get(), matrix.name.c_str());
  write_encoding(check, open->group.get(), "csr_matrix", "0.1.0");
  const hsize_t two = 2;
  const std::int64_t shape[] = {matrix.rows, matrix.rows};
  const Handle space(H5Screate_simple(1, &two, nullptr));
  const Handle attribute(H5Acreate2(open->group.get(), "shape", H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), H5T_NATIVE_INT64, shape) >= 0, "writing an attribute");
  const auto make = [&](const char* name, hid_t type, std::int64_t size) {
    return make_vector(check, open->group.get(), name, type, size);
  };
  open->indices = make(kIndices, H5T_STD_I64LE, matrix.values);
  open->starts = make(kStarts, H5T_STD_I64LE, matrix.rows + 1);
  open->data = make(kData, matrix.single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, matrix.values);
  open_matrix = open.release();
}

void write_starts(std::int64_t first, const std::vector<std::int64_t>& starts) {
  const CopyChecker check(open_matrix->matrix.output);
  write_values(check, open_matrix->starts.get(), H5T_NATIVE_INT64, first, std::ssize(starts), starts.data());
}

void write_entries(std::int64_t first, const std::vector<std::int64_t>& columns, const std::vector<double>& values) {
  const CopyChecker check(open_matrix->matrix.output);
  write_values(check, open_matrix->indices.get(), H5T_NATIVE_INT64, first, std::ssize(columns), columns.data());
  write_values(check, open_matrix->data.get(), H5T_NATIVE_DOUBLE, first, std::ssize(values), values.data());
}

void finish_matrix() {
  OpenMatrix& open = *open_matrix;
  const CopyChecker check(open.matrix.output);
  for (Handle* object : {&open.indices, &open.starts, &open.data, &open.group}) *object = Handle();
  check(H5Fflush(open.file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
  check(H5Fclose(open.file.release()) >= 0, "closing");
}

/// As find_wrong() for a column; checksums: of starts, columns and values.
std::string find_wrong_matrix(const std::string& original, const NewMatrix& matrix,
                              const std::vector<std::int64_t>& checksums) {
  const Hdf5InputFile input(original);
  const Handle copy = open_copy(matrix.copy, H5F_ACC_RDONLY);
  if (!copy) return "the file";
  const bool extends = H5Lexists(input.id(), "obsp", H5P_DEFAULT) > 0;
  const Addition addition{extends ? "/obsp" : "/", extends ? matrix.name : "obsp", ""};
  const std::string change = find_change(input, copy.get(), addition);
  if (!change.empty()) return change;
  const Handle group(H5Gopen2(copy.get(), ("/obsp/" + matrix.name).c_str(), H5P_DEFAULT));
  const auto has = [&](const char* name, hid_t type, std::int64_t size, std::int64_t checksum) {
    return has_values(Handle(H5Dopen2(group.get(), name, H5P_DEFAULT)).get(), type, size, checksum);
  };
  const bool same = has(kStarts, H5T_NATIVE_INT64, matrix.rows + 1, checksums[0]) &&
                    has(kIndices, H5T_NATIVE_INT64, matrix.values, checksums[1]) &&
                    has(kData, H5T_NATIVE_DOUBLE, matrix.values, checksums[2]);
  return same ? "" : "/obsp/" + matrix.name;
}

}  // namespace

struct ObspMatrix::State {
  OutputFile output;
  Hdf5Child child;  // the copy is as foreign as the file
  std::string from;
  NewMatrix matrix;
  std::int64_t written = 0;
  Checksum starts, columns, values;

  State(const std::string& path, const OutputOptions& options, const std::string& original)
      : output(path, options), child(original), from(original) {}
};

ObspMatrix::ObspMatrix(const std::string& path, const OutputOptions& options, const Place& place,
                       const std::vector<std::int64_t>& begin)
    : state_(std::make_unique<State>(path, options, place.from)) {
  copy_bytes(place.from, state_->output);
  const std::int64_t size = std::ssize(begin);
  state_->matrix = {
      state_->output.descriptor_path(), state_->output.name(), place.name, size - 1, begin.back(), place.single};
  state_->output.require_space((place.single ? 12 : 16) * begin.back() + 8 * size);
  state_->child.call(place.from, &begin_matrix, state_->matrix);
  for (std::int64_t first = 0; first < size; first += kValuesAtOnce) {
    const std::int64_t end = std::min(first + kValuesAtOnce, size);
    state_->child.call(place.from, &write_starts, first,
                       std::vector<std::int64_t>(begin.begin() + first, begin.begin() + end));
  }
  state_->starts.add(begin.data(), begin.size() * sizeof(std::int64_t));
}

ObspMatrix::~ObspMatrix() = default;

void ObspMatrix::append(const std::vector<std::int64_t>& columns, const std::vector<double>& values) {
  for (std::int64_t first = 0; first < std::ssize(columns); first += kValuesAtOnce) {
    const std::int64_t end = std::min(first + kValuesAtOnce, std::ssize(columns));
    state_->child.call(state_->from, &write_entries, state_->written + first,
                       std::vector<std::int64_t>(columns.begin() + first, columns.begin() + end),
                       std::vector<double>(values.begin() + first, values.begin() + end));
  }
  state_->columns.add(columns.data(), columns.size() * sizeof(std::int64_t));
  state_->values.add(values.data(), values.size() * sizeof(double));
  state_->written += std::ssize(columns);
}

void ObspMatrix::finish() {
  State& s = *state_;
  s.child.call(s.from, &finish_matrix);
  s.output.sync();
  const std::vector<std::int64_t> checksums{s.starts.value(), s.columns.value(), s.values.value()};
  const std::string wrong = s.child.call(s.from, &find_wrong_matrix, s.from, s.matrix, checksums);
  require_intact(wrong, s.output.name(), s.from);
  s.output.publish();
}

}  // namespace kith::data
