// Archives of NumPy arrays: sparse matrices of SciPy and PyData, checksums, names, and what kith info ends with.
#include <cstring>

#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

using Integers = std::vector<std::int64_t>;

/// The distances between all points of a file, as text.
std::string rows_of(const std::string& file, const Words& more = {}) {
  Words words{"distances", file, "--metric", "manhattan"};
  words.insert(words.end(), more.begin(), more.end());
  return done(words).out;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Entry array(const std::string& name, const std::string& descr, const std::string& shape, const std::string& bytes,
            bool deflated = false, bool fortran = false) {
  return {name + ".npy", npy("'" + descr + "'", fortran, shape, bytes), deflated};
}
std::string length(std::size_t count) { return "(" + std::to_string(count) + ",)"; }
Entry integers(const std::string& name, const Integers& values) {
  return array(name, "<i8", length(values.size()), raw(values), true);
}
Entry doubles(const std::string& name, const std::vector<double>& values) {
  return array(name, "<f8", length(values.size()), raw(values));
}
Entry format(const std::string& text) { return array("format", "|S3", "()", text); }
const Entry kShape = integers("shape", {3, 4});

/// The same matrix for all formats: row 1 is zero.
const std::string kTable = "1,0,0,2.5\n0,0,0,0\n0,-3,0,4\n";

/// An archive whose second array, of 3 x 2 float64, is long enough that a list does not read all of it.
std::string long_archive(bool deflated, std::size_t rows = 4000) {
  std::vector<double> values(2 * rows);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 1009);
  return zip({integers("y", {1, 2, 3}), array("x", "<f8", "(" + std::to_string(rows) + ", 2)", raw(values), deflated)});
}

}  // namespace

TEST_CASE("sparse archives of SciPy are read as the matrix, in every format") {
  const Scratch folder;
  const std::string file = folder / "x.npz", table = folder / "x.csv";
  write_bytes(table, kTable);
  const auto compressed = [](const char* name, const Integers& starts, const Integers& indices,
                             const std::vector<double>& values) {
    return zip(
        {integers("indices", indices), integers("indptr", starts), format(name), kShape, doubles("data", values)});
  };
  const std::string rows = compressed("csr", {0, 2, 2, 4}, {3, 0, 1, 3}, {2.5, 1, -3, 4});
  const std::string coordinates =
      zip({integers("row", {2, 0, 0, 2, 2}), integers("col", {3, 3, 0, 1, 1}), format("coo"), kShape,
           doubles("data", {4, 2.5, 1, -1, -2})});  // values of one place are added
  const std::string diagonals = zip(
      {integers("offsets", {-1, 0, 1, 3}), format("dia"), kShape,
       array("data", "<f8", "(4, 4)", raw(std::vector<double>{0, -3, 0, 9, 1, 0, 0, 9, 9, 0, 0, 4, 9, 9, 9, 2.5}))});
  const std::string blocks =
      zip({integers("indices", {0, 1, 1, 0}), integers("indptr", {0, 2, 2, 4}), format("bsr"), kShape,
           array("data", "<f8", "(4, 1, 2)", raw(std::vector<double>{1, 0, 0, 2.5, 0, 4, 0, -3}))});
  for (const std::string& bytes :
       {rows, compressed("csc", {0, 1, 2, 2, 4}, {0, 2, 0, 2}, {1, -3, 2.5, 4}), coordinates, diagonals, blocks}) {
    write_bytes(file, bytes);
    CHECK(rows_of(file) == rows_of(table));
    CHECK(rows_of(file, {"--transpose"}) == rows_of(table, {"--transpose"}));
    const std::string info = done({"info", file, "--stats"}).out;
    CHECK(info.find("3 x 4") != std::string::npos);
    CHECK(info.find("sparse") != std::string::npos);
    CHECK(info.find("-3") != std::string::npos);
  }
  CHECK(done({"info", file + ":data"}).out.find("/data") != std::string::npos);
  write_bytes(file, zip({integers("row", {0}), integers("col", {1}), format("coo"), kShape,
                         array("data", "<f4", "(1,)", raw(std::vector<float>{2}))}));
  CHECK(done({"cluster", file, "-k", "1"}).says("x.npz, 3 x 4 float64, sparse"));
  CHECK(done({"distances", file, "-q", "-f", "-o", folder / "d.npy"}).code == 0);
  CHECK(bytes_of(folder / "d.npy").find("'<f4'") != std::string::npos);  // exact in float32, as the array is

  for (const auto& [bytes, said] :
       {std::pair{compressed("lil", {}, {}, {}),
                  "expected a sparse matrix in the format csr, csc, coo, bsr or dia, found 'lil'"},
        std::pair{compressed("csr", {0, 2, 2, 4}, {3, 0, 1, 4}, {2.5, 1, -3, 4}),
                  "x.npz: damaged: expected a column from 0 to 3, found 4"},
        std::pair{compressed("csr", {0, 2, 1, 4}, {3, 0, 1, 3}, {2.5, 1, -3, 4}),
                  "/indptr, found 4 that do not ascend"},
        std::pair{zip({integers("row", {0}), integers("col", {4}), format("coo"), kShape, doubles("data", {1})}),
                  "x.npz: damaged sparse matrix: expected a column from 0 to 3, found 4 at position 0"},
        std::pair{zip({integers("row", {0, 1}), integers("col", {1}), format("coo"), kShape, doubles("data", {1})}),
                  "it has 1 values, 2 rows and 1 columns"},
        std::pair{zip({integers("col", {1}), format("coo"), kShape, doubles("data", {1})}), "row is missing"},
        std::pair{zip({integers("offsets", {0}), format("dia"), kShape,
                       array("data", "<f8", "(2, 1)", raw(std::vector<double>{1, 2}))}),
                  "it has 2 diagonals and 1 offsets"},
        std::pair{zip({integers("indices", {0}), integers("indptr", {0, 1, 2, 2}), format("bsr"), kShape,
                       array("data", "<f8", "(1, 1, 2)", raw(std::vector<double>{1, 2}))}),
                  "expected a start from 1 to 1, found 2"},
        std::pair{zip({integers("row", {0}), integers("col", {1}), format("coo"), integers("shape", {3, 4, 2}),
                       doubles("data", {1})}),
                  "expected a sparse matrix of 2 dimensions (rows, features), found 3"},
        std::pair{zip({integers("row", {0}), integers("col", {1}), format("coo"), kShape,
                       array("data", "<c8", "(1,)", raw(std::vector<float>{1, 2}))}),
                  "x.npz:/data: expected numbers, found complex numbers"},
        std::pair{zip({integers("row", {1}), integers("col", {1}), format("coo"), kShape, doubles("data", {NAN})}),
                  "x.npz: row 2, column 2 (counted from 1): expected a finite number, found NaN"}}) {
    INFO(said);
    write_bytes(file, bytes);
    refuses(3, {"cluster", file, "-k", "1"}, {said});
  }
}

TEST_CASE("sparse arrays of PyData, and those without a format, are read as the matrix, not as their parts") {
  const Scratch folder;
  const std::string file = folder / "x.npz", table = folder / "x.csv";
  write_bytes(table, kTable);
  const Entry zero = array("fill_value", "<f8", "()", raw(std::vector<double>{0}));
  const Entry data = doubles("data", {1, 2.5, -3, 4});
  const Entry coordinates = array("coords", "<i8", "(2, 4)", raw(Integers{0, 0, 2, 2, 0, 3, 1, 3}));
  const Entry turned = array("coords", "<u1", "(2, 4)", std::string("\0\0\0\3\2\1\2\3", 8), true, true);
  const auto compressed = [&](std::int64_t axis, const Integers& starts, const Integers& indices,
                              const std::vector<double>& values) {
    return std::vector<Entry>{
        kShape, integers("indptr", starts),         integers("indices", indices), doubles("data", values),
        zero,   integers("compressed_axes", {axis})};
  };
  for (const std::vector<Entry>& entries :
       {std::vector{data, coordinates, kShape, zero}, std::vector{kShape, turned, data},
        std::vector{array("format", "<U3", "()", std::string("c\0\0\0o\0\0\0o\0\0\0", 12)), data, coordinates, kShape,
                    zero},
        compressed(0, {0, 2, 2, 4}, {0, 3, 1, 3}, {1, 2.5, -3, 4}),
        compressed(1, {0, 1, 2, 2, 4}, {0, 2, 0, 2}, {1, -3, 2.5, 4}),
        // As numpy.savez() saves the arrays of a matrix, which names no format.
        std::vector{kShape, data, integers("indices", {0, 3, 1, 3}), integers("indptr", {0, 2, 2, 4})},
        std::vector{kShape, doubles("data", {1, -3, 2.5, 4}), integers("indices", {0, 2, 0, 2}),
                    integers("indptr", {0, 1, 2, 2, 4})}}) {
    write_bytes(file, zip(entries));
    CHECK(rows_of(file) == rows_of(table));
    CHECK(done({"info", file}).out.find("3 x 4") != std::string::npos);
  }
  write_bytes(file, zip({data, coordinates, kShape, array("fill_value", "<f8", "()", raw(std::vector<double>{1.5}))}));
  refuses(3, {"cluster", file, "-k", "1"}, {"found the fill_value 1.5", "sparse.load_npz('IN').todense()"});
  refuses(3, {"info", file}, {"found the fill_value 1.5"});
  write_bytes(file,
              zip({data, array("coords", "<i8", "(3, 4)", raw(Integers(12))), integers("shape", {3, 4, 2}), zero}));
  refuses(3, {"cluster", file, "-k", "1"}, {"expected a sparse matrix of 2 dimensions (rows, features), found 3"});
  // Coordinates beside other arrays are points, as before.
  write_bytes(file, zip({array("coords", "<f8", "(3, 2)", raw(std::vector<double>{0, 1, 2, 3, 4, 5})),
                         integers("shape", {3}), doubles("data", {1, 2, 3})}));
  CHECK(done({"cluster", file, "-k", "1"}).says("x.npz:/coords, 3 x 2 float64"));
}

TEST_CASE("a wrong checksum is refused for stored members as for deflated ones, however they are read") {
  const Scratch folder;
  const std::string file = folder / "x.npz", out = folder / "o.h5";
  for (const bool deflated : {false, true}) {
    const std::string good = long_archive(deflated);
    write_bytes(file, good);
    const std::string labels = done({"cluster", file, "-k", "2", "-o", "-"}).out;
    const auto entry = good.rfind("PK\x01\x02"), local = good.rfind("PK\x03\x04");
    std::vector<std::size_t> places{entry + 16};  // of the checksum, a value, and the last value
    if (!deflated) places.insert(places.end(), {local + 30 + 5 + 128 + 20000, good.find("PK\x01\x02") - 2});
    std::vector<std::string> damaged(places.size(), good);
    for (std::size_t i = 0; i < damaged.size(); ++i) {
      damaged[i][places[i]] ^= 1;
      INFO(deflated << ", damage " << i);
      write_bytes(file, damaged[i]);
      const std::string memory = is_sanitized() ? "1GB" : "400kB";
      for (const Words& more : {Words{}, Words{"--threads", "1"}, Words{"--threads", "4"}, Words{"--columns", "2"},
                                Words{"--transpose"}, Words{"--memory", memory, "--scratch", folder / ""}}) {
        Words words{"cluster", file, "-k", "2", "-o", out};
        words.insert(words.end(), more.begin(), more.end());
        if (i == 2 && !more.empty()) continue;
        refuses(3, words, {"x.npz: damaged zip archive: the checksum of x.npy is wrong", "`unzip -t`"});
        CHECK_FALSE(std::filesystem::exists(out));
      }
      refuses(3, {"assign", file, "--centroids", file, "-o", out}, {"the checksum of x.npy is wrong"});
      const Outcome info = run_kith({"info", file, "--stats"});
      CHECK(info.code == 3);
      CHECK(unwrapped(info.out).find("the checksum of x.npy is wrong") != std::string::npos);
    }
    write_bytes(file, good);
    CHECK(done({"cluster", file, "-k", "2", "-o", "-"}).out == labels);
  }
  const std::string sparse =
      zip({integers("row", {0}), integers("col", {1}), format("coo"), kShape, doubles("data", {1})});
  std::string flipped = sparse;
  flipped[sparse.find("PK\x01\x02") - 2] ^= 1;  // of the value 1, a member that is stored
  write_bytes(file, flipped);
  refuses(3, {"cluster", file, "-k", "1"}, {"the checksum of data.npy is wrong"});
}

TEST_CASE("a member with another name in front of its bytes is refused") {
  const Scratch folder;
  const std::string file = folder / "x.npz";
  std::string archive = long_archive(false);
  archive[archive.rfind("PK\x03\x04") + 30] = 'z';
  write_bytes(file, archive);
  for (const Words& words : {Words{"cluster", file, "-k", "3"}, Words{"info", file}}) {
    refuses(3, words, {"damaged zip archive: expected x.npy at byte", "as in its directory, found z.npy"});
  }
}

TEST_CASE("kith info ends with the exit code of the first error") {
  const Scratch folder;
  const std::string file = folder / "x.npz", whole = folder / "a.npy", cut = folder / "b.npy";
  const std::string bytes = npy("'<f8'", false, "(3, 2)", raw(std::vector<double>(6)));
  write_bytes(whole, bytes);
  write_bytes(cut, bytes.substr(0, bytes.size() - 8));
  const auto ends = [](int code, Words words, const std::string& shown) {
    for (const Words& more : {Words{}, Words{"--stats"}, Words{"--json"}, Words{"--stats", "--json"}}) {
      Words all{"info"};
      all.insert(all.end(), words.begin(), words.end());
      all.insert(all.end(), more.begin(), more.end());
      const Outcome outcome = run_kith(all);
      INFO(nlohmann::json(all).dump() << "\n" << outcome.out << outcome.err);
      CHECK(outcome.code == code);
      CHECK(unwrapped(outcome.out).find(shown) != std::string::npos);
      if (code != 0 && more.size() > 0 && more.back() == "--json") CHECK(outcome.json()["errors"][0]["code"] == code);
    }
  };
  ends(0, {whole}, "float64");
  ends(3, {cut}, "it is cut off");
  ends(3, {cut, whole}, "a.npy");
  ends(3, {whole, folder / "none.npy"}, "a.npy");
  write_bytes(cut, bytes + "12345678");
  ends(3, {cut}, "save each array in a file of its own");
  write_bytes(cut, bytes.substr(0, 40));
  CHECK(run_kith({"info", cut}).code == 3);

  // Members that are no arrays or of other types are no damage.
  const Entry text{"README.txt", "Made for a test.\n"},
      words = array("names", "<U1", "(1,)", std::string("a\0\0\0", 4));
  const Entry array_entry{"x.npy", bytes}, short_entry{"y.npy", bytes.substr(0, bytes.size() - 8)};
  write_bytes(file, zip({text, words, array_entry}));
  ends(0, {file}, "/x");
  for (const Entry& damaged : {short_entry, Entry{"y.npy", bytes.substr(0, 40), true}, Entry{"y.npy", "no array"}}) {
    write_bytes(file, zip({text, array_entry, damaged}));
    ends(3, {file}, "/x");
  }
  refuses(3, {"cluster", file, "-k", "1"}, {"/y: damaged NumPy header"});  // it may be the array that is meant
  CHECK(done({"cluster", file + ":x", "-k", "1"}).code == 0);
  std::string wrong = zip({array_entry});
  wrong[wrong.find("PK\x01\x02") - 1] ^= 1;
  write_bytes(file, wrong);
  ends(3, {file}, "the checksum of x.npy is wrong");
}

TEST_CASE("labels in arrays are words, or whole numbers of any size") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "plain.csv", "label\nb\na\nb\n\xc3\xa9t\xc3\xa9\n");
  const auto wide = [](const std::vector<std::u32string>& words, bool big) {
    std::string bytes;
    for (const std::u32string& word : words) {
      for (std::size_t i = 0; i < 3; ++i) {
        const std::string one = little(i < word.size() ? word[i] : 0, 4);
        bytes += big ? std::string(one.rbegin(), one.rend()) : one;
      }
    }
    return bytes;
  };
  const std::vector<std::u32string> words{U"b", U"a", U"b", U"\u00e9t\u00e9"};
  const auto agrees = [&](const std::string& labels) {
    const auto scores = done({"evaluate", labels, "--truth", "plain.csv", "--json"}, there).json();
    CHECK(scores.dump().find("\"adjusted_rand_index\":1") != std::string::npos);
  };
  write_bytes(folder / "u.npy", npy("'<U3'", false, "(4,)", wide(words, false)));
  write_bytes(folder / "big.npy", npy("'>U3'", false, "(4, 1)", wide(words, true)));
  write_bytes(folder / "s.npy",
              npy("'|S5'", false, "(4,)", std::string("b\0\0\0\0a\0\0\0\0b\0\0\0\0\xc3\xa9t\xc3\xa9", 20)));
  for (const bool deflated : {false, true}) {
    write_bytes(folder / "x.npz", zip({array("x", "<f8", "(1, 1)", raw(std::vector<double>{1})),
                                       array("y", "<U3", "(4,)", wide(words, false), deflated)}));
    agrees("x.npz:y");
  }
  for (const char* file : {"u.npy", "big.npy", "s.npy"}) agrees(file);
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  write_bytes(folder / "n.npy", npy("'<i8'", false, "(4,)", raw(Integers{large, large + 1, large, -large})));
  agrees("n.npy");
  write_bytes(folder / "m.npy", npy("'<u8'", false, "(4,)", raw(Integers{-1, -2, -1, large})));
  agrees("m.npy");
  write_bytes(folder / "cut.npy", npy("'<U3'", false, "(5,)", wide(words, false)));
  refuses(3, {"evaluate", "cut.npy", "--truth", "plain.csv"}, {"cut.npy: 5 texts of 12 bytes are declared"}, there);
  write_bytes(folder / "two.npy", npy("'<U3'", false, "(2, 2)", wide(words, false)));
  refuses(3, {"evaluate", "two.npy", "--truth", "plain.csv"}, {"expected numbers, found text"}, there);
}
