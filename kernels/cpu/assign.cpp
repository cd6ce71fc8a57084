// Nearest centroid of every row: a float32 screen with the certificate, and the definition where it does not decide.
//
// Per row k d multiply-adds in float32, n k d / (vector width x 2 units) at best; the panel of rows stays in the
// first-level cache while packed centroids stream from the second, and no distance matrix exists. Rows that the screen
// cannot decide wait until a panel of them is full; then their candidates, and only those, get float64 distances.
#include <mutex>
#include <numeric>

#include "kernels/cpu/narrow_screen.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/panels.h"

namespace kith::cpu {
namespace {

/// Labels rows of one range after another for one thread; what it adds up is merged at the end.
template <class T>
class Assigner {
 public:
  Assigner(HeldRows<T>& held, const AssignRequest& request, const ScreenColumns& centroids)
      : held_(held),
        request_(request),
        centroids_(centroids),
        rows_(held),
        waiting_rows_(held),
        hits_(static_cast<std::size_t>(kTileColumns) * held.set.lanes),
        sums(request.centroids.rows) {}

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; i += held_.set.lanes) {
      screen(i, static_cast<int>(std::min<std::int64_t>(held_.set.lanes, last - i)));
    }
  }

  bool has_waiting_rows() const { return waiting_ > 0; }

  /// Screens the waiting rows once more for the columns within their limits, and compares those by the definition.
  void recheck() {
    double nearest[kMaxLanes];
    std::int32_t label[kMaxLanes];
    std::fill_n(nearest, kMaxLanes, std::numeric_limits<double>::infinity());
    std::fill_n(label, kMaxLanes, 0);
    std::fill(limit_ + waiting_, limit_ + kMaxLanes, -std::numeric_limits<float>::infinity());
    waiting_rows_.pack(waiting_, [&](int lane) { return waiting_row_[lane]; });
    centroids_.multiply(waiting_rows_.panel(), waiting_rows_.tile(),
                        [&](std::int64_t from, std::int64_t columns, const float* half_norm) {
                          const std::int64_t found =
                              held_.set.within(waiting_rows_.tile(), half_norm, columns, limit_, hits_.data());
                          for (std::int64_t h = 0; h < found; ++h) {
                            const int lane = hits_[h].lane;
                            if (lane >= waiting_) continue;  // a NaN in a lane that repeats the last row
                            const auto c = static_cast<std::int32_t>(from + hits_[h].column);
                            const double distance = distance_to(waiting_row_[lane], c);
                            ++sums.candidates;
                            if (distance < nearest[lane]) {  // columns come in ascending order: ties keep the lowest
                              nearest[lane] = distance;
                              label[lane] = c;
                            }
                          }
                        });
    for (int lane = 0; lane < waiting_; ++lane) settle(waiting_row_[lane], label[lane]);
    sums.rechecked += waiting_;
    waiting_ = 0;
  }

 private:
  void screen(std::int64_t first, int count) {
    sums.screened += count;
    if (centroids_.count() == 1) {
      for (int lane = 0; lane < count; ++lane) settle(first + lane, 0);
      return;
    }
    float best[kMaxLanes], second[kMaxLanes];
    std::int32_t index[kMaxLanes];
    std::fill_n(best, kMaxLanes, std::numeric_limits<float>::infinity());
    std::fill_n(second, kMaxLanes, std::numeric_limits<float>::infinity());
    std::fill_n(index, kMaxLanes, -1);
    rows_.pack(count, [&](int lane) { return first + lane; });
    centroids_.multiply(
        rows_.panel(), rows_.tile(), [&](std::int64_t from, std::int64_t columns, const float* half_norm) {
          held_.set.nearest_two(rows_.tile(), half_norm, columns, static_cast<std::int32_t>(from), best, second, index);
        });
    for (int lane = 0; lane < count; ++lane) {
      const float margin = centroids_.margin(rows_.norm(lane));
      if (second[lane] - best[lane] > margin) {  // false for NaN and for an infinite margin
        settle(first + lane, index[lane]);
      } else {
        wait(first + lane, best[lane] + margin);
      }
    }
  }

  void wait(std::int64_t row, float limit) {
    waiting_row_[waiting_] = row;
    limit_[waiting_] = limit;
    if (++waiting_ == held_.set.lanes) recheck();
  }

  double distance_to(std::int64_t row, std::int32_t centroid) const {
    return held_.set.template rows<T>().distance(held_.row(row), request_.centroids.row(centroid).data(),
                                                 held_.columns());
  }

  void settle(std::int64_t row, std::int32_t label) {
    sums.changed += held_.summed[row] != label;
    held_.label[row] = label;
    ++sums.counts[label];
  }

  HeldRows<T>& held_;
  const AssignRequest& request_;
  const ScreenColumns& centroids_;
  RowPanel<T> rows_, waiting_rows_;
  std::vector<Hit> hits_;
  int waiting_ = 0;
  std::int64_t waiting_row_[kMaxLanes];
  float limit_[kMaxLanes];

 public:
  Assignment sums;
};

void add(const Assignment& part, Assignment& total) {
  for (std::size_t c = 0; c < total.counts.size(); ++c) total.counts[c] += part.counts[c];
  total.changed += part.changed;
  total.screened += part.screened;
  total.rechecked += part.rechecked;
  total.candidates += part.candidates;
}

}  // namespace

template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  if (narrow_is_best(held, request.centroids.rows)) return assign_narrow(held, request, assignment);
  const ScreenColumns centroids(held, request.centroids);
  const std::int64_t rows_per_task = held.rows_per_task(request.centroids.rows * held.columns() + 8 * held.columns());
  std::vector<std::unique_ptr<Assigner<T>>> assigners(held.threads.count());
  held.for_ranges(rows_per_task, [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
    if (!assigners[thread]) assigners[thread] = std::make_unique<Assigner<T>>(held, request, centroids);
    assigners[thread]->run(first, last);
  });
  std::vector<Assigner<T>*> unfinished;
  for (const auto& assigner : assigners) {
    if (assigner && assigner->has_waiting_rows()) unfinished.push_back(assigner.get());
  }
  held.threads.run(static_cast<std::int64_t>(unfinished.size()),
                   [&](std::int64_t which, int) { unfinished[which]->recheck(); });
  for (const auto& assigner : assigners) {
    if (assigner) add(assigner->sums, assignment);
  }
}

#define KITH_INSTANTIATE(T) template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
