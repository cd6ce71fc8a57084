// Bisecting k-means: the current clusters, the choice of the next split, and the tree of splits.
#include "core/kmeans/bisecting.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/kmeans/result.h"

namespace kith {
namespace {

/// A cluster of the current stage.
struct Leaf {
  std::int64_t node = 0;
  std::vector<std::int64_t> rows;
  std::vector<double> centroid;
  double inertia = 0.0;
  bool is_final = false;  // cannot be split
};

class Bisection {
 public:
  Bisection(Points& points, const RowStore& store, const DataPlan& plan, const KMeansOptions& options, SplitBy by)
      : points_(points), store_(store), plan_(plan), options_(options), by_(by) {
    leaves_.emplace_back();
    leaves_[0].rows.resize(static_cast<std::size_t>(plan.rows));
    std::iota(leaves_[0].rows.begin(), leaves_[0].rows.end(), 0);
    leaves_[0].is_final = plan.rows < 2;
    leaves_[0].centroid.resize(static_cast<std::size_t>(plan.columns));
    const std::int64_t first = 0;
    points.copy_rows({&first, 1}, {leaves_[0].centroid.data(), 1, plan.columns});
    add_node(-1, plan.rows, 0.0);
  }

  std::int64_t clusters() const { return std::ssize(leaves_); }
  std::int64_t iterations() const { return iterations_; }
  double total_inertia() const { return tree_.inertia[0]; }
  double spread() const { return spread_; }

  /// False when no cluster can be split.
  bool split() {
    for (Leaf* leaf = next(); leaf != nullptr; leaf = next()) {
      if (split(*leaf)) return true;
    }
    return false;
  }

  std::vector<std::int32_t> labels() const {
    std::vector<std::int32_t> labels(static_cast<std::size_t>(plan_.rows));
    for (std::size_t c = 0; c < leaves_.size(); ++c) {
      for (const std::int64_t row : leaves_[c].rows) labels[static_cast<std::size_t>(row)] = static_cast<int>(c);
    }
    return labels;
  }

  /// (k, d) centroids that the splits gave.
  Matrix<double> centroids() const {
    Matrix<double> centroids(clusters(), plan_.columns);
    for (std::int64_t c = 0; c < centroids.rows(); ++c) {
      const std::vector<double>& centroid = leaves_[static_cast<std::size_t>(c)].centroid;
      std::copy(centroid.begin(), centroid.end(), centroids.row(c).begin());
    }
    return centroids;
  }

  SplitTree tree() && {
    for (std::size_t c = 0; c < leaves_.size(); ++c) {
      tree_.cluster[static_cast<std::size_t>(leaves_[c].node)] = static_cast<std::int64_t>(c);
    }
    return std::move(tree_);
  }

 private:
  std::int64_t add_node(std::int64_t parent, std::int64_t count, double inertia) {
    tree_.parent.push_back(parent);
    tree_.first_child.push_back(-1);
    tree_.cluster.push_back(-1);
    tree_.count.push_back(count);
    tree_.inertia.push_back(inertia);
    return std::ssize(tree_.parent) - 1;
  }

  /// The cluster to split next; null if no cluster can be split.
  Leaf* next() {
    const auto is_before = [this](const Leaf& a, const Leaf& b) {
      if (a.is_final || b.is_final) return a.is_final && !b.is_final;
      return by_ == SplitBy::size ? a.rows.size() < b.rows.size() : a.inertia < b.inertia;
    };
    Leaf& leaf = *std::max_element(leaves_.begin(), leaves_.end(), is_before);  // the first of equal ones
    return leaf.is_final ? nullptr : &leaf;
  }

  /// Splits the cluster. Returns false and marks it as final if that is impossible.
  bool split(Leaf& leaf) {
    KMeansOptions options = options_;
    options.clusters = 2;
    options.first_run = split_ * options_.runs;
    Observer silent;
    const bool is_all = std::ssize(leaf.rows) == plan_.rows;
    RowSubset some;
    if (!is_all) some = store_.hold(leaf.rows);
    Points& rows = is_all ? points_ : *some.points;
    const DataPlan plan = is_all ? plan_ : make_plan(rows);
    if (!is_all) rows.prepare(plan);
    KMeansResult parts = kmeans(rows, plan, options, silent);
    ++split_;
    iterations_ += parts.iterations;
    if (is_all) {
      tree_.inertia[0] = parts.total_inertia;
      spread_ = parts.spread;
    }
    leaf.is_final = parts.spread == 0.0 || parts.counts.size() < 2 || parts.counts[0] == 0 || parts.counts[1] == 0;
    if (leaf.is_final) return false;

    Leaf first, second;
    for (std::size_t i = 0; i < leaf.rows.size(); ++i) {
      (parts.labels[i] == 0 ? first : second).rows.push_back(leaf.rows[i]);
    }
    tree_.first_child[static_cast<std::size_t>(leaf.node)] = std::ssize(tree_.parent);
    for (const auto& [part, number] : {std::pair{&first, 0}, std::pair{&second, 1}}) {
      const auto centroid = std::as_const(parts.centroids).row(number);
      part->centroid.assign(centroid.begin(), centroid.end());
      part->inertia = parts.inertia_per_cluster[static_cast<std::size_t>(number)];
      part->is_final = part->inertia == 0.0;
      part->node = add_node(leaf.node, std::ssize(part->rows), part->inertia);
    }
    leaf = std::move(first);
    leaves_.push_back(std::move(second));
    return true;
  }

  Points& points_;
  const RowStore& store_;
  const DataPlan& plan_;
  const KMeansOptions& options_;
  SplitBy by_;
  std::vector<Leaf> leaves_;  // by cluster number
  SplitTree tree_;
  std::int64_t split_ = 0, iterations_ = 0;
  double spread_ = 0.0;
};

}  // namespace

BisectingResult bisecting_kmeans(Points& points, const RowStore& store, const DataPlan& plan,
                                 const KMeansOptions& options, SplitBy by, Observer& observer) {
  check_start(plan, options);
  observer.phase("split", options.clusters - 1);
  Bisection bisection(points, store, plan, options, by);
  while (bisection.clusters() < options.clusters && bisection.split()) observer.progress(bisection.clusters() - 1);
  if (bisection.clusters() < options.clusters) {
    observer.warning(
        fmt::format("found only {} of {} clusters: the rows within each cluster are equal, so none can be split",
                    bisection.clusters(), options.clusters));
  }
  BisectingResult result;
  const Matrix<double> centroids = bisection.centroids();
  result.result = result_from_labels(points, plan, bisection.labels(), centroids.view(), options);
  result.result.spread = bisection.spread();
  result.result.total_inertia = bisection.total_inertia();
  result.result.iterations = bisection.iterations();
  result.result.stopped_by = "splits";
  result.result.stopped_value = static_cast<double>(bisection.clusters() - 1);
  result.tree = std::move(bisection).tree();
  if (result.tree.parent.size() == 1) {
    result.tree.inertia[0] = result.result.spread = result.result.total_inertia = result.result.inertia;
  }
  return result;
}

}  // namespace kith
