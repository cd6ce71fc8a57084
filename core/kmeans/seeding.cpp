// Initial centroids: greedy k-means++ with integer totals, k-means||, farthest-first traversal, random rows.
#include "core/kmeans/seeding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/kmeans/update.h"
#include "core/numbers/fixed_point.h"
#include "core/numbers/philox.h"
#include "core/runtime/large_pages.h"
#include "core/runtime/threads.h"

namespace kith {

Matrix<double> rows_of_points(const Points& points, const std::vector<std::int64_t>& rows) {
  Matrix<double> values(static_cast<std::int64_t>(rows.size()), points.columns());
  points.copy_rows(rows, values.view());
  return values;
}

namespace {

/// Appends the lowest rows not yet chosen, with a warning. For use when every row coincides with a seed or with a given
/// centroid.
void complete_with_lowest(std::vector<std::int64_t>& seeds, std::int64_t clusters, bool beside_given,
                          Observer& observer) {
  observer.warning(
      fmt::format("only {} distinct rows{} for {} clusters: the remaining centroids repeat rows, and their "
                  "clusters stay empty",
                  seeds.size(), beside_given ? " other than the given centroids" : "", clusters));
  const std::unordered_set<std::int64_t> chosen(seeds.begin(), seeds.end());
  for (std::int64_t row = 0; static_cast<std::int64_t>(seeds.size()) < clusters; ++row) {
    if (!chosen.contains(row)) seeds.push_back(row);
  }
}

/// A row drawn by draw 0 with probability proportional to its weight: the first row whose inclusive prefix sum of
/// integer weights exceeds the random number.
std::int64_t draw_by_weight(const Weights& weights, RandomStream random) {
  if (!weights.given()) return random_below(random.seed, random.stream, 0, weights.terms);
  const FixedScale grid = weights.grid();
  const auto fixed = [&](double weight) {
    return weighted_fixed(1.0, grid.first, grid.second, row_weight(weight, weights.integral));
  };
  std::int64_t total = 0;
  for (const double weight : weights.rows) total += fixed(weight);
  const std::int64_t target = random_below(random.seed, random.stream, 0, total);
  std::int64_t row = 0;
  for (std::int64_t prefix = fixed(weights.rows[0]); prefix <= target; prefix += fixed(weights.rows[row])) ++row;
  return row;
}

/// Sets the kept distances to those from the given centroids and the seeds so far; without any of these, a row drawn
/// by weight becomes the first seed. Returns the largest.
double begin_seeds(Points& points, const Weights& weights, RandomStream random, MatrixView<const double> given,
                   std::vector<std::int64_t>& seeds) {
  if (given.rows == 0 && seeds.empty()) seeds.push_back(draw_by_weight(weights, random));
  points.reset();
  double largest = 0.0;
  for (std::int64_t c = 0; c < given.rows; ++c) largest = points.update_min_distance(given.row(c));
  for (const std::int64_t seed : seeds) largest = points.update_min_distance(rows_of_points(points, {seed}).row(0));
  return largest;
}

/// Adds seeds while any row is away from all of them. add(largest): appends a seed to those of `at`, updates the kept
/// distances and returns the largest; `largest` was that before.
template <class Add>
std::vector<std::int64_t> add_seeds(double largest, std::int64_t clusters, bool beside_given, SeedingPlace& at,
                                    Observer& observer, const Add& add) {
  std::vector<std::int64_t>& seeds = at.state.seeds;
  while (std::ssize(seeds) < clusters) {
    observer.progress(std::ssize(seeds));
    if (!(largest > 0.0)) {
      complete_with_lowest(seeds, clusters, beside_given, observer);
      break;
    }
    largest = add(largest);
    if (at.step()) return {};
  }
  return std::move(seeds);
}

/// Adds seeds by greedy k-means++ to rows that offer total(scale), draw(scale, targets, rows), try_rows(rows, scale,
/// totals) and commit(chosen), as the operations of Points.
template <class Rows>
std::vector<std::int64_t> add_greedily(Rows& rows, const Weights& weights, double largest, std::int64_t clusters,
                                       std::int64_t given, RandomStream random, Observer& observer, SeedingPlace& at) {
  const auto trials = static_cast<std::int64_t>(2 + std::floor(std::log(static_cast<double>(given + clusters))));
  const std::int64_t evenly = given > 0 ? 0 : 1;  // of the seeds, those that were drawn by weight only
  std::vector<std::int64_t> targets(trials), candidates(trials), totals(trials);
  return add_seeds(largest, clusters, given > 0, at, observer, [&](double farthest) {
    std::vector<std::int64_t>& seeds = at.state.seeds;
    const FixedScale scale = fixed_scale(weights.value_bits() - exponent_above(farthest));
    const std::int64_t total = rows.total(scale);
    const auto first_draw = static_cast<std::uint64_t>(1 + (std::ssize(seeds) - evenly) * trials);
    for (std::int64_t t = 0; t < trials; ++t) {
      targets[t] = random_below(random.seed, random.stream, static_cast<std::uint64_t>(first_draw) + t, total);
    }
    rows.draw(scale, targets, candidates);
    std::fill(totals.begin(), totals.end(), 0);
    rows.try_rows(candidates, scale, totals);
    const auto winner = std::min_element(totals.begin(), totals.end()) - totals.begin();  // the first of equal totals
    seeds.push_back(candidates[winner]);
    return rows.commit(winner);
  });
}

/// The rows of points, each measured from every candidate.
struct MeasuredRows {
  Points& points;
  std::int64_t total(FixedScale scale) { return points.total_min_distance(scale); }
  void draw(FixedScale scale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) {
    points.draw_rows(scale, targets, rows);
  }
  void try_rows(const std::vector<std::int64_t>& rows, FixedScale scale, std::span<std::int64_t> totals) {
    points.try_candidates(rows_of_points(points, rows).view(), scale, totals);
  }
  double commit(std::int64_t chosen) { return points.commit_candidate(chosen); }
};

/// Few rows. After the first seeds, a candidate keeps a list of the rows to which it is nearer than their seed: a trial
/// reads these alone, on the processor, where a GPU would answer once for each trial. Lists only become shorter.
class ListedRows {
 public:
  /// values: of all rows, (m, d). seeds: that the kept distances refer to.
  ListedRows(Points& points, const Weights& weights, MatrixView<const double> values, std::int64_t seeds)
      : measured_{points}, weights_(weights), values_(values), seeds_(seeds) {
    if (seeds_ >= kMeasuredSeeds) list();
  }

  std::int64_t total(FixedScale scale) {
    if (!is_listed()) return measured_.total(scale);
    if (terms_.empty() || scale.shift != scale_.shift) {
      scale_ = scale;
      terms_.resize(kept_.size());
      for (std::size_t i = 0; i < kept_.size(); ++i) terms_[i] = term({kept_[i], static_cast<std::int64_t>(i)});
    }
    prefixes_.resize(terms_.size());
    std::inclusive_scan(terms_.begin(), terms_.end(), prefixes_.begin());
    return prefixes_.back();
  }
  void draw(FixedScale scale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) {
    if (!is_listed()) return measured_.draw(scale, targets, rows);
    std::transform(targets.begin(), targets.end(), rows.begin(), [&](std::int64_t target) {
      return std::upper_bound(prefixes_.begin(), prefixes_.end(), target) - prefixes_.begin();
    });
  }
  void try_rows(const std::vector<std::int64_t>& rows, FixedScale scale, std::span<std::int64_t> totals) {
    if (!is_listed()) return measured_.try_rows(rows, scale, totals);
    tried_ = rows;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      totals[t] += prefixes_.back();
      for (const Neighbor& near : lists_[rows[t]]) {
        if (is_nearer(near)) totals[t] += term(near) - terms_[near.row];
      }
    }
  }
  double commit(std::int64_t chosen) {
    ++seeds_;
    if (!is_listed()) {
      const double largest = measured_.commit(chosen);
      if (seeds_ == kMeasuredSeeds) list();
      return largest;
    }
    for (const Neighbor& near : lists_[tried_[chosen]]) {
      if (!is_nearer(near)) continue;
      kept_[near.row] = near.distance;
      terms_[near.row] = term(near);
    }
    if (std::has_single_bit(static_cast<std::uint64_t>(seeds_))) {
      for (std::vector<Neighbor>& list : lists_) std::erase_if(list, [&](const Neighbor& n) { return !is_nearer(n); });
    }
    return *std::max_element(kept_.begin(), kept_.end());
  }

 private:
  static constexpr std::int64_t kMeasuredSeeds = 16;  // a list has about a 16th of the rows then

  bool is_listed() const { return !lists_.empty(); }
  bool is_nearer(const Neighbor& near) const { return near.distance < kept_[near.row]; }
  std::int64_t term(const Neighbor& near) const {
    return weighted_fixed(near.distance, scale_.first, scale_.second,
                          row_weight(weights_.rows[near.row], weights_.integral));
  }

  void list() {
    constexpr std::int64_t kBlock = 512;                    // candidates measured at a time
    constexpr std::int64_t kPairs = std::int64_t{1} << 18;  // that are worth a thread
    const std::int64_t count = values_.rows;
    kept_.resize(static_cast<std::size_t>(count));
    measured_.points.distances(kept_);
    lists_.resize(kept_.size());
    std::vector<double, UninitializedAllocator<double>> distances(std::min(kBlock, count) * count);
    const auto worth = std::clamp<std::int64_t>(count * count / kPairs, 1, measured_.points.threads());
    Threads threads(-static_cast<int>(worth));
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t block = std::min(kBlock, count - first);
      measured_.points.all_distances({.values = values_.middle(first, block)}, {distances.data(), block, count});
      threads.run(block, [&](std::int64_t candidate, int) {
        const double* distance = distances.data() + candidate * count;
        for (std::int64_t row = 0; row < count; ++row) {
          if (distance[row] < kept_[row]) lists_[first + candidate].push_back({distance[row], row});
        }
      });
    }
  }

  MeasuredRows measured_;
  const Weights& weights_;
  MatrixView<const double> values_;
  std::int64_t seeds_;
  std::vector<std::vector<Neighbor>> lists_;  // (m), empty until the first seeds are chosen
  std::vector<double> kept_;                  // (m) D to the nearest seed
  FixedScale scale_{};
  std::vector<std::int64_t> terms_, prefixes_;  // (m) the kept distances on the grid of the scale, and their sums
  std::vector<std::int64_t> tried_;
};

}  // namespace

std::vector<std::int64_t> greedy_kmeans_plus_plus(Points& points, const Weights& weights, std::int64_t clusters,
                                                  RandomStream random, Observer& observer,
                                                  MatrixView<const double> given, SeedingPlace* place) {
  SeedingPlace unkept;
  SeedingPlace& at = place != nullptr ? *place : unkept;
  const double largest = begin_seeds(points, weights, random, given, at.state.seeds);
  MeasuredRows rows{points};
  return add_greedily(rows, weights, largest, clusters, given.rows, random, observer, at);
}

std::vector<std::int64_t> farthest_first_traversal(Points& points, const Weights& weights, std::int64_t clusters,
                                                   RandomStream random, Observer& observer,
                                                   MatrixView<const double> given, SeedingPlace* place) {
  SeedingPlace unkept;
  SeedingPlace& at = place != nullptr ? *place : unkept;
  const double largest = begin_seeds(points, weights, random, given, at.state.seeds);
  return add_seeds(largest, clusters, given.rows > 0, at, observer, [&](double) {
    at.state.seeds.push_back(points.farthest(1).front().row);
    return points.update_min_distance(rows_of_points(points, {at.state.seeds.back()}).row(0));
  });
}

std::vector<std::int64_t> random_rows(std::int64_t rows, std::int64_t clusters, RandomStream random) {
  std::unordered_map<std::int64_t, std::int64_t> moved;  // place -> row number, where they differ
  const auto at = [&](std::int64_t place) {
    const auto entry = moved.find(place);
    return entry == moved.end() ? place : entry->second;
  };
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < clusters; ++i) {
    const std::int64_t other = i + random_below(random.seed, random.stream, static_cast<std::uint64_t>(i), rows - i);
    chosen.push_back(at(other));
    moved[other] = at(i);
  }
  return chosen;
}

namespace {

// Draws of each round, in units of k. Two rounds of 2 k, as many in all, ended 3 % above k-means++ for columns of very
// different scales: most of the first draws, by the distance to a single row, fall far away.
constexpr std::array<std::int64_t, 3> kDraws{1, 1, 2};
constexpr std::int64_t kRounds = kDraws.size();
constexpr std::uint64_t kChoiceStream = std::uint64_t{1} << 32;  // added to the stream for the choice among candidates
constexpr std::int64_t kMostListed = 5000;  // candidates: more take processors longer to list than to try
constexpr double kLightest = 0x1p-40;       // relative to the heaviest candidate; checked_weights() accepts it

/// Drawn rows, each with the total weight of the rows nearest to it.
struct Candidates {
  std::vector<std::int64_t> rows;
  std::vector<double> weights;

  /// Removes candidates that no row is nearest to: they repeat another candidate or a given centroid.
  void remove_repeated() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (weights[i] == 0.0) continue;
      rows[kept] = rows[i];
      weights[kept++] = weights[i];
    }
    rows.resize(kept);
    weights.resize(kept);
  }
};

/// Computes the weights of the candidates. Every row keeps its D to the nearest candidate or given centroid (g, d); the
/// largest D is returned.
double weigh_candidates(Points& points, const DataPlan& plan, MatrixView<const double> given, Candidates& candidates) {
  const std::int64_t count = given.rows + std::ssize(candidates.rows);
  Matrix<double> values(count, plan.columns);
  std::copy_n(given.data, given.size(), values.data());
  points.copy_rows(candidates.rows, values.view().middle(given.rows, count - given.rows));
  if (plan.weights.given()) points.reset();  // sums are changes since the last labels; else these are guesses now
  Assignment assignment(count);
  std::vector<Limbs> ignored(static_cast<std::size_t>(count));
  const MeasureRequest measure{values.view(), inertia_scale(plan, values.view()), term_bits(plan.weights.terms)};
  ClusterSums sums = empty_sums(plan, plan.weights.given() ? count : 0);
  points.sweep({values.view(), plan.weights.given() ? &sums : nullptr, &measure, ignored}, assignment);
  const std::vector<double> weights = cluster_weights(sums, assignment.counts, plan.weights);
  candidates.weights.assign(weights.begin() + given.rows, weights.end());
  candidates.remove_repeated();
  return points.farthest(1).front().distance;
}

/// Greedy k-means++ among the candidates.
std::vector<std::int64_t> choose(const Points& points, const DataPlan& plan, Candidates& candidates,
                                 std::int64_t clusters, RandomStream random, Observer& observer,
                                 MatrixView<const double> given, SeedingPlace& place) {
  const double heaviest = *std::max_element(candidates.weights.begin(), candidates.weights.end());
  const double unit = plan.weights.integral
                          ? 1.0
                          : power_of_two(exponent_above(heaviest));  // keeps weights in the range of checked_weights()
  for (double& weight : candidates.weights) weight = std::max(weight, heaviest * kLightest) / unit;
  const Matrix<double> values = rows_of_points(points, candidates.rows);
  const auto held = points.hold({.values = values.view(), .weights = candidates.weights});
  const Weights weights = checked_weights(candidates.weights, "candidates of k-means||");
  held->prepare(make_plan(*held, weights));
  random.stream += kChoiceStream;
  std::vector<std::int64_t> seeds;
  if (values.rows() <= kMostListed) {
    const double largest = begin_seeds(*held, weights, random, given, place.state.seeds);
    ListedRows rows(*held, weights, values.view(), std::ssize(place.state.seeds));
    seeds = add_greedily(rows, weights, largest, clusters, given.rows, random, observer, place);
  } else {
    seeds = greedy_kmeans_plus_plus(*held, weights, clusters, random, observer, given, &place);
  }
  for (std::int64_t& seed : seeds) seed = candidates.rows[static_cast<std::size_t>(seed)];
  return seeds;
}

}  // namespace

std::vector<std::int64_t> kmeans_parallel(Points& points, const DataPlan& plan, std::int64_t clusters,
                                          RandomStream random, Observer& observer, MatrixView<const double> given,
                                          SeedingPlace* place) {
  if (clusters == 0) return {};
  SeedingPlace unkept;
  SeedingPlace& at = place != nullptr ? *place : unkept;
  if (at.state.rounds == 0 && given.rows == 0) {
    at.state.candidates = {draw_by_weight(plan.weights, random)};
    at.state.drawn = at.state.candidates;
  }
  Candidates candidates{at.state.candidates, {}};
  points.reset();
  std::unordered_set<std::int64_t> drawn(at.state.drawn.begin(), at.state.drawn.end());
  const auto draws_of = [&](std::int64_t round) { return kDraws[std::min(round, kRounds - 1)] * clusters; };
  std::int64_t first_draw = 1;
  for (std::int64_t round = 0; round < at.state.rounds; ++round) first_draw += draws_of(round);
  for (std::int64_t round = at.state.rounds;; ++round) {
    const double largest = weigh_candidates(points, plan, given, candidates);
    const bool enough = std::ssize(candidates.rows) >= clusters;
    if (!(largest > 0.0) || (round >= kRounds && enough)) break;
    const FixedScale scale = fixed_scale(plan.weights.value_bits() - exponent_above(largest));
    const std::int64_t total = points.total_min_distance(scale);
    std::vector<std::int64_t> targets(static_cast<std::size_t>(draws_of(round))), rows(targets.size());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      targets[t] = random_below(random.seed, random.stream, static_cast<std::uint64_t>(first_draw) + t, total);
    }
    points.draw_rows(scale, targets, rows);
    for (const std::int64_t row : rows) {
      if (!drawn.insert(row).second) continue;
      candidates.rows.push_back(row);
      at.state.drawn.push_back(row);
    }
    first_draw += draws_of(round);
    at.state.candidates = candidates.rows;
    at.state.rounds = round + 1;
    if (at.step()) return {};
  }
  if (std::ssize(candidates.rows) >= clusters)
    return choose(points, plan, candidates, clusters, random, observer, given, at);
  complete_with_lowest(candidates.rows, clusters, given.rows > 0, observer);
  return candidates.rows;
}

}  // namespace kith
