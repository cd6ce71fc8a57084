// kith --scale and --pca: the answer is that of points prepared beforehand, and results carry the parameters along.
#include <algorithm>
#include <cmath>

#include "core/preparation/preparation.h"
#include "core/runtime/threads.h"
#include "data/source.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

template <class T>
void make(const std::string& file, MatrixView<const T> rows) {
  const bool narrow = sizeof(T) == sizeof(float);
  FileMaker(file).dataset("x", narrow ? H5T_IEEE_F32LE : H5T_IEEE_F64LE,
                          {static_cast<hsize_t>(rows.rows), static_cast<hsize_t>(rows.columns)},
                          narrow ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, rows.data);
}

/// Points of four groups in columns of different width; other ones for other seeds.
Matrix<float> groups(std::int64_t n, std::uint32_t seed) {
  Matrix<float> points(n, 6);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) {
      const auto noise =
          static_cast<double>((static_cast<std::uint32_t>(i * 6 + j) * 2654435761U + seed) % 10007) / 10007;
      const double group = static_cast<double>((i % 4) * (j + 1) % 5);
      points(i, j) = static_cast<float>(std::pow(10.0, static_cast<double>(j % 3)) * (3 * group + noise));
    }
  }
  return points;
}

/// The parameters that a result holds.
Preparation stored(const std::string& result, const PreparationRequest& request) {
  Preparation found;
  found.scaling = request.scaling;
  if (request.scaling == Scaling::zscore || request.scaling == Scaling::minmax) {
    found.columns = {values(result + ":/preparation/center"), values(result + ":/preparation/scale")};
  }
  if (request.components > 0) {
    found.pca = {values(result + ":/preparation/mean"), matrix(result + ":/preparation/components"),
                 values(result + ":/preparation/explained_variance"),
                 values(result + ":/preparation/explained_variance_ratio")};
  }
  return found;
}

struct Prepared {
  PreparationRequest request;
  Words options;
};
const std::vector<Prepared>& preparations() {
  static const std::vector<Prepared> all{
      {{.scaling = Scaling::zscore}, {"--scale", "zscore"}},
      {{.scaling = Scaling::minmax}, {"--scale", "minmax"}},
      {{.scaling = Scaling::unit}, {"--scale", "unit"}},
      {{.components = 2}, {"--pca", "2"}},
      {{.scaling = Scaling::zscore, .components = 3}, {"--scale", "zscore", "--pca", "3"}}};
  return all;
}

/// The words of a run that writes `out`.
Words writing(Words words, const std::string& out, const Words& more = {}, const Words& others = {}) {
  for (const Words& rest : {Words{"-o", out, "-f", "-q"}, more, others}) {
    words.insert(words.end(), rest.begin(), rest.end());
  }
  return words;
}

}  // namespace

TEST_CASE("prepared points are clustered and assigned as points that were prepared beforehand") {
  const Scratch folder;
  Threads threads(1);
  const Matrix<float> points = groups(500, 1), new_points = groups(80, 99);
  const std::string file = folder / "x.h5", other = folder / "y.h5", out = folder / "out.h5", plain = folder / "p.h5";
  make<float>(file, points.view());
  make<float>(other, new_points.view());
  for (const Prepared& prepared : preparations()) {
    for (const std::string& backend : usable_backends()) {
      const Words with{"--backend", backend, "--save-distances"};
      INFO(prepared.options.back() << " on " << backend);
      done(writing({"cluster", file, "-k", "4"}, out, prepared.options, with));
      const Preparation found = stored(out, prepared.request);
      const auto beforehand = [&](const std::string& from, const std::string& to) {
        PointsMatrix rows = data::read_all(*data::open_points(from));
        apply_preparation({rows, from}, found, threads);
        make<float>(to, std::as_const(std::get<Matrix<float>>(rows)).view());
      };
      beforehand(file, folder / "x-prepared.h5");
      beforehand(other, folder / "y-prepared.h5");
      done(writing({"cluster", folder / "x-prepared.h5", "-k", "4"}, plain, {}, with));
      for (const char* dataset : {":/labels", ":/centroids", ":/distances", ":/inertia_per_cluster", ":/nearest_row"}) {
        CHECK(values(out + dataset) == values(plain + dataset));
      }
      const std::string assigned = folder / "a.h5", expected = folder / "b.h5";
      done(writing({"assign", other, "--centroids", out}, assigned, {}, with));
      done(writing({"assign", folder / "y-prepared.h5", "--centroids", plain}, expected, {}, with));
      for (const char* dataset : {":/labels", ":/distances"}) {
        CHECK(values(assigned + dataset) == values(expected + dataset));
      }
      done(writing({"assign", file, "--centroids", out + ":/centroids"}, assigned, {}, with));
      CHECK(values(assigned + ":/labels") == values(out + ":/labels"));
    }
  }
}

TEST_CASE("neighbours are those of the prepared points; queries are prepared as the base is") {
  const Scratch folder;
  Threads threads(1);
  const Matrix<float> points = groups(300, 1), queries = groups(21, 5);
  const std::string file = folder / "x.h5", asked = folder / "q.h5", out = folder / "out.h5", plain = folder / "p.h5";
  make<float>(file, points.view());
  make<float>(asked, queries.view());
  for (const Prepared& prepared : preparations()) {
    INFO(prepared.options.back());
    PointsMatrix base_rows = data::read_all(*data::open_points(file)), rows = data::read_all(*data::open_points(asked));
    const Preparation found = prepare({base_rows, "x"}, prepared.request, threads);
    apply_preparation({rows, "q"}, found, threads);
    make<float>(folder / "x-prepared.h5", std::as_const(std::get<Matrix<float>>(base_rows)).view());
    make<float>(folder / "q-prepared.h5", std::as_const(std::get<Matrix<float>>(rows)).view());
    for (const bool own : {true, false}) {
      const Words first{"knn", file, "-k", "3"}, second{"knn", folder / "x-prepared.h5", "-k", "3"};
      done(writing(first, out, prepared.options, own ? Words{} : Words{"--queries", asked}));
      done(writing(second, plain, {}, own ? Words{} : Words{"--queries", folder / "q-prepared.h5"}));
      CHECK(values(out + ":/neighbors") == values(plain + ":/neighbors"));
      CHECK(values(out + ":/distances") == values(plain + ":/distances"));
    }
  }
}

TEST_CASE("threads, blocks and backends do not change a byte of prepared results") {
  const Scratch folder;
  const std::string one = folder / "one.h5", other = folder / "other.h5";
  for (const Words& options : {Words{"--scale", "zscore", "--pca", "10"}, Words{"--scale", "minmax", "--nan", "drop"},
                               Words{"--pca", "3", "--metric", "cosine", "--precision", "f64"}}) {
    const Words start{"cluster", kDigits + ":/train", "-k", "9"};
    done(writing(start, one, options, {"--threads", "1", "--backend", "cpu"}));
    for (const std::string& backend : usable_backends()) {
      for (const Words& how : {Words{"--threads", "2"}, Words{"--threads", "7", "--block-rows", "100"}}) {
        Words more = how;
        more.insert(more.end(), {"--backend", backend});
        done(writing(start, other, options, more));
        CHECK(bytes_of(one) == bytes_of(other));
      }
    }
  }
}

TEST_CASE("a result says how its points were prepared, and has its centroids in their units too") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.h5";
  write_bytes(table, "x,y\n0,100\n2,100\n10,300\n12,300\n");
  const Words start{"cluster", table, "-k", "2", "--init", "first"};
  const Outcome run = done({"cluster", table, "-k", "2", "--scale", "zscore", "--pca", "1", "-o", out, "--json"});
  const std::string prepared = run.json()["prepared"];
  CHECK(prepared.find("columns scaled by zscore, 1 principal components with 99.") == 0);
  CHECK(run.says("prepared"));
  CHECK(bytes_of(out).find("--scale zscore --pca 1") != std::string::npos);

  done(writing({"cluster", table, "-k", "2", "--scale", "zscore"}, out));
  CHECK(values(out + ":/preparation/center") == std::vector<double>{6, 200});
  CHECK(values(out + ":/preparation/scale") == std::vector<double>{std::sqrt(26.0), 100});
  std::vector<double> original = values(out + ":/centroids_original");
  if (original[0] > original[2]) std::rotate(original.begin(), original.begin() + 2, original.end());
  const std::vector<double> expected{1, 100, 11, 300};
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(original[i] - expected[i]) <= 1e-13 * expected[i]);
  for (const Words& options : {Words{"--scale", "unit"}, Words{}, Words{"--scale", "minmax", "--metric", "cosine"}}) {
    write_bytes(table, "x,y\n1,300\n2,100\n10,300\n12,301\n");
    done(writing({"cluster", table, "-k", "1"}, out, options));
    CHECK(bytes_of(out).find("centroids_original") == std::string::npos);
  }
}

TEST_CASE("scores of a result are those of its prepared points") {
  const Scratch folder;
  const std::string table = folder / "t.csv", scaled = folder / "s.csv", out = folder / "out.h5";
  write_bytes(table, "x,y\n0,100\n2,100\n10,300\n12,300\n");
  write_bytes(scaled, "x,y\n0,0\n0.16666666666666666,0\n0.8333333333333334,1\n1,1\n");
  done(writing({"cluster", table, "-k", "2", "--scale", "minmax"}, out));
  const auto scores = [&](const std::string& labels, const std::string& points) {
    const nlohmann::json found = done({"evaluate", labels, "--points", points, "--json"}).json()["evaluation"];
    return std::vector<double>{found["silhouette"], found["calinski_harabasz"], found["davies_bouldin"]};
  };
  const std::vector<double> found = scores(out, table);
  done(writing({"cluster", scaled, "-k", "2"}, folder / "o.h5"));
  const std::vector<double> expected = scores(folder / "o.h5", scaled);
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(found[i] - expected[i]) <= 1e-12 * std::abs(expected[i]));
  // Assignments and sweeps hold the parameters too, for labels and for centroids.
  done(writing({"assign", table, "--centroids", out}, folder / "a.h5"));
  CHECK(scores(folder / "a.h5", table) == found);
  done(writing({"sweep", table, "-k", "2", "--scale", "minmax"}, folder / "s.h5"));
  CHECK(scores(folder / "s.h5:/k=2/labels", table) == found);
  done(writing({"assign", table, "--centroids", folder / "s.h5:/k=2/centroids"}, folder / "b.h5"));
  CHECK(scores(folder / "b.h5", table) == found);
  // A start brings its preparation along; options that say otherwise are refused.
  const std::string start = folder / "s.h5:/k=2/centroids";
  done({"cluster", table, "--init", start, "-o", folder / "c.h5"});
  done({"cluster", table, "--init", start, "--scale", "minmax", "-o", folder / "d.h5"});
  CHECK(scores(folder / "c.h5", table) == found);
  CHECK(values(folder / "c.h5:/centroids") == values(folder / "d.h5:/centroids"));
  CHECK(values(folder / "c.h5:/preparation/center") == values(folder / "d.h5:/preparation/center"));
  CHECK(bytes_of(folder / "c.h5").find("--scale minmax") != std::string::npos);
  for (const char* other : {"none", "zscore"}) {
    refuses(2, {"cluster", table, "--init", start, "--scale", other},
            {"--init", "--scale " + std::string(other), "found --scale minmax"});
  }
}

TEST_CASE("what does not fit a preparation is refused") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.h5";
  write_bytes(table, "x,y,z\n0,1,5\n2,1,6\n10,3,7\n12,3,9\n");
  done(writing({"cluster", table, "-k", "2", "--scale", "zscore", "--pca", "2"}, out));
  refuses(2, {"cluster", table, "-k", "2", "--pca", "0"}, {"--pca"});
  const std::string all = folder / "all.h5", part = folder / "part.h5", matrix = folder / "m.h5";
  done({"cluster", table, "--init", out, "--scale", "zscore", "--pca", "2", "-o", all});
  for (const Words& more : {Words{"--pca", "2"}, Words{"--scale", "zscore"}, Words{}}) {  // the rest is that of `out`
    done(writing({"cluster", table, "--init", out}, part, more));
    for (const char* dataset : {":/labels", ":/centroids", ":/preparation/center", ":/preparation/components"}) {
      CHECK(values(part + dataset) == values(all + dataset));
    }
  }
  const std::string found = "found --scale zscore --pca 2";
  refuses(2, {"cluster", table, "--init", out, "--scale", "none"}, {"--init", "--scale none --pca 2", found});
  refuses(2, {"cluster", table, "--init", out, "--scale", "minmax", "--pca", "2"}, {"--scale minmax --pca 2", found});
  refuses(2, {"cluster", table, "--init", out, "--column-weights", "x=2"}, {"--column-weights x=2", found});
  refuses(2, {"cluster", table, "--init", out, "--pca", "1"}, {"--init", "2 centroids of 1 columns", "found 2 x 2"});
  // A result of a matrix without names brings nothing along.
  make<float>(matrix, groups(40, 1).view());
  done(writing({"cluster", matrix, "-k", "2", "--scale", "zscore", "--pca", "2"}, out));
  refuses(2, {"cluster", matrix, "--init", out, "--pca", "2"}, {"--init", "--scale none --pca 2", found});
  done({"cluster", matrix, "--init", out, "--scale", "zscore", "--pca", "2"});
  done(writing({"cluster", table, "-k", "2", "--scale", "zscore", "--pca", "2"}, out));
  refuses(3, {"assign", table, "--columns", "x,y", "--centroids", out}, {"expected 'z' as column 3", "found only 2"});
  refuses(3, {"assign", table, "--columns", "y,x,z", "--centroids", out}, {"expected 'x' as column 1", "found 'y'"});
}
