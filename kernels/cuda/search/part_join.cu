// Neighbours of a set in itself on several devices: each copies the rows of the others, over the links between devices
// or through the host, prepares them, and finds the lists of its own rows among all.
#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "kernels/cuda/runtime/shared_memory.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/row_join.h"

namespace kith::cuda {
namespace {

struct Ended {};  // thrown in the other parts when one has failed

/// All rows on the device of part p.
template <class T>
HeldRows<T> all_rows(std::span<const HeldRows<T>* const> parts, std::size_t p, std::int64_t n) {
  const HeldRows<T>& own = *parts[p];
  Buffer<T> values(own.pool(), n * own.columns());
  T* to = values.data();
  for (const HeldRows<T>* part : parts) {
    const std::int64_t count = part->rows() * part->columns();
    check(cudaMemcpyAsync(to, part->resident.data(), static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDefault,
                          own.stream()));
    to += count;
  }
  HeldRows<T> all(own.context, std::move(values), n, own.columns());
  all.first_row = parts.front()->first_row;
  prepare(all, own.plan);
  return all;
}

}  // namespace

template <class T>
std::optional<NeighborLists> join_parts(std::span<const HeldRows<T>* const> parts, PartThreads& threads,
                                        const SelfJoin& join) {
  std::vector<RowShare> shares;
  std::vector<int> devices;
  std::int64_t n = 0;
  for (const HeldRows<T>* part : parts) {
    if (part->sent) return std::nullopt;
    shares.push_back({n, part->rows()});
    devices.push_back(part->context->device);
    part->stream().wait();
    n += part->rows();
  }
  make_peers(devices);  // else the copies go through the host
  std::vector<std::optional<NeighborLists>> found(parts.size());
  std::atomic<bool> ended = false;
  threads.run([&](std::size_t p) {
    check(cudaSetDevice(parts[p]->context->device));
    SelfJoin own = join;
    own.progress = [&, p](std::int64_t rows) {
      if (ended) throw Ended();
      if (p == 0 && join.progress) join.progress(rows);
    };
    try {
      found[p] = join_rows(all_rows(parts, p, n), own, shares[p]);
    } catch (const OutOfMemory&) {  // searches of the parts need less memory
    } catch (const Ended&) {
    } catch (...) {
      ended = true;
      throw;
    }
    if (!found[p]) ended = true;
  });
  if (ended) return std::nullopt;

  NeighborLists lists(n, join.neighbors);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::copy_n(found[p]->distance.data(), found[p]->distance.size(), lists.distance.row(shares[p].first).data());
    std::copy_n(found[p]->index.data(), found[p]->index.size(), lists.index.row(shares[p].first).data());
    lists.candidates += found[p]->candidates;
    found[p].reset();
  }
  return lists;
}

#define KITH_INSTANTIATE(T) \
  template std::optional<NeighborLists> join_parts(std::span<const HeldRows<T>* const>, PartThreads&, const SelfJoin&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
