// Owning handles of the HDF5 C API, and its error messages as text.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace kith::data {

/// Throws std::bad_alloc unless 8 MiB can be allocated: where malloc fails, the library uses null pointers. It is
/// called before the library starts, and before results are written and closed.
void require_library_memory();

/// Prepares HDF5 for this thread: the library prints nothing, never loads a plugin, and runs nothing at exit. Cheap;
/// every public function of data/ that uses HDF5 calls it first.
void prepare_hdf5();

/// The error message of the innermost function in this thread's last failed HDF5 call.
std::string hdf5_reason();

/// Explains such a message about an object to the user: damage, or a newer format, with the remedy.
std::string describe_damage(const std::string& reason);

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
  /// Transfers the reference to the caller, who has to close it.
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// The type of UTF-8 texts of `size` bytes, or of variable length with H5T_VARIABLE.
Handle utf8_type(std::size_t size);

}  // namespace kith::data
