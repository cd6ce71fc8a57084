// A result is the whole model: kith assign reads a table as the fit did, without its options.
#include <array>
#include <cstdint>
#include <set>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;
using namespace std::string_literals;

namespace {

/// How the table is written.
struct Form {
  bool gaps = false, header = true, comma = false, groups = false;
};

constexpr int kRows = 60;

std::string number(double value, const Form& form) {
  const int whole = static_cast<int>(value);
  std::string text = std::to_string(whole);
  if (form.groups && whole >= 1000) text.insert(text.size() - 3, form.comma ? "." : ",");
  return text + (form.comma ? "," : ".") + (value - whole > 0.25 ? "5" : "0");
}

/// Three groups of customers. Columns: customer, income, age, city, size, joined, active, segment, note.
std::vector<std::vector<std::string>> customers(const Form& form) {
  const std::array<std::string, 3> cities{"Rome", "Oslo", "Lyon"}, sizes{"S", "M", "L"}, segments{"a", "b", "c"};
  std::vector<std::vector<std::string>> rows{
      {"customer", "income", "age", "city", "size", "joined", "active", "segment", "note"}};
  if (!form.header) rows.clear();
  for (int i = 0; i < kRows; ++i) {
    const auto group = static_cast<std::size_t>(i % 3), other = static_cast<std::size_t>(i * 7 % 11 % 3);
    const auto gap = [&](int every, const std::string& text) {
      return form.gaps && i % every == every - 2 ? (i % 2 == 0 ? "" : "NA") : text;
    };
    rows.push_back({"C" + std::to_string(100 + i), gap(9, number(900.0 * (1.0 + i % 3) + i * 13 % 37, form)),
                    gap(13, number(20 + 15 * (i % 3) + i % 5 + (i % 2) / 2.0, form)), gap(11, cities[group]),
                    sizes[other], gap(17, std::to_string(1 + i % 28) + ".0" + std::to_string(1 + i % 9) + ".2023"),
                    gap(15, i % 4 == 0 ? "yes" : "No"), segments[group], "free text " + std::to_string(i)});
  }
  return rows;
}

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& order = {}) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < (order.empty() ? row.size() : order.size()); ++j) {
      text += (j == 0 ? "" : ";") + row[order.empty() ? j : order[j]];
    }
    text += "\n";
  }
  return text;
}

// Each combination of the options that act on the same values; the others, of two values each, take turns.
constexpr int kEncodes = 4, kNans = 4, kScales = 4, kComponents = 2, kSwitches = 8;
enum Switch { columns, drop_columns, id, label, decimal, thousands, header, cosine };

struct Fit {
  std::vector<int> choices;  // of the encoding, missing values, the scale, components, and the switches
  Form form;
  Words options;
};

Fit fit_of(int number, std::uint32_t switches) {
  const char* const nans[] = {"error", "drop", "mean", "median"};
  const char* const scales[] = {"none", "zscore", "minmax", "unit"};
  const char* const encodes[] = {"date,yesno,onehot", "date,yesno,ordinal", "dmy,yesno,onehot+missing",
                                 "ordinal,date,yesno,CITY=onehot,SIZE=ordinal"};
  const int encode = number % kEncodes, nan = number / kEncodes % kNans, scale = number / (kEncodes * kNans) % kScales;
  const int components = number / (kEncodes * kNans * kScales);
  Fit fit{.choices = {encode, nan, scale, components}, .form = {}, .options = {}};
  for (int i = 0; i < kSwitches; ++i) fit.choices.push_back(static_cast<int>(switches >> i & 1));
  const auto is_on = [&fit](Switch which) { return fit.choices[4 + static_cast<std::size_t>(which)] == 1; };
  fit.form = {.gaps = nan > 0, .header = is_on(header), .comma = is_on(decimal), .groups = is_on(thousands)};
  const auto name = [&](const char* text, int column) { return fit.form.header ? text : std::to_string(column); };
  const auto add = [&](const Words& words) { fit.options.insert(fit.options.end(), words.begin(), words.end()); };
  std::string rules = encodes[encode];
  if (const std::size_t at = rules.find("CITY"); at != rules.npos) rules.replace(at, 4, name("city", 4));
  if (const std::size_t at = rules.find("SIZE"); at != rules.npos) rules.replace(at, 4, name("size", 5));
  add({"--encode", rules, "--nan", nans[nan], "--scale", scales[scale]});
  if (components > 0) add({"--pca", "2"});
  if (is_on(columns)) {
    add({"--columns", name("age", 3) + "," + name("income", 2) + "," + name("city", 4) + "," + name("size", 5) + "," +
                          name("joined", 6) + "," + name("active", 7)});
  }
  if (is_on(drop_columns)) add({"--drop-columns", is_on(columns) ? name("active", 7) : name("note", 9)});
  if (is_on(id)) add({"--id-column", name("customer", 1)});
  if (is_on(label)) add({"--label-column", name("segment", 8)});
  if (is_on(decimal)) add({"--decimal", "comma"});
  if (is_on(thousands)) add({"--thousands", is_on(decimal) ? "point" : "comma"});
  if (!is_on(header)) add({"--header", "no"});
  if (is_on(cosine)) add({"--metric", "cosine"});
  return fit;
}

}  // namespace

TEST_CASE("assign gives the labels of the fit to its file, without options, whatever the fit's were") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::set<std::array<int, 4>> pairs;  // two options and their values
  std::uint32_t state = 7;
  for (int i = 0; i < kEncodes * kNans * kScales * kComponents; ++i) {
    state = state * 1664525U + 1013904223U;
    const Fit fit = fit_of(i, state >> 20);
    for (std::size_t a = 0; a < fit.choices.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        pairs.insert({static_cast<int>(a), static_cast<int>(b), fit.choices[a], fit.choices[b]});
      }
    }
    Words words{"cluster", "t.csv", "-k", "3", "-q", "-f", "-o", "r.h5"};
    words.insert(words.end(), fit.options.begin(), fit.options.end());
    std::string shown;
    for (const std::string& word : words) shown += word + " ";
    INFO(shown);
    const auto rows = customers(fit.form);
    write_bytes(folder / "t.csv", table(rows));
    done(words, there);
    done({"assign", "t.csv", "--centroids", "r.h5", "-q", "-f", "-o", "a.h5"}, there);
    const std::vector<double> labels = stored(folder / "r.h5:/labels");
    CHECK(stored(folder / "a.h5:/labels") == labels);
    if (!fit.form.header || i % 4 != i / 16 % 4) continue;
    write_bytes(folder / "u.csv", table(rows, {8, 7, 6, 5, 4, 3, 2, 1, 0}));  // another order
    done({"assign", "u.csv", "--centroids", "r.h5", "-q", "-f", "-o", "a.h5"}, there);
    CHECK(stored(folder / "a.h5:/labels") == labels);
  }
  const std::size_t of_four = 3 * 4 * 4, with_two = 3 * (kSwitches + 1) * 4 * 2;
  const std::size_t of_two = (kSwitches + 1) * kSwitches / 2 * 4;
  CHECK(pairs.size() == of_four + with_two + of_two);
}

TEST_CASE("a value that the model does not know concerns its row alone") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const Form form;
  write_bytes(folder / "t.csv", table(customers(form)));
  done({"cluster", "t.csv", "-k", "3", "--encode", "date,yesno,onehot", "--drop-columns", "note,segment,customer", "-q",
        "-o", "r.h5"},
       there);
  const std::vector<double> labels = stored(folder / "r.h5:/labels");
  auto rows = customers(form);
  rows[5][3] = "Bern";    // a category
  rows[7][1] = "rich";    // a word in place of a number
  rows[8][5] = "soon";    // no date
  rows[9][2] = "";        // missing, and the fit had nothing to put there
  rows[11][6] = "maybe";  // neither yes nor no
  write_bytes(folder / "n.csv", table(rows));
  const Outcome outcome = done({"assign", "n.csv", "--centroids", "r.h5", "-o", "a.h5"}, there);
  CHECK(
      outcome.says("4 of 60 rows have a value that the model does not know, the first in line 6, column 4 ('city'): "
                   "'Bern'"));
  CHECK(outcome.says("5 of 60 rows dropped"));
  std::vector<double> expected = labels;
  for (const std::size_t row : {4, 6, 7, 8, 10}) expected[row] = -1.0;
  CHECK(stored(folder / "a.h5:/labels") == expected);
  refuses(3, {"assign", "n.csv", "--centroids", "r.h5", "--unknown", "error"},
          {"line 6, column 4 ('city'): expected one of the texts", "found 'Bern'"}, there);
  rows[5][3] = "Rome";
  write_bytes(folder / "n.csv", table(rows));
  refuses(3, {"assign", "n.csv", "--centroids", "r.h5", "--unknown", "error"},
          {"line 8, column 2 ('income')", "found 'rich'"}, there);
  CHECK(done({"assign", "t.csv", "--centroids", "r.h5:/centroids", "--encode", "date,yesno,onehot"}, there).code == 0);

  write_bytes(folder / "one.csv", "city;income;age;size;joined;active\nBern;900;20;S;1.1.2023;yes\n");
  const Outcome one = done({"assign", "one.csv", "--centroids", "r.h5", "-f", "-o", "a.h5"}, there);
  CHECK(one.says("no row has a label"));
  CHECK(stored(folder / "a.h5:/labels") == std::vector<double>{-1.0});
  done({"assign", "one.csv", "--centroids", "r.h5", "-q", "-o", "a.csv"}, there);

  // What repeats the model is accepted, what contradicts it refused by name.
  done({"assign", "t.csv", "--centroids", "r.h5", "--encode", "date,yesno,onehot", "--drop-columns",
        "note,segment,customer", "-q", "-f", "-o", "a.h5"},
       there);
  CHECK(stored(folder / "a.h5:/labels") == labels);
  refuses(2, {"assign", "t.csv", "--centroids", "r.h5", "--encode", "city=ordinal"},
          {"--encode city=ordinal: --centroids r.h5 has city as onehot"}, there);
  refuses(2, {"assign", "t.csv", "--centroids", "r.h5", "--metric", "cosine"}, {"--metric"}, there);
}

TEST_CASE("evaluate, report and cluster --init read points as the result says") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const Form form{.gaps = true, .comma = true, .groups = true};
  write_bytes(folder / "t.csv", table(customers(form)));
  const Words options{"--encode",       "date,yesno,onehot",    "--nan", "mean",    "--decimal",
                      "comma",          "--thousands",          "point", "--scale", "zscore",
                      "--drop-columns", "note,segment,customer"};
  Words words{"cluster", "t.csv", "-k", "3", "-o", "r.h5"};
  words.insert(words.end(), options.begin(), options.end());
  const Outcome fitted = done(words, there);
  CHECK(fitted.says("or its commonest text"));
  CHECK(fitted.says("next       kith assign t.csv --centroids r.h5"));
  Words scores{"evaluate", "r.h5", "--points", "t.csv"};
  const std::string plain = done(scores, there).out;
  scores.insert(scores.end(), {"--decimal", "comma", "--thousands", "point"});
  CHECK(done(scores, there).out == plain);
  CHECK(plain.find("silhouette") != std::string::npos);
  done({"report", "r.h5", "-o", folder / "page.html", "-q"}, there);
  done({"cluster", "t.csv", "--init", "r.h5", "-q", "-o", "again.h5"}, there);
  CHECK(stored(folder / "again.h5:/labels") == stored(folder / "r.h5:/labels"));
  CHECK(bytes_of(folder / "r.h5").find("\"kind\": \"onehot\"") != std::string::npos);
}
