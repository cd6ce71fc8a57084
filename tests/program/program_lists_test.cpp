// kith evaluate of two files of neighbours, and datasets that are named without their whole path.
#include <algorithm>
#include <cmath>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

/// The beginning of the text.
bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

/// Sentences that were wrapped, on one line.
std::string flat(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

TEST_CASE("evaluate compares two files of neighbours without a search") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  // Rows at 0, 1, 2, 4, 8, 16, 32 and -1: row 1 has rows 0 and 2 at the same distance.
  FileMaker(folder / "x.h5").floats("x", {8, 1}, {0, 1, 2, 4, 8, 16, 32, -1});
  FileMaker(folder / "q.h5").floats("q", {2, 1}, {0, 1});
  done({"knn", "x.h5", "--queries", "q.h5", "-k", "3", "-q", "-o", "ours.h5"}, there);
  // The lists are 0 1 7 (at 0, 1, 1) and 1 0 2 (at 0, 1, 1).
  REQUIRE(stored(folder / "ours.h5:/neighbors") == std::vector<double>{0, 1, 7, 1, 0, 2});
  const auto compared = [&](const std::vector<float>& lists, const std::vector<float>& distances,
                            const Words& more = {}) {
    {
      FileMaker file(folder / "theirs.hdf5");
      file.floats("neighbors", {2, 3}, lists);
      if (!distances.empty()) file.floats("distances", {2, 3}, distances);
    }
    Words words{"evaluate", "theirs.hdf5", "--truth", "ours.h5:/neighbors", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return flat(done(words, there).out);
  };
  CHECK(compared({0, 1, 7, 1, 0, 2}, {}) == "all 2 lists of 3 neighbours equal theirs.hdf5:/neighbors ");
  CHECK(begins(compared({0, 7, 1, 1, 2, 0}, {}),
               "0 of 2 lists of 3 neighbours equal theirs.hdf5:/neighbors, the other 2 differ "
               "only in rows of equal distance recall@3 1.000000, 1.000000 with ties "));
  // Row 3 is at 4 in place of 1: 300 % farther, as its file says.
  const std::string far = compared({0, 1, 3, 1, 0, 2}, {0, 1, 4, 0, 1, 1});
  CHECK(begins(far, "1 of 2 lists of 3 neighbours differ from theirs.hdf5:/neighbors; 1 are equal, 0 differ only"));
  CHECK(far.find("recall@3 0.833333, 0.833333 with ties ") != std::string::npos);
  CHECK(far.find("a row in theirs.hdf5 is up to 300 % farther away than the true neighbour in its place ") !=
        std::string::npos);
  CHECK(far.find("first difference: query 0, place 2 (all counted from 0): theirs.hdf5 has row 3, "
                 "the neighbour in its place is row 7 ") != std::string::npos);
  CHECK(compared({3, 1, 7, 1, 0, 2}, {}).find("theirs.hdf5 has row 3, the nearest is row 0") != std::string::npos);
  // Without distances, or with those of another unit, nothing is said about them.
  CHECK(compared({0, 1, 3, 1, 0, 2}, {}).find("farther") == std::string::npos);
  CHECK(compared({0, 1, 3, 1, 0, 2}, {0, 7, 9, 0, 7, 7}).find("farther") == std::string::npos);
  // A row that the truth does not list, at the same distance but for rounding, is a tie.
  CHECK(compared({0, 1, 5, 1, 0, 2}, {0, 1, 1.0000001F, 0, 1, 1}).find("the other 1 differ") != std::string::npos);
  // A search that found too few rows says -1.
  CHECK(compared({0, 1, -1, 1, 0, 2}, {}).find("theirs.hdf5 has no row, the") != std::string::npos);
  const nlohmann::json report =
      nlohmann::json::parse(compared({0, 1, 3, 1, 0, 2}, {0, 1, 4, 0, 1, 1}, {"--json"}))["truth"];
  CHECK(report["equal"] == 1);
  CHECK(report["lists"] == 2);
  CHECK(std::abs(report["recall"].get<double>() - 5.0 / 6.0) < 1e-12);
  // The shorter lists are compared, and other formats.
  done({"knn", "x.h5", "--queries", "q.h5", "-k", "2", "-q", "-o", "short.ibin"}, there);
  done({"knn", "x.h5", "--queries", "q.h5", "-k", "2", "-q", "-o", "short.ivecs"}, there);
  done({"knn", "x.h5", "--queries", "q.h5", "-k", "2", "-q", "--format", "ann-benchmarks", "-o", "short.hdf5"}, there);
  for (const char* file : {"short.ibin", "short.ivecs", "short.hdf5"}) {
    for (const char* truth : {"ours.h5", "short.ivecs"}) {
      INFO(file << " " << truth);
      CHECK(begins(done({"evaluate", file, "--truth", truth, "-q"}, there).out, "all 2 lists of 2 neighbours equal"));
    }
  }
  // The sentences of a search that compares are the same.
  FileMaker(folder / "theirs.hdf5").floats("neighbors", {2, 3}, {0, 1, 3, 1, 0, 2});
  const Outcome searched =
      run_kith({"knn", "x.h5", "--queries", "q.h5", "-k", "3", "--truth", "theirs.hdf5", "-q"}, there);
  CHECK(searched.code == 1);
  CHECK(flat(searched.out) == far);
  write_bytes(folder / "labels.csv", "label\n1\n2\n");
  refuses(3, {"evaluate", "theirs.hdf5", "--truth", "labels.csv"}, {"--truth labels.csv", "lists of neighbours"},
          there);
  refuses(2, {"evaluate", "theirs.hdf5"}, {"theirs.hdf5", "--truth", "kith knn BASE"}, there);
  refuses(2, {"evaluate", "theirs.hdf5", "--truth", "ours.h5", "-o", "s.h5"}, {"--output", "--json-file"}, there);
  FileMaker(folder / "other.hdf5").floats("neighbors", {3, 2}, {0, 1, 3, 1, 0, 2});
  refuses(3, {"evaluate", "other.hdf5", "--truth", "ours.h5"}, {"other.hdf5", "expected 2 lists", "found 3"}, there);
}

TEST_CASE("a dataset is found by the end of its path where only one path ends so") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::string samples = std::string(KITH_SOURCE_DIR) + "/samples/";
  CHECK(done({"cluster", samples + "wine.h5ad:X_pca", "-k", "2"}, there).says("wine.h5ad:/obsm/X_pca, 178 x"));
  const std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  {
    FileMaker file(folder / "two.h5");
    for (const char* group : {"a", "b", "c", "c/deep"}) file.group(group);
    file.floats("a/train", {3, 2}, numbers);
    file.floats("b/train", {3, 2}, numbers);
    file.floats("c/deep/test", {3, 2}, numbers);
    file.floats("c/label", {3}, {1, 2, 1});
  }
  refuses(3, {"cluster", "two.h5:train", "-k", "2"}, {"two.h5:train", "two.h5:/a/train", "two.h5:/b/train"}, there);
  CHECK(done({"cluster", "two.h5:test", "-k", "2"}, there).says("two.h5:/c/deep/test, 3 x 2"));
  CHECK(done({"cluster", "two.h5:deep/test", "-k", "2"}, there).says("two.h5:/c/deep/test, 3 x 2"));
  CHECK(done({"cluster", "two.h5:a/train", "-k", "2"}, there).says("two.h5:/a/train, 3 x 2"));
  CHECK(done({"evaluate", "two.h5:label", "--truth", "two.h5:label"}, there).says("two.h5:/c/label; 3 rows"));
  CHECK(done({"info", "two.h5:test"}, there).out.find("/c/deep/test") != std::string::npos);
  // A whole path is one; what it may have meant is named.
  refuses(3, {"cluster", "two.h5:/test", "-k", "2"}, {"no such dataset", "name two.h5:/c/deep/test"}, there);
  refuses(3, {"cluster", "two.h5:tset", "-k", "2"}, {"no such dataset: 'tset'"}, there);
  refuses(3, {"cluster", "two.h5:/c/deep", "-k", "2"}, {"name a dataset, the group holds /c/deep/test (3 x 2"}, there);
  // The error about several datasets proposes the one that is meant nearly always, and that works.
  FileMaker(folder / "b.hdf5").floats("test", {3, 2}, numbers);
  {
    FileMaker file(folder / "b.hdf5");
    file.floats("distances", {3, 2}, numbers);
    file.floats("test", {3, 2}, numbers);
    file.floats("train", {3, 2}, numbers);
  }
  refuses(3, {"cluster", "b.hdf5", "-k", "2"}, {"name one, as in b.hdf5:/train"}, there);
  done({"cluster", "b.hdf5:/train", "-k", "2"}, there);
  refuses(3, {"cluster", samples + "wine.h5ad", "-k", "2"}, {"wine.h5ad:/obsm/X_pca"}, there);
  // Of bits the points are truth values; of sets, one vector, of which the command makes sparse rows.
  const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t no = 0, yes = 1, bits[] = {0, 1, 1, 1, 0, 0};
  H5Tenum_insert(boolean, "FALSE", &no);
  H5Tenum_insert(boolean, "TRUE", &yes);
  {
    FileMaker file(folder / "bits.hdf5"), sets(folder / "sets.hdf5");
    file.floats("neighbors", {3, 2}, numbers);
    file.dataset("train", boolean, {3, 2}, boolean, bits);
    sets.floats("distances", {3, 2}, numbers);
    sets.floats("train", {6}, numbers);
    sets.floats("size_train", {2}, {4, 2});
  }
  H5Tclose(boolean);
  refuses(3, {"knn", "bits.hdf5", "-k", "1"}, {"/train (3 x 2, bool)", "name one, as in bits.hdf5:/train"}, there);
  done({"knn", "bits.hdf5:/train", "-k", "1", "--metric", "hamming"}, there);
  refuses(3, {"knn", "sets.hdf5", "-k", "1"}, {"found sets of items", "s.save_npz(p + '.npz'"}, there);
}
