// The cost model of assignments. An estimate measures a sample of rows, 0.05 ms on an H200.
#include "kernels/cuda/assign/screen_choice.h"

#include <algorithm>
#include <limits>

namespace kith::cuda {

double definition_cost(const Context& context) {
  int ratio = 2;  // of the rates of float32 and float64; 32 or 64 on devices for graphics
  check(cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, context.device));
  return 24.0 * std::max(ratio, 1);
}

template <class T>
double pruned_cost(const HeldRows<T>& held, std::int64_t clusters, double distances) {
  constexpr double kLaunches = 0x1p32;  // multiply-adds of the screen in the time of eight launches and two waits
  const auto rows = static_cast<double>(held.rows());
  // Distances between centroids share their operands, and sorting them takes as long.
  const double lists = definition_cost(*held.context) / 2 * CentroidLists::distances(clusters) / rows;
  return kPrunedRowCost + definition_cost(*held.context) * distances + lists +
         kLaunches / (rows * static_cast<double>(held.columns()));
}

template <class T>
PrunedChoice choose_local(const HeldRows<T>& held, std::int64_t clusters, std::int64_t count,
                          const CandidateSample& candidates, double other) {
  const double measured = pruned_cost(held, clusters, candidates.own.mean);
  if (!LocalScreen::supports(held)) return {measured, 0, false};
  const auto rows = static_cast<double>(count);
  PrunedChoice best{std::numeric_limits<double>::infinity(), 0, false};
  for (const bool merged : {false, true}) {
    const Candidates& sample = merged ? candidates.merged : candidates.own;
    const double filled = rows / (rows + sample.guesses * LocalScreen::kTileRows / 2);  // of the tiles
    for (const std::int64_t candidates_held : {sample.usual, sample.most()}) {
      // A few more cost little.
      const std::int64_t length = std::min(candidates_held + candidates_held / 8 + 8, clusters - 1);
      if (sample.guesses > static_cast<double>(LocalScreen::most_lists(length, held.columns()))) continue;
      const double columns = static_cast<double>(length + LocalScreen::kTileColumns);
      const double beyond = length < clusters - 1 ? sample.beyond(length) : 0.0;
      const double screened = pruned_cost(held, clusters, beyond) + (kLocalRowCost + kLocalCost * columns) / filled +
                              kLocalListCost * sample.guesses * columns / rows;
      if (screened < best.cost) best = {screened, length, merged};
    }
  }
  const bool forced = held.context->forced.local_screen && best.screened > 0;
  return forced || best.cost < std::min(measured, other) ? best : PrunedChoice{measured, 0, false};
}

template <class T>
bool choose_pruned(HeldRows<T>& held, const double* centroids, std::int64_t clusters) {
  constexpr int kRecheck = 8;
  constexpr double kWorthwhile = 0x1p33;  // multiply-adds of a screen that takes 0.05 ms on an H200
  ScreenChoice& choice = held.choice;
  if (held.resident_rows == 0 || (held.sent && held.fp16.are_kept())) return false;
  if (held.context->forced.local_screen) {
    choice.screened = std::max<std::int64_t>(clusters / 2, 1);  // the definition decides the rows beyond
    choice.merged = clusters % 2 == 0;
    return choice.labelled_clusters == clusters;
  }
  const auto rows = static_cast<double>(held.rows());
  if (choice.labelled_clusters != clusters || rows * static_cast<double>(clusters * held.columns()) < kWorthwhile) {
    choice.pruned = false;
    return false;
  }
  if (choice.estimate.skips()) return choice.pruned;
  const CandidateSample candidates = sample_candidates(held, held.resident.data(), {nullptr, held.resident_rows},
                                                       held.label.data(), centroids, clusters);
  const PrunedChoice pruned = choose_local(held, clusters, held.rows(), candidates, choice.screened_cost);
  choice.pruned = pruned.cost < choice.screened_cost;
  choice.screened = pruned.screened;
  choice.merged = pruned.merged;
  if (choice.pruned) {
    choice.estimate.wait(kRecheck);
  } else {
    delay_estimate(choice);
  }
  return choice.pruned;
}

template <class T>
bool lists_are_worthwhile(HeldRows<T>& held, std::int64_t clusters, std::int64_t count, const Block<T>& block,
                          double within_margin) {
  constexpr std::int64_t kShareOfSent = 8;
  constexpr double kLaunches = 0x1p20;  // distances in the time of the launches
  if (count == 0 || (!held.is_on_device(block) && count < block.rows / kShareOfSent)) {
    return false;  // refine() sends these rows alone
  }
  if (held.context->forced.local_screen) return true;
  if (held.choice.lists.skips()) return false;
  const double refined = static_cast<double>(count) * kPairCost * within_margin;
  return refined > kLaunches + CentroidLists::distances(clusters) / 2;
}

#define KITH_INSTANTIATE(T)                                                                                           \
  template double pruned_cost(const HeldRows<T>&, std::int64_t, double);                                              \
  template PrunedChoice choose_local(const HeldRows<T>&, std::int64_t, std::int64_t, const CandidateSample&, double); \
  template bool choose_pruned(HeldRows<T>&, const double*, std::int64_t);                                             \
  template bool lists_are_worthwhile(HeldRows<T>&, std::int64_t, std::int64_t, const Block<T>&, double);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
