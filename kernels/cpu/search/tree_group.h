// A group of queries that search a k-d tree together, in the memory of a thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cpu/search/tree_search.h"

namespace kith::cpu {

inline bool operator<(const TreeHit& a, const TreeHit& b) {
  return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
}

class TreeQueries {
 public:
  /// neighbors: k of the lists; 0 for a search with limits that do not change. on_full: called when the log is full
  /// and at the end; empties it.
  TreeQueries(const TreeSearcher& searcher, Measure measure, std::int64_t neighbors,
              std::function<void(TreeQueries&)> on_full)
      : searcher_(searcher),
        d_(searcher.tree.columns),
        k_(neighbors),
        search_(searcher.tree.is_narrow() ? searcher.set.tree.narrow.of(measure, d_)
                                          : searcher.set.tree.wide.of(measure, d_)),
        on_full_(std::move(on_full)) {
    constexpr std::int64_t kMostSorted = 32;  // longer lists are selected from the log
    const std::int64_t capacity = std::max<std::int64_t>(256, 2 * neighbors);
    queries_.resize(static_cast<std::size_t>(d_ * kTreeQueries));
    narrow_queries_.resize(queries_.size());
    center_.resize(static_cast<std::size_t>(d_));
    logged_.resize(static_cast<std::size_t>(capacity * kTreeQueries));
    logged_row_.resize(static_cast<std::size_t>(capacity));
    hits_.resize(static_cast<std::size_t>((k_ + capacity) * kTreeQueries));
    if (k_ > 0 && k_ <= kMostSorted) nearest_.resize(static_cast<std::size_t>(k_ * kTreeQueries));
    group_.queries = queries_.data();
    group_.narrow_queries = narrow_queries_.data();
    group_.rounding = rounding_;
    group_.narrow_limit = narrow_limit_;
    group_.center = center_.data();
    group_.limit = limit_;
    group_.tie_limit = tie_limit_;
    group_.tie_row = tie_row_;
    group_.nearest = nearest_.empty() ? nullptr : nearest_.data();
    group_.neighbors = k_;
    group_.logged = logged_.data();
    group_.logged_row = logged_row_.data();
    group_.log_capacity = capacity;
    group_.hits = hits_.data();
    group_.hit_capacity = k_ + capacity;
    group_.seeds = seeds_;
    group_.on_full = [](void* owner) { static_cast<TreeQueries*>(owner)->on_full(); };
    group_.owner = this;
  }
  TreeQueries(const TreeQueries&) = delete;
  TreeQueries& operator=(const TreeQueries&) = delete;

  /// Begins with `count` queries, at most kTreeQueries; value(lane, column).
  template <class Value>
  void begin(int count, double limit, const Value& value) {
    count_ = count;
    group_.is_rounded = false;
    std::fill_n(rounding_, kTreeQueries, 0.0);
    for (std::int64_t j = 0; j < d_; ++j) {
      double sum = 0.0, low = kInfinity, high = -kInfinity;
      for (int lane = 0; lane < kTreeQueries; ++lane) {
        const double v = value(std::min(lane, count - 1), j);
        const auto narrow = static_cast<float>(v);
        queries_[j * kTreeQueries + lane] = v;
        narrow_queries_[j * kTreeQueries + lane] = narrow;
        rounding_[lane] += std::abs(v - static_cast<double>(narrow));
        sum += v / kTreeQueries;
        low = std::min(low, v);
        high = std::max(high, v);
      }
      center_[j] = std::clamp(sum, low, high);  // of equal rows: their value, so that ties go to the lowest rows first
    }
    for (int lane = 0; lane < kTreeQueries; ++lane) {
      group_.is_rounded |= rounding_[lane] != 0.0;
      rounding_[lane] *= 1 + static_cast<double>(d_) * 0x1p-50;
      limit_[lane] = lane < count ? limit : -kInfinity;
      tie_limit_[lane] = tie_row_[lane] = kInfinity;
      group_.hit_count[lane] = 0;
    }
    for (std::size_t i = 0; i < nearest_.size(); ++i)
      nearest_[i] = static_cast<int>(i % kTreeQueries) < count ? kInfinity : -kInfinity;
    group_.log_size = group_.seed_count = 0;
  }
  /// A leaf that is searched before others.
  void add_seed(std::int32_t leaf) {
    const std::int32_t* end = seeds_ + group_.seed_count;
    if (std::find<const std::int32_t*>(seeds_, end, leaf) == end) seeds_[group_.seed_count++] = leaf;
  }
  /// Adds an entry of an earlier list, in the order of that list.
  void add_earlier(int lane, TreeHit hit) {
    std::int64_t& count = group_.hit_count[lane];
    if (!nearest_.empty()) nearest_[count * kTreeQueries + lane] = hit.distance;
    group_.hits[lane * group_.hit_capacity + count++] = hit;
    if (count == k_) limit_[lane] = hit.distance;
  }
  void search() {
    search_(searcher_.tree.view(), group_);
    on_full();
  }

  int count() const { return count_; }
  /// Moves the log to the hits.
  void drain() { searcher_.set.tree.drain(group_); }
  /// The hits of a lane, unsorted.
  std::span<TreeHit> hits(int lane) {
    return {group_.hits + lane * group_.hit_capacity, static_cast<std::size_t>(group_.hit_count[lane])};
  }
  void clear_hits() { std::fill_n(group_.hit_count, kTreeQueries, 0); }
  /// Moves the log to the hits and keeps the k nearest of each lane, which bound those that follow.
  void keep_nearest() {
    drain();
    if (k_ == 0) return;
    for (int lane = 0; lane < count_; ++lane) {
      const std::span<TreeHit> all = hits(lane);
      if (std::ssize(all) < k_) continue;
      if (std::ssize(all) > k_) std::nth_element(all.begin(), all.begin() + (k_ - 1), all.end());
      const TreeHit last = std::ssize(all) > k_ ? all[k_ - 1] : *std::max_element(all.begin(), all.end());
      group_.hit_count[lane] = k_;
      limit_[lane] = tie_limit_[lane] = last.distance;
      tie_row_[lane] = static_cast<double>(last.row);
    }
  }
  TreeWork work() const { return {group_.distances * kTreeQueries, group_.visited * kTreeQueries}; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void on_full() { on_full_(*this); }

  const TreeSearcher& searcher_;
  std::int64_t d_, k_;
  TreeKernels::Search search_;
  std::function<void(TreeQueries&)> on_full_;
  TreeGroup group_{};
  std::vector<double> queries_, center_, logged_, nearest_;
  std::vector<float> narrow_queries_;
  std::vector<std::int32_t> logged_row_;
  std::vector<TreeHit> hits_;
  float narrow_limit_[kTreeQueries];
  double rounding_[kTreeQueries];
  double limit_[kTreeQueries], tie_limit_[kTreeQueries], tie_row_[kTreeQueries];
  std::int32_t seeds_[kTreeQueries];
  int count_ = 0;
};

}  // namespace kith::cpu
