// Files that cannot be read: not HDF5, cut off, locked, not closed after a crash, changed while they are read.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "data/source.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/skipped.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

void refused_file(const std::string& location, std::initializer_list<const char*> words) {
  refused(
      ExitCode::data, [&] { open_points(location); }, words);
}

/// A small valid file: "x", 4 x 2 float32.
void make_valid(const std::string& file) { FileMaker(file).floats("x", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}); }

}  // namespace

TEST_CASE("the message about a file of an unknown format describes its content") {
  const Scratch scratch;
  refused_file(scratch / "missing.h5", {"missing.h5", "no such file"});
  refused_file((scratch / "missing.h5") + ":/train", {"missing.h5", "no such file"});
  refused_file(scratch / "", {"expected a folder with files of points", "found none"});
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  refused_file(scratch / "pipe", {"found a pipe"});
  refused_file("/dev/null", {"found a device"});
  const std::pair<std::string, const char*> kinds[] = {{"", "an empty file"},
                                                       {"\x89PNG\r\n\x1a\n", "a PNG picture"},
                                                       {"\x1f\x8b\x08", "gzip"},
                                                       {"PK\x03\x04", "zip archive"},
                                                       {std::string(3000, '\0'), "nothing but zero bytes"},
                                                       {std::string("\x01\x02\x03", 3), "unknown binary data"}};
  for (const auto& [bytes, found] : kinds) {
    write_bytes(scratch / "other", bytes);
    refused_file(scratch / "other", {"other: expected a file of a known format", found});
  }
}

TEST_CASE("a file without read permission is refused") {
  if (geteuid() == 0) return skipped("root may read everything");
  const Scratch scratch;
  make_valid(scratch / "secret.h5");
  chmod((scratch / "secret.h5").c_str(), 0);
  refused_file(scratch / "secret.h5", {"secret.h5", "Permission denied"});
}

TEST_CASE("truncated files are reported as truncated") {
  const Scratch scratch;
  make_valid(scratch / "whole.h5");
  const std::string bytes = bytes_of(scratch / "whole.h5");
  for (const std::size_t length :
       {std::size_t{8}, std::size_t{40}, std::size_t{95}, std::size_t{96}, std::size_t{500}, bytes.size() - 1}) {
    write_bytes(scratch / "cut.h5", bytes.substr(0, length));
    refused_file(scratch / "cut.h5", {"cut.h5: ", "truncated"});
  }
  auto wrong_version = bytes;
  wrong_version[8] = 77;
  write_bytes(scratch / "version.h5", wrong_version);
  refused_file(scratch / "version.h5", {"version.h5", "damaged", "superblock version"});
}

TEST_CASE("a file that another program has open for writing is refused") {
  const Scratch scratch;
  const std::string file = scratch / "busy.h5";
  make_valid(file);
  const int writer = open(file.c_str(), O_RDWR);
  REQUIRE(flock(writer, LOCK_EX) == 0);
  refused_file(file, {"busy.h5", "open for writing by another program"});
  close(writer);
  CHECK(open_points(file)->rows() == 4);
}

TEST_CASE("the message about a SWMR flag after a crash recommends h5clear") {
  const Scratch scratch;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t writer = H5Fcreate((scratch / "writing.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  REQUIRE(H5Fstart_swmr_write(writer) >= 0);
  std::filesystem::copy(scratch / "writing.h5", scratch / "crashed.h5");
  H5Fclose(writer);
  H5Pclose(access);
  refused_file(scratch / "crashed.h5", {"crashed.h5", "h5clear -s"});
}

TEST_CASE("HDF5 prints nothing, in any thread") {
  const Scratch scratch;
  make_valid(scratch / "whole.h5");
  write_bytes(scratch / "cut.h5", bytes_of(scratch / "whole.h5").substr(0, 300));
  const std::string captured = scratch / "stderr";
  std::fflush(stderr);
  const int keep = dup(STDERR_FILENO);
  const int file = open(captured.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(file, STDERR_FILENO);
  std::string thrown;
  std::thread([&] {
    try {
      open_points(scratch / "cut.h5");
    } catch (const Error& error) {
      thrown = error.what();
    }
  }).join();
  dup2(keep, STDERR_FILENO);
  close(keep);
  close(file);
  CHECK(thrown.find("truncated") != std::string::npos);
  CHECK(bytes_of(captured).empty());
}

TEST_CASE("a file that changes while it is read is refused") {
  const Scratch scratch;
  const std::string file = scratch / "changing.h5";
  const std::vector<float> values(200000, 1.0f);
  { FileMaker(file).floats("x", {2000, 100}, values); }
  Matrix<float> out(1000, 100);
  const auto source = open_points(file);
  source->read(0, out.view());
  REQUIRE(truncate(file.c_str(), 500000) == 0);
  refused(ExitCode::data, [&] { source->read(1000, out.view()); },
          {"changing.h5", "changed while it was read", "500000"});
}
