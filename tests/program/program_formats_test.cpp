// Formats: text and standard input, CSV, NumPy and AnnData output.
#include <cstdlib>
#include <cstring>

#include "data/hdf5/hdf5_file.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

/// Two groups of two rows, with row names and known labels.
const std::string kText = "name,x,y,kind\n\"a, b\",0,0,u\nc,0,1,u\nd,9,9,v\ne,9,8,\"v\"\n";

void write_string(hid_t object, const char* name, const char* text) {
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, std::strlen(text));
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(H5Awrite(attribute, type, text) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

/// A file as AnnData writes it, with `rows` rows in obs.
void make_cells(const std::string& file, hsize_t rows) {
  FileMaker maker(file);
  maker.floats("X", {4, 2}, {0, 0, 0, 1, 9, 9, 9, 8});
  maker.group("obs");
  const std::vector<std::int32_t> index(rows, 7);
  maker.dataset("obs/cell", H5T_STD_I32LE, {rows}, H5T_NATIVE_INT32, index.data());
  const hid_t obs = H5Gopen2(maker.id(), "obs", H5P_DEFAULT);
  write_string(obs, "encoding-type", "dataframe");
  write_string(obs, "_index", "cell");
  H5Gclose(obs);
}

std::vector<std::int32_t> integers(const std::string& file, const char* dataset) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t values = H5Dopen2(id, dataset, H5P_DEFAULT), space = H5Dget_space(values);
  std::vector<std::int32_t> out(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  REQUIRE(H5Dread(values, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0);
  H5Sclose(space);
  H5Dclose(values);
  H5Fclose(id);
  return out;
}

}  // namespace

TEST_CASE("text is clustered, and the labels go to CSV with the row names") {
  const Scratch folder;
  const std::string table = folder / "t.csv", out = folder / "out.csv";
  write_bytes(table, kText);
  const Words start{"--init", "first", "-k", "2", "-q", "-f"};
  const auto cluster = [&](Words words) {
    words.insert(words.begin(), {"cluster", table});
    words.insert(words.end(), start.begin(), start.end());
    return words;
  };
  done(cluster({"--id-column", "name", "--label-column", "kind", "--save-distances", "-o", out}));
  CHECK(bytes_of(out) == "name,label,known,distance\n\"a, b\",0,u,0.5\nc,0,u,0.5\nd,1,v,0.5\ne,1,v,0.5\n");
  done(cluster({"--columns", "y,x", "-o", out}));
  CHECK(bytes_of(out) == "row,label\n0,0\n1,0\n2,1\n3,1\n");

  const std::string result = folder / "r.h5";
  done(cluster({"--columns", "x,y", "--header", "yes", "-o", result}));
  done({"assign", table, "--columns", "2-3", "--centroids", result, "-q", "-o", folder / "a.csv"});
  CHECK(bytes_of(folder / "a.csv") == bytes_of(out));
  done({"assign", table, "--drop-columns", "1,4", "--centroids", result, "-q", "-o", folder / "a.npy"});
  CHECK(done({"assign", table, "--columns", "x,y", "--centroids", result, "-f", "-o", folder / "a.npy",
              "--save-distances"})
            .says("warning: --save-distances has no effect: the output contains only labels"));
  const std::string array = bytes_of(folder / "a.npy");
  REQUIRE(array.size() == 128 + 16);
  CHECK(array.find("{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }") == 10);
  CHECK(array.substr(128) == std::string("\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0", 16));
  CHECK(done({"info", folder / "a.npy"}).out.find("int32") != std::string::npos);

  refuses(3, {"assign", table, "--columns", "3,2", "--centroids", result},
          {"t.csv: expected 'x' as column 1 (counted from 1) of the points", "found 'y'", "--columns"});

  // Options that select the points are stored in the result.
  const Outcome dump = done({"cluster", table, "--columns", "x", "-k", "2", "--init", "first", "-o", result, "-f"});
  CHECK(dump.says("t.csv, 4 x 1 text"));
  CHECK(bytes_of(result).find("--precision f64 --columns x") != std::string::npos);

  refuses(5, {"cluster", table, "--columns", "x", "-k", "2", "-o", out}, {"out.csv: exists", "--force"});
  CHECK(files_in(folder) == Words{"a.csv", "a.npy", "out.csv", "r.h5", "t.csv"});

  // The summary says HDF5 if the name does not show it.
  for (const auto& [name, said] : {std::pair{"r", "r, HDF5\n"}, std::pair{"r.bin", "r.bin, HDF5\n"},
                                   std::pair{"r.hdf5", "r.hdf5\n"}, std::pair{"b.npy", "b.npy\n"}}) {
    const Outcome run = done({"assign", table, "--columns", "x", "--centroids", result, "-o", folder / name});
    CHECK(run.says("\nresult     " + (folder / said)));
  }
}

TEST_CASE("- is standard input") {
  const Scratch folder;
  write_bytes(folder / "t.csv", "1,2\n3,4\n");
  const auto piped = [&](const std::string& words) {
    return std::system((std::string(KITH_BINARY) + " " + words + " -q -o " + (folder / "out.csv") + " -f < " +
                        (folder / "t.csv") + " 2> " + (folder / "err"))
                           .c_str());
  };
  CHECK(piped("cluster - -k 2 --init first") == 0);
  CHECK(bytes_of(folder / "out.csv") == "row,label\n0,0\n1,1\n");
  write_bytes(folder / "t.csv", bytes_of(kDigits));
  CHECK(piped("cluster - -k 2") != 0);
  CHECK(bytes_of(folder / "err").find("standard input: expected text") != std::string::npos);
}

TEST_CASE("a pipe in place of a file is refused, with the remedy") {
  const Scratch folder;
  write_bytes(folder / "t.csv", "1,2\n3,4\n");
  // bash opens /dev/fd/63, a pipe of kith's own.
  for (const Words& words : {Words{"cluster", "-k", "2"}, Words{"info"}}) {
    const Setting setting{.runner = {"bash", "-c", "\"$0\" \"$@\" <(cat " + (folder / "t.csv") + ")"}};
    refuses(3, words, {"/dev/fd/", "expected a file, found a pipe", "... | kith cluster -"}, setting);
  }
}

TEST_CASE("options for text files are checked") {
  const Scratch folder;
  write_bytes(folder / "t.csv", "1,2\n3,4\n");
  const std::string table = folder / "t.csv";
  for (const char* delimiter : {"xx", "5", "e", ".", "-", "\""}) {
    refuses(2, {"cluster", table, "-k", "1", "--delimiter", delimiter}, {"--delimiter: expected auto, comma, tab"});
  }
  refuses(2, {"cluster", table, "-k", "1", "--columns", ""}, {"--columns: expected a value"});
  CHECK(done({"cluster", table, "-k", "1", "--delimiter", "comma"}).says("2 x 2 text"));
}

TEST_CASE("info and devices support all formats") {
  const Scratch folder;
  write_bytes(folder / "t.csv", kText);
  const std::string text = unwrapped(done({"info", folder / "t.csv"}).out);
  for (const char* part :
       {"4 x 4", "comma-separated", "missing  distinct  values", "found text in column 1 ('name')"}) {
    CHECK(text.find(part) != std::string::npos);
  }
  const std::string stats = done({"info", folder / "t.csv", "--stats", "--columns", "x,y"}).out;
  CHECK(stats.find("all values finite") != std::string::npos);
  CHECK(stats.find("    y       0        9        4.5") != std::string::npos);
  // Columns of words have no statistics; the other columns do.
  const std::string all = done({"info", folder / "t.csv", "--stats"}).out, values = stats.substr(stats.find("values:"));
  CHECK(unwrapped(all).find("found text in column 1 ('name'), column 4 ('kind')") != std::string::npos);
  CHECK(all.find("values: all values finite; columns of text are left out: name,kind\n") != std::string::npos);
  CHECK(all.ends_with(values.substr(values.find('\n'))));
  const auto found = done({"info", folder / "t.csv", "--stats", "--drop-columns", "x", "--json"}).json()["files"][0];
  REQUIRE(found["datasets"][0]["statistics"].size() == 1);
  CHECK(found["datasets"][0]["statistics"][0]["column"] == "y");
  CHECK(found["datasets"][0]["statistics"][0]["mean"] == 4.5);
  const auto report = done({"info", folder / "t.csv", "--json"}).json();
  CHECK(report["files"][0]["datasets"][0]["columns"] == nlohmann::json{"name", "x", "y", "kind"});
  const std::string devices = done({"devices"}).out;
  for (const char* name : {".h5ad", ".csv", ".npy", ".npz", ".fvecs", ".f16bin"}) {
    CHECK(devices.find(name) != std::string::npos);
  }
}

TEST_CASE("--write-obsp writes a graph to a copy of an AnnData file, and changes nothing else") {
  const Scratch folder;
  const std::string cells = folder / "cells.h5ad", copy = folder / "copy.h5ad", again = folder / "again.h5ad";
  make_cells(cells, 4);
  const std::string before = bytes_of(cells);
  const auto knn = [](const std::string& from, const Words& more, const std::string& out) {
    Words words{"knn", from + ":X", "-q", "-o", out};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words graph{"-k", "1", "--symmetric", "--write-obsp", "near"};
  done(knn(cells, graph, copy));
  CHECK(bytes_of(cells) == before);
  done(knn(cells, {"-k", "1", "--symmetric"}, folder / "graph.h5"));
  CHECK(integers(copy, "obsp/near/indptr") == integers(folder / "graph.h5", "indptr"));
  CHECK(integers(copy, "obsp/near/indices") == integers(folder / "graph.h5", "indices"));
  CHECK(values(copy + ":/obsp/near/data") == values((folder / "graph.h5") + ":/distances"));
  CHECK(done({"info", copy}).out.find("/obsp/near          4 x 4") != std::string::npos);
  done(knn(copy, {"--radius", "100", "--write-obsp", "all"}, again));  // beside the first one
  CHECK(integers(again, "obsp/near/indices") == integers(copy, "obsp/near/indices"));
  CHECK(integers(again, "obsp/all/indptr").size() == 5);
  refuses(3, knn(copy, graph, folder / "new.h5ad"), {"obsp has such a matrix already"});
  refuses(2, knn(cells, {"-k", "1", "--write-obsp", "near"}, folder / "new.h5ad"), {"--write-obsp: expected a graph"});
  refuses(3, {"knn", kDigits + ":/train", "--radius", "1", "--write-obsp", "a", "-o", folder / "new.h5ad"},
          {"--write-obsp a: expected an AnnData file"});
  CHECK_FALSE(std::filesystem::exists(folder / "new.h5ad"));
}

TEST_CASE("--weights with --write-obsp adds neighbours to a copy of an AnnData file as scanpy has them") {
  const Scratch folder;
  const std::string cells = folder / "cells.h5ad", copy = folder / "copy.h5ad", graph = folder / "graph.h5";
  make_cells(cells, 4);
  const Words words{"-k", "2", "--graph", "--weights", "umap", "-q"};
  const auto knn = [&](const Words& more) {
    Words all{"knn", cells + ":X"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  done(knn({"--write-obsp", "neighbors", "-o", copy}));
  done(knn({"-o", graph}));
  CHECK(integers(copy, "obsp/connectivities/indptr") == integers(graph, "indptr"));
  CHECK(integers(copy, "obsp/connectivities/indices") == integers(graph, "indices"));
  CHECK(values(copy + ":/obsp/connectivities/data") == values(graph + ":/weights"));
  done({"knn", cells + ":X", "-k", "2", "--graph", "-q", "-f", "-o", graph});
  CHECK(integers(copy, "obsp/distances/indptr") == integers(graph, "indptr"));
  CHECK(integers(copy, "obsp/distances/indices") == integers(graph, "indices"));
  CHECK(values(copy + ":/obsp/distances/data") == values(graph + ":/distances"));
  const auto text = [&](const std::string& name) {
    const kith::data::Handle file(H5Fopen(copy.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const kith::data::Handle dataset(H5Dopen2(file.get(), ("uns/neighbors/" + name).c_str(), H5P_DEFAULT));
    const kith::data::Handle type(H5Dget_type(dataset.get()));
    char* characters = nullptr;
    REQUIRE(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &characters) >= 0);
    const std::string found = characters;
    H5free_memory(characters);
    return found;
  };
  CHECK(text("connectivities_key") == "connectivities");
  CHECK(text("distances_key") == "distances");
  CHECK(text("params/method") == "umap");
  CHECK(text("params/metric") == "euclidean");
  CHECK(integers(copy, "uns/neighbors/params/n_neighbors") == std::vector<std::int32_t>{3});
  done(knn({"--write-obsp", "near", "-f", "-o", copy}));
  CHECK(integers(copy, "obsp/near_connectivities/indptr").size() == 5);
  CHECK(integers(copy, "obsp/near_distances/indptr").size() == 5);
  done(knn({"--write-obsp", "neighbors", "-f", "-o", copy}));
  Words again = knn({"--write-obsp", "neighbors", "-o", folder / "new.h5ad"});
  again[1] = copy + ":X";
  refuses(3, again, {"obsp has such a matrix already"});
}

TEST_CASE("--write-obs writes labels to a copy of an AnnData file, never to the file itself") {
  const Scratch folder;
  const std::string cells = folder / "cells.h5ad", copy = folder / "copy.h5ad";
  make_cells(cells, 4);
  const std::string before = bytes_of(cells);
  const auto cluster = [&](const std::string& column, const std::string& out) {
    return Words{"cluster", cells + ":X", "-k", "2", "--init", "first", "-q", "--write-obs", column, "-o", out};
  };
  done(cluster("groups", copy));
  CHECK(integers(copy, "obs/groups/codes") == std::vector<std::int32_t>{0, 0, 1, 1});
  CHECK(bytes_of(cells) == before);
  done(cluster("groups", folder / "again.h5ad"));
  CHECK(bytes_of(folder / "again.h5ad") == bytes_of(copy));
  std::filesystem::remove(folder / "again.h5ad");

  refuses(5, cluster("groups", copy), {"copy.h5ad: exists"});
  refuses(5, cluster("groups", cells), {"cells.h5ad: is the input"});
  refuses(3, cluster("cell", folder / "new.h5ad"), {"obs has such a column already"});
  refuses(3, cluster("a/b", folder / "new.h5ad"), {"expected a name without /"});
  refuses(2, {"cluster", cells + ":X", "-k", "2", "--write-obs", "groups"}, {"--write-obs", "give -o COPY.h5ad"});
  refuses(2, {"cluster", cells + ":X", "-k", "2", "--transpose", "--write-obs", "groups", "-o", folder / "new.h5ad"},
          {"--write-obs cannot be combined with --transpose"});
  refuses(3, {"cluster", kDigits + ":/train", "-k", "2", "--write-obs", "groups", "-o", folder / "new.h5ad"},
          {"expected an AnnData file, which has a group obs"});
  write_bytes(folder / "x.csv", "x\n1\n2\n");
  refuses(3, {"cluster", folder / "x.csv", "-k", "2", "--write-obs", "groups", "-o", folder / "new.h5ad"},
          {"x.csv: --write-obs groups: expected an AnnData file, found text"});
  std::filesystem::remove(folder / "x.csv");
  make_cells(cells, 5);
  refuses(3, cluster("groups", folder / "new.h5ad"), {"expected 4 rows in obs, one for each point, found 5"});
  CHECK(files_in(folder) == Words{"cells.h5ad", "copy.h5ad"});
}

TEST_CASE("standard input can be compressed, and is read once") {
  const Scratch folder;
  const std::string text = "x,y\n0,0\n0,1\n9,9\n";
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xab\xd0\xa9\xe4\x32\xd0\x31\x00\x62\x43\x2e\x4b\x1d\x4b\x2e\x00\xdf\x59"
      "\x89\xcc\x10\x00\x00\x00",
      34);
  write_bytes(folder / "p.csv", text);
  write_bytes(folder / "p.csv.gz", gzip);
  write_bytes(folder / "zeros.gz", gzip.substr(0, 20));
  const Words distances{"distances", "-"};
  const std::string expected = done({"distances", folder / "p.csv"}).out;
  CHECK(expected.size() > 10);
  CHECK(done(distances, {.standard_input = folder / "p.csv"}).out == expected);
  CHECK(done(distances, {.standard_input = folder / "p.csv.gz"}).out == expected);
  refuses(3, distances, {"standard input: damaged gzip file"}, {.standard_input = folder / "zeros.gz"});
  refuses(2, {"distances", "-", "-"}, {"-: standard input can be read once", "needed twice", "give a file instead"},
          {.standard_input = folder / "p.csv"});
}
