// Assignments of all rows; and with rows that are sent, all that an iteration does, so that each block is sent once.
//
// For the latter the link is the limit: n d values less those of the resident rows, 50 GB/s with PCIe 5.
#include <optional>

#include "kernels/cuda/assign/label_counts.h"
#include "kernels/cuda/assign/measure.h"
#include "kernels/cuda/assign/operations.h"
#include "kernels/cuda/assign/sum_changes.h"
#include "kernels/cuda/choice/assignment.h"

namespace kith::cuda {

template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  const Stream& stream = held.stream();
  Buffer<double> centroids(held.pool(), request.centroids.size());
  LabelCounts counts(held.pool(), stream, k);
  stream.upload(centroids.data(), request.centroids.data, request.centroids.size());
  IterationRecord record;
  find_nearest(held, centroids.data(), k, record);
  counts.add(*held.context, {held.label.data(), held.summed.data(), held.rows()});
  note_changed(held.observed, held.rows(), counts.download(stream, assignment));
  add_to(assignment, record);
}

template <class T>
void find_nearest_retrying(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                           const BlockWork<T>& after, const std::function<void()>& restart) {
  for (;;) {
    try {
      return find_nearest(held, centroids, k, record, after);
    } catch (const OutOfMemory&) {
      if (!held.free_optional_memory()) throw;
      record = {};
      restart();
    }
  }
}

template <class T>
void sweep(HeldRows<T>& held, const SweepRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  const Stream& stream = held.stream();
  Buffer<double> centroids(held.pool(), request.centroids.size());
  stream.upload(centroids.data(), request.centroids.data, request.centroids.size());
  const LabelCounts counts(held.pool(), stream, k);
  std::optional<SumChanges<T>> changes;
  std::optional<Measurement<T>> measurement;
  if (request.sums != nullptr) changes.emplace(held, *request.sums);
  if (request.measure != nullptr) measurement.emplace(held, *request.measure);

  IterationRecord record;
  const auto after = [&](const Block<T>& block) {
    counts.add(*held.context, {held.label.data() + block.first, held.summed.data() + block.first, block.rows});
    if (changes) changes->update(held, block);
    if (measurement) measurement->add(held, block);
  };
  // Labels that are in the sums already are those that a second attempt finds.
  find_nearest_retrying<T>(held, centroids.data(), k, record, after, [&] {
    counts.forget_counts(stream);
    if (measurement) measurement->forget(held);
  });
  note_changed(held.observed, held.rows(), counts.download(stream, assignment));
  add_to(assignment, record);
  if (changes) changes->add_to(held, *request.sums);
  if (measurement) measurement->add_to(held, request.inertia);
}

#define KITH_INSTANTIATE(T)                                                                        \
  template void assign(HeldRows<T>&, const AssignRequest&, Assignment&);                           \
  template void find_nearest_retrying(HeldRows<T>&, const double*, std::int64_t, IterationRecord&, \
                                      const BlockWork<T>&, const std::function<void()>&);          \
  template void sweep(HeldRows<T>&, const SweepRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
