// Owning handles of the HDF5 C API, its errors as text, its access to files, and a file that is open for reading.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "data/format/element.h"
#include "data/io/input_bytes.h"

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
/// The little-endian type of such numbers in files, which is that in memory on the machines of kith.
hid_t hdf5_type(Number number);
/// Properties for H5P_FILE_CREATE and so on, without time stamps: equal contents are equal bytes.
Handle creation_properties(hid_t kind);
/// A new group; empty if it cannot be made.
Handle make_group(hid_t parent, const std::string& name);

// HDF5's access to a file: reads it with the operating system, and can tell where the library would read.

/// Sets the driver of a list of file access properties. It reads, and never writes. H5Fget_vfd_handle gives a pointer
/// to the descriptor.
void set_reading_driver(hid_t access);

/// A range of bytes of a file.
struct StoredBytes {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// Runs `read`, in which the library reads values from a file with this driver, and returns where it read, instead of
/// reading: memory that receives the values stays as it is. nullopt if it read no values, or several ranges.
std::optional<StoredBytes> find_stored_bytes(const std::function<void()>& read);

class Hdf5InputFile {
 public:
  /// Opens read-only, with a lock if the file system supports locks. Throws Error(data) with the reason: missing, not
  /// readable, not HDF5, truncated, open for writing in another program, not closed by a program that crashed.
  explicit Hdf5InputFile(const std::string& file);

  const std::string& name() const { return name_; }
  hid_t id() const { return handle_.get(); }
  std::int64_t bytes() const { return state_.size(); }
  const FileState& state() const { return state_; }
  int descriptor() const { return descriptor_; }  // valid during the lifetime of the object; use it with pread() only
  /// Throws Error(data) if the file has changed since it was opened; HDF5 itself would silently read zeros.
  void check_unchanged() const;

 private:
  std::string name_;
  Handle handle_;
  FileState state_;
  int descriptor_ = -1;  // HDF5's own, borrowed
};

}  // namespace kith::data
