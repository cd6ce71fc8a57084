// Divides the rows of a block, wherever they come from, among the devices.
#include "core/points/composed_backend.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/points/composed_points.h"
#include "core/points/part_reader.h"

namespace kith {
namespace {

/// The arrival of the rows of one part, for the backend that holds the part.
class PartArrival final : public Arrival {
 public:
  PartArrival(Arrival& all, const RowShare& part) : all_(all), part_(part) {}
  std::int64_t wait_for(std::int64_t rows) override {
    return std::min(all_.wait_for(part_.first + rows) - part_.first, part_.count);
  }

 private:
  Arrival& all_;
  RowShare part_;
};

PointsView rows_of_part(const PointsView& values, const RowShare& part) {
  return std::visit(
      [&]<class T>(const MatrixView<T>& all) -> PointsView {
        if (all.data == nullptr) return MatrixView<T>{nullptr, part.count, all.columns};
        return all.middle(part.first, part.count);
      },
      values);
}

}  // namespace

ComposedBackend::ComposedBackend(std::vector<std::unique_ptr<Backend>> backends, std::int64_t least_rows)
    : backends_(std::move(backends)), least_rows_(std::max<std::int64_t>(least_rows, 1)) {}

Device ComposedBackend::device() const {
  Device all = backends_.front()->device();
  for (std::size_t b = 1; b < backends_.size(); ++b) all.free_memory += backends_[b]->device().free_memory;
  all.devices = std::ssize(backends_);
  if (backends_.size() > 1) all.name = std::to_string(backends_.size()) + " x " + all.name;
  return all;
}

std::unique_ptr<Points> ComposedBackend::hold(const PointBlock& block) {
  const std::int64_t rows = rows_of(block.values);
  const auto count =
      static_cast<int>(std::clamp<std::int64_t>(rows / least_rows_, 1, static_cast<std::int64_t>(backends_.size())));
  if (count == 1) return backends_.front()->hold(block);
  ComposedPoints::Parts parts;
  for (int p = 0; p < count; ++p) {
    const RowShare part = row_share(rows, p, count);
    PointBlock own{.values = rows_of_part(block.values, part),
                   .first_row = block.first_row + part.first,
                   .only_searched = block.only_searched};
    std::optional<PartArrival> arrival;
    if (block.arrival != nullptr) own.arrival = &arrival.emplace(*block.arrival, part);
    if (!block.weights.empty()) {
      own.weights = block.weights.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
    }
    if (block.reader != nullptr) {
      parts.readers.push_back(std::make_unique<PartReader>(*block.reader, part.first, part.count));
      own.reader = parts.readers.back().get();
    }
    parts.points.push_back(backends_[static_cast<std::size_t>(p)]->hold(own));
  }
  return std::make_unique<ComposedPoints>(std::move(parts), columns_of(block.values), *this, alone_, block.first_row);
}

std::int64_t ComposedBackend::device_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& backend : backends_) bytes += backend->device_bytes();
  return bytes;
}

}  // namespace kith
