// Points that a backend takes while they are read: the same values, labels and errors as after reading.
#include "data/reading.h"
#include "core/numbers/metric.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/support/cases.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// Large enough for several blocks of a reading, each of several blocks of a source.
constexpr std::int64_t kRows = 300'000, kColumns = 17;

std::vector<float> numbers() {
  std::vector<float> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

data::ReadOptions with_threads(int threads, data::Precision precision = data::Precision::automatic) {
  data::ReadOptions options;
  options.threads = threads;
  options.precision = precision;
  return options;
}

/// Rows that arrive `step` at a time. Reading fails at row `fails_at` unless it is negative.
class SlowArrival final : public Arrival {
 public:
  SlowArrival(std::int64_t rows, std::int64_t step, std::int64_t fails_at = -1)
      : rows_(rows), step_(step), fails_at_(fails_at) {}
  std::int64_t wait_for(std::int64_t rows) override {
    REQUIRE(rows <= rows_);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    while (arrived_ < rows) arrived_ = std::min(arrived_ + step_, rows_);
    if (fails_at_ >= 0 && arrived_ > fails_at_)
      throw Error(ExitCode::data, "points.h5:/x: row " + std::to_string(rows));
    return arrived_;
  }
  std::int64_t arrived() const { return arrived_; }

 private:
  std::int64_t rows_, step_, fails_at_, arrived_ = 0;
};

}  // namespace

TEST_CASE("several threads read the same values as one, in every class and layout") {
  const Scratch scratch;
  const std::string file = scratch / "x.h5";
  {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, 1024);  // HDF5's addresses begin after it
    const hid_t id = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Fclose(id);
    H5Pclose(creation);
  }
  const std::vector<float> values = numbers();
  {
    const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hsize_t shape[2] = {kRows, kColumns};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    for (const auto& [name, type] : {std::pair<const char*, hid_t>{"small", H5T_IEEE_F32LE},
                                     {"swapped", H5T_IEEE_F32BE},
                                     {"wide", H5T_IEEE_F64LE},
                                     {"whole", H5T_STD_I32LE}}) {
      const hid_t set = H5Dcreate2(id, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      REQUIRE(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
      H5Dclose(set);
    }
    H5Sclose(space);
    H5Fclose(id);
  }
  for (const char* name : {"small", "swapped", "wide", "whole"}) {
    for (const data::Precision precision : {data::Precision::f32, data::Precision::f64}) {
      INFO(name);
      const auto one = data::open_points(file + ":" + name, with_threads(1, precision));
      const auto several = data::open_points(file + ":" + name, with_threads(8, precision));
      const PointsMatrix expected = data::read_all(*one), actual = data::read_all(*several);
      CHECK(one->changed_values() == several->changed_values());
      std::visit(
          [&](const auto& a) {
            const auto& b = std::get<std::decay_t<decltype(a)>>(actual);
            CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0);
            CHECK(static_cast<double>(a.data()[a.size() - 1]) == values.back());
          },
          expected);
    }
  }
}

TEST_CASE("bytes are read unconverted on request, in every layout") {
  const Scratch scratch;
  const std::int64_t n = 70'001, d = 17;
  std::vector<std::int16_t> values(static_cast<std::size_t>(n * d));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int16_t>((i * 7919) % 251 % 128);
  // Only HDF5 itself can decode the filter of the last layout.
  const std::vector<Layout> layouts{{},
                                    {.chunk = {1000, 5}},
                                    {.chunk = {999, 17}, .shuffle = true, .deflate = 1},
                                    {.chunk = {500, 9}, .scale_offset = 0}};
  for (const auto& [type, number, least] :
       {std::tuple{H5T_STD_U8LE, data::Number::uint8, 100}, std::tuple{H5T_STD_I8BE, data::Number::int8, -128}}) {
    std::vector<std::int16_t> shifted = values;
    for (std::int16_t& v : shifted) v = static_cast<std::int16_t>(v + least);
    for (std::size_t l = 0; l < layouts.size(); ++l) {
      INFO(data::name_of(number) << ", layout " << l);
      const std::string file = scratch / "x.h5";
      { FileMaker(file).dataset("x", type, {n, d}, H5T_NATIVE_INT16, shifted.data(), layouts[l]); }
      data::ReadOptions options = with_threads(4);
      CHECK(data::open_points(file, options)->held_as() == data::Number::float32);
      options.keep_bytes = true;
      const auto source = data::open_points(file, options);
      CHECK(source->held_as() == number);
      CHECK(source->value_class() == ValueClass::f32);
      {
        data::Reading reading(*source);
        CHECK(reading.wait_for(n) == n);
        std::visit(
            [&](const auto& view) {
              CHECK(sizeof(*view.data) == 1);
              CHECK(std::equal(shifted.begin(), shifted.end(), view.data));
            },
            reading.values());
      }
      Matrix<float> floats(3, d);  // reading by class still works
      source->read(n / 2, floats.view());
      CHECK(std::equal(floats.data(), floats.data() + floats.size(), shifted.begin() + n / 2 * d));
      Matrix<std::uint8_t> unsigned_bytes(3, d);
      if (number == data::Number::int8) {
        refused(ExitCode::internal, [&] { source->read(0, unsigned_bytes.view()); }, {"uint8", "int8"});
      } else {
        source->read(n / 2 + 1, unsigned_bytes.view());  // within a band of chunks
        CHECK(std::equal(unsigned_bytes.data(), unsigned_bytes.data() + unsigned_bytes.size(),
                         shifted.begin() + (n / 2 + 1) * d));
      }
      options.precision = data::Precision::f64;
      CHECK(data::open_points(file, options)->held_as() == data::Number::float64);
    }
  }
}

TEST_CASE("directions of float32 and byte rows are read as float64, with any number of threads") {
  const Scratch scratch;
  const std::string file = scratch / "x.h5";
  std::vector<float> values = numbers();
  for (std::size_t i = 0; i < values.size(); i += kColumns) values[i] += 1.5F;  // no row of zeros
  FileMaker(file).floats("x", {kRows, kColumns}, values);
  Matrix<float> rows(kRows, kColumns);
  std::copy(values.begin(), values.end(), rows.data());
  Matrix<double> expected(kRows, kColumns);
  write_directions<float>(std::as_const(rows).view(), expected.view(), {"x", 0});
  for (const int threads : {1, 3}) {
    const auto source = data::open_points(file, {.threads = threads, .form = data::RowForm::directions});
    CHECK(source->value_class() == ValueClass::f32);
    CHECK(source->held_as() == data::Number::float64);
    data::Reading reading(*source);
    reading.wait_for(kRows);
    const auto actual = std::get<MatrixView<const double>>(reading.values());
    CHECK(std::memcmp(actual.data, expected.data(), static_cast<std::size_t>(actual.size()) * sizeof(double)) == 0);
  }
}

TEST_CASE("a reading drops rows with NaN in all blocks and returns the numbers of the kept rows") {
  const Scratch scratch;
  const std::vector<float> all = numbers();  // of several blocks
  for (const data::RowForm form : {data::RowForm::as_read, data::RowForm::directions}) {
    std::vector<float> values = all, kept_values;
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto row = all.begin() + i * kColumns;
      if (i % 1000 == 999 || (i > 150'000 && i < 200'000)) {
        values[i * kColumns + i % kColumns] = i % 2 == 0 ? NAN : INFINITY;
      } else {
        kept.push_back(i);
        kept_values.insert(kept_values.end(), row, row + kColumns);
      }
    }
    const std::string file = scratch / "x.h5", other = scratch / "y.h5";
    FileMaker(file).floats("x", {kRows, kColumns}, values);
    FileMaker(other).floats("x", {kept.size(), kColumns}, kept_values);
    const auto source = data::open_points(file, {.missing = data::Missing::keep, .form = form});
    const auto expected_source = data::open_points(other, {.form = form});
    data::Reading reading(*source, {.drop_missing = true});
    data::Reading expected(*expected_source);
    CHECK(reading.wait_for(kRows) == kRows);
    expected.wait_for(std::ssize(kept));
    CHECK(reading.dropped_rows() == kRows - std::ssize(kept));
    CHECK(reading.first_dropped_row() == 999);
    CHECK(std::equal(kept.begin(), kept.end(), reading.kept_rows().begin(), reading.kept_rows().end()));
    std::visit(
        [&]<class T>(MatrixView<const T> a) {
          const auto b = std::get<MatrixView<const T>>(expected.values());
          REQUIRE(a.rows == b.rows);
          CHECK(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.size()) * sizeof(T)) == 0);
        },
        reading.values());
    CHECK(expected.kept_rows().empty());
  }
}

TEST_CASE("a reading announces rows as they arrive, with the values of the file") {
  const Scratch scratch;
  const std::vector<float> values = numbers();
  for (const bool chunked : {false, true}) {
    const std::string file = scratch / (chunked ? "chunked.h5" : "plain.h5");
    FileMaker(file).floats("x", {kRows, kColumns}, values,
                           {.chunk = chunked ? std::vector<hsize_t>{1000, 5} : std::vector<hsize_t>{}});
    const auto source = data::open_points(file, with_threads(4));
    data::Reading reading(*source);
    for (std::int64_t arrived = 0; arrived < kRows;) {
      const std::int64_t before = arrived;
      arrived = reading.wait_for(before + 1);
      REQUIRE(arrived > before);
      const auto view = std::get<MatrixView<const float>>(reading.values());
      CHECK(std::memcmp(view.data + before * kColumns, values.data() + before * kColumns,
                        static_cast<std::size_t>((arrived - before) * kColumns) * sizeof(float)) == 0);
    }
    CHECK(reading.wait_for(kRows) == kRows);
    CHECK(reading.seconds() > 0.0);
  }
}

TEST_CASE("the error of the first invalid row is reported, with any number of threads and during a reading") {
  const Scratch scratch;
  std::vector<float> values = numbers();
  const std::int64_t first = kRows - 40'000;
  for (std::int64_t row = first; row < kRows; row += 700) values[row * kColumns + 3] = std::nanf("");
  FileMaker(scratch / "x.h5").floats("x", {kRows, kColumns}, values);
  const std::string row = "row " + std::to_string(first + 1) + ", column 4";
  for (const int threads : {1, 8}) {
    const auto source = data::open_points(scratch / "x.h5", with_threads(threads));
    refused(ExitCode::data, [&] { data::read_all(*source); }, {"x.h5:/x", row.c_str(), "found NaN"});
    data::Reading reading(*source);
    CHECK(reading.wait_for(1) < kRows);
    refused(ExitCode::data, [&] { reading.wait_for(kRows); }, {"x.h5:/x", row.c_str(), "found NaN"});
    refused(ExitCode::data, [&] { reading.wait_for(kRows); }, {row.c_str()});
  }
}

TEST_CASE("a destroyed reading stops, and the source can be read again") {
  const Scratch scratch;
  const std::vector<float> values = numbers();
  FileMaker(scratch / "x.h5").floats("x", {kRows, kColumns}, values);
  const auto source = data::open_points(scratch / "x.h5");
  { const data::Reading abandoned(*source); }
  const auto read = std::get<Matrix<float>>(data::read_all(*source));
  CHECK(std::memcmp(read.data(), values.data(), values.size() * sizeof(float)) == 0);
}

TEST_CASE("a backend takes rows while they arrive, in every mode of holding them") {
  const test::Kind& kind = test::kinds()[0];
  const std::int64_t n = 3000, d = 33, k = 7;
  const Matrix<double> values = kind.make(n, d, 5);
  const PointsMatrix stored = test::as_class(values.view(), ValueClass::f32);
  const auto expected = test::reference_points(values.view());
  const DataPlan plan = make_plan(*expected);
  expected->prepare(plan);
  const Matrix<double> centroids = test::centroids_near(values.view(), k);
  const AssignRequest request{centroids.view()};
  Assignment ignored(k);
  expected->assign(request, ignored);
  std::vector<std::int32_t> expected_labels(n), labels(n);
  expected->labels(expected_labels);
  for (const std::int64_t block_rows : {0, 256}) {
    BackendOptions options;
    options.block_rows = block_rows;
    for (const test::Tested& tested : test::every_backend(options)) {
      INFO(tested.name << ", blocks of " << block_rows);
      SlowArrival arrival(n, 170);
      const auto points = tested.backend->hold({view_of(stored), 0, &arrival});
      CHECK(arrival.arrived() == n);
      points->prepare(make_plan(*points));
      points->assign(request, ignored);
      points->labels(labels);
      CHECK(labels == expected_labels);

      SlowArrival failing(n, 170, n / 2);
      refused(ExitCode::data, [&] { tested.backend->hold({view_of(stored), 0, &failing}); }, {"points.h5:/x: row"});
      // The points that were held before remain valid.
      points->assign(request, ignored);
      points->labels(labels);
      CHECK(labels == expected_labels);
    }
  }
}
