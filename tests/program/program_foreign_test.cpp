// Files of other programs: MATLAB 4 is read; binary files are named with the command that converts them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/table_runs.h"

using namespace kith::testing;
using namespace std::string_literals;

namespace {

std::string rows_of(const std::string& file) { return done({"distances", file, "--metric", "manhattan"}).out; }

template <class T>
std::string raw(const std::vector<T>& values, bool big = false) {
  std::string bytes;
  for (const T& value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    if (big) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

/// A variable of a MATLAB 4 file.
std::string variable(std::int32_t type, const std::string& name, std::int32_t rows, std::int32_t columns,
                     const std::string& values, bool big = false, std::int32_t complex = 0) {
  return raw<std::int32_t>({type, rows, columns, complex, static_cast<std::int32_t>(name.size()) + 1}, big) + name +
         std::string(1, '\0') + values;
}

/// Whether a program is on the PATH.
bool has_program(const std::string& name) { return std::system(("command -v " + name + " > /dev/null").c_str()) == 0; }

}  // namespace

TEST_CASE("matrices of MATLAB 4 are read, dense and sparse, of either byte order") {
  const Scratch folder;
  const std::string file = folder / "x.mat", table = folder / "x.csv";
  write_bytes(table, "1,0,2.5\n0,-3,0\n");
  const std::vector<double> by_columns{1, 0, 0, -3, 2.5, 0};
  const std::string x = variable(0, "x", 2, 3, raw(by_columns));
  const std::string entries = raw<double>({1, 2, 1, 2, 1, 2, 3, 3, 1, -3, 2.5, 0});
  const std::string text = variable(1, "t", 1, 2, raw<double>({97, 98}));
  for (const auto& [bytes, name] :
       {std::pair{x, ""}, std::pair{variable(1000, "x", 2, 3, raw(by_columns, true), true), ""},
        std::pair{text + x, ""}, std::pair{x + variable(0, "labels", 1, 2, raw<double>({0, 1})), ""},
        std::pair{x + variable(2, "s", 4, 3, entries), ":s"},
        std::pair{variable(1002, "s", 4, 3, raw<double>({1, 2, 1, 2, 1, 2, 3, 3, 1, -3, 2.5, 0}, true), true), ""}}) {
    write_bytes(file, bytes);
    CHECK(rows_of(file + name) == rows_of(table));
  }
  CHECK(done({"info", file, "--stats"}).out.find("2 x 3") != std::string::npos);
  write_bytes(table, "1,3\n2,4\n");
  const std::vector<std::string> others{
      variable(10, "x", 2, 2, raw<float>({1, 2, 3, 4})), variable(20, "x", 2, 2, raw<std::int32_t>({1, 2, 3, 4})),
      variable(1030, "x", 2, 2, raw<std::int16_t>({1, 2, 3, 4}, true), true), variable(50, "x", 2, 2, "\1\2\3\4")};
  for (const std::string& bytes : others) {
    write_bytes(file, bytes);
    CHECK(rows_of(file) == rows_of(table));
  }
  CHECK(done({"cluster", file, "-k", "1"}).says("x.mat:/x, 2 x 2 uint8"));

  for (const auto& [bytes, said] :
       {std::pair{text, "x.mat:/t: expected numbers, found text"},
        std::pair{variable(0, "x", 1, 1, raw<double>({1, 2}), false, 1), "expected real numbers, found complex ones"},
        std::pair{variable(2, "x", 2, 4, raw<double>(std::vector<double>(8, 1))), "found complex ones"},
        std::pair{variable(2000, "x", 1, 1, raw<double>({1})), "found numbers of a VAX"},
        std::pair{variable(4000, "x", 1, 1, raw<double>({1}, true), true), "found numbers of a Cray"},
        std::pair{x.substr(0, x.size() - 1), "damaged MATLAB file: variable 1 (x) is cut off"},
        std::pair{x + "abc", "damaged MATLAB file: expected a variable at byte 70"},
        std::pair{variable(2, "s", 2, 3, raw<double>({3, 2, 1, 3, 1, 0})), "expected a row from 1 to 2, found 3"},
        std::pair{variable(2, "s", 2, 3, raw<double>({1, -2, 1, 3, 1, 0})), "/s: damaged MATLAB file"}}) {
    INFO(said);
    write_bytes(file, bytes);
    refuses(3, {"cluster", file, "-k", "1"}, {"x.mat", said});
  }
  CHECK(run_kith({"info", file}).code == 3);
}

TEST_CASE("binary files of other programs are named, with the command that converts them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  struct File {
    std::string name, begin, kind, command;
  };
  const std::string dbf = "\x03\x7c\x01\x02" + little(3, 4) + little(65, 2) + little(11, 2) + std::string(20, '\0') +
                          "VALUE\0\0\0\0\0\0N\0\0\0\0\x0a\2"s + std::string(14, '\0') + "\r          1";
  for (const File& file :
       {File{"x.fcs", "FCS3.1         58\0\1"s, "an FCS file of a flow cytometer", "flowio.FlowData('IN')"},
        File{"x.dbf", dbf, "a dBASE table", "dbfread.DBF('IN')"},
        File{"x.rda", "RDX3\nX\n\0\0\0\3"s, "an R workspace", "pyreadr.read_r('IN')"},
        File{"x.rds", "X\n\0\0\0\3\0\4"s, "an R object", "pyreadr.read_r('IN')"},
        File{"y.rds", "BZh91AY&SY\1\2", "bzip2-compressed data", "pyreadr.read_r('IN')"},
        File{"x.sav", "$FL2@(#) SPSS\1\0"s, "an SPSS file", "pandas.read_spss('IN'"},
        File{"x.sas7bdat", std::string(12, '\0') + "\xc2\xea\x81\x60\xb3\x14", "a SAS file", "pandas.read_sas('IN'"},
        File{"x.xpt", "HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!0000", "a SAS transport file",
             "pyreadstat.read_xport('IN')"},
        File{"x.dta", "\x6c\2\1\0data"s, "a Stata file", "pandas.read_stata('IN')"},
        File{"x.orc", "ORC\n\3\1\2"s, "an ORC file", "pandas.read_orc('IN')"},
        File{"x.avro", "Obj\1\4\x14", "an Avro file", "fastavro.reader(open('IN', 'rb'))"},
        File{"x.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0"s, "an Excel workbook of before 2007",
             "pandas.read_excel('IN')"},
        File{"x.data", zip({{"[Content_Types].xml", "<x/>"}, {"xl/workbook.xml", "<x/>"}}), "an Excel workbook (.xlsx)",
             "pandas.read_excel('IN')"},
        File{"y.data", zip({{"[Content_Types].xml", std::string(9000, 'x')}, {"xl/workbook.bin", "x"}}), "(.xlsb)",
             "engine='pyxlsb'"},
        File{"x.ods", zip({{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}, {"content.xml", "<x/>"}}),
             "an OpenDocument spreadsheet", "engine='odf'"},
        File{"x.pt", "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s, "a PyTorch file", "torch.load('IN'"},
        File{"x.joblib", "\x80\4\x95\1\0\0\0\0\0\0\0."s, "a Python pickle", "joblib.load('IN')"},
        File{"x.arrows", "\xff\xff\xff\xff\x10\1\0\0\x10\0\0\0\0\0\x0a\0"s, "an Arrow stream",
             "open_stream(open('IN', 'rb'))"},
        File{"data.mdb", std::string(16, '\0') + "\xde\xc0\xef\xbe\1\0\0\0"s, "an LMDB database",
             "lmdb.open('IN', subdir=False"},
        File{"x.duckdb", "checksumDUCK\x40\0\0\0"s, "a DuckDB database", "duckdb IN -csv"},
        File{"x-idx3-ubyte", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\1ab"s, "an IDX file", "numpy.save('OUT.npy'"},
        File{"x.fits", "SIMPLE  =                    T", "a FITS file", "Table.read('IN')"},
        File{"x.nc", "CDF\1\0\0\0\0"s, "a classic netCDF file", "nccopy -k nc4 IN OUT.nc"},
        File{"idl.sav", "SR\0\4\0\0\0\x0a"s, "an IDL save file", "scipy.io.readsav('IN')"},
        File{"x.fif", "\0\0\0\x64\0\0\0\x1f\0\0\0\x14\0\0\0\0"s, "a FIF file", "mne.io.read_raw_fif('IN')"},
        File{"x.pkl", "\x80\3}q\0."s, "a Python pickle", "pandas.read_pickle('IN')"},
        File{"y.pkl", "}q\0(U\1aK\1u."s, "a Python pickle", "pandas.read_pickle('IN')"},
        File{"x.tif", "II+\0\x08\0\0\0\x10"s, "a BigTIFF picture", "convert IN OUT.png"},
        File{"x.gif", "GIF89a\1\0"s, "a GIF picture", "convert IN OUT.png"},
        File{"x.tar", std::string(257, 'a') + "ustar\0"s, "a tar archive", "tar -xOf IN | kith COMMAND -"},
        File{"x.parquet", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n",
             "a pointer of Git LFS", "git lfs pull --include IN"},
        File{"x.fvecs", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n",
             "a pointer of Git LFS", "git lfs pull --include IN"},
        File{"x.csv.lz4", "\x04\x22\x4d\x18\x40", "lz4-compressed data", "lz4 -dc IN | kith COMMAND -"}}) {
    INFO(file.name);
    write_bytes(folder / file.name, file.begin);
    for (const Words& words : {Words{"cluster", file.name, "-k", "2"}, Words{"info", file.name}}) {
      refuses(3, words, {file.kind, file.command}, there);
    }
    // A name that promises another format hides nothing.
    write_bytes(folder / "t.csv", file.begin);
    if (file.command.find("pyreadr") == std::string::npos && file.name != "x.joblib") {
      refuses(3, {"cluster", "t.csv", "-k", "2"}, {file.kind, file.command}, there);
    }
  }
  // Texts that begin with such a word are texts.
  for (const char* word : {"ORC", "BZh", "LASF", "FCS2.", "IxF2"}) {
    write_bytes(folder / "w.csv", word + "a,b\n1,2\n3,4\n"s);
    CHECK(done({"cluster", "w.csv", "-k", "1"}, there).says("2 x 2 text"));
  }
  for (const auto& [name, said] :
       {std::pair{"x.lance/_versions", "lance.dataset('IN')"}, {"db/data.mdb", "lmdb.open('IN'"}}) {
    std::filesystem::create_directories(folder / name);
    refuses(3, {"info", std::filesystem::path(name).parent_path().string()}, {said}, there);
  }
}

TEST_CASE("the command that a message about a compressed table proposes works") {
  const Scratch folder;
  const std::string table = "a,b\n1,2\n3,4\n";
  write_bytes(folder / "t.csv", table);
  const auto in_folder = [&](const std::string& command) {
    return std::system(("cd '" + (folder / "") + "' && " + command + " > out 2> err").c_str());
  };
  for (const auto& [program, make, file, propose] :
       {std::tuple{"xz", "xz -k t.csv", "t.csv.xz", "xz -dc IN | kith COMMAND -"},
        std::tuple{"bzip2", "bzip2 -k t.csv", "t.csv.bz2", "bzip2 -dc IN | kith COMMAND -"},
        std::tuple{"unzip", "true", "one.zip", "unzip -p IN 't.csv' | kith COMMAND -"},
        std::tuple{"unzip", "true", "mac.zip", "unzip -p IN 't.csv' | kith COMMAND -"},
        std::tuple{"unzip", "true", "two.zip", "unzip -p IN 'b/t.csv' | kith COMMAND -"},
        std::tuple{"tar", "tar -cf t.tar t.csv", "t.tar", "tar -xOf IN | kith COMMAND -"},
        std::tuple{"tar", "tar -czf t.tar.gz t.csv", "t.tar.gz", "gzip -dc IN | tar -xOf - | kith COMMAND -"}}) {
    INFO(file);
    write_bytes(folder / "one.zip", zip({{"t.csv", table, true}}));
    write_bytes(folder / "mac.zip", zip({{"__MACOSX/._t.csv", "text"}, {"t.csv", table, true}}));
    write_bytes(folder / "two.zip", zip({{"a.md", "text"}, {"b/t.csv", table, true}}));
    if (!has_program(program) || in_folder(make) != 0) {
      WARN("skipped: " << program << " is not installed");
      continue;
    }
    refuses(3, {"cluster", file, "-k", "1"}, {"convert it: "s + propose}, {.folder = folder / ""});
    std::string command = propose;
    command.replace(command.find("IN"), 2, file);
    command.replace(command.find("kith COMMAND"), 12, KITH_BINARY " cluster -k 1 -q -o labels.csv -f");
    CHECK(in_folder(command) == 0);
    CHECK(bytes_of(folder / "labels.csv") == "row,label\n0,0\n1,0\n");
  }
  write_bytes(folder / "inner.zip", zip({{"x.npz", "PK\3\4"}}));  // no stream
  refuses(3, {"cluster", folder / "inner.zip", "-k", "1"}, {"convert it: unzip IN"});
  write_bytes(folder / "t.h5", "\x89HDF\r\n\x1a\n");
  REQUIRE(in_folder("gzip t.h5") == 0);
  refuses(3, {"cluster", folder / "t.h5.gz", "-k", "1"}, {"an HDF5 file, compressed with gzip", "gzip -dc IN > OUT"});
  // Formats that are known by their names, or that no stream has, go to a file of that name.
  write_bytes(folder / "v.fvecs", raw<std::int32_t>({1, 0}));
  REQUIRE(in_folder("gzip v.fvecs") == 0);
  write_bytes(folder / "v.fbin.xz",
              "\xfd"
              "7zXZ\0"s);
  refuses(3, {"cluster", folder / "v.fvecs.gz", "-k", "1"}, {"gzip-compressed data", "gzip -dc IN > OUT.fvecs"});
  refuses(3, {"cluster", folder / "v.fbin.xz", "-k", "1"}, {"xz-compressed data", "xz -dc IN > OUT.fbin"});
  // Archives of NumPy are read under any name.
  write_bytes(folder / "arrays.zip", zip({{"x.npy", npy("'<f8'", false, "(1, 1)", raw<double>({1}))}}));
  CHECK(done({"cluster", folder / "arrays.zip", "-k", "1"}).says("arrays.zip:/x, 1 x 1 float64"));
}

TEST_CASE("cropped vector files are read as far as their name says, and answers within a radius are named") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::string rows = little(1000, 4) + little(2, 4);
  write_bytes(folder / "base.1B.u8bin.crop_nb_3", rows + "abcdef");
  CHECK(done({"cluster", "base.1B.u8bin.crop_nb_3", "-k", "1"}, there).says("3 x 2 uint8"));
  write_bytes(folder / "base.fbin.crop_nb_2", little(2, 4) + little(1, 4) + raw<float>({1, 2}));  // a mended header
  CHECK(done({"cluster", "base.fbin.crop_nb_2", "-k", "1"}, there).says("2 x 1 float32"));
  write_bytes(folder / "base.i8bin.crop_nb_4", rows + "abcdef");
  refuses(3, {"cluster", "base.i8bin.crop_nb_4", "-k", "1"}, {"which begin with 1000 x 2"}, there);
  write_bytes(folder / "x.u8bin", rows + "abcdef");
  refuses(3, {"cluster", "x.u8bin", "-k", "1"},
          {"its first 3 rows were copied on purpose", "numpy.memmap('IN', 'uint32', 'r+', shape=2)[0] = 3"}, there);
  // Values of eight bytes behind two numbers have the size of neighbours and distances.
  write_bytes(folder / "x.f64bin", little(3, 4) + little(2, 4) + raw<double>({0.1, 0.2, 0.3, 0.4, 0.5, 0.6}));
  refuses(3, {"cluster", "x.f64bin", "-k", "1"},
          {"unknown binary data", "numpy.fromfile('IN', '<f8', offset=8).reshape(3, 2))"}, there);
  const std::string answers = little(2, 4) + little(3, 4) + raw<std::int32_t>({1, 2, 5, 6, 7}) + raw<float>({1, 2, 3});
  for (const char* name : {"range_gt", "range.ibin", "range.rangeres"}) {
    write_bytes(folder / name, answers);
    refuses(3, {"info", name}, {"the answers of a search within a radius", "numpy.savez('OUT.npz', counts="}, there);
  }
}

TEST_CASE("texts of other programs are named with the command that makes a table of them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const auto& [text, said] :
       {std::pair{">seq1 kinase\nMKVLAA\nGG\n>seq2\nMKV*\n"s, "sequences (FASTA)"},
        std::pair{"@read1\r\nACGTN\r\n+\r\nIIII#\r\n"s, "sequences with qualities (FASTQ)"},
        std::pair{"A =\n\n   1.0e+03 *\n\n    0.0010    1.2000\n    0.0020    1.3000\n"s, "what MATLAB displays"},
        std::pair{"  Columns 1 through 2\n\n   1  2\n   3  4\n\n  Column 3\n\n   5\n   6\n"s, "what MATLAB displays"},
        std::pair{"structure(list(a = c(1, 2)), class = \"data.frame\")\n"s, "what dput of R writes"},
        std::pair{"*************************** 1. row ***\na: 1\nb: 2\n"s, "rows of MySQL"},
        std::pair{"-[ RECORD 1 ]\na | 1\nb | 2\n"s, "rows of PostgreSQL"},
        std::pair{"BEGIN:VCARD\nVERSION:3.0\nN:Doe\n"s, "contacts"},
        std::pair{"$GPGGA,123519,4807.038,N\n$GPRMC,1235\n"s, "what a GPS receiver sends (NMEA)"},
        std::pair{"\n  OpenBabel\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n"s, "molecules (MOL or SDF)"}}) {
    INFO(said);
    write_bytes(folder / "t.txt", text);
    refuses(3, {"cluster", "t.txt", "-k", "1"}, {"t.txt: expected a table, such as CSV, found "s + said}, there);
  }
  const std::string bed = "chr1\tx\tgene\t1\t2\t.\t+\t.\tID=a\nchr1\tx\tgene\t3\t4\t.\t+\t.\tID=b\n";
  for (const std::string& text :
       {"##fileformat=VCFv4.2\n##source=x\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\n"
        "1\t9\tr\tA\tT\t9\tPASS\t.\tGT:DP\t1|1:9\t1/1/1:8\n1\t10\tr\tA\tT\t9\tPASS\t.\tGT:DP\t0/2|1:9\t1/2/1:8\n"s,
        "##gff-version 3\n"s + bed, "#!genome-build GRCh38\n"s + bed,
        "data_X\n#\nloop_\n_atom_site.x\nATOM 1 N N . ALA A 1 1 ? 1 2\nATOM 2 C C . ALA A 1 1 ? 3 4\n"s,
        "ply\nformat ascii 1.0\nelement vertex 2\nend_header\n1 2\n3 4\n"s, "# .PCD v.7\nDATA ascii\n1 2\n3 4\n"s,
        "ncols 2\nnrows 2\nxllcorner 0\n1 2\n3 4\n"s}) {
    check_conversion(text, there);
  }
  for (
      const std::string& text :
      {"\u250c\u2500\u252c\u2500\u2510\n\u2502 a \u2502 b \u2502\n\u251c\u2500\u253c\u2500\u2524\n\u2502 1 \u2502 2 "
       "\u2502\n\u2502 3 \u2502 4 "
       "\u2502\n\u2514\u2500\u2534\u2500\u2518\n"s,
       "shape: (2, 2)\n\u250c\u2500\u252c\u2500\u2510\n\u2502 a   \u2506 b   \u2502\n\u2502 --- \u2506 --- "
       "\u2502\n\u2502 f64 \u2506 f64 "
       "\u2502\n\u255e\u2550\u256a\u2550\u2561\n\u2502 1.0 \u2506 2.0 \u2502\n\u2502 3.0 \u2506 4.0 \u2502\n\u2514\u2500\u2534\u2500\u2518\n"s}) {
    check_conversion(text, there);
  }
  const auto converted = [&](const std::string& text, const Words& options) {
    INFO(text);
    write_bytes(folder / "t.txt", text);
    convert(run_kith({"cluster", "t.txt", "-k", "1"}, there), "t.txt", there);
    return mean_of("OUT", there, options);
  };
  const std::vector<double> booked{19735.5, -1};
  CHECK(converted("!Type:Bank\r\nD01/13/24\r\nT2,000.00\r\n^\r\nD1/14'24\r\nT-2002.00\r\n^\r\n",
                  {"--encode", "date"}) == booked);
  CHECK(converted(":20:X\n:25:1\n:61:240113C2000,NTRF\n:61:2401140114DR2002,00NTRF\n-\n", {"--encode", "date"}) ==
        booked);
  CHECK(converted("REMARK   4 X\n"
                  "ATOM      1  N   ALA A   1      11.104  -6.134   0.504  1.00  0.00           N\n"
                  "HETATM    2  O   HOH A   2    -111.104   6.134   0.496  1.00  0.00           O\n",
                  {}) == std::vector<double>{-50, 0, 0.5});
}
