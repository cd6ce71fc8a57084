// A source with rows and columns exchanged.
#pragma once

#include <memory>
#include <string>

#include "data/format/point_source.h"

namespace kith::data {

/// The columns of `source` become the rows. The first read() reads the whole source and keeps it in memory or, if it
/// takes more than a part of that, in a file of the folder `scratch`. A transposed source gives back
/// the one that it was made of.
std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source, const std::string& scratch = {});

}  // namespace kith::data
