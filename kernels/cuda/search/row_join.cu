// Neighbours of a set in itself by searches in batches, with the fp16 copies that the rows have as base rows, so that
// nothing is uploaded or rounded. Where they are in cells (cells.h) that queries can leave out, each row is searched in
// its own cell first, and then in those that it needs, relative to their centers. The lists stay on the device until
// the end.
//
// On several devices each copies the rows of the others, over the links between devices or through the host, prepares
// them, and finds the lists of its own rows among all.
#include "kernels/cuda/search/row_join.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime/shared_memory.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/cells.h"
#include "kernels/cuda/search/method.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/rows_search.h"

namespace kith::cuda {
namespace {

__global__ void set_cell_kernel(const std::int32_t* position, std::int64_t count, std::uint8_t cell,
                                std::uint8_t* cell_of) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) cell_of[position[i]] = cell;
}

/// Which rows need a cell that is not theirs.
template <class T>
struct Choice {
  const T* values = nullptr;  // (n, d) all rows
  std::int64_t d = 0;
  RowShare rows;                   // of which some are chosen
  const double* center = nullptr;  // (d) of the cell
  CellReach reach;
  double usual = 0.0, most = 0.0;  // D to the center of queries with the usual norm, and of those that fp16 can hold
  const std::uint8_t* cell_of = nullptr;  // (n)
  std::uint8_t cell = 0;
  DeviceLists lists;  // (n, k)
  std::int64_t k = 0;
};

/// usual, longer: the rows, in any order. counts: of both, and the bits of the largest D of the longer ones. Rows that
/// are too long become fallback rows.
template <class T>
__global__ void choose_rows_kernel(Choice<T> in, std::int32_t* usual, std::int32_t* longer, Word* counts) {
  for (std::int64_t i = warp_index(); i < in.rows.count; i += warp_count()) {
    const std::int64_t row = in.rows.first + i;
    if (in.cell_of[row] == in.cell || in.lists.index[row * in.k] < 0) continue;
    double sum = 0.0;
    for (std::int64_t j = lane_index(); j < in.d; j += kWarp) {
      const double difference = static_cast<double>(in.values[row * in.d + j]) - in.center[j];
      sum += difference * difference;
    }
#pragma unroll
    for (int w = kWarp / 2; w > 0; w /= 2) sum += __shfl_xor_sync(kAllLanes, sum, w);
    if (lane_index() != 0) continue;
    const std::int64_t last = row * in.k + in.k - 1;
    const double reach =
        in.lists.index[last] < 0 ? __longlong_as_double(0x7FF0000000000000) : sqrt(in.lists.distance[last]);
    if (in.reach.is_beyond(sum, reach)) continue;
    if (sum <= in.usual) {
      usual[atomicAdd(&counts[0], Word{1})] = static_cast<std::int32_t>(row);
    } else if (sum <= in.most) {
      longer[atomicAdd(&counts[1], Word{1})] = static_cast<std::int32_t>(row);
      atomicMax(&counts[2], bits_of(sum));
    } else {
      in.lists.index[row * in.k] = -1;
    }
  }
}

template <class T>
class RowJoin {
 public:
  RowJoin(const HeldRows<T>& held, const SelfJoin& join, const RowShare& own)
      : held_(held),
        join_(join),
        own_(own),
        k_(join.neighbors),
        all_(held.pool(), held.rows() * k_),
        candidates_(held.pool(), 1) {
    stream().fill(candidates_.data(), 0, 1);
  }

  NeighborLists in_all_rows() {
    steps_ = 1;
    search_own(held_, nullptr, own_);
    return finish();
  }

  NeighborLists in_cells(const Cells<T>& cells) {
    const std::int64_t n = held_.rows(), count = std::ssize(cells.cells);
    steps_ = 2 * count;
    cell_of_ = Buffer<std::uint8_t>(held_.pool(), n);
    chosen_ = Buffer<std::int32_t>(held_.pool(), 2 * own_.count);
    counts_ = Buffer<Word>(held_.pool(), 3);
    const std::int32_t* position = cells.position.data();
    for (std::int64_t g = 0; g < count; ++g) {
      const Cell<T>& cell = cells.cells[static_cast<std::size_t>(g)];
      const std::int64_t rows = cell.rows->rows();
      set_cell_kernel<<<context().grid(rows, kBlock), kBlock, 0, stream()>>>(
          position, rows, static_cast<std::uint8_t>(g), cell_of_.data());
      check(cudaGetLastError());
      // Its own rows among those of the cell, whose positions ascend.
      const auto place = [&](std::int64_t row) {
        return std::lower_bound(cell.position.begin(), cell.position.end(), row) - cell.position.begin();
      };
      const std::int64_t first = place(own_.first);
      search_own(*cell.rows, position, {first, place(own_.first + own_.count) - first});
      position += rows;
    }
    position = cells.position.data();
    for (std::int64_t g = 0; g < count; ++g) {
      search_others(cells, g, position);
      position += cells.cells[static_cast<std::size_t>(g)].rows->rows();
    }
    return finish();
  }

 private:
  const Context& context() const { return *held_.context; }
  const Stream& stream() const { return held_.stream(); }
  DeviceLists lists_from(std::int64_t row) const {
    return {all_.distance.data() + row * k_, all_.index.data() + row * k_};
  }

  /// Queries of a batch, for searches of `rows`, of up to `count` queries.
  std::int64_t batch_size(const HeldRows<T>& rows, std::int64_t count) const {
    const std::int64_t bytes = batch_query_bytes(rows.rows(), k_) + held_.columns() * 16 + k_ * 32;
    const std::int64_t fitting =
        std::min(kMaxMinimaBytes, held_.pool().available() / 2) / bytes / kQueryTile * kQueryTile;
    return std::min(std::max(fitting, kQueryTile), (count + kQueryTile - 1) / kQueryTile * kQueryTile);
  }

  /// Rows `some` of a cell in their own cell; or of all, where position is null. A few before them are searched too,
  /// so that tiles of fp16 rows are whole ones.
  void search_own(const HeldRows<T>& rows, const std::int32_t* position, const RowShare& some) {
    const std::int64_t begin = some.first / kQueryTile * kQueryTile, end = some.first + some.count;
    const std::int64_t d = rows.columns(), size = batch_size(rows, end - begin);
    const RowsSearch<T> search(rows, {.neighbors = k_, .most = size});
    const Buffer<double> values(held_.pool(), size * d);
    const ListBuffers found(held_.pool(), position != nullptr ? size * k_ : 0);
    for (std::int64_t first = begin; first < end; first += size) {
      const std::int64_t count = std::min(size, end - first);
      to_double_kernel<<<context().grid(count * d, kBlock), kBlock, 0, stream()>>>(rows.resident.data() + first * d,
                                                                                   count * d, values.data());
      check(cudaGetLastError());
      SearchQueries queries;
      queries.values = values.data();
      queries.count = count;
      queries.excluded = first;
      queries.has_excluded = !join_.include_self;
      if (search.is_fp16()) {
        queries.tiles = rows.fp16.values.data() + rows.fp16.shape.place(first, 0, 0);
        queries.shape = rows.fp16.shape;
        queries.norm = rows.fp16.norm.data() + first;
        queries.residual = rows.fp16.residual.data() + first;
      }
      const DeviceLists to = position != nullptr ? found.lists() : lists_from(first);
      search.search(queries, {to.distance, to.index, candidates_.data()});
      if (position != nullptr) {
        store_found(context(), {to, count, k_, {position, held_.first_row}, position + first}, all_.lists());
      }
      note_progress(static_cast<double>(first + count - begin) / static_cast<double>(end - begin));
    }
    steps_done_ += 1;
  }

  /// The rows of other cells in cell g.
  void search_others(const Cells<T>& cells, std::int64_t g, const std::int32_t* position) {
    const Cell<T>& cell = cells.cells[static_cast<std::size_t>(g)];
    const HeldRows<T>& rows = *cell.rows;
    const std::int64_t n = own_.count, d = held_.columns();
    const QueryReach reach = query_reach(rows, k_);
    stream().fill(counts_.data(), 0, 3);
    choose_rows_kernel<<<context().grid(n, kBlockWarps), kBlock, 0, stream()>>>(
        Choice<T>{held_.resident.data(), d, own_, cells.centers.data() + cell.center * d, cell.reach, reach.usual,
                  reach.most, cell_of_.data(), static_cast<std::uint8_t>(g), all_.lists(), k_},
        chosen_.data(), chosen_.data() + n, counts_.data());
    check(cudaGetLastError());
    Word counts[3] = {};
    stream().download(counts, counts_.data(), 3);
    const auto search_some = [&](const std::int32_t* chosen, Word count, double max_query_norm) {
      const auto some = static_cast<std::int64_t>(count);
      search_chosen(rows, CellRows{position, held_.first_row},
                    ChosenQueries<T>{.values = held_.resident.data(),
                                     .chosen = chosen,
                                     .count = some,
                                     .batch = batch_size(rows, some),
                                     .max_query_norm = max_query_norm},
                    {all_.lists(), k_, candidates_.data()});
    };
    search_some(chosen_.data(), counts[0], 0.0);
    search_some(chosen_.data() + n, counts[1], longest_norm(rows, counts[2]));
    note_progress(1.0);
    steps_done_ += 1;
  }

  /// of_step: the completed share of a step.
  void note_progress(double of_step) {
    // Made while the device works, since the first use of so much memory takes long.
    if (out_.index.rows() == 0) out_ = NeighborLists(own_.count, k_);
    if (!join_.progress) return;
    stream().wait();
    const double share = (static_cast<double>(steps_done_) + of_step) / static_cast<double>(steps_);
    join_.progress(static_cast<std::int64_t>(share * static_cast<double>(held_.rows())));
  }

  NeighborLists finish() {
    stream().download(out_.distance.data(), lists_from(own_.first).distance, out_.distance.size());
    stream().download(out_.index.data(), lists_from(own_.first).index, out_.index.size());
    Word candidates = 0;
    stream().download(&candidates, candidates_.data(), 1);
    out_.candidates += static_cast<std::int64_t>(candidates);
    return std::move(out_);
  }

  const HeldRows<T>& held_;
  const SelfJoin& join_;
  RowShare own_;
  std::int64_t k_;
  ListBuffers all_;  // (n, k), of which only those of the own rows are complete
  Buffer<Word> candidates_;
  NeighborLists out_;
  std::int64_t steps_ = 1, steps_done_ = 0;
  // Only with cells:
  Buffer<std::uint8_t> cell_of_;  // (n)
  Buffer<std::int32_t> chosen_;   // (2, own rows)
  Buffer<Word> counts_;           // (3)
};

}  // namespace

template <class T>
std::optional<NeighborLists> join_rows(const HeldRows<T>& held, const SelfJoin& join, const RowShare& own) {
  if (join.measure != Measure::squared_euclidean || held.sent || held.rows() < 2 ||
      !can_search_fp16(held, join.measure, join.neighbors + 1)) {
    return std::nullopt;
  }
  constexpr std::int64_t kSampleRows = 256;
  const Matrix<double> sample = draw_sample(held, kSampleRows, 3);
  const SearchMethod method =
      choose_search(held, {sample.view(), -1, join.measure}, join.neighbors + (join.include_self ? 0 : 1), own.count);
  if (method == SearchMethod::tree) return std::nullopt;
  if (method == SearchMethod::cells) return RowJoin<T>(held, join, own).in_cells(*held.index.cells);
  if (held.index.too_dense) return std::nullopt;
  return RowJoin<T>(held, join, own).in_all_rows();
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

#define KITH_INSTANTIATE(T)                                                                              \
  template std::optional<NeighborLists> join_rows(const HeldRows<T>&, const SelfJoin&, const RowShare&); \
  template std::optional<NeighborLists> join_parts(std::span<const HeldRows<T>* const>, PartThreads&, const SelfJoin&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
