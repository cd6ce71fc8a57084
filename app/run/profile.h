// What the clusters are in the units of the file: for each cluster and column of the table the mean, or the commonest
// text and its share, beside that of all rows.
//
// Values are those of the file, before --scale, --pca, --metric cosine and the fills of --nan; features that --encode
// made of one column are that column again. A missing value enters no mean and no share. Units: numbers as in the file,
// dates in days since 1970-01-01, shares from 0 to 1. With weights, every row counts by its weight.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "app/cli/common_options.h"

namespace kith::data {
class PointSource;
class ResultFile;
}  // namespace kith::data

namespace kith::app {

struct Weighting;

/// What the values of a column are. yesno: 1 and 0. The names are those of files: "number", "date", "yesno", "text".
enum class ProfileKind { number, date, yesno, text };
const char* name_of(ProfileKind kind);

struct ProfileColumn {
  std::string name;  // of the file, or "column 3"
  ProfileKind kind = ProfileKind::number;
  double within = 0.0;  // the standard deviation of values from the means of their clusters; NaN for texts
};

/// A column in one cluster, or in all rows.
struct ProfileValue {
  double mean;        // NaN for texts, and if no value is known
  std::string text;   // the commonest one; of equally common ones the first in ascending order
  double share;       // of this text; NaN for numbers
  double all_share;   // of the same text in all rows
  double difference;  // from all rows: of means, in deviations within clusters (infinite if those are 0); of shares
  double order;       // the same without sign, in deviations for texts, too
};

struct Profile {
  std::vector<ProfileColumn> columns;
  std::vector<std::int64_t> counts;                 // (k) rows of the clusters, and their share of all
  std::vector<std::int64_t> nearest_row;            // (k) the most typical row; empty: unknown
  std::vector<std::string> nearest_id;              // (k) its text in --id-column; empty: there is none
  std::vector<std::vector<ProfileValue>> clusters;  // (k), of each column
  std::vector<ProfileValue> all;                    // of each column
  std::vector<std::vector<std::size_t>> order;      // (k) the columns, those first that set the cluster most apart
  double share(std::size_t cluster) const;          // of the rows of all clusters
};

/// What a profile is of. labels: (n) of all rows of the file, -1 for those that belong to no cluster.
struct ProfileRequest {
  data::PointSource& source;    // the points, open
  const CommonOptions& common;  // by which they were opened
  std::span<const std::int32_t> labels;
  std::int64_t clusters = 0;
  const Weighting* weighting = nullptr;  // null: every row weighs 1
};

/// Why there is no profile of these points, with a remedy: they would have to be read again, and cannot be; empty:
/// there is one.
std::string why_no_profile(const data::PointSource& source, const CommonOptions& common);
/// Reads the rows again, in up to four passes, unless they are few enough to be kept. counts and nearest rows are left
/// to the caller. Throws what reading throws.
Profile make_profile(const ProfileRequest& request);
/// The number of a column of its profile, by its name, or by its number from 1, for an option whose value it is. Throws
/// Error(usage) if there is none, or if its values have no mean.
std::size_t find_profile_column(const data::PointSource& source, const char* option, const std::string& name);
/// Gives the clusters other numbers: cluster c becomes what order[c] was.
void renumber(Profile& profile, std::span<const std::int64_t> order);
/// Host bytes that it takes.
std::int64_t profile_bytes(const data::PointSource& source, std::int64_t clusters);

/// A number for people: six digits, in groups of three if it has five or more before the point: "43 474", "0.52".
std::string shown_number(double value);
/// "83 %"; "0.4 %"
std::string shown_percent(double share);
/// "43 474", "2024-03-17", "83 % yes", "student (91 %)"; "-" if no value is known.
std::string shown_value(const ProfileColumn& column, const ProfileValue& value);
/// "-1.3 deviations", "student: 30 % of all"; empty if there is nothing to say.
std::string shown_difference(const ProfileColumn& column, const ProfileValue& value);
/// "cluster 0: 1204 rows (40.1 %), typical row C-00317"
std::string shown_cluster(const Profile& profile, std::size_t cluster);

/// For each cluster a line and a table of the columns that set it most apart.
std::string profile_text(const Profile& profile, std::size_t width);
/// For each cluster, in some words, its rows and three columns.
std::vector<std::string> profile_lines(const Profile& profile);
/// The same columns as profile_text() shows, as an array with an object for each cluster.
nlohmann::ordered_json profile_json(const Profile& profile);
/// A CSV with a row for each cluster and column.
std::string profile_csv(const Profile& profile);
/// The datasets /profile_... of a result (docs/results.md).
void write_profile(data::ResultFile& file, const Profile& profile);

}  // namespace kith::app
