// kith assign beyond labels: the nearest centroids of each row, distances to all, and points that are not the model's.
#include <algorithm>
#include <cmath>

#include "core/numbers/distance.h"
#include "data/source.h"
#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// Roots of the definition's distances, rounded to T, in (distance, index) order for each row.
struct Expected {
  std::vector<double> all;     // (n, k)
  std::vector<double> labels;  // (n, k) ordered
};
template <class T>
Expected definition(const std::vector<double>& points, const std::vector<double>& centroids, std::int64_t d) {
  Expected expected;
  const auto k = static_cast<std::int64_t>(centroids.size()) / d;
  for (std::int64_t i = 0; i < std::ssize(points) / d; ++i) {
    std::vector<std::pair<double, std::int64_t>> row;
    for (std::int64_t c = 0; c < k; ++c) {
      row.emplace_back(squared_distance(points.data() + i * d, centroids.data() + c * d, d), c);
      expected.all.push_back(static_cast<T>(std::sqrt(row.back().first)));
    }
    std::sort(row.begin(), row.end());
    for (const auto& [distance, c] : row) expected.labels.push_back(static_cast<double>(c));
  }
  return expected;
}

}  // namespace

TEST_CASE("--top and --all-distances are the definition's, ties to the lowest centroid, on every backend") {
  const Scratch folder;
  const std::string file = folder / "x.h5", out = folder / "out.h5", other = folder / "other.h5";
  done({"generate", file, "-n", "300", "-d", "9", "-k", "5", "-q"});
  constexpr std::int64_t kCentroids = 7, kTop = 3, kColumns = 9;
  std::vector<double> points = stored(file + ":/points");
  std::vector<double> centroids(points.begin(), points.begin() + kCentroids * kColumns);
  std::copy_n(centroids.begin(), kColumns, centroids.begin() + 4 * kColumns);  // 4 repeats 0
  FileMaker(folder / "c.h5").dataset("c", H5T_IEEE_F64LE, {kCentroids, kColumns}, H5T_NATIVE_DOUBLE, centroids.data());
  const auto check = [&](const Expected& expected, const Words& more) {
    for (const std::string& backend : usable_backends()) {
      Words words{"assign",
                  file + ":/points",
                  "--centroids",
                  folder / "c.h5",
                  "--top",
                  "3",
                  "--all-distances",
                  "--save-distances",
                  "-o",
                  out,
                  "-f",
                  "--backend",
                  backend};
      words.insert(words.end(), more.begin(), more.end());
      CHECK(done(words).says("distances to centroids:"));
      CHECK(stored(out + ":/all_distances") == expected.all);
      const std::vector<double> nearest = stored(out + ":/nearest_centroids"), labels = stored(out + ":/labels");
      const std::vector<double> lengths = stored(out + ":/nearest_distances"), own = stored(out + ":/distances");
      REQUIRE(nearest.size() == 300 * kTop);
      for (std::int64_t i = 0; i < 300; ++i) {
        for (std::int64_t j = 0; j < kTop; ++j) {
          const double c = expected.labels[i * kCentroids + j];
          if (nearest[i * kTop + j] != c) FAIL("row " << i);
          if (lengths[i * kTop + j] != expected.all[i * kCentroids + static_cast<std::int64_t>(c)]) FAIL("row " << i);
        }
        if (labels[i] != nearest[i * kTop] || own[i] != lengths[i * kTop]) FAIL("row " << i);
      }
    }
  };
  check(definition<float>(points, centroids, kColumns), {});
  check(definition<double>(points, centroids, kColumns), {"--precision", "f64", "--block-rows", "7"});
  // In blocks and on several threads the file is the same, to the byte.
  const Words start{
      "assign", file + ":/points", "--centroids", folder / "c.h5", "--top", "7", "--all-distances", "-f", "-q", "-o"};
  const auto write = [&](const std::string& to, const Words& more) {
    Words words = start;
    words.push_back(to);
    words.insert(words.end(), more.begin(), more.end());
    done(words);
  };
  write(out, {"--threads", "1"});
  for (const Words& how : {Words{"--threads", "3"}, Words{"--block-rows", "1"}, Words{"--block-rows", "299"}}) {
    write(other, how);
    CHECK(bytes_of(out) == bytes_of(other));
  }
}

TEST_CASE("rows that were dropped have -1 and NaN in every list, wherever blocks end") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.h5";
  write_bytes(table, "x,y\n,1\n0,0\n,\n0,3\n4,0\n4,\n");
  FileMaker(folder / "c.h5").floats("c", {2, 2}, {0, 0, 4, 0});
  for (const char* block : {"0", "1", "2"}) {
    done({"assign", table, "--centroids", folder / "c.h5", "--nan", "drop", "--top", "2", "--all-distances", "-o", out,
          "-f", "-q", "--block-rows", block});
    CHECK(stored(out + ":/nearest_centroids") == std::vector<double>{-1, -1, 0, 1, -1, -1, 0, 1, 1, 0, -1, -1});
    const std::vector<double> all = stored(out + ":/all_distances");
    const std::vector<double> expected{0, 0, 0, 4, 0, 0, 3, 5, 4, 0, 0, 0};
    REQUIRE(all.size() == expected.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool dropped = i / 2 == 0 || i / 2 == 2 || i / 2 == 5;
      CHECK((dropped ? std::isnan(all[i]) : all[i] == expected[i]));
    }
    const std::vector<double> lengths = stored(out + ":/nearest_distances");
    CHECK(std::isnan(lengths[0]));
    CHECK(lengths[6] == 3);
    CHECK(lengths[7] == 5);
    CHECK(std::isnan(lengths[11]));
  }
}

TEST_CASE("the columns of a model are found by name, in any order, among others") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "a,b,c,kind\n0,5,0,u\n1,7,1,v\n9,2,8,u\n");
  done({"cluster", "t.csv", "-k", "2", "--columns", "a,c", "-o", "m.h5", "-q"}, there);
  const auto labels = [&](const Words& words) {
    Words all{"assign"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--centroids", "m.h5", "--save-distances", "-f", "-q", "-o", "o.csv"});
    done(all, there);
    return bytes_of(folder / "o.csv");
  };
  const std::string expected = labels({"t.csv", "--columns", "a,c"});
  CHECK(labels({"t.csv"}) == expected);
  write_bytes(folder / "u.csv", "c,note,a\n0,?,0\n1,\"x, y\",1\n8,z,9\n");
  CHECK(labels({"u.csv"}) == expected);
  // Queries have the columns of the base, and need not have its labels.
  write_bytes(folder / "q.csv", "c,b,a\n1,7,1\n8,2,9\n");
  CHECK(done({"knn", "t.csv", "--label-column", "kind", "--queries", "q.csv", "-k", "1", "-q"}, there).out ==
        "0\t1\t0\n1\t2\t0\n");
  CHECK(
      done({"knn", "t.csv", "--label-column", "kind", "--queries", "q.csv", "-k", "1", "--id-column", "b", "-q"}, there)
          .out == "7\t7\t0\n2\t2\t0\n");
  // Points without names need not have the column that names the rows of the model's table.
  done({"cluster", "t.csv", "-k", "2", "--columns", "a,c", "--id-column", "kind", "-f", "-o", "m.h5", "-q"}, there);
  write_bytes(folder / "plain.csv", "0,0\n1,1\n9,8\n");
  std::string values;
  for (const std::uint64_t value : {0, 0, 1, 1, 9, 8}) values += little(value, 4);
  write_bytes(folder / "plain.npy", npy("'<i4'", false, "(3, 2)", values));
  for (const char* plain : {"plain.csv", "plain.npy"}) CHECK(labels({plain}) == expected);
  refuses(2, {"assign", "plain.npy", "--centroids", "m.h5", "--id-column", "b"}, {"--id-column b"}, there);
}

TEST_CASE("points whose columns are not the model's are refused with the first difference and a remedy") {
  const Scratch folder;
  const std::string table = folder / "t.csv", other = folder / "u.csv", model = folder / "model.h5";
  write_bytes(table, "a,b,c\n0,0,0\n1,1,1\n9,9,9\n");
  done({"cluster", table, "-k", "2", "--columns", "a,c", "-o", model, "-q"});
  refuses(3, {"assign", table, "--centroids", model, "--drop-columns", "c"},
          {"t.csv: expected a column 'c'", "model.h5 has", "found none among a, b",
           "choose the columns that were clustered with --columns"});
  done({"assign", table, "--centroids", model, "--columns", "a,c"});
  refuses(3, {"assign", table, "--centroids", model, "--columns", "c,a"}, {"expected 'a' as column 1", "found 'c'"});
  refuses(3, {"assign", table, "--centroids", model, "--columns", "a"}, {"expected 'c' as column 2", "found only 1"});
  write_bytes(other, "a,C\n0,0\n");
  refuses(3, {"assign", other, "--centroids", model}, {"expected a column 'c'", "none among a, C", "with --columns"});
  write_bytes(other, "0,0,1\n");
  refuses(3, {"assign", other, "--centroids", model},
          {"model.h5: expected 3 columns", "u.csv has", "found 2", "--columns"});
  refuses(2, {"assign", table, "--columns", "a,c", "--centroids", model, "--top", "3"},
          {"--top 3", "2 centroids", "at most 2"});
  const Outcome run =
      done({"assign", table, "--columns", "a,c", "--centroids", model, "--top", "1", "--all-distances"});
  CHECK(run.says("--top has no effect: there is no --output"));
  CHECK(run.says("--all-distances has no effect: there is no --output"));
  CHECK(done({"assign", table, "--columns", "a,c", "--centroids", model, "--top", "1", "-o", folder / "l.csv"})
            .says("--top has no effect: the output contains only labels"));
}

TEST_CASE("centroids of a result bring its metric; another one is refused") {
  const Scratch folder;
  const std::string file = folder / "x.h5:/points", out = folder / "out.h5", other = folder / "other.h5";
  done({"generate", folder / "x.h5", "-n", "200", "-d", "4", "-k", "5", "-q"});
  const std::string cosine = folder / "cosine.h5", euclidean = folder / "euclidean.h5", plain = folder / "plain.h5";
  done({"cluster", file, "-k", "3", "--metric", "cosine", "-o", cosine, "-q"});
  done({"cluster", file, "-k", "3", "-o", euclidean, "-q"});
  const auto same = [&](Words words, const std::string& metric) {
    words.insert(words.end(), {"-f", "-o", out});
    const Outcome taken = done(words);
    CHECK(taken.says("metric     cosine, from") == (metric == "cosine"));
    words.insert(words.end(), {"--metric", metric});
    words[words.size() - 3] = other;
    CHECK_FALSE(done(words).says("metric     "));
    CHECK(bytes_of(out) == bytes_of(other));
  };
  for (const auto& [model, metric] : {std::pair{cosine, "cosine"}, std::pair{euclidean, "euclidean"}}) {
    same({"assign", file, "--centroids", model, "--save-distances"}, metric);
    CHECK(values(out + ":/labels") == values(model + ":/labels"));
    same({"assign", file, "--centroids", model + ":/centroids"}, metric);
    same({"cluster", file, "--init", model, "--max-iterations", "2"}, metric);
    same({"cluster", file, "-k", "5", "--freeze", model}, metric);
  }
  // Of a plain matrix nothing is known.
  const std::vector<double> centroids = values(cosine + ":/centroids");
  FileMaker(plain).dataset("c", H5T_IEEE_F64LE, {3, 4}, H5T_NATIVE_DOUBLE, centroids.data());
  done({"assign", file, "--centroids", plain, "-f", "-o", out});
  CHECK(bytes_of(out).find("--metric") == std::string::npos);

  done({"knn", file, "-k", "2", "-f", "-o", out});
  refuses(3, {"assign", file, "--centroids", out}, {"expected points or centroids", "format kith-neighbors"});
  done({"assign", file, "--centroids", cosine, "-f", "-o", out});
  refuses(3, {"cluster", file, "--init", out, "-k", "3"}, {"format kith-assignment", "a result of kith cluster"});
  refuses(2, {"assign", file, "--centroids", cosine, "--metric", "euclidean"},
          {"--centroids", "expected centroids of --metric euclidean (from --metric)", "found those of --metric cosine",
           "leave out --metric"});
  refuses(2, {"assign", file, "--centroids", euclidean}, {"found those of --metric euclidean"},
          {.environment = {"KITH_METRIC=cosine"}});
  refuses(2, {"cluster", file, "--init", euclidean, "--metric", "cosine"}, {"--init", "leave out --metric"});
  refuses(2, {"cluster", file, "-k", "5", "--freeze", cosine, "--metric", "euclidean"}, {"--freeze"});
  refuses(2, {"cluster", file, "-k", "6", "--freeze", cosine, "--init", euclidean},
          {"--freeze", "(from --init", "euclidean.h5)", "found those of --metric cosine",
           "give results of the same metric"});
}
