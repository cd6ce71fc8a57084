// How the points of a result were made: the dataset /model, which says how the columns of its table became points, as
// text in JSON, and the group /preparation, the parameters by which they were scaled and projected.
#pragma once

#include <memory>
#include <optional>

#include "core/preparation/preparation.h"
#include "data/format/table_model.h"
#include "data/results/result.h"
#include "data/results/stored_result.h"

namespace kith::data {

/// Writes /model, uint8: the bytes of the text.
void write_model(ResultFile& file, const TableModel& model);

/// Null: the result has none, as those of points without names and of earlier versions. Throws Error(data) if it is
/// damaged, or of a later version that this one would misread.
std::shared_ptr<const TableModel> read_model(const StoredResult& result);

/// Nothing: its points were not prepared. Throws Error(data) if the stored parameters do not match, or if this version
/// does not support them.
std::optional<Preparation> read_preparation(const StoredResult& result);

}  // namespace kith::data
