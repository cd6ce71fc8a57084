// kith report: pages and pictures of results, as the program writes them.
#include <fmt/format.h>

#include <cmath>

#include "core/distance.h"
#include "data/source.h"
#include "data/stored_result.h"
#include "tests/program.h"
#include "tests/xml.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

/// The page of a result, checked to be whole.
std::string page_of(const Words& words, const Setting& setting = {}) {
  Words all{"report"};
  all.insert(all.end(), words.begin(), words.end());
  const std::string page = done(all, setting).out;
  INFO(page.substr(0, 2000));
  CHECK(xml_problem(page).empty());
  CHECK(page.rfind("<!DOCTYPE html>\n", 0) == 0);
  CHECK(page.find("<script") == std::string::npos);
  // No address but the names of namespaces.
  CHECK(occurrences(page, "http") == occurrences(page, "xmlns=\"http://www.w3.org/"));
  return page;
}

bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

const std::vector<const char*> kOfPoints{"scatter", "distances", "silhouettes"};

}  // namespace

TEST_CASE("report: the page says what the result holds, twice the same") {
  const Scratch folder;
  const std::string result = folder / "c.h5", page_file = folder / "page.html";
  done({"cluster", kDigits, "-k", "10", "-q", "-o", result});
  const std::string page = page_of({result, "--points", kDigits, "--tile", "8x8"});
  const StoredResult stored(result);
  CHECK(has(page, fmt::format("<dd>{}; the clusters explain", stored.number("inertia").value_or(0.0))));
  CHECK(has(page, "<dd>kith " + stored.text("command") + "</dd>"));
  const std::vector<double> counts = stored.vector("counts"), inertia = stored.vector("inertia_per_cluster");
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::string start = fmt::format("<tr><td>{}</td><td>{:.0f}</td>", c, counts[c]);
    CHECK(has(page, start));
    CHECK(has(page, fmt::format("<td>{}</td>", inertia[c])));
    CHECK(has(page, fmt::format(">{:.0f} ({:.1f} %)</text>", counts[c], 100.0 * counts[c] / 1797)));
  }
  CHECK(occurrences(page, "<figure>") == 7);
  CHECK(occurrences(page, "data:image/png;base64,") == 10);
  CHECK(page_of({result, "--points", kDigits, "--tile", "8x8", "--threads", "1"}) == page);
  done({"report", result, "--points", kDigits, "--tile", "8x8", "-o", page_file});
  CHECK(bytes_of(page_file) == page);

  // Silhouettes by the definition.
  const auto points = std::get<kith::Matrix<double>>(
      kith::data::read_all(*kith::data::open_points(kDigits, {.precision = kith::data::Precision::f64})));
  const auto centroids = stored.matrix("centroids");
  double sum = 0.0;
  for (std::int64_t i = 0; i < points.rows(); ++i) {
    std::vector<double> all;
    for (int c = 0; c < 10; ++c) {
      all.push_back(std::sqrt(kith::squared_distance(points.row(i).data(), centroids.row(c).data(), 64)));
    }
    std::sort(all.begin(), all.end());
    sum += static_cast<float>((all[1] - all[0]) / all[1]);
  }
  CHECK(has(page, fmt::format("The mean simplified silhouette of all rows is {:.4f} (dashed)", sum / 1797)));
}

TEST_CASE("report: points that are here, beside the result, elsewhere, or nowhere") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "results");
  std::filesystem::copy(kDigits, folder / "results/x.h5");
  const std::string result = folder / "results/c.h5";
  done({"cluster", folder / "results/x.h5:/train", "-k", "4", "-q", "-o", result});
  const std::string page = page_of({result});  // beside
  for (const char* name : kOfPoints) CHECK(has(page, std::string("id=\"") + name + "-title\""));
  std::filesystem::rename(folder / "results/x.h5", folder / "x.h5");
  CHECK(page_of({result}, {.folder = folder.path()}) == page);
  CHECK(page_of({result, "--points", folder / "x.h5:/train"}) == page);

  const Outcome without = done({"report", result});
  CHECK(without.says("warning: The points, x.h5:/train, are not here"));
  CHECK(has(without.out, "--points FILE says where they are"));
  for (const char* name : kOfPoints) CHECK_FALSE(has(without.out, std::string("id=\"") + name + "-title\""));
  CHECK(xml_problem(without.out).empty());
}

TEST_CASE("report: names that look like markup, one cluster, one column, empty clusters, directions") {
  const Scratch folder;
  const std::string table = folder / "t.csv", result = folder / "c.h5";
  write_bytes(table, "\"</desc><script>\",b&c,kind\n1,2,x\n2,1,x\n9,8,y\n8,9,y\n");
  const auto cluster = [&](Words words) {
    words.insert(words.begin(), "cluster");
    words.insert(words.end(), {"-q", "-f", "-o", result});
    done(words);
  };
  cluster({table, "-k", "2", "--label-column", "kind"});
  const std::string page = page_of({result});
  CHECK(has(page, "&lt;/desc&gt;&lt;script&gt;"));
  CHECK(has(page, "b&amp;c"));
  cluster({table, "-k", "1", "--columns", "2"});
  CHECK_FALSE(has(page_of({result}), "silhouettes-title"));
  write_bytes(folder / "few.csv", "a,b,c\n1,1,1\n1,1,1\n2,2,3\n1,1,1\n2,2,3\n");
  cluster({folder / "few.csv", "-k", "4", "--init", "first"});
  CHECK(StoredResult(result).whole("empty_clusters").value_or(0) > 0);
  CHECK(has(page_of({result}), "are empty."));
  cluster({kDigits, "-k", "5", "--metric", "cosine"});
  CHECK(has(page_of({result, "--points", kDigits}), "All 1797 rows are drawn"));
}

TEST_CASE("report: pictures as files, and what is refused") {
  const Scratch folder;
  const std::string result = folder / "c.h5", pictures = folder / "a/b";
  done({"cluster", kDigits, "-k", "3", "-q", "-o", result});
  CHECK(done({"report", result, "--points", kDigits, "--svg", pictures, "-q"}).out.empty());
  for (const char* name : {"sizes", "scatter", "centroids", "iterations", "distances", "silhouettes"}) {
    const std::string picture = bytes_of(fmt::format("{}/{}.svg", pictures, name));
    INFO(name);
    CHECK(xml_problem(picture).empty());
    CHECK(picture.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0) == 0);
  }
  refuses(5, {"report", result, "--points", kDigits, "--svg", pictures}, {"sizes.svg: exists", "--force"});
  done({"report", result, "--points", kDigits, "--svg", pictures, "--force", "-q"});
  refuses(5, {"report", result, "--points", kDigits, "-f", "-o", result}, {"c.h5: is the input"});
  refuses(2, {"report", result, "--points", kDigits, "--tile", "8x9"}, {"--tile: expected", "64 values", "'8x9'"});
  refuses(2, {"report", result, "--points", kDigits, "--tile", "64"}, {"--tile 8x8"});
  refuses(2, {"report"}, {"RESULT"});
  refuses(3, {"report", kDigits}, {"digits.h5: expected a result of kith", "kith cluster"});
  refuses(3, {"report", folder / "none.h5"}, {"none.h5"});
  done({"knn", kDigits, "-k", "1", "-q", "-o", folder / "n.h5"});
  refuses(3, {"report", folder / "n.h5"}, {"n.h5: expected a result of kith cluster", "kith-neighbors"});
  done({"generate", folder / "x.h5", "-n", "10", "-d", "64", "-q"});
  refuses(3, {"report", result, "--points", folder / "x.h5:/points"}, {"expected 1797 x 64 points", "found 10 x 64"});
}
