// Opening an HDF5 file for reading: every way in which that fails gets a message of its own.
#include "data/hdf5/hdf5_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "data/io/file_kind.h"

namespace kith::data {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(ExitCode::data, fmt::format("{}: {}", file, what));
}

/// Everything that can be said before HDF5 sees the file. True when its file system can lock.
bool check_before_opening(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT) fail(file, "no such file; check the name and the directory");
    fail(file, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode))
    fail(file, fmt::format("expected a file, found {}; {}", special_kind(status.st_mode),
                           S_ISDIR(status.st_mode) ? "name a file in it, or another one"
                                                   : "give a file, or text on standard input with -"));
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(file, fmt::format("cannot be read: {}; check its permissions", std::strerror(errno)));
  const int lock_error = flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
  close(descriptor);  // HDF5 takes a lock of its own
  if (lock_error == EWOULDBLOCK) {
    fail(file, "open for writing by another program; wait until that has closed it, or read a copy");
  }
  if (!has_hdf5_signature(file)) {
    fail(file,
         fmt::format("expected a file of a known format, found {}; `kith devices` lists the formats that can be read",
                     looks_like(file)));
  }
  return lock_error == 0;
}

/// Some network file systems cannot lock; reading is then done without.
Handle open_with(const std::string& file, bool locking) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(access.get());  // whatever driver the environment names
  H5Pset_file_locking(access.get(), locking, true);
  return Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, access.get()));
}

bool contains(const std::string& text, const char* part) { return text.find(part) != text.npos; }

std::string reason_for_user(const std::string& file, const std::string& reason) {
  unsigned long long found = 0, base = 0, expected = 0;
  if (std::sscanf(reason.c_str(), "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu", &found,
                  &base, &expected) == 3) {
    return fmt::format("truncated: expected {} bytes, found {}; copy or download it again", expected, found);
  }
  if (contains(reason, "h5clear") || contains(reason, "SWMR")) {
    return fmt::format(
        "marked as being written to ({}); if no program is writing to it, one has crashed: run `h5clear -s {}`", reason,
        file);
  }
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && status.st_size < 96) {  // a header, of any version, and nothing behind it
    return fmt::format("truncated: only {} bytes are left of an HDF5 file; copy or download it again", status.st_size);
  }
  return fmt::format("damaged or truncated HDF5 file: {}; copy or make it again, `h5debug` may tell more", reason);
}

}  // namespace

Hdf5InputFile::Hdf5InputFile(const std::string& file) : name_(file) {
  prepare_hdf5();
  handle_ = open_with(file, check_before_opening(file));
  if (!handle_) fail(file, reason_for_user(file, hdf5_reason()));
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(handle_.get(), H5P_DEFAULT, &descriptor) < 0) fail(file, hdf5_reason());
  descriptor_ = *static_cast<int*>(descriptor);
  state_ = FileState(descriptor_, file);
}

void Hdf5InputFile::check_unchanged() const { state_.check_unchanged(descriptor_, name_); }

}  // namespace kith::data
