// What a search of cells collects for a panel of queries: nearest neighbours, or rows within a radius.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/points/point_neighbors.h"
#include "kernels/cpu/search/stored_rows.h"

namespace kith::cpu {

/// The k nearest rows so far, as a heap.
class NearestHeap {
 public:
  explicit NearestHeap(std::int64_t k) : k_(static_cast<std::size_t>(k)) { kept_.reserve(k_); }
  bool full() const { return kept_.size() == k_; }
  double limit() const { return full() ? kept_.front().distance : std::numeric_limits<double>::infinity(); }
  void add(Neighbor neighbor) {
    if (full()) {
      if (!(neighbor < kept_.front())) return;
      std::pop_heap(kept_.begin(), kept_.end());
      kept_.back() = neighbor;
    } else {
      kept_.push_back(neighbor);
    }
    std::push_heap(kept_.begin(), kept_.end());
  }
  const std::vector<Neighbor>& sorted() {
    std::sort_heap(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  std::size_t k_;
  std::vector<Neighbor> kept_;
};

/// The lists of nearest neighbours of a panel of queries.
class NearestResults {
 public:
  NearestResults(NeighborLists& lists, std::atomic<std::int64_t>&, std::int64_t) : lists_(lists) {}
  /// Takes over the lists so far.
  void begin(std::span<const std::int64_t> queries) {
    nearest_.clear();
    for (const std::int64_t q : queries) {
      NearestHeap& heap = nearest_.emplace_back(k());
      for (std::int64_t i = 0; i < k() && lists_.index(q, i) >= 0; ++i)
        heap.add({lists_.distance(q, i), lists_.index(q, i)});
    }
  }
  /// Rows with a larger D are not wanted.
  double limit(int lane) const { return nearest_[lane].limit(); }
  /// The number of rows that a limit of scores must admit before limit() is finite; 0 if it is for all queries.
  std::int64_t required() const {
    const auto full = [](const NearestHeap& heap) { return heap.full(); };
    return std::all_of(nearest_.begin(), nearest_.end(), full) ? 0 : k();
  }
  void add(int lane, std::int64_t, Neighbor neighbor) { nearest_[lane].add(neighbor); }
  void finish(std::span<const std::int64_t> queries) {
    for (std::size_t lane = 0; lane < queries.size(); ++lane) {
      std::int64_t place = 0;
      for (const Neighbor& neighbor : nearest_[lane].sorted()) {
        lists_.distance(queries[lane], place) = neighbor.distance;
        lists_.index(queries[lane], place++) = neighbor.row;
      }
    }
  }
  static void add_counts(NeighborLists& lists, std::int64_t candidates, std::int64_t products) {
    lists.candidates += candidates;
    lists.products += products;
  }

 private:
  std::int64_t k() const { return lists_.index.columns(); }
  NeighborLists& lists_;
  std::vector<NearestHeap> nearest_;
};

/// The rows within the limit of a radius search. Each query belongs to one panel, so no two threads share its list.
class RadiusResults {
 public:
  /// reserved: of StoredRows.
  RadiusResults(RadiusLists& lists, std::atomic<std::int64_t>& reserved, std::int64_t threads)
      : lists_(lists), stored_(reserved, lists.capacity, threads) {}
  void begin(std::span<const std::int64_t>) {}
  double limit(int) const { return lists_.limit; }
  static std::int64_t required() { return 0; }
  void add(int, std::int64_t q, Neighbor neighbor) {
    if (!(neighbor.distance <= lists_.limit) || neighbor.row < lists_.first_row) return;
    ++lists_.counts[q];
    if (stored_.may_store()) lists_.rows[q].push_back(neighbor);
  }
  void finish(std::span<const std::int64_t>) {}
  static void add_counts(RadiusLists&, std::int64_t, std::int64_t) {}

 private:
  RadiusLists& lists_;
  StoredRows stored_;
};

}  // namespace kith::cpu
