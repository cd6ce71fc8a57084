// Texts for the rows of points, from another file: identifiers and further columns, for formats that have none.
#pragma once

#include <memory>
#include <string>

#include "data/source.h"

namespace kith::data {

/// Points whose rows are named by ReadOptions::ids: FILE.csv, FILE.tsv or a table in Parquet, whose column is named as
/// in FILE:COLUMN, or "id", or is the only one; FILE:/path of an HDF5 file or FILE.npy; or any other text file, which
/// has an identifier a line. Throws Error(data) unless it has as many rows as the points, Error(usage) if the column is
/// ambiguous and `joined`, which may name others, is empty.
std::unique_ptr<PointSource> with_row_ids(std::unique_ptr<PointSource> points, const ReadOptions& options);

/// A column that is to be shown beside answers: of the file of the ids, of the table of the points, or of obs where
/// they are a matrix of AnnData. Throws as PointSource::texts_of().
RowTexts texts_beside(const PointSource& points, const std::string& column);

}  // namespace kith::data
