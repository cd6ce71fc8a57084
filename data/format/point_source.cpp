// What all sources share: the check of a request, and reading a whole dataset.
#include "data/format/point_source.h"

#include <fmt/format.h>

#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

[[noreturn]] void refuse_bytes(const PointSource& source) {
  throw Error(ExitCode::internal, fmt::format("{}: cannot read bytes from a dataset that is held as {}", source.name(),
                                              name_of(source.held_as())));
}

}  // namespace

void PointSource::read(std::int64_t, MatrixView<std::uint8_t>) { refuse_bytes(*this); }
void PointSource::read(std::int64_t, MatrixView<std::int8_t>) { refuse_bytes(*this); }

RowTexts PointSource::texts_of(const std::string& column) const {
  throw Error(ExitCode::usage, fmt::format("--join {}: expected a table with columns of text, found {}; give a table "
                                           "that has a row for each of its rows with --ids FILE.csv",
                                           column, name()));
}

template <class T>
void check_request(const PointSource& source, std::int64_t first, const MatrixView<T>& out) {
  const Number by_class = source.value_class() == ValueClass::f32 ? Number::float32 : Number::float64;
  if ((kNumberOf<T> == by_class || kNumberOf<T> == source.held_as()) && first >= 0 && out.rows >= 0 &&
      out.rows <= source.rows() - first && out.columns == source.columns()) {
    return;
  }
  throw Error(ExitCode::internal,
              fmt::format("{}: cannot read {} rows of {} {} columns from row {}: it has {} x {}, held as {}",
                          source.name(), out.rows, out.columns, name_of(kNumberOf<T>), first, source.rows(),
                          source.columns(), name_of(source.held_as())));
}

#define KITH_INSTANTIATE(T) template void check_request(const PointSource&, std::int64_t, const MatrixView<T>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

PointsMatrix allocate_points(const PointSource& source) { return allocate_points(source, source.rows()); }

PointsMatrix allocate_points(const PointSource& source, std::int64_t rows) {
  const std::int64_t columns = source.columns();
  switch (source.held_as()) {
    case Number::uint8:
      return Matrix<std::uint8_t>(rows, columns);
    case Number::int8:
      return Matrix<std::int8_t>(rows, columns);
    case Number::float64:
      return Matrix<double>(rows, columns);
    default:
      return Matrix<float>(rows, columns);
  }
}

PointsMatrix read_all(PointSource& source) {
  const std::int64_t values = checked_product(source.rows(), source.columns(), source.name().c_str());
  require_memory(checked_product(values, size_of(source.held_as()), source.name().c_str()), source.name());
  PointsMatrix all = allocate_points(source);
  std::visit([&source](auto& matrix) { source.read(0, matrix.view()); }, all);
  return all;
}

}  // namespace kith::data
