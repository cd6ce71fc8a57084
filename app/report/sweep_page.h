// The page of a result of kith sweep: its scores by the number of clusters.
#pragma once

#include "data/results/stored_result.h"
#include "pictures/page.h"

namespace kith::app {

/// Throws Error(data) where the scores of the result do not fit together.
pictures::Page sweep_page(const data::StoredResult& result);

}  // namespace kith::app
