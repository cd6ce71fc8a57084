// The centers of cells of rows, chosen from samples of the rows and of the queries.
#pragma once

#include <vector>

#include "core/points/matrix.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/cells.h"

namespace kith::cuda {

inline constexpr std::int64_t kMostCenters = 4 * kWarp;  // a lane has one of each 32

struct ChosenCenters {
  Matrix<double> values;      // none if no number of centers up to kMostCenters serves the purpose
  std::vector<double> limit;  // of each: D of its near rows is not above this
  double share = 1.0;         // estimate: of the rows, those in cells that a query needs
};

/// For precision, as few centers as decide most queries; for pruning, those for which queries need the fewest rows, and
/// no more of them than that takes. Requires resident rows. Throws OutOfMemory. Waits for the device.
template <class T>
ChosenCenters choose_centers(const HeldRows<T>& held, const SearchSample& sample, CellPurpose purpose);

}  // namespace kith::cuda
