// Matrices of other programs: MatrixMarket, svmlight, MATLAB, arrays on standard input, zstd.
#include <cstring>

#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

/// The distances between all points of a file, as text.
std::string rows_of(const std::string& file, const Words& more = {}, const std::string& input = {}) {
  Words words{"distances", file, "--metric", "manhattan"};
  words.insert(words.end(), more.begin(), more.end());
  return done(words, {.standard_input = input}).out;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Deflated with the header of gzip (window 16 + MAX_WBITS) or zlib (MAX_WBITS).
std::string deflated(const std::string& bytes, int window) {
  std::string packed(bytes.size() + 200, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A part of a MATLAB file: its type, its size, and its bytes up to a multiple of 8.
std::string part(int type, const std::string& bytes) {
  std::string text = little(type, 4) + little(bytes.size(), 4) + bytes;
  return text + std::string((8 - text.size() % 8) % 8, '\0');
}

/// A variable of a class; `values`: the parts with its values.
std::string variable(int code, const std::string& name, const std::vector<std::int32_t>& shape,
                     const std::string& values, int flags = 0) {
  return part(14, part(6, little(code | flags << 8, 8)) + part(5, raw(shape)) + part(1, name) + values);
}

std::string matlab(const std::vector<std::string>& variables, bool compressed) {
  std::string file = "MATLAB 5.0 MAT-file, made for a test";
  file.resize(124, ' ');
  file += little(0x100, 2) + "IM";
  for (const std::string& one : variables) {
    const std::string packed = compressed ? deflated(one, MAX_WBITS) : "";
    file += compressed ? little(15, 4) + little(packed.size(), 4) + packed : one;
  }
  return file;
}

const std::string kTable = "1,0,0,2.5\n0,0,0,0\n0,-3,0,4\n";
const std::string kTransposed = "1,0,0\n0,0,-3\n0,0,0\n2.5,0,4\n";
const std::string kMarket =
    "%%MatrixMarket matrix coordinate real general\n% made\n3 4 5\n3 4 4\n\n1 1 1\n1 4 2\n3 2 -3\n1 4 .5\n";

}  // namespace

TEST_CASE("MatrixMarket files hold the points of the same table") {
  const Scratch folder;
  const std::string file = folder / "x.mtx", table = folder / "x.csv", across = folder / "y.csv";
  write_bytes(table, kTable);
  write_bytes(across, kTransposed);
  write_bytes(file, kMarket);
  const std::string expected = rows_of(table), expected_across = rows_of(across);
  CHECK(rows_of(file) == expected);  // an entry that occurs twice is added up
  CHECK(rows_of(file, {"--transpose"}) == expected_across);
  CHECK(rows_of("-", {}, file) == expected);
  CHECK(rows_of(file, {"--transpose", "--columns", "1,3-4"}) == rows_of(table, {"--transpose", "--columns", "1,3-4"}));
  const Outcome info = done({"info", file});
  CHECK(info.out.find("3 x 4") != std::string::npos);
  CHECK(info.out.find("sparse, real") != std::string::npos);

  write_bytes(file,
              "%%MatrixMarket MATRIX Array Integer General\r\n3 "
              "4\r\n1\r\n0\r\n0\r\n0\r\n0\r\n-3\r\n0\r\n0\r\n0\r\n2\r\n0\r\n4\r\n");
  write_bytes(table, "1,0,0,2\n0,0,0,0\n0,-3,0,4\n");
  CHECK(rows_of(file) == rows_of(table));
  write_bytes(table, "1,2,0\n2,0,5\n0,5,3\n");
  for (const char* symmetric : {"coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 5\n3 3 3\n",
                                "array real symmetric\n3 3\n1\n2\n0\n0\n5\n3\n"}) {
    write_bytes(file, std::string("%%MatrixMarket matrix ") + symmetric);
    CHECK(rows_of(file) == rows_of(table));
  }
  write_bytes(table, "0,-2,-7\n2,0,-5\n7,5,0\n");
  for (const char* skew :
       {"coordinate real skew-symmetric\n3 3 3\n3 1 7\n2 1 2\n3 2 5\n", "array real skew-symmetric\n3 3\n2\n7\n5\n"}) {
    write_bytes(file, std::string("%%MatrixMarket matrix ") + skew);
    CHECK(rows_of(file) == rows_of(table));
  }
  write_bytes(table, "0,1\n1,0\n");
  write_bytes(file, "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n");
  CHECK(rows_of(file) == rows_of(table));

  // As SciPy writes and reads them.
  write_bytes(table, "3,5\n5,0\n");
  for (const char* text : {"%%MatrixMarket matrix coordinate unsigned-integer symmetric\n%\n2 2 2\n1 1 3\n2 1 5\n",
                           "%%MatrixMarket matrix array unsigned-integer general\n2 2\n3\n5\n5\n0\n",
                           "%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n1 1 3\n2 1 5\n",
                           "%MatrixMarket matrix coordinate real general\n\n  % sizes\n   \n2 2 3 % and more\n\n1 1 3 "
                           "% x\n1 2 5\n\n2 1 5\n\n"}) {
    INFO(text);
    write_bytes(file, text);
    CHECK(rows_of(file) == rows_of(table));
  }

  // 10x Genomics writes genes x cells and the names of both beside it.
  write_bytes(file, kMarket);
  write_bytes(folder / "barcodes.tsv.gz", "");
  CHECK(done({"cluster", file, "-k", "2"}).says("--transpose makes the cells the points"));
  CHECK_FALSE(done({"cluster", file, "-k", "2", "--transpose"}).says("makes the cells the points"));
  const Scratch geo;  // whose files begin with the name of the sample
  write_bytes(geo / "GSM1_matrix.mtx", kMarket);
  CHECK_FALSE(done({"cluster", geo / "GSM1_matrix.mtx", "-k", "2"}).says("makes the cells the points"));
  write_bytes(geo / "GSM1_barcodes.tsv.gz", "");
  CHECK(done({"cluster", geo / "GSM1_matrix.mtx", "-k", "2"}).says("--transpose makes the cells the points"));
  write_bytes(folder / "matrix.mtx", kMarket);
  refuses(3, {"cluster", folder / "", "-k", "2"}, {"10x Genomics", "give its matrix.mtx, with --transpose"});
}

TEST_CASE("MatrixMarket files with errors are refused with the line") {
  const Scratch folder;
  const std::string file = folder / "x.mtx", begin = "%%MatrixMarket matrix coordinate real general\n";
  struct Fault {
    std::string text;
    Words said;
  };
  for (const Fault& fault : {
           Fault{begin + "2 2 2\n1 1 1\n3 1 1\n", {"line 4: expected a row from 1 to 2", "found '3'"}},
           Fault{begin + "2 2 2\n1 1 1\n1 0 1\n", {"line 4: expected a row from 1 to 2", "found '0'"}},
           Fault{begin + "2 2 2\n1 1 1\n1 1 x\n", {"line 4: expected a number, found 'x'"}},
           Fault{begin + "2 2 2\n1 1 1\n1 1\n", {"line 4: expected a number, found ''"}},
           Fault{begin + "2 2 2\n1 1 1\n1 1 1 1\n", {"line 4: expected a row, a column and a value, found more"}},
           Fault{begin + "2 2 3\n1 1 1\n1 2 1\n", {"line 2: expected 3 entries, as line 2 says, found 2"}},
           Fault{begin + "2 2 1\n1 1 1\n1 2 1\n", {"line 4: expected 1 entries, as line 2 says, found more"}},
           Fault{begin + "2 2\n1 1 1\n", {"line 2: expected 3 whole numbers, the sizes"}},
           Fault{begin + "2 2 1\n1 1 nan\n", {"row 1, column 1", "found NaN"}},
           Fault{begin + "999999999999 2 1\n1 1 1\n", {"line 2: expected less than 2^31 rows"}},
           Fault{begin + "9999999999999 9999999999999 1\n1 1 1\n", {"x.mtx: declared as"}},
           Fault{begin, {"found nothing but comments"}},
           Fault{"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
                 {"line 1: expected real or integer numbers", "found complex numbers", "real parts"}},
           Fault{"%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 0\n", {"found complex numbers"}},
           Fault{"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 x\n",
                 {"line 3: expected a number"}},
           Fault{"%%MatrixMarket matrix array real symmetric\n2 3\n1\n", {"line 2: expected a square matrix"}},
       }) {
    INFO(fault.text);
    write_bytes(file, fault.text);
    refuses(3, {"cluster", file, "-k", "1"}, fault.said);
  }
  refuses(3, {"cluster", file + ":x", "-k", "1"}, {"expected the file only"});
  // Memory is checked before it is taken.
  write_bytes(file, begin + "2000000000 2 1\n1 1 1\n");
  refuses(6, {"cluster", file, "-k", "1", "--memory", "100MB"}, {"x.mtx", "--memory"});
}

TEST_CASE("svmlight files that are used together have the same columns, and count them from the same index") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto lists = [&](const Words& words) { return done(words, there).out; };
  write_bytes(folder / "base.svm", "0 1:9 2:8 3:7 4:6\n1 2:1\n1 1:1 2:2\n");
  write_bytes(folder / "query.svm", "1 1:1 2:3\n0 1:9 3:7\n");
  const std::string found = lists({"knn", "base.svm", "--queries", "query.svm", "-k", "1"});
  CHECK(found == "0\t2\t1\n1\t0\t10\n");
  // A query of more features than the base has: these are 0 in the base.
  CHECK(lists({"knn", "query.svm", "--queries", "base.svm", "-k", "1"}) ==
        "0\t1\t10\n1\t0\t2.23606797749979\n2\t0\t1\n");
  // The same with indices from 0; one of the two files has that index.
  write_bytes(folder / "base0.svm", "0 0:9 1:8 2:7 3:6\n1 1:1\n1 0:1 1:2\n");
  write_bytes(folder / "query0.svm", "1 1:3 2:5\n0 1:0 2:7\n");
  write_bytes(folder / "base.csv", "9,8,7,6\n0,1,0,0\n1,2,0,0\n");
  write_bytes(folder / "query.csv", "0,3,5,0\n0,0,7,0\n");
  const std::string from0 = lists({"knn", "base.csv", "--queries", "query.csv", "-k", "2", "--precision", "f64"});
  for (const char* base : {"base0.svm", "base.csv"}) {
    CHECK(lists({"knn", base, "--queries", "query0.svm", "-k", "2", "--precision", "f64", "--index-base",
                 base[4] == '0' ? "auto" : "0"}) == from0);
  }
  CHECK(done({"knn", "base0.svm", "--queries", "query0.svm", "-k", "1", "--json"}, there).json()["points"]["columns"] ==
        4);
  CHECK(lists({"knn", "base0.svm", "--queries", "query0.svm", "-k", "1", "--columns", "4"}) == "0\t1\t0\n1\t1\t0\n");
  CHECK(lists({"distances", "query0.svm", "base0.svm"}) == lists({"distances", "query.csv", "base.csv"}));
  // A result keeps the first index and the width.
  done({"cluster", "base0.svm", "-k", "2", "--init", "first", "-q", "-o", "from0.h5"}, there);
  done({"cluster", "base.csv", "-k", "2", "--init", "first", "-q", "-o", "table.h5"}, there);
  CHECK(lists({"assign", "query0.svm", "--centroids", "from0.h5", "-o", "-"}) ==
        lists({"assign", "query.csv", "--centroids", "table.h5", "-o", "-"}));
  done({"assign", "query0.svm", "--centroids", "from0.h5", "--save-distances", "-q", "-o", "a.h5"}, there);
  done({"assign", "query.csv", "--centroids", "table.h5", "--save-distances", "-q", "-o", "b.h5"}, there);
  CHECK(stored(folder / "a.h5:/distances") == stored(folder / "b.h5:/distances"));
  done({"cluster", "base.svm", "-k", "2", "-q", "-o", "from1.h5"}, there);
  refuses(3, {"assign", "base0.svm", "--centroids", "from1.h5"},
          {"base0.svm: expected indices from 1", "--index-base 0"}, there);
  write_bytes(folder / "wide.svm", "1 1:1 6:2\n0 1:9 3:7\n");
  refuses(3, {"assign", "wide.svm", "--centroids", "from1.h5"}, {"expected 6 columns", "found 4", "--columns 1-4"},
          there);
  refuses(3, {"knn", "base.csv", "--queries", "wide.svm", "-k", "1"}, {"expected 4 columns", "found 6"}, there);
  CHECK(done({"cluster", "base.csv", "-k", "2", "--index-base", "0"}, there).says("--index-base has no effect"));
}

TEST_CASE("svmlight files hold the points of the same table, and their labels") {
  const Scratch folder;
  const std::string file = folder / "x.dat", table = folder / "x.csv";
  write_bytes(table, kTable);
  for (const char* text : {"# made\n1 1:1 4:2.5 # x\n-1\n1 qid:3 2:-3 4:4\n", "1 0:1 3:2.5\r\n-1 \r\n+1 1:-3e0 3:4"}) {
    write_bytes(file, text);
    CHECK(rows_of(file) == rows_of(table));
    CHECK(rows_of("-", {}, file) == rows_of(table));
    CHECK(rows_of(file, {"--transpose"}) == rows_of(table, {"--transpose"}));
    CHECK(rows_of(file, {"--columns", "2,4"}) == rows_of(table, {"--columns", "2,4"}));
    write_bytes(folder / "labels.csv", "label\n0\n1\n0\n");
    CHECK(done({"evaluate", folder / "labels.csv", "--truth", file + ":label"}).out.find("Rand index            1") !=
          std::string::npos);
  }
  CHECK(done({"info", file, "--stats"}).out.find("3 x 4") != std::string::npos);
  write_bytes(folder / "y.svm", "1 1:5\n2 2:6\n");  // too few pairs to be known without the name
  CHECK(done({"info", folder / "y.svm"}).out.find("2 x 2") != std::string::npos);
  for (const auto& [text, said] :
       {std::pair{"1 1:1 2:1\n1 1:1 1:2\n",
                  "line 2: expected ascending indices from 0 or 1, less than 2^31 - 1, found 1 after 1"},
        std::pair{"1 1:1 2:1\n1 1:x\n", "line 2: expected INDEX:VALUE, found '1:x'"},
        std::pair{"1 1:1 2:1\n1:1 2:2\n", "line 2: expected a label, a number, before INDEX:VALUE, found '1:1'"},
        std::pair{"1 1:1 2:1\n1 9999999999:1\n", "line 2: expected ascending indices"},
        std::pair{"1 1:1 2:inf\n1\n", "row 1, column 2 (counted from 1): expected a finite number, found infinity"},
        std::pair{"1\n2\n", "expected INDEX:VALUE in some line, found none"}}) {
    INFO(text);
    write_bytes(folder / "y.svm", text);
    refuses(3, {"cluster", folder / "y.svm", "-k", "1"}, {said});
  }
  write_bytes(folder / "y.svm", "1,2 1:1 2:1\n1 1:1\n");
  CHECK(done({"cluster", folder / "y.svm", "-k", "1"}).code == 0);
  refuses(3, {"evaluate", folder / "labels.csv", "--truth", folder / "y.svm:label"},
          {"line 1: expected one number as label"});
  refuses(3, {"cluster", folder / "y.svm:x", "-k", "1"}, {"no such dataset: 'x'", "y.svm:label"});
}

TEST_CASE("arrays are read from standard input, from compressed files, and as bfloat16") {
  const Scratch folder;
  const std::string file = folder / "x.npy", table = folder / "x.csv";
  write_bytes(table, "1,-2.5\n3,0\n");
  write_bytes(file, npy("'<f4'", false, "(2, 2)", raw(std::vector<float>{1, -2.5, 3, 0})));
  const std::string expected = rows_of(table, {"--precision", "f32"});
  CHECK(rows_of("-", {}, file) == expected);
  CHECK(done({"cluster", "-", "-k", "1"}, {.standard_input = file}).says("standard input, 2 x 2 float32"));
  const std::string array = bytes_of(file);
  write_bytes(file + ".gz", deflated(array, 16 + MAX_WBITS));
  CHECK(rows_of(file + ".gz") == expected);
  for (const char* code : {"'<V2'", "'|V2'", "'bfloat16'"}) {
    write_bytes(file, npy(code, false, "(2, 2)", raw(std::vector<std::uint16_t>{0x3f80, 0xc020, 0x4040, 0x8000})));
    CHECK(rows_of(file) == expected);
    CHECK(done({"info", file}).out.find("bfloat16") != std::string::npos);
  }
  write_bytes(file, npy("'<V2'", false, "(2, 2)", raw(std::vector<std::uint16_t>{0x3f80, 0xc020, 0x7fc0, 0x8000})));
  refuses(3, {"cluster", file, "-k", "1"}, {"row 2, column 1", "found NaN"});
  // What a column that is left out lacks is no error, also of a file that cannot be opened twice.
  const std::string records = npy("[('a', '<f4'), ('b', '<f4')]", false, "(2,)", raw(std::vector<float>{1, NAN, 3, 0}));
  const std::string rows = npy("'<f4'", false, "(2, 2)", raw(std::vector<float>{1, NAN, 3, 0}));
  write_bytes(table, "1\n3\n");
  for (const std::string& bytes : {records, rows}) {
    write_bytes(file, bytes);
    for (const char* from : {"-", file.c_str()}) {
      const Words left_out{"--precision", "f32", "--drop-columns", "2"};
      CHECK(rows_of(from, left_out, file) == rows_of(table, {"--precision", "f32"}));
      refuses(3, {"cluster", from, "-k", "1", "--columns", "2"}, {"row 1, column ", "found NaN"},
              {.standard_input = file});
    }
  }
}

TEST_CASE("text compressed with zstd is read by builds with libzstd, and refused by others") {
  const Scratch folder;
  const std::string file = folder / "p.csv.zst", table = folder / "p.csv";
  write_bytes(table, "x,y\n0,0\n0,1\n9,9\n");
  const std::string packed("\x28\xb5\x2f\xfd\x00\x58\x81\x00\x00x,y\n0,0\n0,1\n9,9\n", 25);
  write_bytes(file, packed);
  if (done({"devices", "--json"}).json().at("zstd") == false) {
    refuses(3, {"cluster", file, "-k", "1"}, {"zstd -dc IN | kith COMMAND -"});
    return skipped("reading it, since libzstd was not found");
  }
  CHECK(rows_of(file) == rows_of(table));
  CHECK(rows_of("-", {}, file) == rows_of(table));
  write_bytes(file, packed + packed.substr(0, 9) + std::string("1,2\n3,4\n5,6\n7,8\n"));  // two frames
  CHECK(done({"info", file}).out.find("7 x 2") != std::string::npos);
  CHECK(done({"info", file}).out.find("zstd") != std::string::npos);
  write_bytes(file, packed.substr(0, 20));
  refuses(3, {"cluster", "-", "-k", "1"}, {"standard input: damaged zstd file: its end is missing"},
          {.standard_input = file});
}

TEST_CASE("sparse logical matrices of MATLAB, declared as float64, have a byte for each value") {
  const Scratch folder;
  const std::string file = folder / "x.mat", table = folder / "x.csv";
  write_bytes(table, "1,0,1,0\n0,1,0,0\n1,1,0,0\n");
  for (const bool compressed : {false, true}) {
    write_bytes(file,
                matlab({variable(5, "s", {3, 4},
                                 part(5, raw(std::vector<std::int32_t>{0, 2, 1, 2, 0})) +
                                     part(5, raw(std::vector<std::int32_t>{0, 2, 4, 5, 5})) + part(9, "\1\1\1\1\1"))},
                       compressed));
    CHECK(rows_of(file + ":s") == rows_of(table));
  }
}

TEST_CASE("matrices of MATLAB files of level 5 are read, also sparse and compressed ones") {
  const Scratch folder;
  const std::string file = folder / "x.mat", table = folder / "x.csv";
  write_bytes(table, kTable);
  const std::vector<double> by_columns{1, 0, 0, 0, 0, -3, 0, 0, 0, 2.5, 0, 4};
  const std::string x = variable(6, "x", {3, 4}, part(9, raw(by_columns)));
  const std::string y = variable(6, "y", {1, 3}, little(0x30002, 4) + std::string("\0\1\0\0", 4));  // within its tag
  const std::string s = variable(5, "s", {3, 4},
                                 part(5, raw(std::vector<std::int32_t>{0, 2, 0, 2})) +
                                     part(5, raw(std::vector<std::int32_t>{0, 1, 2, 2, 4})) +
                                     part(9, raw(std::vector<double>{1, -3, 2.5, 4})));
  const std::string text = variable(4, "t", {1, 2}, part(4, std::string("a\0b\0", 4)));
  const std::string complex = variable(6, "c", {1, 1}, part(9, raw(std::vector<double>{1})), 8);
  write_bytes(folder / "labels.csv", "label\n0\n1\n0\n");
  for (const bool compressed : {false, true}) {
    write_bytes(file, matlab({x, y}, compressed));
    CHECK(rows_of(file) == rows_of(table));  // y is a vector
    CHECK(rows_of(file, {"--transpose"}) == rows_of(table, {"--transpose"}));
    for (const Words& words : {Words{"evaluate", folder / "labels.csv", "--truth", file + ":y"},
                               {"evaluate", file + ":y", "--truth", file + ":y"}}) {
      CHECK(done(words).out.find("Rand index            1") != std::string::npos);
    }
    write_bytes(file, matlab({text, x, s, complex}, compressed));
    CHECK(rows_of(file + ":s") == rows_of(table));
    CHECK(rows_of(file + ":s", {"--transpose"}) == rows_of(table, {"--transpose"}));
    CHECK(done({"info", file, "--stats"}).out.find("sparse by columns") != std::string::npos);
    CHECK(done({"cluster", file + ":x", "-k", "1"}).says("x.mat:/x, 3 x 4 float64"));
    refuses(3, {"cluster", file, "-k", "1"}, {"expected one 2-dimensional array", "/s (3 x 4, float64)", "x.mat:/x"});
    refuses(3, {"cluster", file + ":t", "-k", "1"}, {"x.mat:/t: expected numbers, found text; in MATLAB take"});
    refuses(3, {"cluster", file + ":c", "-k", "1"}, {"x.mat:/c: expected real numbers, found complex"});
    refuses(3, {"cluster", file + ":z", "-k", "1"}, {"x.mat: no such array: 'z'; the file holds /t (2"});
  }
  // MATLAB stores whole doubles in fewer bytes; the class stays that of doubles.
  write_bytes(file, matlab({variable(6, "x", {3, 1}, part(2, "abc"))}, true));
  CHECK(done({"cluster", file + ":x", "-k", "1"}).says("x.mat:/x, 3 x 1 float64"));
  CHECK(done({"info", file, "--stats"}).out.find("97       99       98") != std::string::npos);

  for (const auto& [bytes, said] :
       {std::pair{matlab({x}, false).substr(0, 200), "variable 1 is cut off"},
        std::pair{matlab({x}, true).substr(0, 150), "variable 1 is cut off"},
        std::pair{matlab({variable(6, "x", {3, 4}, part(9, raw(std::vector<double>{1, 2})))}, true),
                  "x.mat:/x: damaged MATLAB file: 3 x 4 values of float64 are declared, and 16 bytes stored"},
        std::pair{matlab({variable(6, "x", {3, 4}, "")}, false), "a part of it is missing"},
        std::pair{matlab({variable(6, "x", {3, 4}, part(99, raw(by_columns)))}, true), "the unknown type 99"},
        std::pair{matlab({variable(6, "x", {3, -4}, part(9, ""))}, true), "a size of it is negative"},
        std::pair{matlab({part(14, "abcdefgh")}, true), "x.mat: variable 1: damaged MATLAB file"},
        std::pair{matlab({}, false), "found nothing"}}) {
    INFO(said);
    write_bytes(file, bytes);
    refuses(3, {"cluster", file, "-k", "1"}, {said});
  }
  std::string flipped = matlab({x}, true);
  flipped[flipped.size() - 1] ^= 1;  // of the checksum
  write_bytes(file, flipped);
  refuses(3, {"cluster", file, "-k", "1"}, {"x.mat: variable 1: damaged: incorrect data check"});
  const std::vector<double> many(1'000'000);
  write_bytes(file, matlab({variable(6, "x", {1000, 1000}, part(9, raw(many)))}, true));
  CHECK(done({"cluster", file, "-k", "1", "--memory", "40MB"}).code == 0);
  refuses(6, {"cluster", file, "-k", "1", "--memory", "6MB"}, {"x.mat", "--memory"});
}

TEST_CASE("HDF5 chunks compressed with lzf and zstd are decoded, and damaged ones refused") {
  const Scratch folder;
  const std::string file = folder / "x.h5", table = folder / "x.csv";
  // A chunk of 4 x 2 values of int16: 1 2 1 2 1 2 1 2.
  write_bytes(table, "1,2\n1,2\n1,2\n1,2\n");
  const auto make = [&](int filter, const std::string& chunk, unsigned mask, bool shuffle) {
    FileMaker maker(file);
    const hid_t creation = creation_of({.chunk = {4, 2}, .shuffle = shuffle});
    REQUIRE(H5Pset_filter(creation, filter, H5Z_FLAG_OPTIONAL, 0, nullptr) >= 0);
    maker.made("x", H5T_STD_I16LE, {4, 2}, creation);
    H5Pclose(creation);
    const hid_t dataset = H5Dopen2(maker.id(), "x", H5P_DEFAULT);
    const hsize_t offset[2] = {0, 0};
    REQUIRE(H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, offset, chunk.size(), chunk.data()) >= 0);
    H5Dclose(dataset);
  };
  const std::string values("\1\0\2\0\1\0\2\0\1\0\2\0\1\0\2\0", 16);
  const std::string shuffled("\1\2\1\2\1\2\1\2\0\0\0\0\0\0\0\0", 16);
  const auto reads = [&] { return rows_of(file) == rows_of(table); };
  // lzf: 4 bytes, then 12 bytes from 4 bytes back; a long run and a short one of shuffled bytes; and a chunk as it is.
  make(32000, std::string("\3\1\0\2\0\xe0\3\3", 8), 0, false);
  CHECK(reads());
  CHECK(done({"info", file}).out.find("lzf") != std::string::npos);
  make(32000, std::string("\1\1\2\x80\1\0\0\xa0\0", 9), 0, true);
  CHECK(reads());
  make(32000, values, 1, false);
  CHECK(reads());
  for (const auto& [bytes, said] :
       {std::pair{std::string("\3\1\0\2", 4), "its end is missing"},
        std::pair{std::string("\3\1\0\2\0\xe0", 6), "its end is missing"},
        std::pair{std::string("\3\1\0\2\0\xe0\3\4", 8), "refers to bytes before its beginning"},
        std::pair{std::string("\3\1\0\2\0\xe0\4\3", 8), "inflates to more than 16 bytes"},
        std::pair{std::string("\3\1\0\2\0", 5), "it has 4 bytes, expected 16"}}) {
    make(32000, bytes, 0, false);
    refuses(3, {"cluster", file, "-k", "1"}, {"x.h5:/x: data damaged in the chunk of rows 1 to", said});
  }
  // Texts are read by the library.
  {
    FileMaker maker(file);
    const hid_t creation = creation_of({.chunk = {4}}), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, 1);
    REQUIRE(H5Pset_filter(creation, 32000, H5Z_FLAG_OPTIONAL, 0, nullptr) >= 0);
    maker.made("kind", type, {4}, creation);
    const hid_t dataset = H5Dopen2(maker.id(), "kind", H5P_DEFAULT);
    const hsize_t offset[1] = {0};
    REQUIRE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, 5, "\3baba") >= 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Tclose(type);
  }
  write_bytes(folder / "l.csv", "label\n1\n0\n1\n0\n");
  CHECK(done({"evaluate", folder / "l.csv", "--truth", file + ":kind"}).out.find("Rand index            1") !=
        std::string::npos);

  const std::string frame("\x28\xb5\x2f\xfd\x00\x58\x81\x00\x00", 9);
  make(32015, frame + shuffled, 0, true);
  if (done({"devices", "--json"}).json().at("zstd") == false) {
    refuses(3, {"cluster", file, "-k", "1"}, {"zstd", "libzstd was not found", "hdf5plugin"});
    return skipped("zstd in HDF5, since libzstd was not found");
  }
  CHECK(reads());
  CHECK(done({"info", file}).out.find("shuffle, zstd") != std::string::npos);
  make(32015, (frame + values).substr(0, 20), 0, false);
  refuses(3, {"cluster", file, "-k", "1"},
          {"data damaged in the chunk of rows 1 to", "it is no zstd frame of up to 16 bytes"});
}
