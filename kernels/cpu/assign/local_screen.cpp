// Screens the rows of one centroid at a time, in panels, against the centroids near it.
#include "kernels/cpu/assign/local_screen.h"

#include <algorithm>
#include <compare>

namespace kith::cpu {
namespace {

constexpr std::int64_t kBatchPanels = 16;  // panels of rows that share packed columns
constexpr std::int64_t kChunkTiles = 8;    // tiles of products that stay in the second-level cache

/// An upper bound of (2 a)^2 for rows within `distance` >= a of their centroid, with the rounding of the definition:
/// centroids that are farther than that from it are certainly farther from the row. In the scale of the screen.
float squared_reach(double distance) {
  const double reach = 2 * distance * (1 + 0x1p-20);
  return static_cast<float>(reach * reach * (1 + 0x1p-20)) + 0x1p-120F;
}

/// A centroid near the current one, and a lower bound of their squared distance in the scale of the screen.
struct NearCentroid {
  float squared;
  std::int32_t centroid;
  auto operator<=>(const NearCentroid&) const = default;
};

/// Lists the centroids near some others, on one thread.
template <class T>
class NearCentroids {
 public:
  /// columns: the centroids, packed for products in float32.
  NearCentroids(const HeldRows<T>& held, MatrixView<const double> centroids, const ScreenColumns& columns);

  /// The number of centroids that measure() takes at most.
  int group() const { return held_.set.float32.lanes; }
  /// Measures the distances between some centroids, of which each can then become the current one, and all centroids.
  void measure(std::span<const std::int64_t> some);
  /// Makes the centroid with this place among the measured ones the current one, and clears the list.
  void begin(int place);

  /// The number of centroids within a squared distance.
  std::int64_t count(float reach) const;
  /// Extends the list to all centroids within a squared distance.
  void extend(float reach);
  const std::vector<NearCentroid>& list() const { return list_; }
  /// All other centroids are farther than this, squared.
  float reach() const { return reach_; }

 private:
  const HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  const ScreenColumns& columns_;
  Matrix<std::byte> panel_;         // of the measured centroids
  Matrix<float> products_;          // (columns of a tile, lanes)
  Matrix<float> squared_;           // (lanes, k) lower bounds of the squared distances
  std::span<const float> current_;  // (k) of the current centroid
  std::vector<NearCentroid> list_;
  float reach_ = -1.0F;
};

std::int32_t count_within(std::span<const float> squared, float reach) {
  std::int32_t within = 0;
  for (const float each : squared) within += each <= reach ? 1 : 0;
  return within;
}

template <class T>
NearCentroids<T>::NearCentroids(const HeldRows<T>& held, MatrixView<const double> centroids,
                                const ScreenColumns& columns)
    : held_(held),
      centroids_(centroids),
      columns_(columns),
      panel_(1, held.set.float32.panel_bytes(held.columns())),
      products_(kTileColumns, held.set.float32.lanes),
      squared_(held.set.float32.lanes, centroids.rows) {}

template <class T>
void NearCentroids<T>::measure(std::span<const std::int64_t> some) {
  const ScreenKernels& float32 = held_.set.float32;
  const std::int64_t d = held_.columns();
  const double* rows[kMaxLanes];
  for (int lane = 0; lane < float32.lanes; ++lane)
    rows[lane] = centroids_.row(some[std::min<std::size_t>(lane, some.size() - 1)]).data();
  PanelNorms norms;
  float32.pack_rows.template of<double>()(rows, d, held_.scale(), held_.plan.screen.center.data(), panel_.data(),
                                          &norms);
  float least[kMaxLanes];  // score + least is a lower bound of half the squared distance
  for (int lane = 0; lane < float32.lanes; ++lane) {
    const double exact =
        lower_half_sq_norm(norms.norm[lane], d) - columns_.margin(norms.norm[lane], norms.residual[lane]);
    least[lane] = static_cast<float>(exact - std::abs(exact) * 0x1p-23);
  }
  for (std::int64_t t = 0; t < columns_.tiles(); ++t) {
    const MultipliedColumns columns = columns_.multiply(t, panel_.data(), products_.data());
    for (std::int64_t c = 0; c < columns.count; ++c) {
      float* product = products_.row(c).data();
      for (int lane = 0; lane < float32.lanes; ++lane) {
        const float squared = 2 * (columns.half_sq_norm[c] - product[lane] + least[lane]) * (1 - 0x1p-22F);
        // A distance is not negative, so 0 is a lower bound too; NaN also gives 0.
        product[lane] = squared > 0 ? squared : 0.0F;
      }
    }
    for (std::size_t place = 0; place < some.size(); ++place) {
      float* out = squared_.row(static_cast<std::int64_t>(place)).data() + columns.first;
      const float* squared = products_.data() + place;
      for (std::int64_t c = 0; c < columns.count; ++c) out[c] = squared[c * float32.lanes];
    }
  }
}

template <class T>
void NearCentroids<T>::begin(int place) {
  current_ = std::as_const(squared_).row(place);
  list_.clear();
  reach_ = -1.0F;
}

template <class T>
std::int64_t NearCentroids<T>::count(float reach) const {
  return count_within(current_, reach);
}

template <class T>
void NearCentroids<T>::extend(float reach) {
  if (reach <= reach_) return;
  const auto listed = static_cast<std::ptrdiff_t>(list_.size());
  constexpr std::size_t kBlock = 32;  // most blocks have no centroid within the reach
  for (std::size_t first = 0; first < current_.size(); first += kBlock) {
    const auto block = current_.subspan(first, std::min(kBlock, current_.size() - first));
    if (count_within(block, reach) == 0) continue;
    for (std::size_t c = 0; c < block.size(); ++c) {
      if (block[c] <= reach && block[c] > reach_) list_.push_back({block[c], static_cast<std::int32_t>(first + c)});
    }
  }
  std::sort(list_.begin() + listed, list_.end());
  reach_ = reach;
}

}  // namespace

/// The workspace of one thread.
template <class T>
class LocalScreen<T>::Worker {
 public:
  explicit Worker(LocalScreen& screen)
      : held_(screen.held_),
        centroids_(screen.centroids_),
        kernels_(screen.kernels_),
        bounds_(screen.bounds_),
        d_(held_.columns()),
        lanes_(screen.kernels_.lanes),
        writer(held_, screen.centroids_, screen.bounds_),
        columns_(held_, screen.kernels_),
        near_(held_, screen.centroids_, screen.float32_centroids_),
        products_(kChunkTiles * kTileColumns, lanes_),
        minima_(kTileColumnBlocks, lanes_),
        error_(kChunkTiles, lanes_),
        hits_(static_cast<std::size_t>(kTileColumns) * lanes_),
        center_(d_),
        centred_(columns_.step(), d_),
        norm_rounding_((static_cast<double>(d_) + 16) * 0x1p-23) {
    for (std::int64_t panel = 0; panel < kBatchPanels; ++panel) panels_.emplace_back(held_, kernels_);
  }

  /// Labels a range of sorted rows.
  void run(const SortedRows& rows, std::int64_t first, std::int64_t last) {
    const std::vector<std::int64_t>& start = rows.start;
    const int most = near_.group();
    end_of_rows_ = rows.row.data() + last;
    std::int64_t label = std::upper_bound(start.begin(), start.end(), first) - start.begin() - 1;
    while (first < last) {
      std::int64_t labels[kMaxLanes];
      int count = 0;
      for (std::int64_t row = first; row < last && count < most; row = start[label]) {
        while (start[label + 1] <= row) ++label;
        labels[count++] = label++;
      }
      near_.measure({labels, static_cast<std::size_t>(count)});
      for (int lane = 0; lane < count; ++lane) {
        const std::int64_t end = std::min(start[labels[lane] + 1], last);
        begin_centroid(static_cast<std::int32_t>(labels[lane]), lane);
        for (; first < end; first += kBatchPanels * lanes_) {
          screen_batch(std::span(rows.row).subspan(first, std::min(end - first, kBatchPanels * lanes_)));
        }
        first = end;
      }
    }
  }

 private:
  /// A row of the panel and a column that may be nearest; lower: a lower bound of its score.
  struct Candidate {
    int lane;
    std::int64_t column;
    float lower;
  };

  void begin_centroid(std::int32_t label, int lane) {
    near_.begin(lane);
    const double* centroid = centroids_.row(label).data();
    double squared = 0.0;
    for (std::int64_t j = 0; j < d_; ++j) {
      const double value = centroid[j] * held_.scale();
      center_[j] = static_cast<float>(value);
      squared += (value - center_[j]) * (value - center_[j]);
    }
    offset_ = std::sqrt(squared) * (1 + 0x1p-20) + 0x1p-120;
    columns_.reset(center_.data());
  }

  /// An upper bound of the distance of a row from the current centroid.
  double upper_distance(const PanelNorms& norms, int lane) const {
    return static_cast<double>(norms.norm[lane]) * (1 + norm_rounding_) + offset_ + 0x1p-120;
  }

  /// Prefetches the rows of the next panel: rows of a cluster are scattered over the memory.
  void prefetch(const std::int64_t* rows) {
    constexpr std::int64_t kLine = 64;
    const std::int64_t bytes = d_ * static_cast<std::int64_t>(sizeof(T));
    for (const std::int64_t* row = rows; row < std::min(rows + lanes_, end_of_rows_); ++row) {
      const auto* first = reinterpret_cast<const char*>(held_.row(*row));
      for (std::int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(first + at, 0, 2);
      __builtin_prefetch(&held_.summed[*row]);
    }
  }

  /// Labels rows of the current centroid.
  void screen_batch(std::span<const std::int64_t> rows) {
    const auto panels = static_cast<std::size_t>(ceil_div(std::ssize(rows), lanes_));
    distances_.clear();
    for (std::size_t p = 0; p < panels; ++p) {
      const auto mine = rows.subspan(p * lanes_, std::min<std::size_t>(lanes_, rows.size() - p * lanes_));
      prefetch(mine.data() + mine.size());
      panels_[p].pack(
          static_cast<int>(mine.size()), [&](int lane) { return mine[lane]; }, center_.data());
      for (int lane = 0; lane < static_cast<int>(mine.size()); ++lane) {
        const double each = upper_distance(panels_[p].norms(), lane);
        distances_.push_back(each < kMaxScreenedNorm ? each : std::numeric_limits<double>::infinity());  // also for NaN
      }
    }
    const double farthest = farthest_screened();
    double reach = 0.0;
    for (const double each : distances_) reach = each <= farthest ? std::max(reach, each) : reach;
    list_near(squared_reach(reach));
    for (std::size_t p = 0; p < panels; ++p) {
      const auto mine = rows.subspan(p * lanes_, std::min<std::size_t>(lanes_, rows.size() - p * lanes_));
      double panel_reach = -1.0;
      for (std::size_t lane = 0; lane < mine.size(); ++lane) {
        const double own = distances_[p * lanes_ + lane];
        active_[lane] = own <= farthest;
        if (active_[lane]) {
          panel_reach = std::max(panel_reach, own);
        } else {
          deferred.push_back(mine[lane]);
        }
      }
      if (panel_reach >= 0) screen_panel(panels_[p], mine, squared_reach(panel_reach));
    }
  }

  /// The distance up to which rows of a batch are screened here, since rows far outside the cluster would extend the
  /// list for all others: from their median distance, and farther than usual as long as that takes few more centroids.
  double farthest_screened() {
    constexpr double kUsual = 1.25, kFar = 3;
    constexpr std::int64_t kFewMore = 128;
    const double most = *std::max_element(distances_.begin(), distances_.end());
    std::int64_t nearer = 0;  // where the median exceeds most / kUsual, no row is too far
    for (const double each : distances_) nearer += kUsual * each < most ? 1 : 0;
    if (2 * nearer < std::ssize(distances_) && most < kMaxScreenedNorm) return most;
    sorted_ = distances_;
    const auto middle = sorted_.begin() + std::ssize(sorted_) / 2;
    std::nth_element(sorted_.begin(), middle, sorted_.end());
    const double median = *middle;
    if (!(kFar * median < kMaxScreenedNorm)) return kUsual * median;
    const std::int64_t usual = near_.count(squared_reach(kUsual * median));
    return (near_.count(squared_reach(kFar * median)) <= 2 * usual + kFewMore ? kFar : kUsual) * median;
  }

  /// Lists the centroids within a squared distance of the current one.
  void list_near(float reach) {
    const std::size_t listed = near_.list().size();
    near_.extend(reach);
    const bool grows = near_.list().size() > listed;
    if (grows && listed % columns_.step() != 0) columns_.reset(center_.data());  // the last tile was not full
  }

  /// Labels the active rows of a panel.
  void screen_panel(RowPanel<T>& panel, std::span<const std::int64_t> rows, float reach) {
    const std::vector<NearCentroid>& near = near_.list();
    const auto needed = static_cast<std::int64_t>(
        std::partition_point(near.begin(), near.end(),
                             [&](const NearCentroid& each) { return each.squared <= reach; }) -
        near.begin());
    const std::int64_t step = columns_.step(), tiles = ceil_div(needed, step), listed = std::ssize(near);
    while (columns_.tiles() < tiles) {
      const NearCentroid* from = near.data() + columns_.tiles() * step;
      columns_.template add_tile<double>(
          std::min(step, listed - columns_.tiles() * step),
          [&](std::int64_t c) { return centroids_.row(from[c].centroid).data(); }, centred_);
    }
    std::int64_t multiplied = 0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) multiplied += columns_.columns(tile);
    std::fill_n(best_upper_, kMaxLanes, kInfinity);
    candidates_.clear();
    for (std::int64_t first = 0; first < tiles; first += kChunkTiles) {
      screen_chunk(panel, rows, first, std::min(kChunkTiles, tiles - first));
    }
    // Centroids that were not multiplied are at least that far from the current one.
    const double beyond = multiplied < listed ? near[multiplied].squared : near_.reach();
    for (std::size_t lane = 0; lane < rows.size(); ++lane) {
      if (active_[lane]) ++writer.totals.screened;
    }
    writer.totals.products += multiplied * std::ssize(rows);
    decide(panel.norms(), rows, std::sqrt(beyond) * (1 - 0x1p-20));
  }

  /// Multiplies some tiles, and appends the columns that may be nearest, or second nearest if bounds are kept.
  void screen_chunk(RowPanel<T>& panel, std::span<const std::int64_t> rows, std::int64_t first, std::int64_t tiles) {
    for (std::int64_t t = 0; t < tiles; ++t) {
      float* products = products_.row(t * kTileColumns).data();
      float* error = error_.row(t).data();
      const std::int64_t count = columns_.columns(first + t);
      columns_.multiply(first + t, panel.panel(), products);
      columns_.errors(first + t, panel.norms(), error);
      kernels_.scores.block_minima(products, columns_.half_sq_norm(first + t), count, minima_.data());
      for (std::int64_t column_block = 0; column_block < ceil_div(count, kColumnBlock); ++column_block) {
        const float* minima = minima_.row(column_block).data();
        for (int lane = 0; lane < lanes_; ++lane)
          best_upper_[lane] = std::min(best_upper_[lane], minima[lane] + error[lane]);
      }
    }
    float limit[kMaxLanes];
    for (std::int64_t t = 0; t < tiles; ++t) {
      const float* error = error_.row(t).data();
      for (int lane = 0; lane < lanes_; ++lane) {
        const float slack = bounds_ ? slack_of(panel.norms(), lane) : 0.0F;
        limit[lane] = rounded_up(best_upper_[lane] + slack + error[lane]);
      }
      const std::int64_t count =
          kernels_.scores.collect(products_.row(t * kTileColumns).data(), columns_.half_sq_norm(first + t),
                                  columns_.columns(first + t), limit, hits_.data());
      for (std::int64_t h = 0; h < count; ++h) {
        const int lane = hits_[h].lane;
        if (lane >= std::ssize(rows) || !active_[lane]) continue;
        const std::int64_t column = (first + t) * columns_.step() + hits_[h].column;
        candidates_.push_back({lane, column, rounded_down(hits_[h].score - error[lane])});
      }
    }
  }

  /// Scores up to this far above the best are candidates of the second place: bounds need its score.
  static float slack_of(const PanelNorms& norms, int lane) { return norms.norm[lane] * norms.norm[lane] * 0x1p-5F; }
  static float rounded_up(float value) { return value + std::abs(value) * 0x1p-22F; }
  static float rounded_down(float value) { return value - std::abs(value) * 0x1p-22F; }

  /// Labels the active rows from their candidates. beyond: a lower bound of the distance between the current centroid
  /// and all centroids that were not multiplied.
  void decide(const PanelNorms& norms, std::span<const std::int64_t> rows, double beyond) {
    float others[kMaxLanes];       // lower bound of the scores of columns that are not candidates
    std::int32_t only[kMaxLanes];  // the first candidate
    NearestCandidate nearest[kMaxLanes];
    for (std::size_t lane = 0; lane < rows.size(); ++lane) {
      only[lane] = -1;
      others[lane] =
          bounds_ ? rounded_down(best_upper_[lane] + slack_of(norms, static_cast<int>(lane))) : best_upper_[lane];
    }
    for (const Candidate& candidate : candidates_) {
      const int lane = candidate.lane;
      if (candidate.lower > best_upper_[lane]) {  // false for NaN
        others[lane] = std::min(others[lane], candidate.lower);
        continue;
      }
      const std::int32_t centroid = near_.list()[candidate.column].centroid;
      if (only[lane] < 0) {
        only[lane] = centroid;
        continue;
      }
      if (nearest[lane].label < 0) nearest[lane].add(writer.distance(rows[lane], only[lane]), only[lane]);
      nearest[lane].add(writer.distance(rows[lane], centroid), centroid);
    }
    for (int lane = 0; lane < std::ssize(rows); ++lane) {
      if (!active_[lane]) continue;
      const std::int64_t row = rows[lane];
      const bool several = nearest[lane].label >= 0;
      writer.totals.ambiguous += several;
      const double norm = norms.norm[lane], squared = norm * norm;
      const double farther = std::max(beyond - upper_distance(norms, lane), 0.0);
      const double other = std::min(squared * (1 - norm_rounding_) + 2.0 * others[lane], farther * farther);
      const float bound = !bounds_  ? 0.0F
                          : several ? writer.measured_bound(nearest[lane], other)
                                    : screened_bound(squared * (1 + norm_rounding_) + 2.0 * best_upper_[lane], other);
      writer.store(row, several ? nearest[lane].label : only[lane], bound);
    }
  }
  static float screened_bound(double own, double other) { return bound_between(own, other - std::max(own, 0.0)); }

  HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  const ScreenKernels& kernels_;
  const BoundWorkspace& bounds_;
  std::int64_t d_;
  int lanes_;

 public:
  LabelWriter<T> writer;
  std::vector<std::int64_t> deferred;

 private:
  std::vector<RowPanel<T>> panels_;
  LocalColumns columns_;
  NearCentroids<T> near_;
  Matrix<float> products_, minima_, error_;
  std::vector<Hit> hits_;
  std::vector<float> center_;                  // (d) the current centroid, in the scale of the screen
  Matrix<float> centred_;                      // (columns of a tile, d)
  double norm_rounding_;                       // relative error of a squared norm in float32
  double offset_ = 0.0;                        // the distance of center_ from the centroid
  const std::int64_t* end_of_rows_ = nullptr;  // of the task
  std::vector<double> distances_, sorted_;     // of the rows of a batch to the centroid
  bool active_[kMaxLanes];
  float best_upper_[kMaxLanes];
  std::vector<Candidate> candidates_;
};

template <class T>
LocalScreen<T>::LocalScreen(HeldRows<T>& held, MatrixView<const double> centroids, const ScreenKernels& kernels,
                            const BoundWorkspace& bounds)
    : held_(held),
      centroids_(centroids),
      kernels_(kernels),
      bounds_(bounds),
      float32_centroids_(held, held.set.float32, centroids.rows) {
  float32_centroids_.pack(held, centroids.data, centroids.rows);
}

template <class T>
LocalScreen<T>::~LocalScreen() = default;

template <class T>
std::vector<std::int64_t> LocalScreen<T>::run(const SortedRows& rows, Assignment& result) {
  const auto count = std::ssize(rows.row);
  const std::int64_t per_task =
      std::max<std::int64_t>(ceil_div(count, 8 * held_.threads.count()), std::int64_t{4} * kernels_.lanes);
  std::vector<std::unique_ptr<Worker>> workers(held_.threads.count());
  held_.threads.run(ceil_div(count, per_task), [&](std::int64_t task, int thread) {
    if (!workers[thread]) workers[thread] = std::make_unique<Worker>(*this);
    workers[thread]->run(rows, task * per_task, std::min((task + 1) * per_task, count));
  });
  std::vector<std::int64_t> deferred;
  for (const std::unique_ptr<Worker>& worker : workers) {
    if (!worker) continue;
    add(worker->writer.totals, result);
    deferred.insert(deferred.end(), worker->deferred.begin(), worker->deferred.end());
  }
  return deferred;
}

#define KITH_INSTANTIATE(T) template class LocalScreen<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
