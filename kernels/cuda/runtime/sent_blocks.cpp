// Sends blocks of rows ahead of their use. The link is the limit: n d values per pass, 50 GB/s with PCIe 5.
#include "kernels/cuda/runtime/sent_blocks.h"

#include <utility>

namespace kith::cuda {

template <class T>
SentBlocks<T>::SentBlocks(const Route& route)
    : route_(route), expected_(route.first), copies_(route.copies != nullptr ? *route.copies : own_copies_.emplace()) {
  if (route.all != nullptr) return;
  const bool several = route.block_rows < route.rows.values.rows - route.first;
  for (std::size_t i = 0; i < (several ? places_.size() : 1); ++i) {
    places_[i].values = Buffer<T>(route.pool, route.block_rows * route.rows.values.columns);
  }
}

template <class T>
SentBlocks<T>::~SentBlocks() {
  // The buffers must not be recycled while a copy fills them. Nobody uses the block, so its error is dropped.
  if (sending_.valid()) sending_.wait();
  report_in_destructor(cudaStreamSynchronize(copies_));
}

template <class T>
const T* SentBlocks<T>::on_device(std::int64_t first) {
  Place* place = holder_of(first);
  if (place == nullptr) {
    if (sent_to_ != nullptr) land();  // a block other than the next one is requested
    place = &places_[0];
    begin(*place, first);
  }
  if (place == sent_to_) land();
  const std::int64_t next = first + route_.block_rows < route_.rows.values.rows ? first + route_.block_rows
                            : route_.once                                       ? -1
                                                                                : route_.first;
  const bool in_turn = first == std::exchange(expected_, next);
  if (in_turn && next >= 0 && sent_to_ == nullptr && !holds(next)) begin(places_[place == &places_[0] ? 1 : 0], next);
  return memory_of(*place);
}

template <class T>
T* SentBlocks<T>::memory_of(const Place& place) const {
  return route_.all != nullptr ? route_.all + place.first * route_.rows.values.columns : place.values.data();
}

template <class T>
void SentBlocks<T>::begin(Place& place, std::int64_t first) {
  copies_.wait_for(route_.work);
  place.first = first;
  sent_to_ = &place;
  T* const to = memory_of(place);
  // Without a free thread, the copy runs when land() waits for it.
  sending_ = std::async(std::launch::async | std::launch::deferred, [this, to, first] {
    check(cudaSetDevice(route_.device));
    route_.rows.upload(copies_, to, first, std::min(route_.block_rows, route_.rows.values.rows - first));
  });
}

template <class T>
void SentBlocks<T>::land() {
  Place& place = *std::exchange(sent_to_, nullptr);
  try {
    sending_.get();
  } catch (...) {
    place.first = -1;
    throw;
  }
  route_.work.wait_for(copies_);
}

template <class T>
typename SentBlocks<T>::Place* SentBlocks<T>::holder_of(std::int64_t first) {
  const auto holder =
      std::find_if(places_.begin(), places_.end(), [first](const Place& p) { return p.first == first; });
  return holder == places_.end() ? nullptr : &*holder;
}

#define KITH_INSTANTIATE(T) template class SentBlocks<T>;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
