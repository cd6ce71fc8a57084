// The known name that is nearest to a mistyped one, by edit distance with swaps of neighbouring letters.
//
// F. J. Damerau: A technique for computer detection and correction of spelling errors (1964).
#include "data/io/nearest_name.h"

#include <algorithm>
#include <utility>

namespace kith {
namespace {

/// Nobody types a name of this length; the table of costs should not follow whoever pastes one.
constexpr std::size_t kMostLetters = 64;

/// The fewest changes that make b of a: a letter added, left out or replaced, or two neighbouring letters swapped.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

bool have_same_letters(std::string a, std::string b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

}  // namespace

std::string nearest_name(const std::string& typed, const std::vector<std::string>& known) {
  const std::string start = typed.substr(0, kMostLetters);
  std::string nearest;
  std::pair<std::size_t, bool> fewest;  // edits; of as many, swaps first
  for (const std::string& name : known) {
    const bool begins = start.size() > 2 && name.compare(0, start.size(), start) == 0;
    const std::pair distance{begins ? 0 : edits(start, name), !begins && !have_same_letters(start, name)};
    if (nearest.empty() || distance < fewest) {
      nearest = name;
      fewest = distance;
    }
  }
  return nearest;
}

std::string similar_name(const std::string& typed, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(typed, known), start = typed.substr(0, kMostLetters);
  const std::size_t letters = start.size() - std::min(start.find_first_not_of('-'), start.size());
  const bool begins = letters > 1 && nearest.compare(0, start.size(), start) == 0;  // one letter begins many names
  return begins || 2 * edits(start, nearest) < letters ? nearest : "";
}

bool is_misspelt(const std::string& typed, const std::string& known) {
  return edits(typed.substr(0, kMostLetters), known) <= 2;
}

}  // namespace kith
