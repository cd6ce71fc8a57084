// --memory bounds everything that a small file can make large: what does not fit is refused before memory is taken.
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "data/source.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

void write_gzip(const std::string& file, const std::string& text, std::int64_t copies) {
  gzFile out = gzopen(file.c_str(), "wb1");
  for (std::int64_t i = 0; i < copies; ++i) REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) > 0);
  gzclose(out);
}

/// An archive with one deflated array of `rows` x 1 zeros of type uint8.
std::string zeros_npz(std::int64_t rows) {
  std::string array = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", 1), }";
  array.resize(118, ' ');
  array = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + array;
  array.resize(array.size() + static_cast<std::size_t>(rows), '\0');
  std::string deflated(compressBound(array.size()), '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(array.data());
  stream.avail_in = static_cast<uInt>(array.size());
  stream.next_out = reinterpret_cast<Bytef*>(deflated.data());
  stream.avail_out = static_cast<uInt>(deflated.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  deflated.resize(stream.total_out);
  deflateEnd(&stream);
  const auto number = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) & 0xff : 0);
    return out;
  };
  const std::uint64_t sum = crc32(0, reinterpret_cast<const Bytef*>(array.data()), static_cast<uInt>(array.size()));
  const std::string facts = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + number(sum, 4) +
                            number(deflated.size(), 4) + number(array.size(), 4) + number(5, 2) + number(0, 2);
  const std::string local = "PK\x03\x04" + facts + "x.npy";
  const std::string central = "PK\x01\x02" + number(20, 2) + facts + number(0, 14) + "x.npy";
  return local + deflated + central + "PK\x05\x06" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(central.size(), 4) + number(local.size() + deflated.size(), 4) + number(0, 2);
}

/// An array of zeros that takes no space on the disk; false if the file system cannot hold it.
bool write_zeros(const std::string& file, const std::string& type, std::int64_t rows, std::int64_t columns) {
  std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                     std::to_string(columns) + "), }";
  head.resize(118, ' ');
  write_bytes(file, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head);
  if (truncate(file.c_str(), 128 + rows * columns * (type[2] - '0')) == 0) return true;
  skipped("no file of such a size can be made");
  return false;
}

/// Another system around the program: what /sys/fs/cgroup and /proc/meminfo contain.
class System {
 public:
  System() {
    write("cgroup/none", "");
    std::filesystem::copy_file("/proc/meminfo", folder_ / "meminfo");
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
  }
  /// Runs in a name space of its own, in which anybody may mount; some machines forbid that.
  Setting setting() const {
    return {.runner = {"unshare", "-rm", "sh", "-c",
                       "mount --bind " + (folder_ / "cgroup") + " /sys/fs/cgroup && mount --bind " +
                           (folder_ / "meminfo") + " /proc/meminfo && exec \"$@\"",
                       "sh"}};
  }
  bool works() const {
    if (run_kith({"--version"}, setting()).code == 0) return true;
    skipped("no name space can be made");
    return false;
  }

 private:
  Scratch folder_;
};

/// Runs kith, which must refuse within the limit and 40 MB for the program.
void refuses_within(std::int64_t megabytes, Words words, const std::string& message) {
  INFO(nlohmann::json(words).dump());
  words.insert(words.end(), {"--memory", std::to_string(megabytes) + "MB"});
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // only to measure this one program
    const Outcome outcome = run_kith(words);
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const bool small = usage.ru_maxrss * 1024 < (megabytes + 40) * kMegabyte;
    const bool refused = outcome.code == 6 && outcome.says(message) && outcome.says("give a larger --memory");
    if (!small || !refused)
      std::fprintf(stderr, "%d, %ld KiB: %s\n", outcome.code, usage.ru_maxrss, outcome.err.c_str());
    _exit(small && refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace

TEST_CASE("compressed and long text, archives, labels, weights and starts stay within --memory") {
  if (is_sanitized()) return skipped("a sanitizer takes much memory");
  const Scratch folder;
  const std::string gzip = folder / "b.csv.gz", archive = folder / "b.npz", labels = folder / "labels.csv",
                    weights = folder / "w.npy", wide = folder / "wide.csv", line = folder / "line.csv";
  write_gzip(gzip, std::string(4'000'000, '1') + "\n", 50);
  write_bytes(archive, zeros_npz(200'000'000));
  std::string text = "label\n";
  for (int i = 0; i < 1'500'000; ++i) text += std::to_string(i) + "\n";
  write_bytes(labels, text);
  write_bytes(wide, std::string(10'000'000, ',') + "\n" + std::string(10'000'000, ',') + "\n");
  write_bytes(line, "a,b\n1,2\n\"" + std::string(60'000'000, 'x') + "\n");
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (40000000,), }";
  header.resize(118, ' ');
  write_bytes(weights, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(40'000'000, '\1'));

  for (const char* command : {"info", "cluster"}) {
    const auto with = [command](const std::string& file) {
      return std::string(command) == "info" ? Words{"info", file} : Words{"cluster", file, "-k", "1"};
    };
    refuses_within(50, with(gzip), "b.csv.gz (inflated or from a stream): needs about");
    refuses_within(50, with(wide), "wide.csv (its columns): needs about");
    refuses_within(50, with(line), "line.csv: line 3: needs about");
  }
  refuses_within(50, {"cluster", archive, "-k", "1"}, "b.npz:/x (inflated): needs about");
  refuses_within(50, {"info", archive, "--stats"}, "b.npz:/x (inflated): needs");
  refuses_within(50, {"evaluate", labels, "--truth", labels}, "labels.csv:label: needs about");
  refuses_within(50, {"cluster", kDigits, "--init-labels", labels}, "labels.csv:label: needs about");
  refuses_within(50, {"cluster", kDigits, "-k", "2", "--weights", weights}, "w.npy: needs about");
  refuses_within(50, {"cluster", kDigits, "-k", "2", "--init", weights}, "w.npy");
  CHECK(done({"info", archive, "--memory", "50MB"}).out.find("200000000 x 1") != std::string::npos);
}

TEST_CASE("compressed text and archives larger than the memory are read from --scratch") {
  if (is_sanitized()) return skipped("a sanitizer takes much memory");
  const Scratch folder, spool;
  write_gzip(folder / "b.csv.gz", "1,2\n3,4.5\n", 800'000);
  write_bytes(folder / "b.npz", zeros_npz(12'000'000));
  for (const char* file : {"b.csv.gz", "b.npz"}) {
    const Words words{"info", "--stats", folder / file}, little{"info", "--stats", folder / file, "--memory", "6MB"};
    refuses(6, little, {"inflated", "needs about", "or --scratch DIR"});
    Words spooled = little;
    spooled.insert(spooled.end(), {"--scratch", spool.path().string()});
    CHECK(done(spooled).out == done(words).out);
    CHECK(files_in(spool).empty());
  }
}

TEST_CASE("generate refuses sizes that fit neither in memory nor on the disk, before it writes") {
  const Scratch folder;
  const std::string out = folder / "x.h5";
  refuses(6, {"generate", out, "-n", "100000000", "-d", "1", "--memory", "50MB"}, {"x.h5: needs about", "--memory"});
  refuses(6, {"generate", out, "-n", "2", "-d", "100000000", "--memory", "50MB"}, {"x.h5: needs about"});
  refuses(6, {"generate", out, "-n", "1099511627776", "-d", "1"}, {"x.h5: needs about"});
  CHECK(run_kith({"generate", out, "-n", "1099511627776", "-d", "1099511627776"}).code != 0);
  CHECK(files_in(folder).empty());
}

TEST_CASE("errors of the arithmetic name the file") {
  const Scratch folder;
  const std::string table = folder / "t.csv";
  write_bytes(table, "1e160,1\n-1e160,2\n3,4\n");
  refuses(3, {"cluster", table, "-k", "2", "--pca", "1"}, {"t.csv: principal components: products of columns"});
  write_bytes(table, "1e160,1\n1e160,2\n1e160,3\n");
  refuses(3, {"knn", table, "-k", "1", "--metric", "inner-product"}, {"t.csv: inner products of these values"});
  write_bytes(folder / "wide.mtx", "%%MatrixMarket matrix coordinate real general\n4 2147483647 1\n1 1 1\n");
  refuses(3, {"cluster", folder / "wide.mtx", "-k", "1", "--pca", "1", "--memory", "300GB"},
          {"wide.mtx: --pca", "choose fewer columns with --columns"});
}

TEST_CASE("a search of rows that tie stays within --memory") {
  if (is_sanitized()) return skipped("a sanitizer takes much memory");
  constexpr std::int64_t kRows = 4'000'000, kQueries = 40, kMegabytes = 160;
  const Scratch folder;
  for (const auto& [name, rows] : {std::pair("x.npy", kRows), {"q.npy", kQueries}}) {
    write_zeros(folder / name, "|u1", rows, 1);
    std::string values(static_cast<std::size_t>(rows), '\0');
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i * i % 251);
    std::fstream file(folder / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-rows, std::ios::end);
    file.write(values.data(), rows);
  }
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Outcome outcome = run_kith({"knn", folder / "x.npy", "--queries", folder / "q.npy", "-k", "3", "--json",
                                      "--backend", "cpu", "--memory", std::to_string(kMegabytes) + "MB"});
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const bool small = usage.ru_maxrss * 1024 < (kMegabytes + 40) * kMegabyte;
    if (!small || outcome.code != 0)
      std::fprintf(stderr, "%d, %ld KiB: %s\n", outcome.code, usage.ru_maxrss, outcome.err.c_str());
    _exit(small && outcome.code == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("62: the limit of a control group counts") {
  const Scratch folder;
  System system;
  system.write("cgroup/memory.max", "80000000\n");
  system.write("cgroup/memory.current", "12000000\n");
  system.write("cgroup/memory.stat", "anon 9000000\ninactive_file 2000000\n");
  write_zeros(folder / "x.npy", "<f4", 1 << 20, 32);
  const Words run{"cluster", folder / "x.npy", "-k", "2"};
  if (!system.works()) return;
  refuses(6, {"cluster", folder / "x.npy", "-k", "2", "--explain"},
          {"x.npy: needs about", "only 66.8 MiB are left of the control group's limit", "--memory"}, system.setting());
  CHECK(done(run, system.setting()).says("of 1048576 rows stayed in memory"));
  system.write("cgroup/memory.max", "max\n");
  CHECK(run_kith({"info", folder / "x.npy", "--stats"}, system.setting()).code == 0);
}

TEST_CASE("15: sizes of more than 2 TB") {
  const Scratch folder;
  const std::string points = folder / "x.npy";
  if (!write_zeros(points, "<f4", (std::int64_t{1} << 31) + 8, 1024)) return;
  const Words run{"cluster", points, "-k", "2", "--explain"};  // which cannot read the points in passes
  refuses(6, {"cluster", points, "-k", "2", "--explain", "--memory", "4TB"},
          {"needs about 8.2 TiB", "3.6 TiB are allowed"});
  System system;
  system.write("meminfo", "MemTotal: 6000000000 kB\nMemAvailable: 5000000000 kB\n");
  if (system.works()) refuses(6, run, {"needs about 8.2 TiB", "4.7 TiB are free on this machine"}, system.setting());
}

TEST_CASE("13: more than 2^31 rows are read at their places; a run that does not fit is refused first") {
  constexpr std::int64_t kRows = (std::int64_t{1} << 31) + 8;
  const Scratch folder;
  const std::string points = folder / "x.npy";
  if (!write_zeros(points, "|u1", kRows, 1)) return;
  {
    std::fstream file(points, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    file.write("\7\10\11", 3);
  }
  const auto source = kith::data::open_points(points, {});
  kith::Matrix<float> rows(4, 1);
  source->read(kRows - 4, rows.view());
  CHECK(std::vector<float>(rows.data(), rows.data() + 4) == std::vector<float>{0, 7, 8, 9});
  CHECK(done({"info", points}).out.find("2147483656 x 1 ") != std::string::npos);
  refuses(6, {"cluster", points, "-k", "2", "--memory", "1GB"}, {"x.npy: needs about", "954 MiB are allowed"});
  refuses(6, {"knn", points, "-k", "1", "--memory", "1GB"}, {"x.npy: needs about", "954 MiB are allowed"});
}
