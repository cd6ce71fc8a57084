// One assignment of a small problem with its counts, in one kernel: every distance by the definition, without a screen.
//
// Moves n d values and 8 bytes of labels per row. Each block keeps all centroids in shared memory (small_rows.h).
#include "kernels/cuda/assign/iterate.h"
#include "kernels/cuda/assign/small_problem.h"

namespace kith::cuda {
namespace {

/// Labels all rows, and ADDS the rows of each label to counts, and rows whose label is not the one in the sums to
/// changed.
template <class T, class Form>
__global__ void __launch_bounds__(kBlock)
    label_kernel(SmallRows<T> task, const double* centroids, Word* counts, Word* changed) {
  extern __shared__ double memory[];  // (k, pitch) centroids, (k) counts
  const int pitch = Form::kPitch != 0 ? Form::kPitch : static_cast<int>(task.d);
  auto* block_counts = reinterpret_cast<std::uint32_t*>(memory + task.clusters * pitch);
  load_centroids(task, centroids, pitch, memory);
  for (int c = static_cast<int>(threadIdx.x); c < task.clusters; c += kBlock) block_counts[c] = 0;
  __syncthreads();
  Word differing = 0;
  Form::label(task, memory, pitch, [&](std::int64_t row, int nearest) {
    differing += nearest != task.summed[row] ? 1 : 0;
    task.label[row] = nearest;
    atomicAdd(&block_counts[nearest], 1U);
  });
  differing = block_sum(differing);  // its barrier also completes the block's counters
  if (threadIdx.x == 0 && differing != 0) atomicAdd(changed, differing);
  for (int c = static_cast<int>(threadIdx.x); c < task.clusters; c += kBlock) {
    if (block_counts[c] != 0) atomicAdd(&counts[c], Word{block_counts[c]});
  }
}

std::int64_t label_bytes(std::int64_t clusters, std::int64_t pitch) { return clusters * (pitch * 8 + 4); }

}  // namespace

template <class T>
bool is_small_assignment(const HeldRows<T>& held, std::int64_t clusters) {
  return !held.context->screen_named && is_cheaper_unscreened(held, clusters) &&
         label_bytes(clusters, small_pitch<T>(held.columns())) <= small_shared_bytes(*held.context);
}

template <class T>
void assign_small(HeldRows<T>& held, const double* centroids, std::int64_t k, Word* counts, Word* changed) {
  const SmallRows<T> rows{held.resident.data(), held.rows(),       held.columns(),
                          static_cast<int>(k),  held.label.data(), held.summed.data()};
  const auto shared = static_cast<int>(label_bytes(k, small_pitch<T>(held.columns())));
  with_row_form<T>(held.columns(), [&]<class Form>(std::type_identity<Form>) {
    const auto kernel = label_kernel<T, Form>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    kernel<<<held.context->grid(held.rows(), Form::kRows), kBlock, shared, held.stream()>>>(rows, centroids, counts,
                                                                                            changed);
  });
  check(cudaGetLastError());
  held.bounds.clusters = 0;
}

#define KITH_INSTANTIATE(T)                                            \
  template bool is_small_assignment(const HeldRows<T>&, std::int64_t); \
  template void assign_small(HeldRows<T>&, const double*, std::int64_t, Word*, Word*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
