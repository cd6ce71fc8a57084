// A virtual file driver of HDF5 for reading. HDF5 1.10 tells the address of a chunk only by a search through all chunks
// of the dataset; the address of a read is found as fast as the read.
#include "data/hdf5/hdf5_driver.h"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

namespace kith::data {
namespace {

constexpr haddr_t kMaxAddress = (haddr_t{1} << 62) - 1;

/// HDF5 keeps its own data in the first member.
struct OpenFile {
  H5FD_t base;
  int descriptor;
  haddr_t end_of_addresses;
  haddr_t end_of_file;
  dev_t device;
  ino_t inode;
};

OpenFile* of(H5FD_t* file) { return reinterpret_cast<OpenFile*>(file); }
const OpenFile* of(const H5FD_t* file) { return reinterpret_cast<const OpenFile*>(file); }

/// While not null, reads of values are recorded here and not done.
std::vector<StoredBytes>* recorded = nullptr;

herr_t fail(const char* message) {
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR, "%s", message);
  return -1;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t, haddr_t) {
  if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
  const int descriptor = open(name, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    fail(std::strerror(errno));
    if (descriptor >= 0) close(descriptor);
    return nullptr;
  }
  auto* file = new (std::nothrow) OpenFile{};
  if (file == nullptr) {
    close(descriptor);
    return nullptr;
  }
  file->descriptor = descriptor;
  file->end_of_file = static_cast<haddr_t>(status.st_size);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  return &file->base;
}

herr_t close_file(H5FD_t* file) {
  close(of(file)->descriptor);
  delete of(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const auto key = [](const H5FD_t* file) { return std::pair(of(file)->device, of(file)->inode); };
  return key(a) < key(b) ? -1 : key(b) < key(a) ? 1 : 0;
}

/// No buffer of values: find_stored_bytes() must see every read.
herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_ACCUMULATE_METADATA;
  return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_addresses; }
herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  of(file)->end_of_addresses = end;
  return 0;
}
haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_file; }

herr_t handle_of(H5FD_t* file, hid_t, void** handle) {
  *handle = &of(file)->descriptor;
  return 0;
}

/// Bytes behind the end of the file are 0, as in HDF5's own drivers.
herr_t read_bytes(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t begin, size_t size, void* buffer) {
  if (begin > kMaxAddress || size > kMaxAddress - begin) return fail("an address outside of the file");
  if (recorded != nullptr && type == H5FD_MEM_DRAW) {
    recorded->push_back({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(size)});
    return 0;
  }
  char* to = static_cast<char*>(buffer);
  auto at = static_cast<off_t>(begin);
  while (size > 0) {
    const ssize_t got = pread(of(file)->descriptor, to, size, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(std::strerror(errno));
    if (got == 0) {
      std::memset(to, 0, size);
      return 0;
    }
    to += got;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return 0;
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

herr_t lock_file(H5FD_t* file, hbool_t) {
  if (flock(of(file)->descriptor, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return 0;
  return fail("open for writing by another program");
}
herr_t unlock_file(H5FD_t* file) {
  flock(of(file)->descriptor, LOCK_UN);
  return 0;
}

hid_t register_driver() {
  static H5FD_class_t driver{};
#if H5_VERSION_GE(1, 14, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = 512;  // of the numbers for private use
#endif
  driver.name = "kith";
  driver.maxaddr = kMaxAddress;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.open = open_file;
  driver.close = close_file;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = end_of_addresses;
  driver.set_eoa = set_end_of_addresses;
  driver.get_eof = end_of_file;
  driver.get_handle = handle_of;
  driver.read = read_bytes;
  driver.write = refuse_to_write;
  driver.lock = lock_file;
  driver.unlock = unlock_file;
  const H5FD_mem_t one_kind_of_memory[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(one_kind_of_memory), std::end(one_kind_of_memory), driver.fl_map);
  return H5FDregister(&driver);
}

}  // namespace

void set_reading_driver(hid_t access) {
  static const hid_t driver = register_driver();
  H5Pset_driver(access, driver, nullptr);
}

std::optional<StoredBytes> find_stored_bytes(const std::function<void()>& read) {
  std::vector<StoredBytes> ranges;
  recorded = &ranges;
  read();
  recorded = nullptr;
  return ranges.size() == 1 ? std::optional(ranges.front()) : std::nullopt;
}

}  // namespace kith::data
