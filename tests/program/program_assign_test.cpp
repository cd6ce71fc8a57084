// kith assign beyond labels: the columns and the metric of the model.
#include <utility>

#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith::testing;

TEST_CASE("the columns of a model are found by name, in any order, among others") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "a,b,c,kind\n0,5,0,u\n1,7,1,v\n9,2,8,u\n");
  done({"cluster", "t.csv", "-k", "2", "--columns", "a,c", "-o", "m.h5", "-q"}, there);
  const auto labels = [&](const Words& words) {
    Words all{"assign"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--centroids", "m.h5", "--save-distances", "-f", "-q", "-o", "o.csv"});
    done(all, there);
    return bytes_of(folder / "o.csv");
  };
  const std::string expected = labels({"t.csv", "--columns", "a,c"});
  CHECK(labels({"t.csv"}) == expected);
  write_bytes(folder / "u.csv", "c,note,a\n0,?,0\n1,\"x, y\",1\n8,z,9\n");
  CHECK(labels({"u.csv"}) == expected);
  // Queries have the columns of the base, and need not have its labels.
  write_bytes(folder / "q.csv", "c,b,a\n1,7,1\n8,2,9\n");
  CHECK(done({"knn", "t.csv", "--label-column", "kind", "--queries", "q.csv", "-k", "1", "-q"}, there).out ==
        "0\t1\t0\n1\t2\t0\n");
  CHECK(
      done({"knn", "t.csv", "--label-column", "kind", "--queries", "q.csv", "-k", "1", "--id-column", "b", "-q"}, there)
          .out == "7\t7\t0\n2\t2\t0\n");
}

TEST_CASE("points whose columns are not the model's are refused with the first difference and a remedy") {
  const Scratch folder;
  const std::string table = folder / "t.csv", other = folder / "u.csv", model = folder / "model.h5";
  write_bytes(table, "a,b,c\n0,0,0\n1,1,1\n9,9,9\n");
  done({"cluster", table, "-k", "2", "--columns", "a,c", "-o", model, "-q"});
  refuses(3, {"assign", table, "--centroids", model, "--drop-columns", "c"},
          {"t.csv: expected a column 'c'", "model.h5 has", "found none among a, b",
           "choose the columns that were clustered with --columns"});
  done({"assign", table, "--centroids", model, "--columns", "a,c"});
  refuses(3, {"assign", table, "--centroids", model, "--columns", "c,a"}, {"expected 'a' as column 1", "found 'c'"});
  refuses(3, {"assign", table, "--centroids", model, "--columns", "a"}, {"expected 'c' as column 2", "found only 1"});
  write_bytes(other, "a,C\n0,0\n");
  refuses(3, {"assign", other, "--centroids", model}, {"expected a column 'c'", "none among a, C", "with --columns"});
  write_bytes(other, "0,0,1\n");
  refuses(3, {"assign", other, "--centroids", model},
          {"model.h5: expected 3 columns", "u.csv has", "found 2", "--columns"});
}

TEST_CASE("centroids of a result bring its metric; another one is refused") {
  const Scratch folder;
  const std::string file = folder / "x.h5:/points", out = folder / "out.h5", other = folder / "other.h5";
  done({"generate", folder / "x.h5", "-n", "200", "-d", "4", "-k", "5", "-q"});
  const std::string cosine = folder / "cosine.h5", euclidean = folder / "euclidean.h5", plain = folder / "plain.h5";
  done({"cluster", file, "-k", "3", "--metric", "cosine", "-o", cosine, "-q"});
  done({"cluster", file, "-k", "3", "-o", euclidean, "-q"});
  const auto same = [&](Words words, const std::string& metric) {
    words.insert(words.end(), {"-f", "-o", out});
    const Outcome taken = done(words);
    CHECK(taken.says("metric     cosine, from") == (metric == "cosine"));
    words.insert(words.end(), {"--metric", metric});
    words[words.size() - 3] = other;
    CHECK_FALSE(done(words).says("metric     "));
    CHECK(bytes_of(out) == bytes_of(other));
  };
  for (const auto& [model, metric] : {std::pair{cosine, "cosine"}, std::pair{euclidean, "euclidean"}}) {
    same({"assign", file, "--centroids", model, "--save-distances"}, metric);
    CHECK(values(out + ":/labels") == values(model + ":/labels"));
    same({"assign", file, "--centroids", model + ":/centroids"}, metric);
    same({"cluster", file, "--init", model, "--max-iterations", "2"}, metric);
    same({"cluster", file, "-k", "5", "--freeze", model}, metric);
  }
  // Of a plain matrix nothing is known.
  const std::vector<double> centroids = values(cosine + ":/centroids");
  FileMaker(plain).dataset("c", H5T_IEEE_F64LE, {3, 4}, H5T_NATIVE_DOUBLE, centroids.data());
  done({"assign", file, "--centroids", plain, "-f", "-o", out});
  CHECK(bytes_of(out).find("--metric") == std::string::npos);

  refuses(2, {"assign", file, "--centroids", cosine, "--metric", "euclidean"},
          {"--centroids", "expected centroids of --metric euclidean (from --metric)", "found those of --metric cosine",
           "leave out --metric"});
  refuses(2, {"assign", file, "--centroids", euclidean}, {"found those of --metric euclidean"},
          {.environment = {"KITH_METRIC=cosine"}});
  refuses(2, {"cluster", file, "--init", euclidean, "--metric", "cosine"}, {"--init", "leave out --metric"});
  refuses(2, {"cluster", file, "-k", "5", "--freeze", cosine, "--metric", "euclidean"}, {"--freeze"});
  refuses(2, {"cluster", file, "-k", "6", "--freeze", cosine, "--init", euclidean},
          {"--freeze", "(from --init", "euclidean.h5)", "found those of --metric cosine",
           "give results of the same metric"});
}
