// A backend made of backends: the rows of each block are divided among several devices.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/points/backend.h"
#include "core/points/communicator.h"

namespace kith {

class ComposedBackend final : public Backend {
 public:
  /// backends: at least one, of the same kind. A part has at least `least_rows` rows, so that small blocks are held by
  /// fewer of them.
  ComposedBackend(std::vector<std::unique_ptr<Backend>> backends, std::int64_t least_rows);

  /// That of the first, with the memory of all.
  Device device() const override;
  std::unique_ptr<Points> hold(const PointBlock&) override;
  std::int64_t device_bytes() const override;

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
  std::int64_t least_rows_;
  SingleProcess alone_;
};

}  // namespace kith
