// Collects the changes of cluster sums on the device, and adds them to those of the host.
#include "kernels/cuda/assign/sum_changes.h"

#include <vector>

#include "kernels/cuda/assign/operations.h"

namespace kith::cuda {

template <class T>
SumChanges<T>::SumChanges(const HeldRows<T>& held, const ClusterSums& sums)
    : cells_(static_cast<std::int64_t>(sums.high.size())),
      clusters_(cells_ / held.columns()),
      limbs_(sums.limbs),
      changes_(held.pool(), limbs_ * cells_ + 2 * clusters_ + 1) {
  if (held.weight.size() > 0) {
    weighted_.emplace(held);
  } else {
    updater_.emplace(held, clusters_);
  }
  held.stream().fill(changes_.data(), 0, changes_.size());
}

template <class T>
void SumChanges<T>::update(HeldRows<T>& held, const Block<T>& block) {
  Word* const low = limbs_ == 2 ? changes_.data() + cells_ : nullptr;
  Word* const counts = changes_.data() + limbs_ * cells_;
  if (updater_) {
    updater_->update(held, block, {changes_.data(), low, counts, counts + clusters_});
  } else {
    weighted_->update(held, block, {changes_.data(), low, counts});
  }
}

template <class T>
void SumChanges<T>::add_to(const HeldRows<T>& held, ClusterSums& sums) const {
  const Word* const counts = changes_.data() + limbs_ * cells_;
  if (updater_) {
    Word changed = 0;
    held.stream().download(&changed, counts + clusters_, 1);
    if (changed == 0) return;
  }
  std::vector<Word> downloaded(static_cast<std::size_t>(changes_.size()));
  held.stream().download(downloaded.data(), changes_.data(), changes_.size());
  const auto number = [&](std::int64_t i) {
    return static_cast<std::int64_t>(downloaded[static_cast<std::size_t>(i)]);
  };
  for (std::int64_t i = 0; i < cells_; ++i) {
    sums.high[i] += number(i);
    if (limbs_ == 2) sums.low[i] += number(cells_ + i);
  }
  if (updater_) return;
  for (std::int64_t c = 0; c < clusters_; ++c) {
    sums.weights[c].high += number(limbs_ * cells_ + 2 * c);
    sums.weights[c].low += number(limbs_ * cells_ + 2 * c + 1);
  }
}

template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums) {
  SumChanges<T> changes(held, sums);
  held.for_blocks([&](const Block<T>& block) { changes.update(held, block); });
  changes.add_to(held, sums);
}

#define KITH_INSTANTIATE(T)     \
  template class SumChanges<T>; \
  template void update_sums(HeldRows<T>&, ClusterSums&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
