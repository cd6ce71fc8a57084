// Result files appear complete or not at all, never replace an input, and equal results have equal bytes.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "data/hdf5/hdf5_checksum.h"
#include "data/results/result.h"
#include "data/source.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/skipped.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

void fill(ResultFile& result) {
  result.attribute("format", std::string("kith-clusters"));
  result.attribute("note", std::string("Zentren, größer als 0"));
  result.attribute("empty", std::string());
  result.attribute("seed", std::int64_t{7});
  result.attribute("inertia", 0.1);
  result.attribute("shape", std::vector<std::int64_t>{5, 3});
  for (int i = 0; i < 12; ++i) result.attribute("more" + std::to_string(i), std::int64_t{i});
  const std::vector<std::int32_t> labels{0, 1, 1, 0, 1};
  const std::vector<std::int64_t> counts{2, 3};
  const std::vector<float> distances{0.5f, 1e-45f};
  const std::vector<double> inertias{1e-310, -0.0};
  std::vector<double> centroids(6);
  std::iota(centroids.begin(), centroids.end(), 0.5);
  result.dataset("labels", labels);
  result.dataset("counts", counts);
  result.dataset("distances", distances);
  result.dataset("inertia_per_cluster", inertias);
  result.dataset("centroids", MatrixView<const double>{centroids.data(), 2, 3});
}

void write_result(const std::string& path, const OutputOptions& options = {}) {
  ResultFile result(path, options);
  fill(result);
  result.finish();
}

std::string refused_output(const std::string& path, const OutputOptions& options,
                           std::initializer_list<const char*> words) {
  refused(
      ExitCode::output, [&] { ResultFile result(path, options); }, words);
  return refused(
      ExitCode::output, [&] { check_output(path, options); }, words);
}

std::size_t entries(const Scratch& scratch) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(scratch.path()), {}));
}

/// Runs `action` in a child process and returns its status from waitpid().
int in_child(const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a written result can be read back") {
  const Scratch scratch;
  const std::string file = scratch / "result.h5";
  write_result(file);
  CHECK(entries(scratch) == 1);
  const auto centroids = read_centroids(file);  // a result of kith: its /centroids
  REQUIRE(centroids.rows() == 2);
  REQUIRE(centroids.columns() == 3);
  CHECK(centroids(1, 2) == 5.5);
  const auto list = list_datasets(file);
  REQUIRE(list.size() == 5);
  CHECK(list[0].path == "/centroids");
  CHECK(list[0].type == "float64");
  CHECK(list[0].layout == "contiguous");
  CHECK(list[1].type == "int64");
  CHECK(list[2].type == "float32");
  CHECK(list[4].path == "/labels");
  CHECK(list[4].type == "int32");
  CHECK(list[4].shape == std::vector<std::int64_t>{5});

  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t note = H5Aopen(id, "note", H5P_DEFAULT);
  const hid_t type = H5Aget_type(note);
  CHECK(H5Tget_cset(type) == H5T_CSET_UTF8);
  CHECK(H5Tis_variable_str(type) == 0);
  std::string text(H5Tget_size(type), '\0');
  REQUIRE(H5Aread(note, type, text.data()) >= 0);
  CHECK(text == "Zentren, größer als 0");
  double inertia = 0;
  const hid_t attribute = H5Aopen(id, "inertia", H5P_DEFAULT);
  REQUIRE(H5Aread(attribute, H5T_NATIVE_DOUBLE, &inertia) >= 0);
  CHECK(inertia == 0.1);
  float distances[2] = {};
  const hid_t dataset = H5Dopen2(id, "distances", H5P_DEFAULT);
  REQUIRE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, distances) >= 0);
  CHECK(distances[1] == 1e-45f);
  H5Dclose(dataset);
  H5Aclose(attribute);
  H5Tclose(type);
  H5Aclose(note);
  H5Fclose(id);
}

TEST_CASE("equal results have equal bytes, at any time and in any place") {
  const Scratch scratch;
  write_result(scratch / "a.h5");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  write_result(scratch / "another-name.h5");
  const std::string bytes = bytes_of(scratch / "a.h5");
  CHECK(bytes.size() > 1000);
  CHECK(bytes == bytes_of(scratch / "another-name.h5"));
}

TEST_CASE("writing row blocks gives the same bytes as writing the whole") {
  const Scratch scratch;
  constexpr std::int64_t rows = 1000, columns = 37;
  Matrix<double> values(rows, columns);
  for (std::int64_t i = 0; i < values.size(); ++i) values.data()[i] = 1.0 / static_cast<double>(i + 1);
  {
    ResultFile whole(scratch / "whole.h5", {});
    whole.dataset("distances", std::as_const(values).view());
    whole.finish();
  }
  for (const std::int64_t block : {1, 99, 1000}) {
    ResultFile result(scratch / "blocks.h5", {.force = true});
    result.create_matrix<double>("distances", rows, columns);
    const std::int64_t blocks = (rows + block - 1) / block;
    for (std::int64_t b = blocks - 1; b >= 0; --b) {  // in any order
      result.write_rows<double>("distances", b * block,
                                std::as_const(values).view().middle(b * block, std::min(block, rows - b * block)));
    }
    result.finish();
    CHECK(bytes_of(scratch / "whole.h5") == bytes_of(scratch / "blocks.h5"));
  }
}

TEST_CASE("matrices of every element type, and empty ones, are written") {
  const Scratch scratch;
  const std::string file = scratch / "types.h5";
  const std::vector<std::int64_t> neighbors{4, 3, 2, 1};
  const std::vector<std::uint8_t> pixels{0, 255};
  const std::vector<std::int32_t> labels{-1, 1};
  const std::vector<float> distances{1, 2};
  {
    ResultFile result(file, {});
    result.create_matrix<std::int64_t>("neighbors", 2, 2);
    result.create_matrix<std::uint8_t>("pixels", 1, 2);
    result.create_matrix<std::int32_t>("labels", 2, 1);
    result.create_matrix<float>("distances", 1, 2);
    result.create_matrix<float>("none", 0, 3);
    result.dataset("nothing", std::span<const std::int64_t>());
    result.write_rows<std::int64_t>("neighbors", 0, {neighbors.data(), 2, 2});
    result.write_rows<std::uint8_t>("pixels", 0, {pixels.data(), 1, 2});
    result.write_rows<std::int32_t>("labels", 0, {labels.data(), 2, 1});
    result.write_rows<float>("distances", 0, {distances.data(), 1, 2});
    result.finish();
  }
  CHECK(std::get<Matrix<double>>(read_all(*open_points(file + ":neighbors")))(0, 0) == 4);
  CHECK(std::get<Matrix<float>>(read_all(*open_points(file + ":pixels")))(0, 1) == 255);
  CHECK(list_datasets(file).size() == 6);
}

TEST_CASE("misuse is an internal error, and no file remains") {
  const Scratch scratch;
  const std::vector<double> row(3);
  refused(ExitCode::internal,
          [&] {
            ResultFile result(scratch / "x.h5", {});
            result.create_matrix<double>("m", 2, 3);
            result.write_rows<double>("m", 0, {row.data(), 1, 3});
            result.finish();
          },
          {"1 rows of 'm' were never written"});
  refused(ExitCode::internal,
          [&] {
            ResultFile result(scratch / "x.h5", {});
            result.create_matrix<double>("m", 1, 2);
            result.write_rows<double>("m", 0, {row.data(), 1, 3});
          },
          {"do not fit the dataset"});
  CHECK(entries(scratch) == 0);
}

TEST_CASE("an existing file is replaced only with force, and an input is never replaced") {
  const Scratch scratch;
  const std::string file = scratch / "result.h5";
  write_bytes(file, "precious");
  refused_output(file, {}, {"result.h5", "exists", "-f/--force", "another name"});
  refused_output(file, {.force = true, .inputs = {file}}, {"is the input", "never overwritten"});
  refused_output(file, {.force = true, .inputs = {file + ":/train"}}, {"is the input"});
  std::filesystem::create_symlink(file, scratch / "link.h5");
  std::filesystem::create_hard_link(file, scratch / "hard.h5");
  refused_output(scratch / "link.h5", {}, {"exists"});
  refused_output(scratch / "link.h5", {.force = true, .inputs = {file}}, {"is the input"});
  refused_output(scratch / "hard.h5", {.force = true, .inputs = {file}}, {"is the input"});
  refused_output(file, {.force = true, .inputs = {scratch / "link.h5"}}, {"is the input"});
  CHECK(bytes_of(file) == "precious");
  CHECK(entries(scratch) == 3);

  write_result(scratch / "link.h5", {.force = true});  // the target of the link is replaced, not the link
  CHECK(std::filesystem::is_symlink(scratch / "link.h5"));
  CHECK(read_centroids(file).rows() == 2);
  CHECK(bytes_of(scratch / "hard.h5") == "precious");
  CHECK(entries(scratch) == 3);
}

TEST_CASE("a replaced file keeps its mode") {
  using std::filesystem::perms;
  const Scratch scratch;
  const std::string file = scratch / "result.h5";
  const auto usual = perms::owner_read | perms::owner_write | perms::group_read | perms::others_read;
  for (const perms mode : {perms::owner_read | perms::owner_write, perms::owner_read, usual}) {
    write_bytes(file, "old");
    std::filesystem::permissions(file, mode);
    write_result(file, {.force = true});
    CHECK(std::filesystem::status(file).permissions() == mode);
    CHECK(read_centroids(file).rows() == 2);
    std::filesystem::permissions(file, usual);
  }
}

TEST_CASE("names with the ending of another format are refused, in upper case too") {
  const Scratch scratch;
  for (const char* name : {"a.CSV", "a.txt", "a.json", "a.csv.gz", "a.Parquet", "a.xlsx", "a.html", "a.h5ad"}) {
    refused_output(scratch / name, {}, {name, "expected the name of an HDF5 file", "a name that ends with .h5"});
  }
  refused_output(scratch / "a.h5ad", {}, {"write AnnData with --write-obs NAME"});
  check_output(scratch / "a.h5ad", {.endings = {".h5", ".h5ad"}});
  for (const char* name : {"a.h5", "a", "a.result"}) check_output(scratch / name, {});
  check_output(scratch / "a.CSV", {.endings = {".h5", ".csv"}});
  refused_output(scratch / "a.h5", {.endings = {".html"}}, {"expected the name of an HTML page", "ends with .html"});
  CHECK(entries(scratch) == 0);
}

TEST_CASE("a file that is created while the result is written is not replaced") {
  const Scratch scratch;
  const std::string file = scratch / "result.h5";
  refused(ExitCode::output,
          [&] {
            ResultFile result(file, {});
            fill(result);
            write_bytes(file, "precious");
            result.finish();
          },
          {"was created by another program in the meantime"});
  CHECK(bytes_of(file) == "precious");
  CHECK(entries(scratch) == 1);
}

TEST_CASE("targets other than regular files are refused, with and without force") {
  const Scratch scratch;
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(scratch / "directory");
  std::filesystem::create_symlink(scratch / "nowhere", scratch / "dangling");
  for (const bool force : {false, true}) {
    const OutputOptions options{.force = force};
    refused_output(scratch / "pipe", options, {"found a pipe", "cannot be streamed"});
    refused_output(scratch / "directory", options, {"found a directory"});
    refused_output(scratch / "directory/", options, {"directory"});
    refused_output(scratch / "dangling", options, {"symbolic link", "does not exist"});
    refused_output("/dev/null", options, {"found a device"});
    refused_output("-", options, {"found standard output", "results cannot be written to it"});
    refused_output("", options, {"empty name"});
  }
  CHECK(entries(scratch) == 3);
}

TEST_CASE("unwritable directories are refused before any computation") {
  const Scratch scratch;
  refused_output(scratch / "missing/result.h5", {}, {"the directory", "does not exist", "mkdir -p"});
  write_bytes(scratch / "file", "x");
  refused_output(scratch / "file/result.h5", {}, {"is not a directory"});
  refused(ExitCode::output, [&] { ResultFile result("/proc/result.h5", {}); }, {"/proc/result.h5: cannot"});
  if (geteuid() == 0) return skipped("folders without permission, since root may write everywhere");
  std::filesystem::create_directory(scratch / "closed");
  chmod((scratch / "closed").c_str(), 0500);
  refused_output(scratch / "closed/result.h5", {}, {"cannot write to the directory", "Permission denied"});
}

TEST_CASE("long names and names without a directory work") {
  const Scratch scratch;
  write_result(scratch / (std::string(252, 'n') + ".h5"));
  CHECK(entries(scratch) == 1);
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  CHECK_NOTHROW(write_result("plain.h5"));
  std::filesystem::current_path(here);
  CHECK(entries(scratch) == 2);
}

// A damaged file may claim rows of gigabytes, which took as much memory.
TEST_CASE("rows longer than those of any result have no checksum") {
  const Scratch folder;
  const hid_t file = H5Fcreate((folder / "long.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t shape[2] = {1, hsize_t{1} << 28};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  const hid_t dataset = H5Dcreate2(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(!dataset_checksum(dataset));
  H5Dclose(dataset);
  H5Sclose(space);
  H5Fclose(file);
}

TEST_CASE("an unfinished result is removed") {
  const Scratch scratch;
  {
    ResultFile result(scratch / "result.h5", {});
    fill(result);
    CHECK(entries(scratch) == 1);
    CHECK_FALSE(std::filesystem::exists(scratch / "result.h5"));
  }
  CHECK(entries(scratch) == 0);
}

TEST_CASE("a signal removes the temporary file") {
  const Scratch scratch;
  const int status = in_child([&] {
    signal(SIGTERM, [](int) {
      remove_temporary_files_from_signal();
      _exit(128 + SIGTERM);
    });
    ResultFile first(scratch / "first.h5", {});
    ResultFile second(scratch / "second.h5", {});
    fill(first);
    if (entries(scratch) != 2) _exit(1);
    raise(SIGTERM);
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
  CHECK(entries(scratch) == 0);
}

TEST_CASE("a killed run does not change the old output") {
  const Scratch scratch;
  write_bytes(scratch / "result.h5", "old");
  const int status = in_child([&] {
    ResultFile result(scratch / "result.h5", {.force = true});
    fill(result);
    raise(SIGKILL);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(bytes_of(scratch / "result.h5") == "old");
}

TEST_CASE("a full disk is reported as an error at any byte of the file") {
  const Scratch scratch;
  write_result(scratch / "whole.h5");
  constexpr std::int64_t rows = 3000, columns = 10;
  const std::vector<double> values(rows * columns, 0.25);
  for (const std::int64_t limit : {0, 1, 100, 800, 1000, 2000, 2500, 4000, 100000, 240000, 242000}) {
    const int status = in_child([&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit size{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
      setrlimit(RLIMIT_FSIZE, &size);
      alarm(20);  // HDF5 can hang where it cannot write
      try {
        ResultFile result(scratch / "result.h5", {});
        fill(result);
        result.create_matrix<double>("big", rows, columns);
        result.write_rows<double>("big", 0, {values.data(), rows, columns});
        result.finish();
      } catch (const Error& error) {
        const std::string message = error.what();
        const bool good = error.code() == ExitCode::output && message.find("File too large") != message.npos;
        if (!good) write_bytes("/dev/stderr", message + "\n");
        exit(good ? 42 : 43);  // including the work of HDF5 at exit
      }
      _exit(44);
    });
    INFO("limit " << limit);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 42);
    CHECK(entries(scratch) == 1);
  }
}
