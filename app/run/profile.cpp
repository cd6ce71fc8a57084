// Reads the points once more, by their labels, and words what it finds.
#include "app/run/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/results.h"
#include "app/run/weighting.h"
#include "core/preparation/group_means.h"
#include "core/runtime/threads.h"
#include "data/file_set.h"
#include "data/format/column_choice.h"
#include "data/format/table_model.h"
#include "data/results/other_formats.h"
#include "data/results/result.h"
#include "data/source.h"

namespace kith::app {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kKeptBytes = std::int64_t{64} << 20;   // of values that are read once and kept for all passes
constexpr std::int64_t kBlockBytes = std::int64_t{16} << 20;  // of others, at a time
constexpr std::size_t kMostShown = 10;                        // columns of a cluster, for people
constexpr std::size_t kLongest = 40;                          // texts and names in them

/// A column of the file among the columns of the points: `count` features from `first` on.
struct SourceColumn {
  std::string name;
  ProfileKind kind = ProfileKind::number;
  std::int64_t first = 0, count = 1;
  bool is_places = false;               // of texts, in one feature
  std::vector<std::string> texts = {};  // of ProfileKind::text
  /// In the table whose means are taken.
  std::int64_t width() const { return kind == ProfileKind::text ? std::ssize(texts) : 1; }
};

ProfileKind profile_kind(data::Encode how) {
  if (how == data::Encode::none || how == data::Encode::unit || how == data::Encode::time) return ProfileKind::number;
  if (how == data::Encode::yesno) return ProfileKind::yesno;
  return data::is_one_number(how) ? ProfileKind::date : ProfileKind::text;
}

/// The columns of the file that the points are made of.
std::vector<SourceColumn> source_columns(const data::PointSource& source) {
  std::vector<SourceColumn> columns;
  std::int64_t first = 0;
  for (const data::ColumnModel& column : data::table_of(source).columns) {
    columns.push_back({.name = column.name.empty() ? fmt::format("column {}", first + 1) : column.name,
                       .kind = profile_kind(column.how),
                       .first = first,
                       .count = column.width(),
                       .is_places = column.how == data::Encode::ordinal,
                       .texts = column.texts});
    first += column.width();
  }
  return columns;
}

/// Rows of the features as rows of numbers and of shares: a place among texts becomes a 1 in the column of its text.
template <class T>
void expand(MatrixView<const T> rows, const std::vector<SourceColumn>& columns, MatrixView<double> out) {
  std::fill_n(out.data, out.size(), 0.0);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    std::int64_t at = 0;
    for (const SourceColumn& column : columns) {
      if (!column.is_places) {
        for (std::int64_t j = 0; j < column.width(); ++j) {
          out(i, at + j) = static_cast<double>(rows(i, column.first + j));
        }
      } else if (const auto place = static_cast<double>(rows(i, column.first)); std::isnan(place)) {
        std::fill_n(&out(i, at), column.width(), kNone);
      } else if (place >= 0 && place < static_cast<double>(column.width())) {
        out(i, at + static_cast<std::int64_t>(place)) = 1.0;
      }
      at += column.width();
    }
  }
}

/// Whether the values of the file are not those of the open points.
bool reads_again(const data::PointSource& source, const CommonOptions& common) {
  const auto table = source.table();
  return takes_directions(metric_of(common)) || source.row_bits().count > 0 || common.nan == "mean" ||
         common.nan == "median" || (table && !table->fills().empty());
}

/// The values that stand in the file: missing ones are NaN.
std::unique_ptr<data::PointSource> open_values(const data::PointSource& source, CommonOptions common) {
  common.metric = name_of(Metric::euclidean);
  common.bits = 0;
  if (!common.nan.empty() && common.nan != "error") common.nan = "drop";
  ExpectedColumns expected;
  if (const auto table = source.table()) {
    auto without_fills = std::make_shared<data::TableModel>(*table);
    for (data::ColumnModel& column : without_fills->columns) column.fill.clear();
    expected.model = std::move(without_fills);
    expected.keep_unknown = common.nan == "drop";
  }
  return data::open_points(source.location(), read_options(common, expected));
}

/// The rows of a source, of which no more are in memory than kKeptBytes, or one block.
class Rows {
 public:
  Rows(data::PointSource& source, const std::vector<SourceColumn>& columns) : source_(source), columns_(columns) {
    for (const SourceColumn& column : columns) width_ += column.width();
    expands_ = std::any_of(columns.begin(), columns.end(), [](const SourceColumn& c) { return c.is_places; });
    const std::int64_t row_bytes = source.columns() * data::size_of(source.held_as()) + (expands_ ? 8 * width_ : 0);
    const bool is_small = source.rows() * row_bytes <= kKeptBytes;
    block_ = is_small ? source.rows() : (kBlockBytes / row_bytes / kRowsOfBlocks + 1) * kRowsOfBlocks;
  }
  RowBlocks blocks() {
    return {source_.rows(), width_, [this](const auto& visit) {
              for (std::int64_t first = 0; first < source_.rows(); first += block_) {
                if (!kept_ || block_ < source_.rows()) kept_ = read(first, std::min(block_, source_.rows() - first));
                visit(view_of(*kept_));
              }
            }};
  }

 private:
  PointsMatrix read(std::int64_t first, std::int64_t count) {
    PointsMatrix rows = data::allocate_points(source_, count);
    std::visit([&](auto& values) { source_.read(first, values.view()); }, rows);
    if (!expands_) return rows;
    Matrix<double> wide(count, width_);
    std::visit([&](const auto& values) { expand(values.view(), columns_, wide.view()); }, std::as_const(rows));
    return wide;
  }

  data::PointSource& source_;
  const std::vector<SourceColumn>& columns_;
  std::int64_t width_ = 0, block_ = 0;
  bool expands_ = false;
  std::optional<PointsMatrix> kept_;
};

/// The means of one cluster, or of all rows, from `at` on.
ProfileValue value_of(const SourceColumn& column, std::span<const double> means, std::size_t at) {
  ProfileValue value{kNone, "", kNone, kNone, 0.0, 0.0};
  if (column.kind != ProfileKind::text) {
    value.mean = means[at];
    return value;
  }
  const auto shares = means.subspan(at, static_cast<std::size_t>(column.width()));
  if (std::isnan(shares[0])) return value;
  const auto most = std::max_element(shares.begin(), shares.end());
  value.text = column.texts[static_cast<std::size_t>(most - shares.begin())];
  value.share = *most;
  return value;
}

/// difference / deviation: infinite where all rows of each cluster have one value.
double in_deviations(double difference, double deviation) {
  if (std::isnan(difference) || difference == 0.0) return 0.0;
  return difference / deviation;
}

/// Completes the value of a cluster by its comparison with all rows.
void compare(ProfileValue& value, const SourceColumn& column, const GroupMeans& means, std::size_t at) {
  if (column.kind != ProfileKind::text) {
    value.difference = in_deviations(value.mean - means.all[at], means.within[at]);
    value.order = std::abs(value.difference);
    return;
  }
  if (value.text.empty()) return;
  at += static_cast<std::size_t>(std::ranges::find(column.texts, value.text) - column.texts.begin());
  value.all_share = means.all[at];
  value.difference = value.share - value.all_share;
  value.order = std::abs(in_deviations(value.difference, means.within[at]));
}

Weights weights_of(const ProfileRequest& request) {
  if (request.weighting == nullptr) return equal_weights(request.source.rows());
  return checked_weights(request.weighting->of_rows, request.weighting->name);
}

/// `days` since 1970-01-01 as a date; with hours if the dates of a cluster lie within few days.
std::string shown_date(double days, bool with_hours) {
  const double whole = with_hours ? std::floor(days) : std::rint(days);
  if (!(std::abs(whole) < 1e7)) return shown_number(days);
  if (!with_hours) return data::date_text(whole);
  const auto minutes = std::min(1439, static_cast<int>(std::rint((days - whole) * 1440.0)));
  return fmt::format("{} {:02}:{:02}", data::date_text(whole), minutes / 60, minutes % 60);
}

/// At most `most` columns of the terminal.
std::string shortened(const std::string& text, std::size_t most) {
  std::string shown = visible(text);
  if (display_width(shown) <= most) return shown;
  std::string kept;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(shown[i]) & 0xC0) != 0x80;  // a code point
    if (begins && display_width(kept) + 3 >= most) break;
    kept += shown[i];
  }
  return kept + "...";
}

/// The text with each of its words shortened, and percentages that stay on one line.
std::string with_short_words(const std::string& text, std::size_t most) {
  std::string shown;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string space = end == text.size() ? "" : text.compare(end, 2, " %") == 0 ? unbreakable(" ") : " ";
    shown += shortened(text.substr(begin, end - begin), most) + space;
    begin = end + 1;
  }
  return shown;
}

std::string shown_value(const ProfileColumn& column, const ProfileValue& value, std::size_t most) {
  if (column.kind == ProfileKind::text) {
    return value.text.empty() ? "-" : fmt::format("{} ({})", shortened(value.text, most), shown_percent(value.share));
  }
  if (std::isnan(value.mean)) return "-";
  if (column.kind == ProfileKind::yesno) return shown_percent(value.mean) + " yes";
  constexpr double kFewDays = 3.0;
  if (column.kind == ProfileKind::date) return shown_date(value.mean, column.within < kFewDays);
  return shown_number(value.mean);
}

std::string shown_difference(const ProfileColumn& column, const ProfileValue& value, std::size_t most) {
  if (column.kind == ProfileKind::text) {
    return value.text.empty()
               ? ""
               : fmt::format("{}: {} of all", shortened(value.text, most), shown_percent(value.all_share));
  }
  if (std::abs(value.difference) < 0.05) return "";  // it would be shown as 0.0
  if (std::isinf(value.difference)) return "one value in each cluster";
  return fmt::format("{:+.1f} deviations", value.difference);
}

/// The table of one cluster, with words of at most `most` columns.
TextTable cluster_columns(const Profile& profile, std::size_t c, std::size_t most) {
  TextTable table{std::vector<Align>(4, Align::wrapped), {}, 1, 2};
  const auto shown = std::min(kMostShown, profile.columns.size());
  for (const std::size_t j : std::span(profile.order[c]).first(shown)) {
    const ProfileColumn& column = profile.columns[j];
    const ProfileValue &value = profile.clusters[c][j], &all = profile.all[j];
    const bool is_same_text = column.kind == ProfileKind::text && value.text == all.text;
    table.rows.push_back({shortened(column.name, kLongest), shown_value(column, value, kLongest),
                          "all " + shown_value(column, all, kLongest),
                          is_same_text ? "" : shown_difference(column, value, kLongest)});
    for (std::string& cell : table.rows.back()) cell = with_short_words(cell, most);
  }
  return table;
}

/// The value in a file: in all its digits, a date as one, a text as it is; empty if it is not known.
std::string stored_value(const ProfileColumn& column, const ProfileValue& value) {
  if (column.kind == ProfileKind::text) return value.text;
  if (std::isnan(value.mean)) return "";
  return column.kind == ProfileKind::date ? shown_date(value.mean, false) : fmt::format("{}", value.mean);
}

std::string stored_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

/// (rows, d) of one member of the values.
void write_matrix(data::ResultFile& file, const std::string& name, const std::vector<std::vector<ProfileValue>>& rows,
                  double ProfileValue::*member) {
  Matrix<double> out(std::ssize(rows), std::ssize(rows[0]));
  for (std::int64_t i = 0; i < out.rows(); ++i) {
    for (std::int64_t j = 0; j < out.columns(); ++j) {
      out(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].*member;
    }
  }
  file.dataset(name, std::as_const(out).view());
}

/// The first bytes of a text, whole characters.
std::string stored_text(const std::string& text) {
  constexpr std::size_t kMostBytes = 256;
  std::size_t bytes = std::min(text.size(), kMostBytes);
  while (bytes < text.size() && bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

/// The means, and if there are texts the commonest ones and their shares: (rows, d).
void write_values(data::ResultFile& file, const std::string& name, const std::vector<std::vector<ProfileValue>>& rows) {
  write_matrix(file, name + "means", rows, &ProfileValue::mean);
  std::vector<std::string> texts;
  for (const auto& row : rows) {
    for (const ProfileValue& value : row) texts.push_back(stored_text(value.text));
  }
  if (std::ranges::all_of(texts, &std::string::empty)) return;
  write_matrix(file, name + "shares", rows, &ProfileValue::share);
  write_texts(file, name + "texts", texts, std::ssize(rows[0]));
}

}  // namespace

const char* name_of(ProfileKind kind) {
  constexpr const char* kNames[] = {"number", "date", "yesno", "text"};
  return kNames[static_cast<int>(kind)];
}

double Profile::share(std::size_t cluster) const {
  const auto rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return static_cast<double>(counts[cluster]) / static_cast<double>(rows);
}

std::string why_no_profile(const data::PointSource& source, const CommonOptions& common) {
  if (source.row_bits().are_packed) {
    return fmt::format("{}: expected columns with a meaning of their own, found bits, eight in each byte; leave it out",
                       source.name());
  }
  if (!reads_again(source, common) || source.set() != nullptr ||
      std::filesystem::is_regular_file(data::parse_location(source.name()).file))
    return "";
  return fmt::format(
      "{}: expected a file, whose values can be read again as they stand there, found a stream; write it "
      "to a file first",
      source.name());
}

std::size_t find_profile_column(const data::PointSource& source, const char* option, const std::string& name) {
  const std::vector<SourceColumn> columns = source_columns(source);
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const SourceColumn& column : columns) names.push_back(column.name);
  const auto at = static_cast<std::size_t>(
      data::choose_column(option, name, names, static_cast<std::int64_t>(names.size()), source.name()));
  if (columns[at].kind != ProfileKind::text) return at;
  throw Error(ExitCode::usage, fmt::format("{} {}: expected a column of numbers, which has a mean, found one of texts; "
                                           "give another column",
                                           option, name));
}

void renumber(Profile& profile, std::span<const std::int64_t> order) {
  const auto reorder = [&order](auto& values) {
    const auto before = values;
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = before[static_cast<std::size_t>(order[c])];
  };
  reorder(profile.counts);
  reorder(profile.nearest_row);
  reorder(profile.nearest_id);
  reorder(profile.clusters);
  reorder(profile.order);
}

std::int64_t profile_bytes(const data::PointSource& source, std::int64_t clusters) {
  // Sums of values, of known values and of squares are there at the same time, of each thread.
  constexpr std::int64_t kSums = 16 * 3, kMeans = 8 + static_cast<std::int64_t>(sizeof(ProfileValue));
  return std::min(kKeptBytes, 2 * source.rows() * source.columns() * 8) + 2 * kBlockBytes +
         clusters * source.columns() * (kSums * usable_threads() + kMeans);
}

Profile make_profile(const ProfileRequest& request) {
  std::unique_ptr<data::PointSource> again;
  if (reads_again(request.source, request.common)) again = open_values(request.source, request.common);
  data::PointSource& source = again ? *again : request.source;
  const std::vector<SourceColumn> columns = source_columns(source);
  Rows rows(source, columns);
  Threads threads(static_cast<int>(request.common.threads));
  const GroupMeans means = group_means(rows.blocks(), request.labels, request.clusters, weights_of(request), threads);
  Profile profile;
  profile.clusters.resize(static_cast<std::size_t>(request.clusters));
  std::size_t at = 0;
  for (const SourceColumn& column : columns) {
    const bool is_text = column.kind == ProfileKind::text;
    profile.columns.push_back({column.name, column.kind, is_text ? kNone : means.within[at]});
    profile.all.push_back(value_of(column, means.all, at));
    profile.all.back().all_share = profile.all.back().share;
    for (std::int64_t c = 0; c < request.clusters; ++c) {
      ProfileValue value = value_of(column, means.mean.row(c), at);
      compare(value, column, means, at);
      profile.clusters[static_cast<std::size_t>(c)].push_back(std::move(value));
    }
    at += static_cast<std::size_t>(column.width());
  }
  for (const std::vector<ProfileValue>& values : profile.clusters) {
    std::vector<std::size_t> order(columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a].order > values[b].order; });
    profile.order.push_back(std::move(order));
  }
  return profile;
}

std::string shown_number(double value) {
  constexpr double kSixDigits = 1e6, kLargest = 1e15;
  const double size = std::abs(value);
  std::string text =
      size >= kSixDigits && size < kLargest ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
  const std::size_t begin = value < 0.0 ? 1 : 0;
  std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
  if (end - begin < 5 || text.find('e') != text.npos) return text;
  for (; end > begin + 3; end -= 3) text.insert(end - 3, " ");
  return text;
}

std::string shown_percent(double share) {
  const double percent = 100.0 * share;
  const bool is_whole = percent == 0.0 || percent == 100.0 || (percent >= 1.0 && percent <= 99.0);
  return is_whole ? fmt::format("{:.0f} %", percent) : fmt::format("{:.{}g} %", percent, percent > 1.0 ? 3 : 1);
}

std::string shown_value(const ProfileColumn& column, const ProfileValue& value) {
  return shown_value(column, value, std::string::npos);
}

std::string shown_difference(const ProfileColumn& column, const ProfileValue& value) {
  return shown_difference(column, value, std::string::npos);
}

std::string shown_cluster(const Profile& profile, std::size_t c) {
  std::string text =
      fmt::format("cluster {}: {} row{} ({:.1f} %)", c, shown_number(static_cast<double>(profile.counts[c])),
                  profile.counts[c] == 1 ? "" : "s", 100.0 * profile.share(c));
  if (!profile.nearest_id.empty() && !profile.nearest_id[c].empty()) {
    text += ", typical row " + visible(profile.nearest_id[c]);
  } else if (!profile.nearest_row.empty() && profile.nearest_row[c] >= 0) {
    text += fmt::format(", typical row {}", profile.nearest_row[c]);
  }
  return text;
}

std::string profile_text(const Profile& profile, std::size_t width) {
  constexpr std::size_t kShortest = 12;  // words
  std::string out;
  for (std::size_t c = 0; c < profile.clusters.size(); ++c) {
    std::size_t most = kLongest;
    while (most > kShortest && least_width(cluster_columns(profile, c, most)) > width) --most;
    out += hang("", wrap(shown_cluster(profile, c), width));
    if (profile.counts[c] == 0) continue;
    out += lay_out(cluster_columns(profile, c, most), width);
    if (profile.columns.size() > kMostShown) {
      out += fmt::format("  and {} columns that differ less\n", profile.columns.size() - kMostShown);
    }
  }
  return out;
}

std::vector<std::string> profile_lines(const Profile& profile) {
  constexpr std::size_t kColumns = 3, kLongestText = 24;
  std::vector<std::string> lines;
  for (std::size_t c = 0; c < profile.clusters.size(); ++c) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < std::min(kColumns, profile.columns.size()) && profile.counts[c] > 0; ++i) {
      const std::size_t j = profile.order[c][i];
      const ProfileColumn& column = profile.columns[j];
      words.push_back(fmt::format("{} {}, all {}", shortened(column.name, kLongestText),
                                  shown_value(column, profile.clusters[c][j], kLongestText),
                                  shown_value(column, profile.all[j], kLongestText)));
    }
    for (std::string& word : words) word = unbreakable(word);
    lines.push_back(fmt::format("{} row{}, {:.1f} %: {}",
                                unbreakable(shown_number(static_cast<double>(profile.counts[c]))),
                                profile.counts[c] == 1 ? "" : "s", 100.0 * profile.share(c), fmt::join(words, "; ")));
  }
  return lines;
}

nlohmann::ordered_json profile_json(const Profile& profile) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (std::size_t c = 0; c < profile.clusters.size(); ++c) {
    Json cluster{{"cluster", c}, {"rows", profile.counts[c]}};
    if (!profile.nearest_row.empty()) cluster["typical_row"] = profile.nearest_row[c];
    if (!profile.nearest_id.empty()) cluster["typical_id"] = profile.nearest_id[c];
    Json columns = Json::array();
    for (const std::size_t j : std::span(profile.order[c]).first(std::min(kMostShown, profile.columns.size()))) {
      const ProfileColumn& column = profile.columns[j];
      const ProfileValue &value = profile.clusters[c][j], &of_all = profile.all[j];
      Json one{{"column", column.name}, {"kind", name_of(column.kind)}};
      if (column.kind == ProfileKind::text) {
        one.update({{"text", value.text},
                    {"share", json_number(value.share)},
                    {"share_in_all", json_number(value.all_share)},
                    {"text_of_all", of_all.text},
                    {"share_of_all", json_number(of_all.share)}});
      } else {
        one.update({{"mean", json_number(value.mean)}, {"mean_of_all", json_number(of_all.mean)}});
      }
      one["difference"] = json_number(value.difference);
      columns.push_back(std::move(one));
    }
    cluster["columns"] = std::move(columns);
    all.push_back(std::move(cluster));
  }
  return all;
}

std::string profile_csv(const Profile& profile) {
  std::string out = "cluster,rows,column,kind,value,mean,share,all_value,all_mean,all_share,difference\n";
  for (std::size_t c = 0; c < profile.clusters.size(); ++c) {
    for (const std::size_t j : profile.order[c]) {
      const ProfileColumn& column = profile.columns[j];
      const ProfileValue &value = profile.clusters[c][j], &all = profile.all[j];
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", c, profile.counts[c], data::csv_field(column.name),
                         name_of(column.kind), data::csv_field(stored_value(column, value)), stored_number(value.mean),
                         stored_number(value.share), data::csv_field(stored_value(column, all)),
                         stored_number(all.mean), stored_number(all.share), stored_number(value.difference));
    }
  }
  return out;
}

void write_profile(data::ResultFile& file, const Profile& profile) {
  std::vector<std::string> names, kinds;
  std::vector<double> deviations;
  for (const ProfileColumn& column : profile.columns) {
    names.push_back(column.name);
    kinds.emplace_back(name_of(column.kind));
    deviations.push_back(column.within);
  }
  write_names(file, "profile_columns", names);
  write_names(file, "profile_kinds", kinds);
  file.dataset("profile_deviations", std::span<const double>(deviations));
  write_matrix(file, "profile_differences", profile.clusters, &ProfileValue::difference);
  write_values(file, "profile_", profile.clusters);
  write_values(file, "profile_all_", {profile.all});
}

}  // namespace kith::app
