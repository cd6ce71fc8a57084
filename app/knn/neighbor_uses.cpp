// Collects votes or lists as they arrive, and writes what follows from them.
#include "app/knn/knn.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

#include "app/cli/common_options.h"
#include "app/cli/terminal.h"
#include "core/neighbors/list_scores.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

/// The values of labels that all are numbers from 0 to 2^31 - 1.
std::optional<std::vector<std::int32_t>> whole_numbers(const data::Labels& labels) {
  std::vector<std::int32_t> values;
  for (const std::string& text : labels.values) {
    std::int32_t& value = values.emplace_back();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  }
  return values;
}

class Classes final : public NeighborOutput {
 public:
  Classes(const NeighborOutputRequest& request, const data::Labels& labels, VoteWeight weight, bool shown,
          Report& report)
      : request_(request),
        labels_(labels),
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
    if (request_.path.empty()) {
      if (shown_ && request_.queries != nullptr) show_classes();
      return;
    }
    if (data::label_format(request_.path) != data::LabelFormat::none) return write_found();
    data::ResultFile file(request_.path, request_.options);
    ResultHead head = request_.head;
    head.format = "kith-classes";
    write_head(file, head, *request_.base);
    if (request_.queries != nullptr) file.attribute("queries", stored_name(request_.queries->name()));
    file.attribute("known", stored_name(labels_.name));
    write_names(file, "classes", labels_.values);
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
    if (data::label_format(request_.path) == data::LabelFormat::csv) {
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

data::Labels read_classes(const KnnOptions& options, const data::PointSource& base) {
  data::Labels labels = data::read_labels(options.classify, text_form(options.common));
  if (data::label_format(options.common.output) == data::LabelFormat::numpy && !whole_numbers(labels)) {
    throw Error(ExitCode::usage, fmt::format("--output {}: expected a name that ends with .csv or .h5, since the "
                                             "classes of {} are texts, and an array holds whole numbers",
                                             options.common.output, labels.name));
  }
  if (std::ssize(labels.codes) == base.rows()) return labels;
  throw Error(ExitCode::data, fmt::format("{}: expected a label for each of the {} rows of {}, found {}; give the "
                                          "labels of these rows",
                                          labels.name, base.rows(), base.name(), labels.codes.size()));
}

std::unique_ptr<NeighborOutput> classify(const NeighborOutputRequest& request, const data::Labels& labels,
                                         VoteWeight weight, bool shown, Report& report) {
  return std::make_unique<Classes>(request, labels, weight, shown, report);
}

std::unique_ptr<NeighborOutput> find_outliers(const NeighborOutputRequest& request, bool shown) {
  return std::make_unique<Outliers>(request, shown);
}

std::int64_t outlier_bytes(std::int64_t rows, std::int64_t neighbors) {
  constexpr std::int64_t kPlaceBytes = 16, kRowBytes = 40;
  return checked_product(rows, neighbors * kPlaceBytes + kRowBytes, "lists");
}

}  // namespace kith::app
