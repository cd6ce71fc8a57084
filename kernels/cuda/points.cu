// Points of the CUDA backend: holds the rows and their state, and calls the function of each operation.
#include "kernels/cuda/points.h"

#include <limits>

#include "core/neighbors/neighbors.h"
#include "kernels/cuda/assign/shard_exchange.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/operations.h"

namespace kith::cuda {
namespace {

__global__ void fill_kernel(double* out, double value, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) out[i] = value;
}

template <class T>
class CudaPoints final : public Points {
 public:
  CudaPoints(std::shared_ptr<Context> context, MatrixView<const T> values, const PointBlock& block,
             std::int64_t block_rows)
      : held_(std::move(context), values, block, block_rows) {
    if (!held_.unread) reset();
  }
  /// Rows that are on the device alone, for searches.
  CudaPoints(HeldRows<T> rows, SearchKnowledge& known) : held_(std::move(rows)), known_(&known) {
    held_.index.know(known);
  }

  std::int64_t rows() const override { return held_.rows(); }
  std::int64_t columns() const override { return held_.columns(); }

  int threads() const override { return usable_threads(); }
  std::unique_ptr<Points> hold(const PointBlock& block) const override {
    return with_memory(held_, [&] { return hold_points(held_.context, block, 0); });
  }
  void add_range(ColumnRange& range) const override {
    with_memory(held_, [&] { cuda::add_range(held_, range); });
  }
  void add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const override {
    with_memory(held_, [&] { cuda::add_magnitudes(held_, scales, magnitudes); });
  }
  void prepare(const DataPlan& plan) override {
    with_memory(held_, [&] { cuda::prepare(held_, plan); });
  }

  void reset() override {
    check(cudaSetDevice(held_.context->device));
    const Stream& stream = held_.stream();
    stream.fill(held_.label.data(), 0xFF, rows());
    stream.fill(held_.summed.data(), 0xFF, rows());
    fill_kernel<<<held_.context->grid(rows(), kBlock), kBlock, 0, stream>>>(
        held_.distance.data(), std::numeric_limits<double>::infinity(), rows());
    check(cudaGetLastError());
    held_.observed = {};
    held_.totals.current = false;
    held_.trial = {};
    stream.wait();  // so that a timing of the next operation excludes this
  }
  void assign(const AssignRequest& request, Assignment& assignment) override {
    with_memory(held_, [&] { cuda::assign(held_, request, assignment); });
  }
  void measure(const MeasureRequest& request, std::span<Limbs> inertia) override {
    with_memory(held_, [&] { cuda::measure(held_, request, inertia); });
  }
  void sweep(const SweepRequest& request, Assignment& assignment) override {
    if (!held_.sent) return Points::sweep(request, assignment);
    with_memory(held_, [&] { cuda::sweep(held_, request, assignment); });
  }
  bool nearest_rows(const NearestRowsRequest& request, NearestRows& result) const override {
    return with_memory(held_, [&] { return cuda::nearest_rows(held_, request, result); });
  }
  void update_sums(ClusterSums& sums) override {
    with_memory(held_, [&] { cuda::update_sums(held_, sums); });
  }
  IterateResult iterate(const IterateRequest& request, LloydState& state) override {
    Points* const self = this;
    Threads alone(1);
    SingleProcess process;
    return iterate_shards({&self, 1}, alone, process, request, state);
  }
  IterateResult iterate_shards(std::span<Points* const> shards, Threads& threads, Communicator& processes,
                               const IterateRequest& request, LloydState& state) override {
    std::vector<HeldRows<T>*> held;
    for (Points* shard : shards) held.push_back(&dynamic_cast<CudaPoints&>(*shard).held_);
    return cuda::iterate<T>(held, threads, processes, request, state);
  }
  bool iterates_in_shards(std::int64_t count) const override {
    return held_.weight.size() == 0 && count <= kMostShards;
  }
  void relabel(std::int64_t row, std::int32_t label) override {
    check(cudaSetDevice(held_.context->device));
    const std::int64_t position = row - held_.first_row;
    held_.stream().upload(held_.label.data() + position, &label, 1);
    held_.stream().wait();
  }
  void set_labels(std::span<const std::int32_t> labels) override {
    check(cudaSetDevice(held_.context->device));
    held_.stream().upload(held_.label.data(), labels.data(), rows());
    held_.observed = {};
  }
  void set_state(const RowState& from) override {
    set_labels(from.label);
    held_.stream().upload(held_.summed.data(), from.summed.data(), rows());
    held_.stream().upload(held_.distance.data(), from.distance.data(), rows());
    held_.totals.current = false;
    held_.trial = {};
    held_.observed.labelled_clusters = from.clusters;
  }
  void take_choices(const Points& from) override {
    const auto* other = dynamic_cast<const CudaPoints*>(&from);
    if (other == nullptr) return;
    const std::int64_t labelled = held_.observed.labelled_clusters;
    held_.observed = other->held_.observed;
    held_.observed.labelled_clusters = labelled;
    held_.index.know(other->held_.index.knowledge());
  }
  void copy_state(const RowState& out) const override {
    labels(out.label);
    held_.stream().download(out.summed.data(), held_.summed.data(), rows());
    distances(out.distance);
  }
  std::vector<FarRow> farthest(std::int64_t count) const override {
    return with_memory(held_, [&] { return cuda::farthest(held_, count); });
  }
  void labels(std::span<std::int32_t> out) const override {
    check(cudaSetDevice(held_.context->device));
    held_.stream().download(out.data(), held_.label.data(), rows());
  }
  void distances(std::span<double> out) const override {
    check(cudaSetDevice(held_.context->device));
    held_.stream().download(out.data(), held_.distance.data(), rows());
  }
  /// Copies from the caller's memory or file, which outlives the points.
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override {
    std::vector<std::int64_t> places(rows.begin(), rows.end());
    for (std::int64_t& place : places) place -= held_.first_row;
    held_.host.copy_values(places, out);
  }

  double update_min_distance(std::span<const double> seed) override {
    return with_memory(held_, [&] { return cuda::update_min_distance(held_, seed); });
  }
  std::int64_t total_min_distance(FixedScale scale) const override {
    return with_memory(held_, [&] { return cuda::total_min_distance(held_, scale); });
  }
  void draw_rows(FixedScale scale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) const override {
    with_memory(held_, [&] { cuda::draw_rows(held_, scale, targets, rows); });
  }
  void try_candidates(MatrixView<const double> candidates, FixedScale scale, std::span<std::int64_t> totals) override {
    with_memory(held_, [&] { cuda::try_candidates(held_, candidates, scale, totals); });
  }
  double commit_candidate(std::int64_t chosen) override {
    return with_memory(held_, [&] { return cuda::commit_candidate(held_, chosen); });
  }

  void search(const Queries& queries, NeighborLists& lists) const override {
    if (searches_in_blocks(held_, queries))
      return search_blocks<T>(held_, queries.measure, [&](const Points& block) { block.search(queries, lists); });
    if (!is_of_bits(queries.measure)) plan_kept_rows();
    with_memory(held_, [&] { cuda::search(held_, queries, lists); });
    if (known_ != nullptr) *known_ = held_.index.knowledge();
  }
  std::optional<NeighborLists> self_join(const SelfJoin& join) const override {
    std::optional<NeighborLists> lists = with_memory(held_, [&] { return cuda::self_join(held_, join); });
    if (!lists) return std::nullopt;
    const auto completed = complete_join(
        {.first_row = held_.first_row,
         .columns = columns(),
         .own = {0, rows()},
         .copy = [this](std::span<const std::int64_t> numbers, MatrixView<double> out) { copy_rows(numbers, out); },
         .search = [this](const Queries& queries, NeighborLists& found) { search(queries, found); }},
        join, *lists);
    if (!completed) return std::nullopt;
    lists->candidates += completed->candidates;
    lists->fallback_queries += completed->queries;
    return lists;
  }
  std::optional<NeighborLists> join_shards(std::span<const Points* const> shards, Threads& threads,
                                           const SelfJoin& join) const override {
    std::vector<const HeldRows<T>*> held;
    for (const Points* shard : shards) held.push_back(&dynamic_cast<const CudaPoints&>(*shard).held_);
    return cuda::join_shards<T>(held, threads, join);
  }
  void search_radius(const Queries& queries, RadiusLists& found) const override {
    if (searches_in_blocks(held_, queries))
      return search_blocks<T>(held_, queries.measure,
                              [&](const Points& block) { block.search_radius(queries, found); });
    if (!is_of_bits(queries.measure)) plan_kept_rows();
    with_memory(held_, [&] { cuda::search_radius(held_, queries, found); });
  }
  void all_distances(const Queries& queries, MatrixView<double> out) const override {
    with_memory(held_, [&] { cuda::all_distances(held_, queries, out); });
  }
  void cluster_distances(const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) const override {
    with_memory(held_, [&] { cuda::cluster_distances(held_, request, sums); });
  }

 private:
  /// The first search has read the rows and planned block by block; the next ones need a plan of all.
  void plan_kept_rows() const {
    if (held_.plan.columns > 0) return;
    const DataPlan plan = make_plan(*this);
    with_memory(held_, [&] { cuda::prepare(held_, plan); });
  }

  mutable HeldRows<T> held_;  // a const operation may have to move the points off the device
  SearchKnowledge* known_ = nullptr;
};

}  // namespace

cudaError_t probe_device() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, fill_kernel);
}

std::unique_ptr<Points> hold_points(std::shared_ptr<Context> context, const PointBlock& block,
                                    std::int64_t block_rows) {
  check(cudaSetDevice(context->device));
  return std::visit(
      [&]<class T>(MatrixView<const T> values) -> std::unique_ptr<Points> {
        return std::make_unique<CudaPoints<T>>(std::move(context), values, block, block_rows);
      },
      block.values);
}

template <class T>
std::unique_ptr<Points> hold_block(std::shared_ptr<Context> context, const DeviceBlock<T>& block,
                                   SearchKnowledge& known) {
  Buffer<T> values(const_cast<T*>(block.values), block.count * block.d);  // nothing writes them
  HeldRows<T> held(std::move(context), std::move(values), block.count, block.d);
  held.first_row = block.first_row;
  return std::make_unique<CudaPoints<T>>(std::move(held), known);
}

#define KITH_INSTANTIATE(T) \
  template std::unique_ptr<Points> hold_block(std::shared_ptr<Context>, const DeviceBlock<T>&, SearchKnowledge&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
