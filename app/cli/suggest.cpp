// Words of other programs with the names that kith has for them, and names that are similar in their letters.
#include "app/cli/suggest.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "data/io/nearest_name.h"

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
    {"k-min", "--clusters"},
    {"kmin", "--clusters"},
    {"k-max", "--clusters"},
    {"kmax", "--clusters"},
    {"top", "--neighbors"},
    {"topk", "--neighbors"},
    {"top-k", "--neighbors"},
    {"ninit", "--n-init"},
    {"nstart", "--n-init"},
    {"n-start", "--n-init"},
    {"restarts", "--n-init"},
    {"replicates", "--n-init"},
    {"runs", "--n-init"},
    {"maxiter", "--max-iterations"},
    {"max-iter", "--max-iterations"},
    {"n-iter", "--max-iterations"},
    {"iterations", "--max-iterations"},
    {"niter", "--max-iterations"},
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
    {"use-gpu", "--backend"},
    {"cuda", "--backend"},
    {"cpu", "--backend"},
    {"n-components", "--pca"},
    {"pca-components", "--pca"},
    {"standardize", "--scale"},
    {"whiten", "--scale"},
    {"normalize", "--scale"},
    {"scaling", "--scale"},
    {"distance", "--metric"},
    {"dist", "--metric"},
    {"dtype", "--precision"},
    {"sep", "--delimiter"},
    {"separator", "--delimiter"},
    {"usecols", "--columns"},
    {"cols", "--columns"},
    {"features", "--columns"},
    {"ignore", "--drop-columns"},
    {"exclude", "--drop-columns"},
    {"names", "--header"},
    {"onehot", "--encode"},
    {"one-hot", "--encode"},
    {"categorical", "--encode"},
    {"dummies", "--encode"},
    {"index-col", "--id-column"},
    {"target", "--label-column"},
    {"class-column", "--label-column"},
    {"impute", "--nan"},
    {"missing", "--nan"},
    {"dropna", "--nan"},
    {"fillna", "--nan"},
    {"sample-weight", "--weights"},
    {"batch-size", "--batch"},
    {"minibatch", "--batch"},
    {"capacity", "--max-size"},
    {"chunk-size", "--memory"},
    {"max-mem", "--memory"},
    {"max-memory", "--memory"},
    {"save", "--output"},
    {"format", "--output"},
    {"html", "--explain"},
    {"plot", "--explain"},
    {"query", "--queries"},
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
    {"dotproduct", "inner-product"},
    {"forgy", "random"},
    {"maxmin", "farthest"},
    {"gonzalez", "farthest"},
    {"elkan", "lloyd"},
    {"hamerly", "lloyd"},
    {"full", "exact"},
    {"fast", "simplified"},
    {"approximate", "simplified"},
    {"true", "yes"},
    {"false", "no"},
    {"on", "always"},
    {"off", "never"},
    {"float", "f32"},
    {"float32", "f32"},
    {"double", "f64"},
    {"float64", "f64"},
    {"skip", "drop"},
    {"omit", "drop"},
    {"ignore", "drop"},
    {"average", "mean"},
    {"maximin", "farthest"},
    // commands
    {"kmean", "cluster"},
    {"kmeans", "cluster"},
    {"k-means", "cluster"},
    {"fit", "cluster"},
    {"predict", "assign"},
    {"neighbors", "knn"},
    {"neighbours", "knn"},
    {"graph", "knn"},
    {"classify", "knn"},
    {"outliers", "knn"},
    {"search", "knn"},
    {"score", "evaluate"},
    {"silhouette", "evaluate"},
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
