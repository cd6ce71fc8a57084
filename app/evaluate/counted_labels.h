// Which rows count in an evaluation: those with a label and a positive weight.
#pragma once

#include <optional>
#include <vector>

#include "app/run/progress.h"
#include "app/run/weighting.h"
#include "core/scores/agreement.h"
#include "data/labels.h"

namespace kith::app {

/// Sets the weights of rows without a label to 0 and warns of their number; creates the weights if need be. `none`: the
/// label that stands for none in labels of clusters, where dropped rows and DBSCAN's noise have -1; null: of classes,
/// any label is one. Throws Error(data) if no row remains.
void ignore_unlabelled(const data::Labels& labels, const char* none, std::optional<Weighting>& weighting,
                       Progress& progress);

/// Removes labels without rows that count. Rows that do not count have the code -1.
void keep_counted(data::Labels& labels, const std::optional<Weighting>& weighting);

/// The table of the rows that count; a row of weight w counts as w rows. Throws Error(usage) for weights that are not
/// whole numbers, and if there are too many rows to count pairs.
Contingency contingency_of(const data::Labels& labels, const data::Labels& truth,
                           const std::optional<Weighting>& weighting);

}  // namespace kith::app
