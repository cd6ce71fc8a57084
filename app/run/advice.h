// Advice where the answer to a run is right but may mislead: identifiers, scales, as many clusters as rows.
#pragma once

#include <cstdint>

#include "app/run/held_points.h"

namespace kith::app {

/// Prints one line for each thing in the points that distances should perhaps not use: a column that looks like an
/// identifier, or one with nearly all of the variance. Looks at rows that are in memory: all of a column whose first
/// values may be an identifier, else a sample. Nothing with --no-advice, nor if an option has prepared the points.
void advise_on_points(const HeldPoints& held, const data::PointSource& source, const CommonOptions& common);

/// The same about the number of clusters.
void advise_on_clusters(std::int64_t clusters, std::int64_t rows, const CommonOptions& common);

/// The same about one start for each number of clusters.
void advise_on_starts(std::int64_t runs, const CommonOptions& common);

}  // namespace kith::app
