// Departures from plain k-means as a user asks for them: what is written, what is refused, what is warned of.
#include <algorithm>

#include "data/source.h"
#include "tests/support/program.h"

using namespace kith::testing;

namespace {

std::vector<double> values(const std::string& location) {
  const auto source = kith::data::open_points(location, {kith::data::Precision::f64, true});
  const auto all = std::get<kith::Matrix<double>>(kith::data::read_all(*source));
  return {all.data(), all.data() + all.size()};
}

}  // namespace

TEST_CASE("--empty: kept, dropped or refused") {
  const Scratch folder;
  const std::string points = folder / "x.h5", start = folder / "c.h5", out = folder / "out.h5";
  FileMaker(points).floats("x", {6, 1}, {0, 1, 2, 10, 11, 12});
  FileMaker(start).floats("c", {4, 1}, {100, 1, 200, 11});
  const auto with = [&](const std::string& rule, Words more = {}) {
    Words words{"cluster", points, "--init", start, "--empty", rule, "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const std::string& backend : usable_backends()) {
    done(with("keep", {"-o", out, "-f", "--backend", backend}));
    CHECK(values(out + ":/centroids") == std::vector<double>{100, 1, 200, 11});
    CHECK(values(out + ":/counts") == std::vector<double>{0, 3, 0, 3});
    const Outcome dropped = done(with("drop", {"-o", out, "-f", "--json", "--backend", backend}));
    CHECK(dropped.says("iteration 1 left 2 clusters without rows, which are dropped: 2 clusters are left"));
    CHECK(dropped.json()["clusters"]["count"] == 2);
    CHECK(values(out + ":/centroids") == std::vector<double>{1, 11});
    CHECK(values(out + ":/labels") == std::vector<double>{0, 0, 0, 1, 1, 1});
    refuses(3, with("error", {"--backend", backend}),
            {"iteration 1 left 2 of 4 clusters without rows, of which cluster 0 is the first", "--empty relocate"});
  }
  Words cut = with("drop", {"-o", folder / "cut.h5", "--max-iterations", "1", "-k", "4"});
  done(cut);
  const std::vector<double> first = values((folder / "cut.h5") + ":/centroids");
  CHECK(first.size() == 2);
  cut[3] = folder / "cut.h5";
  cut[8] = folder / "more.h5";
  done(cut);
  CHECK(values((folder / "more.h5") + ":/centroids") == first);
  CHECK(done(with("relocate", {"--json"})).json()["clusters"]["empty"] == 0);
  refuses(2, with("remove"), {"--empty", "relocate, keep, drop, error"});
}

TEST_CASE("29: --freeze holds the first centroids, and a run goes on from its result") {
  const Scratch folder;
  const std::string frozen = folder / "frozen.h5", out = folder / "out.h5", whole = folder / "whole.h5";
  std::vector<float> first(2 * 64);
  for (int j = 0; j < 128; ++j) first[j] = static_cast<float>(j % 17) + 0.25F;
  FileMaker(frozen).floats("c", {2, 64}, first);
  const Words run{"cluster", kDigits, "-k", "9", "--freeze", frozen, "--tolerance", "0", "-f"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  done(with({"-o", whole, "-q", "--backend", "cpu", "--medoids"}));
  for (const std::string& backend : usable_backends()) {
    done(with({"-o", out, "-q", "--backend", backend, "--medoids"}));
    CHECK(bytes_of(out) == bytes_of(whole));
  }
  const std::vector<double> centroids = values(whole + ":/centroids");
  REQUIRE(centroids.size() == 9 * 64);
  CHECK(std::equal(first.begin(), first.end(), centroids.begin()));
  CHECK(values(whole + ":/medoids").size() == 9 * 64);

  done(with({"-o", out, "--max-iterations", "3", "-q"}));
  done(with({"--init", out, "-o", folder / "more.h5", "-q", "--max-iterations", "297", "--medoids"}));
  CHECK(bytes_of(folder / "more.h5") == bytes_of(whole));

  FileMaker(folder / "rest.h5").floats("c", {1, 64}, std::vector<float>(64, 3));
  CHECK(done({"cluster", kDigits, "--freeze", frozen, "--init", folder / "rest.h5", "--json"})
            .json()["clusters"]["count"] == 3);
  // All centroids, the frozen ones among them: as many as the file has.
  const Outcome all = done({"cluster", kDigits, "--freeze", frozen, "--init", whole, "--json", "-o", out, "-f"});
  CHECK(all.json()["clusters"]["count"] == 9);
  CHECK(!all.says("repeat another one"));
  CHECK(values(out + ":/labels") == values(whole + ":/labels"));
  CHECK(done({"cluster", kDigits, "-k", "2", "--freeze", frozen, "--init", "random", "-q"})
            .says("--init has no effect: all centroids are frozen"));
  refuses(2, with({"--init", folder / "rest.h5"}),
          {"expected 9 centroids", "or 7 besides the frozen ones", "found 1 x 64"});
  done({"cluster", kDigits, "-k", "9", "-q", "-o", folder / "plain.h5"});
  refuses(2, with({"--init", folder / "plain.h5"}), {"expected the 2 centroids of --freeze", "first, found others"});
  refuses(5, with({"-o", frozen}), {frozen, "input"});
}

TEST_CASE("--medoids without a place for them is named") {
  CHECK(done({"cluster", kDigits, "-k", "3", "-q", "--medoids"}).says("--medoids has no effect: there is no --output"));
  const Scratch folder;
  CHECK(done({"cluster", kDigits, "-k", "3", "-q", "--medoids", "-o", folder / "l.csv"})
            .says("--medoids has no effect: the output contains only labels"));
}

TEST_CASE("--batch, --algorithm bisecting and --balance give the same bytes on every backend, and say what they did") {
  const Scratch folder;
  const std::string one = folder / "one.h5", other = folder / "other.h5";
  const std::vector<std::pair<Words, std::string>> all{
      {{"--batch", "100"}, "method     54 batches of 100 rows, 3 epochs, then iterations over all rows"},
      {{"--batch", "1000", "--epochs", "1", "--no-finish"},
       "2 batches of 1000 rows, 1 epochs, without iterations over all rows"},
      {{"--algorithm", "bisecting", "--medoids"}, "bisecting by inertia, 7 splits; splits never exchange rows"},
      {{"--algorithm", "bisecting", "--bisect", "size", "--metric", "cosine"}, "bisecting by size, 7 splits"},
      {{"--balance", "--min-size", "220", "--max-size", "230", "--save-distances"}, "rows moved to balance sizes"}};
  for (const auto& [more, said] : all) {
    Words words{"cluster", kDigits, "-k", "8", "-f", "-o", one};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(done(words).says(said));
    for (const std::string& backend : usable_backends()) {
      for (const char* threads : {"1", "5"}) {
        Words again = words;
        again[6] = other;
        again.insert(again.end(), {"--backend", backend, "-q"});
        if (backend == "cpu") again.insert(again.end(), {"--threads", threads});
        done(again);
        CHECK(bytes_of(other) == bytes_of(one));
      }
    }
  }
  for (const double count : values(one + ":/counts")) CHECK((count >= 220 && count <= 230));
  // Batches larger than the set have all points, and the result says so.
  done({"cluster", kDigits, "-k", "8", "-f", "-q", "-o", one, "--batch", "1797"});
  const Outcome larger = done({"cluster", kDigits, "-k", "8", "-f", "-o", other, "--batch", "100000"});
  CHECK(larger.says("--batch 100000: there are only 1797 points; each batch has all of them"));
  CHECK(larger.says("3 batches of 1797 rows"));
  CHECK(bytes_of(one) == bytes_of(other));
  // With batches, then whole iterations, the answer is a fixed point of k-means, as from any start.
  done({"cluster", kDigits, "-k", "8", "-f", "-q", "-o", one, "--batch", "100", "--tolerance", "0"});
  done({"cluster", kDigits, "--init", one, "-f", "-q", "-o", other, "--tolerance", "0"});
  CHECK(values(one + ":/labels") == values(other + ":/labels"));
  const Words cut{"cluster", kDigits, "-k", "8", "-f", "-q", "--batch", "100", "--tolerance", "0"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), cut.begin(), cut.end());
    return more;
  };
  done(with({"-o", other, "--max-iterations", "2"}));
  done(with({"-o", folder / "more.h5", "--init", other, "--max-iterations", "298"}));
  CHECK(bytes_of(folder / "more.h5") == bytes_of(one));
}

TEST_CASE("balanced clusters have the inertia of constrained k-means") {
  // The assignments of scipy 1.17's linear_sum_assignment, one column for each place in a cluster.
  struct Case {
    std::string points, k, smallest, largest;
    double frozen, inertia;
  };
  const Scratch folder;
  const std::string plain = folder / "p.h5", out = folder / "b.h5";
  for (const Case& one :
       {Case{std::string(KITH_SOURCE_DIR) + "/samples/wine.npy", "3", "59", "60", 3402302.00, 2962226.11},
        Case{kDigits, "10", "179", "180", 1208214.26, 1179687.88},
        Case{kDigits, "10", "150", "200", 1183422.18, 1172319.82}}) {
    INFO(one.points << " " << one.smallest << " to " << one.largest);
    const auto inertia = [&](const std::string& file, const Words& more) {
      Words words{"cluster", one.points, "-k", one.k, "-f", "-q", "--json", "--n-init", "10", "-o", file};
      words.insert(words.end(), more.begin(), more.end());
      return done(words).json()["inertia"].get<double>();
    };
    Words balanced{"--balance", "--min-size", one.smallest, "--max-size", one.largest};
    inertia(plain, {});
    CHECK(done({"cluster", one.points, "--init", plain, "-q", "--balance", "--max-size", one.largest,
                "--max-iterations", "1"})
              .says("--balance: labels still changed after 1 step; increase --max-iterations"));
    CHECK(std::abs(inertia(out, balanced) / one.inertia - 1.0) < 1e-8);
    balanced.insert(balanced.end(), {"--freeze", plain + ":/centroids"});  // one assignment to the same centroids
    CHECK(std::abs(inertia(out, balanced) / one.frozen - 1.0) < 1e-8);
    for (const double count : values(out + ":/counts")) {
      CHECK((count >= std::stod(one.smallest) && count <= std::stod(one.largest)));
    }
  }
}

TEST_CASE("a balanced run that stopped is not offered to go on") {
  const Scratch folder;
  const std::string part = folder / "part.h5", more = folder / "more.h5";
  Words words{"cluster", kDigits, "-k", "8", "--balance", "--max-size", "230", "--max-iterations", "2", "-o", part};
  for (const bool written : {true, false}) {
    if (!written) words.resize(words.size() - 2);
    const Outcome stopped = done(words);
    CHECK(stopped.says(
        "still change after 2 iterations; increase --max-iterations: balanced clusters cannot be resumed"));
    CHECK(!stopped.says("continue with"));
    CHECK(!stopped.says("kith cluster --init"));
  }
  words.insert(words.end(), {"--init", part, "--json", "-o", more});
  CHECK(done(words).json()["iterations"].size() == 2);  // anew, not 4
}

TEST_CASE("sizes beyond their limits and options without effect cause warnings") {
  const Outcome outcome = done({"cluster", kDigits, "-k", "8", "--min-size", "200", "--max-size", "300", "-q"});
  CHECK(outcome.says("warning: --min-size 200: "));
  CHECK(outcome.says("of 8 clusters violate it"));
  const auto warns = [](Words more, const std::string& text) {
    more.insert(more.begin(), {"cluster", kDigits, "-k", "8", "-q"});
    CHECK(done(more).says(text));
  };
  warns({"--epochs", "2"}, "--epochs has no effect: there is no --batch");
  warns({"--no-finish"}, "--no-finish has no effect: there is no --batch");
  warns({"--bisect", "size"}, "--bisect has no effect: --algorithm is lloyd");
  warns({"--balance"}, "--balance has no effect: there is no --min-size and no --max-size");
  warns({"--algorithm", "bisecting", "--empty", "drop"}, "--empty has no effect");
  warns({"--batch", "99", "--no-finish", "--tolerance", "0"}, "--tolerance has no effect: --no-finish");
}
