// The dataset /model of a result: how the columns of its table became points, as text in JSON.
#pragma once

#include <memory>

#include "data/format/table_model.h"
#include "data/results/result.h"
#include "data/results/stored_result.h"

namespace kith::data {

/// Writes /model, uint8: the bytes of the text.
void write_model(ResultFile& file, const TableModel& model);

/// Null: the result has none, as those of points without names and of earlier versions. Throws Error(data) if it is
/// damaged, or of a later version that this one would misread.
std::shared_ptr<const TableModel> read_model(const StoredResult& result);

}  // namespace kith::data
