// Owning handles of the HDF5 C API, and what its error stack says, as text.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace kith::data {

/// Prepares HDF5 for this thread: nothing is printed by the library, no plugin is ever loaded, nothing runs at exit.
/// Cheap; every public function of this room that uses HDF5 calls it first.
void prepare_hdf5();

/// What the innermost function of this thread's last failed HDF5 call complained about.
std::string hdf5_reason();

/// What such a complaint about an object means for who wants to read it: damage, or a newer format, with the remedy.
std::string damage(const std::string& reason);

/// One reference to an HDF5 object of any kind: file, group, dataset, dataspace, datatype, attribute, property list.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Gives the identifier to a caller that closes it itself.
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace kith::data
