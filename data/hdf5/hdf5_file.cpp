// Opens an HDF5 file for reading, with a separate message for each kind of failure.
#include "data/hdf5/hdf5_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "data/hdf5/hdf5_driver.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

/// Makes all checks that do not need HDF5. Returns whether the file system supports locks.
bool check_before_opening(const std::string& file) {
  require_regular(file, "a file");
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    refuse_input(file, fmt::format("cannot be read: {}; check its permissions", std::strerror(errno)));
  }
  const int lock_error = flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
  close(descriptor);  // HDF5 acquires its own lock
  if (lock_error == EWOULDBLOCK) {
    refuse_input(file, "open for writing by another program; wait until it is closed, or read a copy");
  }
  if (!has_hdf5_signature(file)) refuse_unknown_kind(file);
  return lock_error == 0;
}

/// Opens without a lock on network file systems that have none.
Handle open_with(const std::string& file, bool locking) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  set_reading_driver(access.get());
  H5Pset_file_locking(access.get(), locking, true);
  return Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, access.get()));
}

bool contains(const std::string& text, const char* part) { return text.find(part) != text.npos; }

/// Explains HDF5's reason for not opening a file.
std::string explain(const std::string& file, const std::string& reason) {
  unsigned long long found = 0, base = 0, expected = 0;
  if (std::sscanf(reason.c_str(), "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu", &found,
                  &base, &expected) == 3) {
    return fmt::format("truncated: expected {} bytes, found {}; copy or download it again", expected, found);
  }
  if (contains(reason, "h5clear") || contains(reason, "SWMR")) {
    return fmt::format(
        "marked as open for writing ({}); if no program writes to it, a program has crashed: run `h5clear -s {}`",
        reason, file);
  }
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && status.st_size < 96) {  // at most a header, of any version
    return fmt::format("truncated: only {} bytes of an HDF5 file are present; copy or download it again",
                       status.st_size);
  }
  if (contains(reason, "superblock version")) return describe_damage(reason);
  return fmt::format("damaged or truncated HDF5 file: {}; copy or create it again; `h5debug` may show details", reason);
}

}  // namespace

Hdf5InputFile::Hdf5InputFile(const std::string& file) : name_(file) {
  prepare_hdf5();
  handle_ = open_with(file, check_before_opening(file));
  if (!handle_) refuse_input(file, explain(file, hdf5_reason()));
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(handle_.get(), H5P_DEFAULT, &descriptor) < 0) refuse_input(file, hdf5_reason());
  descriptor_ = *static_cast<int*>(descriptor);
  state_ = FileState(descriptor_, file);
}

void Hdf5InputFile::check_unchanged() const { state_.check_unchanged(descriptor_, name_); }

}  // namespace kith::data
