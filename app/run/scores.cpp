// The table of scores of clusterings.
#include "app/run/scores.h"

namespace kith::app {
namespace {

constexpr auto kSweep = static_cast<unsigned>(ScoreUse::sweep), kPoints = static_cast<unsigned>(ScoreUse::points),
               kClasses = static_cast<unsigned>(ScoreUse::classes);

constexpr Score kScores[] = {
    {"inertia", "inertia", "inertia", false, kSweep, &Scores::inertia},
    {"silhouette", "silhouette", "silhouette", true, kSweep | kPoints, &Scores::silhouette},
    {"simplified_silhouette", "simplified silhouette", "simplified", true, kPoints, &Scores::simplified_silhouette},
    {"calinski_harabasz", "Calinski-Harabasz", "Calinski-H.", true, kSweep | kPoints, &Scores::calinski_harabasz},
    {"davies_bouldin", "Davies-Bouldin", "Davies-B.", false, kSweep | kPoints, &Scores::davies_bouldin},
    {"bic", "BIC", "BIC", true, kSweep, &Scores::bic},
    {"gap", "gap", "gap", true, kSweep, &Scores::gap},
    {"gap_error", "gap error", "error", false, kSweep, &Scores::gap_error},
    {"adjusted_rand_index", "adjusted Rand index", "ARI", true, kClasses, &Scores::adjusted_rand_index},
    {"adjusted_mutual_information", "adjusted mutual information", "AMI", true, kClasses,
     &Scores::adjusted_mutual_information},
    {"normalized_mutual_information", "normalized mutual information", "NMI", true, kClasses,
     &Scores::normalized_mutual_information},
    {"homogeneity", "homogeneity", "homogeneity", true, kClasses, &Scores::homogeneity},
    {"completeness", "completeness", "completeness", true, kClasses, &Scores::completeness},
    {"v_measure", "V-measure", "V-measure", true, kClasses, &Scores::v_measure},
    {"fowlkes_mallows", "Fowlkes-Mallows", "Fowlkes-M.", true, kClasses, &Scores::fowlkes_mallows},
    {"purity", "purity", "purity", true, kClasses, &Scores::purity},
};

}  // namespace

std::vector<Score> scores_for(ScoreUse use) {
  std::vector<Score> scores;
  for (const Score& score : kScores) {
    if ((score.uses & static_cast<unsigned>(use)) != 0) scores.push_back(score);
  }
  return scores;
}

}  // namespace kith::app
