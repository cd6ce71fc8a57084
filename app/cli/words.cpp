// Words of command lines: words of other programs with the names that kith has for them, names that are similar in
// their letters, and the quotes of a shell.
#include "app/cli/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "data/io/location.h"
#include "data/io/nearest_name.h"
#include "data/io/utf8.h"

namespace kith::app {
namespace {

/// A name of kith and the words that mean the same elsewhere: in lower case, without dashes before them and with - for
/// _. Of several names for a word, the first that is known where it was typed counts.
struct Meaning {
  const char* name;
  const char* words;
};

constexpr Meaning kMeanings[] = {
    // options
    {"--clusters", "n-clusters k-min kmin k-max kmax"},
    {"--seed", "random-state rng"},
    {"--neighbors", "top topk top-k n-neighbors"},
    {"--n-init", "ninit nstart n-start restarts replicates runs"},
    {"--max-iterations", "maxiter max-iter n-iter iterations niter"},
    {"--radius", "eps epsilon"},
    {"--min-points", "min-samples"},
    {"--threads", "n-jobs jobs cores cpus"},
    {"--devices", "gpus"},
    {"--device", "gpu"},
    {"--backend", "use-gpu cuda cpu"},
    {"--pca", "n-components pca-components"},
    {"--scale", "standardize whiten normalize scaling"},
    {"--metric", "distance dist"},
    {"--precision", "dtype"},
    {"--delimiter", "sep separator"},
    {"--skip-lines", "skiprows skip-rows"},
    {"--quote", "quotechar"},
    {"--columns", "usecols cols features"},
    {"--drop-columns", "ignore exclude"},
    {"--header", "names"},
    {"--encode", "onehot one-hot categorical dummies"},
    {"--id-column", "index-col"},
    {"--label-column", "target class-column"},
    {"--nan", "impute missing dropna fillna"},
    {"--weights", "sample-weight"},
    {"--batch", "batch-size minibatch"},
    {"--max-size", "capacity"},
    {"--memory", "chunk-size max-mem max-memory ram"},
    {"--output", "save format"},
    {"--explain", "html plot describe summarize"},
    {"--order", "sort relabel"},
    {"--labels", "predictions"},
    {"--max-distance", "threshold cutoff"},
    {"--queries", "query"},
    {"--force", "overwrite"},
    {"--quiet", "silent"},
    {"--centroids", "model centers"},
    {"--scratch", "tmpdir"},
    // values
    {"cuda", "gpu nvidia"},
    {"manhattan", "l1 cityblock taxicab"},
    {"euclidean", "l2 sqeuclidean"},
    {"chebyshev", "linf maximum"},
    {"cosine", "angular"},
    {"jaccard", "tanimoto"},
    {"correlation", "pearson"},
    {"haversine", "geodesic greatcircle great-circle"},
    {"inner-product", "dot ip dotproduct"},
    {"zscore", "standard standardize"},
    {"minmax", "range"},
    {"unit", "normalize normalise l2"},
    {"random", "forgy"},
    {"farthest", "maxmin gonzalez maximin"},
    {"lloyd", "elkan hamerly"},
    {"exact", "full"},
    {"simplified", "fast approximate"},
    {"yes", "true"},
    {"no", "false"},
    {"always", "on"},
    {"never", "off"},
    {"f32", "float float32"},
    {"f64", "double float64"},
    {"drop", "skip omit ignore"},
    {"mean", "average"},
    // commands
    {"cluster", "kmean kmeans k-means fit"},
    {"assign", "predict"},
    {"knn", "neighbors neighbours graph classify outliers search"},
    {"evaluate", "score silhouette"},
    {"sweep", "elbow"},
    {"info", "describe show"},
    {"report", "plot"},
    {"dbscan", "hdbscan"},
};

/// Whether `word` is one of `words`, with blanks between them.
bool is_among(const std::string& word, const char* words) {
  std::istringstream all(words);
  for (std::string each; all >> each;) {
    if (each == word) return true;
  }
  return false;
}

std::string plain(const std::string& typed) {
  std::string word = lower_case(typed.substr(std::min(typed.find_first_not_of('-'), typed.size())));
  std::ranges::replace(word, '_', '-');
  return word;
}

}  // namespace

std::string known_name(const std::string& typed, const std::vector<std::string>& known) {
  const std::string word = plain(typed);
  for (const Meaning& meaning : kMeanings) {
    if (is_among(word, meaning.words) && std::find(known.begin(), known.end(), meaning.name) != known.end()) {
      return meaning.name;
    }
  }
  return similar_name(typed, known);
}

std::string suggestion(const std::string& typed, const std::vector<std::string>& known) {
  const std::string name = known_name(typed, known);
  return name.empty() ? "" : "; the nearest is " + name;
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string("-_./:=,+@%").find(static_cast<char>(c)) != std::string::npos;
  });
  if (plain) return word;
  std::string inner;
  if (kith::quoted(word, word.size()) != word) {  // with a line end, or what else would be shown as an escape sequence
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      const bool is_escaped = byte < 0x20 || byte >= 0x7f || c == '\'' || c == '\\';
      inner += c == '\n' ? "\\n" : is_escaped ? fmt::format("\\{:03o}", byte) : std::string(1, c);
    }
    return fmt::format("$'{}'", inner);
  }
  for (const char c : word) inner += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", inner);
}

std::string shell_names(const std::string& set) {
  constexpr std::ptrdiff_t kMost = 8;
  const bool is_long = std::count(set.begin(), set.end(), data::kBetweenNames) >= kMost;
  std::string words;
  for (std::size_t begin = 0; begin <= set.size();) {
    const std::size_t end = std::min(set.find(data::kBetweenNames, begin), set.size());
    words += (begin > 0 ? " " : "") + shell_word(set.substr(begin, end - begin));
    if (is_long) return words + " ...";
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c == '\\' && quote != '\'' && i + 1 < line.size() ? line[++i] : c;
    }
  }
  return words;
}

bool is_list_option(std::string_view name) {
  return name == "--encode" || name == "--drop-columns" || name == "--column-weights" || name == "--na-values";
}

}  // namespace kith::app
