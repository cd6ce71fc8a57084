// The page of a result of kith sweep: scores against the number of clusters.
#pragma once

#include "data/results/stored_result.h"
#include "pictures/page.h"

namespace kith::app {

/// Throws Error(data) if the scores of the result are inconsistent.
pictures::Page sweep_page(const data::StoredResult& result);

}  // namespace kith::app
