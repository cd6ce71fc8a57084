// The held rows divided among a few centers, and those of a center into near and far ones where the distances to it
// leave a wide interval free. The rows of a cell are held apart, so that their fp16 copies are relative to its center,
// in units of its size: where rows lie in a few dense clusters, or one among others, the copies of all of them differ
// too little.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/points/matrix.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/cell_reach.h"

namespace kith::cuda {

template <class T>
struct Cell {
  std::unique_ptr<HeldRows<T>> rows;   // in ascending order of their positions; there are some
  std::vector<std::int32_t> position;  // of each among the held rows
  std::int64_t center = 0;             // its number
  bool is_far = false;                 // the far ones of the center
  CellReach reach;                     // from the center
};

template <class T>
struct Cells {
  Buffer<double> centers;  // (center_count, d)
  std::int64_t center_count = 0;
  Buffer<T> values;               // the rows of all cells
  std::vector<Cell<T>> cells;     // in ascending order of their centers, near rows before far ones
  Buffer<std::int32_t> position;  // (n) the positions of all cells, one after another
  double share = 1.0;             // estimate: of the rows, those in cells that a query needs
};

/// Why the rows are divided.
enum class CellPurpose {
  precision,  // products in fp16 relative to few centers decide most queries
  pruning     // most queries need few cells
};

/// What a search of a sample of the queries in a sample of the rows showed.
struct SearchSample {
  Matrix<double> queries;
  std::vector<double> nearest;    // D from each query to a near row
  double error = 0.0;             // of D by fp16, for rows at distance 1 from their center
  std::int64_t most_centers = 0;  // at most kMostCenters
};

/// Few cells that serve the purpose for the sampled queries; null if there are none. Requires resident rows. Throws
/// OutOfMemory. Waits for the device.
template <class T>
std::shared_ptr<Cells<T>> make_cells(const HeldRows<T>& held, const SearchSample& sample, CellPurpose purpose);

}  // namespace kith::cuda
