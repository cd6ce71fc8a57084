// The table of commands, and how their inputs are made.
#include "tests/faults/commands.h"

#include <fmt/format.h>

#include "tests/support/checkpoint_trial.h"
#include "tests/support/streamed_runs.h"

namespace kith::testing {
namespace {

const Words kSaveOften{"--tolerance", "0", "--checkpoint", "run.kith", "--checkpoint-every", "0"};

/// 60 pixels in three colours.
std::string picture() {
  std::string text = "P6 10 6 255\n";
  for (int i = 0; i < 180; ++i) text += static_cast<char>(i / 3 % 3 == i % 3 ? 200 + i % 4 : 10);
  return text;
}

}  // namespace

const std::vector<FaultyCommand>& faulty_commands() {
  static const std::vector<FaultyCommand> commands{
      {"cluster", {"cluster", "points.csv", "-k", "3", "-o", "out.h5"}, {"out.h5"}},
      {"cluster --force", {"cluster", "points.csv", "-k", "3", "-f", "-o", "out.h5"}, {"out.h5"}, true},
      {"cluster, csv", {"cluster", "points.h5:/points", "-k", "3", "-o", "out.csv"}, {"out.csv"}},
      {"cluster, npy", {"cluster", "points.h5:/points", "-k", "3", "-f", "-o", "out.npy"}, {"out.npy"}, true},
      {"cluster --write-obs",
       {"cluster", "cells.h5ad:/X", "-k", "3", "--write-obs", "km", "-o", "out.h5ad"},
       {"out.h5ad"}},
      {"cluster --init", {"cluster", "points.csv", "-k", "3", "--init", "stopped.h5", "-o", "out.h5"}, {"out.h5"}},
      {"cluster --append", {"cluster", "points.csv", "-k", "3", "--append", "-o", "out.csv"}, {"out.csv"}},
      {"cluster --scratch",
       {"cluster", "large.npy", "-k", "3", "--init", "first", "--max-iterations", "1", "--scale", "unit", "--memory",
        "13MB", "--scratch", ".", "-o", "out.h5"},
       {"out.h5"},
       /*replaces=*/false,
       /*is_large=*/true},
      {"cluster --checkpoint", Words{"cluster", "points.csv", "-k", "3", "-o", "out.h5"} + kSaveOften, {"out.h5"}},
      {"resume",
       {"resume", "run.kith", "--time-limit", "1h"},
       {"out.h5"},
       /*replaces=*/false,
       /*is_large=*/false,
       /*resumes=*/true},
      {"assign", {"assign", "points.csv", "--centroids", "clusters.h5", "-o", "out.h5"}, {"out.h5"}},
      {"dbscan", {"dbscan", "points.csv", "--radius", "3", "-o", "out.h5"}, {"out.h5"}},
      {"knn", {"knn", "points.csv", "-k", "2", "-o", "out.h5"}, {"out.h5"}},
      {"knn, bigann", {"knn", "points.csv", "-k", "2", "--format", "bigann", "-o", "out.bin"}, {"out.bin"}},
      {"knn, csv", {"knn", "points.csv", "-k", "2", "--graph", "-o", "out.csv"}, {"out.csv"}},
      {"knn, mtx", {"knn", "points.csv", "-k", "2", "--symmetric", "-o", "out.mtx"}, {"out.mtx"}},
      {"knn, npz", {"knn", "points.csv", "-k", "2", "--graph", "-o", "out.npz"}, {"out.npz"}},
      {"knn --write-obsp",
       {"knn", "cells.h5ad:/X", "-k", "2", "--graph", "--write-obsp", "near", "-o", "out.h5ad"},
       {"out.h5ad"}},
      {"knn --classify",
       {"knn", "points.csv", "-k", "2", "--classify", "clusters.h5:/labels", "-o", "out.h5"},
       {"out.h5"}},
      {"knn --checkpoint",
       {"knn", "points.csv", "-k", "2", "--checkpoint", "run.kith", "--checkpoint-every", "0", "-o", "out.h5"},
       {"out.h5"}},
      {"distances", {"distances", "points.csv", "-o", "out.h5"}, {"out.h5"}},
      {"distances, npy", {"distances", "points.csv", "-o", "out.npy"}, {"out.npy"}},
      {"evaluate", {"evaluate", "clusters.h5:/labels", "--points", "points.csv", "-o", "out.h5"}, {"out.h5"}},
      {"evaluate --json-file",
       {"evaluate", "clusters.h5:/labels", "--points", "points.csv", "-o", "out.h5", "--json-file", "out.json"},
       {"out.h5", "out.json"}},
      {"sweep", {"sweep", "points.csv", "-k", "2-3", "-o", "out.h5"}, {"out.h5"}},
      {"sweep, csv", {"sweep", "points.csv", "-k", "2-3", "-o", "out.csv"}, {"out.csv"}},
      {"report", {"report", "clusters.h5", "--points", "points.csv", "-o", "out.html"}, {"out.html"}},
      {"image",
       {"image", "picture.ppm", "-k", "2", "-o", "out.png", "--palette", "out.gpl", "--labels", "out.h5"},
       {"out.png", "out.gpl", "out.h5"}},
      {"generate", {"generate", "out.h5", "-n", "500", "-d", "3"}, {"out.h5"}},
      {"info", {"info", "clusters.h5", "points.csv", "--stats"}, {}},
      {"table", {"table", "clusters.h5", "stopped.h5"}, {}},
  };
  return commands;
}

std::string points_as_csv() {
  std::string text = "x,y,z\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{},{}\n", i % 3 * 10 + i * 0.01, i % 7, i % 5 * 0.5);
  return text;
}

void make_cells(const std::string& name) {
  FileMaker maker(name);
  std::vector<float> values;
  for (int i = 0; i < 180; ++i) values.push_back(static_cast<float>(i % 9) + static_cast<float>(i % 3) * 20.0F);
  maker.floats("X", {60, 3}, values, {.chunk = {16, 3}, .deflate = 4});
  maker.group("obs");
  const data::Handle text = data::utf8_type(H5T_VARIABLE), obs(H5Gopen2(maker.id(), "obs", H5P_DEFAULT));
  const std::vector<const char*> index(60, "cell"), order{"batch"};
  maker.dataset("obs/_index", text.get(), {60}, text.get(), index.data());
  maker.dataset("obs/batch", H5T_STD_I32LE, {60}, H5T_NATIVE_INT32, std::vector<int>(60, 7).data());
  const auto attribute = [&](const char* attribute_name, const data::Handle& space, const void* value) {
    const data::Handle made(H5Acreate2(obs.get(), attribute_name, text.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Awrite(made.get(), text.get(), value) >= 0);
  };
  const hsize_t one = 1;
  const char* index_name = "_index";
  attribute("_index", data::Handle(H5Screate(H5S_SCALAR)), &index_name);
  attribute("column-order", data::Handle(H5Screate_simple(1, &one, nullptr)), order.data());
}

void make_inputs(const Scratch& folder, const FaultyCommand& command) {
  write_bytes(folder / "points.csv", points_as_csv());
  {
    FileMaker maker(folder / "points.h5");
    std::vector<float> values(180);
    for (int i = 0; i < 180; ++i) values[i] = static_cast<float>(i * i % 101);
    maker.floats("points", {60, 3}, values);
  }
  make_cells(folder / "cells.h5ad");
  write_bytes(folder / "picture.ppm", picture());
  if (command.is_large) write_npy(folder / "large.npy", streamed_values(kStreamedRows, 1));
  const Setting here{.folder = folder.path()};
  const Words cluster{"cluster", "points.csv", "-k", "3", "-q", "-o"};
  done(cluster + Words{"clusters.h5"}, here);
  done(cluster + Words{"stopped.h5", "--max-iterations", "1"}, here);
  if (command.resumes) {
    const Outcome stopped = run_kith(cluster + Words{"out.h5", "--time-limit", kAtOnce} + kSaveOften, here);
    INFO(stopped.err);
    REQUIRE(stopped.code == 124);
  }
  if (command.replaces) {
    for (const std::string& output : command.outputs) write_bytes(folder / output, "old");
  }
}

}  // namespace kith::testing
