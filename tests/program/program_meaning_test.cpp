// Files whose form says more than one value does: rows without any value, words among labels, numbers that mean
// nothing, numbers of other locales, columns that another program writes in another way.
#include <cstdlib>

#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/proposals.h"
#include "tests/support/result_values.h"
#include "tests/support/table_runs.h"

using namespace kith;
using namespace kith::testing;
using namespace std::string_literals;

TEST_CASE("rows without any value, as behind the table in a spreadsheet, are no points") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string rows = "x,y\n", empty;
  for (int i = 0; i < 40; ++i) rows += std::to_string(i % 7) + "," + std::to_string(100 * (i % 2) + i % 5) + "\n";
  for (int i = 0; i < 60; ++i) empty += i % 2 == 0 ? ",\n" : "NA,\n";
  write_bytes(folder / "t.csv", rows);
  write_bytes(folder / "more.csv", rows + empty);
  const auto labels = [&](const char* file, const Words& more) {
    Words words{"cluster", file, "-k", "2", "-f", "-o", "o.h5"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = done(words, there);
    CHECK(run.says("60 of 100 rows dropped") == (file == std::string("more.csv")));
    return stored(folder / "o.h5:/labels");
  };
  // The remedy that the refusal names.
  refuses(3, {"cluster", "more.csv", "-k", "2"}, {"this reads it: --nan drop"}, there);
  for (const Words& more : {Words{"--nan", "drop"}, Words{"--nan", "mean"}, Words{"--prepare", "auto"},
                            Words{"--nan", "median", "--scale", "zscore"}}) {
    const bool is_drop = more.back() == "drop";
    std::vector<double> expected = labels("t.csv", is_drop ? Words{} : more);
    expected.insert(expected.end(), 60, -1.0);
    CHECK(labels("more.csv", more) == expected);
  }
  // The model knows a replacement for each value, but a row of replacements has no label.
  write_bytes(folder / "new.csv", "x,y\n1,101\n,\n2,\n");
  const Outcome assigned = done({"assign", "new.csv", "--centroids", "o.h5", "-o", "-"}, there);
  CHECK(assigned.out.substr(assigned.out.find('\n'), 4) == "\n-1\n");
  CHECK(assigned.says("1 of 3 rows dropped"));
}

TEST_CASE("words for missing values are no labels, and 1.0 is the label 1") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "truth.csv", "class\na\na\nb\nb\na\nb\n");
  write_bytes(folder / "x.csv", "x\n1\n2\n8\n9\n3\n7\n");
  for (const char* word : {"NA", "NaN", "nan", "<NA>", "None", "null", "N/A", "?", ".", "NULL"}) {
    INFO(word);
    write_bytes(folder / "l.csv", "label\n0\n0.0\n1\n1.0\n" + std::string(word) + "\n" + word + "\n");
    for (const Words& words :
         {Words{"evaluate", "l.csv", "--truth", "truth.csv"}, Words{"evaluate", "truth.csv", "--truth", "l.csv"}}) {
      const Outcome run = done(words, there);
      CHECK(run.says("l.csv:label: 2 of 6 rows have no label"));
      CHECK(run.out.starts_with("adjusted Rand index            1\n"));
    }
    refuses(3, {"knn", "x.csv", "-k", "1", "--classify", "l.csv"},
            {"row 5", "found '" + std::string(word) + "', which stands for a missing one"}, there);
    refuses(3, {"cluster", "x.csv", "-k", "2", "--init-labels", "l.csv"}, {"row 5", "expected the label"}, there);
  }
  // Codes with leading zeros, and words that are classes elsewhere, are labels.
  write_bytes(folder / "l.csv", "label\n01\n01\n1\n1\nna\nna\n");
  CHECK(done({"evaluate", "truth.csv", "--truth", "l.csv"}, there).says("3 classes"));
}

TEST_CASE("numbers among --na-values are missing in every format, and words only where there are texts") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::vector<float> values{-999.9F, 1, 2, 3, 4, 9, 5, 255};
  const std::string bytes{"\xff\x01\x02\x03\x04\x09\x05\xff", 8};
  write_bytes(folder / "x.npy", npy("'<f4'", false, "(4, 2)", raw(values)));
  write_bytes(folder / "bytes.npy", npy("'|u1'", false, "(4, 2)", bytes));
  FileMaker(folder / "x.h5").floats("x", {4, 2}, values);
  write_bytes(folder / "x.csv", "a,b\n-999.9,1\n2,3\n4,9\n5,255\n");
  const auto labels = [&](const char* file, const char* marks, const char* nan) {
    const Outcome run = done({"cluster", file, "-k", "1", "--nan", nan, "--na-values", marks, "-o", "-"}, there);
    CHECK(!run.says("has no effect"));
    return run.out;
  };
  for (const char* file : {"x.npy", "x.h5", "x.csv"}) {
    CAPTURE(file);
    CHECK(labels(file, "-999.9", "drop") == "-1\n0\n0\n0\n");
    CHECK(labels(file, "-,-999.9,255", "drop") == "-1\n0\n0\n-1\n");
    CHECK(labels(file, "-999.9", "mean") == "0\n0\n0\n0\n");
  }
  CHECK(labels("bytes.npy", "255", "drop") == "-1\n0\n0\n-1\n");
  // The filled value is the mean of the others, and a model knows what was missing.
  const auto filled =
      done({"cluster", "x.npy", "-k", "1", "--nan", "mean", "--na-values", "-999.9,255", "-o", "m.h5"}, there);
  CHECK(filled.says("2 missing values were replaced by the mean"));
  CHECK(stored(folder / "m.h5:/centroids")[1] == Approx(13.0 / 3.0));
  done({"cluster", "x.csv", "-k", "2", "--nan", "drop", "--na-values", "-999.9", "-o", "m2.h5"}, there);
  CHECK(done({"assign", "x.npy", "--centroids", "m2.h5", "-o", "-"}, there).out.starts_with("-1\n"));
  const Outcome words = done({"cluster", "x.npy", "-k", "1", "--nan", "drop", "--na-values", "-,unknown"}, there);
  CHECK(words.says("--na-values has no effect: no input is text, and none of its words is a number"));
  CHECK(done({"cluster", "x.npy", "-k", "1", "--na-values", "255"}, there).says("without --nan they are refused"));
}

TEST_CASE("a column of new rows in another order of day and month than the model's is refused with the remedy") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string days = "d,v\n", iso = "d,v\n";
  for (int i = 0; i < 60; ++i) {
    const std::string day = std::to_string(101 + i % 28).substr(1), month = std::to_string(101 + i % 12).substr(1);
    days += day + "." + month + ".2024," + std::to_string(i % 5) + "\n";
    iso += "2024-" + month + "-" + day + "," + std::to_string(i % 5) + "\n";
  }
  write_bytes(folder / "days.csv", days);
  write_bytes(folder / "iso.csv", iso);
  write_bytes(folder / "us.csv", "d,v\n02/01/2024,1\n12/31/2024,1\n02/12/2024,1\n");
  write_bytes(folder / "same.csv", "d,v\n2024-02-01,1\n2024-12-31,1\n2024-02-12,1\n");
  const auto fit = [&](const char* table) {
    done({"cluster", table, "-k", "3", "--encode", "d=date", "-f", "-o", "m.h5"}, there);
    return done({"assign", "same.csv", "--centroids", "m.h5", "-o", "-"}, there).out;
  };
  const auto assign = [&](Words more) {
    more.insert(more.begin(), {"assign", "us.csv", "--centroids", "m.h5", "-o", "-"});
    return more;
  };
  std::string expected = fit("days.csv");
  const Outcome refused = run_kith(assign({}), there);
  CHECK(refused.code == 3);
  CHECK(
      refused.says("us.csv: line 3, column 1 ('d'): expected dates as the model has them, found '12/31/2024', and the "
                   "whole column is written so; say --encode d=mdy"));
  for (const Proposal& proposal : proposals_of(refused.err)) {
    CHECK(done(assign(proposal.options), there).out == expected);
  }
  CHECK(done(assign({"--encode", "mdy"}), there).out == expected);
  refuses(3, assign({"--unknown", "error"}), {"say --encode d=mdy"}, there);
  refuses(3, {"cluster", "us.csv", "--init", "m.h5"}, {"say --encode d=mdy"}, there);
  // Single values that are impossible concern their rows, also among lines that are followed.
  write_bytes(folder / "us.csv", "d,v\n02/01/2024,1\n12/31/2024,1\n31/12/2024,1\n");
  const Outcome single = done(assign({}), there);
  CHECK(single.out.substr(single.out.find('\n'), 4) == "\n-1\n");
  CHECK(!single.says("dropped"));  // the warning about unknown values has counted the row
  CHECK(done({"assign", "-", "--centroids", "m.h5", "--follow"},
             {.folder = folder / "", .standard_input = folder / "us.csv"})
            .out == single.out);
  // Where the fit had the year first, both orders may be meant.
  expected = fit("iso.csv");
  write_bytes(folder / "us.csv", "d,v\n02/01/2024,1\n12/11/2024,1\n02/12/2024,1\n");
  refuses(3, assign({}), {"say --encode d=dmy, or say --encode d=mdy"}, there);
}

TEST_CASE("numbers of new rows with other marks than the model's are refused with the remedy") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "german.csv", "x;y\n1.010,5;2,25\n2.010,5;3,25\n8.125,25;1,5\n9.125,5;0,5\n");
  write_bytes(folder / "plain.csv", "x;y\n1010.5;2.25\n2010.5;3.25\n8125.25;1.5\n9125.5;0.5\n");
  const auto fit = [&](const char* table, const Words& more) {
    Words words{"cluster", table, "-k", "2", "-f", "-o", "m.h5"};
    words.insert(words.end(), more.begin(), more.end());
    done(words, there);
  };
  const auto assign = [&](const char* table, Words more = {}) {
    more.insert(more.begin(), {"assign", table, "--centroids", "m.h5", "-o", "-"});
    return more;
  };
  const auto refused_with = [&](const char* table, const char* options, const std::string& expected) {
    const Outcome refused = run_kith(assign(table), there);
    CHECK(refused.code == 3);
    CHECK(refused.says(std::string("the whole column is written so; say ") + options));
    REQUIRE(proposals_of(refused.err).size() == 1);
    CHECK(done(assign(table, proposals_of(refused.err).front().options), there).out == expected);
  };
  fit("german.csv", {"--decimal", "comma", "--thousands", "point"});
  const std::string labels = done(assign("german.csv"), there).out;
  write_bytes(folder / "new.csv", "x;y\n1010.5;2.25\n2.125;3.25\n8125;1.5\n9125.5;0.5\n");  // 2125 to the model
  refused_with("new.csv", "--decimal point --thousands none", labels);
  fit("plain.csv", {});
  refused_with("german.csv", "--decimal comma --thousands point", done(assign("plain.csv"), there).out);
  // A comma before three digits may be either mark.
  write_bytes(folder / "new.csv", "x;y\n1,234;2\n9,125;3\n");
  refuses(3, assign("new.csv"), {"--decimal comma --thousands none, or say --decimal point --thousands comma"}, there);
  // No options read a table with both marks.
  write_bytes(folder / "new.csv", "x;y\n1,5;2.25\n2,5;3.25\n");
  refuses(3, assign("new.csv"), {"write it as column 2 ('y'), whose numbers are those of the model"}, there);
  // One value among others, and words, concern their rows alone.
  write_bytes(folder / "new.csv", "x;y\n1,5;2\n2010.5;3.25\nlow;1\n8125.25;1.5\n");
  CHECK(done(assign("new.csv"), there).says("2 of 4 rows have a value that the model does not know"));
  write_bytes(folder / "new.csv", "x;y\nlow;2\nlow;3\n");
  const Outcome none = done(assign("new.csv"), there);
  CHECK(none.out == "-1\n-1\n");
  CHECK(!none.says("imbalance"));
}

TEST_CASE("negative numbers of accounts, of SAP and of typography, exponents of Fortran and ='12' are read") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const std::string negative : {"(2.5)", "( 2.5 )", "2.5-",
                                     "\xe2\x80\x93"
                                     "2.5",
                                     "\xe2\x88\x92"
                                     "2.5",
                                     "-2.5D+00", "=\"-2.5\"", "\"=\"\"-2.5\"\"\""}) {
    INFO(negative);
    write_bytes(folder / "t.csv", "x,y\n" + negative + ",1\n4.5,2\n1,3\n1,4\n1,5\n");
    CHECK(mean_of("t.csv", there) == std::vector<double>{1, 3});
    CHECK(mean_of("t.csv", there, {"--prepare", "auto", "--scale", "none"}) == std::vector<double>{1, 3});
    CHECK(done({"cluster", "t.csv", "-k", "1"}, there).says("were read as negative") ==
          (negative.starts_with("(") || negative.ends_with("-")));
  }
  // Other marks, and a first line whose numbers in parentheses are names.
  write_bytes(folder / "t.csv", "x;y\n(1.200,50);1\n1.200,50-;2\n1.201,00;3\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"say --decimal comma --thousands point"}, there);
  CHECK(mean_of("t.csv", there, {"--decimal", "comma", "--thousands", "point"}) == std::vector<double>{-400, 2});
  write_bytes(folder / "t.csv", "(1),(2)\n1.5,2\n2.5,3\n(1.0),7\n");
  CHECK(mean_of("t.csv", there) == std::vector<double>{1, 4});
  write_bytes(folder / "t.csv", "x,y\n(10%),1\n20%,2\n35%,6\n");
  CHECK(mean_of("t.csv", there, {"--encode", "x=unit"}) == std::vector<double>{15, 3});
  write_bytes(folder / "t.csv", "x,y\n001-,1\n002-,2\n003-,6\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"found text in column 1 ('x') (such as '001-' in line 2)"}, there);
  // Characters without width, as of files that were joined and of texts with Arabic or Hebrew.
  for (const std::string none : {"\xef\xbb\xbf", "\xe2\x80\x8b", "\xe2\x80\x8e"}) {
    write_bytes(folder / "t.csv", "x,y\n1,2\n" + none + "3,4" + none + "\n");
    CHECK(mean_of("t.csv", there) == std::vector<double>{2, 3});
  }
  // A word with a number is no missing value, whatever else it is.
  for (const std::string word : {"<0.5", "5 - very good", "12*"}) {
    write_bytes(folder / "t.csv", "x,y\n" + word + ",1\n4.5,2\n1,3\n1,4\n1,5\n");
    CHECK(!run_kith({"cluster", "t.csv", "-k", "1"}, there).says("--na-values"));
  }
}

TEST_CASE("decimal commas and marks of thousands are read as they are named, and the message names them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "plain.csv", "x,y,w\n1234.5,-2e3,1\n1000000,0.25,2\n3,4,0.5\n");
  const auto assigned = [&](const Words& more) {
    Words words{"cluster", "-k", "2", "--init", "first", "-q", "-f", "-o", "o.h5", "--weight-column", "w"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = done(words, there);
    done({"assign", "plain.csv", "--columns", "1,2", "--centroids", "o.h5:/centroids", "--save-distances", "-q", "-f",
          "-o", "d.csv"},
         there);
    return bytes_of(folder / "d.csv");
  };
  const std::string expected = assigned({"plain.csv"});
  write_bytes(folder / "german.csv", "sep=;\nx;y;w\n1.234,5;-2e3;1\n1.000.000;,25;2\n\"3,0\";4;0,5\n");
  CHECK(assigned({"german.csv", "--decimal", ",", "--thousands", "."}) == expected);
  write_bytes(folder / "swiss.csv", "x\ty\tw\n1'234.5\t-2e3\t1\n1'000'000\t0.25\t2\n3\t4\t0.5\n");
  CHECK(assigned({"swiss.csv", "--thousands", "apostrophe"}) == expected);
  write_bytes(folder / "blank.txt", "x y w\n1234,5 -2e3 1\n1000000 0,25 2\n3 4,0 0,5\n");
  CHECK(assigned({"blank.txt", "--decimal", "comma"}) == expected);
  write_bytes(folder / "us.csv", "x,y,w\n\"1,234.5\",-2e3,1\n\"1,000,000\",0.25,2\n3,4,0.5\n");
  CHECK(assigned({"us.csv", "--thousands", "comma"}) == expected);
  refuses(3, {"cluster", "german.csv", "-k", "2"},
          {"numbers with other marks in column 1 ('x') (3 rows, first fault in line 3), column 2",
           "this reads it: --decimal comma --thousands point"},
          there);
  refuses(3, {"cluster", "swiss.csv", "-k", "2"}, {"found '1'234.5'; say --thousands apostrophe"}, there);
  refuses(3, {"cluster", "german.csv", "-k", "2", "--columns", "x"},
          {"line 3, column 1 ('x')", "found '1.234,5'; say --decimal comma --thousands point"}, there);
  write_bytes(folder / "either.csv", "x\n\"1,234\"\n\"2,345\"\n");
  refuses(3, {"cluster", "either.csv", "-k", "2", "--delimiter", "comma"}, {"found '1,234'; say --thousands comma"},
          there);
  refuses(3, {"cluster", "us.csv", "-k", "2"}, {"found '1,234.5'; say --thousands comma"}, there);
  refuses(3, {"cluster", "plain.csv", "-k", "2", "--decimal", "comma", "--delimiter", "comma"},
          {"line 2, column 1 ('x')", "as --decimal and --thousands describe it, found '1234.5'"}, there);
  write_bytes(folder / "groups.csv", "x;y\n1;2\n12.34;5\n");
  refuses(3, {"cluster", "groups.csv", "-k", "2", "--decimal", "comma", "--thousands", "point"},
          {"line 3, column 1 ('x')", "found '12.34'"}, there);
  for (const Words& marks : {Words{"--decimal", ";"}, Words{"--decimal", "comma", "--thousands", "comma"}}) {
    Words words{"cluster", "plain.csv", "-k", "2"};
    words.insert(words.end(), marks.begin(), marks.end());
    refuses(2, words, {marks[marks.size() - 2] + ": expected"}, there);
  }
}

TEST_CASE("a mark before three digits is what the other numbers of the table say, and asked about where none does") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto cluster = [](const Words& more) {
    Words words{"cluster", "t.csv", "-k", "2", "-q", "-f", "-o", "o.h5"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto first_of = [&](const Words& more) {  // the values of a cluster of one row say how it was read
    done(cluster(more), there);
    std::vector<double> all = values(folder / "o.h5:/centroids");
    return *std::max_element(all.begin(), all.end());
  };
  // Whole numbers below 1000 beside values with three digits behind the point: both answers work.
  for (const std::string rows : {"4.255\n1.984\n746\n9.410\n604\n", "-4.255\n\"746\"\n\"9.410\"\n"}) {
    INFO(rows);
    write_bytes(folder / "t.csv", "umsatz\n" + rows);
    refuses(3, cluster({}),
            {"does the point in column 1 ('umsatz') separate thousands or decimals, as in '",
             "; say --decimal comma --thousands point or --decimal point"},
            there);
    proposes_what_works(cluster({}), 2, there);
    proposes_what_works(cluster({"--prepare", "auto", "--scale", "none"}), 2, there);
    CHECK(first_of({"--decimal", "point"}) > 600.0);
    CHECK(first_of({"--decimal", "comma", "--thousands", "point"}) > 4000.0);
  }
  CHECK(done({"info", "t.csv", "--stats"}, there).out.find("does the point in column 1") != std::string::npos);
  // In all rows, however far the first such value is from the others.
  std::string late = "x\n";
  for (int i = 0; i < 30000; ++i) late += std::to_string(10 + i % 900) + "\n";
  write_bytes(folder / "t.csv", late + "1.234\n");
  for (const std::string threads : {"1", "2"}) {
    refuses(3, cluster({"--threads", threads}), {"as in '1.234'"}, there);
  }
  // Ordinary decimals are never asked about.
  for (const std::string rows :
       {"4.255\n1.984\n9.410\n", "0.125\n1.500\n746\n", "1.500\n1.25\n20\n", "1.500\n2\n3.250\n", "1.234\n0\n5.678\n",
        "1.234\n1500\n20\n", "1.234\n12.0\n20\n", "-0.500\n1.234\n20\n", "1.234e2\n50\n1.234\n"}) {
    INFO(rows);
    write_bytes(folder / "t.csv", "x\n" + rows);
    const Outcome read = done(cluster({}), there);
    CHECK(read.says("which were read as decimals") == (rows == "1.500\n2\n3.250\n"));
    done(cluster({"--prepare", "auto"}), there);
  }
  // Another column decides: with decimals of the other mark, or of the same one.
  write_bytes(folder / "t.csv", "umsatz;quote\n4.255;2,8\n1.984;4,5\n746;4,0\n9.410;3,0\n604;6,6\n");
  refuses(3, cluster({}), {"say --decimal comma --thousands point"}, there);
  proposes_what_works(cluster({}), 1, there);
  CHECK(first_of({"--prepare", "auto", "--scale", "none"}) > 4000.0);
  write_bytes(folder / "t.csv", "umsatz;quote\n4.255;2.8\n1.984;4.5\n746;4.0\n9.410;3.0\n604;6.6\n");
  CHECK(first_of({}) > 600.0);
  CHECK(first_of({}) < 1000.0);
  CHECK(done(cluster({}), there).says("which were read as decimals"));
  CHECK(first_of({"--prepare", "auto", "--scale", "none"}) < 1000.0);
  // A currency does, and a comma in quotes where commas are delimiters.
  write_bytes(folder / "t.csv", "p;q\n1.200 \xe2\x82\xac;1\n750 \xe2\x82\xac;2\n2.400 \xe2\x82\xac;3\n");
  CHECK(first_of({"--prepare", "auto", "--scale", "none"}) > 1000.0);
  refuses(3, cluster({"--encode", "p=unit"}), {"does the point in column 1 ('p')"}, there);
  write_bytes(folder / "petrol.csv", "p;q\n1.799 \xe2\x82\xac;1\n1.829 \xe2\x82\xac;2\n1.765 \xe2\x82\xac;3\n");
  CHECK(done({"cluster", "petrol.csv", "-k", "2", "--prepare", "auto"}, there).says("all 1.79767"));
  write_bytes(folder / "rent.csv", "p;q\n13.697 \xe2\x82\xac;1\n9.182 \xe2\x82\xac;2\n17.650 \xe2\x82\xac;3\n");
  proposes_what_works({"cluster", "rent.csv", "-k", "2", "-q", "-f", "-o", "o.h5", "--prepare", "auto"}, 2, there);
  proposes_what_works(cluster({"--encode", "p=unit"}), 2, there);
  for (const std::string currency : {"", "$"}) {
    std::string table = "price,age\n";
    for (const char* price : {"1,200", "2,300", "3,999"}) table += "\"" + currency + price + "\",30\n";
    write_bytes(folder / "t.csv", table + currency + "750,41\n");
    CHECK(first_of({"--prepare", "auto", "--scale", "none"}) > 1000.0);
    proposes_what_works(cluster(currency.empty() ? Words{} : Words{"--encode", "price=unit"}), 1, there);
  }
  // Elsewhere both answers work, and --prepare asks as well.
  write_bytes(folder / "t.csv", "k\trev\nA\t4,255\nB\t746\nC\t1,984\nD\t604\n");
  for (const Words& more : {Words{"--columns", "rev"}, Words{"--prepare", "auto"}, Words{"--drop-columns", "k"}}) {
    refuses(3, cluster(more), {"does the comma in column 2 ('rev')", "say --thousands comma or --decimal comma"},
            there);
    proposes_what_works(cluster(more), 2, there);
  }
  refuses(3, {"knn", "t.csv", "-k", "1"},
          {"say --drop-columns k --thousands comma or --drop-columns k --decimal comma"}, there);
  proposes_what_works({"knn", "t.csv", "-k", "1"}, 2, there);
  done({"info", "t.csv", "--stats"}, there);
}

TEST_CASE("decimal commas in quotes between commas need no further option, and groups may be those of India") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "x,y\n1,\"1,5\"\n2,\"2,5\"\n7,\"9,25\"\n");
  proposes_what_works({"cluster", "t.csv", "-k", "2"}, 1, there);
  done({"cluster", "t.csv", "-k", "1", "-q", "--decimal", "comma", "-o", "o.h5"}, there);
  CHECK(values(folder / "o.h5:/centroids")[1] == (1.5 + 2.5 + 9.25) / 3);
  write_bytes(folder / "one.csv", "y\n1,5\n2,5\n");  // one column still
  CHECK(done({"cluster", "one.csv", "-k", "1", "--decimal", "comma"}, there).says("one.csv, 2 x 1 text"));
  write_bytes(folder / "t.csv", "x;y\n1,23,456.5;1\n12,345;2\n1,00,00,000;3\n");
  proposes_what_works({"cluster", "t.csv", "-k", "2"}, 1, there);
  done({"cluster", "t.csv", "-k", "1", "-q", "--thousands", "comma", "-f", "-o", "o.h5"}, there);
  CHECK(values(folder / "o.h5:/centroids")[0] == (123456.5 + 12345 + 10000000) / 3);
  write_bytes(folder / "t.csv", "x;y\n1,234;1\n12,34,56;2\n123,45,678;3\n");
  refuses(3, {"cluster", "t.csv", "-k", "1", "--thousands", "comma"}, {"line 3, column 1 ('x')"}, there);
}

TEST_CASE("blanks around numbers in quotes, of any kind, are no part of them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "\"a\",\"b\"\n\"1\",\"  2.5\"\n\"3\",\" 4\"\n\" 5 \",6\xc2\xa0\n7,8\xe2\x80\xaf\n");
  done({"cluster", "t.csv", "-k", "1", "-q", "-o", "o.h5"}, there);
  CHECK(values(folder / "o.h5:/centroids") == std::vector<double>{4.0, 5.125});
  done({"cluster", "t.csv", "-k", "2", "--prepare", "auto", "-q"}, there);
  write_bytes(folder / "t.csv",
              "a\n\xe2\x88\x92"
              "5\n3\n");  // a minus sign of typography
  done({"cluster", "t.csv", "-k", "1", "-q", "-f", "-o", "o.h5"}, there);
  CHECK(values(folder / "o.h5:/centroids") == std::vector<double>{-1.0});
}

TEST_CASE("a comma that separates columns or decimals is asked about where zeros or the header show it") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "1,5\n2,05\n3,25\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"does the comma in '1,5' separate columns or decimals?"}, there);
  proposes_what_works({"cluster", "t.csv", "-k", "1"}, 2, there);
  CHECK(mean_of("t.csv", there, {"--decimal", "comma"}) == std::vector<double>{(1.5 + 2.05 + 3.25) / 3});
  write_bytes(folder / "t.csv", "1,5\n2,50\n3,25\n");
  done({"cluster", "t.csv", "-k", "1"}, there);
  write_bytes(folder / "t.csv", "x,y\n1,5,2,5\n3,5,4,5\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"line 1 names 2 columns, and the rows have 4 whole numbers"}, there);
  proposes_what_works({"cluster", "t.csv", "-k", "1"}, 1, there);
  // Columns with commas beside columns with points.
  write_bytes(folder / "t.csv", "x;y\n1,5;2.5\n2,5;3.5\n");
  const Outcome refused = run_kith({"knn", "t.csv", "-k", "1"}, there);
  CHECK(refused.says("this reads it: --drop-columns x; or write all decimals with points: tr , . < IN > OUT"));
  // Only numbers with three decimals, between semicolons.
  write_bytes(folder / "t.csv", "x;y\n1.234;1\n2.345;20\n");
  CHECK(done({"cluster", "t.csv", "-k", "1"}, there).says("which were read as decimals; say --decimal comma"));
  write_bytes(folder / "t.csv", "x;y\n1.234;1.5\n2.345;20\n");
  CHECK(!done({"cluster", "t.csv", "-k", "1"}, there).says("which were read as decimals"));
}

TEST_CASE("what is said of tables of terminals, of Python and with foreign quotes makes tables of them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const std::string table :
       {"| x | y |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |\n", "x | y\n--- | ---\n1 | 2\n3 | 4\n",
        "+---+---+\n| x | y |\n+---+---+\n| 1 | 2 |\n| 3 | 4 |\n+---+---+\n2 rows in set (0.00 sec)\n",
        " x | y \n---+---\n 1 | 2\n 3 | 4\n(2 rows)\n\n",
        "x          y\n---------- ----------\n 1  2\n 3 4\n\n2 rows selected.\n",
        "=====  =====\nx      y\n=====  =====\n1      2\n3      4\n=====  =====\n", "[[1. 2.]\n [3. 4.]]\n",
        "array([[1., 2.],\n       [3., 4.]])\n", "(1, 2)\n(3, 4)\n", "'x';'y'\n'1';'2'\n'3';'4'\n",
        "\xe2\x80\x9cx\xe2\x80\x9d\t\xe2\x80\x9cy\xe2\x80\x9d\n\xe2\x80\x9c"
        "1\xe2\x80\x9d\t\xe2\x80\x9c"
        "2\xe2\x80\x9d\n\xe2\x80\x9c"
        "3\xe2\x80\x9d\t\xe2\x80\x9c"
        "4\xe2\x80\x9d\n",
        "x,y\r1,2\r\n3,4\n", "x,y\ns,m\n1,2\n3,4\n", "x,y\n2,3\n2,3\n2,3\n2,3\n2,3\n(5 rows)\n"}) {
    check_conversion(table, there);
  }
}

TEST_CASE("delimiters at the end of all lines are no columns, and lines of sep= have any form") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const std::string table :
       {"x,y,\n1,2,\n3,4,\n", "x;y;;\n1;2;;\n3;4;;\n", "\"sep=;\"\nx;y\n1;2\n3;4\n", "SEP=;\nx;y\n1;2\n3;4\n",
        "x\x01y\n1\x01"
        "2\n3\x01"
        "4\n",
        "x^y\n1^2\n3^4\n", "x,y\n1,2\n3,4\n\x1a", "x,y\n1,2\n\f\n3,4\n"}) {
    INFO(table);
    write_bytes(folder / "t.csv", table);
    CHECK(mean_of("t.csv", there) == std::vector<double>{2, 3});
    CHECK(mean_of("t.csv", there, {"--prepare", "auto", "--scale", "none"}) == std::vector<double>{2, 3});
  }
  // A value far below is no delimiter.
  std::string rows = "x,y,\n";
  for (int i = 0; i < 30; ++i) rows += "1,2,\n";
  write_bytes(folder / "t.csv", rows + "3,4,5\n");
  refuses(3, {"cluster", "t.csv", "-k", "1"}, {"line 32: expected 2 fields", "found 3"}, there);
}

TEST_CASE("a matrix without its first line is no table whose first row are its sizes") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "m.mtx", "3 2 3\n1 1 1.5\n2 1 2.5\n3 2 1\n");
  refuses(3, {"cluster", "m.mtx", "-k", "1"}, {"line 1: expected a MatrixMarket matrix", "found '3 2 3'"}, there);
  write_bytes(folder / "m.txt", bytes_of(folder / "m.mtx"));
  done({"cluster", "m.txt", "-k", "1"}, there);
}

TEST_CASE("a total, a note below the table and whole numbers that were rounded are warned of") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::string rows = "name,x\na,1\nb,2\nc,3\nd,4\n";
  write_bytes(folder / "t.csv", rows + "Total,10\n");
  CHECK(done({"cluster", "t.csv", "-k", "1", "--drop-columns", "name"}, there)
            .says("the last row has 'Total' in column 1 ('name'); if it holds sums or means of other rows"));
  CHECK(done({"info", "t.csv"}, there).out.find("the last row has 'Total'") != std::string::npos);
  write_bytes(folder / "t.csv", "name,x\nTotal,10\n" + rows.substr(7));
  CHECK(done({"cluster", "t.csv", "-k", "1", "--drop-columns", "name"}, there).says("leave it out: sed 2d IN > OUT"));
  // Between the rows as well, unless so many rows say it that it is a value like others.
  const std::string groups = "name,x\na,1\nb,2\nNorth Total,3\nc,3\nd,4\ne,6\nSouth Total,13\n";
  for (const std::string& end : {""s, "Grand Total,16\n"s}) {
    write_bytes(folder / "t.csv", groups + end + "f,1\n");
    for (const Words& words :
         {Words{"--drop-columns", "name"}, Words{"--id-column", "name"}, Words{"--encode", "onehot"}}) {
      const Outcome sums = done(plus({"cluster", "t.csv", "-k", "1"}, words), there);
      CHECK(sums.says(end.empty() ? "2 rows have a word for sums, the first in line 4, column 1 ('name'): 'North Total'"
                                  : "leave them out: sed '4d;8d;9d' IN > OUT"));
    }
  }
  write_bytes(folder / "t.csv", "name,x\nTotal,1\nRest,2\nTotal,3\nRest,3\nTotal,4\nRest,6\n");
  CHECK(!done({"cluster", "t.csv", "-k", "1", "--drop-columns", "name"}, there).says("sums"));
  write_bytes(folder / "t.csv", rows + "e,5\n");
  CHECK(!done({"cluster", "t.csv", "-k", "1", "--drop-columns", "name"}, there).says("the last row"));
  write_bytes(folder / "t.csv", "n,x\n1,1\n2,2\n3,3\n4,4\nSource: an office,2024\n");
  CHECK(done({"cluster", "t.csv", "-k", "1", "--prepare", "auto"}, there)
            .says("'Source: an office' in column 1 ('n'); if it is a note below the table, leave it out: head -n 5"));
  write_bytes(folder / "t.csv", "x,y\n9007199254740993,1\n9007199254740992,2\n");
  CHECK(done({"cluster", "t.csv", "-k", "1"}, there).says("line 2, column 1 ('x'): float64 cannot hold"));
  write_bytes(folder / "t.csv", "x,y\n9007199254740992,1\n100000000000000000000,2\n");
  CHECK(!done({"cluster", "t.csv", "-k", "1"}, there).says("float64 cannot hold"));
}

TEST_CASE("values of Unicode, of accounts and of shops mean what people mean by them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const struct {
    std::string table;
    Words options;
    std::vector<double> mean;
  } cases[] = {{"x;y\n10,-;1\n20,--;3\n", {"--decimal", "comma"}, {15, 2}},
               {"x;y\n10.-;1\n20.\u2014;3\n", {}, {15, 2}},
               {"x;y\nCHF 10.-;1\nCHF 20.50;3\n", {"--encode", "x=unit"}, {15.25, 2}},
               {"x;y\n $ (1.50) ;1\n $ 7.50 ;3\n $ -   ;2\n", {"--encode", "x=unit"}, {2, 2}},
               {"\u200bx,y\n\u20281,2\u2029\n\u30003\u00ad,4\u0085\n", {"--columns", "x,y"}, {2, 3}},
               {"x,y\n\u202a1\u202c,2\n\u20033,\u20604\n\0\0\0\0"s, {}, {2, 3}},
               {"#x\ty\n1\ta\n3\tb\n", {"--header", "yes", "--columns", "x"}, {2}},
               {"x,y\n1,2\n1.#INF00,3\n3,4\n-1.#IND000,5\n", {"--nan", "drop"}, {2, 3}}};
  for (const auto& [table, options, mean] : cases) {
    INFO(table);
    write_bytes(folder / "t.csv", table);
    CHECK(mean_of("t.csv", there, options) == mean);
  }
  for (const auto& [name, bytes] : {std::pair{"m.mtx", "\ufeff%%MatrixMarket matrix array real general\n2 1\n1\n3\n"},
                                    std::pair{"f.fps", "\ufeff#FPS1\n#num_bits=8\n01\ta\n01\tb\n"}}) {
    write_bytes(folder / name, bytes);
    CHECK(mean_of(name, there).front() == (name[0] == 'm' ? 2 : 1));
  }
}

TEST_CASE("rows that are none are refused with the command that leaves them out") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::string rows = "1,2\n3,4\n1,2\n3,4\n";
  for (const std::string& table :
       {"x,y\n1,2\nx,y\n3,4\nx,y\n1,2\n3,4\n"s, "x,y\n" + rows + "\nerror,error\n1,2\n3,4\n",
        "x,y\n1,2\n3 %,4\n1%,2\n3,4\n"s, "x,y\u20281,2\u20283,4\u2028"s, "x,y\u00851,2\u00853,4\u0085"s,
        "\"TOA5\",\"a\"\n\"x\",\"y\"\n\"RN\",\"m\"\n\"\",\"Avg\"\n1,2\n3,4\n"s}) {
    check_conversion(table, there);
  }
  write_bytes(folder / "t.csv", "x,y\n" + rows + "\nv,w\n7,8\n");
  for (const Words& words :
       {Words{"cluster", "t.csv", "-k", "1"}, Words{"cluster", "t.csv", "-k", "1", "--prepare", "auto"}}) {
    refuses(3, words, {"if another table begins there, cut it off with head -n 6 IN > OUT"}, there);
  }
  // Lines before a table that hold numbers, dates and amounts; notes below it.
  for (const std::string& table :
       {"Length,2500,Points\nStep,1,s\n,,\nx,y,z\n1,2,5\n3,4,5\n"s,
        "Account;DE1;\nBalance:;1.234,56 EUR;\n\nday;x;text\n01.03.24;5,50 EUR;a\n02.03.24;6,50 EUR;b\n"s,
        "Table: 12411\nname;x;y\na;1;2\nb;3;4\nc;3;4\n______\nan office\n"s}) {
    INFO(table);
    write_bytes(folder / "t.csv", table);
    const Outcome refused = run_kith({"cluster", "t.csv", "-k", "1"}, there);
    CHECK(refused.code == 3);
    CHECK(refused.says("--skip-lines " + std::string(table[0] == 'T' ? "1" : "3")));
  }
}

TEST_CASE("rows of bits in one column are refused with what makes columns or an FPS file of them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "id,bits\na,01100011\nb,11100000\nc,00000011\n");
  const Outcome bits = run_kith({"cluster", "t.csv", "-k", "1", "--id-column", "id"}, there);
  CHECK(bits.code == 3);
  convert(bits, "t.csv", there);
  CHECK(mean_of("OUT", there).size() == 8);
  write_bytes(folder / "t.csv", "id,fp\na,00000000000000ff\nb,000000000000000f\nc,00000000000000f0\n");
  const Outcome digits = run_kith({"cluster", "t.csv", "-k", "1"}, there);
  CHECK(digits.code == 3);
  convert(digits, "t.csv", there);
  CHECK(mean_of("OUT", there).size() == 64);
}

TEST_CASE("identifiers that look like powers of ten, and truth among numbers, are warned of") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto warns = [&](const std::string& column, const char* words) {
    write_bytes(folder / "t.csv", "v\n" + column);
    return done({"cluster", "t.csv", "-k", "1"}, there).says(words);
  };
  const char* power = "spreadsheets write identifiers so";
  CHECK(warns("101\n1E3\n103\n", power));
  CHECK(warns("1E3\n2E5\n", power));
  CHECK(warns("4006381333931\n4.00638E+12\n", power));
  for (const char* column : {"1E3\n2.5\n", "1E3\n5E-1\n", "4.006E+12\n3.1E+12\n", "1e+03\n12\n", "1.5E2\n1.5E3\n"}) {
    CHECK(!warns(column, power));
  }
  CHECK(warns("12\nTRUE\n14\n", "'TRUE' stands among numbers, and was read as 1"));
  CHECK(!warns("1\nTRUE\n0\n", "stands among numbers"));
}
