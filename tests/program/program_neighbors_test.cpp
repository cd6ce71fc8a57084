// What kith knn writes and compares: files of search benchmarks, given answers with ties and with errors.
#include <cmath>
#include <cstring>

#include <algorithm>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

/// `count` values of T that lie at byte `at`.
template <class T>
std::vector<double> numbers_at(const std::string& bytes, std::size_t at, std::size_t count) {
  REQUIRE(bytes.size() >= at + count * sizeof(T));
  std::vector<T> found(count);
  std::memcpy(found.data(), bytes.data() + at, count * sizeof(T));
  return {found.begin(), found.end()};
}

/// An attribute that is a text of variable length, as h5py wants it.
std::string text_attribute(const std::string& file, const char* name) {
  const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(opened >= 0);
  const hid_t attribute = H5Aopen(opened, name, H5P_DEFAULT);
  REQUIRE(attribute >= 0);
  const hid_t type = H5Aget_type(attribute);
  REQUIRE(H5Tis_variable_str(type) > 0);
  char* text = nullptr;
  REQUIRE(H5Aread(attribute, type, &text) >= 0);
  const std::string found = text;
  H5free_memory(text);
  H5Tclose(type);
  H5Aclose(attribute);
  H5Fclose(opened);
  return found;
}

/// The lists of kith's own result, to compare other outputs with.
struct Known {
  std::vector<double> neighbors, squared, roots;
};
Known known(const Scratch& folder, Words words) {
  words.insert(words.end(), {"-q", "-f", "-o", folder / "known.h5"});
  done(words);
  Known found{values(folder / "known.h5:/neighbors"), {}, values(folder / "known.h5:/distances")};
  words.emplace_back("--squared");
  done(words);
  found.squared = values(folder / "known.h5:/distances");
  return found;
}

}  // namespace

TEST_CASE("BIGANN's answers and .ivecs hold the same lists, and are answers for --truth") {
  const Scratch folder;
  done({"generate", folder / "base.h5", "-n", "700", "-d", "9", "--type", "uint8", "-q"});
  done({"generate", folder / "queries.h5", "-n", "40", "-d", "9", "--type", "uint8", "--seed", "1", "-q"});
  const Words search{"knn", folder / "base.h5:/points", "--queries", folder / "queries.h5:/points", "-k", "6"};
  const auto with = [&](const Words& more) {
    Words words = search;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Known lists = known(folder, search);

  for (const Words& how : {Words{"-o", folder / "a.ibin"}, Words{"-o", folder / "a.bin", "--format", "bigann"}}) {
    done(with(how));
    const std::string bytes = bytes_of(how[1]);
    REQUIRE(bytes.size() == 8 + 40 * 6 * 8);
    CHECK(numbers_at<std::uint32_t>(bytes, 0, 2) == std::vector<double>{40, 6});
    CHECK(numbers_at<std::int32_t>(bytes, 8, 240) == lists.neighbors);
    CHECK(numbers_at<float>(bytes, 8 + 960, 240) == lists.squared);
    done(with({"-o", folder / "blocks.ibin", "--block-rows", "7", "-f"}));
    CHECK(bytes_of(folder / "blocks.ibin") == bytes);
    CHECK(done(with({"--truth", how[1]})).out.find("all 40 lists of 6 neighbours equal") == 0);
    CHECK(values(how[1] + ":/distances") == lists.squared);
  }

  done(with({"-o", folder / "a.ivecs"}));
  const std::string bytes = bytes_of(folder / "a.ivecs");
  REQUIRE(bytes.size() == 40 * 28);
  for (std::size_t q = 0; q < 40; ++q) {
    CHECK(numbers_at<std::int32_t>(bytes, q * 28, 1) == std::vector<double>{6});
    CHECK(numbers_at<std::int32_t>(bytes, q * 28 + 4, 6) ==
          std::vector<double>(lists.neighbors.begin() + 6 * q, lists.neighbors.begin() + 6 * (q + 1)));
  }
  CHECK(done(with({"--truth", folder / "a.ivecs"})).code == 0);
  refuses(5, with({"-o", folder / "a.ivecs"}), {"exists"});
  CHECK(run_kith(with({"-o", folder / "b.ivecs", "--squared"})).says("--squared"));
}

TEST_CASE("a file of ann-benchmarks has both sets, neighbours, distances, and says what they are") {
  const Scratch folder;
  done({"generate", folder / "base.h5", "-n", "300", "-d", "5", "-q"});
  done({"generate", folder / "queries.h5", "-n", "20", "-d", "5", "--seed", "1", "-q"});
  for (const char* metric : {"euclidean", "cosine"}) {
    const Words search{
        "knn", folder / "base.h5:/points", "--queries", folder / "queries.h5:/points", "-k", "4", "--metric", metric};
    const Known lists = known(folder, search);
    Words words = search;
    const std::string file = folder / (std::string(metric) + ".hdf5");
    words.insert(words.end(), {"--format", "ann-benchmarks", "-q", "-o", file});
    done(words);
    CHECK(values(file + ":/neighbors") == lists.neighbors);
    const std::vector<double> distances = values(file + ":/distances");
    const bool cosine = std::string(metric) == "cosine";
    REQUIRE(distances.size() == lists.roots.size());
    for (std::size_t i = 0; i < distances.size(); ++i) {
      // 1 - cos is half the squared distance of directions; halving a float is exact.
      CHECK(distances[i] == (cosine ? lists.squared[i] / 2 : lists.roots[i]));
    }
    if (!cosine) CHECK(values(file + ":/train") == values(folder / "base.h5:/points"));
    if (!cosine) CHECK(values(file + ":/test") == values(folder / "queries.h5:/points"));
    CHECK(text_attribute(file, "distance") == (cosine ? "angular" : "euclidean"));
    CHECK(text_attribute(file, "type") == "dense");
    CHECK(text_attribute(file, "point_type") == "float");
    const std::string first = bytes_of(file);
    words.emplace_back("-f");
    done(words);
    CHECK(bytes_of(file) == first);
    Words again = search;
    again[1] = file + ":/train";
    again[3] = file + ":/test";
    again.insert(again.end(), {"--truth", file});
    if (!cosine) CHECK(done(again).code == 0);
  }
  refuses(2, {"knn", folder / "base.h5:/points", "-k", "1", "--format", "ann-benchmarks", "-o", folder / "x.h5"},
          {"--format ann-benchmarks", "--queries"});
}

// Rows 0 and 1, and 2 and 3, are equal; row 4 is far away.
TEST_CASE("57: an answer with equal distances in another order is right, one with other distances is not") {
  const Scratch folder;
  FileMaker(folder / "x.h5").floats("x", {5, 1}, {0, 0, 1, 1, 9});
  FileMaker(folder / "q.h5").floats("q", {2, 1}, {0, 1});
  const auto compared = [&](const std::vector<float>& truth, const Words& more = {}) {
    FileMaker(folder / "t.h5").floats("neighbors", {2, 3}, truth);
    Words words{"knn", folder / "x.h5", "--queries", folder / "q.h5", "-k", "3", "--truth", folder / "t.h5"};
    words.insert(words.end(), more.begin(), more.end());
    return run_kith(words);
  };
  CHECK(compared({0, 1, 2, 2, 3, 0}).out.find("all 2 lists of 3 neighbours equal") == 0);
  const auto says = [](const Outcome& outcome, const std::string& text) {
    std::string line = outcome.out;  // sentences are wrapped
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line.find(text) != std::string::npos;
  };
  const Outcome ties = compared({1, 0, 3, 2, 3, 0});
  CHECK(ties.code == 0);
  CHECK(ties.out.find("1 of 2 lists of 3 neighbours equal") == 0);
  CHECK(says(ties, "the other 1 differ only in rows of equal distance recall@3 0.833333, 1.000000 with ties"));

  const Outcome wrong = compared({1, 0, 4, 2, 3, 0});
  CHECK(wrong.code == 1);
  CHECK(wrong.out.find("1 of 2 lists of 3 neighbours differ from") == 0);
  CHECK(wrong.out.find("recall@3 0.833333, 0.833333 with ties") != std::string::npos);
  CHECK(says(wrong, "first difference: query 0, place 2 (all counted from 0):"));
  CHECK(says(wrong, "t.h5 has row 4, the neighbour in its place is row 2"));
  CHECK(says(wrong, "is up to 800 % farther away than the true neighbour in its place"));
  CHECK(compared({1, 1, 2, 2, 3, 0}).code == 1);  // a row twice is no tie
  CHECK(compared({2, 0, 1, 2, 3, 0}).code == 1);  // nor is another order of other distances

  const auto report = compared({1, 0, 3, 2, 3, 4}, {"--json", "-q"}).json()["truth"];
  CHECK(report["equal"] == 0);
  CHECK(report["ties"] == 1);
  CHECK(report["recall_with_ties"] == Approx(5.0 / 6));
  CHECK(report["largest_excess"] == Approx(63.0 / 64));  // D of row 4 is 64, that of row 0 is 1

  // In its own set a row is no neighbour of itself, however near.
  FileMaker(folder / "t.h5").floats("neighbors", {5, 1}, {0, 0, 3, 2, 2});
  CHECK(run_kith({"knn", folder / "x.h5", "-k", "1", "--truth", folder / "t.h5"}).code == 1);
}
