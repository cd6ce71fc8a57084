// Result files: equal bytes on every backend, and known answers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/support/cases.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

/// Runs a command that writes `out`, which must succeed.
void write(Words words, const std::string& out, const Words& more = {}, const Words& environment = {}) {
  words.insert(words.end(), {"-o", out, "-q"});
  words.insert(words.end(), more.begin(), more.end());
  done(words, {.environment = environment});
}

std::vector<float> digit_values() {
  const std::vector<double> wide = values(kDigits + ":/train");
  return {wide.begin(), wide.end()};
}

/// With an input of a few hundred rows, since the distance matrix of all digits would be large.
std::string small_points_file(const Scratch& folder) {
  const std::string name = folder / "small.h5";
  done({"generate", name, "-n", "700", "-d", "64", "-k", "12", "--integers", "--duplicates", "0.1", "-q"});
  return name;
}

/// Compares the files of these commands for several numbers of threads, block sizes and backends.
void check_same_bytes(const std::function<std::vector<Words>(const std::string& points)>& commands) {
  const Scratch folder;
  const std::string points = small_points_file(folder), one = folder / "one.h5", other = folder / "other.h5";
  const Words backends = usable_backends();
  // Small blocks give tasks to many threads.
  const std::vector<Words> variants{{"--threads", "2"},
                                    {"--threads", "7"},
                                    {"--threads", "2"},
                                    {"--screen", "float32"},
                                    {"--block-rows", "1"},
                                    {"--block-rows", "97"},
                                    {"--block-rows", "256"},
                                    {"--threads", "7", "--block-rows", "97"},
                                    {"--threads", "7", "--block-rows", "1"}};
  for (const Words& words : commands(points)) {
    write(words, one, {"--force", "--backend", "cpu", "--threads", "1"});
    const std::string expected = bytes_of(one);
    REQUIRE(expected.size() > 1000);
    for (const std::string& backend : backends) {
      for (Words more : variants) {
        // On a GPU every pair of blocks is a transfer.
        if (backend == "cuda" && more.back() == "1") more.back() = "31";
        if (backend == "cpu" && more.front() == "--screen") continue;
        Words options{"--force", "--backend", backend};
        if (backend == "cuda") options.insert(options.end(), {"--device", "0"});
        options.insert(options.end(), more.begin(), more.end());
        write(words, other, options);
        INFO(nlohmann::json(words).dump() << " " << nlohmann::json(options).dump());
        CHECK(bytes_of(other) == expected);
      }
    }
    write(words, other, {"--force", "--backend", "cpu"}, {"KITH_CPU=plain"});  // the fewest instructions
    INFO(nlohmann::json(words).dump() << " with plain instructions");
    CHECK(bytes_of(other) == expected);
  }
}

}  // namespace

// One case for each kind of command, so that they can run in parallel.
TEST_CASE("threads, block sizes, backends and repetition do not change a byte of a clustering") {
  check_same_bytes([](const std::string& points) -> std::vector<Words> {
    return {{"cluster", points, "-k", "20", "--seed", "1", "--n-init", "2", "--save-distances"},
            {"cluster", points, "-k", "7", "--init", "random", "--tolerance", "0", "--precision", "f64"},
            {"cluster", points, "-k", "9", "--metric", "cosine", "--save-distances"}};
  });
}

TEST_CASE("threads, block sizes, backends and repetition do not change a byte of assignments and distances") {
  check_same_bytes([](const std::string& points) -> std::vector<Words> {
    return {{"assign", points, "--centroids", kDigits + ":/train", "--save-distances"},  // every digit a centroid
            {"distances", points}};
  });
}

TEST_CASE("threads, block sizes, backends and repetition do not change a byte of neighbours") {
  check_same_bytes([](const std::string& points) -> std::vector<Words> {
    return {{"knn", points, "-k", "9"},
            {"knn", points, "-k", "4", "--metric", "cosine"},
            {"knn", points, "--queries", points, "-k", "3", "--squared", "--precision", "f64"}};
  });
}

TEST_CASE("points that exceed --device-memory give the same file") {
  const Scratch folder;
  const std::string points = folder / "x.h5", one = folder / "one.h5", other = folder / "other.h5";
  done({"generate", points, "-n", "60000", "-d", "96", "-q"});  // 22 MiB
  const Words run{"cluster", points, "-k", "20", "--max-iterations", "5", "--save-distances", "-q", "--force"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  done(with({"-o", one, "--backend", "cpu"}));
  for (const std::string& backend : usable_backends()) {
    for (const char* bytes : {"16MiB", "24MiB", "30MiB", "40MiB", "80MiB"}) {
      INFO(backend << ", " << bytes);
      done(with({"-o", other, "--backend", backend, "--device-memory", bytes}));
      CHECK(bytes_of(other) == bytes_of(one));
    }
  }
}

/// All that a result holds but the names of its inputs: attributes, and the values of every dataset.
std::map<std::string, nlohmann::json> contents(const std::string& file) {
  const nlohmann::json info = done({"info", file, "--json"}).json()["files"][0];
  std::map<std::string, nlohmann::json> all{{"attributes", info["result"]}};
  all["attributes"].erase("inputs");
  for (const auto& one : info["datasets"]) {
    const std::string path = one["path"];
    all[path] = {one["type"], one["shape"], values(file + ":" + path)};
  }
  return all;
}

TEST_CASE("equal values stored in different ways give equal results") {
  const Scratch folder;
  const std::vector<float> digits = digit_values();
  const std::vector<hsize_t> shape{1797, 64};
  const auto stored = [&](const std::string& name, hid_t type, const Layout& layout) {
    std::filesystem::create_directory(folder / name);
    const std::string file = folder / (name + "/digits.h5");
    FileMaker(file).dataset("train", type, shape, H5T_NATIVE_FLOAT, digits.data(), layout);
    return file + ":/train";
  };
  const std::vector<std::string> copies{
      stored("float32", H5T_IEEE_F32LE, {}),
      stored("float16", half_type(), {}),
      stored("big", H5T_IEEE_F32BE, {.chunk = {100, 64}}),
      stored("uint8", H5T_STD_U8LE, {}),
      stored("int8", H5T_STD_I8LE, {.chunk = {50, 20}, .deflate = 1}),
      stored("int16", H5T_STD_I16LE, {.chunk = {13, 7}, .shuffle = true, .fletcher32 = true, .deflate = 1})};
  for (const Words& more : std::vector<Words>{{"cluster", "-k", "10"}, {"cluster", "-k", "300"}, {"knn", "-k", "5"}}) {
    write({more[0], kDigits + ":/train", more[1], more[2]}, folder / "expected.h5", {"--force"});
    const auto expected = contents(folder / "expected.h5");
    for (const std::string& copy : copies) {
      for (const std::string& backend : usable_backends()) {
        write({more[0], copy, more[1], more[2]}, folder / "found.h5", {"--force", "--backend", backend});
        INFO(more[0] << " " << copy << " on " << backend);
        CHECK((contents(folder / "found.h5") == expected));
      }
    }
  }
}

TEST_CASE("cosine depends on directions alone, and refuses rows of zeros") {
  const Scratch folder;
  const auto stored = [&](const std::string& name, std::vector<float> digits) {
    FileMaker(folder / name).dataset("train", H5T_IEEE_F32LE, {1797, 64}, H5T_NATIVE_FLOAT, digits.data(), {});
    return folder / name;
  };
  std::vector<float> digits = digit_values();
  const std::string plain = stored("plain.h5", digits);
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] *= static_cast<float>(1 << i / 64 % 5);  // row by row
  const std::string longer = stored("longer.h5", digits), one = folder / "one.h5", other = folder / "other.h5";
  write({"cluster", plain, "-k", "10", "--metric", "cosine"}, one);
  write({"cluster", longer, "-k", "10", "--metric", "cosine"}, other);
  const std::vector<double> labels = values(one + ":/labels");
  CHECK(values(other + ":/labels") == labels);
  CHECK(values(other + ":/centroids") == values(one + ":/centroids"));
  write({"assign", longer, "--centroids", one, "--metric", "cosine"}, other, {"--force"});
  CHECK(values(other + ":/labels") == labels);
  write({"knn", plain, "-k", "3", "--metric", "cosine"}, one, {"--force"});
  write({"knn", longer, "-k", "3", "--metric", "cosine"}, other, {"--force"});
  CHECK(values(one + ":/neighbors") == values(other + ":/neighbors"));
  CHECK(values(one + ":/distances") == values(other + ":/distances"));

  std::fill(digits.begin() + 64 * 1234, digits.begin() + 64 * 1235, 0.0F);
  refuses(3, {"cluster", stored("zero.h5", digits), "-k", "3", "--metric", "cosine"},
          {"zero.h5", "row 1235 (counted from 1) is zero", "--metric cosine"});
}

TEST_CASE("shifting by a million and adding columns of zeros do not change labels and neighbours") {
  const Scratch folder;
  const auto generate = [&](const std::string& name, const Words& more) {
    Words words{"generate", folder / name, "-n", "3000", "-d", "5", "-k", "9", "--integers", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    done(words);
    return folder / name;
  };
  const std::string plain = generate("plain.h5", {});
  write({"knn", plain, "-k", "20"}, folder / "knn.h5");
  write({"cluster", plain, "-k", "9", "--init", "first"}, folder / "clusters.h5");
  const std::vector<double> labels = values((folder / "clusters.h5") + ":/labels");
  for (const char* type : {"float32", "float64", "int32", "int64"}) {
    const std::string shifted = generate(std::string("shifted-") + type + ".h5", {"--offset", "1e6", "--type", type});
    CHECK(done({"knn", shifted, "-k", "20", "--truth", folder / "knn.h5"}).out.rfind("all 3000 lists", 0) == 0);
    write({"cluster", shifted, "-k", "9", "--init", "first"}, folder / "shifted.h5", {"--force"});
    CHECK(values((folder / "shifted.h5") + ":/labels") == labels);
  }
  std::vector<float> wide;
  const std::vector<double> narrow = values(plain + ":/points");
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    wide.push_back(static_cast<float>(narrow[i]));
    if (i % 5 == 4) wide.insert(wide.end(), 30, 0.0F);
  }
  FileMaker(folder / "wide.h5").floats("points", {3000, 35}, wide);
  write({"knn", folder / "wide.h5", "-k", "20"}, folder / "wide-knn.h5");
  for (const char* dataset : {":/neighbors", ":/distances"}) {
    CHECK(values((folder / "wide-knn.h5") + dataset) == values((folder / "knn.h5") + dataset));
  }
}

TEST_CASE("assign with the centroids of cluster gives its labels; distances are square roots") {
  const Scratch folder;
  const std::string clusters = folder / "clusters.h5", labels = folder / "labels.h5";
  write({"cluster", kDigits, "-k", "10", "--save-distances"}, clusters);
  write({"assign", kDigits, "--centroids", clusters, "--save-distances"}, labels);
  for (const char* name : {":/labels", ":/counts", ":/inertia_per_cluster", ":/distances"}) {
    CHECK(values(clusters + name) == values(labels + name));
  }
  double inertia = 0.0;
  for (const double distance : values(clusters + ":/distances")) inertia += distance * distance;
  CHECK(inertia ==
        Approx(done({"assign", kDigits, "--centroids", clusters, "--json", "-q"}).json()["inertia"].get<double>())
            .epsilon(1e-6));
}

TEST_CASE("small answers that can be checked by eye") {
  const Scratch folder;
  const std::string points = folder / "x.h5";
  FileMaker(points).floats("x", {4, 2}, {0, 0, 3, 4, 0, 0, 6, 8});
  CHECK(done({"distances", points, "-q"}).out == "0\t5\t0\t10\n5\t0\t5\t5\n0\t5\t0\t10\n10\t5\t10\t0\n");
  CHECK(done({"distances", points, "--squared", "-q"}).out.rfind("0\t25\t0\t100\n", 0) == 0);
  // Ties go to the lowest row. A row is excluded from its own list by its number, not by distance 0.
  CHECK(done({"knn", points, "-k", "2", "-q"}).out ==
        "0\t2\t0\n0\t1\t5\n1\t0\t5\n1\t2\t5\n2\t0\t0\n2\t1\t5\n3\t1\t5\n3\t0\t10\n");
  CHECK(done({"knn", points, "-k", "1", "--include-self", "--squared", "-q"}).out ==
        "0\t0\t0\n1\t1\t0\n2\t0\t0\n3\t3\t0\n");
  CHECK(done({"info", points, "--stats"}).out.find("    2       0        8        3     3.31662479\n") !=
        std::string::npos);
  const std::string extreme = folder / "extreme.csv";
  write_bytes(extreme, "a,b\n1e170,1e-170\n-1e170,-1e-170\n");
  const std::string deviations = done({"info", extreme, "--stats"}).out;
  CHECK(deviations.find("    a       -1e+170  1e+170   0     1e+170\n") != std::string::npos);
  CHECK(deviations.find("    b       -1e-170  1e-170   0     1e-170\n") != std::string::npos);
  // Sums and differences overflow float64; means and deviations do not.
  write_bytes(extreme, "a,b\n1.75e308,-1.5e308\n1.75e308,1.5e308\n1.25e308,1.5e308\n1.25e308,1.5e308\n");
  const std::string largest = done({"info", extreme, "--stats"}).out;
  CHECK(largest.find("    a       1.25e+308  1.75e+308  1.5e+308  2.5e+307\n") != std::string::npos);
  CHECK(largest.find("    b       -1.5e+308  1.5e+308   7.5e+307  1.29903811e+308\n") != std::string::npos);
}

TEST_CASE("k = n, few distinct rows, equal rows, tolerance 0") {
  const Scratch folder;
  const std::string out = folder / "out.h5";
  const auto all = done({"cluster", kDigits, "-k", "1797", "--json", "-q", "--tolerance", "0"}).json();
  CHECK(all["inertia"] == 0.0);
  CHECK(all["clusters"]["largest"] == 1);
  CHECK(all["clusters"]["empty"] == 0);
  FileMaker(folder / "few.h5").floats("x", {6, 1}, {1, 2, 1, 2, 1, 2});
  const auto few = done({"cluster", folder / "few.h5", "-k", "4", "--json", "-o", out, "-q"}).json();
  CHECK(few["inertia"] == 0.0);
  CHECK(few["clusters"]["empty"] == 2);
  CHECK(few["warnings"].dump().find("2 distinct") != std::string::npos);
  for (const double c : values(out + ":/centroids")) CHECK(std::isfinite(c));
  FileMaker(folder / "equal.h5").floats("x", {5, 3}, std::vector<float>(15, 7.5F));
  const auto equal = done({"cluster", folder / "equal.h5", "-k", "2", "--json", "-q"}).json();
  CHECK(equal["clusters"]["largest"] == 5);
  CHECK(equal["inertia"] == 0.0);
}

TEST_CASE("lists of more than 2048 neighbours") {
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "2500", "-d", "3", "--kind", "uniform", "-q"});
  for (const char* k : {"2048", "2049", "2499"}) {
    write({"knn", folder / "x.h5", "-k", k}, folder / "knn.h5", {"--force"});
    CHECK(values((folder / "knn.h5") + ":/neighbors").size() == 2500 * std::stoul(k));
  }
  CHECK(run_kith({"knn", folder / "x.h5", "-k", "100", "--truth", folder / "knn.h5"}).code == 0);
}

TEST_CASE("--truth: a difference is shown, and the exit code is 1") {
  const Scratch folder;
  write({"knn", kDigits, "-k", "4", "--include-self"}, folder / "other.h5");
  const Outcome outcome = run_kith({"knn", kDigits, "-k", "4", "--truth", folder / "other.h5"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("1797 of 1797 lists of 4 neighbours differ") != std::string::npos);
  CHECK(outcome.out.find("first difference: query 0, place 0") != std::string::npos);
  const std::string wrong = (folder / "other.h5") + ":/neighbors";
  refuses(3, {"knn", wrong, "-k", "1", "--queries", wrong, "--truth", kDigits + ":/nothing"}, {"/nothing"});
}

TEST_CASE("generate: the points depend on the seed and not on the number of threads") {
  const Scratch folder;
  const auto make = [&](const Words& more) {
    Words words{"generate", folder / "x.h5", "-n", "1000", "-d", "9", "-f", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    done(words);
    return bytes_of(folder / "x.h5");
  };
  for (const char* kind : {"blobs", "noise", "shells"}) {
    CHECK(make({"--kind", kind, "--threads", "1"}) == make({"--kind", kind, "--threads", "7"}));
    CHECK(make({"--kind", kind}) != make({"--kind", kind, "--seed", "1"}));
  }
  make({"--duplicates", "0.5", "--type", "uint8"});
  const std::vector<double> points = values((folder / "x.h5") + ":/points");
  std::set<std::vector<double>> distinct;
  for (int i = 0; i < 1000; ++i) distinct.emplace(points.begin() + 9 * i, points.begin() + 9 * (i + 1));
  CHECK(distinct.size() == 500);
  CHECK(values((folder / "x.h5") + ":/labels").size() == 1000);
  refuses(5, {"generate", folder / "x.h5"}, {"--force"});
}

TEST_CASE("distances beyond the range of their type are refused with row and remedy") {
  const Scratch folder;
  const double near[] = {0.0, 1.0}, far[] = {0.0, 1.0, 1e200};
  const float wide[] = {0.0F, 1.0F, 1e30F, -3e38F};
  FileMaker(folder / "near.h5").dataset("x", H5T_IEEE_F64LE, {2, 1}, H5T_NATIVE_DOUBLE, near);
  FileMaker(folder / "far.h5").dataset("x", H5T_IEEE_F64LE, {3, 1}, H5T_NATIVE_DOUBLE, far);
  FileMaker(folder / "wide.h5").dataset("x", H5T_IEEE_F32LE, {4, 1}, H5T_NATIVE_FLOAT, wide);
  const std::string out = folder / "out.h5",
                    range = "row 3 (counted from 1): the euclidean distance exceeds the range of float64; divide";
  refuses(3, {"distances", folder / "far.h5", folder / "near.h5", "-o", out}, {range});
  refuses(3, {"distances", folder / "far.h5", folder / "near.h5"}, {range});
  refuses(3, {"knn", folder / "near.h5", "--queries", folder / "far.h5", "-k", "1"}, {range});
  refuses(3, {"distances", folder / "wide.h5", "--squared", "-o", out},
          {"row 1 (counted from 1): ", "float32; give --precision f64"});
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("--truth: values that are not row numbers are refused with their position") {
  const Scratch folder;
  FileMaker(folder / "x.h5").floats("x", {3, 1}, {0, 1, 3});
  const auto refused_with = [&](std::vector<float> truth, const std::string& place) {
    FileMaker(folder / "t.h5").floats("neighbors", {3, 2}, truth);
    refuses(3, {"knn", folder / "x.h5", "-k", "2", "--truth", folder / "t.h5"},
            {"t.h5:/neighbors: " + place, "0 to 2"});
  };
  refused_with({1, 2, 0, 2, 1, 3}, "row 3, column 2");
  refused_with({1, 2, -1, 2, 1, 0}, "row 2, column 1");
  refused_with({1, 0.5F, 0, 2, 1, 0}, "row 1, column 2");
  refused_with({1, 2, 1e30F, 2, 1, 0}, "row 2, column 1");
}

TEST_CASE("answers equal those of other exact programs") {
  const std::string shared = kith::test::shared_data();
  if (shared.empty()) return;
  const Scratch folder;
  const std::string known = shared + "/reference/digits.h5:/k10", out = folder / "out.h5";
  write({"cluster", kDigits, "--init", known + "/initial_centroids", "--tolerance", "0"}, out);
  CHECK(values(out + ":/labels") == values(known + "/labels"));
  CHECK(values(out + ":/centroids") == values(known + "/centroids"));
  CHECK(done({"knn", kDigits, "-k", "10", "--truth", shared + "/reference/digits.h5:/knn10/indices"}).code == 0);
  const std::string texts = shared + "/descriptions.h5";
  const Outcome outcome =
      done({"knn", texts + ":/train", "--queries", texts + ":/test", "-k", "100", "--truth", texts});
  CHECK(outcome.out.rfind("all 500 lists of 100 neighbours equal", 0) == 0);
}
