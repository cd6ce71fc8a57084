// The input files for the tests of wrong inputs and options, in one folder.
#pragma once

#include <cmath>

#include "tests/support/program.h"

namespace kith::testing {

inline void make_texts(const Scratch& folder) {
  const auto text = [&folder](const char* name, const std::string& bytes) { write_bytes(folder / name, bytes); };
  text("p.csv", "x,y\n0,0\n0,1\n1,0\n9,9\n9,8\n8,9\n");
  text("q.csv", "x,y,z\n0,0,1\n0,1,2\n1,0,3\n");
  text("named.csv", "name,x,y,kind\na,0,0,u\nb,0,1,v\n");
  text("empty_field.csv", "x,y\n1,2\n3,\n5,6\n");
  std::string late = "x,y\n";
  for (int i = 0; i < 25; ++i) late += "1,2\n";
  text("word.csv", late + "3,none\n");
  text("ragged.csv", "x,y\r\n1,2\r\n3,4,5\r\n");
  text("bom.csv", "\xef\xbb\xbfx,y\n1,2\n3\n");
  text("decimal.csv", "x;y\n1,5;2\n2,5;3\n");
  text("nan.csv", "x,y\n1,2\nnan,4\n");
  text("inf.csv", "x,y\n1,2\n4,-inf\n");
  text("huge.csv", "x,y\n1,2\n4,1e999\n");
  text("counts.csv", "0,1,2\n5,6,7\n8,9,9\n");
  text("quote.csv", "x,y\n1,2\n\"3\",\"4\n5,6\n");
  text("none.csv", "# nothing\n\n");
  text("head.csv", "x,y\n");
  text("cut.csv.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b", 11));
  text("utf16.csv", std::string("\xff\xfe\x31\0,\0\x32\0\n\0", 10));
  text("nul.csv", std::string("1,2\n3,\0004\n5,6\n", 13));
  text("image.png", "\x89PNG\r\n\x1a\n" + std::string(40, '\0'));
}

/// Weights, labels, classes.
inline void make_columns(const Scratch& folder) {
  const auto text = [&folder](const char* name, const std::string& bytes) { write_bytes(folder / name, bytes); };
  text("w.csv", "w\n1\n-2\n1\n1\n1\n1\n");
  text("w_nan.csv", "w\n1\n1\n1\nnan\n1\n1\n");
  text("w_inf.csv", "w\n1\n1\ninf\n1\n1\n1\n");
  text("w_word.csv", "w\n1\n1\n1\n1\n1\nmuch\n");
  text("w_small.csv", "w\n1\n1e-30\n1.5\n1\n1\n1\n");
  text("w0.csv", "w\n0\n0\n0\n0\n0\n0\n");
  text("w5.csv", "w\n1\n1\n1\n1\n1\n");
  text("l.csv", "label\na\na\na\nb\nb\nb\n");
  text("l5.csv", "label\na\na\na\nb\nb\n");
  text("same.csv", "label\na\na\na\na\na\na\n");
  text("noise.csv", "label\n0\n0\n-1\n1\n1\n1\n");
  text("holes.csv", "id,kind\n0,a\n1,\n2,b\n");
  text("words.csv", "x\ny\nx\n");
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + header + "\n" + values;
}

inline std::string numbers(const std::vector<std::int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int32_t)};
}

inline void make_arrays(const Scratch& folder) {
  write_bytes(folder / "pickle.npy", npy("|O", "(3,)", std::string(30, 'x')));
  write_bytes(folder / "cut.npy", npy("<f4", "(100, 4)", std::string(64, '\0')));
  write_bytes(folder / "cube.npy", npy("<f4", "(2, 2, 2)", std::string(32, '\0')));
  write_bytes(folder / "bomb.npy", npy("<f4", "(4294967296, 4294967296)", std::string(32, '\0')));
  write_bytes(folder / "text.npy", npy("<U4", "(2, 2)", std::string(64, '\0')));
  write_bytes(folder / "nan.npy", npy("<f4", "(3, 2)", raw({1, 2, 3, 4, 5, NAN})));
  write_bytes(folder / "header.npy", "\x93NUMPY\x01" + std::string(1, '\0') + "\xff\xff{'descr'");
  write_bytes(folder / "cut.npz", "PK\x03\x04" + std::string(60, '\0'));
  write_bytes(folder / "changing.fvecs", numbers({2}) + raw({1, 2}) + numbers({3}) + raw({1, 2, 3}));
  write_bytes(folder / "long.fbin", numbers({2, 2}) + raw({1, 2, 3, 4, 5}));
  write_bytes(folder / "nan.fbin", numbers({2, 2}) + raw({1, 2, 3, NAN}));
}

inline void make_hdf5(const Scratch& folder) {
  FileMaker maker(folder / "x.h5");
  maker.floats("ok", {6, 2}, {0, 0, 0, 1, 1, 0, 9, 9, 9, 8, 8, 9});
  maker.floats("nan", {2, 2}, {1, 2, 3, NAN});
  maker.floats("vector", {4}, {1, 2, 3, 4});
  maker.floats("half", {6}, {0, 0.5F, 1, 1, 1, 0});
  maker.floats("cube", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  maker.floats("zero", {2, 2}, {1, 2, 0, 0});
  maker.dataset("rows", H5T_IEEE_F32LE, {0, 3}, H5T_NATIVE_FLOAT, nullptr);
  const std::int64_t big[] = {1, (std::int64_t{1} << 53) + 1};
  maker.dataset("big", H5T_STD_I64LE, {2, 1}, H5T_NATIVE_INT64, big);
  const double far[] = {1e200, -1e200};
  maker.dataset("far", H5T_IEEE_F64LE, {2, 1}, H5T_NATIVE_DOUBLE, far);
  const hid_t word = H5Tcopy(H5T_C_S1);
  maker.dataset("words", word, {2, 1}, word, "ab");
  H5Tclose(word);
  maker.floats("lists", {6, 1}, {1, 0, 0, 4, 3, 6});
  maker.group("group");
  maker.floats("group/inner", {2, 2}, {1, 2, 3, 4});
  H5Lcreate_external("y.h5", "/x", maker.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
  const std::string digits = bytes_of(kDigits);
  write_bytes(folder / "digits.h5", digits);
  write_bytes(folder / "cut.h5", digits.substr(0, 20000));
  std::string damaged = digits;
  damaged[30000] = static_cast<char>(~damaged[30000]);
  write_bytes(folder / "damaged.h5", damaged);
}

/// Writes all files, and an empty folder.
inline void make_wrong_inputs(const Scratch& folder) {
  std::filesystem::create_directory(folder / "folder");
  make_texts(folder);
  make_columns(folder);
  make_arrays(folder);
  make_hdf5(folder);
}

}  // namespace kith::testing
