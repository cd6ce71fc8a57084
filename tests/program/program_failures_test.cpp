// Cases of docs/failures.md that no other test shows, with the program as a user runs it.
#include <algorithm>
#include <numeric>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

TEST_CASE("11, 14: more than 2^31 pairs of rows and centroids, more than 65535 clusters") {
  constexpr std::size_t kRows = 66'000, kClusters = 65'601;
  static_assert(kRows * kClusters > std::size_t{1} << 31);
  const Scratch folder;
  std::vector<float> rows(kRows), centroids(kClusters);
  std::iota(rows.begin(), rows.end(), 0.25F);
  std::iota(centroids.begin(), centroids.end(), 0.0F);
  FileMaker(folder / "x.h5").floats("x", {kRows, 1}, rows);
  FileMaker(folder / "c.h5").floats("c", {kClusters, 1}, centroids);
  for (const std::string& backend : usable_backends()) {
    done({"assign", folder / "x.h5", "--centroids", folder / "c.h5", "--backend", backend, "-o", folder / "l.h5",
          "-fq"});
    const std::vector<double> labels = values((folder / "l.h5") + ":/labels");
    REQUIRE(labels.size() == kRows);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kRows; ++i)
      wrong += labels[i] != static_cast<double>(std::min(i, kClusters - 1)) ? 1 : 0;
    INFO(backend);
    CHECK(wrong == 0);
  }
}

TEST_CASE("16: a cluster of more than 2^24 rows has an exact count and mean") {
  constexpr std::size_t kRows = (std::size_t{1} << 24) + 3;
  const Scratch folder;
  {
    std::vector<std::uint8_t> rows(kRows);
    for (std::size_t i = 0; i < kRows; i += 2) rows[i] = 1;
    FileMaker(folder / "x.h5").dataset("x", H5T_STD_U8LE, {kRows, 1}, H5T_NATIVE_UINT8, rows.data());
  }
  for (const std::string& backend : usable_backends()) {
    done({"cluster", folder / "x.h5", "-k", "1", "--backend", backend, "-o", folder / "c.h5", "-fq"});
    INFO(backend);
    CHECK(values((folder / "c.h5") + ":/counts") == std::vector<double>{kRows});
    CHECK(values((folder / "c.h5") + ":/centroids") == std::vector<double>{8388610.0 / kRows});
  }
}

TEST_CASE("24: an empty cluster takes the farthest row of weight above 0, whatever its weight") {
  const Scratch folder;
  write_bytes(folder / "x.csv", "x,w\n0,9\n1,9\n2,9\n10,0.5\n100,0\n");
  write_bytes(folder / "c.csv", "x\n1\n1000\n");
  for (const std::string& backend : usable_backends()) {
    const auto report = done({"cluster", folder / "x.csv", "--weight-column", "w", "--init", folder / "c.csv",
                              "--backend", backend, "-o", folder / "c.h5", "-fq", "--json"})
                            .json();
    INFO(backend);
    CHECK(report["iterations"][0]["relocated"] == 1);
    CHECK(values((folder / "c.h5") + ":/centroids") == std::vector<double>{1, 10});
    CHECK(values((folder / "c.h5") + ":/labels") == std::vector<double>{0, 0, 0, 1, 1});
  }
}

TEST_CASE("26: labels belong to the returned centroids if the last iteration relocated a cluster") {
  const Scratch folder;
  write_bytes(folder / "x.csv", "x\n0\n1\n7\n10\n");
  write_bytes(folder / "c.csv", "x\n1\n1000\n");
  const auto report = done({"cluster", folder / "x.csv", "--init", folder / "c.csv", "--max-iterations", "1", "-o",
                            folder / "c.h5", "--save-distances", "--json"})
                          .json();
  CHECK(report["iterations"].back()["relocated"] == 1);
  CHECK(report["stopped_by"] == "max-iterations");
  CHECK(values((folder / "c.h5") + ":/labels") == std::vector<double>{0, 0, 1, 1});  // 7 was in cluster 0 before
  done({"assign", folder / "x.csv", "--centroids", folder / "c.h5", "--save-distances", "-o", folder / "l.h5"});
  for (const char* name : {":/labels", ":/counts", ":/inertia_per_cluster", ":/distances"}) {
    CHECK(values((folder / "c.h5") + name) == values((folder / "l.h5") + name));
  }
}

TEST_CASE("39: every row has its share in a centroid, however many there are") {
  constexpr std::size_t kRows = 200'000;
  const Scratch folder;
  std::vector<float> rows(kRows);
  rows[123'456] = kRows;
  FileMaker(folder / "x.h5").floats("x", {kRows, 1}, rows);
  for (const Words& more : {Words{}, Words{"--batch", "1000"}}) {
    Words words{"cluster", folder / "x.h5", "-k", "1", "-o", folder / "c.h5", "-fq"};
    words.insert(words.end(), more.begin(), more.end());
    done(words);
    CHECK(values((folder / "c.h5") + ":/centroids") == std::vector<double>{1});
    CHECK(values((folder / "c.h5") + ":/counts") == std::vector<double>{kRows});
  }
}

TEST_CASE("51: a hundred thousand columns") {
  constexpr std::size_t kRows = 40, kColumns = 100'000, kGroups = 5;
  const Scratch folder;
  std::vector<float> rows(kRows * kColumns);
  for (std::size_t i = 0; i < kRows; ++i) rows[i * kColumns + (i % kGroups + 1) * (kColumns / kGroups) - 1] = 3;
  FileMaker(folder / "x.h5").floats("x", {kRows, kColumns}, rows);
  std::vector<double> labels(kRows), nearest(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    labels[i] = static_cast<double>(i % kGroups);
    nearest[i] = static_cast<double>(i < kGroups ? i + kGroups : i % kGroups);
  }
  std::vector<std::pair<std::string, Words>> runs{{"cpu", {"KITH_CPU=plain"}}};
  for (const std::string& backend : usable_backends()) runs.push_back({backend, {}});
  for (const auto& [backend, environment] : runs) {
    const Words common{"--backend", backend, "-fq", "-o", folder / "out.h5"};
    Words cluster{"cluster", folder / "x.h5", "-k", "5", "--init", "first"}, knn{"knn", folder / "x.h5", "-k", "1"};
    for (Words* words : {&cluster, &knn}) words->insert(words->end(), common.begin(), common.end());
    INFO(backend);
    done(cluster, {.environment = environment});
    CHECK(values((folder / "out.h5") + ":/labels") == labels);
    done(knn, {.environment = environment});
    CHECK(values((folder / "out.h5") + ":/neighbors") == nearest);
  }
}

TEST_CASE("62: the state of many short rows counts as memory of a search") {
  constexpr std::size_t kRows = 4'000'000;  // 4 MB of values, 64 MB of labels and distances
  const Scratch folder;
  const std::vector<std::uint8_t> rows(kRows, 1), query(1, 1);
  FileMaker(folder / "x.h5").dataset("x", H5T_STD_U8LE, {kRows, 1}, H5T_NATIVE_UINT8, rows.data());
  FileMaker(folder / "q.h5").dataset("q", H5T_STD_U8LE, {1, 1}, H5T_NATIVE_UINT8, query.data());
  refuses(6, {"knn", folder / "x.h5", "--queries", folder / "q.h5", "-k", "1", "--memory", "50MB"}, {"needs about"});
  refuses(6, {"distances", folder / "q.h5", folder / "x.h5", "--block-rows", "1", "--memory", "130MB"},
          {"needs about"});
}

TEST_CASE("72: a run resumed with other threads, blocks, instructions and backend gives the uninterrupted file") {
  const Scratch folder;
  const std::string whole = folder / "whole.h5", part = folder / "part.h5", more = folder / "more.h5";
  const Words run{"cluster", kDigits, "-k", "10", "--tolerance", "0", "-fq"};
  const auto with = [&run](Words words) {
    words.insert(words.begin(), run.begin(), run.end());
    return words;
  };
  done(with({"-o", whole}));
  done(with({"-o", part, "--max-iterations", "3", "--threads", "1", "--backend", "cpu"}));
  for (const std::string& backend : usable_backends()) {
    const Words resumed = with({"-o", more, "--init", part, "--threads", "7", "--block-rows", "97", "--backend",
                                backend, "--max-iterations", "297"});
    done(resumed, {.environment = {"KITH_CPU=plain"}});
    INFO(backend);
    CHECK(bytes_of(more) == bytes_of(whole));
  }
}

TEST_CASE("92: a plugin folder that the environment names is not opened") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "plugins");
  const std::string plugin = folder / "plugins/libh5filter.so";
  write_bytes(plugin, "no library");
  {
    FileMaker maker(folder / "x.h5");
    const hid_t creation = creation_of({.chunk = {4, 2}});
    const unsigned level = 3;
    REQUIRE(H5Pset_filter(creation, 32001, H5Z_FLAG_OPTIONAL, 1, &level) >= 0);
    const std::vector<float> values(8, 1.0F);
    maker.made("x", H5T_IEEE_F32LE, {4, 2}, creation, H5T_NATIVE_FLOAT, values.data());
    H5Pclose(creation);
  }
  const OpenWatch watch(plugin), folder_watch(folder / "plugins");
  refuses(3, {"cluster", folder / "x.h5", "-k", "2"}, {"blosc (filter 32001)", "plugins are never loaded"},
          {.environment = {"HDF5_PLUGIN_PATH=" + (folder / "plugins"), "HDF5_PLUGIN_PRELOAD=" + (folder / "plugins")}});
  CHECK_FALSE(watch.opened());
  CHECK_FALSE(folder_watch.opened());
  bytes_of(plugin);
  CHECK(watch.opened());  // the watch detects opening
}
