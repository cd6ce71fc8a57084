// Which labelled rows count in an evaluation: those that have a label and weigh something.
#pragma once

#include <optional>
#include <vector>

#include "app/run/progress.h"
#include "app/run/weighting.h"
#include "core/agreement.h"
#include "data/labels.h"

namespace kith::app {

/// The label -1 means none: rows that --nan drop left out have it, and what DBSCAN calls noise. Such rows weigh 0 from
/// then on, and a warning says how many they are. Throws Error(data) where no other row is there.
void leave_out_unlabelled(const data::Labels& labels, std::optional<Weighting>& weighting, Progress& progress);

/// Leaves to the labels those that a counted row has; rows that do not count have the code -1.
void keep_counted(data::Labels& labels, const std::optional<Weighting>& weighting);

/// Of the rows that count, whole weights as copies. Throws Error(usage) for weights that are not whole, whose rows
/// cannot be paired, and where copies are more than pairs can be counted of.
Contingency contingency_of(const data::Labels& labels, const data::Labels& truth,
                           const std::optional<Weighting>& weighting);

}  // namespace kith::app
