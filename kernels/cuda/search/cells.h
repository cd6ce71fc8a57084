// Cells: the held rows divided among a few centers, and those of a center into near and far ones where the distances to
// it leave a wide interval free. The rows of a cell are held apart, so that their fp16 copies are relative to its
// center, in units of its size: where rows lie in a few dense clusters, or one among others, the copies of all of them
// differ too little.
//
// A row within r of a center c is at least |q - c| - r from a query q, and one outside of h at least h - |q - c|. A
// cell is left out if that, rounded down by far more than the definition may be rounded, exceeds the root of the k-th D
// of the list.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/points/communicator.h"
#include "core/points/matrix.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Distances of the rows of a cell to its center.
struct CellReach {
  double hole = 0.0, radius = 0.0;  // no row is nearer, none farther

  /// Whether all rows are farther from a query than `reach`, the root of the last D of its list. squared: of the
  /// distance between query and center. A NaN proves nothing. Compares squares, since a root per pair takes longer.
  __host__ __device__ bool is_beyond(double squared, double reach) const {
    constexpr double kUp = 1 + 0x1p-20, kSmallest = 0x1p-900;  // smaller squares may have lost digits
    const double outer = radius + reach * kUp, inner = hole - reach * kUp;
    if (!(squared >= kSmallest) || !(squared < 0x1p1023)) return false;
    return squared > outer * outer * kUp || (inner > 0 && inner * inner > squared * kUp);
  }
};

/// Which queries a search of a cell can hold, by D to the center of its rows.
struct QueryReach {
  double usual = std::numeric_limits<double>::infinity();  // up to it with the usual limit
  double most = std::numeric_limits<double>::infinity();   // beyond it not at all
};

template <class T>
struct Cell {
  std::unique_ptr<HeldRows<T>> rows;  // in ascending order of their positions; there are some
  std::int64_t center = 0;            // its number
  bool is_far = false;                // the far ones of the center
  CellReach reach;                    // from the center
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

/// Squared distances (rows, centers) on the device.
struct CenterDistances {
  double* squared = nullptr;
  std::int64_t centers = 0;
};

/// Fills `out` for rows (count, d) and centers (out.centers, d), both on the device. Asynchronous.
void measure_centers(const Context& context, const double* rows, std::int64_t count, std::int64_t d,
                     const double* centers, const CenterDistances& out);

/// Fills unfilled lists with the nearest rows: those of the cell whose center is nearest to a query, and then those of
/// every other cell that may have nearer ones. Requires held.index.cells. Returns, in ascending order, the fallback
/// queries, whose lists stay unfilled. Throws OutOfMemory, after it may have filled lists. Waits for the device.
template <class T>
std::vector<std::int64_t> search_cells(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

/// The same lists for the held rows `own` themselves, which stay on the device; lists of fallback rows are empty.
/// include_self: a row may be in its own list. progress: called with the number of rows whose lists are complete.
/// Returns the number of distances computed by the definition.
template <class T>
std::int64_t join_cells(const HeldRows<T>& held, const Shard& own, bool include_self,
                        const std::function<void(std::int64_t)>& progress, const ListsView& lists);

}  // namespace kith::cuda
