// Opening points by the name of a file: the table of formats, and the readers that choose a format from it. Texts for
// the rows of points, from another file: identifiers and further columns, for formats that have none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// Opens FILE, FILE:DATASET or a set of files (data/file_set.h) for reading. Throws Error(data) with file, dataset,
/// expected, found and remedy.
std::unique_ptr<PointSource> open_points(const std::string& name, const ReadOptions& options = {});

/// Opens lines of a text table as a file with them is opened, but no identifiers. first_line: the number of the line
/// with the first row, for messages.
std::unique_ptr<PointSource> open_text_lines(const std::string& name, const std::string& text, std::int64_t first_line,
                                             const ReadOptions& options);

/// Opens a matrix as float64. FILE of format "kith-clusters" means FILE:/centroids. `header`: of text whose first line
/// may name the columns or not. Its columns have the order of the names `like`, if it has each of them once.
std::unique_ptr<PointSource> open_centroids(const std::string& name, Header header = Header::automatic,
                                            const std::vector<std::string>& like = {});
/// Opens and reads it.
Matrix<double> read_centroids(const std::string& name);

/// Every dataset of a file, or of the group that `location` names, readable or not, in the order of the paths; or the
/// one dataset that it names. Throws Error(data) with the missing name and the existing ones.
std::vector<DatasetInfo> list_datasets(const Location& location, const ReadOptions& options = {});
std::vector<DatasetInfo> list_datasets(const std::string& file);

/// Whether the file is read as a text table: for its content or, if that is of no known format, for its name.
bool is_read_as_text(const std::string& file);

/// Whether the name of the file ends as those of a format do, also of one that only other builds read.
bool has_known_ending(const std::string& file);

/// The table of formats.
std::span<const FormatEntry> formats();

/// Points whose rows are named by ReadOptions::ids: FILE.csv, FILE.tsv or a table in Parquet, whose column is named as
/// in FILE:COLUMN, or "id", or is the only one; FILE:/path of an HDF5 file or FILE.npy; or any other text file, which
/// has an identifier a line. Throws Error(data) unless it has as many rows as the points, Error(usage) if the column is
/// ambiguous and `joined`, which may name others, is empty.
std::unique_ptr<PointSource> with_row_ids(std::unique_ptr<PointSource> points, const ReadOptions& options);

/// A column that is to be shown beside answers: of the file of the ids, of the table of the points, or of obs where
/// they are a matrix of AnnData. Throws as PointSource::texts_of().
RowTexts texts_beside(const PointSource& points, const std::string& column);

}  // namespace kith::data
