// Labels beside a result (--labels), the numbers of clusters (--order), and rows that are far from all
// (--max-distance).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <vector>

#include "data/results/stored_result.h"
#include "data/source.h"
#include "tests/support/program.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

const std::string kIris = std::string(KITH_SOURCE_DIR) + "/samples/iris.csv";
const Words kRun{"cluster", kIris, "-k", "3", "--label-column", "species"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("--labels writes what -o to that file would, beside the result") {
  const Scratch folder;
  const std::string result = folder / "c.h5", labels = folder / "l.csv", alone = folder / "alone.csv";
  done(with(kRun, {"-o", folder / "plain.h5"}));
  done(with(kRun, {"-o", alone}));
  CHECK(done(with(kRun, {"-o", result, "--labels", labels})).says("labels     " + labels));
  CHECK(bytes_of(labels) == bytes_of(alone));
  CHECK(bytes_of(result) == bytes_of(folder / "plain.h5"));
  const Words assign{"assign", kIris, "--columns", "1-4", "--centroids", result};
  done(with(assign, {"-o", folder / "a.h5", "--labels", folder / "a.npy"}));
  done(with(assign, {"-o", folder / "b.npy"}));
  CHECK(bytes_of(folder / "a.npy") == bytes_of(folder / "b.npy"));
  const Words dense{"dbscan", kIris, "--radius", "0.5", "--label-column", "species"};
  done(with(dense, {"-o", folder / "d.h5", "--labels", folder / "d.csv"}));
  done(with(dense, {"-o", folder / "e.csv"}));
  CHECK(bytes_of(folder / "d.csv") == bytes_of(folder / "e.csv"));
  // Without -o the table is printed; --append and --save-distances are for the labels, too.
  CHECK(done(with(kRun, {"--labels", folder / "t.csv", "--append", "--save-distances"})).out.find("cluster  points") ==
        0);
  CHECK(bytes_of(folder / "t.csv").find(",species,label,distance\n") != std::string::npos);
}

TEST_CASE("--labels: nothing is overwritten or left behind") {
  const Scratch folder;
  const std::string result = folder / "c.h5", labels = folder / "l.csv";
  write_bytes(labels, "mine");
  refuses(5, with(kRun, {"-o", result, "--labels", labels}), {"l.csv: exists"});
  CHECK(files_in(folder) == Words{"l.csv"});
  CHECK(bytes_of(labels) == "mine");
  done(with(kRun, {"-o", result, "--labels", labels, "-f"}));
  CHECK(bytes_of(labels) != "mine");
  refuses(5, with(kRun, {"-o", folder / "x.h5", "--labels", folder / "l.txt"}), {".csv"});
  refuses(2, with(kRun, {"-o", folder / "x.csv", "--labels", folder / "x.csv"}),
          {"another name than that of the output"});
  // The disk is full when the result is written: the labels get no name either.
  Setting full;
  full.file_bytes = 4096;
  const Outcome outcome = run_kith(with(kRun, {"-o", folder / "big.h5", "--labels", folder / "big.csv"}), full);
  CHECK(outcome.code == 5);
  CHECK(files_in(folder) == Words{"c.h5", "l.csv"});
}

TEST_CASE("--order numbers clusters by size or by a mean, and assign agrees") {
  const Scratch folder;
  const std::string plain = folder / "plain.h5", result = folder / "c.h5", again = folder / "a.h5";
  done(with(kRun, {"-o", plain}));
  const auto counts = StoredResult(plain).vector("counts");
  for (const std::string& order : {std::string("size"), std::string("sepal_width"), std::string("2")}) {
    INFO(order);
    done(with(kRun, {"--order", order, "--medoids", "-f", "-o", result}));
    const StoredResult stored(result);
    CHECK(stored.text("order") == order);
    const auto centroids = stored.matrix("centroids"), medoids = stored.matrix("medoids");
    const auto ordered = stored.vector("counts");
    CHECK(std::is_permutation(counts.begin(), counts.end(), ordered.begin()));
    for (std::int64_t c = 0; c + 1 < 3; ++c) {
      const auto at = static_cast<std::size_t>(c);
      if (order == "size") CHECK(ordered[at] >= ordered[at + 1]);
      if (order != "size") CHECK(centroids(c, 1) <= centroids(c + 1, 1));
    }
    const auto labels = stored.vector("labels"), nearest = stored.vector("nearest_row");
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(std::count(labels.begin(), labels.end(), static_cast<double>(c)) == ordered[c]);
      CHECK(labels[static_cast<std::size_t>(nearest[c])] == static_cast<double>(c));
    }
    CHECK(stored.number("inertia") == StoredResult(plain).number("inertia"));
    done({"assign", kIris, "--columns", "1-4", "--centroids", result, "-f", "-o", again});
    CHECK(StoredResult(again).vector("labels") == labels);
  }
  refuses(2, with(kRun, {"--order", "length"}), {"--order", "length"});
  // A tree of splits names the clusters, too.
  done(with(kRun, {"--algorithm", "bisecting", "--order", "size", "-f", "-o", result}));
  const StoredResult tree(result);
  const auto leaves = tree.vector("tree_cluster"), sizes = tree.vector("tree_count"), rows = tree.vector("counts");
  for (std::size_t node = 0; node < leaves.size(); ++node) {
    if (leaves[node] >= 0) CHECK(rows[static_cast<std::size_t>(leaves[node])] == sizes[node]);
  }
}

TEST_CASE("--max-distance: rows that are far from every centroid get -1, and count in no cluster") {
  const Scratch folder;
  write_bytes(folder / "c.csv", "a,b\n0,0\n10,0\n");
  write_bytes(folder / "x.csv", "a,b\n3,4\n0,1\n10,1\n5,9\n10,5.0000001\n");
  const Words run{"assign", folder / "x.csv", "--centroids", folder / "c.csv"};
  const Words limited = with(run, {"--max-distance", "5", "-f", "-o", folder / "a.h5"});
  const Outcome outcome = done(limited);
  CHECK(outcome.says("2 of 5 rows (40 %) are farther than 5 from every centroid; their label is -1"));
  const StoredResult stored(folder / "a.h5");
  CHECK(stored.vector("labels") == std::vector<double>{0, 0, 1, -1, -1});  // 5 itself is within
  CHECK(stored.vector("counts") == std::vector<double>{2, 1});
  CHECK(stored.vector("inertia_per_cluster") == std::vector<double>{26, 1});
  CHECK(stored.number("inertia") == 27.0);
  CHECK(stored.number("max_distance") == 5.0);
  CHECK(stored.whole("rows_beyond") == 2);
  CHECK(stored.text("command").find("--max-distance 5") != std::string::npos);
  const Outcome near = done(with(run, {"--max-distance", "100", "-f", "-o", folder / "b.h5"}));
  CHECK(!near.says("farther than"));
  CHECK(StoredResult(folder / "b.h5").whole("rows_beyond") == 0);
  done(with(run, {"-f", "-o", folder / "plain.h5"}));
  CHECK(StoredResult(folder / "b.h5").number("inertia") == StoredResult(folder / "plain.h5").number("inertia"));
  done(with(run, {"--max-distance", "5", "-f", "-o", folder / "l.csv", "--save-distances"}));
  CHECK(bytes_of(folder / "l.csv") == "row,label,distance\n0,0,5\n1,0,1\n2,1,1\n3,-1,\n4,-1,\n");
  // Directions: (3, 4) has a cosine of 0.6 with (1, 0).
  write_bytes(folder / "d.csv", "a,b\n1,0\n");
  const Words cosine{"assign", folder / "x.csv", "--centroids", folder / "d.csv", "--metric", "cosine"};
  CHECK(done(with(cosine, {"--max-distance", "0.5"})).says("farther than 0.5 (a cosine of 0.875) from every centroid"));
  refuses(2, with(run, {"--max-distance", "-1"}), {"-1"});
}

TEST_CASE("labels, centroids and distances as arrays of other programs are the numbers of the result") {
  const Scratch folder;
  const auto numbers = [&folder](const std::string& file, std::size_t head, auto zero) {
    const std::string bytes = bytes_of(folder / file);
    std::vector<decltype(zero)> all((bytes.size() - head) / sizeof zero);
    std::memcpy(all.data(), bytes.data() + head, all.size() * sizeof zero);
    return all;
  };
  done(with(kRun, {"-o", folder / "c.h5", "--labels", folder / "l.ibin", "--save-centroids", folder / "c.npy"}));
  const StoredResult result(folder / "c.h5");
  CHECK(bytes_of(folder / "l.ibin").substr(0, 8) == std::string("\x96\0\0\0\1\0\0\0", 8));
  const auto labels = numbers("l.ibin", 8, std::int32_t{0});
  CHECK(std::ranges::equal(labels, result.vector("labels")));
  const kith::Matrix<double> centroids = kith::data::read_centroids(folder / "c.h5");
  const auto found = numbers("c.npy", 128, 0.0);
  REQUIRE(found.size() == static_cast<std::size_t>(centroids.size()));
  CHECK(std::memcmp(found.data(), centroids.data(), found.size() * sizeof(double)) == 0);
  // Each is a file of centroids, and those in the units of the points are points of the same space.
  done({"assign", kIris, "--columns", "1-4", "--centroids", folder / "c.h5", "-o", folder / "a.npy"});
  for (const char* file : {"c.npy", "d.csv"}) {
    if (file[0] == 'd') done(with(kRun, {"--save-centroids", folder / file}));
    done({"assign", kIris, "--columns", "1-4", "--centroids", folder / file, "-f", "-o", folder / "b.npy"});
    CHECK(bytes_of(folder / "a.npy") == bytes_of(folder / "b.npy"));
  }
  CHECK(bytes_of(folder / "d.csv").starts_with("sepal_length,"));
  done(with(kRun, {"--scale", "zscore", "-o", folder / "z.h5", "--save-centroids", folder / "z.fbin"}));
  const kith::Matrix<double> original = kith::data::read_centroids(folder / "z.h5:/centroids_original");
  const auto narrow = numbers("z.fbin", 8, 0.0F);
  REQUIRE(narrow.size() == static_cast<std::size_t>(original.size()));
  CHECK(std::equal(narrow.begin(), narrow.end(), original.data(),
                   [](float a, double b) { return a == static_cast<float>(b); }));
  done({"distances", folder / "c.npy", "-o", folder / "d.fbin"});
  CHECK(numbers("d.fbin", 8, 0.0F).size() == 9);
  for (const char* option : {"--labels", "--save-centroids"}) {
    refuses(5, with(kRun, {option, folder / "x.h5"}), {".npy"});
  }
}
