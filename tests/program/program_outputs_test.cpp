// Outputs: never through a link of somebody else, never over an input, verified when written and when read again.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_file.h"
#include "data/io/checksum.h"
#include "data/io/output_file.h"
#include "data/results/result.h"
#include "data/results/stored_result.h"
#include "tests/support/program.h"
#include "tests/support/skipped.h"
#ifdef KITH_HAS_ARROW
#include "tests/support/arrow_files.h"
#endif

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

void write_small_result(
    const std::string& path, const std::function<void()>& meanwhile = [] {}) {
  ResultFile result(path, {.force = true});
  result.attribute("format", std::string("kith-clusters"));
  result.attribute("inertia", 0.25);
  result.dataset("labels", std::vector<std::int32_t>{0, 1, 1, 0});
  meanwhile();
  const std::vector<double> centroids{1, 2, 3, 4};
  result.dataset("centroids", MatrixView<const double>{centroids.data(), 2, 2});
  result.finish();
}

/// Puts a link to the victim in the place of the only temporary file of the folder.
void attack(const Scratch& folder, const std::string& victim) {
  for (const std::string& name : files_in(folder)) {
    if (!name.ends_with(".part")) continue;
    std::filesystem::remove(folder / name);
    std::filesystem::create_symlink(victim, folder / name);
  }
}

Outcome cluster(const Words& more, const Setting& setting = {}) {
  Words words{"cluster", "-q", "-k", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return run_kith(words, setting);
}

void write_texts(hid_t object, const char* name, const std::vector<std::string>& texts, bool variable) {
  const hsize_t count = texts.size();
  const Handle type = utf8_type(variable ? H5T_VARIABLE : 8), space(H5Screate_simple(1, &count, nullptr));
  const Handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  std::string fixed;
  std::vector<const char*> pointers;
  for (const std::string& text : texts) {
    fixed += text + std::string(8 - text.size(), '\0');
    pointers.push_back(text.c_str());
  }
  const void* values = variable ? static_cast<const void*>(pointers.data()) : fixed.data();
  REQUIRE(H5Awrite(attribute.get(), type.get(), values) >= 0);
}

std::vector<std::string> fixed_or_variable_texts(const std::string& file, const char* group, const char* name) {
  const Handle id(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)), object(H5Gopen2(id.get(), group, H5P_DEFAULT));
  const Handle attribute(H5Aopen(object.get(), name, H5P_DEFAULT)), space(H5Aget_space(attribute.get()));
  const Handle type = utf8_type(H5T_VARIABLE);
  std::vector<char*> texts(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  REQUIRE(H5Aread(attribute.get(), type.get(), texts.data()) >= 0);
  const std::vector<std::string> read(texts.begin(), texts.end());
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, texts.data());
  return read;
}

/// Cells with a column of categories, chunks, a soft link and a nested group.
void make_cells(const std::string& name, bool variable_order) {
  FileMaker maker(name);
  maker.floats("X", {4, 1}, {1, 2, 30, 31}, {.chunk = {2, 1}, .deflate = 1});
  maker.group("obs");
  maker.group("uns");
  const Handle text = utf8_type(H5T_VARIABLE), obs(H5Gopen2(maker.id(), "obs", H5P_DEFAULT));
  const std::vector<const char*> index{"a", "b", "c", "d"};
  maker.dataset("obs/_index", text.get(), {4}, text.get(), index.data());
  maker.dataset("uns/notes", text.get(), {4}, text.get(), index.data(), {.chunk = {3}});
  maker.floats("uns/plain", {3}, {1, 2, 3});
  H5Lcreate_soft("/X", maker.id(), "link", H5P_DEFAULT, H5P_DEFAULT);
  write_texts(obs.get(), "column-order", {"old1", "old2"}, variable_order);
  write_texts(maker.id(), "about", {"one", "two"}, true);
}

}  // namespace

TEST_CASE("checksums are those of the definition, for texts of any length and in any parts") {
  const auto definition = [](const std::string& text) {
    std::uint32_t crc = 0xffffffffU;
    for (const char c : text) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0xedb88320U : 0U);
    }
    return ~crc;
  };
  std::string text;
  for (int i = 0; i < 600; ++i) text += static_cast<char>(i * i * 31 >> 3);
  for (std::size_t length = 0; length <= text.size(); length += length < 200 ? 1 : 37) {
    for (const std::size_t first : {std::size_t{0}, length / 3, length}) {
      Checksum whole, begin, rest;
      whole.add(text.data(), first);
      whole.add(text.data() + first, length - first);
      begin.add(text.data(), first);
      rest.add(text.data() + first, length - first);
      begin.append(rest, static_cast<std::int64_t>(length - first));
      CHECK(whole.value() == definition(text.substr(0, length)));
      CHECK(begin.value() == whole.value());
    }
  }
}

TEST_CASE("a link in the place of the temporary file is neither followed nor published") {
  const Scratch folder, elsewhere;
  const std::string victim = elsewhere / "victim", out = folder / "out.h5", text = folder / "out.csv";
  write_bytes(victim, "precious");
  refused(ExitCode::output, [&] { write_small_result(out, [&] { attack(folder, victim); }); },
          {"another program has replaced its temporary file"});
  refused(ExitCode::output,
          [&] {
            OutputBytes bytes(text, {.endings = {".csv"}});
            bytes.write("row,label\n");
            attack(folder, victim);
            bytes.publish();
          },
          {"another program has replaced its temporary file"});
  CHECK(bytes_of(victim) == "precious");
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK_FALSE(std::filesystem::exists(text));
}

TEST_CASE("links of other users are not followed") {
  if (geteuid() != 0) return skipped("only root can make them");
  const Scratch folder, elsewhere;
  const std::string victim = elsewhere / "victim", out = folder / "out.h5";
  write_bytes(victim, "precious");
  std::filesystem::create_symlink(victim, out);
  REQUIRE(lchown(out.c_str(), 12345, 12345) == 0);
  refused(ExitCode::output, [&] { write_small_result(out); }, {"symbolic link of another user"});
  CHECK(bytes_of(victim) == "precious");
}

TEST_CASE("standard input is an input that is never overwritten") {
  const Scratch folder;
  const std::string points = folder / "p.csv", text = "1,2\n3,4\n50,60\n51,61\n";
  write_bytes(points, text);
  const Outcome outcome = cluster({"-", "-f", "-o", points}, {.standard_input = points});
  CHECK(outcome.code == 5);
  CHECK(outcome.says("is the input on standard input, which is never overwritten"));
  CHECK(bytes_of(points) == text);
  CHECK(cluster({"-", "-f", "-o", folder / "q.csv"}, {.standard_input = points}).code == 0);
}

TEST_CASE("temporary files of killed processes are removed, those of running ones are not") {
  const Scratch folder;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const ResultFile result(folder / "other.h5", {});
    [[maybe_unused]] const ssize_t sent = write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const std::string mine = ".notes.1-0123456789abcdef.part.txt", foreign = ".a.b-c.part";
  write_bytes(folder / mine, "not temporary");
  write_bytes(folder / foreign, "not of kith");
  write_small_result(folder / "result.h5");
  CHECK(files_in(folder).size() == 4);  // with that of the child
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  write_small_result(folder / "result.h5");
  CHECK(files_in(folder) == Words{foreign, mine, "result.h5"});
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("a flipped bit anywhere in a result is noticed, or changes nothing") {
  const Scratch folder;
  const std::string file = folder / "result.h5", damaged = folder / "damaged.h5";
  write_small_result(file);
  CHECK(verify_result(file) == 2);
  const std::string bytes = bytes_of(file);
  const auto values = [](const std::string& name) {
    const StoredResult result(name);
    return std::tuple(result.vector("labels"), result.vector("centroids"), result.number("inertia"), result.format());
  };
  const auto expected = values(file);
  std::size_t noticed = 0;
  for (std::size_t place = 0; place < bytes.size(); place += 3) {
    std::string flipped = bytes;
    flipped[place] = static_cast<char>(flipped[place] ^ 1 << place % 8);
    write_bytes(damaged, flipped);
    try {
      verify_result(damaged);
      CHECK(values(damaged) == expected);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
      ++noticed;
    }
  }
  CHECK(noticed > bytes.size() / 8);
}

TEST_CASE("damaged centroids are refused by every command that reads them") {
  const Scratch folder;
  const std::string points = folder / "p.csv", result = folder / "r.h5", out = folder / "o.h5";
  write_bytes(points, "1,2\n3,4\n50,60\n51,61\n7,7\n");
  REQUIRE(cluster({points, "--max-iterations", "1", "-o", result}).code == 0);
  done({"info", "--verify", result});
  const StoredResult stored(result);
  const double value = stored.matrix("centroids")(0, 0);
  std::string bytes = bytes_of(result);
  const std::string before(reinterpret_cast<const char*>(&value), sizeof value);
  const auto at = bytes.find(before);
  REQUIRE(at != bytes.npos);
  bytes[at + 2] ^= 1;
  write_bytes(result, bytes);
  const Words said{"/centroids", "expected values with the checksum", "the file is damaged"};
  refuses(3, {"cluster", points, "-k", "2", "-q", "--init", result, "-o", out}, said);
  refuses(3, {"assign", points, "--centroids", result, "-q", "-o", out}, said);
  refuses(3, {"report", result, "-q", "-o", folder / "page.html"}, said);
  refuses(3, {"info", "--verify", result}, said);
  CHECK(files_in(folder) == Words{"p.csv", "r.h5"});
}

TEST_CASE("results without checksums are read, but cannot be verified") {
  const Scratch folder;
  const std::string file = folder / "old.h5";
  write_small_result(file);
  {
    const Handle id(H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    REQUIRE(H5Adelete(id.get(), "crc32") >= 0);
    REQUIRE(H5Adelete_by_name(id.get(), "labels", "crc32", H5P_DEFAULT) >= 0);
    REQUIRE(H5Adelete_by_name(id.get(), "centroids", "crc32", H5P_DEFAULT) >= 0);
  }
  CHECK(StoredResult(file).matrix("centroids")(1, 1) == 4);
  refuses(3, {"info", "--verify", file}, {"expected a result with checksums, found none"});
}

TEST_CASE("the order of columns is compared where no attribute can list their names") {
  const Scratch folder;
  const std::string points = folder / "p.csv", other = folder / "q.csv", result = folder / "r.h5";
  const std::string rows = "1,2,3\n4,5,6\n7,8,10\n1,2,2\n";
  write_bytes(points, "a,b,\"c\nd\"\n" + rows);
  write_bytes(other, "b,a,\"c\nd\"\n" + rows);
  REQUIRE(cluster({points, "-o", result}).code == 0);
  done({"assign", points, "--centroids", result, "-q", "-o", folder / "o.h5"});
  // The model of a result names them all, so that columns in another order are found by name.
  write_bytes(folder / "swapped.csv", "b,a,\"c\nd\"\n2,1,3\n5,4,6\n8,7,10\n2,1,2\n");
  done({"assign", folder / "swapped.csv", "--centroids", result, "-q", "-o", folder / "s.h5"});
  const std::vector<double> labels = StoredResult(result).vector("labels");
  CHECK(StoredResult(folder / "o.h5").vector("labels") == labels);
  CHECK(StoredResult(folder / "s.h5").vector("labels") == labels);
  // A result of an older version has no model, but a checksum of the names.
  {
    const Handle id(H5Fopen(result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    REQUIRE(H5Ldelete(id.get(), "model", H5P_DEFAULT) >= 0);
    REQUIRE(H5Adelete(id.get(), "crc32") >= 0);  // which has that name in it
  }
  done({"assign", points, "--centroids", result, "-q", "-f", "-o", folder / "o.h5"});
  CHECK(StoredResult(folder / "o.h5").vector("labels") == labels);
  refuses(3, {"assign", other, "--centroids", result, "-q"}, {"expected the columns that", "in their order"});
}

Handle open_to_compare(const std::string& file) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  set_reading_driver(access.get());
  return Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, access.get()));
}

TEST_CASE("--write-obs keeps the order of the columns, of fixed or variable length, and everything else") {
  for (const bool variable : {false, true}) {
    const Scratch folder;
    const std::string cells = folder / "c.h5ad", copy = folder / "d.h5ad";
    make_cells(cells, variable);
    const Outcome outcome = cluster({cells + ":/X", "--write-obs", "km", "-o", copy});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(fixed_or_variable_texts(copy, "obs", "column-order") == Words{"old1", "old2", "km"});
    const Handle a = open_to_compare(cells), b = open_to_compare(copy);
    CHECK(find_change(a.get(), b.get(), {{"obs", 1}}, "column-order").empty());
    CHECK(find_change(a.get(), b.get(), {}, "") == "/obs");
  }
}

TEST_CASE("a copy that differs in any object is distinguished from its original") {
  const Scratch folder;
  const std::string cells = folder / "c.h5ad", copy = folder / "d.h5ad";
  make_cells(cells, true);
  const auto difference = [&](const std::function<void(hid_t)>& change) {
    std::filesystem::copy_file(cells, copy, std::filesystem::copy_options::overwrite_existing);
    {
      const Handle b(H5Fopen(copy.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
      change(b.get());
    }
    const Handle a = open_to_compare(cells), b = open_to_compare(copy);
    return find_change(a.get(), b.get(), {}, "");
  };
  const auto write = [](hid_t file, const char* name, hid_t type, const void* values) {
    const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT));
    REQUIRE(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  };
  const float three[] = {1, 2, 4};
  const char* texts[] = {"a", "b", "c", "e"};
  CHECK(difference([](hid_t) {}).empty());
  CHECK(difference([&](hid_t file) { write(file, "uns/plain", H5T_NATIVE_FLOAT, three); }) == "/uns/plain");
  CHECK(difference([](hid_t file) { H5Ldelete(file, "link", H5P_DEFAULT); }) == "/");
  CHECK(difference([&](hid_t file) { write(file, "uns/notes", utf8_type(H5T_VARIABLE).get(), texts); }) ==
        "/uns/notes");
  CHECK(difference([](hid_t file) {
          H5Adelete(file, "about");
          write_texts(file, "about", {"one", "tow"}, true);
        }) == "/");
  CHECK(difference([](hid_t file) { H5Ldelete(file, "uns/notes", H5P_DEFAULT); }) == "/uns");
}

#ifdef KITH_HAS_ARROW

TEST_CASE("results as Parquet and Arrow files have the rows of the CSV file") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "name,x,y\na,0,0\nb,0,1\nc,9,9\nd,9,8.5\ne,4,4\n");
  write_bytes(folder / "n.csv", "x,y\n0,0\n0,1\n,9\n9,8.5\n4,4\n");
  const Words cases[] = {{"cluster", "t.csv", "-k", "2", "--id-column", "name", "--save-distances"},
                         {"cluster", "n.csv", "-k", "2", "--nan", "drop", "--save-distances"},
                         {"cluster", "n.csv", "-k", "2", "--nan", "drop", "--precision", "f32"},
                         {"dbscan", "t.csv", "--radius", "2", "--min-points", "2", "--drop-columns", "name"},
                         {"knn", "t.csv", "-k", "2", "--id-column", "name"},
                         {"knn", "t.csv", "-k", "2", "--drop-columns", "name"},
                         {"knn", "t.csv", "-k", "2", "--join", "name", "--columns", "x,y"},
                         {"knn", "t.csv", "-k", "1", "--symmetric", "--id-column", "name"},
                         {"knn", "t.csv", "--radius", "3", "--drop-columns", "name"},
                         {"knn", "t.csv", "--radius", "3", "--pairs", "--id-column", "name"},
                         {"knn", "t.csv", "--radius", "3", "--components", "--id-column", "name"},
                         {"knn", "t.csv", "--radius", "3", "--components", "--drop-columns", "name"},
                         {"knn", "t.csv", "-k", "2", "--outliers", "--id-column", "name"},
                         {"knn", "t.csv", "-k", "1", "--classify", "t.csv:name", "--drop-columns", "name"}};
  for (const Words& words : cases) {
    const auto write = [&](const std::string& file, const char* threads) {
      Words all = words;
      all.insert(all.end(), {"-q", "-f", "--threads", threads, "-o", file});
      done(all, there);
    };
    write("o.csv", "1");
    const std::string expected = bytes_of(folder / "o.csv");
    for (const char* file : {"o.parquet", "o.arrow"}) {
      INFO(file << " of " << words[0] << ' ' << words[4] << ' ' << words.back());
      write(file, "1");
      const std::string bytes = bytes_of(folder / file);
      write(file, "2");
      CHECK(bytes_of(folder / file) == bytes);
      std::string found = csv_of(*read_table(folder / file));
      if (words[1] == "n.csv" && words[0] == "cluster") CHECK(found.find("2,-1") != std::string::npos);
      CHECK(found == expected);
    }
  }
}

TEST_CASE("labels become a further column of the Parquet file of the points") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto table = arrow_table({{"name", texts({"p", "q", std::nullopt, "s"})},
                                  {"label", floats({1, 2, 3, 4})},
                                  {"v", arrow_lists(2, {{{0, 0}}, {{9, 9}}, {{0, 1}}, {{9, 8}}})}});
  const Words start{"-k", "2", "--init", "first", "--columns", "v", "--append", "-q", "-f", "-o"};
  const auto cluster = [&](const std::string& file, const std::string& output) {
    Words words{"cluster", file};
    words.insert(words.end(), start.begin(), start.end());
    words.push_back(output);
    return words;
  };
  for_each_file(folder, *table, [&](const std::string& file) {
    for (const char* output : {"o.parquet", "o.arrow"}) {
      done(cluster(file, output), there);
      const auto found = read_table(folder / output);
      CHECK(found->SelectColumns({0, 1, 2}).ValueOrDie()->Equals(*table));
      CHECK(found->ColumnNames().back() == "label_2");
      CHECK(csv_of(*found->SelectColumns({3}).ValueOrDie()) == "label_2\n0\n1\n0\n1\n");
    }
    refuses(2, cluster(file, "o.csv"), {"--append", "which o.csv cannot hold; give -o TABLE.parquet"}, there);
  });
  // The limit of the size of files holds for the memory that both programs share, too.
  for_each_file(folder, *arrow_table({{"x", floats(Floats(4000, 1.0F))}}), [&](const std::string& file) {
    refuses(5, {"cluster", file, "-k", "1", "--append", "-o", "x.parquet"},
            {file + ": reading it takes a file of", "raise that limit (ulimit -f)"},
            {.folder = folder / "", .file_bytes = 8000});
  });
  write_bytes(folder / "t.csv", "x\n1\n2\n");
  refuses(2, {"cluster", "t.csv", "-k", "1", "--append", "-o", "x.parquet"}, {"t.csv is text", "-o TABLE.csv"}, there);
  refuses(2, {"cluster", "t.csv", "-k", "1", "--append", "--labels", "x.parquet"},
          {"t.csv is text", "--labels TABLE.csv"}, there);
}

TEST_CASE("centroids are saved as a table that a vector database loads") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "x,y\n0,0\n0,1\n9,9\n9,8\n");
  done({"cluster", "t.csv", "-k", "2", "--init", "first", "--save-centroids", "c.parquet"}, there);
  const auto table = read_table(folder / "c.parquet");
  CHECK(table->schema()->field(2)->type()->id() == arrow::Type::FIXED_SIZE_LIST);
  CHECK(csv_of(*table->SelectColumns({0, 1}).ValueOrDie()) == "cluster,rows\n0,2\n1,2\n");
  done({"cluster", "t.csv", "-k", "2", "--algorithm", "bisecting", "--save-centroids", "b.arrow"}, there);
  CHECK(csv_of(*read_table(folder / "b.arrow")->SelectColumns({0, 1, 2}).ValueOrDie()) ==
        "cluster,parent,rows\n0,0,2\n1,0,2\n");
}

#endif
