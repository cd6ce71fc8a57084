// --metric hamming and jaccard, run as a user runs them: fingerprints in FPS files, packed bytes, columns of 0 and 1
// and booleans give the same lists; what is no bit is refused with its place.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "data/results/stored_result.h"
#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

const std::string kDrugs = std::string(KITH_SOURCE_DIR) + "/samples/drugs.fps";

/// Rows of bits, 0 or 1 in each character.
std::vector<std::string> rows_of_bits(std::int64_t rows, std::int64_t bits) {
  std::vector<std::string> all;
  std::uint32_t state = 99;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::string row;
    for (std::int64_t j = 0; j < bits; ++j) {
      state = state * 1664525U + 1013904223U;
      row += (state >> 24) % (i % 2 == 0 ? 3 : 9) == 0 ? '1' : '0';
    }
    all.push_back(i % 7 == 6 ? all.back() : row);
  }
  all[3].assign(all[3].size(), '0');
  all[4].assign(all[4].size(), '1');
  return all;
}

/// The same as the types of files: eight bits a byte, the first one on the left; a byte each; text.
std::string packed(const std::vector<std::string>& rows) {
  std::string bytes;
  for (const std::string& row : rows) {
    for (std::size_t j = 0; j < row.size(); j += 8) {
      unsigned byte = 0;
      for (std::size_t b = 0; b < 8; ++b) byte = 2 * byte + (j + b < row.size() && row[j + b] == '1' ? 1U : 0U);
      bytes += static_cast<char>(byte);
    }
  }
  return bytes;
}
std::string unpacked(const std::vector<std::string>& rows) {
  std::string bytes;
  for (const std::string& row : rows) {
    for (const char c : row) bytes += static_cast<char>(c - '0');
  }
  return bytes;
}
std::string as_csv(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) text += std::string(j == 0 ? "" : ",") + row[j];
    text += '\n';
  }
  return text;
}
std::string as_fps(const std::vector<std::string>& rows) {
  std::string text = fmt::format("#FPS1\n#num_bits={}\n", rows[0].size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); j += 8) {
      unsigned byte = 0;
      for (std::size_t b = 8; b-- > 0;) byte = 2 * byte + (j + b < rows[i].size() && rows[i][j + b] == '1' ? 1U : 0U);
      text += fmt::format("{:02x}", byte);
    }
    text += fmt::format("\tmolecule {}\n", i);
  }
  return text;
}

struct Numbers {
  std::int64_t differing = 0, either = 0;
};
Numbers compare(const std::string& a, const std::string& b) {
  Numbers found;
  for (std::size_t j = 0; j < a.size(); ++j) {
    found.differing += a[j] != b[j] ? 1 : 0;
    found.either += a[j] == '1' || b[j] == '1' ? 1 : 0;
  }
  return found;
}

/// "query,neighbor,distance" of the k nearest other rows of each: by cross products of integers, in plain loops.
std::string expected_lists(const std::vector<std::string>& rows, std::int64_t k, bool is_jaccard, const char* prefix) {
  std::string text = "query,neighbor,distance\n";
  for (std::size_t q = 0; q < rows.size(); ++q) {
    std::vector<std::pair<Numbers, std::size_t>> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i != q) all.emplace_back(compare(rows[q], rows[i]), i);
    }
    const auto is_before = [&](const auto& a, const auto& b) {
      const std::int64_t of_a = a.first.either == 0 ? 1 : a.first.either,
                         of_b = b.first.either == 0 ? 1 : b.first.either;
      const std::int64_t left = a.first.differing * (is_jaccard ? of_b : 1);
      const std::int64_t right = b.first.differing * (is_jaccard ? of_a : 1);
      return left != right ? left < right : a.second < b.second;
    };
    std::sort(all.begin(), all.end(), is_before);
    for (std::int64_t i = 0; i < k; ++i) {
      const auto& [found, row] = all[static_cast<std::size_t>(i)];
      const double whole = static_cast<double>(found.differing);
      const double distance = !is_jaccard ? whole : found.either == 0 ? 0.0 : whole / static_cast<double>(found.either);
      text += fmt::format("{0}{1},{0}{2},{3}\n", prefix, q, row, static_cast<float>(distance));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("packed bytes, columns, booleans, text and fingerprints of the same bits give the lists of the definition") {
  const Scratch folder;
  for (const std::int64_t bits : {1, 7, 8, 61, 64, 200}) {
    const std::vector<std::string> rows = rows_of_bits(40, bits);
    const std::string columns = fmt::format("(40, {})", bits), bytes = fmt::format("(40, {})", (bits + 7) / 8);
    write_bytes(folder / "packed.npy", npy("'|u1'", false, bytes, packed(rows)));
    write_bytes(folder / "bool.npy", npy("'|b1'", false, columns, unpacked(rows)));
    write_bytes(folder / "byte.npy", npy("'|u1'", false, columns, unpacked(rows)));
    write_bytes(folder / "text.csv", as_csv(rows));
    write_bytes(folder / "named.fps", as_fps(rows));
    const std::string number = std::to_string(bits);
    const std::vector<std::pair<std::string, Words>> files{{"packed.npy", {"--bits", number}},
                                                           {"bool.npy", {}},
                                                           {"byte.npy", {"--bits", number}},
                                                           {"text.csv", {"--header", "no"}},
                                                           {"named.fps", {}}};
    for (const char* metric : {"hamming", "jaccard"}) {
      for (const auto& [file, more] : files) {
        if (bits == 1 && file == "packed.npy") continue;  // one byte a row is one column, too
        Words words{"knn", folder / file, "-k", "5", "--metric", metric, "-f", "-o", folder / "lists.csv"};
        words.insert(words.end(), more.begin(), more.end());
        INFO(file << ", " << bits << " bits, " << metric);
        const Outcome outcome = done(words);
        CHECK(outcome.says(fmt::format("bits       {} in {} byte", bits, (bits + 7) / 8)));
        CHECK(bytes_of(folder / "lists.csv") ==
              expected_lists(rows, 5, metric[0] == 'j', file == "named.fps" ? "molecule " : ""));
      }
    }
  }
}

TEST_CASE("results of bits have the same bytes for any threads, blocks, memory and division of the input") {
  const Scratch folder;
  const std::vector<std::string> rows = rows_of_bits(700, 130);
  write_bytes(folder / "all.npy", npy("'|u1'", false, "(700, 17)", packed(rows)));
  const std::vector<std::string> first(rows.begin(), rows.begin() + 300), rest(rows.begin() + 300, rows.end());
  write_bytes(folder / "part-1.npy", npy("'|u1'", false, "(300, 17)", packed(first)));
  write_bytes(folder / "part-2.npy", npy("'|u1'", false, "(400, 17)", packed(rest)));
  const auto lists = [&](Words points, Words more, const char* name) {
    Words words{"knn"};
    words.insert(words.end(), points.begin(), points.end());
    for (const char* word : {"-k", "9", "--metric", "jaccard", "--bits", "130", "-f", "-o"}) words.emplace_back(word);
    words.push_back(folder / name);
    words.insert(words.end(), more.begin(), more.end());
    done(words);
    return bytes_of(folder / name);
  };
  const std::string expected = lists({folder / "all.npy"}, {"--threads", "1"}, "a.npy");
  CHECK(lists({folder / "all.npy"}, {"--threads", "2", "--block-rows", "33"}, "b.npy") == expected);
  CHECK(lists({folder / "part-1.npy", folder / "part-2.npy"}, {}, "c.npy") == expected);
  for (const char* set : {"plain", "avx2"}) {
    if (std::string(set) == "avx2" && run_kith({"devices"}, {.environment = {"KITH_CPU=avx2"}}).code != 0) continue;
    const Outcome outcome = run_kith(
        {"knn", folder / "all.npy", "-k", "9", "--metric", "jaccard", "--bits", "130", "-f", "-o", folder / "d.npy"},
        {.environment = {fmt::format("KITH_CPU={}", set)}});
    CHECK(outcome.code == 0);
    CHECK(bytes_of(folder / "d.npy") == expected);
  }
}

TEST_CASE("every backend writes the same bytes for rows of bits, and says that it compared them") {
  const Scratch folder;
  const std::vector<std::string> rows = rows_of_bits(3000, 166);
  write_bytes(folder / "all.npy", npy("'|u1'", false, "(3000, 21)", packed(rows)));
  write_bytes(folder / "asked.npy", npy("'|u1'", false, "(200, 21)", packed({rows.begin() + 99, rows.begin() + 299})));
  const std::string base = folder / "all.npy", asked = folder / "asked.npy";
  for (const std::string metric : {"hamming", "jaccard"}) {
    const std::string radius = metric == "hamming" ? "60" : "0.5";
    for (const Words& words :
         {Words{"knn", base, "-k", "7"}, Words{"knn", base, "-k", "700", "--include-self"},
          Words{"knn", base, "--queries", asked, "-k", "3"}, Words{"knn", base, "--queries", asked, "--radius", radius},
          Words{"knn", base, "--radius", radius}, Words{"distances", asked, base},
          Words{"dbscan", base, "--radius", radius, "--min-points", "4"}}) {
      std::string expected;
      for (const std::string& backend : usable_backends()) {
        Words all = words;
        for (const std::string& word : {std::string("--metric"), metric, std::string("--bits"), std::string("166"),
                                        std::string("--backend"), backend, std::string("-f"), std::string("-o")}) {
          all.push_back(word);
        }
        all.push_back(folder / "out.h5");
        INFO(fmt::format("{}", fmt::join(all, " ")));
        CHECK(done(all).says("backend " + backend));
        const std::string written = bytes_of(folder / "out.h5");
        if (expected.empty()) expected = written;
        CHECK(written == expected);
      }
    }
  }
}

TEST_CASE("molecules that are similar to one, with their names") {
  const Scratch folder;
  const std::string all = bytes_of(kDrugs);
  const std::size_t begin = all.find('\n', all.find("#software")) + 1;
  std::string caffeine = all.substr(0, begin);
  for (std::size_t at = begin; at < all.size(); at = all.find('\n', at) + 1) {
    const std::string line = all.substr(at, all.find('\n', at) + 1 - at);
    if (line.ends_with("\tcaffeine\n")) caffeine += line;
  }
  write_bytes(folder / "query.fps", caffeine);
  std::string ones = "1";
  for (int bit = 1; bit < 1024; ++bit) ones += ",1";
  write_bytes(folder / "line.csv", ones + "\n");
  const Outcome found = done({"knn", kDrugs, "--queries", folder / "query.fps", "-k", "3", "--metric", "jaccard"});
  CHECK(found.says("bits       1024 in 128 bytes a row"));
  CHECK(found.out == "caffeine\tcaffeine\t0\ncaffeine\ttheobromine\t0.4848485\ncaffeine\ttheophylline\t0.5294118\n");
  const Outcome followed = done({"knn", kDrugs, "--queries", "-", "--follow", "-k", "1", "--metric", "jaccard"},
                                {.standard_input = folder / "line.csv"});
  CHECK(followed.out == "12\t0.953125\n");
  // The same within a distance, and as the numbers of a result.
  const Outcome within =
      done({"knn", kDrugs, "--queries", folder / "query.fps", "--radius", "0.6", "--metric", "jaccard"});
  CHECK(std::count(within.out.begin(), within.out.end(), '\n') == 3);
  done({"knn", kDrugs, "-k", "3", "--metric", "jaccard", "-o", folder / "lists.h5"});
  CHECK(data::StoredResult(folder / "lists.h5").text("command").find("--precision") ==
        std::string::npos);  // has no effect
  const std::string info = done({"info", folder / "lists.h5"}).out;
  CHECK(info.find("25 x 1024") != info.npos);
  CHECK(info.find("jaccard") != info.npos);
  CHECK(done({"info", kDrugs}).out.find("fingerprint") != std::string::npos);
}

TEST_CASE("fingerprints without identifiers are named by their rows") {
  const Scratch folder;
  for (const char* end : {"\n", "\t\n"}) {
    write_bytes(folder / "f.fps", fmt::format("#FPS1\n0f{0}1f{0}ff{0}", end));
    CHECK(done({"knn", folder / "f.fps", "-k", "1", "--metric", "hamming", "-q"}).out == "0\t1\t1\n1\t0\t1\n2\t1\t3\n");
  }
}

TEST_CASE("graphs, groups, classes, truth, distances and density clusters of bits") {
  const Scratch folder;
  const auto made = [&](Words words, const char* name) {
    words.insert(words.end(), {"-f", "-o", folder / name});
    done(words);
    return bytes_of(folder / name);
  };
  made({"knn", kDrugs, "-k", "2", "--metric", "jaccard", "--symmetric"}, "graph.h5");
  const std::string pairs = made({"knn", kDrugs, "--radius", "0.6", "--pairs", "--metric", "jaccard"}, "pairs.csv");
  CHECK(pairs.find("caffeine,theobromine,0.4848485\n") != pairs.npos);
  CHECK(pairs.find("theobromine,caffeine") == pairs.npos);
  made({"knn", kDrugs, "--radius", "0.6", "--components", "--metric", "jaccard"}, "groups.csv");
  const std::string labels =
      made({"dbscan", kDrugs, "--radius", "0.6", "--min-points", "2", "--metric", "jaccard"}, "labels.csv");
  CHECK(std::count(labels.begin(), labels.end(), '\n') >= 25);
  const std::string matrix = made({"distances", kDrugs, "--metric", "hamming"}, "matrix.csv");
  CHECK(std::count(matrix.begin(), matrix.end(), '\n') == 25);
  CHECK(matrix.starts_with("0,"));
  made({"knn", kDrugs, "-k", "4", "--metric", "hamming", "--include-self"}, "lists.h5");
  const Outcome truth =
      done({"knn", kDrugs, "-k", "4", "--metric", "hamming", "--include-self", "--truth", folder / "lists.h5"});
  CHECK(truth.out.find("all 25 lists of 4 neighbours equal") != truth.out.npos);
  std::string classes = "class\n";
  for (int i = 0; i < 25; ++i) classes += i % 2 == 0 ? "a\n" : "b\n";
  write_bytes(folder / "classes.csv", classes);
  CHECK(done({"knn", kDrugs, "-k", "3", "--metric", "jaccard", "--classify", folder / "classes.csv:class"}).code == 0);
}

TEST_CASE("--explain of bits is about the columns of the file, and refused if eight share a byte") {
  const Scratch folder;
  write_bytes(folder / "b.csv", "x,y,z\n1,1,0\n1,1,0\n0,0,1\n0,0,1\n");
  const Words run{"dbscan", folder / "b.csv", "--metric", "hamming", "--radius", "0", "--min-points", "2"};
  CHECK(done(run).says("--explain"));
  Words explained = run;
  explained.emplace_back("--explain");
  const std::string text = done(explained).out;
  CHECK(text.find("  x  1  all 0.5  one value in each cluster\n") != std::string::npos);
  write_bytes(folder / "b.npy", npy("'|u1'", false, "(4, 1)", "\xc0\xc0\x20\x20"));
  Words packed = run;
  packed[1] = explained[1] = folder / "b.npy";
  CHECK(!done(packed).says("--explain"));
  refuses(2, explained, {"expected columns with a meaning of their own"});
}

TEST_CASE("what is no bit is refused with its place and a remedy") {
  const Scratch folder;
  write_bytes(folder / "number.csv", "0,1,0\n1,1,0\n0,2,1\n");
  refuses(3, {"knn", folder / "number.csv", "-k", "1", "--metric", "hamming", "--header", "no"},
          {"row 3, column 2 (counted from 1): expected a bit, 0 or 1, found 2", "--metric manhattan"});
  done({"knn", folder / "number.csv", "-k", "1", "--metric", "manhattan", "--header", "no"});
  write_bytes(folder / "padded.npy", npy("'|u1'", false, "(2, 2)", std::string("\x01\x80\x01\x81", 4)));
  refuses(3, {"knn", folder / "padded.npy", "-k", "1", "--metric", "jaccard", "--bits", "9"},
          {"row 2, byte 2 (counted from 1): expected 0 in the bits behind the 9 of a row", "numpy.packbits"});
  refuses(2, {"knn", folder / "padded.npy", "-k", "1", "--metric", "jaccard", "--bits", "17"},
          {"--bits 17: expected 9 to 16", "give --bits 16"});
  done({"knn", folder / "padded.npy", "-k", "1", "--metric", "jaccard", "--bits", "16"});
  // Columns beside packed bytes, of which some bits are none.
  write_bytes(folder / "nine.csv", "0,0,0,0,0,0,0,1,1\n");
  const Words both{"knn", folder / "padded.npy", "--queries", folder / "nine.csv", "-k", "1", "--metric", "hamming"};
  refuses(3, both, {"expected 16 columns", "found 9", "has 9 bits, and 0 behind them, say --bits 9"});
  refuses(2, {"knn", kDrugs, "-k", "1", "--metric", "tanimoto"}, {"the nearest is jaccard"});
  write_bytes(folder / "hex.fps", "#FPS1\n#num_bits=8\n0f\ta\n0g\tb\n");
  refuses(3, {"knn", folder / "hex.fps", "-k", "1", "--metric", "jaccard"},
          {"hex.fps: line 4, character 2: expected a hexadecimal digit, found '0g'"});
  write_bytes(folder / "short.fps", "#FPS1\n#num_bits=16\n0f\ta\n");
  refuses(3, {"knn", folder / "short.fps", "-k", "1", "--metric", "jaccard"},
          {"short.fps: line 3: expected 4 hexadecimal digits for 16 bits"});
  write_bytes(folder / "over.fps", "#FPS1\n#num_bits=6\n0f\ta\n4f\tb\n");
  refuses(3, {"knn", folder / "over.fps", "-k", "1", "--metric", "jaccard"},
          {"over.fps: line 4: expected 0 in the bits behind the 6 of #num_bits"});
  write_bytes(folder / "nine.npy", npy("'|b1'", false, "(2, 9)", std::string(18, '\1')));
  refuses(3, {"knn", folder / "nine.npy", "--queries", folder / "padded.npy", "-k", "1", "--metric", "hamming"},
          {"expected 9 columns", "found 16"});
  write_bytes(folder / "gap.csv", "a,b,c\n0,1,0\n1,,0\n0,1,1\n");
  const Outcome gap = run_kith({"knn", folder / "gap.csv", "-k", "1", "--metric", "hamming"});
  CHECK(gap.code == 3);
  CHECK(gap.says("line 3, column 2"));
  CHECK(!gap.says("--nan"));
  refuses(2, {"cluster", kDrugs, "-k", "2", "--metric", "jaccard"},
          {"k-means supports euclidean, cosine and correlation"});
}
