// --prepare auto and --column-weights, and the types of columns that kith info shows, on a table as people have them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/program.h"
#include "tests/support/proposals.h"
#include "tests/support/result_values.h"
#include "tests/support/table_runs.h"

using namespace kith::testing;

namespace {

/// The same numbers on every machine.
class Random {
 public:
  int below(int count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_ = 1;
};

constexpr int kRows = 300;

/// Customers of three groups, which follow one another; half of the columns say nothing about the groups.
std::string customers() {
  Random random;
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  const auto comma = [](int hundredths) {
    return std::to_string(hundredths / 100) + "," + std::to_string(hundredths % 100 / 10) +
           std::to_string(hundredths % 10);
  };
  const char* const cities[] = {"Lyon", "Paris", "Nice"};
  const char* const segments[] = {"student", "basic", "gold"};
  const int ages[] = {22, 41, 60}, incomes[] = {9000, 90000, 40000};
  std::string table =
      "customer_id;name;signup;last seen;active;newsletter;city;segment;age;income;country;notes;ref;plan\n";
  for (int i = 0; i < kRows; ++i) {
    const int group = i % 3;
    const auto gap = [&](const std::string& text) { return random.below(25) == 0 ? (i % 2 == 0 ? "" : "NA") : text; };
    // One call of random a statement: the order within an expression is the compiler's.
    table += std::to_string(1000 + i) + ";Customer " + std::to_string(i) + ";";
    std::string date = std::to_string(2020 + random.below(4));
    date += "-" + two(1 + random.below(12));
    date += "-" + two(1 + random.below(28));
    table += gap(date) + ";";
    table += two(1 + random.below(28));
    table += "." + two(1 + random.below(12)) + ".2024;";
    table += random.below(10) < 2 + 3 * group ? "yes;" : "no;";
    table += random.below(2) == 0 ? "true;" : "false;";
    table += gap(cities[random.below(8) == 0 ? random.below(3) : group]) + ";";
    table += std::string(segments[random.below(12) == 0 ? random.below(3) : group]) + ";";
    table += gap(std::to_string(ages[group] + random.below(9))) + ";";
    table += comma(100 * incomes[group] + random.below(10 * incomes[group])) + ";FR;";
    table += std::string(i < 30 || random.below(3) == 0 ? "" : "called about bill " + std::to_string(i / 2)) + ";";
    table += "r" + std::to_string(7919 * i % 1009) + (i % 2 == 0 ? ";1\n" : ";1/2/2024\n");
  }
  return table;
}

/// The command that --prepare auto prints, without "kith".
Words by_hand(const Outcome& outcome) {
  const std::string text = unwrapped(outcome.err);
  const std::string mark = "the same by hand: kith ";
  const std::size_t at = text.find(mark);
  REQUIRE(at != text.npos);
  const std::size_t begin = at + mark.size();
  Words words;
  for (const auto& [word, ends] : words_of(text.substr(begin, text.find('\n', begin) - begin))) words.push_back(word);
  return words;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The value of an option in a command; of a repeated one all of them.
std::string value_of(const Words& words, const std::string& option) {
  std::string value;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == option) value += (value.empty() ? "" : ",") + words[i + 1];
  }
  return value;
}

}  // namespace

TEST_CASE("kith info shows what the columns of a table hold, from all of its rows") {
  const Scratch folder;
  const Setting there{.environment = {"COLUMNS=80"}, .folder = folder / ""};
  write_bytes(folder / "t.csv", customers());
  const auto profiles = done({"info", "t.csv", "--json"}, there).json()["files"][0]["datasets"][0]["column_profiles"];
  std::map<std::string, std::string> types;
  for (const auto& profile : profiles) types[profile["column"]] = profile["type"];
  CHECK(types == std::map<std::string, std::string>{{"customer_id", "identifier"},
                                                    {"name", "identifier"},
                                                    {"signup", "date"},
                                                    {"last seen", "date"},
                                                    {"active", "yes/no"},
                                                    {"newsletter", "yes/no"},
                                                    {"city", "few texts"},
                                                    {"segment", "few texts"},
                                                    {"age", "number"},
                                                    {"income", "number"},
                                                    {"country", "constant"},
                                                    {"notes", "free text"},
                                                    {"ref", "identifier"},
                                                    {"plan", "few texts"}});
  const auto of = [&](const std::string& name) {
    return *std::find_if(profiles.begin(), profiles.end(),
                         [&](const auto& profile) { return profile["column"] == name; });
  };
  CHECK(of("city")["distinct"] == 3);
  CHECK(of("city")["missing"] > 0);
  CHECK(of("customer_id")["minimum"] == 1000);
  CHECK(of("customer_id")["maximum"] == 1299);
  CHECK(of("age")["minimum"] == 22);
  CHECK(of("age")["maximum"] == 68);
  CHECK(of("signup")["minimum"].get<std::string>().starts_with("2020-0"));
  CHECK(of("notes")["examples"].size() == 3);
  CHECK(of("country")["commonest"][0]["rows"] == kRows);
  const Outcome shown = done({"info", "t.csv", "--stats"}, there);
  std::set<std::string> first_words;
  for (const std::string& line : lines_of(shown.out)) {
    CHECK(line.size() <= 80);
    first_words.insert(line.substr(0, line.find(' ', 4)));
  }
  for (const char* word : {"  signup", "    age", "    income", "    customer_id"}) CHECK(first_words.count(word) == 1);
  CHECK(shown.out.find("last seen    date") != std::string::npos);
}

TEST_CASE("counts of many different values are bounded, and do not depend on threads") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string table = "a,b\n";
  for (int i = 0; i < 60000; ++i) table += "x" + std::to_string(i) + "," + std::to_string(i % 12000) + "\n";
  write_bytes(folder / "t.csv", table);
  const auto profiles = [&](const char* threads) {
    return done({"info", "t.csv", "--json"},
                {.environment = {std::string("KITH_THREADS=") + threads}, .folder = folder / ""})
        .json()["files"][0]["datasets"][0]["column_profiles"];
  };
  const auto one = profiles("1");
  CHECK(one == profiles("5"));
  CHECK(one[0]["distinct"] == 10000);
  CHECK(one[0]["has_more_distinct"] == true);
  CHECK(one[0]["type"] == "identifier");
  CHECK(one[1]["type"] == "number");
}

TEST_CASE("--prepare auto finds the groups of a table, and prints a command that gives the same bytes") {
  const Scratch folder;
  const Setting there{.environment = {"COLUMNS=80"}, .folder = folder / ""};
  write_bytes(folder / "t.csv", customers());
  const Outcome outcome = done({"cluster", "t.csv", "-k", "3", "--prepare", "auto", "-o", "auto.h5"}, there);
  for (const std::string& line : lines_of(outcome.err)) {
    if (line.starts_with("  ") && line.find("--") == line.npos) CHECK(line.size() <= 80);
  }
  Words again = by_hand(outcome);
  CHECK(value_of(again, "--drop-columns") == "name,country,notes,ref");
  CHECK(value_of(again, "--id-column") == "customer_id");
  CHECK(outcome.says("customer_id  identifier  names the rows"));
  done({"cluster", "t.csv", "-k", "3", "--prepare", "auto", "-q", "-o", "auto.csv"}, there);
  CHECK(bytes_of(folder / "auto.csv").starts_with("customer_id,label\n1000,"));
  CHECK(value_of(again, "--encode") ==
        "signup=date,last seen=date,active=yesno,newsletter=yesno,city=onehot+missing,segment=onehot,plan=onehot");
  CHECK(value_of(again, "--column-weights") == "city=1,segment=1,plan=1");
  CHECK(value_of(again, "--decimal") == "comma");
  CHECK(value_of(again, "--nan") == "median");
  again.back() = "hand.h5";
  done(again, there);
  CHECK(bytes_of(folder / "auto.h5") == bytes_of(folder / "hand.h5"));
  done({"cluster", "t.csv", "-k", "3", "--prepare", "auto", "-q", "--threads", "1", "-o", "one.h5"}, there);
  CHECK(bytes_of(folder / "auto.h5") == bytes_of(folder / "one.h5"));
  const std::vector<double> labels = values(folder / "auto.h5:/labels");
  REQUIRE(labels.size() == kRows);
  // A few rows have the city and the segment of another group.
  CHECK(std::set<double>{labels[0], labels[1], labels[2]}.size() == 3);
  int others = 0;
  for (int i = 3; i < kRows; ++i) others += labels[i] != labels[i % 3] ? 1 : 0;
  CHECK(others <= kRows / 50);
  const auto sweep =
      done({"sweep", "t.csv", "-k", "2-10", "--n-init", "10", "--prepare", "auto", "--json"}, there).json();
  CHECK(sweep["sweep"]["suggested"] == 3);
}

TEST_CASE("--prepare auto reads units, currencies, marks of missing values, titles and dates as people write them") {
  const Scratch folder;
  const Setting there{.environment = {"COLUMNS=80"}, .folder = folder / ""};
  Random random;
  const auto table = [&random](bool german, int rows) {
    std::string text = german ? "Customers 2024;;;;;;;\r\n;;;;;;;\r\n" : "";
    text += german ? "No;Income;Age;Since;Active;Vip;Height;Code\r\n" : "No,Income,Age,Since,Active,Vip,Height,Code\n";
    for (int i = 0; i < rows; ++i) {
      const int group = i % 3;
      const std::string cents = std::to_string(10 + random.below(90));
      const std::string low = std::to_string(100 + random.below(800));
      const std::string thousands = std::to_string(1 + 4 * group);
      const std::string day = std::to_string(10 + random.below(18)), year = std::to_string(19 + 2 * group);
      const std::string age =
          i % 20 == 7 ? (german ? "fehlt" : "-") : std::to_string(20 + 15 * group + random.below(5));
      const Words fields = {"K" + std::to_string(1000 + i),
                            german ? thousands + "." + low + "," + cents + " \xe2\x82\xac"
                                   : "\"$" + thousands + "," + low + "." + cents + "\"",
                            age,
                            german ? day + ".03." + year : "03/" + day + "/20" + year,
                            i % 30 == 4                        ? "-"
                            : random.below(10) < 3 * group + 2 ? (german ? "ja" : "Y")
                                                               : (german ? "nein" : "N"),
                            random.below(2) == 0 ? "x" : "",
                            std::to_string(160 + 8 * group + random.below(4)) + " cm",
                            std::to_string(1 + random.below(9)) + (random.below(2) == 0 ? " kg" : " m")};
      for (std::size_t j = 0; j < fields.size(); ++j) text += (j == 0 ? "" : german ? ";" : ",") + fields[j];
      text += german ? "\r\n" : "\n";
    }
    return text;
  };
  for (const bool german : {true, false}) {
    INFO(german);
    write_bytes(folder / "t.csv", table(german, 120));
    const Outcome outcome = done({"cluster", "t.csv", "-k", "3", "--prepare", "auto", "-f", "-o", "auto.h5"}, there);
    Words again = by_hand(outcome);
    CHECK(value_of(again, "--drop-columns").empty());
    CHECK(value_of(again, "--id-column") == "No");
    CHECK(value_of(again, "--encode") ==
          "Income=unit,Since=date,Active=yesno,Vip=onehot+missing,Height=unit,Code=onehot");
    CHECK(value_of(again, "--na-values") == (german ? "-,fehlt" : "-"));
    CHECK(value_of(again, "--skip-lines") == (german ? "2" : ""));
    CHECK(value_of(again, "--decimal") == (german ? "comma" : ""));
    CHECK(value_of(again, "--thousands") == (german ? "point" : "comma"));
    again.back() = "hand.h5";
    done(again, there);
    CHECK(bytes_of(folder / "auto.h5") == bytes_of(folder / "hand.h5"));
    std::filesystem::remove(folder / "hand.h5");
    const std::vector<double> labels = values(folder / "auto.h5:/labels");
    int others = 0;
    for (std::size_t i = 3; i < labels.size(); ++i) others += labels[i] != labels[i % 3] ? 1 : 0;
    CHECK(others <= 6);
    done({"assign", "t.csv", "--centroids", "auto.h5", "-q", "-f", "-o", "again.h5"}, there);
    CHECK(values(folder / "again.h5:/labels") == labels);
    const Outcome shown = done({"info", "t.csv"}, there);
    CHECK(shown.out.find("Since   date") != std::string::npos);
    CHECK(shown.out.find("Height  number") != std::string::npos);
  }
  // Another unit concerns its row alone.
  std::string meters = table(false, 6);
  meters.replace(meters.find(" cm"), 3, " in");
  write_bytes(folder / "t.csv", meters);
  done({"assign", "t.csv", "--centroids", "auto.h5", "-q", "-f", "-o", "again.h5"}, there);
  CHECK(values(folder / "again.h5:/labels")[0] == -1.0);
  refuses(3, {"cluster", "t.csv", "-k", "2", "--columns", "Height", "--encode", "Height=unit"},
          {"line 3, column 7 ('Height'): expected a number with the unit 'in'", "cm'; correct it"}, there);
}

TEST_CASE("words among numbers are missing values only where they cannot be values") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto type = [&](const std::string& word, int every) {
    std::string text = "a,b\n";
    for (int i = 0; i < 100; ++i)
      text += (i % every == 1 ? word : std::to_string(i * i % 97)) + "," + std::to_string(i % 7) + "\n";
    write_bytes(folder / "t.csv", text);
    const auto profile =
        done({"info", "t.csv", "--json"}, there).json()["files"][0]["datasets"][0]["column_profiles"][0];
    return profile["type"].get<std::string>();
  };
  CHECK(type("-", 20) == "number");
  CHECK(type("not given", 20) == "number");
  CHECK(type("none", 20) == "free text");  // it may be 0
  CHECK(type("2 or 3", 20) == "free text");
  CHECK(type("-", 3) == "number");  // up to half of the values
  CHECK(type("given", 20) == "number");
  CHECK(type("given", 4) == "free text");  // a quarter of the values
}

TEST_CASE("--prepare auto knows codes, dates in digits, and dates and numbers that stand for none") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string table = "zip,date,until,t,month\n";
  for (int i = 0; i < 40; ++i) {
    table += (i % 2 == 0 ? "0123" : "9021") + std::to_string(i % 10) + ",202401" + std::to_string(10 + i % 20) + ",";
    table += (i % 5 == 0 ? "9999-12-31" : i % 7 == 0 ? "0000-00-00" : "2024-02-" + std::to_string(10 + i % 19)) + ",";
    table += std::to_string(i == 20 ? -9999 : 20 + i % 5) + ",0" + std::to_string(1 + i % 9) + "\n";
  }
  write_bytes(folder / "t.csv", table);
  const Outcome outcome = done({"cluster", "t.csv", "-k", "3", "--prepare", "auto", "-o", "auto.h5"}, there);
  CHECK(outcome.says("column 4 ('t') holds -9999, far from its other values, 20 to 24"));
  Words again = by_hand(outcome);
  CHECK(value_of(again, "--encode") == "zip=onehot,date=date,until=date");
  CHECK(value_of(again, "--na-values") == "0000-00-00,9999-12-31");
  again.back() = "hand.h5";
  done(again, there);
  CHECK(bytes_of(folder / "auto.h5") == bytes_of(folder / "hand.h5"));
  std::string zips = "zip,v,count\n";  // all different, and a column of numbers that only begins like dates
  for (int i = 0; i < 30; ++i) zips += "0" + std::to_string(1000 + 7 * i) + "," + std::to_string(i % 4) + ",20240131\n";
  write_bytes(folder / "z.csv", zips);
  const Words left = by_hand(done({"cluster", "z.csv", "-k", "2", "--prepare", "auto"}, there));
  CHECK(value_of(left, "--drop-columns") == "zip,count");
  const Words kept = by_hand(done({"cluster", "z.csv", "-k", "2", "--prepare", "auto", "--encode", "zip=none"}, there));
  CHECK(value_of(kept, "--drop-columns") == "count");
  write_bytes(folder / "gps.csv", "lat,hdop\n48.1,0.9\n48.2,1.1\n48.3,99.99\n48.4,0.8\n");
  CHECK(done({"cluster", "gps.csv", "-k", "2", "--prepare", "auto"}, there).says("say --na-values 99.99"));
  done({"cluster", "gps.csv", "-k", "2", "--prepare", "auto", "--na-values", "99.99"}, there);
  // Without it as well, once for all columns, of values that were scaled too.
  std::string sensors = "t,u,v\n";
  for (int i = 0; i < 30; ++i)
    sensors += (i == 7 ? "-999" : std::to_string(20 + i % 5)) + "," + (i % 9 == 0 ? "9999.9" : std::to_string(i)) +
               "," + std::to_string(i % 4) + "\n";
  write_bytes(folder / "m.csv", sensors);
  for (const Words& options : {Words{}, Words{"--scale", "zscore"}, Words{"--scale", "minmax", "--precision", "f32"}}) {
    const Outcome plain = done(plus({"cluster", "m.csv", "-k", "2"}, options), there);
    CHECK(plain.says("column 1 ('t') holds -999, far from its other values, 20 to 24; so does column 2 ('u')"));
    CHECK(plain.says("say --nan drop --na-values -999,9999.9"));
  }
  CHECK(!done({"cluster", "m.csv", "-k", "2", "--nan", "drop", "--na-values", "-999,9999.9"}, there).says("far from"));
  CHECK(done({"knn", "m.csv", "-k", "2"}, there).says("holds -999"));
  // -1 beside small numbers is one of them.
  write_bytes(folder / "s.csv", "x,y\n-1,1\n0,2\n1,5\n2,3\n");
  CHECK(!done({"cluster", "s.csv", "-k", "2", "--prepare", "auto"}, there).says("far from"));
  CHECK(!done({"cluster", "s.csv", "-k", "2"}, there).says("far from"));
}

TEST_CASE("--prepare auto reads accounts, answers and times of forms, leaves out copies, and asks about a total") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string table = "name,profit,paid,asked,valued,ok,again\n";
  for (int i = 0; i < 30; ++i) {
    const std::string amount = "$1," + std::to_string(200 + 7 * i) + ".50";
    const std::string day = "2024/03/" + std::to_string(10 + i % 20);
    table += "N" + std::to_string(i) + ",\"" + (i % 3 == 0 ? "(" + amount + ")" : amount) + "\",\"" + amount + "\"," +
             day + " 5:24:13 PM GMT+1," + day + "," + (i % 4 == 0 ? "TRUE" : "FALSE") + "," + day + "\n";
  }
  const Words again{"cluster", "t.csv", "-k", "2", "--prepare", "auto", "--explain", "-o", "t.h5", "-f"};
  write_bytes(folder / "t.csv", table);
  const Outcome read = done(again, there);
  const Words by = by_hand(read);
  CHECK(value_of(by, "--encode") == "profit=unit,paid=unit,asked=date,valued=date,ok=yesno");
  CHECK(read.says("the same values as valued"));
  CHECK(read.out.find("% yes") != std::string::npos);
  CHECK(!read.says("the last row has"));
  // The sums of the rows stand below them.
  write_bytes(folder / "t.csv", table + "Total,\"$1,200.00\",\"$40,000.00\",,,,\n");
  const Outcome total = done(again, there);
  CHECK(total.says("the last row has 'Total' in column 1 ('name')"));
  CHECK(total.says("head -n 31 IN > OUT"));
  write_bytes(folder / "t.csv",
              table + "Total,\"$1,200.00\",\"$40,000.00\",,,,\n" + table.substr(table.find('\n') + 1));
  CHECK(!done(again, there).says("the last row has"));
}

TEST_CASE("--prepare auto gives answers of scales and ranges their order, and codes with names none") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::vector<std::string> answers{"never", "sometimes", "often", ""}, ages{"<18", "18-64", "65+"},
      cities{"1 = Lyon", "2 = Paris", "10 = Nice"}, marks{"1 = very bad", "2", "3 = very good"};
  std::string table = "answer,age,city,mark,v\n";
  for (std::size_t i = 0; i < 48; ++i)
    table += answers[i % 4] + "," + ages[i % 3] + "," + cities[i / 2 % 3] + "," + marks[i / 3 % 3] + "," +
             std::to_string(i * i % 17) + "\n";
  write_bytes(folder / "t.csv", table);
  const Outcome outcome = done({"cluster", "t.csv", "-k", "2", "--prepare", "auto", "-o", "auto.h5"}, there);
  Words again = by_hand(outcome);
  CHECK(value_of(again, "--encode") == "answer=ordinal,age=ordinal,city=onehot,mark=ordinal");
  CHECK(outcome.says("3 different texts, 'never' to 'often'; 12 missing values become the commonest text"));
  again.back() = "hand.h5";
  done(again, there);
  CHECK(bytes_of(folder / "auto.h5") == bytes_of(folder / "hand.h5"));
}

TEST_CASE("options that are given stay with --prepare auto") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", customers());
  const auto options = [&](const Words& more) {
    Words words{"cluster", "t.csv", "-k", "3", "--prepare", "auto"};
    words.insert(words.end(), more.begin(), more.end());
    return by_hand(done(words, there));
  };
  const std::string encode = value_of(options({"--encode", "segment=ordinal"}), "--encode");
  CHECK(encode.starts_with("segment=ordinal,"));
  CHECK(encode.find("segment=onehot") == encode.npos);
  const Words unscaled = options({"--scale", "none"});
  CHECK(value_of(unscaled, "--scale").empty());
  CHECK(value_of(unscaled, "--column-weights").empty());
  CHECK(value_of(options({"--drop-columns", "age,plan"}), "--drop-columns") == "age,plan,name,country,notes,ref");
  const Words kept = options({"--encode", "customer_id=none"});
  CHECK(value_of(kept, "--drop-columns") == "country,notes,ref");
  CHECK(value_of(kept, "--id-column") == "name");
  const Words named = options({"--id-column", "ref"});
  CHECK(value_of(named, "--drop-columns") == "customer_id,name,country,notes");
  CHECK(value_of(named, "--id-column") == "ref");
  CHECK(value_of(options({"--column-weights", "city=2"}), "--column-weights") == "city=2,segment=1,plan=1");
  CHECK(value_of(options({"--nan", "drop"}), "--nan") == "drop");
  const Words some = options({"--columns", "customer_id,age,city"});
  CHECK(value_of(some, "--drop-columns").empty());
  CHECK(value_of(some, "--encode") == "city=onehot+missing");
  refuses(2, {"cluster", "-", "-k", "3", "--prepare", "auto"}, {"standard input can be read once"},
          {.folder = folder / "", .standard_input = folder / "t.csv"});
  done({"info", "-"}, {.folder = folder / "", .standard_input = folder / "t.csv"});
  refuses(2, {"cluster", kDigits, "-k", "3", "--prepare", "auto"}, {"expected a table whose columns have types"},
          there);
}

TEST_CASE("messages about columns of text propose --prepare auto, which works") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", customers());
  refuses(3, {"cluster", "t.csv", "-k", "3"}, {"say --prepare auto"}, there);
  done({"cluster", "t.csv", "-k", "3", "--prepare", "auto", "-q"}, there);
  write_bytes(folder / "texts.csv", "id,kind\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,a\n10,b\n");
  proposes_what_works({"cluster", "texts.csv", "-k", "2"}, 2, there);
  write_bytes(folder / "names.csv", "id,name\n1,a\n2,b\n3,c\n4,d\n5,e\n6,f\n7,g\n8,h\n9,i\n10,j\n");
  proposes_what_works({"cluster", "names.csv", "-k", "2"}, 2, there);
  CHECK(!run_kith({"knn", "t.csv", "-k", "3"}, there).says("--prepare"));
}

TEST_CASE("--column-weights multiplies columns, and a onehot column counts as one") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string plain = "x,y,kind\n", doubled = "x,y,kind\n";
  Random random;
  for (int i = 0; i < 90; ++i) {
    const int x = random.below(1000), y = random.below(1000);
    const std::string kind = std::string(1, static_cast<char>('a' + random.below(5))) + "\n";
    plain += std::to_string(x) + "," + std::to_string(y) + "," + kind;
    doubled += std::to_string(2 * x) + "," + std::to_string(y) + "," + kind;
  }
  write_bytes(folder / "plain.csv", plain);
  write_bytes(folder / "doubled.csv", doubled);
  const Words common{"-k", "4", "-q", "-f", "-o"};
  const auto labels = [&](Words words, const char* output) {
    words.insert(words.end(), common.begin(), common.end());
    words.push_back(output);
    done(words, there);
    return values(folder / output + ":/labels");
  };
  const auto weighted = labels({"cluster", "plain.csv", "--columns", "x,y", "--column-weights", "x=2"}, "w.h5");
  CHECK(weighted == labels({"cluster", "doubled.csv", "--columns", "x,y"}, "d.h5"));
  done({"assign", "plain.csv", "--columns", "x,y", "--centroids", "w.h5", "-q", "-o", "again.h5"}, there);
  CHECK(values(folder / "again.h5:/labels") == weighted);
  const auto original = values(folder / "w.h5:/centroids_original"), scaled = values(folder / "w.h5:/centroids");
  REQUIRE(original.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(std::abs(scaled[i] - (i % 2 == 0 ? 2.0 : 1.0) * original[i]) <= 1e-9);
  const auto scale = [&](const char* weights) {
    done({"cluster", "plain.csv", "-k", "4", "-q", "-f", "--encode", "onehot", "--scale", "zscore", "--column-weights",
          weights, "-o", "s.h5"},
         there);
    return values(folder / "s.h5:/preparation/scale");
  };
  const auto of_x = scale("x=4"), of_kind = scale("kind=1");
  REQUIRE(of_x.size() == 7);
  double squares = 0.0;
  for (std::size_t j = 2; j < 7; ++j) squares += of_x[j] * of_x[j];
  for (std::size_t j = 2; j < 7; ++j) CHECK(std::abs(of_kind[j] - std::sqrt(squares)) <= 1e-12);
  CHECK(of_x[0] == of_kind[0] / 4.0);
  CHECK(of_x[1] == of_kind[1]);
  refuses(2, {"cluster", "plain.csv", "-k", "4", "--columns", "x,y", "--column-weights", "x=0"},
          {"--column-weights x: expected a number above 0, found 0; leave the column out with --drop-columns x"},
          there);
  refuses(2, {"cluster", "plain.csv", "-k", "4", "--columns", "x,y", "--column-weights", "z=1"}, {"--column-weights"},
          there);
  refuses(2, {"cluster", "plain.csv", "-k", "4", "--columns", "x,y", "--column-weights", "x"},
          {"expected COLUMN=W, as in income=2"}, there);
  refuses(2, {"cluster", "plain.csv", "-k", "4", "--columns", "x,y", "--column-weights", "x=2", "--scale", "unit"},
          {"cannot be combined with --scale unit"}, there);
  done({"cluster", "plain.csv", "-k", "4", "--init", "w.h5", "-q"}, there);  // which takes them from the result
  refuses(2, {"cluster", "plain.csv", "-k", "4", "--init", "w.h5", "--column-weights", "x=3"}, {"--column-weights x=2"},
          there);
}
