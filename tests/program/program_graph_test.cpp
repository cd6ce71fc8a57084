// What kith knn makes with --metric, --graph, --radius and --components: files that plain loops agree with, refusals.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <tuple>

#include "core/numbers/distance.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

/// Rows with gaps of 1, 2, 3, ... on a line, and one twice.
void make_line(const std::string& file) { FileMaker(file).floats("x", {6, 1}, {0, 1, 3, 6, 6, 10}); }

}  // namespace

TEST_CASE("a graph of lists: directed, symmetric, mutual, as compressed rows and as edges") {
  const Scratch folder;
  const std::string line = folder / "x.h5";
  make_line(line);
  const auto graph = [&](const Words& more) {
    Words words{"knn", line, "-k", "1", "-q", "-f", "-o", folder / "g.h5"};
    words.insert(words.end(), more.begin(), more.end());
    done(words);
    return std::vector{values(folder / "g.h5:/indptr"), values(folder / "g.h5:/indices"),
                       values(folder / "g.h5:/distances")};
  };
  using Values = std::vector<double>;
  CHECK(graph({"--graph"}) == std::vector<Values>{{0, 1, 2, 3, 4, 5, 6}, {1, 0, 1, 4, 3, 3}, {1, 1, 2, 0, 0, 4}});
  CHECK(graph({"--symmetric"}) ==
        std::vector<Values>{{0, 1, 3, 4, 6, 7, 8}, {1, 0, 2, 1, 4, 5, 3, 3}, {1, 1, 2, 2, 0, 4, 0, 4}});
  CHECK(graph({"--mutual", "--squared"}) == std::vector<Values>{{0, 1, 2, 2, 3, 4, 4}, {1, 0, 4, 3}, {1, 1, 0, 0}});
  const std::string csv = folder / "edges.csv";
  done({"knn", line, "-k", "1", "--symmetric", "-o", csv, "-q"});
  CHECK(bytes_of(csv) == "source,target,distance\n0,1,1\n1,2,2\n3,4,0\n3,5,4\n");
  CHECK(done({"knn", line, "-k", "1", "--graph", "-q"}).out ==
        "0\t1\t1\n1\t0\t1\n2\t1\t2\n3\t4\t0\n4\t3\t0\n5\t3\t4\n");
}

TEST_CASE("--weights: a symmetric graph with a weight for each edge, in every format") {
  const Scratch folder;
  const std::string line = folder / "x.h5", csv = folder / "edges.csv";
  make_line(line);
  const auto run = [&](const Words& more) {
    Words words{"knn", line, "-k", "2", "-q", "-f"};
    words.insert(words.end(), more.begin(), more.end());
    return done(words).out;
  };
  // The lists of 0, 1, 3, 6, 6, 10 are rows 1 2, 0 2, 1 0 (a tie with 3 and 4), 4 2, 3 2 and 3 4.
  run({"--graph", "--weights", "jaccard", "-o", csv});
  const std::string expected =
      "source,target,distance,weight\n0,1,1,0.33333334\n0,2,3,0.33333334\n1,2,2,0.33333334\n"
      "3,4,0,0.33333334\n3,5,4,0.16666667\n4,5,4,0.16666667\n";
  CHECK(bytes_of(csv) == expected);
  CHECK(run({"--pairs", "--weights", "jaccard"}).starts_with("0\t1\t1\t0.33333334\n0\t2\t3\t"));
  run({"--graph", "--weights", "jaccard", "-o", folder / "g.h5"});
  const std::vector<double> weights = values(folder / "g.h5:/weights"), begin = values(folder / "g.h5:/indptr");
  CHECK(weights.size() == 12);
  CHECK(begin.back() == 12);
  CHECK(done({"info", folder / "g.h5"}).out.find("jaccard") != std::string::npos);
  run({"--graph", "--weights", "jaccard", "-o", folder / "g.mtx"});
  CHECK(bytes_of(folder / "g.mtx")
            .starts_with("%%MatrixMarket matrix coordinate real general\n6 6 12\n1 2 0.33333334\n"));
  run({"--graph", "--weights", "jaccard", "-o", folder / "g.npz"});
  run({"--graph", "--weights", "jaccard", "-o", folder / "g.npy"});
  CHECK(bytes_of(folder / "g.npy").find("('distance', '<f4'), ('weight', '<f4')") != std::string::npos);
  for (const char* weight : {"jaccard", "gaussian", "umap"}) {
    run({"--graph", "--weights", weight, "-o", folder / "g.h5"});
    const std::string bytes = bytes_of(folder / "g.h5");
    for (const Words& how : {Words{"--threads", "1"}, Words{"--threads", "3"}, Words{"--block-rows", "1"}}) {
      Words words{"--graph", "--weights", weight, "-o", folder / "g.h5"};
      words.insert(words.end(), how.begin(), how.end());
      run(words);
      CHECK(bytes_of(folder / "g.h5") == bytes);
    }
  }
  // Of cosine, distances are 1 - cos, as scanpy has them.
  FileMaker(folder / "c.h5").floats("x", {3, 2}, {1, 0, 0, 1, 1, 1});
  CHECK(done({"knn", folder / "c.h5", "-k", "1", "--metric", "cosine", "--graph", "--weights", "umap", "-q"})
            .out.starts_with("0\t2\t0.29289323\t"));
  refuses(2, {"knn", line, "-k", "1", "--weights", "umap"}, {"--weights: expected a graph"});
  refuses(2, {"knn", line, "-k", "1", "--graph", "--weights", "umap", "--metric", "inner-product"},
          {"--weights: expected a distance"});
  refuses(2, {"knn", line, "--radius", "1", "--weights", "umap"}, {"--weights"});
}

TEST_CASE("a radius: every row within it, the row at it too, in a file that does not depend on how") {
  const Scratch folder;
  const std::string line = folder / "x.h5", out = folder / "r.h5";
  make_line(line);
  done({"knn", line, "--radius", "3", "-o", out, "-q"});
  CHECK(values(out + ":/indptr") == std::vector<double>{0, 2, 4, 8, 10, 12, 12});
  CHECK(values(out + ":/indices") == std::vector<double>{1, 2, 0, 2, 1, 0, 3, 4, 4, 2, 3, 2});
  CHECK(values(out + ":/distances") == std::vector<double>{1, 3, 1, 2, 2, 3, 3, 3, 0, 3, 0, 3});
  const std::string bytes = bytes_of(out);
  for (const Words& more : {Words{"--block-rows", "1"}, Words{"--threads", "1"}, Words{"--block-rows", "4"}}) {
    Words words{"knn", line, "--radius", "3", "-o", out, "-q", "-f"};
    words.insert(words.end(), more.begin(), more.end());
    done(words);
    CHECK(bytes_of(out) == bytes);
  }
  done({"knn", line, "--radius", "0.5", "-o", out, "-q", "-f"});
  CHECK(values(out + ":/indptr") == std::vector<double>{0, 0, 0, 0, 1, 2, 2});
  const Outcome none = run_kith({"knn", line, "--radius", "0", "--json", "-q"});
  CHECK(none.json()["edges"] == 2);
  FileMaker(folder / "q.h5").floats("q", {2, 1}, {-100, 2});
  CHECK(done({"knn", line, "--queries", folder / "q.h5", "--radius", "1", "-q"}).out == "1\t1\t1\n1\t2\t1\n");
  done({"knn", line, "--queries", folder / "q.h5", "--radius", "1", "-o", folder / "e.csv", "-q"});
  CHECK(bytes_of(folder / "e.csv") == "source,target,distance\n1,1,1\n1,2,1\n");
  done({"knn", line, "--queries", folder / "q.h5:/q", "--radius", "0.25", "-o", out, "-q", "-f"});
  CHECK(values(out + ":/indptr") == std::vector<double>{0, 0, 0});
}

TEST_CASE("a radius that matches everything: counted first where memory is short, the same file") {
  const Scratch folder;
  const std::string points = folder / "x.h5";
  done({"generate", points, "-n", "1500", "-d", "2", "-q"});
  const std::vector<std::string> lists{folder / "a.h5", folder / "b.h5"};
  done({"knn", points + ":/points", "--radius", "1000", "-o", lists[0], "-q"});
  const Outcome shown =
      done({"knn", points + ":/points", "--radius", "1000", "-o", lists[1], "-v", "--memory", "190MB"});
  CHECK(shown.says("edges      2248500, 1499.0 for each row"));
  CHECK(bytes_of(lists[0]) == bytes_of(lists[1]));
  const Outcome grouped = done({"knn", points + ":/points", "--radius", "1000", "--components", "--json", "-q"});
  CHECK(grouped.json()["components"] == 1);
}

TEST_CASE("groups of near rows, and the rows to keep") {
  const Scratch folder;
  const std::string line = folder / "x.h5", out = folder / "c.h5";
  make_line(line);
  done({"knn", line, "--radius", "2", "--components", "-o", out, "-q"});
  CHECK(values(out + ":/components") == std::vector<double>{0, 0, 0, 3, 3, 5});
  CHECK(values(out + ":/keep") == std::vector<double>{0, 3, 5});
  CHECK(values(out + ":/counts") == std::vector<double>{3, 2, 1});
  CHECK(done({"knn", line, "--radius", "0", "--components", "-q"}).out == "0\t0\n1\t1\n2\t2\n3\t3\n4\t3\n5\t5\n");
  CHECK(done({"knn", line, "-k", "1", "--mutual", "--components", "-q"}).out == "0\t0\n1\t0\n2\t2\n3\t3\n4\t3\n5\t5\n");
}

TEST_CASE("other metrics: lists, distances and truth in their own units") {
  const Scratch folder;
  const std::string points = folder / "x.h5";
  FileMaker(points).floats("x", {4, 2}, {1, 2, -3, 0, 2, 2, 0, -1});
  const auto lists = [&](const char* metric, const Words& more) {
    Words words{"knn", points, "-q", "--metric", metric};
    words.insert(words.end(), more.begin(), more.end());
    return done(words).out;
  };
  CHECK(lists("manhattan", {"-k", "1"}) == "0\t2\t1\n1\t3\t4\n2\t0\t1\n3\t0\t4\n");
  CHECK(lists("chebyshev", {"-k", "1"}) == "0\t2\t1\n1\t3\t3\n2\t0\t1\n3\t0\t3\n");
  CHECK(lists("inner-product", {"-k", "2"}) ==
        "0\t2\t6\n0\t3\t-2\n1\t3\t0\n1\t0\t-3\n2\t0\t6\n2\t3\t-2\n3\t1\t0\n3\t0\t-2\n");
  CHECK(lists("inner-product", {"--radius", "0"}) == "0\t2\t6\n1\t3\t0\n2\t0\t6\n3\t1\t0\n");
  CHECK(lists("manhattan", {"--radius", "4"}) == "0\t2\t1\n0\t3\t4\n1\t3\t4\n2\t0\t1\n3\t0\t4\n3\t1\t4\n");
  CHECK(done({"distances", points, "--metric", "chebyshev", "-q"}).out.find("0\t4\t1\t3\n") == 0);
  CHECK(done({"distances", points, "--metric", "inner-product", "-q"}).out.find("5\t-3\t6\t-2\n") == 0);
  for (const char* metric : {"inner-product", "manhattan", "chebyshev"}) {
    const std::string out = folder / "n.h5", truth = folder / "t.ibin";
    done({"knn", points, "-k", "2", "--metric", metric, "-o", out, "-f", "-q"});
    CHECK(bytes_of(out).find(metric) != std::string::npos);
    done({"knn", points, "-k", "2", "--metric", metric, "-o", truth, "-f", "-q"});
    CHECK(values(truth + ":/distances") == values(out + ":/distances"));
    CHECK(done({"knn", points, "-k", "2", "--metric", metric, "--truth", truth}).code == 0);
  }
  for (const Words& words : {Words{"cluster", points, "-k", "2", "--metric", "manhattan"},
                             Words{"sweep", points, "-k", "2-3", "--metric", "manhattan"},
                             Words{"assign", points, "--centroids", points, "--metric", "manhattan"}}) {
    refuses(2, words, {"--metric manhattan: k-means supports euclidean, cosine and correlation", "a mean"});
  }
}

TEST_CASE("floats and bytes: lists, graphs and edges are the same file on every backend, in blocks too") {
  const Scratch folder;
  const std::string floats = folder / "x.h5", bytes = folder / "x.u8bin";
  done({"generate", floats, "-n", "1400", "-d", "24", "-q"});
  {
    const std::uint32_t shape[] = {1400, 24};
    std::ofstream file(bytes, std::ios::binary);
    file.write(reinterpret_cast<const char*>(shape), sizeof shape);
    for (std::uint32_t i = 0, state = 7; i < 1400 * 24; ++i) {
      file.put(static_cast<char>((state = state * 1664525U + 1013904223U) >> 25));
    }
  }
  for (const auto& [points, near, like] : {std::tuple{floats + ":/points", "9", "40"}, {bytes, "170", "150000"}}) {
    for (const Words& asked :
         {Words{"-k", "10"}, Words{"-k", "40", "--metric", "inner-product"}, Words{"-k", "5", "--mutual"},
          Words{"--radius", near}, Words{"--radius", like, "--metric", "inner-product"}}) {
      std::string first;
      for (const std::string& backend : usable_backends()) {
        for (const char* block : {"1000000", "500"}) {
          Words words{"knn", points, "--backend", backend, "--block-rows", block, "-q", "-f", "-o", folder / "r.h5"};
          words.insert(words.end(), asked.begin(), asked.end());
          done(words);
          const std::string found = bytes_of(folder / "r.h5");
          INFO(points << ", " << asked[0] << " " << asked[1] << ", " << backend << ", blocks of " << block);
          if (first.empty()) first = found;
          CHECK((found == first));
        }
      }
      CHECK(values(folder / "r.h5:" + (asked[0] == "-k" && asked.back() != "--mutual" ? "/neighbors" : "/indices"))
                .size() > 1400);
    }
  }
}

// Equal rows, all within the radius of each other: 11 200 x 11 199 edges, more than may be written here.
TEST_CASE("a graph of gigabytes is announced before it is written") {
  const Scratch folder;
  std::string rows;
  for (int i = 0; i < 11'200; ++i) rows += "1,2\n";
  write_bytes(folder / "equal.csv", rows);
  const Outcome outcome =
      run_kith({"knn", folder / "equal.csv", "--radius", "1", "--memory", "200MB", "-o", folder / "g.h5"},
               {.file_bytes = 1 << 20});
  INFO(outcome.err);
  CHECK(outcome.code == 5);
  CHECK(outcome.says("the graph has 125428800 edges, about 2.0 GB; a smaller radius has fewer, and --components"));
  CHECK(files_in(folder) == Words{"equal.csv"});
}
