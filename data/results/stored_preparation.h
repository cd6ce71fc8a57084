// The group /preparation of a result: the parameters by which its points were scaled and projected.
#pragma once

#include <optional>

#include "core/preparation/preparation.h"
#include "data/results/stored_result.h"

namespace kith::data {

/// Nothing: its points were not prepared. Throws Error(data) if the stored parameters do not match, or if this version
/// does not support them.
std::optional<Preparation> read_preparation(const StoredResult& result);

}  // namespace kith::data
