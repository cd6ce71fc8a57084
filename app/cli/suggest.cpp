// Words of other programs with the names that kith has for them, and names that are similar in their letters.
#include "app/cli/suggest.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/nearest_name.h"

namespace kith::app {
namespace {

/// Of several names for a word, the first that is known where it was typed counts.
struct Meaning {
  const char* word;  // in lower case, without dashes before it and with - for _
  const char* name;
};

constexpr Meaning kMeanings[] = {
    // options
    {"n-clusters", "--clusters"},
    {"random-state", "--seed"},
    {"rng", "--seed"},
    {"ninit", "--n-init"},
    {"max-iter", "--max-iterations"},
    {"n-iter", "--max-iterations"},
    {"iterations", "--max-iterations"},
    {"eps", "--radius"},
    {"epsilon", "--radius"},
    {"min-samples", "--min-points"},
    {"n-neighbors", "--neighbors"},
    {"n-jobs", "--threads"},
    {"jobs", "--threads"},
    {"cores", "--threads"},
    {"cpus", "--threads"},
    {"gpus", "--devices"},
    {"gpu", "--device"},
    {"n-components", "--pca"},
    {"standardize", "--scale"},
    {"normalize", "--scale"},
    {"scaling", "--scale"},
    {"distance", "--metric"},
    {"sep", "--delimiter"},
    {"separator", "--delimiter"},
    {"usecols", "--columns"},
    {"features", "--columns"},
    {"ignore", "--drop-columns"},
    {"exclude", "--drop-columns"},
    {"index-col", "--id-column"},
    {"target", "--label-column"},
    {"class-column", "--label-column"},
    {"impute", "--nan"},
    {"missing", "--nan"},
    {"dropna", "--nan"},
    {"sample-weight", "--weights"},
    {"batch-size", "--batch"},
    {"overwrite", "--force"},
    {"silent", "--quiet"},
    {"ram", "--memory"},
    {"model", "--centroids"},
    {"centers", "--centroids"},
    {"tmpdir", "--scratch"},
    // values
    {"gpu", "cuda"},
    {"nvidia", "cuda"},
    {"l1", "manhattan"},
    {"cityblock", "manhattan"},
    {"taxicab", "manhattan"},
    {"l2", "euclidean"},
    {"sqeuclidean", "euclidean"},
    {"linf", "chebyshev"},
    {"maximum", "chebyshev"},
    {"angular", "cosine"},
    {"dot", "inner-product"},
    {"ip", "inner-product"},
    {"standard", "zscore"},
    {"standardize", "zscore"},
    {"range", "minmax"},
    {"normalize", "unit"},
    {"normalise", "unit"},
    {"l2", "unit"},
    {"float", "f32"},
    {"float32", "f32"},
    {"double", "f64"},
    {"float64", "f64"},
    {"skip", "drop"},
    {"average", "mean"},
    {"maximin", "farthest"},
    // commands
    {"kmeans", "cluster"},
    {"k-means", "cluster"},
    {"fit", "cluster"},
    {"predict", "assign"},
    {"neighbors", "knn"},
    {"search", "knn"},
    {"score", "evaluate"},
    {"elbow", "sweep"},
    {"describe", "info"},
    {"show", "info"},
    {"plot", "report"},
    {"hdbscan", "dbscan"},
};

std::string plain(const std::string& typed) {
  std::string word = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  return word;
}

}  // namespace

std::string known_name(const std::string& typed, const std::vector<std::string>& known) {
  const std::string word = plain(typed);
  for (const Meaning& meaning : kMeanings) {
    if (word == meaning.word && std::find(known.begin(), known.end(), meaning.name) != known.end()) return meaning.name;
  }
  return similar_name(typed, known);
}

std::string suggestion(const std::string& typed, const std::vector<std::string>& known) {
  const std::string name = known_name(typed, known);
  return name.empty() ? "" : "; the nearest is " + name;
}

}  // namespace kith::app
