// The reference as a backend, for algorithms that hold rows themselves.
#pragma once

#include <algorithm>
#include <memory>

#include "tests/support/reference.h"

namespace kith::test {

class ReferenceBackend final : public Backend {
 public:
  Device device() const override { return {"the definition", ""}; }
  std::unique_ptr<Points> hold(const PointBlock& block) override {
    return std::visit(
        [](const auto& rows) {
          Matrix<double> values(rows.rows, rows.columns);
          std::copy(rows.data, rows.data + rows.size(), values.data());
          return reference_points(values.view());
        },
        block.values);
  }
};

}  // namespace kith::test
