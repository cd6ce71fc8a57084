// Pictures are well-formed for any input, bounded in size, and show the numbers they were given.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "core/preparation/principal_components.h"
#include "pictures/pictures.h"
#include "tests/support/catch.h"
#include "tests/support/xml.h"

using namespace kith;
using namespace kith::pictures;
using kith::testing::occurrences;
using kith::testing::xml_problem;

namespace {

const std::string kHostile = "</text><script>alert(\"1\")</script>&amp;'\x01\x7f\xff\xed\xa0\x80 \xc3\xa9]]>";

/// Rows in a plane, equally many in each of k clusters except the last `empty` ones, which have none.
struct Case {
  Plane plane;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> counts;
  std::vector<float> distances, silhouettes;
  CentroidMap map;
};

Case case_of(std::size_t rows, std::int32_t clusters, std::int64_t columns, std::int32_t empty = 0) {
  Case c;
  c.plane.across = c.plane.up = c.plane.note = kHostile;
  c.counts.assign(clusters, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto label = static_cast<std::int32_t>(i % (clusters - empty));
    c.plane.x.push_back(static_cast<float>(std::sin(static_cast<double>(i)) + 3 * label));
    c.plane.y.push_back(static_cast<float>(std::cos(1.7 * static_cast<double>(i))));
    c.labels.push_back(label);
    ++c.counts[label];
    c.distances.push_back(std::abs(c.plane.y.back()));
    c.silhouettes.push_back(c.plane.y.back());
  }
  c.map = {Matrix<double>(clusters, columns), {}, "standard deviations"};
  for (std::int64_t j = 0; j < columns; ++j) c.map.names.push_back(kHostile + std::to_string(j));
  for (std::int32_t k = 0; k < clusters; ++k) {
    c.plane.centre_x.push_back(3.0 * k);
    c.plane.centre_y.push_back(0.0);
    for (std::int64_t j = 0; j < columns; ++j) c.map.differences(k, j) = k == 0 ? 0.0 : 5.0 * std::sin(k + 7.0 * j);
  }
  return c;
}

std::vector<Picture> pictures_of(const Case& c) {
  std::vector<Picture> all{sizes(c.counts), scatter(c.plane, c.labels, c.counts), centroid_map(c.map, c.counts),
                           distances(c.distances, c.labels, c.counts),
                           silhouettes({.values = c.silhouettes, .labels = c.labels, .source = kHostile}, c.counts)};
  all.push_back(tiles(c.map.differences.view(), {1, c.map.differences.columns()}, c.counts));
  return all;
}

/// A text of a picture: its box by the estimated width of its letters.
struct Label {
  std::string text;
  Box box;
};

/// All texts that a picture draws, in the coordinates of its view box.
std::vector<Label> labels_of(const Picture& picture) {
  static const std::regex kText(
      R"re(<text (?:x="([-0-9.]+)" y="([-0-9.]+)"|transform="translate\(([-0-9.]+) ([-0-9.]+)\) rotate\(-90\)")(?: class="([^"]*)")?>([^<]*)</text>)re");
  std::vector<Label> labels;
  const std::string& shapes = picture.canvas.shapes();
  for (std::sregex_iterator each(shapes.begin(), shapes.end(), kText), end; each != end; ++each) {
    const std::smatch& found = *each;
    const bool is_upright = found[3].matched;
    const double x = std::stod(found[is_upright ? 3 : 1]), y = std::stod(found[is_upright ? 4 : 2]);
    const std::string classes = found[5];
    const bool is_small = classes.find("small") != std::string::npos;
    const std::string text = std::regex_replace(found[6].str(), std::regex("&[^;]+;"), "&");  // an entity is a letter
    const double length = text_width(text, is_small ? Letters::small : Letters::usual), size = is_small ? 8 : 10;
    const double shift = classes.find("middle") != std::string::npos ? length / 2
                         : classes.find("end") != std::string::npos  ? length
                                                                     : 0.0;
    labels.push_back({found[6], is_upright ? Box{x - size, y - length + shift, size, length}
                                           : Box{x - shift, y - size, length, size}});
  }
  REQUIRE(labels.size() == occurrences(shapes, "<text "));
  return labels;
}

bool touch(const Box& a, const Box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/// Checks that every text lies within the view box and touches no other.
void check_labels(const Picture& picture) {
  const std::vector<Label> labels = labels_of(picture);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Box& box = labels[i].box;
    INFO(picture.name << ": " << labels[i].text << " at " << box.x << ", " << box.y << ", " << box.width << " wide");
    CHECK(box.x >= -0.1);
    CHECK(box.y >= -0.1);
    CHECK(box.x + box.width <= picture.canvas.width() + 0.1);
    CHECK(box.y + box.height <= picture.canvas.height() + 0.1);
    for (std::size_t j = 0; j < i; ++j) {
      INFO("and " << labels[j].text);
      CHECK_FALSE(touch(box, labels[j].box));
    }
  }
}

SweepCurve curve_of(const std::string& name, std::vector<double> values, std::optional<std::size_t> best) {
  return {name, name, "smaller is better", "What it is.", std::move(values), best, true};
}

}  // namespace

TEST_CASE("text cannot become markup, and characters that XML does not allow are replaced") {
  CHECK(escaped("a<b>&\"'\xc3\xa9") == "a&lt;b&gt;&amp;&quot;&#39;\xc3\xa9");
  const std::string bad = "\xef\xbf\xbd";
  CHECK(escaped(std::string("\x01\x7f\0x", 4)) == bad + bad + bad + "x");
  CHECK(escaped("\xff\xc3") == bad + bad);                   // invalid first byte, and a truncated character
  CHECK(escaped("\xed\xa0\x80") == bad + bad + bad);         // a surrogate
  CHECK(escaped("\xef\xbf\xbf").find('\xbf') != 0);          // a noncharacter
  CHECK(escaped("\xc0\xaf") == bad + bad);                   // an overlong encoding
  CHECK(escaped("\xf0\x9f\x99\x82") == "\xf0\x9f\x99\x82");  // four bytes
  CHECK(shortened("\xc3\xa9t\xc3\xa9", 3) == "\xc3\xa9t\xc3\xa9");
  CHECK(shortened("\xc3\xa9t\xc3\xa9s", 3) == "\xc3\xa9t\xe2\x80\xa6");
}

TEST_CASE("the check for well-formed XML detects unclosed and malformed elements") {
  CHECK(xml_problem("<a b=\"1\"><c/>x &lt; y</a>\n").empty());
  for (const char* wrong : {"", "<a>", "<a></b>", "<a/><b/>", "<a>&x;</a>", "<a b=1/>", "<a b=\"<\"/>", "<a>\x01</a>",
                            "<a><b></a></b>", "x<a/>"}) {
    INFO(wrong);
    CHECK_FALSE(xml_problem(wrong).empty());
  }
}

TEST_CASE("every picture is well-formed and has text, for one cluster, one column, empty clusters, and many of each") {
  struct Shape {
    std::size_t rows;
    std::int32_t clusters;
    std::int64_t columns;
    std::int32_t empty;
  };
  for (const Shape& shape : std::vector<Shape>{
           {1, 1, 1, 0}, {50, 1, 3, 0}, {60, 5, 1, 2}, {900, 45, 300, 0}, {4000, 9, 2, 1}, {5000, 700, 2, 0}}) {
    const Case c = case_of(shape.rows, shape.clusters, shape.columns, shape.empty);
    for (const Picture& picture : pictures_of(c)) {
      const std::string drawn = inline_svg(picture), file = svg_file(picture);
      INFO(picture.name << " of " << c.labels.size() << " rows in " << c.counts.size() << " clusters");
      CHECK(xml_problem(drawn).empty());
      CHECK(xml_problem(file).empty());
      CHECK(drawn.find("<title id=\"" + picture.name + "-title\">") != std::string::npos);
      CHECK(drawn.find("<desc id=\"" + picture.name + "-text\">") != std::string::npos);
      CHECK(drawn.find("role=\"img\" aria-labelledby=\"") != std::string::npos);
      CHECK(drawn.find("<script") == std::string::npos);
      CHECK(picture.canvas.shapes().find("nan") == std::string::npos);
      CHECK(picture.canvas.shapes().find("inf") == std::string::npos);
      CHECK(picture.caption.size() > 40);
      CHECK(file.find("prefers-color-scheme:dark") != std::string::npos);
      check_labels(picture);
    }
  }
}

TEST_CASE("labels of curves and bars lie within their picture and do not touch") {
  std::vector<double> k(19), many(400), log{2, 4, 8, 16, 32, 64, 128, 1000};
  std::iota(k.begin(), k.end(), 2.0);
  std::iota(many.begin(), many.end(), 100'000.0);
  for (const std::vector<double>& counts : {k, many, log, std::vector<double>{2, 3}, std::vector<double>{5}}) {
    for (const double size : {1e-9, 0.3, -8123.0, -295'246.0, 1.9e6, 7e12}) {
      std::vector<double> values;
      for (std::size_t i = 0; i < counts.size(); ++i) values.push_back(size * (1.0 + 1.0 / (1.0 + i)));
      for (const std::size_t best : {std::size_t{0}, counts.size() / 2, counts.size() - 1}) {
        const Picture picture = sweep(counts, curve_of("score", values, best), counts[best], 0);
        CHECK(occurrences(picture.canvas.shapes(), "class=\"best s0\"") == 1);
        CHECK(occurrences(picture.canvas.shapes(), " small soft end\"") +
                  occurrences(picture.canvas.shapes(), "\"small soft end\"") >=
              3);
        // The mark of the best may lie on the grid, but not on labels of the axes.
        check_labels(picture);
      }
    }
  }
  const std::vector<std::string> limits{"read",
                                        "multiply-add amx bfloat16 tiles, of the processor in question and more"};
  for (const std::string& name :
       {std::string("4 bfloat16 tiles, all cores"), std::string("later"), std::string(90, 'n')}) {
    std::vector<LimitBar> bars;
    for (const double share : {0.001, 0.31, 0.923, 1.0, 1.07, 9.5}) bars.push_back({name, share, bars.size() % 2});
    const Picture picture = limit_bars("bars", "title", bars, limits);
    CHECK(xml_problem(inline_svg(picture)).empty());
    check_labels(picture);
    CHECK(occurrences(picture.canvas.shapes(), ">share of ") == 2);  // the legend
    CHECK(occurrences(picture.canvas.shapes(), ">92.3 %</text>") == 1);
  }
  for (const std::size_t runs : {std::size_t{5}, std::size_t{24}, std::size_t{300}}) {
    std::vector<double> inertia, shift;
    for (std::size_t i = 0; i < runs; ++i) {
      inertia.push_back(1.3e6 + 1e5 / (1.0 + i));
      shift.push_back(std::pow(0.5, i % 40));
    }
    const auto picture = iterations({inertia, shift, "tolerance", 1e-3});
    REQUIRE(picture);
    check_labels(*picture);
  }
}

TEST_CASE("of many clusters the largest are shown one by one, and the others together") {
  const Case c = case_of(20'000, 1000, 6);
  std::vector<std::int64_t> counts = c.counts;
  CHECK(shown_clusters({3, 0, 5}) == std::vector<std::int64_t>{0, 2});
  CHECK(shown_clusters(std::vector<std::int64_t>(16, 1)).size() == 16);
  counts[777] = 10'000;
  REQUIRE(shown_clusters(counts).size() == 12);
  CHECK(shown_clusters(counts).back() == 777);
  for (const Picture& picture : pictures_of(c)) {
    if (picture.name == "sizes" || picture.name == "tiles") continue;
    INFO(picture.name);
    CHECK(picture.above.find("The 12 largest of 1000 clusters.") != std::string::npos);
    CHECK(inline_svg(picture).find("The 12 largest of 1000 clusters.") != std::string::npos);
    check_labels(picture);
    if (picture.name != "centroids")
      CHECK(occurrences(picture.canvas.shapes(), picture.name == "scatter" ? "others" : ">others<") >= 1);
  }
  // A sample that has few rows of the clusters that are shown says something about all of them only.
  const Silhouettes sample{.values = {0.5F, -0.5F}, .labels = {0, 1}, .is_sample = true, .source = "Of 2 rows."};
  const Picture few = silhouettes(sample, c.counts);
  CHECK(few.above == "Of 2 rows.");
  CHECK(few.canvas.shapes().find(">all</text>") != std::string::npos);
}

TEST_CASE("pictures show the numbers they were given") {
  const Case c = case_of(600, 6, 2, 1);
  const Picture bars = sizes({10, 0, 30});
  CHECK(
      bars.caption ==
      "40 rows in 3 clusters, 13.33 on average. The largest is cluster 2 with 30 rows, the smallest cluster 1 with 0; "
      "1 is empty.");
  CHECK(bars.canvas.shapes().find(">30 (75.0 %)</text>") != std::string::npos);
  CHECK(bars.canvas.shapes().find(">0 (0.0 %)</text>") != std::string::npos);
  CHECK(occurrences(scatter(c.plane, c.labels, c.counts).canvas.shapes(), "h0") == 600);  // a mark for each row
  const auto run = iterations({{9.0, 5.5, 4.75, 4.5, 4.25}, {2.0, 0.5, 0.25, 0.125, 0.0}, "labels", 0.0});
  REQUIRE(run);
  CHECK(run->caption ==
        "In 5 iterations the inertia, the sum of the squared distances of all rows to their centroids, went from 9 to "
        "4.25, and the sum of squared shifts of the centroids from 2 to 0; then no label changed.");
  CHECK(occurrences(run->canvas.shapes(), "h0") == 9);                          // a logarithmic axis cannot show 0
  CHECK_FALSE(iterations({{9.0, 4.5, 4.25}, {2.0, 0.5, 0.0}, "labels", 0.0}));  // a sentence says as much
  const Picture blades =
      silhouettes({.values = {0.5F, -0.25F, 0.75F, 1.0F}, .labels = {0, 0, 1, -1}, .source = "Of 3 rows."}, {2, 1});
  CHECK(blades.above == "Of 3 rows.");
  CHECK(blades.caption.find("The mean silhouette is 0.3333 (dashed). 1 of 3 rows (33.3 %) is below 0.") !=
        std::string::npos);
  CHECK(blades.caption.find("Cluster 1 is set apart best, with a mean of 0.750, cluster 0 least, with 0.125.") !=
        std::string::npos);
  const Picture far = distances(std::vector<float>{1.0F, 2.0F, 9.0F}, std::vector<std::int32_t>{0, 0, 1}, {2, 1});
  CHECK(far.caption.find("distance is 9. The rows of cluster 0 lie nearest to their centroid, with a median of 1, "
                         "those of cluster 1 farthest, with 9.") != std::string::npos);
  const Picture curve = sweep({2, 3, 4}, curve_of("silhouette", {0.25, 0.5, NAN}, 1), 3.0, 1);
  CHECK(xml_problem(inline_svg(curve)).empty());
  CHECK(curve.title == "Silhouette: k = 3");
  CHECK(curve.caption == "What it is. The large dot marks its choice, k = 3: 0.5. Dashed: the suggestion, k = 3.");
  CHECK(curve.canvas.shapes().find(">smaller is better</text>") != std::string::npos);
  const Picture none = sweep({2, 3}, curve_of("gap", {0.25, 0.5}, std::nullopt), std::nullopt, 1);
  CHECK(none.caption == "What it is. It prefers none of these numbers of clusters.");
  CHECK(none.canvas.shapes().find("class=\"best") == std::string::npos);
}

TEST_CASE("the size of a scatter plot of a hundred thousand points is bounded by its cells") {
  const Case c = case_of(100'000, 12, 20);
  std::size_t bytes = 0;
  for (const Picture& picture : pictures_of(c)) bytes += inline_svg(picture).size();
  CHECK(bytes < 400'000);
  CHECK(scatter(c.plane, c.labels, c.counts).caption.find("All 100000 rows are counted in cells") != std::string::npos);
}

TEST_CASE("ticks are round numbers inside the axis") {
  CHECK(ticks({0.0, 10.0, 0, 1}, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(ticks({-0.3, 0.3, 0, 1}, 3).size() == 3);
  CHECK(ticks({-8123.0, -7890.0, 0, 1}, 3).size() >= 3);  // one label, -8000, tells little
  CHECK(ticks({0.5, 2000.0, 0, 1, Spacing::powers}, 6) == std::vector<double>{1, 10, 100, 1000});
  for (const double size : {1e-300, 1e-9, 3.0, 7e12, 1e300}) {
    const Scale scale = scale_over({size, 2 * size}, 0, 100);
    for (const double value : ticks(scale, 5)) CHECK((scale.low <= value && value <= scale.high));
    CHECK(ticks(scale, 5).size() >= 2);
  }
  const Scale flat = scale_over({5.0, 5.0}, 0, 100);
  CHECK(flat.low < 5.0);
  CHECK(flat.high > 5.0);
}

TEST_CASE("images are PNG files in the page, in base64") {
  std::vector<std::uint8_t> values;
  for (int i = 0; i < 6; ++i) {
    values.push_back(static_cast<std::uint8_t>(40 * i));
    const data::PngPicture image{.size = {i + 1, 1}, .pixels = values, .channels = 1};
    const std::string address = image_address(image), start = "data:image/png;base64,", png = data::encode_png(image);
    REQUIRE(address.starts_with(start));
    std::string bytes;
    std::uint32_t bits = 0;
    int known = 0;
    for (const char letter : address.substr(start.size())) {
      const std::size_t digit =
          std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(letter);
      if (letter == '=') continue;
      REQUIRE(digit != std::string::npos);
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
      if ((known += 6) >= 8) bytes += static_cast<char>(bits >> (known -= 8) & 255U);
    }
    CHECK(bytes == png);
    CHECK(address.size() % 4 == start.size() % 4);
  }
}

TEST_CASE("the principal plane of rows with known axes") {
  // Spreads of 2 x 9 along (0.6, 0.8, 0), 2 x 4 along (0.8, -0.6, 0) and 2 x 1 along the third axis, around (1, 2, 3).
  const double axes[3][3] = {{0.6, 0.8, 0.0}, {0.8, -0.6, 0.0}, {0.0, 0.0, 1.0}}, lengths[3] = {3.0, 2.0, 1.0};
  Matrix<double> rows(6, 3);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 3; ++j) rows(i, j) = j + 1 + (i % 2 == 0 ? 1 : -1) * lengths[i / 2] * axes[i / 2][j];
  }
  const PrincipalPlane plane = principal_plane(rows.view());
  for (int a = 0; a < 2; ++a) {
    for (int j = 0; j < 3; ++j) CHECK(std::abs(plane.axes(a, j) - axes[a][j]) < 1e-12);
  }
  CHECK(std::abs(plane.share[0] - 18.0 / 28.0) < 1e-12);
  CHECK(std::abs(plane.share[1] - 8.0 / 28.0) < 1e-12);
  const auto [x, y] = project(plane, rows.row(2).data());
  CHECK(std::abs(x) < 1e-12);
  CHECK(std::abs(y - 2.0) < 1e-12);
  // One row, or equal rows, have no axis.
  const PrincipalPlane none = principal_plane(rows.view().middle(0, 1));
  CHECK(none.share[0] == 0.0);
  CHECK(project(none, rows.row(0).data())[0] == 0.0);
}
