// kith report: pages and pictures of results.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "data/results/result.h"
#include "data/results/stored_result.h"
#include "tests/support/program.h"
#include "tests/support/xml.h"

using namespace kith::testing;
using kith::data::StoredResult;

namespace {

/// The page of a result, checked to be complete and well-formed.
std::string page_of(const Words& words, const Setting& setting = {}) {
  Words all{"report"};
  all.insert(all.end(), words.begin(), words.end());
  const std::string page = done(all, setting).out;
  INFO(page.substr(0, 2000));
  CHECK(xml_problem(page).empty());
  CHECK(page.rfind("<!DOCTYPE html>\n", 0) == 0);
  CHECK(page.find("<script") == std::string::npos);
  // No addresses except those of namespaces.
  CHECK(occurrences(page, "http") == occurrences(page, "xmlns=\"http://www.w3.org/"));
  return page;
}

/// A number on a page: six digits, or all before the point, in groups of three from five on.
std::string shown(double value) {
  std::string text = value < 1e6 ? fmt::format("{:.6g}", value) : fmt::format("{:.0f}", value);
  const std::size_t end = std::min(text.find('.'), text.size());
  for (std::size_t at = end; end >= 5 && at > 3; at -= 3) text.insert(at - 3, " ");
  return text;
}

bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

const std::vector<const char*> kOfPoints{"scatter", "distances", "silhouettes"};

}  // namespace

TEST_CASE("report: the page shows the values of the result, and is the same each time") {
  const Scratch folder;
  const std::string result = folder / "c.h5", page_file = folder / "page.html";
  done({"cluster", kDigits, "-k", "10", "-q", "-o", result});
  const std::string page = page_of({result, "--points", kDigits, "--tile", "8x8"});
  const StoredResult stored(result);
  CHECK(has(page, "<dd>" + shown(stored.number("inertia").value_or(0.0)) + "; the clusters explain"));
  CHECK(has(std::regex_replace(page, std::regex("</?span>"), ""), "<dd>kith " + stored.text("command") + "</dd>"));
  CHECK(has(page, " <span>--max-iterations</span> "));  // no line ends within it
  const std::vector<double> counts = stored.vector("counts"), inertia = stored.vector("inertia_per_cluster");
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::string start = fmt::format("<tr><td>{}</td><td>{:.0f}</td>", c, counts[c]);
    CHECK(has(page, start));
    CHECK(has(page, "<td>" + shown(inertia[c]) + "</td>"));
    CHECK(has(page, fmt::format(">{:.0f} ({:.1f} %)</text>", counts[c], 100.0 * counts[c] / 1797)));
  }
  CHECK(occurrences(page, "<figure>") == 7);
  CHECK(occurrences(page, "data:image/png;base64,") == 10);
  CHECK(page_of({result, "--points", kDigits, "--tile", "8x8", "--threads", "1"}) == page);
  const Outcome written = done({"report", result, "--points", kDigits, "--tile", "8x8", "-o", page_file});
  CHECK(bytes_of(page_file) == page);
  CHECK(written.says("open " + page_file + " in a browser"));

  // The silhouettes are exact: those of kith evaluate, of which some are below 0.
  done({"evaluate", result, "--points", kDigits, "--save-silhouette", "-q", "-o", folder / "s.h5"});
  const StoredResult scores(folder / "s.h5");
  const std::vector<double> silhouettes = scores.vector("silhouette");
  const auto negative = std::count_if(silhouettes.begin(), silhouettes.end(), [](double value) { return value < 0; });
  CHECK(negative > 0);
  CHECK(has(page, "Exact silhouettes of all 1797 rows."));
  CHECK(has(page, fmt::format("The mean silhouette is {:.4f} (dashed). {} of 1797 rows ({:.1f} %) are below 0.",
                              scores.number("silhouette").value_or(0.0), negative, 100.0 * negative / 1797)));
}

TEST_CASE("report: of many rows the silhouettes of a sample, the same as those of kith evaluate --sample") {
  const Scratch folder;
  const std::string points = folder / "x.h5", result = folder / "c.h5";
  done({"generate", points, "-n", "90000", "-d", "4", "-q"});
  done({"cluster", points, "-k", "25", "--max-iterations", "3", "-q", "-o", result});
  const std::string page = page_of({result});
  CHECK(has(page, "Exact silhouettes of 10000 of 90000 rows, drawn at random with seed 0"));
  done({"evaluate", result, "--points", points, "--sample", "10000", "-q", "-o", folder / "s.h5"});
  const double mean = StoredResult(folder / "s.h5").number("silhouette").value_or(0.0);
  CHECK(has(page, fmt::format("The mean silhouette is {:.4f} (dashed)", mean)));
  // The others are shown together.
  CHECK(has(page, "The 12 largest of 25 clusters."));
  CHECK(has(page, ">others</text>"));
  CHECK(has(page, "<summary>Table of the clusters (25)</summary>"));
}

TEST_CASE("report: finds the points in this folder, beside the result or by --points, and works without them") {
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

  // Options about text concern the table that the result names.
  write_bytes(folder / "t.csv", "x;y\n1,5;2\n2,5;4\n9,5;9\n");
  const Setting there{.folder = folder / ""};
  done({"cluster", "t.csv", "-k", "2", "-q", "--decimal", "comma", "-o", "t.h5"}, there);
  CHECK(!done({"report", "t.h5", "--decimal", "comma", "-o", "t.html"}, there).says("no effect"));

  const Outcome without = done({"report", result});
  CHECK(without.says("warning: The points, x.h5:/train, were not found"));
  CHECK(has(without.out, "--points FILE gives their location"));
  for (const char* name : kOfPoints) CHECK_FALSE(has(without.out, std::string("id=\"") + name + "-title\""));
  CHECK(xml_problem(without.out).empty());
}

TEST_CASE("report: a result cannot name points in another folder") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "private");
  const std::string points = folder / "private/x.h5", result = folder / "r.h5", page = folder / "page.html";
  done({"generate", points, "-n", "50", "-d", "3", "-q"});
  done({"cluster", points + ":/points", "-k", "2", "-o", result, "-q"});
  const auto renamed = [&](const std::string& name) {
    const hid_t file = H5Fopen(result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, name.size());
    H5Adelete(file, "points");
    if (H5Aexists(file, "crc32") > 0) H5Adelete(file, "crc32");  // as in a result that was made by hand
    const hid_t attribute = H5Acreate2(file, "points", text, space, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Awrite(attribute, text, name.data()) >= 0);
    H5Aclose(attribute);
    H5Tclose(text);
    H5Sclose(space);
    H5Fclose(file);
  };
  const OpenWatch watch(points);
  for (const std::string& name :
       {points + ":/points", std::string("private/x.h5:/points"), std::string("./private/x.h5")}) {
    renamed(name);
    run_kith({"report", result, "-o", page, "-fq"}, {.folder = folder.path()});
    INFO(name);
    CHECK_FALSE(watch.opened());
  }
  run_kith({"report", result, "--points", points + ":/points", "-o", page, "-fq"});
  CHECK(watch.opened());  // where the user names them
}

TEST_CASE("report: names like markup, one cluster, one column, empty clusters, cosine") {
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
  // Dropped rows do not appear in the pictures, and weights do not affect them.
  write_bytes(folder / "holes.csv", "a,b,w\n1,1,1\n,1,2\n2,2,1\n9,9,3\n8,9,0\n");
  cluster({folder / "holes.csv", "-k", "2", "--nan", "drop", "--weight-column", "w"});
  const std::string holes = page_of({result});
  CHECK(has(holes, "All 4 rows are drawn"));
  CHECK(has(holes, "The rows are weighted"));
  // Scaled points are scaled again, so the distances are those of the clustering.
  cluster({kDigits, "-k", "5", "--scale", "minmax", "--save-distances"});
  const std::vector<double> distances = StoredResult(result).vector("distances");
  const double farthest = *std::max_element(distances.begin(), distances.end());
  CHECK(
      has(page_of({result, "--points", kDigits}), fmt::format("The largest Euclidean distance is {:.4g}.", farthest)));
  cluster({kDigits, "-k", "5", "--metric", "cosine"});
  CHECK(has(page_of({result, "--points", kDigits}), "All 1797 rows are drawn"));
}

TEST_CASE("report: points in another table are found by the names of their columns, or as its options say") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "t.csv", "id,x,y\n7,0,1\n9,1,0\n4,9,8\n5,8,?\n");
  done({"cluster", "t.csv", "-k", "2", "--drop-columns", "id", "--nan", "drop", "-q", "-o", "r.h5"}, there);
  write_bytes(folder / "u.csv", "label;y;x;a\n0;1;0;2\n0;0;1;2\n1;8;9;2\n-1;NA;8;2\n");
  const std::string page = page_of({"r.h5"}, there);
  CHECK(page_of({"r.h5", "--points", "u.csv"}, there) == page);
  CHECK(page_of({"r.h5", "--points", "u.csv", "--columns", "3,2"}, there) == page);
  CHECK(page_of({"r.h5", "--points", "u.csv", "--drop-columns", "label,a"}, there) != page);
  write_bytes(folder / "v.csv", "0 - 1\n0 - 0\n1 - 9\n-1 - 8\n");
  refuses(3, {"report", "r.h5", "--points", "v.csv"}, {"expected numbers, found text in column 2"}, there);
  write_bytes(folder / "v.csv", "1,5;0\n0;1\n8;9\n;8\n");
  CHECK(page_of({"r.h5", "--points", "v.csv", "--columns", "2,1", "--decimal", "comma"}, there) != page);
}

TEST_CASE("report: the scores of a sweep") {
  const Scratch folder;
  const std::string sweep = folder / "s.h5";
  const std::vector<std::int64_t> k{1, 2, 5};
  const std::vector<double> inertia{90.5, 40.25, 8.125}, silhouette{std::nan(""), 0.5, 0.75}, shorter{1.0, 2.0};
  const auto write_sweep = [&](const std::vector<double>& bic) {
    kith::data::ResultFile file(sweep, {.force = true});
    file.attribute("format", std::string("kith-sweep"));
    file.attribute("command", std::string("sweep x.h5:/x --clusters 1,2,5 --silhouette simplified"));
    file.attribute("suggested", std::int64_t{5});
    file.attribute("reason", std::string("the best <silhouette>"));
    file.dataset("k", std::span<const std::int64_t>(k));
    file.dataset("inertia", std::span<const double>(inertia));
    file.dataset("silhouette", std::span<const double>(silhouette));
    file.dataset("bic", std::span<const double>(bic));
    file.finish();
  };
  write_sweep(inertia);
  const std::string page = page_of({sweep});
  CHECK(has(page, "<tr><td>1</td><td>90.5</td><td></td><td class=\"best\">90.5</td></tr>"));
  CHECK(has(page, "<tr><td>5</td><td>8.125</td><td class=\"best\">0.75</td><td>8.125</td></tr>"));
  CHECK(has(page, "<dd>k = 5: the best &lt;silhouette&gt;</dd>"));
  CHECK(has(page, "<h2>Simplified silhouette: k = 5</h2>"));
  CHECK(has(page, "The large dot marks its choice, k = 5: 0.75. Dashed: the suggestion, k = 5."));
  CHECK(has(page, "<h2>BIC: k = 1</h2>"));
  CHECK(has(page, ">larger is better</text>"));
  CHECK(has(page, "<p class=\"note\">Warning: the criteria disagree: simplified silhouette 5, but"));
  CHECK(has(page, "BIC 1; compare the table and the clusters.</p>"));
  CHECK(done({"report", sweep, "--tile", "8x8"}).says("--tile has no effect"));
  write_sweep(shorter);
  refuses(3, {"report", sweep}, {"s.h5:/bic: expected 3 values", "found 2", "sweep again"});
}

TEST_CASE("report: the page of a sweep suggests and warns as the sweep did") {
  const Scratch folder;
  const std::string sweep = folder / "s.h5";
  const Outcome swept = done({"sweep", kDigits, "-k", "2-8", "--gap", "2", "-o", sweep});
  const std::string page = page_of({sweep}), text = swept.err;
  // The terminal wraps its lines.
  std::string line = text.substr(text.find("the criteria disagree"));
  line = std::regex_replace(line.substr(0, line.find("clusters\n") + 8), std::regex("\\s+"), " ");
  CHECK(has(page, "Warning: " + line + "."));
  CHECK(occurrences(page, "<figure>") == 6);
  CHECK(occurrences(page, ": the suggestion, k = ") >= 6);
}

TEST_CASE("report: clusters in the units of the file") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  // Two groups by income and city; age says nothing. However the points were prepared, the page is in the units of the
  // file.
  std::string table = "city,income,age\n";
  for (int i = 0; i < 40; ++i) {
    const bool rich = i % 2 == 0;
    table += fmt::format("{},{},{}\n", rich ? "Lyon" : "Paris", (rich ? 90000 : 10000) + i / 2, 30 + i / 4 % 3);
  }
  write_bytes(folder / "t.csv", table);
  for (const Words& more : {Words{}, Words{"--scale", "zscore"}, Words{"--scale", "zscore", "--pca", "2"}}) {
    Words words{"cluster", "t.csv", "-k", "2", "--encode", "onehot", "-q", "-f", "-o", "r.h5"};
    words.insert(words.end(), more.begin(), more.end());
    done(words, there);
    const std::string page = page_of({"r.h5"}, there);
    INFO(page.substr(0, 12000));
    CHECK(has(page, "<h2>What the clusters are, in the units of the file</h2>"));
    CHECK(has(page, "<tr><td class=\"text\">rows</td><td>40</td><td>20 (50.0 %)</td><td>20 (50.0 %)</td></tr>"));
    const std::string rich = "90 009.5</td>", poor = "10 009.5</td>";
    CHECK(has(page, "<tr><td class=\"text\">income</td><td>50 009.5</td>"));
    CHECK(has(page, "<td class=\"h8\">" + rich));
    CHECK(has(page, "<td class=\"h0\">" + poor));
    CHECK(has(page, "<td>Lyon (50 %)</td>"));
    CHECK(has(page, ">Lyon (100 %)</td>"));
    CHECK(has(page, ">Paris (100 %)</td>"));
    // The picture has the same columns, those that differ most come first in the table.
    CHECK(has(page, ">income</text>"));
    CHECK(has(page, ">city</text>"));
    CHECK(page.find("\"text\">income<") < page.find("\"text\">age<"));
  }
}

TEST_CASE("report: pictures as files, and refused options") {
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
  done({"knn", kDigits, "-k", "1", "-q", "-o", folder / "n.h5"});
  refuses(3, {"report", folder / "n.h5"}, {"n.h5: expected a result of kith cluster or kith sweep", "kith-neighbors"});
  done({"generate", folder / "x.h5", "-n", "10", "-d", "64", "-q"});
  refuses(3, {"report", result, "--points", folder / "x.h5:/points"}, {"expected 1797 x 64 points", "found 10 x 64"});
}

TEST_CASE("a result of --algorithm bisecting has a page without iterations") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  done({"cluster", kDigits, "-k", "4", "--algorithm", "bisecting", "-q", "-o", "r.h5"}, there);
  done({"report", "r.h5", "--points", kDigits, "-q", "-o", "page.html"}, there);
  CHECK(bytes_of(folder / "page.html").find("4 clusters") != std::string::npos);
}
