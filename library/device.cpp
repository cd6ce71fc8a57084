// The C++ interface: devices that hold points, and what is computed with them again and again.
#include <kith/device.h>

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <mutex>
#include <utility>

#include "core/kmeans/bisecting.h"
#include "core/kmeans/kmeans.h"
#include "core/kmeans/weighed_rows.h"
#include "core/neighbors/graph.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "core/numbers/metric.h"
#include "core/numbers/pack_bits.h"
#include "core/numbers/places.h"
#include "core/points/backend.h"
#include "core/points/data_plan.h"
#include "core/points/observer.h"
#include "core/runtime/interruption.h"
#include "core/scores/internal_scores.h"
#include "core/scores/silhouette.h"
#include "library/held_points.h"

namespace kith {
namespace {

/// The number of fork() calls between the first process that opened a device and this one.
std::atomic<int> forks = 0;

/// The table's row of the backend that RunOptions name, or the best that works.
const BackendEntry& find_backend(const RunOptions& options) {
  constexpr int kMostThreads = 4096;  // as --threads
  if (options.threads < 0 || options.threads > kMostThreads) {
    throw Error(ExitCode::usage,
                fmt::format("threads: expected a number from 0 to {}, found {}", kMostThreads, options.threads));
  }
  std::string reasons;
  for (const BackendEntry& entry : backends()) {
    if (options.backend != "auto" && options.backend != entry.name) continue;
    std::string reason;
    if (is_usable(entry.name, &reason, options)) return entry;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", entry.name, reason);
  }
  if (!reasons.empty()) throw Error(ExitCode::device, reasons);
  throw Error(ExitCode::usage, fmt::format("backend: expected auto, cuda or cpu, found '{}'", options.backend));
}

/// An open backend, and the lock of the thread that computes with it.
struct Session {
  explicit Session(const BackendEntry& entry, const RunOptions& options) {
    BackendOptions wanted;
    wanted.threads = options.threads;
    wanted.device = entry.has_gpus ? options.device : 0;
    backend = entry.open(wanted, {});
  }

  const int fork = forks;
  std::mutex mutex;
  std::unique_ptr<Backend> backend;
};

/// What becomes of rows before they are compared.
enum class Form { as_given, directions, deviations, places, bits };
constexpr std::size_t kForms = 5;

Form form_of(Metric metric) {
  if (is_of_bits(measure_of(metric))) return Form::bits;
  return metric == Metric::cosine        ? Form::directions
         : metric == Metric::correlation ? Form::deviations
         : metric == Metric::haversine   ? Form::places
                                         : Form::as_given;
}

/// Points of a session.
struct PreparedPoints {
  Session* session = nullptr;
  PointsMatrix made;  // the rows in their form, unless they are those that were given
  PointsView view;
  const PointData::Held* on_gpu = nullptr;  // not null: the view is one of its memory on a GPU
  std::unique_ptr<Points> points;
  DataPlan plan;

  /// The view, in the memory of the host.
  const PointsView& on_host() const { return on_gpu != nullptr ? on_gpu->host() : view; }
};

/// Passes reports on, and throws Error(time_limit) when the caller cancels.
class Reporter final : public Observer {
 public:
  explicit Reporter(const RunOptions& options) : options_(options), between_([this] { ask(); }) {}
  void phase(const std::string& name, std::int64_t steps) override {
    report_ = {name, 0, steps};
    report();
  }
  void progress(std::int64_t done) override {
    report_.done = done;
    report();
  }
  void iteration(const IterationRecord&) override { progress(report_.done + 1); }
  void warning(const std::string& message) override {
    if (options_.on_warning) options_.on_warning(message);
  }

 private:
  void ask() const {
    if (options_.cancelled && options_.cancelled()) {
      throw Error(ExitCode::time_limit, "cancelled by the caller in the phase " + report_.phase);
    }
  }
  void report() {
    ask();
    if (options_.on_progress) options_.on_progress(report_);
  }

  const RunOptions& options_;
  ProgressReport report_;
  Interruption between_;
};

/// Packs rows of 0 and 1 as numpy.packbits does.
template <class T>
Matrix<std::uint8_t> packed(MatrixView<const T> rows, const char* name) {
  Matrix<std::uint8_t> bits(rows.rows, (rows.columns + 7) / 8);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const std::size_t column = pack_bits(rows.row(i), bits.row(i));
    if (static_cast<std::int64_t>(column) == rows.columns) continue;
    throw Error(ExitCode::data,
                fmt::format("{}: row {}, column {} (counted from 1): expected a bit, 0 or 1, found {}; give bits, or "
                            "bytes of eight bits as numpy.packbits makes them",
                            name, i + 1, column + 1, static_cast<double>(rows.row(i)[column])),
                Cause::value);
  }
  return bits;
}

/// The rows in the form that the metric compares. New ones are written to `made`.
PointsView values_for(const PointsView& view, Metric metric, PointsMatrix& made, const char* name,
                      Observer* observer = nullptr) {
  const Form form = form_of(metric);
  const bool are_packed = std::holds_alternative<MatrixView<const std::uint8_t>>(view);
  if (form == Form::as_given || (form == Form::bits && are_packed)) return view;
  std::visit(
      [&]<class T>(MatrixView<const T> rows) {
        if (form == Form::bits) {
          made = packed(rows, name);
          return;
        }
        const auto write = [&]<class V>(MatrixView<const V> from) {
          Matrix<double> out(rows.rows, form == Form::places ? kPlaceColumns : rows.columns);
          if (form == Form::places) {
            write_places(from, out.view(), {.name = name});
            if (observer != nullptr && from.rows >= kFewPlaces && !exceed_radians(from))
              observer->warning(fmt::format("{}: {}", name, kLikeRadians));
          } else {
            const bool deviates = form == Form::deviations;
            write_directions(from, out.view(), {.name = name, .purpose = deviates ? "correlation" : "cosine distance"},
                             {.deviates = deviates});
          }
          made = std::move(out);
        };
        if (form == Form::places && rows.columns != 2) {
          throw Error(ExitCode::data, fmt::format("{}: expected 2 columns, latitude and longitude, found {}; leave out "
                                                  "the others",
                                                  name, rows.columns));
        }
        if constexpr (std::is_floating_point_v<T>) {
          write(rows);
        } else {
          Matrix<double> wide(rows.rows, rows.columns);
          std::copy(rows.data, rows.data + rows.size(), wide.data());
          write(std::as_const(wide).view());
        }
      },
      view);
  return view_of(made);
}

/// An owned copy of a matrix.
template <class T>
OwnedMatrix<T> copied(const Matrix<T>& matrix) {
  return {matrix.rows(), matrix.columns(), {matrix.data(), matrix.data() + matrix.size()}};
}

/// A distance as the command line shows it.
double shown(double d, Metric metric, bool squared = false) {
  if (metric == Metric::inner_product) return 0.0 - d;  // no -0
  if (metric == Metric::correlation) return d / 2;
  if (metric == Metric::haversine) return great_circle(d);
  return measure_of(metric) == Measure::squared_euclidean && !squared ? std::sqrt(d) : d;
}

ClusterResult result_of(const KMeansResult& found, OwnedMatrix<double> centroids) {
  ClusterResult result{.centroids = std::move(centroids),
                       .labels = {found.labels.begin(), found.labels.end()},
                       .counts = found.counts,
                       .nearest_row = found.nearest_row,
                       .inertia_per_cluster = found.inertia_per_cluster,
                       .inertia = found.inertia,
                       .iterations = found.iterations,
                       .stopped_by = found.stopped_by,
                       .changed = found.changed,
                       .distances = {found.distances.begin(), found.distances.end()},
                       .medoids = copied(found.medoids)};
  for (double& distance : result.distances) distance = std::sqrt(distance);
  return result;
}

/// Calls work(points, plan, view) with the points, or with those of them that have a weight above 0.
template <class Work>
KMeansResult with_weights(PreparedPoints& prepared, std::span<const double> weights, const Work& work) {
  check_weights(weights, rows_of(prepared.view));
  if (weights.empty()) return work(*prepared.points, prepared.plan, prepared.view);
  const WeighedRows weighed(weights, "weights", prepared.on_host());
  Backend& backend = *prepared.session->backend;
  const std::unique_ptr<Points> points = backend.hold({.values = weighed.values(), .weights = weighed.weights().rows});
  const DataPlan plan = make_plan(*points, weighed.weights());
  points->prepare(plan);
  KMeansResult result = work(*points, plan, weighed.values());
  weighed.label_absent_rows(result, backend);
  return result;
}

}  // namespace

struct OpenDevice::State {
  explicit State(const RunOptions& wanted)
      : options{.backend = wanted.backend, .device = wanted.device, .threads = wanted.threads},
        entry(find_backend(wanted)),
        name(entry.name),
        current(new Session(entry, options)) {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
    static_cast<void>(registered);
  }
  /// The threads and locks of a session before a fork do not exist in the child: it is left as it is.
  ~State() {
    if (current.load()->fork == forks) delete current.load();
  }

  Session& session() {
    Session* session = current;
    if (session->fork == forks) return *session;
    auto opened = std::make_unique<Session>(entry, options);
    return current.compare_exchange_strong(session, opened.get()) ? *opened.release() : *session;
  }

  RunOptions options;
  const BackendEntry& entry;
  std::string name;
  std::atomic<Session*> current;
};

struct HeldPoints::State {
  State(std::shared_ptr<OpenDevice::State> on, PointData of) : device(std::move(on)), data(std::move(of)) {}
  ~State() {
    Session* const session = device->current;
    const bool is_current = session->fork == forks;
    const std::unique_lock lock = is_current ? std::unique_lock(session->mutex) : std::unique_lock<std::mutex>();
    for (PreparedPoints& prepared : forms_) {
      if (!is_current || prepared.session != session) leave(prepared);
      prepared.points.reset();
    }
  }

  /// Calls work(prepared points, reporter), alone on the device.
  template <class Work>
  auto compute(const RunOptions& run, Metric metric, const Work& work)
      -> decltype(work(std::declval<PreparedPoints&>(), std::declval<Observer&>())) {
    Session& session = device->session();
    const std::lock_guard lock(session.mutex);
    Reporter reporter(run);
    PreparedPoints& prepared = forms_[static_cast<std::size_t>(form_of(metric))];
    try {
      if (prepared.session != &session) prepare(prepared, session, metric, reporter);
      require_digits(prepared.plan.range, measure_of(metric));
      return work(prepared, static_cast<Observer&>(reporter));
    } catch (const Error& error) {
      const bool is_whole = error.code() == ExitCode::usage || error.code() == ExitCode::data;
      if (!is_whole) forget(prepared);
      throw;
    } catch (...) {
      forget(prepared);
      throw;
    }
  }

  std::shared_ptr<OpenDevice::State> device;
  PointData data;

 private:
  void prepare(PreparedPoints& prepared, Session& session, Metric metric, Observer& observer) {
    leave(prepared);
    observer.phase("prepare", 0);
    const PointData::Held& given = data.held();
    const bool stays = given.on_gpu != nullptr && device->entry.has_gpus && form_of(metric) == Form::as_given;
    prepared.on_gpu = stays ? &given : nullptr;
    prepared.view = stays ? given.view : values_for(given.host(), metric, prepared.made, "points", &observer);
    prepared.points = session.backend->hold({.values = prepared.view, .reader = stays ? given.on_gpu.get() : nullptr});
    prepared.plan = make_plan(*prepared.points);
    if (form_of(metric) != Form::bits) prepared.points->prepare(prepared.plan);
    prepared.session = &session;
  }
  /// Points of a session before a fork are left as they are.
  static void leave(PreparedPoints& prepared) {
    if (prepared.session != nullptr) static_cast<void>(prepared.points.release());
    prepared.session = nullptr;
  }
  /// What a computation that did not end leaves is not used again.
  static void forget(PreparedPoints& prepared) {
    prepared.points.reset();
    prepared.session = nullptr;
  }

  std::array<PreparedPoints, kForms> forms_;  // by Form
};

OpenDevice open(const RunOptions& options) {
  OpenDevice device;
  device.state_ = std::make_shared<OpenDevice::State>(options);
  return device;
}

HeldPoints OpenDevice::hold(PointData points) const {
  HeldPoints held;
  held.state_ = std::make_shared<HeldPoints::State>(state_, std::move(points));
  return held;
}
const std::string& OpenDevice::backend() const { return state_->name; }

std::int64_t HeldPoints::rows() const { return state_->data.rows(); }
std::int64_t HeldPoints::columns() const { return state_->data.columns(); }
bool HeldPoints::is_wide() const { return class_of(state_->data.held().view) == ValueClass::f64; }

std::string HeldPoints::default_init(std::int64_t clusters) const {
  const Init init = kith::default_init(rows(), columns(), clusters);
  return std::ranges::find_if(kStartRules, [init](const auto& rule) { return rule.second == init; })->first;
}

ClusterResult HeldPoints::cluster(std::int64_t clusters, const ClusterOptions& options) const {
  check_options(options);
  const Metric metric = metric_named(options.metric, true);
  const ClusterResult* const before = options.continued;
  Matrix<double> given;
  if (before != nullptr || options.centroids.rows > 0) {
    given = checked_centroids(before != nullptr ? before->centroids : options.centroids, metric);
  }
  return state_->compute(options.run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    for (const std::string& warning : prepared.plan.warnings) observer.warning(warning);
    const Init init = given.rows() > 0 ? Init::given : init_named(options.init, prepared.plan, clusters);
    KMeansOptions wanted{.clusters = clusters,
                         .init = init,
                         .given = std::as_const(given).view(),
                         .runs = init == Init::first || init == Init::given ? 1 : options.runs,
                         .max_iterations = options.max_iterations,
                         .tolerance = options.tolerance,
                         .seed = options.seed,
                         .metric = metric,
                         .empty = rule_named(options.empty_clusters),
                         .keep_distances = options.keep_distances,
                         .keep_medoids = options.keep_medoids};
    if (before != nullptr && before->stopped_by == "max-iterations") {
      wanted.stopped =
          StoppedRun{.iterations = before->iterations, .changed = before->changed, .counts = before->counts};
    }
    const KMeansResult found =
        with_weights(prepared, options.weights, [&](Points& points, const DataPlan& plan, const PointsView& values) {
          const bool reads_rows = options.algorithm == "bisecting" || options.batch > 0;
          const RowStore store(reads_rows && options.weights.empty() ? prepared.on_host() : values,
                               *prepared.session->backend);
          if (options.algorithm == "bisecting") {
            return bisecting_kmeans(points, store, plan, wanted, SplitBy::inertia, observer).result;
          }
          if (options.batch > 0) {
            wanted.batch = {.rows = std::min(options.batch, plan.rows),
                            .epochs = options.epochs,
                            .finish = options.finish,
                            .store = &store};
          }
          return kmeans(points, plan, wanted, observer);
        });
    return result_of(found, copied(found.centroids));
  });
}

ClusterResult HeldPoints::assign(const OwnedMatrix<double>& centroids, const AssignOptions& options) const {
  const Metric metric = metric_named(options.metric, true);
  const Matrix<double> given = checked_centroids(centroids, metric);
  return state_->compute(options.run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    for (const std::string& warning : prepared.plan.warnings) observer.warning(warning);
    const KMeansResult found =
        with_weights(prepared, options.weights, [&](Points& points, const DataPlan& plan, const PointsView&) {
          KMeansResult result = assign_only(points, plan, given.view(), observer);
          if (options.keep_distances) {
            result.distances.resize(result.labels.size());
            points.distances(result.distances);
          }
          return result;
        });
    return result_of(found, copied(given));
  });
}

OwnedMatrix<double> HeldPoints::distances(const PointData& others, const SearchOptions& options) const {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 23;  // of queries or distances at a time
  const Metric metric = metric_named(options.metric, false);
  PointsMatrix made;
  const PointsView from = values_for(others.held().host(), metric, made, "others");
  return state_->compute(options.run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    check_queries(*prepared.points, from, measure_of(metric));
    const std::int64_t count = rows_of(from), n = prepared.points->rows(), d = prepared.points->columns();
    OwnedMatrix<double> all{count, n, {}};
    all.values.reserve(static_cast<std::size_t>(count * n));  // a part is filled before it is written: a run may end
    const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / std::max(n, d), 1, count);
    Matrix<double> queries(block, d);
    observer.phase("search", count);
    for (std::int64_t first = 0; first < count; first += block) {
      const auto part = queries.view().middle(0, std::min(block, count - first));
      copy_queries(from, first, part);
      all.values.resize(static_cast<std::size_t>((first + part.rows) * n));
      const MatrixView<double> out{all.values.data() + first * n, part.rows, n};
      prepared.points->all_distances({.values = part, .measure = measure_of(metric)}, out);
      std::transform(out.data, out.data + out.size(), out.data,
                     [&](double value) { return shown(value, metric, options.squared); });
      observer.progress(first + part.rows);
    }
    return all;
  });
}

DensityClusters HeldPoints::dbscan(double radius, std::int64_t min_points, const SearchOptions& options) const {
  const Metric metric = metric_named(options.metric, false);
  if (metric == Metric::inner_product || min_points < 1) {
    throw Error(ExitCode::usage, fmt::format("dbscan: expected a distance and 1 or more points, found the metric {} "
                                             "and {}; give another metric, such as euclidean",
                                             options.metric, min_points));
  }
  const double limit = limit_of_radius(radius, metric);
  return state_->compute(options.run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    const DbscanResult found =
        kith::dbscan(*prepared.points, prepared.on_host(),
                     {.limit = limit, .measure = measure_of(metric), .min_points = min_points}, observer);
    DensityClusters clusters{.labels = {found.labels.begin(), found.labels.end()}, .core_rows = {}};
    for (std::size_t row = 0; row < found.is_core.size(); ++row) {
      if (found.is_core[row] != 0) clusters.core_rows.push_back(static_cast<std::int64_t>(row));
    }
    return clusters;
  });
}

LabelScores HeldPoints::evaluate(std::span<const std::int32_t> labels, const ScoreOptions& options) const {
  const Metric metric = metric_named(options.metric, true);
  const bool is_exact = options.silhouette == "exact";
  if (!is_exact && options.silhouette != "simplified" && options.silhouette != "none") {
    throw Error(ExitCode::usage,
                fmt::format("silhouette: expected exact, simplified or none, found '{}'", options.silhouette));
  }
  if (std::ssize(labels) != rows()) {
    throw Error(ExitCode::usage, fmt::format("labels: expected {}, one for each row, found {}", rows(), labels.size()));
  }
  const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
  if (*least < 0 || *most >= rows()) {
    throw Error(ExitCode::usage, fmt::format("labels: expected numbers from 0 to {}, the number of rows less 1, found "
                                             "{}; number the clusters from 0",
                                             rows() - 1, *least < 0 ? *least : *most));
  }
  const std::int64_t clusters = std::int64_t{*most} + 1;
  return state_->compute(options.run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    observer.phase("score", 0);
    const LabelledClusters labelled = labelled_clusters(*prepared.points, prepared.plan, labels, clusters);
    LabelScores scores{kNone, kNone, calinski_harabasz(labelled), davies_bouldin(labelled), {}};
    if (!labelled.comparable()) {
      throw Error(ExitCode::data,
                  fmt::format("labels: scores of labels and points need 2 to n - 1 clusters with rows, found {} rows "
                              "in {}; give labels of several clusters",
                              labelled.rows, labelled.non_empty()));
    }
    if (options.silhouette == "none") return scores;
    const SilhouetteRequest request{.labels = labels,
                                    .counts = labelled.counts,
                                    .weights = prepared.plan.weights,
                                    .on_centroid = labelled.on_mean,
                                    .means = labelled.means.view()};
    Silhouette simplified = simplified_silhouette(*prepared.points, labelled.means.view(), request);
    scores.simplified_silhouette = simplified.mean;
    scores.silhouettes = std::move(simplified.rows);
    if (!is_exact) return scores;
    Silhouette exact = exact_silhouette(*prepared.points, prepared.plan, request, observer);
    scores.silhouette = exact.mean;
    scores.silhouettes = std::move(exact.rows);
    return scores;
  });
}

namespace {

NeighborTable find(HeldPoints::State& base, const PointData* queries, std::int64_t k, const SearchOptions& options,
                   const RunOptions& run) {
  const Metric metric = metric_named(options.metric, false);
  PointsMatrix made;
  PointsView values;
  if (queries != nullptr) values = values_for(queries->held().host(), metric, made, "queries");
  return base.compute(run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    if (queries == nullptr) values = prepared.on_host();
    NeighborTable table;
    nearest_neighbors(
        *prepared.points, values,
        {.neighbors = k,
         .base_is_queries = queries == nullptr,
         .include_self = options.include_self,
         .measure = measure_of(metric)},
        [&](std::int64_t, const NeighborLists& lists) {
          const std::int64_t* rows = lists.index.data();
          table.rows.values.insert(table.rows.values.end(), rows, rows + lists.index.size());
          std::transform(lists.distance.data(), lists.distance.data() + lists.distance.size(),
                         std::back_inserter(table.distances.values),
                         [&](double d) { return shown(d, metric, options.squared); });
        },
        observer);
    table.rows.rows = table.distances.rows = rows_of(values);
    table.rows.columns = table.distances.columns = k;
    return table;
  });
}

RadiusTable find_within(HeldPoints::State& base, const PointData* queries, double radius, const SearchOptions& options,
                        const RunOptions& run) {
  const Metric metric = metric_named(options.metric, false);
  const double limit = limit_of_radius(radius, metric);
  PointsMatrix made;
  PointsView values;
  if (queries != nullptr) values = values_for(queries->held().host(), metric, made, "queries");
  return base.compute(run, metric, [&](PreparedPoints& prepared, Observer& observer) {
    if (queries == nullptr) values = prepared.on_host();
    RadiusTable table{.begin = {0}, .rows = {}, .distances = {}};
    radius_neighbors(
        *prepared.points, values,
        {.limit = limit,
         .measure = measure_of(metric),
         .base_is_queries = queries == nullptr,
         .include_self = options.include_self},
        [&](std::int64_t, std::span<const std::vector<Neighbor>> lists) {
          for (const std::vector<Neighbor>& list : lists) {
            for (const Neighbor& neighbor : list) {
              table.rows.push_back(neighbor.row);
              table.distances.push_back(shown(neighbor.distance, metric, options.squared));
            }
            table.begin.push_back(std::ssize(table.rows));
          }
          return true;
        },
        observer);
    return table;
  });
}

}  // namespace

Index::Index(HeldPoints points, SearchOptions options) : points_(std::move(points)), options_(std::move(options)) {
  metric_named(options_.metric, false);
}
NeighborTable Index::search(const PointData& queries, std::int64_t k, const RunOptions& run) const {
  return find(*points_.state_, &queries, k, options_, run);
}
NeighborTable Index::search(std::int64_t k, const RunOptions& run) const {
  return find(*points_.state_, nullptr, k, options_, run);
}
RadiusTable Index::within(const PointData& queries, double radius, const RunOptions& run) const {
  return find_within(*points_.state_, &queries, radius, options_, run);
}
RadiusTable Index::within(double radius, const RunOptions& run) const {
  return find_within(*points_.state_, nullptr, radius, options_, run);
}

}  // namespace kith
