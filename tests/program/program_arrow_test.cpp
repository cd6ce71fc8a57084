// Parquet and Arrow files, in builds with Arrow C++; other builds refuse them.
#include "tests/support/program.h"
#include "tests/support/result_values.h"
#include "tests/support/skipped.h"
#ifdef KITH_HAS_ARROW
#include <parquet/properties.h>

#include <limits>

#include "tests/support/arrow_files.h"
#endif

using namespace kith::testing;
using namespace std::string_literals;

#ifndef KITH_HAS_ARROW

TEST_CASE(
    "a build without Arrow C++ says so, and refuses Parquet and Arrow files with the command that converts them") {
  skipped("the cases that read Parquet and Arrow files, since Arrow C++ was not found");
  const Scratch folder;
  CHECK(done({"devices", "--json"}).json().at("arrow") == false);
  CHECK(unwrapped(done({"devices"}).out).find("the program kith-arrow was found neither") != std::string::npos);
  write_bytes(folder / "x.parquet", "PAR1xxxx");
  refuses(3, {"info", folder / "x.parquet"}, {"found a Parquet file", "pandas.read_parquet('IN')"});
}

#else

namespace {

/// The distances between all rows, as bytes.
std::string distances(const Words& points, const Setting& there) {
  Words words{"distances", points[0], "-q", "-f", "-o", "d.npy"};
  words.insert(words.end(), points.begin(), points.end());
  done(words, there);
  return bytes_of(there.folder + "d.npy");
}

}  // namespace

TEST_CASE("numbers of every type are read as the same table in CSV") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto decimal = [](std::int64_t value) { return std::optional(arrow::Decimal128(value)); };
  const auto table = arrow_table(
      {{"d", doubles({0.1, -1e300, 3, 4, 5})},
       {"f", floats({0.25F, -3, 4, 1e20F, 0})},
       {"i64", arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{1LL << 53, -2, 0, 4, 5})},
       {"u32",
        arrow_array(arrow::UInt32Builder(), std::vector<std::optional<std::uint32_t> >{4000000000U, 2, 0, 4, 5})},
       {"i8", arrow_array(arrow::Int8Builder(), std::vector<std::optional<std::int8_t> >{-128, 2, 0, 4, 127})},
       {"b", arrow_array(arrow::BooleanBuilder(), std::vector<std::optional<bool> >{true, false, false, true, true})},
       {"dec", arrow_array(arrow::Decimal128Builder(arrow::decimal128(20, 2)),
                           std::vector{decimal(7), decimal(-123456789012345678), decimal(0), decimal(99), decimal(1)})},
       {"list", arrow_lists({{{1, 2}}, {{3, 4}}, {{5, 6}}, {{7, 8}}, {{9, 1}}})},
       {"fixed", arrow_lists(3, {{{1, 2, 3}}, {{3, 4, 5}}, {{5, 6, 7}}, {{7, 8, 9}}, {{9, 1, 2}}})}});
  write_bytes(folder / "t.csv",
              "d,f,i64,u32,i8,b,dec,list_1,list_2,fixed_1,fixed_2,fixed_3\n"
              "0.1,0.25,9007199254740992,4000000000,-128,True,0.07,1,2,1,2,3\n"
              "-1e300,-3,-2,2,2,False,-1234567890123456.78,3,4,3,4,5\n3,4,0,0,0,False,0.00,5,6,5,6,7\n"
              "4,1.00000002004087734272e20,4,4,4,True,0.99,7,8,7,8,9\n5,0,5,5,127,True,0.01,9,1,9,1,2\n");
  const std::vector<Words> choices{
      {}, {"--drop-columns", "d"}, {"--columns", "fixed_2,dec,list_1,b"}, {"--columns", "10-12,3"}};
  for (const Words& choice : choices) {
    const auto with = [&choice](const std::string& file) {
      Words words{file};
      words.insert(words.end(), choice.begin(), choice.end());
      return words;
    };
    if (choice.empty()) continue;  // -1e300 has no distances
    const std::string expected = distances(with("t.csv"), there);
    for_each_file(folder, *table, [&](const std::string& file) { CHECK(distances(with(file), there) == expected); });
  }
  for_each_file(folder, *table, [&](const std::string& file) {
    const auto statistics = [&there](const std::string& name) {
      auto dataset = done({"info", name, "--stats", "--json"}, there).json().at("files").at(0).at("datasets").at(0);
      CHECK(dataset.at("shape") == nlohmann::json({5, 12}));
      return dataset.at("statistics");
    };
    CHECK(statistics(file) == statistics("t.csv"));
    CHECK(distances({file, "--columns", "list,fixed"}, there) == distances({file, "--columns", "8-12"}, there));
    CHECK(distances({file + ":fixed"}, there) == distances({file, "--columns", "fixed"}, there));
  });
}

TEST_CASE("decimals of every width, dictionaries, runs and views of lists are read as their values") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto none = std::nullopt;
  const auto run_ends = arrow_array(arrow::Int32Builder(), std::vector<std::optional<std::int32_t> >{2, 3, 5});
  const auto starts = arrow_array(arrow::Int32Builder(), std::vector<std::optional<std::int32_t> >{2, 0, 2, 6, 4});
  const auto sizes = arrow_array(arrow::Int32Builder(), std::vector<std::optional<std::int32_t> >{2, 2, 2, 2, 2});
  const auto codes = arrow_array(arrow::Int8Builder(), std::vector<std::optional<std::int8_t> >{1, 0, 1, none, 2});
  const auto views = arrow::ListViewArray::FromArrays(*starts, *sizes, *floats({1, 2, 3, 4, 5, 6, 7, 8}));
  const ArrowColumn runs{"run", arrow::RunEndEncodedArray::Make(5, run_ends, doubles({0.5, none, 2.5})).ValueOrDie()};
  std::vector<ArrowColumn> columns{
      {"d32", arrow_array(arrow::Decimal32Builder(arrow::decimal32(9, 2)),
                          std::vector<std::optional<arrow::Decimal32> >{arrow::Decimal32(-7), arrow::Decimal32(99),
                                                                        none, arrow::Decimal32(1), none})},
      {"d64", arrow_array(arrow::Decimal64Builder(arrow::decimal64(18, 1)),
                          std::vector<std::optional<arrow::Decimal64> >(5, arrow::Decimal64(-12345678901234)))},
      {"d256", arrow_array(arrow::Decimal256Builder(arrow::decimal256(60, 30)),
                           std::vector<std::optional<arrow::Decimal256> >(
                               5, arrow::Decimal256::FromString("-1.500000000000000000000000000001").ValueOrDie()))},
      {"view", views.ValueOrDie()},
      {"code", arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::float64()), codes,
                                                  doubles({10, 20.5, 30}))
                   .ValueOrDie()},
      runs};
  write_bytes(folder / "t.csv",
              "d32,d64,d256,view_1,view_2,code,run\n-0.07,-1234567890123.4,-1.5,3,4,20.5,0.5\n"
              "0.99,-1234567890123.4,-1.5,1,2,10,0.5\n,-1234567890123.4,-1.5,3,4,20.5,\n"
              "0.01,-1234567890123.4,-1.5,7,8,,2.5\n,-1234567890123.4,-1.5,5,6,30,2.5\n");
  const auto means = [&](const std::string& file, const char* dropped) {
    done({"cluster", file, "-k", "1", "--nan", "mean", "--drop-columns", dropped, "-q", "-f", "-o", "o.h5"}, there);
    return values(folder / "o.h5:/centroids");
  };
  for (const std::int64_t part_rows : {2, 5}) {
    write_arrow(folder / "t.arrow", *arrow_table(columns), part_rows);
    CHECK(means("t.arrow", "d64") == means("t.csv", "d64"));
    done({"cluster", "t.arrow", "-k", "1", "--columns", "d64", "--id-column", "run", "-q", "-f", "-o", "l.csv"}, there);
    CHECK(bytes_of(folder / "l.csv") == "run,label\n0.5,0\n0.5,0\n,0\n2.5,0\n2.5,0\n");
  }
  columns.pop_back();  // Parquet has no runs
  write_parquet(folder / "t.parquet", *arrow_table(columns));
  CHECK(means("t.parquet", "d64") == means("t.csv", "d64,run"));
  CHECK(distances({"t.parquet", "--columns", "d64,view"}, there) ==
        distances({"t.csv", "--columns", "d64,view_1,view_2"}, there));

  // Any byte but 0 of Arrow's bool8 is true.
  const auto bool8 =
      arrow::key_value_metadata({"ARROW:extension:name", "ARROW:extension:metadata"}, {"arrow.bool8", ""});
  const auto flags = arrow_array(arrow::Int8Builder(), std::vector<std::optional<std::int8_t> >{0, 5, 1, -1});
  const auto flag = arrow::schema({arrow::field("flag", arrow::int8())->WithMetadata(bool8)});
  write_bytes(folder / "t.csv", "flag\n0\n1\n1\n1\n");
  for_each_file(folder, *arrow::Table::Make(flag, {flags}), [&](const std::string& file) {
    CHECK(done({"info", file}, there).out.find("bool") != std::string::npos);
    CHECK(distances({file, "--precision", "f64"}, there) == distances({"t.csv"}, there));
  });

  // Tensors are rows in the order of their dimensions, unless these are permuted.
  for (const std::string permutation : {"[0,1]", "[1,0]"}) {
    const auto tensor =
        arrow::key_value_metadata({"ARROW:extension:name", "ARROW:extension:metadata"},
                                  {"arrow.fixed_shape_tensor", R"({"shape":[1,2],"permutation":)" + permutation + "}"});
    const auto lists = arrow_lists(2, {{{1, 2}}, {{3, 4}}});
    const auto tensors = arrow::schema({arrow::field("v", lists->type())->WithMetadata(tensor)});
    for_each_file(folder, *arrow::Table::Make(tensors, {lists}), [&](const std::string& file) {
      if (permutation == "[0,1]") return void(done({"cluster", file, "-k", "1"}, there));
      refuses(3, {"cluster", file, "-k", "1"}, {"found v (permuted tensor)", "to_numpy_ndarray()"}, there);
    });
  }

  // A column without a value is one of numbers; codes of other programs, such as pandas' periods, are not.
  const auto period = arrow::key_value_metadata({"ARROW:extension:name"}, {"pandas.period"});
  const auto whole = arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{600, 601});
  const auto schema = arrow::schema({arrow::field("x", arrow::float64()), arrow::field("none", arrow::null()),
                                     arrow::field("month", arrow::int64())->WithMetadata(period)});
  const auto table =
      arrow::Table::Make(schema, {doubles({1, 2}), arrow::MakeArrayOfNull(arrow::null(), 2).ValueOrDie(), whole});
  for_each_file(folder, *table, [&](const std::string& file) {
    refuses(3, {"cluster", file, "-k", "1"}, {"column 3 ('month', pandas.period)", "--drop-columns month"}, there);
    refuses(3, {"cluster", file, "-k", "1", "--drop-columns", "month"},
            {"row 1, column 2 (counted from 1): expected a number, found a missing value", "--drop-columns none"},
            there);
  });
}

TEST_CASE("columns are float32 if all of them are exact in it, as in other files") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto table =
      arrow_table({{"f", floats({1, 2, 3})},
                   {"s", arrow_array(arrow::Int16Builder(), std::vector<std::optional<std::int16_t> >{1, 2, 4})},
                   {"d", doubles({1, 2, 0.1})}});
  for_each_file(folder, *table, [&](const std::string& file) {
    const auto has_class = [&](Words points, const char* element) {
      points.insert(points.begin(), file);
      return distances(points, there).find(element) != std::string::npos;
    };
    CHECK(has_class({}, "'<f8'"));
    CHECK(has_class({"--columns", "f,s"}, "'<f4'"));
    CHECK(has_class({"--precision", "f32"}, "'<f4'"));
  });
}

TEST_CASE("columns of text and dates are named together, and serve as identifiers, labels and weights") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  arrow::StringDictionaryBuilder kinds;
  for (const char* kind : {"a", "b", "a", "b"}) require_ok(kinds.Append(kind));
  const auto table =
      arrow_table({{"name", texts({"p", "q", "r", "s, t"})},
                   {"x", floats({0, 9, 1, 8})},
                   {"day", arrow_array(arrow::Date32Builder(), std::vector<std::optional<std::int32_t> >{1, 2, 3, 4})},
                   {"kind", kinds.Finish().ValueOrDie()},
                   {"w", doubles({1, 2, 0.5, 1})}});
  for_each_file(folder, *table, [&](const std::string& file) {
    refuses(3, {"cluster", file, "-k", "2"},
            {"expected numbers, found column 1 ('name', string), column 3 ('day', date32[day]), column 4 ('kind', "
             "dictionary of string); leave them out with --drop-columns name,day,kind"},
            there);
    refuses(2, {"cluster", file, "-k", "2", "--columns", "nane"}, {"the nearest is 'name'"}, there);
    done({"cluster", file, "-k", "2", "--init", "first", "--id-column", "name", "--label-column", "kind",
          "--weight-column", "w", "--drop-columns", "day", "-q", "-f", "-o", "o.csv"},
         there);
    CHECK(bytes_of(folder / "o.csv") == "name,label,known\np,0,a\nq,1,b\nr,0,a\n\"s, t\",1,b\n");
    CHECK(done({"evaluate", "o.csv:label", "--truth", file + ":kind", "--json"}, there)
              .json()
              .dump()
              .find("\"adjusted_rand_index\":1") != std::string::npos);
    CHECK(done({"info", file}, there).out.find("name (string), x (float32)") != std::string::npos);
    CHECK(done({"cluster", "-q", file + ":x", "-k", "2"}, there).code == 0);
    refuses(2, {"cluster", file + ":x", "-k", "2", "--columns", "w"}, {"give the one or the other"}, there);
    refuses(2, {"evaluate", "o.csv:label", "--truth", file + ":kin"}, {"the nearest is 'kind'"}, there);
  });
}

TEST_CASE("columns of text become features as those of text files do, also of sets, and by models of either") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto none = std::nullopt;
  arrow::StringDictionaryBuilder kinds;
  for (const char* kind : {"a", "b", "a", "c", "b"}) require_ok(kinds.Append(kind));
  const std::vector<ArrowColumn> columns{
      {"id",
       arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{9007199254740993, 2, 3, 4, 5})},
      {"x", floats({0.1F, 9, none, 8, 7})},
      {"town", texts({"Lyon, F", "Rome\"", "Lyon, F", "Oslo\nN", "Rome\""})},
      {"kind", kinds.Finish().ValueOrDie()},
      {"day", arrow_array(arrow::Date32Builder(), std::vector<std::optional<std::int32_t> >{1, 2, 3, none, 5})},
      {"is", arrow_array(arrow::BooleanBuilder(), std::vector<std::optional<bool> >{true, false, true, true, none})},
      {"e", arrow_lists({{{1, 2}}, {{3, 4}}, {{5, 6}}, {{7, 8}}, none})},
      {"took",
       arrow_array(arrow::DurationBuilder(arrow::duration(arrow::TimeUnit::NANO), arrow::default_memory_pool()),
                   std::vector<std::optional<std::int64_t> >{5400000000000, 1500000000, -60000000000, none, 90})}};
  const std::string csv =
      "id,x,town,kind,day,is,e_1,e_2,took\n9007199254740993,0.10000000149011612,\"Lyon, F\",a,1970-01-02,1,1,2,"
      "PT5400.000000000S\n2,9,\"Rome\"\"\",b,1970-01-03,0,3,4,PT1.500000000S\n3,,\"Lyon, "
      "F\",a,1970-01-04,1,5,6,-PT60.000000000S\n"
      "4,8,\"Oslo\nN\",c,,1,7,8,\n5,7,\"Rome\"\"\",b,1970-01-06,,,,PT0.000000090S\n";
  write_bytes(folder / "t.csv", csv);
  const auto centroids = [&](const Words& more) {
    Words words{"cluster", "-k", "2", "-q", "-f", "-o", "o.h5"};
    words.insert(words.begin() + 1, more.begin(), more.end());
    done(words, there);
    return values(folder / "o.h5:/centroids");
  };
  const Words encoded{"--encode", "date,took=time,onehot", "--nan", "mean", "--id-column", "id"};
  const auto with = [](const std::string& file, Words more) {
    more.insert(more.begin(), file);
    return more;
  };
  for_each_file(folder, *arrow_table(columns), [&](const std::string& file) {
    for (const Words& more : {encoded, Words{"--prepare", "auto"},
                              Words{"--encode", "kind=ordinal", "--columns", "kind,x", "--nan", "median"}})
      CHECK(centroids(with(file, more)) == centroids(with("t.csv", more)));
    done({"cluster", file, "-k", "2", "--encode", "date,onehot", "--nan", "mean", "--id-column", "id", "-q", "-f", "-o",
          "o.csv"},
         there);
    CHECK(bytes_of(folder / "o.csv").starts_with("id,label\n9007199254740993,"));
    refuses(3, {"cluster", file, "-k", "2"},
            {"leave them out with --drop-columns town,kind,day,took, or make features of texts with --encode onehot"},
            there);
    refuses(3, {"cluster", file, "-k", "2", "--columns", "kind,x", "--encode", "onehot"}, {"'x'", "--nan drop"}, there);
    // The model of one format gives the labels of the other.
    for (const auto& [fitted, other] : {std::pair{file, "t.csv"s}, std::pair{"t.csv"s, file}}) {
      centroids(with(fitted, encoded));
      const std::string labels = done({"assign", other, "--centroids", "o.h5", "-q", "-o", "-"}, there).out;
      CHECK(labels == done({"assign", fitted, "--centroids", "o.h5", "-q", "-o", "-"}, there).out);
      CHECK(std::ranges::count(labels, '\n') == 5);
    }
  });
  // Rows are named in place of lines, unless texts have line ends; codes of other programs are no numbers.
  const auto period = arrow::key_value_metadata({"ARROW:extension:name"}, {"pandas.period"});
  const auto schema = arrow::schema({arrow::field("x", arrow::float64()), arrow::field("kind", arrow::utf8()),
                                     arrow::field("month", arrow::int64())->WithMetadata(period)});
  const auto months = arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{600, 601, 601});
  const auto table = arrow::Table::Make(schema, {doubles({1, none, 2}), texts({"a", "b", "b"}), months});
  for_each_file(folder, *table, [&](const std::string& file) {
    refuses(3, {"cluster", file, "-k", "1", "--drop-columns", "month", "--encode", "kind=onehot"},
            {file + ": ", "row 2", "column 1 ('x')"}, there);
    refuses(3, {"cluster", file, "-k", "1", "--encode", "kind=onehot", "--nan", "mean"},
            {"column 3 ('month')", "pandas.period 600"}, there);
    done({"cluster", file, "-k", "1", "--columns", "kind", "--encode", "onehot", "--append", "-f", "-q", "-o",
          "o.parquet"},
         there);
    CHECK(done({"info", "o.parquet"}, there).out.find("label (int32)") != std::string::npos);
  });
  write_parquet(folder / "none.parquet", *table->Slice(0, 0));
  refuses(3, {"cluster", "none.parquet", "-k", "1", "--encode", "onehot"},
          {"none.parquet: expected rows", "found none"}, there);
  write_parquet(folder / "s1.parquet", *arrow_table(columns));
  write_parquet(folder / "s2.parquet", *arrow_table(columns)->Slice(1, 2));
  write_bytes(folder / "t.csv", csv + csv.substr(csv.find("\n2,") + 1, csv.find("4,8,") - csv.find("\n2,") - 1));
  CHECK(centroids(with("s*.parquet", encoded)) == centroids(with("t.csv", encoded)));
}

TEST_CASE("missing values are refused with their place, or treated as --nan says") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto none = std::nullopt;
  const auto table =
      arrow_table({{"x", floats({0, 1, none, 5})},
                   {"n", arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{1, 2, 3, none})},
                   {"e", arrow_lists({{{1, 2}}, none, {{3, 4}}, {{5, 6}}})}});
  write_bytes(folder / "t.csv", "x,n,e_1,e_2\n0,1,1,2\n1,2,,\n,3,3,4\n5,,5,6\n");
  const auto centroids = [&](const std::string& file, const char* nan) {
    done({"cluster", file, "-k", "1", "--nan", nan, "-q", "-f", "-o", "o.h5"}, there);
    return values(folder / "o.h5:/centroids");
  };
  for_each_file(folder, *table, [&](const std::string& file) {
    for (const char* nan : {"drop", "mean", "median"}) CHECK(centroids(file, nan) == centroids("t.csv", nan));
    refuses(3, {"cluster", file, "-k", "1"},
            {"row 2, column 3 (counted from 1): expected a number, found a missing value (null)", "--drop-columns e_1",
             "--nan drop"},
            there);
    refuses(3, {"cluster", file, "-k", "1", "--columns", "n"}, {"row 4, column 1"}, there);
    CHECK(done({"info", file, "--stats"}, there).out.find("4 missing values") != std::string::npos);
  });
}

TEST_CASE("lists of other lengths, columns of row names and empty tables") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto uneven = arrow_table({{"e", arrow_lists({{{1, 2}}, {{3}}, {{5, 6}}})}});
  for_each_file(folder, *uneven, [&](const std::string& file) {
    refuses(3, {"cluster", file, "-k", "1"},
            {"row 2 (counted from 1), column 'e': expected a list of 2 numbers, as in the first row, found 1"}, there);
  });
  const auto named = arrow_table(
      {{"x", floats({0, 5})},
       {"__index_level_0__", arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{7, 8})}});
  for_each_file(folder, *named, [&](const std::string& file) {
    done({"cluster", file, "-k", "2", "--init", "first", "-q", "-f", "-o", "o.csv"}, there);
    CHECK(bytes_of(folder / "o.csv") == "id,label\n7,0\n8,1\n");
  });
  write_parquet(folder / "none.parquet", *arrow_table({{"x", floats({})}}));
  CHECK(done({"info", "none.parquet"}, there).out.find("0 x 1") != std::string::npos);
  refuses(2, {"cluster", "none.parquet", "-k", "1"}, {"none.parquet"}, there);
  write_parquet(folder / "text.parquet", *arrow_table({{"t", texts({"a"})}}));
  refuses(3, {"cluster", "text.parquet", "-k", "1"}, {"or of lists of numbers, found t (string); make features"},
          there);
  const auto words = arrow::ListArray::FromArrays(
      *arrow_array(arrow::Int32Builder(), std::vector<std::optional<int> >{0, 2, 3}), *texts({"a", "b", "c"}));
  write_parquet(folder / "words.parquet", *arrow_table({{"x", floats({0, 5})}, {"w", words.ValueOrDie()}}));
  const Outcome profile = done({"info", "words.parquet", "--stats"}, there);  // as of text tables
  CHECK(profile.out.find("distinct") != std::string::npos);
  CHECK(done({"info", "words.parquet"}, there).out.find("distinct") == std::string::npos);
  CHECK(done({"cluster", "words.parquet", "-k", "1", "--prepare", "auto", "-o", "o.h5"}, there)
            .err.find("lists of values") != std::string::npos);
  write_bytes(folder / "old.feather", "FEA1xxxx");
  refuses(3, {"info", "old.feather"}, {"a Feather file of version 1", "pandas.read_feather('IN')"}, there);
}

TEST_CASE("the index of pandas names the rows, as the metadata of the file say") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto indexed = [](const std::shared_ptr<arrow::Table>& table, const std::string& columns) {
    const std::string pandas = R"({"index_columns": )" + columns + R"(, "columns": [], "pandas_version": "3.1"})";
    return table->ReplaceSchemaMetadata(arrow::key_value_metadata({"pandas"}, {pandas}));
  };
  const auto table = arrow_table(
      {{"x", floats({0, 1, 9, 8})},
       {"id", arrow_array(arrow::Int64Builder(), std::vector<std::optional<std::int64_t> >{1000, 2000, 7000, 9000})},
       {"sub", texts({"a", "b", "c", "d"})}});
  const Words start{"-k", "2", "--init", "first", "-f", "-o", "o.csv"};
  const auto cluster = [&](const std::string& file, Words more) {
    more.insert(more.begin(), {"cluster", file});
    more.insert(more.end(), start.begin(), start.end());
    return done(more, there);
  };
  for_each_file(folder, *indexed(table, R"(["id", "sub"])"), [&](const std::string& file) {
    CHECK(cluster(file, {}).says("4 x 1"));  // the first level is the identifier
    CHECK(bytes_of(folder / "o.csv").starts_with("id,label\n1000,"));
    CHECK(cluster(file, {}).says("the index of pandas (id, sub) names the rows and is not part of the points"));
    CHECK(cluster(file, {"--columns", "x,id"}).says("4 x 2"));
    CHECK(cluster(file, {"--id-column", "sub"}).says("4 x 1"));
    CHECK(bytes_of(folder / "o.csv").starts_with("sub,label\na,"));
    CHECK(cluster(file, {"--label-column", "sub"}).says("4 x 1"));
    CHECK(cluster(file, {"--drop-columns", "id"}).says("4 x 1"));
    CHECK(bytes_of(folder / "o.csv").starts_with("sub,label\na,"));
  });
  for (const char* none : {R"([{"kind": "range", "name": null, "start": 0, "stop": 4, "step": 1}])", "[]", "3", "[["}) {
    for_each_file(folder, *indexed(table, none), [&](const std::string& file) {
      CHECK(cluster(file, {"--drop-columns", "sub"}).says("4 x 2"));
    });
  }
}

TEST_CASE("many rows and columns are read by several threads, in parts and from standard input, within --memory") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  constexpr std::int64_t kRows = 100000, kColumns = 48;
  std::vector<ArrowColumn> columns;
  std::vector<float> rows(kRows * kColumns);
  for (std::int64_t j = 0; j < kColumns; ++j) {
    std::vector<float> column;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto value = static_cast<float>((i * 7919 + j * 104729) % 10007);
      rows[static_cast<std::size_t>(i * kColumns + j)] = value;
      column.push_back(value);
    }
    arrow::FloatBuilder builder;
    require_ok(builder.AppendValues(column));
    columns.push_back({"c" + std::to_string(j), builder.Finish().ValueOrDie()});
  }
  FileMaker(folder / "t.h5").floats("x", {kRows, kColumns}, rows);
  const auto table = arrow_table(columns);
  const auto labels = [&](const std::string& file, const Words& more, const Setting& setting) {
    Words words{"cluster", file, "-k", "20", "--max-iterations", "3", "-q", "-f", "-o", "o.csv"};
    words.insert(words.end(), more.begin(), more.end());
    done(words, setting);
    return bytes_of(folder / "o.csv");
  };
  const std::string expected = labels("t.h5", {}, there);
  for (const std::int64_t part_rows : {30000, 1000000, 5000}) {
    write_parquet(folder / "t.parquet", *table, part_rows);
    write_arrow(folder / "t.feather", *table, part_rows);
    for (const char* file : {"t.parquet", "t.feather"}) {
      INFO(file << " with parts of " << part_rows);
      for (const char* threads : {"1", "3"}) CHECK(labels(file, {"--threads", threads}, there) == expected);
      CHECK(labels("-", {}, {.folder = there.folder, .standard_input = folder / file}) == expected);
    }
  }
  for (const char* file : {"t.parquet", "t.feather"}) {
    INFO(file);
    CHECK(labels(file, {"--memory", "18M", "--scratch", "."}, there) == expected);
  }
  refuses(6, {"knn", "t.parquet", "-k", "1", "--memory", "1M"}, {"--memory"}, there);
}

TEST_CASE("mutated Parquet and Arrow files end in an error about the file, or in numbers") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  arrow::StringDictionaryBuilder kinds;
  for (const char* kind : {"a", "b", "a", "b"}) require_ok(kinds.Append(kind));
  const auto table = arrow_table({{"x", floats({0, 9, std::nullopt, 8})},
                                  {"kind", kinds.Finish().ValueOrDie()},
                                  {"e", arrow_lists({{{1, 2}}, {{3, 4}}, {{5, 6}}, {{7, 8}}})},
                                  {"f", arrow_lists(2, {{{1, 2}}, {{3, 4}}, {{5, 6}}, {{7, 8}}})},
                                  {"t", texts({"p", "q", "r", "s"})}});
  write_parquet(folder / "t.parquet", *table, 2);
  write_arrow(folder / "t.arrow", *table, 2);
  std::uint64_t state = 1;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  for (const char* kind : {".parquet", ".arrow"}) {
    const std::string name = "m"s + kind, whole = bytes_of(folder / ("t"s + kind));
    for (int trial = 0; trial < 60; ++trial) {
      INFO(name << ", trial " << trial);
      std::string bytes = whole;
      if (trial % 6 == 0) bytes.resize(8 + random(bytes.size() - 8));
      for (std::size_t i = random(4); i <= 4; ++i) {
        bytes[6 + random(bytes.size() - 6)] = static_cast<char>(random(2) == 0 ? 0xff : random(256));
      }
      write_bytes(folder / name, bytes);
      const Outcome outcome = run_kith({"cluster", name, "-k", "1", "--nan", "mean", "--id-column", "t",
                                        "--label-column", "kind", "-f", "-o", "o.csv"},
                                       there);
      INFO(outcome.err);
      CHECK((outcome.code == 0 || outcome.says(name)));
      CHECK((outcome.code == 0 || outcome.code == 3 || (outcome.code == 2 && outcome.says("column"))));
    }
  }
}

TEST_CASE("lists of numbers in pages of every kind are the rows, whatever divides them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  constexpr std::int64_t kRows = 20000, kColumns = 24;
  std::vector<float> rows;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i)
    rows.push_back(static_cast<float>((i * i + i * 7919) % 30011) / 8);
  arrow::FloatBuilder builder;
  require_ok(builder.AppendValues(rows));
  const ArrowArray values = builder.Finish().ValueOrDie();
  const auto lists = arrow::FixedSizeListArray::FromArrays(values, static_cast<int>(kColumns)).ValueOrDie();
  const auto table = arrow_table({{"v", lists}});
  FileMaker(folder / "t.h5").floats("x", {kRows, kColumns}, rows);
  const auto labels = [&](const std::string& file, const Words& more) {
    Words words{"cluster", file, "-k", "5", "--init", "first", "--max-iterations", "2", "-q", "-f", "-o", "o.npy"};
    words.insert(words.end(), more.begin(), more.end());
    done(words, there);
    return bytes_of(folder / "o.npy");
  };
  const std::string expected = labels("t.h5", {});
  for (const bool has_dictionary : {true, false}) {
    for (const bool is_second : {true, false}) {
      parquet::WriterProperties::Builder properties;
      properties.data_pagesize(4000)->compression(has_dictionary ? arrow::Compression::SNAPPY
                                                                 : arrow::Compression::UNCOMPRESSED);
      if (!has_dictionary) properties.disable_dictionary();
      properties.data_page_version(is_second ? parquet::ParquetDataPageVersion::V2
                                             : parquet::ParquetDataPageVersion::V1);
      const auto out = arrow::io::FileOutputStream::Open(folder / "t.parquet").ValueOrDie();
      require_ok(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 7001, properties.build(),
                                            parquet::ArrowWriterProperties::Builder().store_schema()->build()));
      require_ok(out->Close());
      for (const char* threads : {"1", "2", "3"}) CHECK(labels("t.parquet", {"--threads", threads}) == expected);
      CHECK(labels("t.parquet", {"--memory", "8M", "--scratch", "."}) == expected);
      CHECK(labels("t.parquet", {"--precision", "f64"}) == labels("t.h5", {"--precision", "f64"}));
    }
  }
  rows[kColumns * 15000 + 3] = std::numeric_limits<float>::quiet_NaN();
  arrow::FloatBuilder again;
  require_ok(again.AppendValues(rows));
  const ArrowArray others = again.Finish().ValueOrDie();
  write_parquet(folder / "nan.parquet",
                *arrow_table({{"v", arrow::FixedSizeListArray::FromArrays(others, kColumns).ValueOrDie()}}), 7001);
  refuses(3, {"cluster", "nan.parquet", "-k", "1"}, {"row 15001, column 4 (counted from 1)", "NaN"}, there);
}

TEST_CASE("the memory that a message says a run needs is enough for it") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  constexpr std::int64_t kRows = 300000, kColumns = 20;
  std::vector<ArrowColumn> columns;
  std::vector<float> all;
  for (std::int64_t j = 0; j < kColumns; ++j) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < kRows; ++i) values.push_back(static_cast<float>((i * (j + 7)) % 1009));
    all.insert(all.end(), values.begin(), values.end());
    arrow::FloatBuilder builder;
    require_ok(builder.AppendValues(values));
    columns.push_back({"c" + std::to_string(j), builder.Finish().ValueOrDie()});
  }
  write_parquet(folder / "columns.parquet", *arrow_table(columns), kRows);
  arrow::FloatBuilder builder;
  require_ok(builder.AppendValues(all));
  const ArrowArray numbers = builder.Finish().ValueOrDie();
  const auto lists = arrow::FixedSizeListArray::FromArrays(numbers, static_cast<int>(kColumns)).ValueOrDie();
  write_parquet(folder / "lists.parquet", *arrow_table({{"v", lists}}), kRows);
  for (const char* file : {"columns.parquet", "lists.parquet"}) {
    for (const bool has_scratch : {false, true}) {
      const auto run = [&](const std::string& memory) {
        Words words{"cluster", file, "-k", "2", "--max-iterations", "2", "-q", "--memory", memory, "--threads", "2"};
        if (has_scratch) words.insert(words.end(), {"--scratch", "."});
        return run_kith(words, there);
      };
      for (const char* little : {"1MB", "4MB"}) {
        const Outcome refused = run(little);
        INFO(refused.err);
        REQUIRE(refused.code == 6);
        const std::string text = unwrapped(refused.err);
        int numbers_found = 0;
        for (const std::string words : {"needs about ", "without them, which needs "}) {
          const std::size_t at = text.find(words);
          if (at == text.npos) continue;
          std::istringstream rest(text.substr(at + words.size()));
          std::string number, unit;
          rest >> number >> unit;
          const std::string memory = number + unit.substr(0, 3);
          INFO(memory);
          CHECK(run(memory).code == 0);
          ++numbers_found;
        }
        CHECK(numbers_found >= 1);
      }
    }
  }
  // Lists stay in their file; other columns need a folder for the rows.
  Words words{"cluster", "lists.parquet", "-k", "4", "-q", "-f", "--json", "-o", "whole.npy"};
  const auto in_passes = [&](const char* memory) {
    words.insert(words.end(), {"--memory", memory, "-o", "passes.npy"});
    const auto report = done(words, there).json();
    return report.contains("streamed") ? report.at("streamed").at("passes").get<int>() : 0;
  };
  CHECK_FALSE(done(words, there).json().contains("streamed"));
  CHECK(in_passes("20MB") > 1);
  CHECK(bytes_of(folder / "passes.npy") == bytes_of(folder / "whole.npy"));
  words[1] = "columns.parquet";
  CHECK(run_kith(words, there).says("a Parquet file is decoded while it is read; give --scratch DIR"));
}

#endif
