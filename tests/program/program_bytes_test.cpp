// Weights, preparation and variants give the same bytes on every backend, with any number of threads and block size.
#include <fmt/format.h>

#include <sstream>

#include "tests/support/program.h"

using namespace kith::testing;

namespace {

/// Points with missing values in one column, whole and fractional weights, and labels, some of them -1.
void write_inputs(const Scratch& folder) {
  std::string points = "a,b,c,d,e,f\n", gaps = points, whole = "w\n", fractional = "w\n", labels = "label\n";
  for (std::size_t i = 0; i < 1500; ++i) {
    std::string row;
    for (std::size_t j = 1; j <= 6; ++j) {
      const double noise = 1.0 + static_cast<double>(i * j * 7919 % 10007) / 2000;
      row += fmt::format("{}{}", j > 1 ? "," : "", 3.0 * static_cast<double>(i * j % 5) + noise);
    }
    points += row + "\n";
    gaps += (i % 50 == 7 ? ",,,,," : row) + "\n";
    whole += fmt::format("{}\n", i * 5 % 4);
    fractional += fmt::format("{}\n", 0.25 + static_cast<double>(i % 3) / 7);
    labels += fmt::format("{}\n", i % 70 == 3 ? -1 : static_cast<int>(i % 5));
  }
  write_bytes(folder / "p.csv", points);
  write_bytes(folder / "gaps.csv", gaps);
  write_bytes(folder / "whole.csv", whole);
  write_bytes(folder / "fractional.csv", fractional);
  write_bytes(folder / "l.csv", labels);
}

const char* const kRuns[] = {
    "cluster p.csv -k 7 --weights whole.csv --n-init 2",
    "cluster p.csv -k 7 --weights fractional.csv --init k-means|| --metric cosine --save-distances",
    "cluster gaps.csv -k 7 --nan drop --scale zscore --medoids",
    "cluster p.csv -k 7 --scale minmax --precision f32",
    "cluster p.csv -k 7 --scale unit --pca 3",
    "cluster p.csv -k 7 --scale zscore --pca 2 --metric cosine",
    "cluster p.csv -k 7 --batch 200 --epochs 2",
    "cluster p.csv -k 7 --batch 64 --no-finish --precision f32",
    "evaluate l.csv --points p.csv --save-silhouette",
    "evaluate l.csv --points gaps.csv --nan drop --weights whole.csv --save-silhouette",
    "evaluate l.csv --points p.csv --weights fractional.csv --precision f32 --sample 300 --save-silhouette",
    "sweep p.csv -k 2-6 --weights whole.csv --silhouette exact",
    "sweep gaps.csv -k 2-6 --nan drop --scale zscore --pca 2 --warm --gap 2",
};

}  // namespace

TEST_CASE("weights, scaling, PCA, mini-batches and silhouettes have the same bytes on every backend") {
  const Scratch folder;
  write_inputs(folder);
  const Setting there{.folder = folder / ""};
  for (const char* run : kRuns) {
    std::string first;
    for (const std::string& backend : usable_backends()) {
      for (const Words& how : {Words{"--threads", "1"}, Words{"--threads", "3", "--block-rows", "101"}}) {
        Words words;
        std::istringstream stream(run);
        for (std::string word; stream >> word;) words.push_back(word);
        words.insert(words.end(), {"-q", "-f", "-o", "out.h5", "--backend", backend});
        words.insert(words.end(), how.begin(), how.end());
        done(words, there);
        if (first.empty()) first = bytes_of(folder / "out.h5");
        INFO(run << " on " << backend << " with " << how.back());
        CHECK(bytes_of(folder / "out.h5") == first);
      }
    }
  }
}
