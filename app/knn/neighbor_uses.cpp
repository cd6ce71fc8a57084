// Collects votes or lists as they arrive, and writes what follows from them.
#include "app/knn/knn.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "app/cli/common_options.h"
#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/model.h"
#include "core/neighbors/list_scores.h"
#include "core/scores/agreement.h"
#include "data/io/numbers.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

/// The values of labels that all are numbers from 0 to 2^31 - 1.
std::optional<std::vector<std::int32_t>> whole_numbers(const data::Labels& labels) {
  std::vector<std::int32_t> values;
  for (const std::string& text : labels.values) {
    std::int32_t& value = values.emplace_back();
    if (!data::read_number(text, value) || value < 0) return std::nullopt;
  }
  return values;
}

constexpr std::size_t kMostClasses = 40, kListed = 20;  // classes of a table; of a list of the worst

/// A class in a table; longer names lose their middle, since the names of some have a common beginning.
std::string shown_name(const std::string& name, std::size_t width = 30) {
  const std::string text = visible(name);
  if (display_width(text) <= width) return text;
  std::vector<std::size_t> begins;  // of the code points
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) begins.push_back(i);
  }
  const std::size_t kept = width - 3;
  return text.substr(0, begins[kept / 2]) + "..." + text.substr(begins[begins.size() - (kept - kept / 2)]);
}

/// The classes that are known or found somewhere, as places in the names.
std::vector<std::size_t> classes_with_rows(const ClassificationReport& report) {
  std::vector<bool> has_rows(report.names.size());
  for (const Contingency::Cell& cell : report.confusion) {
    has_rows[static_cast<std::size_t>(cell.cluster)] = has_rows[static_cast<std::size_t>(cell.class_label)] = true;
  }
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < has_rows.size(); ++c) {
    if (has_rows[c]) classes.push_back(c);
  }
  return classes;
}

/// Precision, recall and F1 of each class or, if there are many, of those with the lowest F1.
std::string show_classes(const ClassificationReport& report, std::size_t width) {
  const auto line = [](const std::string& name, const ClassScores& scores) {
    return std::vector<std::string>{name, fmt::format("{:.4f}", scores.precision), fmt::format("{:.4f}", scores.recall),
                                    fmt::format("{:.4f}", scores.f1), std::to_string(scores.rows)};
  };
  std::vector<std::size_t> order = classes_with_rows(report);
  const std::size_t classes = order.size();
  const bool are_many = classes > kMostClasses;
  if (are_many) {
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return report.scores.classes[a].f1 < report.scores.classes[b].f1; });
    order.resize(kListed);
  }
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right},
                  {{"class", "precision", "recall", "F1", "rows"}}};
  for (const std::size_t c : order) table.rows.push_back(line(shown_name(report.names[c]), report.scores.classes[c]));
  table.rows.push_back(line("macro mean", report.scores.mean));
  const std::string title = are_many ? fmt::format("the {} of {} classes with the lowest F1\n", kListed, classes) : "";
  return title + lay_out(table, width);
}

/// The confusion matrix or, of many classes, the pairs of classes that were confused most often.
std::string show_confusion(const ClassificationReport& report, std::size_t width) {
  constexpr std::size_t kMostColumns = 12, kHeading = 12;
  const std::vector<std::size_t> classes = classes_with_rows(report);
  if (classes.size() <= kMostColumns) {
    TextTable table{std::vector<Align>(classes.size() + 1, Align::right), {{"known"}}};
    table.columns[0] = Align::left;
    std::vector<std::size_t> place(report.names.size());
    for (const std::size_t c : classes) {
      place[c] = table.rows[0].size();
      table.rows[0].push_back(shown_name(report.names[c], kHeading));
    }
    for (const std::size_t c : classes) {
      table.rows.emplace_back(classes.size() + 1, "0");
      table.rows.back()[0] = shown_name(report.names[c]);
    }
    for (const Contingency::Cell& cell : report.confusion) {
      table.rows[place[static_cast<std::size_t>(cell.cluster)]][place[static_cast<std::size_t>(cell.class_label)]] =
          std::to_string(cell.rows);
    }
    return "rows of each known class that were found as\n" + lay_out(table, width);
  }
  std::vector<Contingency::Cell> wrong;
  std::ranges::copy_if(report.confusion, std::back_inserter(wrong),
                       [](const Contingency::Cell& cell) { return cell.cluster != cell.class_label; });
  if (wrong.empty()) return "";
  std::ranges::stable_sort(wrong, std::ranges::greater(), &Contingency::Cell::rows);
  const std::size_t listed = std::min(wrong.size(), kListed);
  TextTable table{{Align::left, Align::left, Align::right}, {{"known", "found", "rows"}}};
  for (std::size_t i = 0; i < listed; ++i) {
    table.rows.push_back({shown_name(report.names[static_cast<std::size_t>(wrong[i].cluster)]),
                          shown_name(report.names[static_cast<std::size_t>(wrong[i].class_label)]),
                          std::to_string(wrong[i].rows)});
  }
  return fmt::format("most frequent confusions, {} of {}\n", listed, wrong.size()) + lay_out(table, width);
}

std::string show(const ClassificationReport& report, std::size_t width) {
  const std::string confusion = show_confusion(report, width);
  return fmt::format("accuracy {:.4f}, {} of {} right\n\n{}{}{}", report.scores.accuracy(), report.scores.right,
                     report.scores.rows, show_classes(report, width), confusion.empty() ? "" : "\n", confusion);
}

class Classes final : public NeighborOutput {
 public:
  Classes(const NeighborOutputRequest& request, const data::Labels& labels, const data::Labels* known,
          VoteWeight weight, bool shown, Report& report)
      : request_(request),
        labels_(labels),
        known_(known),
        weight_(weight),
        shown_(shown),
        report_(report),
        votes_(std::ssize(labels.values)),
        right_{std::vector<std::int64_t>(static_cast<std::size_t>(request.neighbors), 0),
               std::vector<std::int64_t>(static_cast<std::size_t>(request.neighbors), 0)} {}

  void append(std::int64_t first, const NeighborLists& lists) override {
    const Matrix<double> distances = convert_distances<double>(lists.distance.view(), request_.unit, first);
    for (std::int64_t i = 0; i < lists.index.rows(); ++i) {
      for (const VoteWeight weight : {VoteWeight::equal, VoteWeight::distance}) {
        if (request_.queries != nullptr && weight != weight_) continue;
        votes_.begin(weight);
        for (std::int64_t j = 0; j < lists.index.columns(); ++j) {
          votes_.add(code_of(lists.index(i, j)), distances(i, j));
          const bool is_right = request_.queries == nullptr && votes_.winner() == code_of(first + i);
          if (is_right) ++right_[weight == VoteWeight::equal ? 0 : 1][static_cast<std::size_t>(j)];
        }
        if (weight != weight_) continue;
        found_.push_back(votes_.winner());
        share_.push_back(votes_.share());
      }
    }
  }

  void finish() override {
    if (request_.queries == nullptr) show_accuracy();
    if (known_ != nullptr) compare();
    if (request_.path.empty()) {
      if (shown_ && request_.queries != nullptr && known_ == nullptr) show_classes();
      return;
    }
    if (data::label_format(request_.path) != data::LabelFormat::none) return write_found();
    data::ResultFile file(request_.path, request_.options);
    ResultHead head = request_.head;
    head.format = "kith-classes";
    write_head(file, head, *request_.base);
    if (request_.queries != nullptr) write_queries(file, *request_.queries);
    file.attribute("known", stored_name(labels_.name));
    write_names(file, "classes", known_ != nullptr ? report_.classification->names : labels_.values);
    if (known_ != nullptr) write_comparison(file);
    file.dataset("labels", std::span<const std::int32_t>(found_));
    file.dataset("share", std::span<const double>(share_));
    if (request_.queries == nullptr) {
      file.dataset("right", std::span<const std::int64_t>(right_[0]));
      file.dataset("right_by_distance", std::span<const std::int64_t>(right_[1]));
    }
    file.finish();
  }

 private:
  std::int32_t code_of(std::int64_t row) const { return labels_.codes[static_cast<std::size_t>(row)]; }

  /// Classes that no row of the base has come behind the others.
  void compare() {
    ClassificationReport& report = report_.classification.emplace();
    report.truth = known_->name;
    report.names = labels_.values;
    std::vector<std::int32_t> code, known;
    for (const std::string& name : known_->values) {
      const auto at = std::find(report.names.begin(), report.names.end(), name) - report.names.begin();
      if (at == std::ssize(report.names)) report.names.push_back(name);
      code.push_back(static_cast<std::int32_t>(at));
    }
    for (const std::int32_t one : known_->codes) known.push_back(code[static_cast<std::size_t>(one)]);
    Contingency table = contingency(known, found_);
    table.clusters.resize(report.names.size());
    report.scores = classification(table);
    report.confusion = std::move(table.cells);
    if (shown_) print_out(show(report, text_width(Stream::output)));
  }

  void write_comparison(data::ResultFile& file) const {
    constexpr std::int64_t kMostCells = std::int64_t{1} << 24;  // of a stored table
    const ClassificationReport& report = *report_.classification;
    const auto classes = std::ssize(report.names);
    file.attribute("truth", stored_name(report.truth));
    file.attribute("accuracy", report.scores.accuracy());
    file.attribute("macro_precision", report.scores.mean.precision);
    file.attribute("macro_recall", report.scores.mean.recall);
    file.attribute("macro_f1", report.scores.mean.f1);
    std::vector<double> precision, recall, f1;
    for (const ClassScores& scores : report.scores.classes) {
      precision.push_back(scores.precision);
      recall.push_back(scores.recall);
      f1.push_back(scores.f1);
    }
    file.dataset("precision", std::span<const double>(precision));
    file.dataset("recall", std::span<const double>(recall));
    file.dataset("f1", std::span<const double>(f1));
    if (classes > kMostCells / classes) return;
    Matrix<std::int64_t> confusion(classes, classes);
    std::fill_n(confusion.data(), confusion.size(), 0);
    for (const Contingency::Cell& cell : report.confusion) confusion(cell.cluster, cell.class_label) = cell.rows;
    file.create_matrix<std::int64_t>("confusion", classes, classes);
    file.write_rows<std::int64_t>("confusion", 0, std::as_const(confusion).view());
  }

  void show_accuracy() {
    const auto rows = static_cast<double>(found_.size());
    std::string text = "neighbours  right  by distance\n";
    for (std::size_t j = 0; j < right_[0].size(); ++j) {
      const double equal = static_cast<double>(right_[0][j]) / rows,
                   weighted = static_cast<double>(right_[1][j]) / rows;
      text += fmt::format("{:>10}  {:.4f}  {:.4f}\n", j + 1, equal, weighted);
      report_.accuracy.push_back({static_cast<std::int64_t>(j) + 1, equal, weighted});
    }
    if (shown_) print_out(text);
  }

  /// Numbers as such, texts by their names.
  void write_found() const {
    const data::PointSource& rows = request_.queries != nullptr ? *request_.queries : *request_.base;
    data::LabelTable table{
        .labels = found_, .ids = rows.kept(data::Kept::id), .id_name = rows.id_name(), .names = labels_.values};
    table.shares = share_;
    for (std::size_t i = 0; known_ != nullptr && i < known_->codes.size(); ++i) {
      table.known.push_back(known_->values[static_cast<std::size_t>(known_->codes[i])]);
    }
    std::vector<std::int32_t> numbers;
    if (const auto values = whole_numbers(labels_)) {
      for (const std::int32_t code : found_) numbers.push_back((*values)[static_cast<std::size_t>(code)]);
      table.labels = numbers;
      table.names = {};
    }
    data::write_labels(request_.path, request_.options, table);
  }

  void show_classes() const {
    std::string text;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      text += fmt::format("{}\t{}\t{:.4g}\n", request_.ids.query_row(static_cast<std::int64_t>(i), '\t'),
                          labels_.values[static_cast<std::size_t>(found_[i])], share_[i]);
    }
    print_out(text);
  }

  const NeighborOutputRequest request_;
  const data::Labels& labels_;
  const data::Labels* known_;  // of the queries; null: not known
  VoteWeight weight_;
  bool shown_;
  Report& report_;
  ClassVotes votes_;
  std::vector<std::int64_t> right_[2];  // (k) rows whose own label wins, by equal votes and by distance
  std::vector<std::int32_t> found_;
  std::vector<double> share_;
};

class Outliers final : public NeighborOutput {
 public:
  Outliers(const NeighborOutputRequest& request, bool shown)
      : request_(request),
        shown_(shown),
        rows_(request.base->rows(), request.neighbors),
        distances_(request.base->rows(), request.neighbors) {}

  void append(std::int64_t first, const NeighborLists& lists) override {
    std::copy_n(lists.index.data(), lists.index.size(), rows_.row(first).data());
    const Matrix<double> distances = convert_distances<double>(lists.distance.view(), request_.unit, first);
    std::copy_n(distances.data(), distances.size(), distances_.row(first).data());
  }

  void finish() override {
    const std::vector<double> factors =
        local_outlier_factors(std::as_const(rows_).view(), std::as_const(distances_).view());
    std::vector<double> last;
    for (std::int64_t i = 0; i < distances_.rows(); ++i) last.push_back(distances_(i, distances_.columns() - 1));
    if (request_.path.empty()) return show(factors, last);
    if (data::label_format(request_.path) != data::LabelFormat::none) {
      return data::write_columns(request_.path, request_.options, request_.base->kept(data::Kept::id),
                                 request_.base->id_name(), {{"kth_distance", last}, {"local_outlier_factor", factors}});
    }
    data::ResultFile file(request_.path, request_.options);
    ResultHead head = request_.head;
    head.format = "kith-outliers";
    write_head(file, head, *request_.base);
    file.attribute("distances", std::string(name_of(request_.unit)));
    request_.ids.write(file);
    file.dataset("kth_distance", std::span<const double>(last));
    file.dataset("local_outlier_factor", std::span<const double>(factors));
    file.finish();
  }

 private:
  void show(const std::vector<double>& factors, const std::vector<double>& last) const {
    if (!shown_) return;
    std::vector<std::size_t> order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return factors[a] != factors[b] ? factors[a] > factors[b] : a < b; });
    std::string text;
    for (const std::size_t row : order) {
      text += fmt::format("{}\t{:.6g}\t{:.6g}\n", request_.ids.base_row(static_cast<std::int64_t>(row), '\t'),
                          last[row], factors[row]);
    }
    print_out(text);
  }

  const NeighborOutputRequest request_;
  bool shown_;
  Matrix<std::int64_t> rows_;
  Matrix<double> distances_;
};

}  // namespace

data::Labels read_classes(const std::string& location, const data::PointSource& points, const KnnOptions& options) {
  data::Labels labels =
      data::read_labels(location, text_form(options.common), data::Unlabelled::refuse, points.location());
  say_matched(labels, points.name());
  if (data::label_format(options.common.output) == data::LabelFormat::numpy && !whole_numbers(labels)) {
    throw Error(ExitCode::usage,
                fmt::format("--output {}: expected a name that ends with .csv, .parquet or .h5, since the "
                            "classes of {} are texts, and an array holds whole numbers",
                            options.common.output, labels.name));
  }
  if (std::ssize(labels.codes) == points.rows()) return labels;
  throw Error(ExitCode::data, fmt::format("{}: expected a label for each of the {} rows of {}, found {}; give the "
                                          "labels of these rows",
                                          labels.name, points.rows(), points.name(), labels.codes.size()));
}

std::unique_ptr<NeighborOutput> classify(const NeighborOutputRequest& request, const data::Labels& labels,
                                         const data::Labels* known, VoteWeight weight, bool shown, Report& report) {
  return std::make_unique<Classes>(request, labels, known, weight, shown, report);
}

std::unique_ptr<NeighborOutput> find_outliers(const NeighborOutputRequest& request, bool shown) {
  return std::make_unique<Outliers>(request, shown);
}

std::int64_t outlier_bytes(std::int64_t rows, std::int64_t neighbors) {
  constexpr std::int64_t kPlaceBytes = 16, kRowBytes = 40;
  return checked_product(rows, neighbors * kPlaceBytes + kRowBytes, "lists");
}

}  // namespace kith::app
