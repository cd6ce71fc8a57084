// Handles, errors and files of the HDF5 library.
#include "data/hdf5/hdf5_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "data/hdf5/hdf5_chunks.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

namespace kith::data {
namespace {

thread_local std::string last_reason;

/// Keeps the first entry of a walk that starts at the innermost function.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* entry, void* text) {
  if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

/// HDF5 calls this instead of printing. The message must be stored here, since any next call clears the error stack,
/// even the closing of a handle.
herr_t remember(hid_t stack, void*) {
  last_reason.clear();
  H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, &last_reason);
  return 0;
}

}  // namespace

void require_library_memory() {
  constexpr std::size_t kBytes = std::size_t{8} << 20, kBlock = std::size_t{64} << 10;  // blocks like the library's own
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t taken = 0; taken < kBytes; taken += kBlock) blocks.emplace_back(new char[kBlock]);
}

void prepare_hdf5() {
  static std::once_flag once;
  std::call_once(once, [] {
    require_library_memory();
    // At exit the library would retry writing to files that failed; the handles close all files instead.
    H5dont_atexit();
    if (H5open() < 0) throw std::bad_alloc();  // half a library would write to memory that it does not have
    // Neither a data file nor the environment may make the library load code.
    H5PLset_loading_state(0);
    register_filters();
  });
  H5Eset_auto2(H5E_DEFAULT, remember, nullptr);
}

std::string hdf5_reason() {
  // Keep the message of "file write failed: ..., error message = 'No space left on device', buf = ...".
  const std::string key = "error message = '";
  if (const auto begin = last_reason.find(key); begin != std::string::npos) {
    const auto from = begin + key.size();
    return last_reason.substr(from, last_reason.find('\'', from) - from);
  }
  return last_reason.empty() ? "HDF5 gives no reason" : last_reason;
}

std::string describe_damage(const std::string& reason) {
  // A number of a superblock that no HDF5 has yet may also be a damaged byte.
  const bool is_superblock = reason.find("bad superblock version number") != std::string::npos;
  if (!is_superblock && reason.find("bad version number") == std::string::npos) return "damaged: " + reason;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format(
      "{} written by a newer HDF5 than the {}.{}.{} that kith uses ({}); create it without libver='latest', or "
      "copy its values with the newer version: h5repack --high=1 IN.h5 OUT.h5, or python3 -c \"import h5py; a, b = "
      "h5py.File('IN.h5'), h5py.File('OUT.h5', 'w'); a.visititems(lambda n, o: b.update({{n: o[()]}}) if hasattr(o, "
      "'dtype') else None)\"",
      is_superblock ? "damaged, or" : "probably", major, minor, release, reason);
}

Handle utf8_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), size);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

hid_t hdf5_type(Number number) {
  const hid_t types[] = {H5I_INVALID_HID, H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I8LE,
                         H5T_STD_U8LE,    H5T_STD_I16LE,  H5T_STD_U16LE,  H5T_STD_I32LE,
                         H5T_STD_U32LE,   H5T_STD_I64LE,  H5T_STD_U64LE,  H5I_INVALID_HID};
  return types[static_cast<std::size_t>(number)];  // in the order of Number; none for those of two bytes
}

Handle creation_properties(hid_t kind) {
  Handle creation(H5Pcreate(kind));
  H5Pset_obj_track_times(creation.get(), false);
  return creation;
}

Handle make_group(hid_t parent, const std::string& name) {
  return Handle(
      H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, creation_properties(H5P_GROUP_CREATE).get(), H5P_DEFAULT));
}

// A virtual file driver of HDF5 for reading. HDF5 1.10 tells the address of a chunk only by a search through all chunks
// of the dataset; the address of a read is found as fast as the read.

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
