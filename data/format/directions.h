// Rows for --metric cosine: float64, and scaled to length 1.
#pragma once

#include <memory>

#include "data/format/point_source.h"

namespace kith::data {

/// The rows of a source as ReadOptions::form says. The class of the values stays, so that results have its precision,
/// but they are held as float64: directions that are rounded to float32 change the order of near-duplicates.
/// Rows without a direction are refused; with Missing::keep and no Fill, rows of zeros become NaN, so that they are
/// dropped, and a remark counts them.
std::unique_ptr<PointSource> in_form(std::unique_ptr<PointSource> source, const ReadOptions& options);

}  // namespace kith::data
