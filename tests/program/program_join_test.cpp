// Answers of kith knn that a person reads: each pair once, with names and columns of its rows, within a cosine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

namespace {

/// Rows on a line: 0 and 1 are near each other, and so are 1 and 2.
const std::string kTable =
    "customer,x,name,city\n"
    "C1,0,Ann,Lyon\nC2,1,\"Bo, Jr\",Paris\nC3,2,Cy,Lyon\nC4,9,\"D \"\"X\"\"\",Rome\n";

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("--pairs lists each pair once, the lower row first, in every format and with every way to find pairs") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  done({"generate", "x.h5", "-n", "400", "-d", "3", "--kind", "uniform", "-q"}, there);
  const Words radius{"knn", "x.h5", "--radius", "2", "-q", "-f"};
  const auto edges = [&](const Words& more) {
    done(plus(radius, plus(more, {"-o", "e.npy"})), there);
    return bytes_of(folder / "e.npy").size();
  };
  REQUIRE(edges({}) > 2000);
  for (const std::string& backend : usable_backends()) {
    done(plus(radius, {"--backend", backend, "--pairs", "-o", "p.h5"}), there);
    done(plus(radius, {"--backend", backend, "-o", "all.h5"}), there);
    // The pairs are the edges of all rows to later ones, in the same order.
    const std::vector<double> begin = stored(folder / "all.h5:/indptr"), row = stored(folder / "all.h5:/indices"),
                              distance = stored(folder / "all.h5:/distances");
    std::vector<double> expected_begin{0}, expected_row, expected_distance;
    std::string csv = "row_a,row_b,distance\n";
    for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
      for (auto e = static_cast<std::size_t>(begin[i]); e < static_cast<std::size_t>(begin[i + 1]); ++e) {
        if (row[e] < static_cast<double>(i)) continue;
        expected_row.push_back(row[e]);
        expected_distance.push_back(distance[e]);
      }
      expected_begin.push_back(static_cast<double>(expected_row.size()));
    }
    CHECK(2 * expected_row.size() == row.size());
    CHECK(stored(folder / "p.h5:/indptr") == expected_begin);
    CHECK(stored(folder / "p.h5:/indices") == expected_row);
    CHECK(stored(folder / "p.h5:/distances") == expected_distance);
    done(plus(radius, {"--backend", backend, "--pairs", "-o", "p.csv"}), there);
    CHECK(bytes_of(folder / "p.csv").starts_with(csv));
    const std::string lines = bytes_of(folder / "p.csv");
    CHECK(std::count(lines.begin(), lines.end(), '\n') == std::ssize(expected_row) + 1);
    // With -k, each pair of which one row lists the other.
    done({"knn", "x.h5", "-k", "4", "--backend", backend, "--pairs", "-f", "-o", "k.csv"}, there);
    done({"knn", "x.h5", "-k", "4", "--backend", backend, "--symmetric", "-f", "-o", "s.csv"}, there);
    const std::string symmetric = bytes_of(folder / "s.csv");
    CHECK(bytes_of(folder / "k.csv") == "row_a,row_b,distance\n" + symmetric.substr(symmetric.find('\n') + 1));
  }
  const Outcome shown = done({"knn", "x.h5", "--radius", "2", "--pairs", "--json"}, there);
  CHECK(shown.json()["pairs"].get<std::size_t>() * 2 == stored(folder / "all.h5:/indices").size());
  // Pairs that do not fit in memory are counted first: 319 600 of 32 bytes are more than this limit leaves to them.
  done({"generate", "many.h5", "-n", "800", "-d", "2", "--kind", "uniform", "-q"}, there);
  const Words many{"knn", "many.h5", "--radius", "100", "--pairs", "-q", "-o"};
  done(plus(many, {"whole.h5"}), there);
  done(plus(many, {"parts.h5", "--memory", "140MB"}), there);
  REQUIRE(stored(folder / "whole.h5:/indices").size() == 319'600);
  CHECK(bytes_of(folder / "whole.h5") == bytes_of(folder / "parts.h5"));
  for (const Words& other : {Words{"--queries", "x.h5"}, Words{"--components"}, Words{"--mutual"}}) {
    refuses(2, plus(plus(radius, {"--pairs"}), other), {"cannot be combined with"}, there);
  }
}

TEST_CASE("--join writes columns of the table beside each answer, for both rows") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", kTable);
  const Words base{"knn", "t.csv", "--id-column", "customer", "-q", "-f"};
  const auto written = [&](const Words& more) {
    done(plus(base, plus(more, {"-o", "o.csv"})), there);
    return bytes_of(folder / "o.csv");
  };
  CHECK(written({"--radius", "1", "--pairs", "--join", "name,city"}) ==
        "customer_a,customer_b,distance,name_a,name_b,city_a,city_b\n"
        "C1,C2,1,Ann,\"Bo, Jr\",Lyon,Paris\nC2,C3,1,\"Bo, Jr\",Cy,Paris,Lyon\n");
  CHECK(written({"-k", "1", "--join", "name,city"})
            .starts_with("query,neighbor,distance,query_name,neighbor_name,query_city,neighbor_city\nC1,C2,1,Ann,\"Bo, "
                         "Jr\",Lyon,Paris\n"));
  CHECK(written({"--radius", "1", "--components", "--join", "name,city"}) ==
        "customer,component,keep,name,city\nC1,C1,1,Ann,Lyon\nC2,C1,0,\"Bo, Jr\",Paris\nC3,C1,0,Cy,Lyon\n"
        "C4,C4,1,\"D \"\"X\"\"\",Rome\n");
  // A column of numbers stays a point if it is named, and rows without names have numbers.
  done({"knn", "t.csv", "--columns", "x", "--join", "x,name", "--radius", "1", "--pairs", "-o", "n.csv"}, there);
  CHECK(
      bytes_of(folder / "n.csv").starts_with("row_a,row_b,distance,x_a,x_b,name_a,name_b\n0,1,1,0,1,Ann,\"Bo, Jr\"\n"));
  CHECK(done(plus(base, {"-k", "1", "--join", "city,name"}), there).out.starts_with("C1\tC2\t1\tLyon\tParis\tAnn\t"));
  // Queries may have the columns, or some of them.
  write_bytes(folder / "q.csv", "customer,x,city\nQ1,8,Oslo\n");
  CHECK(written({"--queries", "q.csv", "-k", "1", "--join", "city,name"}) ==
        "query,neighbor,distance,query_city,neighbor_city,neighbor_name\nQ1,C4,1,Oslo,Rome,\"D \"\"X\"\"\"\n");
  // A query that was dropped has no neighbour, and no text of one.
  write_bytes(folder / "q.csv", "customer,x,city\nQ0,8,Rome\nQ1,,Oslo\n");
  CHECK(
      written({"--queries", "q.csv", "-k", "1", "--join", "city,name", "--nan", "drop"}).ends_with("Q1,-1,,Oslo,,\n"));
  refuses(2, plus(base, {"-k", "1", "--join", "nme"}), {"--join: 'nme'", "the nearest is 'name'"}, there);
  refuses(2, plus(base, {"-k", "1", "--join", "name", "-o", "o.h5"}), {"--join", ".csv", "o.h5"}, there);
}

TEST_CASE("--ids names the rows of points that have no texts") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", kTable);
  FileMaker(folder / "x.h5").floats("x", {4, 1}, {0, 1, 2, 9});
  write_bytes(folder / "texts.txt", "first, \"quoted\"\nsecond # no comment\n\xc3\xa9t\xc3\xa9\nlast\n");
  const auto pairs = [&](const Words& more) {
    done(plus({"knn", "x.h5", "--radius", "1", "--pairs", "-q", "-f", "-o", "o.csv"}, more), there);
    return bytes_of(folder / "o.csv");
  };
  CHECK(pairs({"--ids", "texts.txt"}) ==
        "id_a,id_b,distance\n\"first, \"\"quoted\"\"\",\"second # no comment\",1\n"
        "\"second # no comment\",\xc3\xa9t\xc3\xa9,1\n");
  CHECK(pairs({"--ids", "t.csv:customer", "--join", "name"}) ==
        "customer_a,customer_b,distance,name_a,name_b\nC1,C2,1,Ann,\"Bo, Jr\"\nC2,C3,1,\"Bo, Jr\",Cy\n");
  CHECK(pairs({"--ids", "t.csv", "--join", "name"}).starts_with("row_a,row_b,distance,name_a,name_b\n0,1,1,Ann,"));
  // Labels, too, and results in HDF5.
  const Words cluster{"cluster", "x.h5", "-k", "2", "--init", "first", "-q", "-f", "--ids", "t.csv:customer", "-o"};
  done(plus(cluster, {"l.csv"}), there);
  CHECK(bytes_of(folder / "l.csv").starts_with("customer,label\nC1,"));
  done(plus(cluster, {"model.h5"}), there);
  done({"assign", "x.h5", "--centroids", "model.h5", "--ids", "texts.txt", "-q", "-o", "a.csv"}, there);
  CHECK(bytes_of(folder / "a.csv").starts_with("id,label\n\"first, \"\"quoted\"\"\","));
  done({"dbscan", "x.h5", "--radius", "1", "--min-points", "2", "--ids", "t.csv:customer", "-q", "-o", "d.csv"}, there);
  CHECK(bytes_of(folder / "d.csv") == "customer,label\nC1,0\nC2,0\nC3,0\nC4,-1\n");
  done({"knn", "x.h5", "-k", "1", "--ids", "t.csv:2", "-q", "-o", "k.csv"}, there);
  CHECK(bytes_of(folder / "k.csv").starts_with("query,neighbor,distance\n0,1,1\n"));
  // Queries have their own names.
  CHECK(done({"knn", "x.h5", "-k", "1", "--ids", "t.csv:customer", "--queries", "x.h5"}, there).out ==
        "0\tC1\t0\n1\tC2\t0\n2\tC3\t0\n3\tC4\t0\n");
  // The columns of obs are at hand where the points are a matrix of AnnData.
  const std::string cells = std::string(KITH_SOURCE_DIR) + "/samples/wine.h5ad";
  const Outcome named = done({"knn", cells + ":X_pca", "--ids", cells + ":/obs/_index", "-k", "1"}, there);
  CHECK(named.out.find("0\t") != 0);
  refuses(3, {"knn", "x.h5", "-k", "1", "--ids", "q.txt"}, {"q.txt"}, there);
  write_bytes(folder / "few.txt", "a\nb\n");
  refuses(3, {"knn", "x.h5", "-k", "1", "--ids", "few.txt"}, {"--ids few.txt", "each of the 4 rows", "found 2"}, there);
  write_bytes(folder / "head.txt", "name\na\nb\nc\nd\n");
  refuses(3, {"knn", "x.h5", "-k", "1", "--ids", "head.txt"}, {"found 5", "give head.txt:1"}, there);
  CHECK(done({"knn", "x.h5", "-k", "1", "--ids", "head.txt:1", "--header", "yes"}, there).out.starts_with("a\tb\t1\n"));
  refuses(2, {"knn", "x.h5", "-k", "1", "--ids", "t.csv"}, {"t.csv:COLUMN", "customer"}, there);
  refuses(2, {"knn", "x.h5", "-k", "1", "--join", "name"}, {"--join name", "--ids FILE.csv"}, there);
  refuses(2, {"knn", "t.csv", "-k", "1", "--ids", "texts.txt", "--id-column", "1"}, {"--ids", "--id-column"}, there);
}

TEST_CASE("--min-cosine is the radius of a cosine, which it includes") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  // Directions of whole numbers: the cosines of pairs are shares such as 3/5, 24/25 and 1, whose roots round.
  std::vector<float> rows;
  const float whole[][2] = {{3, 4}, {4, 3}, {5, 0}, {0, 7}, {5, 12}, {12, 5}, {6, 8}, {8, 15}, {7, 24}, {33, 44}};
  for (const auto& row : whole) rows.insert(rows.end(), {row[0], row[1], 0});
  const std::size_t n = rows.size() / 3;
  FileMaker(folder / "x.h5").floats("x", {n, 3}, rows);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      const auto dot = [&](std::size_t i, std::size_t j) {
        return static_cast<double>(rows[3 * i]) * rows[3 * j] + static_cast<double>(rows[3 * i + 1]) * rows[3 * j + 1];
      };
      const double cosine = dot(a, b) / (std::sqrt(dot(a, a)) * std::sqrt(dot(b, b)));
      INFO(a << " " << b << " " << cosine);
      const auto has_pair = [&](double least) {
        const std::string out =
            done({"knn", "x.h5", "--min-cosine", fmt::format("{}", least), "--pairs", "-q"}, there).out;
        return ("\n" + out).find(fmt::format("\n{}\t{}\t", a, b)) != std::string::npos;
      };
      CHECK(has_pair(cosine));
      if (cosine < 1.0 - 1e-9) CHECK(!has_pair(cosine + 1e-9));
    }
  }
  const Outcome run = done({"knn", "x.h5", "--min-cosine", "0.9", "--pairs", "-o", "p.csv"}, there);
  CHECK(run.says("metric     cosine, which --min-cosine sets"));
  CHECK(run.says("radius     0.447214, a cosine of 0.9"));
  CHECK(done({"knn", "x.h5", "--radius", "0.1", "--metric", "cosine", "-o", "r.csv"}, there)
            .says("radius     0.1, a cosine of 0.995"));
  CHECK(!done({"knn", "x.h5", "--radius", "0.1", "-f", "-o", "r.csv"}, there).says("a cosine of"));
  // The same of dbscan, whose result is that of the radius.
  done({"dbscan", "x.h5", "--min-cosine", "0.9", "--min-points", "2", "-q", "-o", "a.npy"}, there);
  done({"dbscan", "x.h5", "--radius", "0.4472136", "--metric", "cosine", "--min-points", "2", "-q", "-o", "b.npy"},
       there);
  CHECK(bytes_of(folder / "a.npy") == bytes_of(folder / "b.npy"));
  CHECK(done({"dbscan", "x.h5", "--metric", "cosine"}, there).out.find(", a cosine of 0.") != std::string::npos);
  for (const char* command : {"knn", "dbscan"}) {
    refuses(2, {command, "x.h5", "--min-cosine", "1.5"}, {"--min-cosine: expected a cosine, from -1 to 1"}, there);
    refuses(2, {command, "x.h5", "--min-cosine", "0.5", "--radius", "1"}, {"--min-cosine", "--radius"}, there);
    refuses(2, {command, "x.h5", "--min-cosine", "0.5", "--metric", "euclidean"}, {"--metric cosine"}, there);
    CHECK(
        unwrapped(done({command, "--help"}).out).find("sqrt(2 - 2 cos); 0.1 is a cosine of 0.995, 0.447 one of 0.9") !=
        std::string::npos);
  }
}

TEST_CASE("the next line after a search is a command that works") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  done({"generate", "x.h5", "-n", "60", "-d", "2", "-q"}, there);
  write_bytes(folder / "known.csv", "x,kind\n0,a\n1,a\n2,b\n9,b\n8,b\n");
  write_bytes(folder / "NEW.csv", "x\n1\n");
  const auto next = [&](const Words& words) {
    const std::string text = unwrapped(done(words, there).err);
    const std::size_t at = text.find("next       ");
    return at == text.npos ? "" : text.substr(at + 11, text.find('\n', at) - at - 11);
  };
  const auto runs = [&](const std::string& command) {
    INFO(command);
    std::istringstream text(command);
    Words words;
    for (std::string word; text >> word;) words.push_back(word);
    REQUIRE(words.size() > 2);
    words.erase(words.begin());
    return done(words, there);
  };
  runs(next({"knn", "x.h5", "--radius", "3", "-o", "edges.h5"}));
  CHECK(bytes_of(folder / "groups.csv").starts_with("row,component,keep\n0,"));
  std::filesystem::remove(folder / "groups.csv");
  runs(next({"knn", "x.h5", "-k", "3", "--pairs", "-o", "pairs.csv"}));
  CHECK(bytes_of(folder / "groups.csv").starts_with("row,component,keep\n0,"));
  runs(next({"knn", "x.h5", "-k", "3", "-o", "lists.h5"}));
  CHECK(bytes_of(folder / "outliers.csv").starts_with("row,kth_distance,"));
  const std::string compare = next({"knn", "x.h5", "--queries", "x.h5", "-k", "3", "-o", "THEIRS.hdf5"});
  CHECK(compare == "kith evaluate THEIRS.hdf5 --truth THEIRS.hdf5");
  CHECK(runs(compare).out == "all 60 lists of 3 neighbours equal THEIRS.hdf5:/neighbors\n");
  const std::string classify =
      next({"knn", "known.csv", "--label-column", "kind", "--classify", "known.csv:kind", "-k", "3"});
  CHECK(classify.find("-k 1") != std::string::npos);  // it has the highest share
  runs(classify);
  CHECK(bytes_of(folder / "classes.csv") == "row,label,share\n0,a,1\n");
}
