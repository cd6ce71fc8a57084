// kith bench: suites through the program on every backend, ladders on a GPU, and the checks that detect wrong answers.
#include <algorithm>
#include <tuple>

#include "bench/suites/bench.h"
#include "core/numbers/distance.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"
#include "tests/support/xml.h"

using namespace kith::testing;
using kith::MatrixView;

namespace {

nlohmann::json bench(Words words, const Setting& setting = {}) {
  words.insert(words.begin(), "bench");
  for (const char* word : {"--json", "--quiet", "--repeat", "3"}) words.emplace_back(word);
  return done(words, setting).json();
}

/// Checks the fields of a row that was measured.
void check_timed(const nlohmann::json& row) {
  INFO(row.dump());
  CHECK(!row.contains("wrong"));
  const auto& seconds = row["seconds"];
  CHECK(seconds["lowest"].get<double>() > 0.0);
  CHECK(seconds["lowest"].get<double>() <= seconds["median"].get<double>());
  CHECK(seconds["median"].get<double>() <= seconds["highest"].get<double>());
  CHECK(seconds["count"].get<int>() >= (row["name"] == "after the last" ? 1 : 3));
}

bool has_backend(const std::string& name) {
  const Words usable = usable_backends();
  return std::find(usable.begin(), usable.end(), name) != usable.end();
}

}  // namespace

TEST_CASE("bench alone lists its suites, and refuses unknown suites, shapes and options") {
  const Outcome list = done({"bench"});
  for (const char* suite : {"limits", "assign", "sweep", "iteration", "scale", "knn", "distances", "plane", "reduce",
                            "sort", "sobel", "vector", "all"}) {
    CHECK(list.out.find(std::string("\n  ") + suite + " ") != std::string::npos);
  }
  refuses(2, {"bench", "asign"}, {"unknown suite 'asign'", "the nearest is assign"});
  refuses(2, {"bench", "plane", "--backend", "cpu"}, {"runs on GPUs alone"});
  refuses(2, {"bench", "sobel", "--backend", "cpu", "--shape", "3x65536"}, {"--shape 3x65536", "65535"});
  refuses(2, {"bench", "vector", "--backend", "cpu", "--shape", "3x2"}, {"--shape 3x2", "Nx1"});
  refuses(2, {"bench", "distances", "--backend", "cpu", "--shape", "3x65537,2"}, {"3x65537,2", "65536"});
  refuses(2, {"bench", "assign", "--shape", "10x3"}, {"--shape", "NxD,K", "10x3"});
  refuses(2, {"bench", "assign", "--shape", "10x3,4,5"}, {"NxD,K"});
  refuses(2, {"bench", "assign", "--shape", "10,3"}, {"NxD,K"});
  refuses(2, {"bench", "assign", "--shape", "10x3,11"}, {"at most 10"});
  refuses(2, {"bench", "knn", "--shape", "10x3,10"}, {"at most 9"});
  refuses(2, {"bench", "assign", "--repeat", "0"}, {"--repeat"});
  refuses(2, {"bench", "knn", "--data", "noise,outlier"},
          {"--data: expected noise, blobs,", "walks, found 'outlier'; the nearest is outliers"});
  refuses(2, {"bench", "assign", "--points", "a.h5"}, {"--points", "iteration"});
  refuses(2, {"bench", "iteration", "--points", "a.h5", "--shape", "10x3,2"},
          {"--points cannot be combined with --shape"});
  refuses(2, {"bench", "iteration", "--without", "certificate"}, {"unknown option --without"});
  if (!has_backend("cuda")) refuses(4, {"bench", "sort"}, {"cuda"});
}

TEST_CASE("kith bench starts kith-bench, and says who has it where it is missing") {
  const Scratch folder;
  const std::filesystem::path built = KITH_BINARY;
  const std::string alone = folder / "kith";
  std::filesystem::copy_file(built, alone);
  const auto on_path = [&](const std::string& path) {
    return Setting{.environment = {"PATH=" + path}, .program = alone};
  };
  for (const Words& words : {Words{"bench"}, Words{"bench", "--help"}, Words{"man", "bench"},
                             Words{"completion", "words", "bench"}, Words{"help", "bench"}}) {
    INFO(nlohmann::json(words).dump());
    CHECK(done(words).out == done(words, on_path(built.parent_path())).out);
    refuses(2, words, {"kith-bench cannot be started", "the packages kith and kith-cuda have it"},
            on_path(folder / ""));
  }
  CHECK(done({"man", "bench"}).out.starts_with(".TH KITH\\-BENCH 1"));
  const Setting itself{.program = built.parent_path() / "kith-bench"};
  CHECK(done({"--help"}, itself).out == done({"bench", "--help"}).out);
  CHECK(done({"--version"}, itself).out.starts_with("kith-bench "));
  refuses(2, {"asign"}, {"unknown suite 'asign'"}, itself);
}

TEST_CASE("bench limits measures memory and every instruction set") {
  const nlohmann::json report = bench({"limits", "--backend", "cpu"});
  CHECK(report["suite"] == "limits");
  CHECK(report["backend"] == "cpu");
  Words names;
  for (const auto& row : report["rows"]) {
    check_timed(row);
    CHECK(row["rate"].get<double>() > 0.0);
    names.push_back(row["name"]);
  }
  for (const std::string& name :
       {std::string("read"), std::string("write"), std::string("copy"), kith::cpu::product_limit()}) {
    INFO(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
}

TEST_CASE("bench assign, iteration and knn on every backend") {
  for (const std::string& backend : usable_backends()) {
    INFO(backend);
    const auto rows = bench({"assign", "--backend", backend, "--shape", "3000x33,17", "--shape", "500x2,500"})["rows"];
    REQUIRE(rows.size() == 2);
    for (const auto& row : rows) {
      check_timed(row);
      CHECK(row["data"] == "noise");
      CHECK(!row.contains("over_noise"));
      if (backend == "cuda") continue;  // it screens larger problems only
      CHECK(row["certified"].get<double>() >= 0.0);
      CHECK(row["certified"].get<double>() <= 1.0);
      CHECK(row["candidates"].get<double>() >= 0.0);
    }
    CHECK(rows[0]["shape"] == "3000 x 33, 17");
    const auto grid = bench({"sweep", "--backend", backend, "--shape", "3000x2,8", "--shape", "3000x40,8"})["rows"];
    REQUIRE(grid.size() == 2);
    for (const auto& row : grid) {
      check_timed(row);
      const double each = row["seconds"]["median"].get<double>() / 3000 * 1e9;
      CHECK(std::stod(row["note"].get<std::string>()) == Approx(each).epsilon(0.01));
    }
    for (const std::string shape : {"9000x8,20", "9000x8,50,3"}) {
      const auto scale = bench({"scale", "--backend", backend, "--shape", shape, "--repeat", "2"})["rows"];
      REQUIRE(!scale.empty());
      for (const auto& row : scale) check_timed(row);
      const std::string name = scale[0]["name"];
      CHECK(name.starts_with(shape == "9000x8,20" ? "iteration, 1 " : "search, 1 "));
      CHECK((scale.size() == 1 || scale[1]["note"].get<std::string>().find("times as fast") != std::string::npos));
    }
    for (const char* type : {"float32", "uint8"}) {
      const auto rows = bench({"iteration", "--backend", backend, "--type", type, "--shape", "3000x16,20"})["rows"];
      REQUIRE(rows.size() == 4);
      CHECK(rows[0]["name"] == "first");
      CHECK(rows[1]["name"] == "later");
      CHECK(rows[2]["name"] == "later, assignment");
      CHECK(rows[3]["name"] == "after the last");
      for (const auto& row : rows) check_timed(row);

      const auto searches = bench(
          {"knn", "--backend", backend, "--type", type, "--shape", "3000x16,200,7", "--shape", "400x5,3"})["rows"];
      REQUIRE(searches.size() == 2);
      CHECK(searches[1]["name"] == "self-join");
      for (const auto& row : searches) check_timed(row);
    }
    const auto within = bench({"knn", "--backend", backend, "--metric", "inner-product", "--radius", "--shape",
                               "900x40,30,10", "--shape", "300x5,3"})["rows"];
    REQUIRE(within.size() == 2);
    CHECK(within[0]["name"] == "radius");
    CHECK(within[0]["note"].get<std::string>().find(" rows within the radius of a query") != std::string::npos);
    for (const auto& row : within) check_timed(row);
    for (const char* metric : {"hamming", "jaccard"}) {
      const auto of_bits = bench({"knn", "--backend", backend, "--type", "uint8", "--metric", metric, "--shape",
                                  "3000x21,200,7", "--shape", "400x5,3"})["rows"];
      for (const auto& row : of_bits) check_timed(row);
      refuses(2, {"bench", "knn", "--metric", metric, "--shape", "30x2,2"}, {metric, "give --type uint8"});
    }
  }
}

TEST_CASE("bench measures and checks every kind of data, and compares each with noise") {
  const std::size_t count = kith::app::kinds().size();
  for (const std::string& backend : usable_backends()) {
    for (const char* type : {"float32", "uint8"}) {
      INFO(backend << " " << type);
      const auto measured = [&](const char* suite, const Words& shapes) {
        Words words{suite, "--backend", backend, "--data", "all", "--type", type};
        for (const std::string& shape : shapes) words.insert(words.end(), {"--shape", shape});
        return bench(words)["rows"];
      };
      CHECK(measured("knn", {"2000x20,50,3", "600x3,4"}).size() == 2 * count);
      std::size_t first = 0;
      double noise = 0.0;
      for (const auto& row : measured("iteration", {"3000x20,150"})) {
        check_timed(row);
        if (row["name"] != "first") continue;
        CHECK(row["data"] == kith::app::kinds()[first].name);
        const double median = row["seconds"]["median"];
        if (first++ == 0) noise = median;
        CHECK(row.value("over_noise", 1.0) == Approx(median / noise));
        CHECK(row.contains("over_noise") == (row["data"] != "noise"));
      }
      CHECK(first == count);
    }
  }
}

TEST_CASE("bench --data takes several kinds, each once, in this order") {
  const auto rows = bench(
      {"knn", "--backend", "cpu", "--data", "walks,noise,walks", "--shape", "300x4,20,2", "--shape", "50x2,1"})["rows"];
  Words order;
  for (const auto& row : rows) order.push_back(row["data"].get<std::string>() + " " + row["name"].get<std::string>());
  CHECK(order == Words{"walks queries", "noise queries", "walks self-join", "noise self-join"});
  CHECK(rows[0].contains("over_noise"));
  CHECK(!rows[1].contains("over_noise"));
}

TEST_CASE("bench iteration on the rows of a file also runs to convergence") {
  for (const std::string& backend : usable_backends()) {
    INFO(backend);
    const auto rows = bench({"iteration", "--backend", backend, "--points", KITH_SOURCE_DIR "/samples/digits.h5:/train",
                             "-k", "12"})["rows"];
    Words names;
    for (const auto& row : rows) {
      CHECK(row["shape"] == "1797 x 64, 12");
      CHECK(!row.contains("wrong"));
      CHECK(!row.contains("data"));
      names.push_back(row["name"]);
    }
    // GPUs do not report it for small problems.
    names.erase(std::remove(names.begin(), names.end(), "later, assignment"), names.end());
    REQUIRE(names == Words{"first", "later", "after the last", "first, update", "converging"});
    CHECK(rows.back()["note"].get<std::string>().find("iterations 11 to ") == 0);
  }
}

TEST_CASE("bench prints only its table on standard output, aligned or as Markdown") {
  const Words words{"bench", "assign", "--backend", "cpu", "--shape", "300x4,5", "--repeat", "1"};
  Words markdown = words;
  markdown.emplace_back("--markdown");
  const Setting wide{.environment = {"COLUMNS=200"}};
  const std::string aligned = done(words, wide).out, table = done(markdown).out;
  CHECK(aligned.find("what") == 0);
  CHECK(std::count(aligned.begin(), aligned.end(), '\n') == 2);
  CHECK(table.rfind("| what | shape | data | ms |", 0) == 0);
  CHECK(table.find("\n|---|---|---|") != std::string::npos);
  CHECK(table.find("\n| assignment | 300 x 4, 5 | noise |") != std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
}

TEST_CASE("every kernel of every ladder is right on a small problem") {
  if (!has_backend("cuda")) return skipped("no GPU is usable here");
  const std::vector<std::pair<Words, std::size_t>> ladders{
      {{"plane", "--shape", "640x2", "--shape", "128x2"}, 14},
      {{"reduce", "--shape", "524288x1"}, 12},
      {{"sort", "--shape", "12288x1", "--shape", "65536x1"}, 18},
      {{"distances", "--shape", "128x256,384"}, 11},
      {{"vector", "--shape", "1x1", "--shape", "1023x1", "--shape", "300001x1"}, 60}};
  for (const auto& [words, count] : ladders) {
    const auto rows = bench(words)["rows"];
    CHECK(rows.size() == count);
    for (const auto& row : rows) {
      const bool is_missing = !row.contains("seconds") && row.contains("note");  // no cuBLAS, or an old GPU
      if (!is_missing) check_timed(row);
    }
  }
  refuses(2, {"bench", "plane", "--shape", "100x2"}, {"multiple of 128"});
  refuses(2, {"bench", "distances", "--shape", "128x100,128"}, {"multiple of 128"});
}

TEST_CASE("every Sobel kernel is right for pictures of odd sizes, on every backend, and so is their page") {
  const Scratch folder;
  for (const std::string& backend : usable_backends()) {
    INFO(backend);
    const Words shapes{"1x1", "1x300", "300x1", "31x33", "33x31", "511x17", "512x16", "1025x129", "8191x35"};
    const std::string page = folder / (backend + ".html");
    Words words{"sobel", "--backend", backend, "-o", page};
    for (const std::string& shape : shapes) words.insert(words.end(), {"--shape", shape});
    const auto rows = bench(words)["rows"];
    CHECK(rows.size() == (backend == "cuda" ? 8 : 3) * shapes.size());
    for (const auto& row : rows) {
      check_timed(row);
      CHECK(row["limit"] == "copy");
    }
    const std::string text = bytes_of(page);
    CHECK(xml_problem(text).empty());
    for (const std::string& part :
         {std::string("bars-sobel-9"), std::string(">share of copy</text>"), std::string("1025 x 129"),
          std::string(", commit "), "kith bench sobel <span>--backend</span> " + backend}) {
      INFO(part);
      CHECK(text.find(part) != std::string::npos);
    }
    refuses(5, {"bench", "sobel", "--backend", backend, "-o", page}, {".html", "--force"});
  }
}

TEST_CASE("the ladders of vectors and distances are right for odd sizes on the processor") {
  kith::BenchRequest request{.repeat = 3, .on_progress = [](const std::string&) {}};
  const auto check = [](const std::vector<kith::Measurement>& lines) {
    for (const kith::Measurement& line : lines) {
      INFO(line.name << ", " << line.shape << ": " << line.wrong);
      CHECK(line.wrong.empty());
      CHECK(line.seconds.size() == 3);
    }
    return lines.size();
  };
  request.shapes = {{1, 1}, {100003, 1}};
  CHECK(check(kith::cpu::climb_vector(request)) == 6);
  request.shapes = {{1, 1, {1}}, {67, 13, {131}}, {128, 128, {128}}};
  const auto distances = kith::cpu::climb_distances(request);
  const std::size_t rungs = check(distances) / 3;
  CHECK(distances.size() == 3 * rungs);
  CHECK((rungs == 3 || rungs == 4));  // 4 where a type is multiplied faster than float32
  CHECK(distances[2 * rungs].published == "7.6339 ms");
}

TEST_CASE("the suite all has one JSON object for its suites, and takes --dry-run") {
  const Scratch folder;
  done({"bench", "all", "--backend", "cpu", "--dry-run", "-o", folder / "all.html"});
  CHECK(!std::filesystem::exists(folder / "all.html"));
  const kith::app::BenchReport report{.suite = "sobel", .backend = "cpu", .device = "", .rows = {}};
  const auto both = nlohmann::json::parse(kith::app::to_json(std::vector{report, report}));
  CHECK(both["suites"].size() == 2);
  CHECK(both["suites"][1]["suite"] == "sobel");
}

TEST_CASE("the checks of bench detect a wrong label and neighbours in the wrong order") {
  kith::Threads threads(1);
  const std::int64_t n = 300, d = 5, k = 6;
  const kith::Matrix<float> points = kith::app::generated_points(n, d, kith::app::kinds()[0], 20, threads);
  kith::Matrix<double> centroids(k, d);
  std::copy_n(points.data(), centroids.size(), centroids.data());
  const MatrixView<const float> view = points.view();

  std::vector<std::int32_t> labels(n);
  kith::NeighborLists lists(k, 2);
  const auto distance = [&](std::int64_t i, std::int64_t c) {
    return kith::squared_distance(view.row(i).data(), centroids.view().row(c).data(), d);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int32_t c = 1; c < k; ++c) {
      if (distance(i, c) < distance(i, labels[i])) labels[i] = c;
    }
  }
  for (std::int64_t c = 0; c < k; ++c) {
    std::vector<std::pair<double, std::int64_t>> all;
    for (std::int64_t i = 0; i < n; ++i) all.emplace_back(distance(i, c), i);
    std::sort(all.begin(), all.end());
    for (int place = 0; place < 2; ++place) std::tie(lists.distance(c, place), lists.index(c, place)) = all[place];
  }
  const auto neighbors = [&] { return kith::app::check_neighbors(view, {centroids.view()}, lists, threads); };
  CHECK(kith::app::check_labels(view, centroids.view(), labels, threads).empty());
  CHECK(neighbors().empty());

  labels[17] = (labels[17] + 1) % k;
  CHECK(kith::app::check_labels(view, centroids.view(), labels, threads).find("row 17") == 0);
  std::swap(lists.index(3, 0), lists.index(3, 1));
  CHECK(neighbors().find("query 3") == 0);
}

TEST_CASE("a wide table names each shape once and limits by letters, so that it stays one table of 80 columns") {
  kith::app::BenchReport report{.suite = "distances", .backend = "cpu", .device = "", .rows = {}};
  for (const char* shape : {"128 x 128, 128", "4096 x 4096, 4096"}) {
    for (const char* name :
         {"1 plain loops, one core", "3 float32 vectors, all cores", "4 bfloat16 tiles, all cores"}) {
      report.rows.push_back({.name = name,
                             .shape = shape,
                             .timing = kith::app::timing_of({1.0, 1.5, 3.0}),
                             .rate = 1e9,
                             .unit = kith::WorkUnit::flops,
                             .share = 0.276,
                             .limit = name[0] == '4' ? "multiply-add amx bfloat16 tiles" : "multiply-add amx float32",
                             .published = "20580 ms"});
    }
  }
  const auto cells = kith::app::cells_of(report);
  const std::string table = kith::app::aligned_table(cells, 80), wide = kith::app::aligned_table(cells, 200);
  INFO(table);
  CHECK(kith::testing::occurrences(table, "what ") == 1);
  CHECK(kith::testing::occurrences(table, "4096 x 4096, 4096\n") == 1);
  CHECK(kith::testing::occurrences(table, "27.6 % a") == 4);
  CHECK(kith::testing::occurrences(table, "27.6 % b") == 2);
  CHECK(table.ends_with("a: of multiply-add amx float32\nb: of multiply-add amx bfloat16 tiles\n"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  CHECK(kith::testing::occurrences(wide, "27.6 % of multiply-add amx float32") == 4);
  // Times that differ by more than half of their median, here by 133 %, mean that the machine was busy.
  const std::string busy = kith::app::busy_warning({{"title", report}});
  CHECK(busy.find("6 of 6 measurements") != std::string::npos);
  CHECK(busy.find("by 133 %") != std::string::npos);
  for (auto& row : report.rows) row.timing = kith::app::timing_of({1.0, 1.1, 1.2});
  CHECK(kith::app::busy_warning({{"title", report}}).empty());
  const std::string page = kith::pictures::html(kith::app::bench_page({{"title", report}}, "kith bench distances"));
  CHECK(xml_problem(page).empty());
  CHECK(page.find("<h2>distances: 4096 x 4096, 4096</h2>") != std::string::npos);
  CHECK(kith::testing::occurrences(page, ">share of multiply-add amx bfloat16 tiles</text>") == 2);
}

TEST_CASE("a wrong result is marked WRONG in the table and makes the report wrong") {
  kith::app::BenchReport report{.suite = "assign", .backend = "cpu", .device = "", .rows = {}};
  report.rows.push_back({.name = "assignment", .timing = kith::app::timing_of({3.0, 1.0, 2.0})});
  CHECK(!report.wrong());
  CHECK(report.rows[0].timing->median == 2.0);
  CHECK(kith::app::timing_of({4.0, 1.0, 2.0, 3.0}).median == 2.5);
  report.rows.push_back({.name = "assignment", .wrong = "row 1: expected label 2, found 3"});
  CHECK(report.wrong());
  const std::string table = kith::app::aligned_table(kith::app::cells_of(report), 200);
  CHECK(table.find("WRONG: row 1") != std::string::npos);
  CHECK(nlohmann::json::parse(kith::app::to_json(report))["rows"][1]["wrong"] == "row 1: expected label 2, found 3");
}
