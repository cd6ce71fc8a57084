// The rows of a search that may be among the k nearest of one query, by their scores in a screen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kith::cpu {

/// Row: an integer that holds the numbers of the rows.
template <class Row>
struct Survivor {
  float score;
  Row row;
};

/// Rows that may be among the k nearest of one query. Where more are kept than there is room for at first, they move
/// to memory of their own.
template <class Row>
class Survivors {
 public:
  using Kept = Survivor<Row>;

  /// Little beside k: the sooner the limit falls, the fewer rows come.
  static std::int64_t first_room(std::int64_t k) { return 2 * k + 24; }
  /// What many equal scores may fill in the end, where there is memory for it.
  static std::int64_t most_room(std::int64_t k) { return 16 * first_room(k); }

  /// room: for first_room(k) rows. most: rows that are kept at most, in memory of their own.
  void reset(std::int64_t k, Kept* room, std::int64_t most) {
    k_ = k;
    workspace_ = first_room(k);
    most_ = most;
    kept_ = room;
  }
  /// 2 E of all rows that were added and of those that come next; it only grows.
  void raise_margin(float margin) { margin_ = std::max(margin_, margin); }
  /// No row at all once there were too many of nearly equal score.
  float limit() const { return given_up_ ? -kInfinity : worst_ + margin_; }
  bool given_up() const { return given_up_; }
  void add(Kept survivor) {
    if (given_up_ || survivor.score > limit()) return;  // the limit may have fallen since the row was found
    kept_[count_++] = survivor;
    if (count_ == workspace_) make_room();
  }
  void add(const Survivors& other) {
    if (count_ + other.count_ > workspace_) grow(count_ + other.count_);
    std::copy_n(other.kept_, other.count_, kept_ + count_);
    count_ += other.count_;
    set_bound(other.worst_);
  }
  /// k rows, which need not be added here, have scores that are not above this.
  void set_bound(float bound) { worst_ = std::min(worst_, bound); }
  /// Drops what the k-th best score excludes.
  void drop_excluded() {
    if (count_ <= k_) return;
    worst_ = std::min(worst_, bound());
    const float most = limit();
    std::int64_t left = 0;
    for (std::int64_t i = 0; i < count_; ++i) {  // without a jump that nobody can foretell
      const Kept each = kept_[i];
      kept_[left] = each;
      left += each.score <= most ? 1 : 0;
    }
    count_ = left;
  }
  std::span<const Kept> kept() const { return {kept_, static_cast<std::size_t>(count_)}; }
  void clear() {
    count_ = workspace_ = 0;
    std::vector<Kept>().swap(own_);
  }

 private:
  /// A score that at least k are not above, and hardly more are: by halving the interval that holds it.
  float bound() const {
    constexpr int kHalvings = 24;
    float low = kept_[0].score, high = low;
    for (std::int64_t i = 1; i < count_; ++i) {
      low = kept_[i].score < low ? kept_[i].score : low;
      high = kept_[i].score > high ? kept_[i].score : high;
    }
    for (int halving = 0; halving < kHalvings; ++halving) {
      const float middle = low + (high - low) / 2;
      std::int32_t within = 0;
      for (std::int64_t i = 0; i < count_; ++i) within += kept_[i].score <= middle ? 1 : 0;
      (within < k_ ? low : high) = middle;
      if (within >= k_ && within <= k_ + k_ / 16) break;
    }
    return high;
  }
  /// More room where dropping gains little, up to a point: many equal scores would otherwise fill the memory.
  void make_room() {
    drop_excluded();
    if (count_ <= workspace_ / 4 * 3) return;
    given_up_ = 2 * workspace_ > most_;
    given_up_ ? clear() : grow(2 * workspace_);
  }
  void grow(std::int64_t room) {
    std::vector<Kept> more(static_cast<std::size_t>(room));
    std::copy_n(kept_, count_, more.begin());
    own_.swap(more);
    kept_ = own_.data();
    workspace_ = room;
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::int64_t k_ = 0;
  float margin_ = 0.0F;
  float worst_ = kInfinity;  // the k-th best score
  bool given_up_ = false;
  std::int64_t count_ = 0, workspace_ = 0, most_ = 0;
  Kept* kept_ = nullptr;  // (room)
  std::vector<Kept> own_;
};

}  // namespace kith::cpu
