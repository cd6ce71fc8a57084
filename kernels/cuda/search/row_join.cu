// Neighbours of a set in itself by searches in batches whose queries are the rows on the device: with the fp16 copies
// that the rows have as base rows, so that nothing is uploaded or rounded; or in cells (cells.h) where queries can
// leave some out.
//
// On several devices each copies the rows of the others, over the links between devices or through the host, prepares
// them, and finds the lists of its own rows among all.
#include "kernels/cuda/search/operations.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "core/neighbors/neighbors.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/cells.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/row_sample.h"

namespace kith::cuda {
namespace {

/// Fills the lists of the rows `own` by products with all rows; as join_rows().
template <class T>
std::int64_t join_all_rows(const HeldRows<T>& held, const SelfJoin& join, const Shard& own, const ListsView& out) {
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t n = held.rows(), d = held.columns(), k = join.neighbors;
  // A few rows before them are searched too, so that tiles of fp16 rows are whole ones.
  const std::int64_t begin = own.first / kQueryTile * kQueryTile, end = own.first + own.count;
  const std::int64_t query_bytes = batch_query_bytes(n, k) + d * 16 + k * 32;
  const std::int64_t fitting =
      std::min(kMaxMinimaBytes, held.pool().available() / 2) / query_bytes / kQueryTile * kQueryTile;
  const std::int64_t size =
      std::min(std::max(fitting, kQueryTile), (end - begin + kQueryTile - 1) / kQueryTile * kQueryTile);
  const ListBuffers lists(held.pool(), (end - begin) * k);
  const Buffer<Word> candidates(held.pool(), 1);
  const Fp16Batch<T> search(held, {.neighbors = k, .most = size});
  const Buffer<double> values(held.pool(), size * d);
  stream.fill(candidates.data(), 0, 1);
  for (std::int64_t first = begin; first < end; first += size) {
    const std::int64_t count = std::min(size, end - first), list = (first - begin) * k;
    to_double_kernel<<<context.grid(count * d, kBlock), kBlock, 0, stream>>>(held.resident.data() + first * d,
                                                                             count * d, values.data());
    check(cudaGetLastError());
    search.search({.values = values.data(),
                   .tiles = held.fp16.values.data() + held.fp16.shape.place(first, 0, 0),
                   .shape = held.fp16.shape,
                   .norm = held.fp16.norm.data() + first,
                   .residual = held.fp16.residual.data() + first,
                   .minima = {},
                   .count = count,
                   .excluded = first,
                   .has_excluded = !join.include_self},
                  {lists.distance.data() + list, lists.index.data() + list, candidates.data()});
    if (first == begin) out.clear();  // the first use of so much memory takes long: the device works meanwhile
    if (!join.progress) continue;
    stream.wait();
    join.progress(static_cast<std::int64_t>(static_cast<double>(first + count - begin) /
                                            static_cast<double>(end - begin) * static_cast<double>(n)));
  }
  const std::int64_t before = (own.first - begin) * k;
  stream.download(out.distance.data, lists.distance.data() + before, out.distance.size());
  stream.download(out.index.data, lists.index.data() + before, out.index.size());
  Word measured = 0;
  stream.download(&measured, candidates.data(), 1);
  return static_cast<std::int64_t>(measured);
}

/// Fills the lists of the rows `own` in cells; as join_rows().
template <class T>
std::int64_t join_in_cells(const HeldRows<T>& held, const SelfJoin& join, const Shard& own, const ListsView& out) {
  const auto progress = [&](std::int64_t rows) {
    const double share = static_cast<double>(rows) / static_cast<double>(own.count);
    if (join.progress) join.progress(static_cast<std::int64_t>(share * static_cast<double>(held.rows())));
  };
  return join_cells<T>(held, own, join.include_self, progress, out);
}

}  // namespace

template <class T>
std::optional<std::int64_t> join_rows(const HeldRows<T>& held, const SelfJoin& join, const Shard& own,
                                      const ListsView& lists) {
  if (join.measure != Measure::squared_euclidean || held.sent || held.rows() < 2 ||
      !can_search_fp16(held, join.measure, join.neighbors + 1)) {
    return std::nullopt;
  }
  constexpr std::int64_t kSampleRows = 256;
  const Matrix<double> sample = draw_sample(held, kSampleRows, 3);
  const SearchMethod method =
      choose_search(held, {sample.view(), -1, join.measure}, join.neighbors + (join.include_self ? 0 : 1), own.count);
  if (method == SearchMethod::tree) return std::nullopt;
  if (method == SearchMethod::cells) return join_in_cells(held, join, own, lists);
  if (held.index.too_dense) return std::nullopt;
  return join_all_rows(held, join, own, lists);
}

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

/// The lists of the rows that `part` holds, among all rows. Lists that the join leaves empty are searched here too,
/// where all rows are, and a tree or cells of them.
template <class T>
std::optional<CompletedLists> join_part(const HeldRows<T>& all, const HeldRows<T>& part, const SelfJoin& join,
                                        const Shard& own, NeighborLists& lists) {
  const auto candidates = join_rows(all, join, own, ListsView(lists, own.first, own.count));
  if (!candidates) return std::nullopt;
  auto completed =
      complete_join({.first_row = all.first_row,
                     .columns = all.columns(),
                     .own = own,
                     .copy =
                         [&part](std::span<const std::int64_t> numbers, MatrixView<double> out) {
                           std::vector<std::int64_t> places(numbers.begin(), numbers.end());
                           for (std::int64_t& place : places) place -= part.first_row;
                           part.host.copy_values(places, out);
                         },
                     .search = [&all](const Queries& queries, NeighborLists& found) { search(all, queries, found); }},
                    join, lists);
  if (completed) completed->candidates += *candidates;
  return completed;
}

}  // namespace

template <class T>
std::optional<NeighborLists> join_shards(std::span<const HeldRows<T>* const> parts, Threads& threads,
                                         const SelfJoin& join) {
  if (join.measure != Measure::squared_euclidean) return std::nullopt;
  std::vector<Shard> shares;
  std::vector<int> devices;
  std::int64_t n = 0;
  for (const HeldRows<T>* part : parts) {
    if (part->sent) return std::nullopt;
    shares.push_back({n, part->rows()});
    devices.push_back(part->context->device);
    part->stream().wait();
    n += part->rows();
  }
  make_peers(devices);                                                    // else the copies go through the host
  NeighborLists lists = NeighborLists::uninitialized(n, join.neighbors);  // of which each part fills its own
  std::vector<std::optional<CompletedLists>> found(parts.size());
  std::atomic<bool> ended = false;
  threads.run_on_each([&](std::size_t p) {
    check(cudaSetDevice(parts[p]->context->device));
    SelfJoin own = join;
    own.progress = [&, p](std::int64_t rows) {
      if (ended) throw Ended();
      if (p == 0 && join.progress) join.progress(rows);
    };
    try {
      found[p] = join_part(all_rows(parts, p, n), *parts[p], own, shares[p], lists);
    } catch (const OutOfMemory&) {  // searches of the parts need less memory
    } catch (const Ended&) {
    } catch (...) {
      ended = true;
      throw;
    }
    if (!found[p]) ended = true;
  });
  if (ended) return std::nullopt;
  for (const auto& part : found) {
    lists.candidates += part->candidates;
    lists.fallback_queries += part->queries;
  }
  return lists;
}

#define KITH_INSTANTIATE(T)                                                                                            \
  template std::optional<std::int64_t> join_rows(const HeldRows<T>&, const SelfJoin&, const Shard&, const ListsView&); \
  template std::optional<NeighborLists> join_shards(std::span<const HeldRows<T>* const>, Threads&, const SelfJoin&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
