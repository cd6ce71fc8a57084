// The held rows divided among a few centers. The rows of a group are held apart, so that their fp16 copies are relative
// to its center: where rows lie in a few dense clusters, the copies of all of them differ too little.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

template <class T>
struct CenteredGroup {
  std::unique_ptr<HeldRows<T>> rows;   // in ascending order of their positions; null: there are none
  std::vector<std::int32_t> position;  // of each among the held rows
  double radius = 0.0;                 // no row is farther from the center
};

template <class T>
struct CenteredGroups {
  Buffer<double> centers;  // (groups, d)
  std::vector<CenteredGroup<T>> groups;
};

/// What a search of a sample of the queries in a sample of the rows showed.
struct SearchSample {
  Matrix<double> queries;
  std::vector<double> nearest;  // D from each query to a near row
  double error = 0.0;           // of D by fp16, for rows at distance 1 from their center
};

/// Few groups in which products in fp16 decide most of the sampled queries; null if there are none. Requires resident
/// rows. Throws OutOfMemory. Waits for the device.
template <class T>
std::shared_ptr<CenteredGroups<T>> make_centered_groups(const HeldRows<T>& held, const SearchSample& sample);

}  // namespace kith::cuda
