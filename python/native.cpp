// The Python module kith._native: computations of the C++ interface in the process. _native.pyi describes it.
#include <kith/kith.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

nb::object attribute_of(const char* module, const char* name) { return nb::module_::import_(module).attr(name); }

/// The device of these options, which is opened once. Called, and returns, with the lock of the interpreter.
kith::OpenDevice device_of(const std::string& backend, int device, int threads) {
  static auto* const opened = new std::map<std::tuple<std::string, int, int>, kith::OpenDevice>;  // outlives modules
  const auto key = std::make_tuple(backend, device, threads);
  if (const auto found = opened->find(key); found != opened->end()) return found->second;
  const auto open = [&] {
    const nb::gil_scoped_release others_run;
    return kith::open({.backend = backend, .device = device, .threads = threads});
  };
  return opened->emplace(key, open()).first->second;
}

/// A call of the library: without the lock of the interpreter; signals of Python end it, and its warnings are those of
/// Python, once it has ended.
class Call {
 public:
  Call() {
    run.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
    run.cancelled = [this] {
      constexpr std::chrono::milliseconds kBetween(50);
      const auto now = std::chrono::steady_clock::now();
      if (now - asked_ < kBetween) return false;
      asked_ = now;
      const nb::gil_scoped_acquire python;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return false;
    };
  }

  template <class Work>
  auto operator()(const Work& work) {
    auto result = [&] {
      const nb::gil_scoped_release others_run;
      return work();
    }();
    for (const std::string& text : warnings_) attribute_of("kith._errors", "warn")(text);
    return result;
  }

  kith::RunOptions run;

 private:
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  std::vector<std::string> warnings_;
};

/// kith._native.Points.
struct Points {
  nb::object array;
  nb::object column_names;  // of the data frame that they are made of; or None
  kith::HeldPoints held;

  Points(nb::object from, nb::object names, kith::HeldPoints by)
      : array(std::move(from)), column_names(std::move(names)), held(std::move(by)) {}
  Points(const Points&) = default;
  Points(Points&&) = default;
  Points& operator=(const Points&) = default;
  Points& operator=(Points&&) = default;
  /// Waits for the device, where the thread that computes may wait for the lock of the interpreter.
  ~Points() {
    const nb::gil_scoped_release others_run;
    held = {};
  }
};

/// Values of Python, and the array that they are borrowed from.
struct Values {
  nb::object array;
  kith::PointData data;
  int gpu = -1;  // in whose memory they are; -1: in that of the host
};

template <class T>
bool borrow(const nb::object& array, const char* name, std::optional<Values>& out) {
  nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu> values;
  if (!nb::try_cast(array, values, false)) return false;
  const std::span all(values.data(), values.size());
  const auto columns = static_cast<std::int64_t>(values.shape(1));
  const auto checked = [&] {
    const nb::gil_scoped_release others_run;
    return kith::PointData(all, columns, name);
  };
  out.emplace(Values{array, checked()});
  return true;
}

/// The same for an array in the memory of a GPU, where CUDA can be used.
template <class T>
bool borrow_on_gpu(const nb::object& array, const char* name, std::optional<Values>& out) {
  nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cuda> values;
  if (!nb::try_cast(array, values, false)) return false;
  const int gpu = values.device_id();
  const auto checked = [&] {
    const nb::gil_scoped_release others_run;
    return kith::PointData::on_gpu(values.data(), static_cast<std::int64_t>(values.shape(0)),
                                   static_cast<std::int64_t>(values.shape(1)), name);
  };
  if (!kith::is_usable("cuda", nullptr, {.device = gpu})) return false;
  out.emplace(Values{array, checked(), gpu});
  return true;
}

/// Borrows the values of an array, or of what kith._arrays.values() makes of them.
Values values_of(nb::object given, const char* name) {
  if (nb::isinstance<Points>(given)) given = nb::cast<Points&>(given).array;
  std::optional<Values> values;
  const auto is_borrowed = [&](const nb::object& array) {
    return borrow<float>(array, name, values) || borrow<double>(array, name, values) ||
           borrow<std::uint8_t>(array, name, values) || borrow<std::int8_t>(array, name, values);
  };
  const bool is_plain = given.type().is(attribute_of("numpy", "ndarray"));
  if (is_plain && is_borrowed(given)) return std::move(*values);
  if (nb::cast<bool>(attribute_of("kith._arrays", "is_on_gpu")(given)) &&
      (borrow_on_gpu<float>(given, name, values) || borrow_on_gpu<double>(given, name, values) ||
       borrow_on_gpu<std::uint8_t>(given, name, values) || borrow_on_gpu<std::int8_t>(given, name, values))) {
    return std::move(*values);
  }
  if (is_borrowed(attribute_of("kith._arrays", "values")(given, name))) return std::move(*values);
  throw kith::Error(kith::ExitCode::usage, std::string(name) + ": expected an array of rows x columns with values");
}

/// Of data frames, the columns that the metric compares; those with the names of other points.
nb::object of_metric(const nb::object& given, const std::string& metric, const nb::object& names = nb::none(),
                     const char* name = "points") {
  return given.is_none() ? given : attribute_of("kith._arrays", "of_metric")(given, metric, names, name);
}

nb::object column_names(const nb::object& given) { return attribute_of("kith._arrays", "column_names")(given); }

struct Where {
  std::string backend = "auto";
  int device = 0;
  int threads = 0;
};

kith::OpenDevice device_for(const Values& values, const Where& where) {
  const bool is_there = where.backend == "auto" && values.gpu >= 0;
  return is_there ? device_of("cuda", values.gpu, where.threads)
                  : device_of(where.backend, where.device, where.threads);
}

Points hold(nb::object given, const char* name, const Where& where) {
  if (nb::isinstance<Points>(given)) return nb::cast<Points&>(given);
  nb::object names = column_names(given);
  Values values = values_of(std::move(given), name);
  const kith::OpenDevice device = device_for(values, where);
  return {std::move(values.array), std::move(names), device.hold(std::move(values.data))};
}

/// An array that owns the values.
template <class T>
nb::object array_of(std::vector<T>&& values, const std::vector<std::size_t>& shape) {
  auto* const owner = new std::vector<T>(std::move(values));
  owner->reserve(1);  // so that an empty array has an address
  const nb::capsule free(owner, [](void* kept) noexcept { delete static_cast<std::vector<T>*>(kept); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owner->data(), shape.size(), shape.data(), free));
}
template <class T>
nb::object array_of(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return array_of(std::move(values), {size});
}
template <class T>
nb::object array_of(kith::OwnedMatrix<T>&& matrix) {
  return array_of(std::move(matrix.values),
                  {static_cast<std::size_t>(matrix.rows), static_cast<std::size_t>(matrix.columns)});
}

/// A copy of what kith._arrays makes a matrix of float64 of.
kith::OwnedMatrix<double> matrix_of(const nb::object& given, const char* name) {
  const nb::object array = attribute_of("kith._arrays", "matrix")(given, name);
  const auto values = nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(array);
  return {static_cast<std::int64_t>(values.shape(0)),
          static_cast<std::int64_t>(values.shape(1)),
          {values.data(), values.data() + values.size()}};
}

/// A copy of weights, or none.
std::vector<double> weights_of(const nb::object& given) {
  if (given.is_none()) return {};
  const nb::object array = attribute_of("kith._arrays", "vector")(given, "weights");
  const auto values = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(array);
  return {values.data(), values.data() + values.size()};
}

struct Clusters {
  explicit Clusters(kith::ClusterResult&& found)
      : labels(array_of(std::move(found.labels))),
        centroids(array_of(std::move(found.centroids))),
        counts(array_of(std::move(found.counts))),
        inertia_per_cluster(array_of(std::move(found.inertia_per_cluster))),
        nearest_row(array_of(std::move(found.nearest_row))),
        distances(found.distances.empty() ? nb::none() : array_of(std::move(found.distances))),
        medoids(found.medoids.rows == 0 ? nb::none() : array_of(std::move(found.medoids))),
        inertia(found.inertia),
        iterations(found.iterations),
        stopped_by(std::move(found.stopped_by)),
        changed(found.changed) {}

  nb::object labels, centroids, counts, inertia_per_cluster, nearest_row, distances, medoids;
  double inertia;
  std::int64_t iterations;
  std::string stopped_by;
  std::int64_t changed;
};

/// The start of a run: the name of a rule, a result that continues, or centroids.
void take_start(const nb::object& init, kith::ClusterOptions& options, kith::ClusterResult& before) {
  if (init.is_none()) return;
  if (nb::isinstance<nb::str>(init)) {
    options.init = nb::cast<std::string>(init);
    return;
  }
  if (!nb::hasattr(init, "stopped_by")) {
    options.centroids = matrix_of(init, "init");
    return;
  }
  before.centroids = matrix_of(init.attr("centroids"), "init");
  before.iterations = nb::cast<std::int64_t>(init.attr("iterations"));
  before.changed = nb::cast<std::int64_t>(init.attr("changed"));
  before.stopped_by = nb::cast<std::string>(init.attr("stopped_by"));
  for (const nb::handle count : init.attr("counts").attr("tolist")()) {
    before.counts.push_back(nb::cast<std::int64_t>(count));
  }
  options.continued = &before;
}

Clusters cluster(nb::object points, std::int64_t clusters, const nb::object& init, int n_init, int max_iterations,
                 double tolerance, std::uint64_t seed, const std::string& metric, const nb::object& weights,
                 std::int64_t batch, int epochs, bool no_finish, const std::string& algorithm, const std::string& empty,
                 bool save_distances, bool medoids, const std::string& backend, int device, int threads) {
  Call call;
  const std::vector<double> of_rows = weights_of(weights);
  kith::ClusterOptions options{.metric = metric,
                               .runs = n_init,
                               .max_iterations = max_iterations,
                               .tolerance = tolerance,
                               .seed = seed,
                               .run = call.run,
                               .weights = of_rows,
                               .batch = batch,
                               .epochs = epochs,
                               .finish = !no_finish,
                               .algorithm = algorithm,
                               .empty_clusters = empty,
                               .keep_distances = save_distances,
                               .keep_medoids = medoids};
  kith::ClusterResult before;
  take_start(init, options, before);
  const Points held = hold(std::move(points), "points", {backend, device, threads});
  kith::ClusterResult found = call([&] { return held.held.cluster(clusters, options); });
  if (found.stopped_by == "max-iterations" && found.changed > 0) {
    attribute_of("kith._errors", "warn_of_limit")(found.changed, found.labels.size(), found.iterations);
  }
  return Clusters(std::move(found));
}

Clusters assign(nb::object points, const nb::object& centroids, const std::string& metric, const nb::object& weights,
                bool save_distances, const std::string& backend, int device, int threads) {
  Call call;
  const std::vector<double> of_rows = weights_of(weights);
  const kith::AssignOptions options{
      .metric = metric, .run = call.run, .weights = of_rows, .keep_distances = save_distances};
  const kith::OwnedMatrix<double> given = matrix_of(centroids, "centroids");
  const Points held = hold(std::move(points), "points", {backend, device, threads});
  return Clusters(call([&] { return held.held.assign(given, options); }));
}

/// kith._native.Model.
struct Model {
  kith::Model model;

  bool is_of(const nb::object& centroids) const {
    nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> values;
    const kith::OwnedMatrix<double>& own = model.centroids();
    return nb::try_cast(centroids, values, false) && static_cast<std::int64_t>(values.shape(0)) == own.rows &&
           static_cast<std::int64_t>(values.shape(1)) == own.columns &&
           std::memcmp(values.data(), own.values.data(), own.values.size() * sizeof(double)) == 0;
  }
  nb::object labels(const nb::object& points, const std::string& backend, int device, int threads) const {
    Call call;
    const Values values = values_of(points, "points");
    const kith::OpenDevice on = device_for(values, {backend, device, threads});
    return array_of(call([&] { return model.labels(values.data, on, call.run); }));
  }
};

nb::object distances(const nb::object& a, const nb::object& b, const std::string& metric, bool squared,
                     const std::string& backend, int device, int threads) {
  Call call;
  const kith::SearchOptions options{.metric = metric, .run = call.run, .squared = squared};
  const Values rows = values_of(of_metric(a, metric), "a");
  const nb::object to = b.is_none() ? a : b;
  const Points held = hold(of_metric(to, metric, column_names(a), "b"), "b", {backend, device, threads});
  return array_of(call([&] { return held.held.distances(rows.data, options); }));
}

nb::tuple dbscan(const nb::object& points, double radius, std::int64_t min_points, const std::string& metric,
                 const std::string& backend, int device, int threads) {
  Call call;
  const kith::SearchOptions options{.metric = metric, .run = call.run};
  const Points held = hold(of_metric(points, metric), "points", {backend, device, threads});
  kith::DensityClusters found = call([&] { return held.held.dbscan(radius, min_points, options); });
  return nb::make_tuple(array_of(std::move(found.labels)), array_of(std::move(found.core_rows)));
}

nb::dict shown(const kith::LabelScores& scores, const std::string& silhouette) {
  nb::dict all;
  if (silhouette == "exact") all["silhouette"] = scores.silhouette;
  if (silhouette != "none") all["simplified_silhouette"] = scores.simplified_silhouette;
  all["calinski_harabasz"] = scores.calinski_harabasz;
  all["davies_bouldin"] = scores.davies_bouldin;
  return all;
}

nb::dict evaluate(nb::object points, const nb::object& labels, const std::string& silhouette, bool save_silhouette,
                  const std::string& metric, const std::string& backend, int device, int threads) {
  Call call;
  const nb::object codes = attribute_of("kith._arrays", "codes")(labels);
  const auto of_rows = nb::cast<nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(codes);
  const bool is_result = nb::hasattr(labels, "stopped_by") && metric == "euclidean";  // it has its metric
  const kith::ScoreOptions options{.metric = is_result ? nb::cast<std::string>(labels.attr("metric")) : metric,
                                   .silhouette = silhouette,
                                   .run = call.run};
  const Points held = hold(std::move(points), "points", {backend, device, threads});
  kith::LabelScores scores =
      call([&] { return held.held.evaluate(std::span(of_rows.data(), of_rows.size()), options); });
  nb::dict all = shown(scores, silhouette);
  if (save_silhouette) all["silhouettes"] = array_of(std::move(scores.silhouettes));
  return all;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

nb::list sweep(nb::object points, std::vector<std::int64_t> clusters, const std::optional<std::string>& init,
               int n_init, int max_iterations, double tolerance, std::uint64_t seed, const std::string& metric,
               const std::string& silhouette, const std::string& backend, int device, int threads) {
  nb::list rows;
  const Points held = hold(std::move(points), "points", {backend, device, threads});
  std::sort(clusters.begin(), clusters.end());
  for (const std::int64_t k : clusters) {
    Call call;
    const kith::ClusterOptions options{.metric = metric,
                                       .init = init ? *init : held.held.default_init(clusters.back()),
                                       .runs = n_init,
                                       .max_iterations = max_iterations,
                                       .tolerance = tolerance,
                                       .seed = seed,
                                       .run = call.run};
    const kith::ScoreOptions scoring{.metric = metric, .silhouette = silhouette, .run = call.run};
    nb::dict row;
    call([&] {
      const kith::ClusterResult found = held.held.cluster(k, options);
      const bool is_comparable = std::ranges::count_if(found.counts, [](auto n) { return n > 0; }) > 1;
      const auto scores = is_comparable && k < held.held.rows() ? held.held.evaluate(found.labels, scoring)
                                                                : kith::LabelScores{kNone, kNone, kNone, kNone, {}};
      const nb::gil_scoped_acquire python;
      row = shown(scores, silhouette);
      row["clusters"] = k;
      row["iterations"] = found.iterations;
      row["stopped_by"] = found.stopped_by;
      row["inertia"] = found.inertia;
      return true;
    });
    rows.append(row);
  }
  return rows;
}

/// kith._native.Index.
struct Index {
  Points points;
  std::string metric;

  nb::tuple search(const nb::object& queries, std::int64_t k, bool include_self, bool squared) const {
    Call call;
    const kith::Index index(points.held, {.metric = metric, .include_self = include_self, .squared = squared});
    std::optional<Values> values;
    if (!queries.is_none()) values = values_of(of_metric(queries, metric, points.column_names, "queries"), "queries");
    kith::NeighborTable found =
        call([&] { return values ? index.search(values->data, k, call.run) : index.search(k, call.run); });
    return nb::make_tuple(array_of(std::move(found.rows)), array_of(std::move(found.distances)));
  }
  nb::tuple within(const nb::object& queries, double radius, bool include_self, bool squared) const {
    Call call;
    const kith::Index index(points.held, {.metric = metric, .include_self = include_self, .squared = squared});
    std::optional<Values> values;
    if (!queries.is_none()) values = values_of(of_metric(queries, metric, points.column_names, "queries"), "queries");
    kith::RadiusTable found =
        call([&] { return values ? index.within(values->data, radius, call.run) : index.within(radius, call.run); });
    return nb::make_tuple(array_of(std::move(found.begin)), array_of(std::move(found.rows)),
                          array_of(std::move(found.distances)));
  }
};

void raise(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const kith::Error& error) {
    const nb::object made =
        attribute_of("kith._errors", "error_of_library")(static_cast<int>(error.code()), error.what());
    PyErr_SetObject(made.type().ptr(), made.ptr());
  }
}

}  // namespace

NB_MODULE(_native, module) {
  nb::register_exception_translator(raise);
  module.def("version", [] { return kith::library_version(); });
  module.def(
      "missing",
      [](const std::string& backend, int device) {
        std::string reason;
        kith::is_usable(backend, &reason, {.device = device});
        return reason;
      },
      "backend"_a, "device"_a = 0);

  module.def(
      "place_columns",
      [](const std::vector<std::string>& names) {
        nb::list all;
        for (const kith::PlaceColumns& angle : kith::place_columns(names)) {
          all.append(nb::make_tuple(angle.angle, angle.known, angle.columns));
        }
        return all;
      },
      "names"_a);

  nb::class_<Points>(module, "Points", "Rows x columns of finite values, held by a device for many calls.")
      .def(
          "__init__",
          [](Points* self, nb::object values, const std::string& name, const std::string& backend, int device,
             int threads) {
            new (self) Points(hold(std::move(values), name.c_str(), {backend, device, threads}));
          },
          "values"_a, nb::kw_only(), "name"_a = "points", "backend"_a = "auto", "device"_a = 0, "threads"_a = 0)
      .def_prop_ro("rows", [](const Points& points) { return points.held.rows(); })
      .def_prop_ro("columns", [](const Points& points) { return points.held.columns(); })
      .def_ro("column_names", &Points::column_names)
      .def_prop_ro("shape", [](const Points& points) { return std::pair(points.held.rows(), points.held.columns()); })
      .def("__len__", [](const Points& points) { return points.held.rows(); })
      .def_prop_ro("value_class", [](const Points& points) { return points.held.is_wide() ? "f64" : "f32"; });

  nb::class_<Index>(module, "Index", "Exact neighbours among the rows of the base, which it holds for many searches.")
      .def(
          "__init__",
          [](Index* self, const nb::object& base, const std::string& metric, const std::string& backend, int device,
             int threads) {
            Points points = hold(of_metric(base, metric), "base", {backend, device, threads});
            kith::Index(points.held, {.metric = metric});  // refuses other metrics
            new (self) Index{std::move(points), metric};
          },
          "base"_a, "metric"_a = "euclidean", nb::kw_only(), "backend"_a = "auto", "device"_a = 0, "threads"_a = 0)
      .def_ro("points", &Index::points)
      .def_ro("metric", &Index::metric)
      .def("search", &Index::search, "queries"_a = nb::none(), "k"_a = 10, nb::kw_only(), "include_self"_a = false,
           "squared"_a = false,
           "(q, k) rows, nearest first, ties to the lowest row, and their distances. queries=None: the rows of the base, "
           "each without itself unless include_self.")
      .def("within", &Index::within, "queries"_a.none(), "radius"_a, nb::kw_only(), "include_self"_a = false,
           "squared"_a = false,
           "(q + 1) begins, rows and distances, as in scipy.sparse.csr_array: the rows within the radius, inclusive.");

  nb::class_<Clusters>(module, "Clusters")
      .def_ro("labels", &Clusters::labels)
      .def_ro("centroids", &Clusters::centroids)
      .def_ro("counts", &Clusters::counts)
      .def_ro("inertia_per_cluster", &Clusters::inertia_per_cluster)
      .def_ro("nearest_row", &Clusters::nearest_row)
      .def_ro("distances", &Clusters::distances)
      .def_ro("medoids", &Clusters::medoids)
      .def_ro("inertia", &Clusters::inertia)
      .def_ro("iterations", &Clusters::iterations)
      .def_ro("stopped_by", &Clusters::stopped_by)
      .def_ro("changed", &Clusters::changed);

  nb::class_<Model>(module, "Model")
      .def(
          "__init__",
          [](Model* self, const nb::object& centroids, const std::string& metric) {
            new (self) Model{kith::Model::of(matrix_of(centroids, "centroids"), metric)};
          },
          "centroids"_a, "metric"_a = "euclidean")
      .def("is_of", &Model::is_of, "centroids"_a)
      .def("labels", &Model::labels, "points"_a, nb::kw_only(), "backend"_a = "auto", "device"_a = 0, "threads"_a = 0);

  module.def("cluster", &cluster, "points"_a, "clusters"_a, nb::kw_only(), "init"_a = nb::none(), "n_init"_a = 1,
             "max_iterations"_a = 300, "tolerance"_a = 1e-4, "seed"_a = 0, "metric"_a = "euclidean",
             "weights"_a = nb::none(), "batch"_a = 0, "epochs"_a = 3, "no_finish"_a = false, "algorithm"_a = "lloyd",
             "empty"_a = "relocate", "save_distances"_a = false, "medoids"_a = false, "backend"_a = "auto",
             "device"_a = 0, "threads"_a = 0);
  module.def("assign", &assign, "points"_a, "centroids"_a, nb::kw_only(), "metric"_a = "euclidean",
             "weights"_a = nb::none(), "save_distances"_a = false, "backend"_a = "auto", "device"_a = 0,
             "threads"_a = 0);
  module.def("distances", &distances, "a"_a, "b"_a = nb::none(), nb::kw_only(), "metric"_a = "euclidean",
             "squared"_a = false, "backend"_a = "auto", "device"_a = 0, "threads"_a = 0,
             "(rows of a, rows of b) all distances; b=None: a again.");
  module.def("dbscan", &dbscan, "points"_a, "radius"_a, "min_points"_a = 5, nb::kw_only(), "metric"_a = "euclidean",
             "backend"_a = "auto", "device"_a = 0, "threads"_a = 0,
             "(n) labels, -1 for noise, and the rows of core points, ascending.");
  module.def("evaluate", &evaluate, "points"_a, "labels"_a, nb::kw_only(), "silhouette"_a = "exact",
             "save_silhouette"_a = false, "metric"_a = "euclidean", "backend"_a = "auto", "device"_a = 0,
             "threads"_a = 0, "Scores of a clustering; labels: one for each row, a result or a fitted KMeans.");
  module.def("sweep", &sweep, "points"_a, "clusters"_a, nb::kw_only(), "init"_a = nb::none(), "n_init"_a = 1,
             "max_iterations"_a = 300, "tolerance"_a = 1e-4, "seed"_a = 0, "metric"_a = "euclidean",
             "silhouette"_a = "simplified", "backend"_a = "auto", "device"_a = 0, "threads"_a = 0,
             "k-means for each number of clusters, with scores that help to choose one.");
}
