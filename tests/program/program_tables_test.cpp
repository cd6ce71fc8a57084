// Tables as people have them: columns that hold no numbers, and what makes numbers of them.
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/hdf5_attributes.h"
#include "tests/support/program.h"
#include "tests/support/proposals.h"
#include "tests/support/result_values.h"
#include "tests/support/table_runs.h"

using namespace kith::testing;
using namespace std::string_literals;

TEST_CASE("units, lists and dates that stand for none are named with what reads them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "a,b\n10%,1\n20%,2\n35%,7\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"or --encode a=unit makes numbers of them"}, there);
  proposes_what_works({"cluster", "t.csv", "-k", "1"}, 3, there);
  write_bytes(folder / "t.csv", "k;p\nx;\xe2\x82\xac 1.200,50\ny;\xe2\x82\xac 2,5\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"say --prepare auto"}, there);
  write_bytes(folder / "t.csv", "p\n\"$1,200\"\n\"$2,400.50\"\n");
  proposes_what_works({"cluster", "t.csv", "-k", "1", "--delimiter", "comma"}, 1, there);
  write_bytes(folder / "t.csv", "id,emb\n1,\"[0.1, 0.2]\"\n2,\"[0.3, 0.4]\"\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"write each number of its lists in a column of its own"}, there);
  for (const std::string none : {"0000-00-00", "0000-00-00 00:00:00"}) {
    write_bytes(folder / "t.csv", "d,v\n2024-01-01,1\n" + none + ",2\n2024-05-01,2\n");
    const Words words{"cluster", "t.csv", "-k", "1", "--encode", "d=date"};
    refuses(3, words,
            {"found '" + none + "'; if it stands for a missing value, say --na-values '" + none + "' --nan drop"},
            there);
    proposes_what_works(words, 1, there);
  }
  write_bytes(folder / "t.csv", "d,v\n2024-01-01,1\n9999-12-31,2\n2024-05-01,2\n");
  CHECK(done({"cluster", "t.csv", "-k", "1", "--encode", "d=date"}, there).says("--na-values '9999-12-31'"));
}

TEST_CASE("units that belong together are one, and numbers before notes are read where that is said") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto mean_with = [&](const std::string& values, const Words& options) {
    write_bytes(folder / "t.csv", "v;x\n" + values);
    return mean_of("t.csv", there, options);
  };
  const auto has = [&](double mean) { return std::vector<double>{mean, 2}; };
  const std::pair<const char*, double> of_units[] = {
      {"1.5K;1\n2M;2\n500;3\n", 2002000.0 / 3},         {"$1.5M;1\n$500K;2\n$1;3\n", 2000001.0 / 3},
      {"1 kB;1\n2 MB;2\n1 KiB;3\n", 2002024.0 / 3},     {"5 mg;1\n1 g;2\n0.001 kg;3\n", 2.005 / 3},
      {"1 bath;1\n1.5 baths;2\n2 baths;3\n", 1.5},      {"2.5N;1\n1S;2\n3N;3\n", 1.5},
      {"2.50 CR;1\n1.00 DR;2\n3.00 CR;3\n", 1.5},       {"1 Mio. EUR;1\n2 Mrd. EUR;2\n3 Mio. EUR;3\n", 2004e6 / 3},
      {"1K;1\n2G;2\n3;3\n", 2147484675.0 / 3},          {"\u20a91;1\n\u20a92;2\n\u20a93;3\n", 2},
      {"1\u4e07;1\n2\u4ebf;2\n3;3\n", 200010003.0 / 3}, {"\u22121 pp;1\n+3 pp;2\n4 pp;3\n", 2}};
  for (const auto& [values, mean] : of_units) {
    INFO(values);
    CHECK(mean_with(values, {"--encode", "v=unit"}).front() == Approx(mean));
    CHECK(mean_of("t.csv", there, {"--prepare", "auto", "--scale", "none"}).front() == Approx(mean));
    refuses(3, {"cluster", "t.csv", "-k", "1"}, {"--encode v=unit"}, there);
  }
  // Units of different kinds have none in common; the first one is expected.
  write_bytes(folder / "t.csv", "v;x\n5 kg;1\n3 km;2\n5 kg;3\n");
  refuses(3, {"cluster", "t.csv", "-k", "1", "--encode", "v=unit"}, {"line 3", "the unit 'kg', found '3 km'"}, there);
  for (const std::string& values :
       {"1*;1\n2;2\n3**;3\n"s, "1;1\n2\u2020;2\n3 b;3\n"s, "1 [0.5-2];1\n2 [1-3];2\n3 [2-5];3\n"s,
        "~1;1\n<2;2\nca. 3;3\n"s, "1st;1\n2nd;2\n3rd;3\n"s, "1 out of 5;1\n2 out of 5;2\n3 of 5 stars;3\n"s,
        "1.0(2);1\n2.0(1);2\n3.0\u00b10.5;3\n"s, "1 1/2;1\n5/2;2\n6 / 3;3\n"s, "10+;1\n-5*;2\n1;3\n"s}) {
    INFO(values);
    CHECK(mean_with(values, {"--encode", "v=first-number"}) == has(2));
    proposes_what_works({"cluster", "t.csv", "-k", "1"}, values.find_first_of("*0;") == 1 ? 2 : 3, there);
    refuses(3, {"cluster", "t.csv", "-k", "1"}, {"--encode v=first-number", "' becomes "}, there);
  }
  // A part of them would be lost.
  for (const std::string lost :
       {"5 ft 11 in", "1.2.3", "8\u00b710^5", "8 x 10^5", "08:15", "3-4", "12kg", "2023/24", "5 %", "10.20.100"}) {
    INFO(lost);
    write_bytes(folder / "t.csv", "v;x\n" + lost + ";1\n" + lost + ";2\n");
    CHECK(!run_kith({"cluster", "t.csv", "-k", "1"}, there).says("first-number"));
    refuses(3, {"cluster", "t.csv", "-k", "1", "--encode", "v=first-number"}, {"a text that begins with a number"},
            there);
  }
  for (const std::string& values : {"5 kg;1\n3 lb;2\n"s, "20 \u00b0C;1\n68 \u00b0F;2\n"s, "90 min;1\n2 Seasons;2\n"s,
                                    "12B;1\n7K;2\n"s, "7M;1\n8W;2\n"s, "10.20.100;1\n9;2\n"s}) {
    INFO(values);
    write_bytes(folder / "t.csv", "v;x\n" + values);
    const Outcome refused = run_kith({"cluster", "t.csv", "-k", "1"}, there);
    CHECK((refused.code == 3 && !refused.says("--encode v=")));
  }
  refuses(2, {"cluster", "t.csv", "-k", "1", "--encode", "first-number"}, {"or COLUMN=first-number"}, there);
  // Other rows are read by the model as those of the table were.
  write_bytes(folder / "t.csv", "v,w,x\n1*,1K,0\n2,2M,0\n30*,3K,9\n31,5,9\n");
  done({"cluster", "t.csv", "-k", "2", "--init", "first", "--encode", "v=first-number,w=unit", "-o", "m.h5"}, there);
  write_bytes(folder / "new.csv", "v,w,x\n29**,1K,9\n2 a,2M,0\n");
  done({"assign", "new.csv", "--centroids", "m.h5", "-q", "-o", "l.csv"}, there);
  CHECK(bytes_of(folder / "l.csv") == "row,label\n0,0\n1,1\n");
  write_bytes(folder / "t.csv", "lap;x\n01.23.450;1\n01.23.550;3\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"},
          {"--encode lap=time makes numbers of them; '01.23.450' becomes 0.0231806"}, there);
  CHECK(mean_of("t.csv", there, {"--encode", "lap=time"}).front() == Approx(83.5 / 3600));
}

TEST_CASE("dates of statistics programs, cameras and stations are days; a first line of such values is a row") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::pair<const char*, double> days[] = {{"2024Q1", 19723},
                                                 {"2024-Q2", 19814},
                                                 {"Q2 2024", 19814},
                                                 {"1990m2", 7336},
                                                 {"2024-W01", 19723},
                                                 {"2021W01", 18631},
                                                 {"2024:03:01 12:00:00", 19783.5},
                                                 {"01MAR2024:12:00:00", 19783.5},
                                                 {"Mar 1, 2024 @ 12:00:00.000", 19783.5},
                                                 {"2024030112", 19783.5},
                                                 {"202403011200", 19783.5},
                                                 {"20240301120000", 19783.5},
                                                 {"202403", 19783},
                                                 {"03/2024", 19783},
                                                 {"03.2024", 19783},
                                                 {"1. 3. 2024", 19783},
                                                 {"2024. 3. 1.", 19783},
                                                 {"2024\u5e743\u67081\u65e5", 19783},
                                                 {"1 de marzo de 2024", 19783},
                                                 {"1 maj 2024", 19844},
                                                 {"1 \u041c\u0430\u0440\u0442\u0430 2024", 19783},
                                                 {"Fri Mar  1 12:00:00 2024", 19783.5},
                                                 {"Fri Mar 1 12:00:00 UTC 2024", 19783.5},
                                                 {"Fri Mar 1 13:00:00 2024 +0100", 19783.5},
                                                 {"2024-03-01 07:00:00 EST", 19783.5},
                                                 {"2024-03-01T13:00:00+01:00[Europe/Berlin]", 19783.5}};
  for (const auto& [text, day] : days) {
    INFO(text);
    write_bytes(folder / "t.csv", fmt::format("d;x\n{};1\n{};3\n", text, text));
    CHECK(mean_of("t.csv", there, {"--encode", "d=date"}) == std::vector<double>{day, 2});
  }
  for (const std::string none :
       {"2024Q5", "2024m13", "2024-W54", "Q2 24", "1024q1", "2024030125", "240301", "13/2024"}) {
    INFO(none);
    write_bytes(folder / "t.csv", "d;x\n" + none + ";1\n" + none + ";3\n");
    CHECK(run_kith({"cluster", "t.csv", "-k", "1", "--encode", "d=date"}, there).code == 3);
  }
  // A column of 03.2024 is no reason to read 1,5 otherwise.
  write_bytes(folder / "t.csv", "monat;x\n01.2024;1,5\n02.2024;2,5\n12.2024;5,5\n");
  const std::vector<double> months = mean_of("t.csv", there, {"--prepare", "auto", "--scale", "none"});
  CHECK((months.size() == 2 && months[0] == Approx(19723 + 366.0 / 3) && months[1] == Approx(9.5 / 3)));
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"say --decimal comma"}, there);
  refuses(3, {"cluster", "t.csv", "-k", "1", "--decimal", "comma"}, {"found '01.2024'; --encode monat=date makes"},
          there);
  write_bytes(folder / "t.csv", "v;x\n12.2001;1.5\n10.1950;2.5\n11.2010;5.5\n");
  CHECK(mean_of("t.csv", there, {"--prepare", "auto", "--scale", "none"})[0] == Approx(33.5961 / 3));
  write_bytes(folder / "t.csv", "1.5K\t./a1\n2M\t./a2\n3G\t./a3\n");  // as of du -h
  CHECK(done({"info", "t.csv", "--json"}, there).json()["files"][0]["datasets"][0]["shape"][0] == 3);
  for (const std::string row : {"1.5K,./a", "10%,b", "2024-03-01,c", "08:15,d"}) {
    INFO(row);
    std::string table = row + "9\n";
    for (int i = 0; i < 5; ++i) table += row + std::to_string(i) + "\n";
    write_bytes(folder / "t.csv", table);
    CHECK(done({"info", "t.csv", "--json"}, there).json()["files"][0]["datasets"][0]["shape"][0] == 6);
    write_bytes(folder / "t.csv", row.substr(0, row.find(',')) + ",from\n" + table);
    refuses(3, {"cluster", "t.csv", "-k", "1"}, {"names of columns, or values? say --header yes or --header no"},
            there);
  }
}

TEST_CASE("all columns that cannot be points are named at once, with the options that read the others") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string table = "id,name,age,city,width,note\n";
  for (int i = 0; i < 60; ++i) {
    table += std::to_string(i * i % 61) + ",n" + std::to_string(i) + "," + (i == 40 ? "" : std::to_string(i)) + "," +
             (i % 2 == 0 ? "Rome" : "Oslo") + "," + (i == 30 ? "unknown" : "1.5") + "," + (i > 50 ? "2" : "") + "\n";
  }
  write_bytes(folder / "t.csv", table);
  refuses(3, {"cluster", "t.csv", "-k", "2"},
          {"t.csv: expected numbers, found text in 3 of 6 columns (such as 'n0' in line 2, column 2 ('name')), missing "
           "values in 2; ",
           "; say --prepare auto"},
          there);
  const Outcome refused = run_kith({"knn", "t.csv", "-k", "2"}, there);  // it has no --prepare
  CHECK(refused.code == 3);
  const std::string advice = "--drop-columns name,city,note --na-values 'unknown' --nan drop";
  for (const std::string& part :
       {std::string("t.csv: expected numbers, found in its 60 rows text in column 2 ('name') ('n0', 60 rows, first"),
        std::string("column 5 ('width') ('unknown', 1 row, first fault in line 32)"),
        std::string("missing values, NaN or infinity in column 3 ('age') (1 row, first fault in line 42), column 6"),
        "this reads it: " + advice}) {
    INFO(refused.err << "\n" << part);
    CHECK(refused.err.find(part) != std::string::npos);
  }
  std::string wide = "a,b,c,d,e,f,g,h,i,number\n";  // many are counted
  for (int i = 0; i < 9; ++i) wide += "p,q,r,s,t,u,v,w,x," + (i == 4 ? "" : std::to_string(i)) + "\n";
  write_bytes(folder / "wide.csv", wide);
  refuses(3, {"knn", "wide.csv", "-k", "2"},
          {"expected numbers, found text in 9 of 10 columns (such as 'p' in line 2, column 1 ('a')), missing "
           "values in 1; this reads it: --drop-columns a,b,c,d,e,f,g,h,i --nan drop"},
          there);
  const Outcome read = done(
      {"cluster", "t.csv", "-k", "2", "--drop-columns", "name,city,note", "--na-values", "unknown", "--nan", "drop"},
      there);
  CHECK(read.says("2 of 60 rows dropped"));
  // Where only missing values are left, both columns are named.
  refuses(3, {"cluster", "t.csv", "-k", "2", "--drop-columns", "name,city,width"},
          {"missing values, NaN or infinity in column 3 ('age')", "column 6 ('note')",
           "this reads it: --drop-columns name,city,width,note --nan drop"},
          there);
  // The message about one column has its line.
  refuses(3, {"cluster", "t.csv", "-k", "2", "--columns", "id,age"}, {"line 42, column 3 ('age')"}, there);
}

TEST_CASE("advice is given where a result may mislead, and not elsewhere") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string numbered = "id,a,b\n", scales = "income,a,b\n", good = "a,b\n";
  for (int i = 0; i < 40; ++i) {
    const std::string pair = std::to_string(i * 7 % 11) + "," + std::to_string(i * 5 % 13);
    numbered += std::to_string(i == 20 ? 900 : 100 + i) + "," + pair + "\n";
    scales += std::to_string(20000 + i * 7919 % 10007) + "," + pair + "\n";
    good += pair + "\n";
  }
  write_bytes(folder / "numbered.csv", numbered);
  write_bytes(folder / "scales.csv", scales);
  write_bytes(folder / "good.csv", good);
  const auto says = [&](const Words& words, const std::string& text) { return done(words, there).says(text); };
  // One number of 40 out of order is more than a hundredth.
  CHECK_FALSE(says({"cluster", "numbered.csv", "-k", "2"}, "looks like an identifier"));
  write_bytes(folder / "numbered.csv", numbered.replace(numbered.find("900"), 3, "120"));
  for (const Words& words : {Words{"cluster", "numbered.csv", "-k", "2"}, Words{"knn", "numbered.csv", "-k", "2"}}) {
    CHECK(says(words, "advice: column 1 ('id') looks like an identifier"));
    CHECK(says(words, "--drop-columns id"));
  }
  CHECK(says({"cluster", "scales.csv", "-k", "2"}, "advice: columns differ in scale: column 1 ('income') has 99.9 %"));
  CHECK(says({"cluster", "good.csv", "-k", "30"}, "advice: 30 clusters of 40 rows"));
  CHECK(says({"sweep", "good.csv", "-k", "2-3"}, "advice: one start for each number of clusters"));
  for (const Words& words :
       {Words{"cluster", "scales.csv", "-k", "2", "--no-advice"}, Words{"cluster", "good.csv", "-k", "3"},
        Words{"cluster", "scales.csv", "-k", "2", "--scale", "zscore"}, Words{"cluster", "scales.csv", "-k", "2", "-q"},
        Words{"sweep", "good.csv", "-k", "2-3", "--n-init", "2"}}) {
    CHECK_FALSE(says(words, "advice"));
  }
}

TEST_CASE("the table of the points is written with the labels as a further column") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto appended = [&](const std::string& table, const Words& more) {
    write_bytes(folder / "t.csv", table);
    Words words{"cluster", "t.csv", "-k", "2", "--init", "first", "--append", "-q", "-f", "-o", "o.csv"};
    words.insert(words.end(), more.begin(), more.end());
    done(words, there);
    return bytes_of(folder / "o.csv");
  };
  CHECK(appended("\xef\xbb\xbf# made\nname,x\r\n\"a, \"\"b\"\"\",0\r\n\"c\nd\",9\r\n\ne,8", {"--id-column", "name"}) ==
        "\xef\xbb\xbf# made\nname,x,label\r\n\"a, \"\"b\"\"\",0,0\r\n\"c\nd\",9,1\r\n\ne,8,1");
  CHECK(appended("sep=;\nlabel;\"x;y\"\nu;1,5\nv;9,5\n", {"--label-column", "label", "--decimal", "comma"}) ==
        "sep=;\nlabel;\"x;y\";label_2\nu;1,5;0\nv;9,5;1\n");
  CHECK(appended("0\t1\n5\t5\n0\t3\n", {"--save-distances"}) == "0\t1\t0\t1\n5\t5\t1\t0\n0\t3\t0\t1\n");
  CHECK(appended("x y\nr1 0 1\nr2 NA 1\nr3 9 9\n", {"--nan", "drop"}) == "x y label\nr1 0 1 0\nr2 NA 1 -1\nr3 9 9 1\n");
  // A table of one column has no delimiter that could be kept.
  CHECK(appended("x\r\n0\r\n\r\n9\r\n", {}) == "x,label\r\n0,0\r\n\r\n9,1\r\n");
  CHECK(appended("x\n0,5\n9\n", {"--decimal", "comma"}) == "x;label\n0,5;0\n9;1\n");
  CHECK(appended("0\n9", {"--delimiter", "tab", "--save-distances"}) == "0\t0\t0\n9\t1\t0");
  CHECK(appended("a|b\n# c\n1|2\n# d\n7|8\n#e", {"--comment", "#"}) == "a|b|label\n# c\n1|2|0\n# d\n7|8|1\n#e");
  CHECK(appended("a,b\n,1\n7,1\n9,9\n", {"--nan", "mean"}) == "a,b,label\n,1,1\n7,1,1\n9,9,0\n");
  done({"assign", "t.csv", "--centroids", "o.h5:/centroids", "--append", "-q", "-f", "-o", "p.csv"},
       (done({"cluster", "t.csv", "-k", "1", "--nan", "drop", "-q", "-o", "o.h5"}, there),
        write_bytes(folder / "t.csv", "a,b\n1,2\n"), there));
  CHECK(bytes_of(folder / "p.csv") == "a,b,label\n1,2,0\n");
  refuses(2, {"cluster", "t.csv", "-k", "1", "--append", "-o", "x.npy"}, {"--append: expected an --output"}, there);
  refuses(2, {"cluster", kDigits, "-k", "1", "--append", "-o", "x.csv"},
          {"--append: expected points of one text, Parquet or Arrow file"}, there);
}

TEST_CASE("files of other programs are refused by name, with the command that converts them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  struct File {
    std::string name, begin, kind, command;
  };
  if (done({"devices", "--json"}).json().at("arrow") == false) {
    write_bytes(folder / "x.parquet", "PAR1xxxx");
    refuses(3, {"cluster", "x.parquet", "-k", "2"}, {"a Parquet file", "pandas.read_parquet('IN')"}, there);
    write_bytes(folder / "x.arrow", "ARROW1xx");
    refuses(3, {"cluster", "x.arrow", "-k", "2"}, {"an Arrow file", "pandas.read_feather('IN')"}, there);
  }
  for (const File& file :
       {File{"x.feather", "FEA1xxxx", "a Feather file of version 1", "pandas.read_feather('IN')"},
        File{"x.orc", "ORC\x01\x02", "an ORC file", "pandas.read_orc('IN')"},
        File{"x.dta", "<stata_dta><header>", "a Stata file", "pandas.read_stata('IN')"},
        File{"y.dta", "r\x01\x01\0data"s, "a Stata file", "pandas.read_stata('IN')"},
        File{"x.pkl", "\x80\x02]q\x01.", "a Python pickle", "pandas.read_pickle('IN')"},
        File{"x.safetensors", "\x10\0\0\0\0\0\0\0{\"a\":{}}"s, "a safetensors file", "safetensors.numpy"},
        File{"x.bin", "2 3\nthe \x01\x02\0"s, "binary vectors of word2vec", "load_word2vec_format('IN'"},
        File{"x.vec", "2 3\nthe 1 2 3\nof 1 2 4\n", "vectors of word2vec", "--skip-lines 1 --id-column 1"},
        File{"x.zip", "PK\x03\x04xx.zgroup", "a zarr archive", "zarr.open('IN'"},
        File{"x.pt", "PK\x03\x04xx/data.pkl", "a PyTorch file", "torch.load('IN'"},
        File{"x.xlsx", "PK\x03\x04xxxx", ".xlsx", "pandas.read_excel('IN')"},
        File{"x.db", "SQLite format 3", "an SQLite database", "sqlite3 -csv -header IN"},
        File{"x.csv.xz",
             "\xfd"
             "7zXZxx",
             "xz", "xz -dc IN | kith COMMAND -"}}) {
    write_bytes(folder / file.name, file.begin);
    refuses(3, {"cluster", file.name, "-k", "2"}, {file.kind, file.command}, there);
  }
  {
    FileMaker file(folder / "x.h5");
    file.group("df");
    const hid_t group = H5Gopen2(file.id(), "df", H5P_DEFAULT);
    write_text_attribute(group, "pandas_type", "frame", false);
    H5Gclose(group);
    file.floats("df/block0_values", {2, 1}, {1, 2});
    file.floats("df/block1_values", {2, 1}, {1, 2});
  }
  for (const char* name : {"x.h5", "x.h5:/df"}) {
    refuses(3, {"knn", name, "-k", "1"},
            {"x.h5:/df: expected a dataset of numbers, found a frame of pandas", "read_hdf('IN', 'df')"}, there);
  }
  std::filesystem::create_directories(folder / "x.zarr/obs");
  std::filesystem::create_directories(folder / "x.zarr/var");
  write_bytes(folder / "x.zarr/.zgroup", "{}");
  write_bytes(folder / "x.zarr/obs/.zarray", "{}");
  refuses(3, {"info", "x.zarr"}, {"an AnnData set in a zarr folder", "read_zarr('IN')"}, there);
  refuses(3, {"info", "x.zarr/obs"}, {"a zarr folder", "zarr.open('IN', mode='r')[:]"}, there);
}

TEST_CASE("columns of structured arrays and of compounds are chosen by name") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  struct Row {
    std::int64_t id;
    float x;
    char text[4];
    float pair[2];
  };
  const Row rows[] = {{10, 1, "a", {5, 6}}, {20, 2, "b", {7, 8}}, {30, 4, "c", {9, 1}}};
  static_assert(sizeof rows == 3 * 24);
  std::string header =
      "{'descr': [('id', '<i8'), ('x', '<f4'), ('text', '|S4'), ('pair', '<f4', (2,))], 'fortran_order': False, "
      "'shape': (3,), }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  write_bytes(folder / "r.npy", "\x93NUMPY\x01\0"s + static_cast<char>(header.size() & 0xff) +
                                    static_cast<char>(header.size() >> 8) + header +
                                    std::string(reinterpret_cast<const char*>(rows), sizeof rows));
  {
    const hid_t row = H5Tcreate(H5T_COMPOUND, sizeof(Row)), text = H5Tcopy(H5T_C_S1);
    const hsize_t two = 2;
    const hid_t pair = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &two);
    H5Tset_size(text, 4);
    H5Tinsert(row, "id", 0, H5T_NATIVE_INT64);
    H5Tinsert(row, "x", 8, H5T_NATIVE_FLOAT);
    H5Tinsert(row, "text", 12, text);
    H5Tinsert(row, "pair", 16, pair);
    FileMaker file(folder / "r.h5"), chunked(folder / "c.h5");
    file.dataset("t", row, {3}, row, rows);
    chunked.dataset("t", row, {3}, row, rows, {.chunk = {2}, .shuffle = true, .deflate = 4});
    chunked.dataset("plain", row, {3}, row, rows, {.chunk = {2}});
    for (const hid_t type : {row, text, pair}) H5Tclose(type);
  }
  write_bytes(folder / "r.csv", "id,x,pair_1,pair_2\n10,1,5,6\n20,2,7,8\n30,4,9,1\n");
  const auto distances = [&](const std::string& file, const Words& more) {
    Words words{"distances", file, "--precision", "f64"};
    words.insert(words.end(), more.begin(), more.end());
    return done(words, there).out;
  };
  for (const char* file : {"r.npy", "r.h5", "c.h5:/t", "c.h5:/plain"}) {
    INFO(file);
    CHECK(distances(file, {"--drop-columns", "text"}) == distances("r.csv", {}));
    CHECK(distances(file, {"--columns", "pair,x"}) == distances("r.csv", {"--columns", "pair_1,pair_2,x"}));
    CHECK(distances(file, {"--columns", "5,2"}) == distances("r.csv", {"--columns", "pair_2,x"}));
    refuses(3, {"knn", file, "-k", "1"},
            {"expected numbers, found column 3 ('text', ", "leave it out with --drop-columns text"}, there);
    refuses(2, {"knn", file, "-k", "1", "--columns", "y"}, {"'y' is neither a column's name nor a number"}, there);
    CHECK(done({"info", file, "--stats"}, there).out.find("pair_2") != std::string::npos);
  }
  // A model finds its columns by name, in a table of another format.
  done({"cluster", "r.csv", "-k", "2", "-q", "-o", "m.h5"}, there);
  const std::string labels = done({"assign", "r.csv", "--centroids", "m.h5", "-q", "-o", "-"}, there).out;
  CHECK(done({"assign", "c.h5:/t", "--centroids", "m.h5", "-q", "-o", "-"}, there).out == labels);
}

TEST_CASE("--encode makes features of texts, and a model finds them by name") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(
      folder / "t.csv",
      "name,age,\"a, b\",city,ok,size\nx,31,1.5,Paris,True,S\ny,42,2.5,Lyon,FALSE,M\nz,25,.5,\"Paris\",true,L\n");
  const std::string plain = "31,1.5,0,1,1,2\n42,2.5,1,0,0,1\n25,.5,0,1,1,0\n";
  write_bytes(folder / "n.csv", plain);
  const auto distances = [&](const std::string& file, const Words& more) {
    Words words{"distances", file};
    words.insert(words.end(), more.begin(), more.end());
    return done(words, there).out;
  };
  CHECK(distances("t.csv", {"--id-column", "name", "--encode", "ordinal,city=onehot"}) == distances("n.csv", {}));
  CHECK(distances("t.csv", {"--drop-columns", "name,city", "--encode", "ordinal"}) ==
        distances("n.csv", {"--columns", "1-2,5-6"}));
  CHECK(distances("t.csv", {"--columns", "\"a, b\",age,ok"}) == distances("n.csv", {"--columns", "2,1,5"}));
  CHECK(distances("t.csv", {"--columns", "age,ok", "--encode", "ok=onehot,none"}) ==
        (write_bytes(folder / "o.csv", "31,0,1,0\n42,1,0,0\n25,0,0,1\n"), distances("o.csv", {})));

  const Words cluster{"cluster", "t.csv", "-k", "2",   "--drop-columns", "name", "--encode", "ordinal,city=onehot",
                      "-q",      "-f",    "-o", "r.h5"};
  done(cluster, there);
  CHECK(bytes_of(folder / "r.h5").find("city=Lyon\ncity=Paris\nok\nsize=L|M|S") != std::string::npos);
  CHECK(done({"info", "r.h5"}, there).code == 0);
  // Another order, other columns, and fewer texts.
  write_bytes(folder / "p.csv", "size,x,city,ok,age,\"a, b\"\nS,9,Paris,1,31,1.5\nM,9,Paris,0,30,1.5\n");
  const auto assign = [&](const char* file) {
    return Words{"assign", file, "--centroids", "r.h5", "--encode", "ordinal,city=onehot", "-q", "-f", "-o", "l.csv"};
  };
  done(assign("p.csv"), there);
  write_bytes(folder / "q.csv", "31,1.5,0,1,1,2\n30,1.5,0,1,0,1\n");
  done({"assign", "q.csv", "--centroids", "r.h5:/centroids", "-q", "-o", "m.csv"}, there);
  CHECK(bytes_of(folder / "l.csv") == bytes_of(folder / "m.csv"));
  const auto refused = [&](const char* row, const Words& says) {
    write_bytes(folder / "p.csv", "size,city,ok,age,\"a, b\"\n"s + row);
    Words words = assign("p.csv");
    words.insert(words.end(), {"--unknown", "error"});
    refuses(3, words, says, there);
  };
  refused("S,Oslo,1,31,1.5\n", {"line 2, column 2 ('city'): expected one of the texts", "Lyon, Paris, found 'Oslo'"});
  refused("XL,Paris,1,31,1.5\n", {"column 1 ('size'): expected one of the texts", "found 'XL'"});
  const std::string page = folder / "page.html";
  done({"report", "r.h5", "-o", page, "-q"}, there);  // with the options of the clustering

  // Missing texts, and tables without names.
  write_bytes(folder / "h.csv", "vhigh,2\nlow,3\n,4\nlow,NA\n");
  refuses(3, {"cluster", "h.csv", "-k", "1", "--encode", "onehot"}, {"column 1", "--nan drop"}, there);
  CHECK(
      done({"cluster", "h.csv", "-k", "1", "--encode", "onehot", "--nan", "drop"}, there).says("2 of 4 rows dropped"));
  CHECK(done({"cluster", "h.csv", "-k", "1", "--encode", "onehot", "--nan", "drop"}, there).says("h.csv, 4 x 3 text"));

  refuses(2, {"cluster", "t.csv", "-k", "1", "--encode", "dummy"},
          {"--encode: expected onehot, onehot+missing, ordinal, date", "'dummy'"}, there);
  refuses(2, {"cluster", "t.csv", "-k", "1", "--encode", "town=onehot"}, {"--encode: 'town'"}, there);
  refuses(2, {"cluster", "t.csv", "-k", "1", "--columns", "age", "--encode", "city=onehot"},
          {"--encode: column 4 ('city') is not one of the points"}, there);
  refuses(2, {"cluster", "t.csv", "-k", "1", "--columns", "age,a, b"},
          {"quote a name that contains a comma, as in '\"a, b\"'"}, there);
  refuses(2, {"cluster", "t.csv", "-k", "1", "--columns", "age,\"a, b"}, {"--columns: expected a closing quote"},
          there);
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"or make features of their texts with --encode onehot"}, there);
  std::string many = "a,b\n";
  for (int i = 0; i < 1001; ++i) many += "t" + std::to_string(i) + ",1\n";
  write_bytes(folder / "many.csv", many);
  refuses(3, {"cluster", "many.csv", "-k", "1", "--encode", "onehot"},
          {"expected at most 1000 different texts in column 1 ('a')", "--encode a=ordinal"}, there);
  CHECK(done({"cluster", "many.csv", "-k", "1", "--encode", "ordinal"}, there).says("1001 x 2 text"));
  CHECK(done({"cluster", kDigits, "-k", "1", "--encode", "onehot"}, there).says("--encode has no effect"));
}

TEST_CASE("dates are refused with the option that makes numbers of them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const char* date : {"2026-11-23", "2026-11-23 10:00:00", "23.11.2026", "11/23/26", "2026/1/2T3:00"}) {
    INFO(date);
    write_bytes(folder / "t.csv", "x,when\n1," + std::string(date) + "\n2," + date + "\n");
    refuses(3, {"cluster", "t.csv", "-k", "1"},
            {"found dates in column 2 ('when')", "--drop-columns when", "or --encode when=date makes days of them"},
            there);
    done({"cluster", "t.csv", "-k", "1", "--encode", "when=date", "-q"}, there);
    refuses(3, {"cluster", "t.csv", "-k", "1", "--encode", "onehot"}, {"found dates in column 2 ('when')"}, there);
  }
  write_bytes(folder / "t.csv", "x,city,when\n1,a,1.2.2026\n2,b,1.2.2026\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"column 3 ('when') holds dates", "makes days of them"}, there);
  for (const char* text : {"1.2", "10-11", "1-2.3", "192.168.0.1", "555-1234-99", "2026-11-233"}) {
    INFO(text);
    write_bytes(folder / "t.csv", "x,when\n1,a\n2," + std::string(text) + "\n");
    CHECK_FALSE(run_kith({"cluster", "t.csv", "-k", "1"}, there).says("dates"));
  }
}

TEST_CASE("--encode date makes days since 1970, and asks whether the day or the month comes first") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  // Against the days that Python's datetime gives.
  const auto days = [&](const std::string& rows, const std::string& encode) {
    write_bytes(folder / "t.csv", "x,when\n" + rows);
    done({"cluster", "t.csv", "-k", "1", "--columns", "when", "--encode", encode, "-q", "-f", "-o", "r.h5"}, there);
    return matrix(folder / "r.h5:/centroids")(0, 0);
  };
  CHECK(days("1,1970-01-02\n", "when=date") == 1.0);
  CHECK(days("1,2024-12-31\n", "when=date") == 20088.0);
  CHECK(days("1,31.12.24\n", "when=date") == 20088.0);
  CHECK(days("1,12/31/69\n", "when=date") == -1.0);
  CHECK(days("1,2024-02\n", "when=date") == 19754.0);
  CHECK(days("1,1969-12-31T12:00:00Z\n", "date") == -0.5);
  CHECK(days("1,2024-12-31 06:00\n", "date,onehot") == 20088.25);
  CHECK(days("1,2024-12-31 06:00:00+06:00\n", "when=date") == 20088.0);
  CHECK(days("1,12/31/2024 6:00 PM\n", "when=date") == 20088.75);
  CHECK(days("1,31.12.2024\n1,01.01.2025\n", "when=date") == 20088.5);
  CHECK(days("1,01.02.2024\n", "when=date") == 19754.0);
  CHECK(days("1,01.02.2024\n", "when=mdy") == 19724.0);
  CHECK(days("1,01/02/2024\n", "when=dmy") == 19754.0);
  CHECK(days("1,01/02/2024\n1,13/02/2024\n", "when=date") == 19760.0);
  CHECK(days("1,01/02/2024\n1,02/13/2024\n", "when=date") == 19745.0);
  CHECK(days("1,20241231\n", "when=date") == 20088.0);
  for (const char* text : {"31 Dec 2024", "31-Dec-24", "\"Dec 31, 2024\"", "December 31 2024", "31st december 2024",
                           "\"Tue, 31 Dec 2024 00:00:00 GMT\"", "2024-Dec-31", "31. Dezember 2024",
                           "31 d\u00e9cembre 2024", "31 dic 2024", "31/DEC/2024", "31DEC2024"}) {
    INFO(text);
    CHECK(days("1," + std::string(text) + "\n", "when=date") == 20088.0);
  }
  CHECK(days("1,Feb 2024\n", "when=date") == 19754.0);
  CHECK(days("1,\"Dec 31, 2024 6:00 PM\"\n", "when=date") == 20088.75);
  const auto refused = [&](const std::string& rows, const Words& says) {
    write_bytes(folder / "t.csv", "x,when\n" + rows);
    refuses(3, {"cluster", "t.csv", "-k", "1", "--encode", "when=date"}, says, there);
  };
  refused("1,03/04/2024\n2,05/06/2024\n", {"line 2, column 2 ('when')", "--encode when=dmy", "--encode when=mdy"});
  refused("1,13/04/2024\n2,04/13/2024\n", {"day first in line 2", "month first in line 3"});
  refused("1,2024-02-30\n", {"line 2, column 2 ('when'): expected a date such as", "found '2024-02-30'"});
  refused("1,soon\n", {"expected a date such as", "found 'soon'"});
  refused("1,2024-01-01\n2,\n", {"line 3, column 2 ('when'): expected a date, found an empty field", "--nan drop"});
  done({"cluster", "t.csv", "-k", "1", "--encode", "when=date", "--nan", "mean", "-q"}, there);
}

TEST_CASE("--encode yesno makes 1 and 0, and --columns numeric takes the columns of numbers") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(
      folder / "t.csv",
      "id,ok,age,city,when,gone\na,yes,31,Rome,2024-01-01,\nb,No,NA,Oslo,2024-01-02,\nc,TRUE,1e1,Rome,2024-01-03,"
      "\nd,nein,5,Oslo,2024-01-04,\n");
  write_bytes(folder / "n.csv", "1,31\n0,8\n1,10\n0,5\n");
  write_bytes(folder / "m.csv", "ok,age\nyes,31\nNo,8\nTRUE,10\nnein,5\n");
  const std::string plain = done({"distances", "n.csv"}, there).out;
  CHECK(done({"distances", "m.csv", "--encode", "ok=yesno"}, there).out == plain);
  CHECK(done({"distances", "m.csv", "--encode", "onehot,yesno"}, there).out == plain);
  refuses(3, {"cluster", "t.csv", "-k", "1", "--columns", "city", "--encode", "city=yesno"},
          {"line 2, column 4 ('city'): expected yes or no (yes/no", "found 'Rome'"}, there);
  const Outcome numeric = done({"cluster", "t.csv", "-k", "1", "--columns", "numeric", "--nan", "drop"}, there);
  CHECK(numeric.says("columns    1 for --columns numeric: age"));
  const Outcome more =
      done({"cluster", "t.csv", "-k", "1", "--columns", "numeric,ok,when", "--encode", "date,yesno", "--nan", "drop"},
           there);
  CHECK(more.says("columns    3 for --columns numeric,ok,when: age, ok, when"));
  write_bytes(folder / "named.csv", "numeric,x\n1,2\n3,4\n");
  CHECK(done({"cluster", "named.csv", "-k", "1", "--columns", "numeric"}, there).says("named.csv, 2 x 1 text"));
}

TEST_CASE("info --stats counts missing values, and gives the statistics of the others") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "x,y,z\n1,NA,\n3,2,\n,4,nan\n");
  const std::string out = done({"info", "t.csv", "--stats"}, there).out;
  CHECK(out.find("5 missing values") != std::string::npos);
  CHECK(out.find("    x       1        3        2     1          1\n") != std::string::npos);
  CHECK(out.find("    z       -        -        -     -          3\n") != std::string::npos);
  const auto json = done({"info", "t.csv", "--stats", "--json"}, there).json()["files"][0]["datasets"][0]["statistics"];
  CHECK(json[1]["missing"] == 1);
  CHECK(json[1]["mean"] == 3.0);
  CHECK(json[2]["missing"] == 3);
  CHECK(json[2]["mean"].is_null());
}

TEST_CASE("texts that are not UTF-8 are read as Windows-1252, and a warning says so") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto table = [](const std::string& size, const std::string& city, const std::string& euro) {
    std::string text = "name," + size + ",city,price\n";
    for (int i = 0; i < 24; ++i) {
      text += "n" + std::to_string(i) + "," + std::to_string(i / 8 * 100 + i) + "," + (i % 2 == 0 ? city : "Bonn") +
              "," + std::to_string(i) + " " + euro + "\n";
    }
    return text;
  };
  write_bytes(folder / "utf8.csv", table("Gr\u00f6\u00dfe", "K\u00f6ln", "\u20ac"));
  write_bytes(folder / "old.csv", table("Gr\xf6\xdf\x65", "K\xf6ln", "\x80"));
  const Words options{"-k", "3", "--prepare", "auto", "--explain"};
  const auto run = [&](const std::string& file) {
    Words words{"cluster", file};
    words.insert(words.end(), options.begin(), options.end());
    return done(words, there);
  };
  const Outcome plain = run("utf8.csv"), old = run("old.csv");
  CHECK(plain.out.find("K\u00f6ln") != std::string::npos);
  CHECK(old.out == plain.out);
  CHECK(old.says("old.csv: line 1 is not UTF-8: texts are read as Windows-1252"));
  CHECK(!plain.says("Windows-1252"));
  CHECK(old.says("--encode city=onehot,price=unit"));
  done({"cluster", "old.csv", "-k", "2", "--columns", "Gr\u00f6\u00dfe", "-q"}, there);
  CHECK(done({"info", "old.csv"}, there).out.find("K\u00f6ln 50 %") != std::string::npos);
}
