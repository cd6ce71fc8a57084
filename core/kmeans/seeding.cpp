// Initial centroids: greedy k-means++ with integer totals, k-means||, farthest-first traversal, random rows.
#include "core/kmeans/seeding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/kmeans/update.h"
#include "core/numbers/fixed_point.h"
#include "core/numbers/philox.h"

namespace kith {

Matrix<double> rows_of_points(const Points& points, const std::vector<std::int64_t>& rows) {
  Matrix<double> values(static_cast<std::int64_t>(rows.size()), points.columns());
  points.copy_rows(rows, values.view());
  return values;
}

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

namespace {

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

}  // namespace

std::vector<std::int64_t> greedy_kmeans_plus_plus(Points& points, const Weights& weights, std::int64_t clusters,
                                                  RandomStream random, Observer& observer,
                                                  MatrixView<const double> given, SeedingPlace* place) {
  const auto trials = static_cast<std::int64_t>(2 + std::floor(std::log(static_cast<double>(given.rows + clusters))));
  SeedingPlace unkept;
  SeedingPlace& at = place != nullptr ? *place : unkept;
  std::vector<std::int64_t>& seeds = at.state.seeds;
  const double first_largest = begin_seeds(points, weights, random, given, seeds);
  const std::int64_t even = given.rows > 0 ? 0 : 1;  // number of rows drawn by weight only, not by distance
  std::vector<std::int64_t> targets(trials), candidates(trials), totals(trials);
  return add_seeds(first_largest, clusters, given.rows > 0, at, observer, [&](double largest) {
    const FixedScale scale = fixed_scale(weights.value_bits() - exponent_above(largest));
    const std::int64_t total = points.total_min_distance(scale);
    const auto first_draw = static_cast<std::uint64_t>(1 + (std::ssize(seeds) - even) * trials);
    for (std::int64_t t = 0; t < trials; ++t) {
      targets[t] = random_below(random.seed, random.stream, static_cast<std::uint64_t>(first_draw) + t, total);
    }
    points.draw_rows(scale, targets, candidates);
    std::fill(totals.begin(), totals.end(), 0);
    points.try_candidates(rows_of_points(points, candidates).view(), scale, totals);
    const auto winner = std::min_element(totals.begin(), totals.end()) - totals.begin();  // the first of equal totals
    seeds.push_back(candidates[winner]);
    return points.commit_candidate(winner);
  });
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
constexpr double kLightest = 0x1p-40;  // relative to the heaviest candidate; checked_weights() accepts it

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
  points.reset();
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
  std::vector<std::int64_t> seeds = greedy_kmeans_plus_plus(*held, weights, clusters, random, observer, given, &place);
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
