// kith image: colours, palettes, labels, edges, and what is refused.
#include "tests/support/program.h"
#include "tests/support/result_values.h"
#include "tests/support/xml.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// A picture of three vertical stripes of slightly varied red, green and blue; `width` is a multiple of 3.
std::string stripes(int width, int height) {
  std::string out = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) out += static_cast<char>(c == x / (width / 3) ? 200 + (x + y) % 3 : 10);
    }
  }
  return out;
}

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("image reduces a picture to its colours, and writes palette and labels") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  for (const std::string space : {"lab", "linear", "srgb"}) {
    const Outcome run = done(
        {"image", "p.ppm", "-k", "3", "--space", space, "-f", "-o", "o.png", "--palette", "p.txt", "--labels", "l.h5"},
        there);
    INFO(run.err);
    CHECK(bytes_of(folder / "o.png").substr(1, 3) == "PNG");
    const std::vector<double> labels = stored(folder / "l.h5:/labels");
    REQUIRE(labels.size() == 360);
    for (std::size_t i = 0; i < labels.size(); ++i) CHECK(labels[i] == labels[i % 30 / 10 * 10]);
    CHECK(labels[0] != labels[10]);
    const std::string palette = bytes_of(folder / "p.txt");
    for (const char* color : {"#c90a0a 0.333333 120\n", "#0ac90a 0.333333 120\n", "#0a0ac9 0.333333 120\n"}) {
      CHECK(palette.find(color) != std::string::npos);
    }
  }
  CHECK(done({"image", "p.ppm", "-k", "3", "--labels", "without.h5"}, there).out.find("#c90a0a       120   33.3 %") !=
        std::string::npos);
  done({"info", "--fresh", "without.h5"}, there);  // it names its input
  // The written picture has these colours and no others.
  CHECK(done({"image", "o.png", "-k", "9"}, there).says("has 3 colours, fewer than -k 9"));
}

TEST_CASE("image gives the same bytes with any number of threads and every backend") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string picture = "P6 700 400 255\n";  // large enough for the table of colours
  std::uint32_t state = 3;
  for (int i = 0; i < 700 * 400 * 3; ++i) picture += static_cast<char>((state = state * 1664525U + 1013904223U) >> 25);
  write_bytes(folder / "p.ppm", picture);
  for (const Words& more : {Words{"-k", "7", "--dither"}, Words{"-k", "5", "--spatial", "1", "--edges", "regions"},
                            Words{"--edges", "sobel"}}) {
    done(plus({"image", "p.ppm", "-f", "--threads", "1", "-o", "a.png"}, more), there);
    for (const std::string& backend : usable_backends()) {
      done(plus({"image", "p.ppm", "-f", "--threads", "2", "-o", "b.png"},
                more.front() == "-k" ? plus(more, {"--backend", backend}) : more),
           there);
      CHECK(bytes_of(folder / "a.png") == bytes_of(folder / "b.png"));
    }
  }
}

TEST_CASE("image keeps what is transparent") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "icon.png", bytes_of(std::string(KITH_SOURCE_DIR) + "/tests/data/icon.png"));
  done({"image", "icon.png", "-k", "2", "-o", "few.png", "--labels", "l.h5"}, there);
  done({"image", "few.png", "-k", "2", "-o", "again.png", "--labels", "a.h5"}, there);
  CHECK(bytes_of(folder / "few.png") == bytes_of(folder / "again.png"));
  // A transparent border around two colours.
  CHECK(stored(folder / "l.h5:/labels") ==
        std::vector<double>{-1, -1, -1, -1, -1, 0, 0, -1, -1, 0, 1, -1, -1, -1, -1, -1});
}

TEST_CASE("image takes the colours of a palette in every format") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  write_bytes(folder / "c.txt", "#c80a0a\n#0a0ac8 0.5\n#00ff00\n");
  write_bytes(folder / "c.csv", "r,g,b\n200,10,10\n10,10,200\n0,255,0\n");
  done({"image", "p.ppm", "--palette-from", "c.txt", "-o", "a.png", "--palette", "b.gpl"}, there);
  done({"image", "p.ppm", "--palette-from", "b.gpl", "-o", "b.png", "--palette", "c.h5"}, there);
  done({"image", "p.ppm", "--palette-from", "c.h5:/colors", "-o", "c.png"}, there);
  done({"image", "p.ppm", "--palette-from", "c.csv", "-o", "d.png"}, there);
  for (const char* other : {"b.png", "c.png", "d.png"}) CHECK(bytes_of(folder / "a.png") == bytes_of(folder / other));
  CHECK(stored(folder / "c.h5:/counts") == std::vector<double>{120, 120, 120});
  write_bytes(folder / "bad.txt", "#c80a0a\nred\n");
  refuses(3, {"image", "p.ppm", "--palette-from", "bad.txt"}, {"bad.txt: line 2", "found 'red'"}, there);
  write_bytes(folder / "bad.csv", "r,g,b\n1,2,3\n1,2,300\n");
  refuses(3, {"image", "p.ppm", "--palette-from", "bad.csv"}, {"bad.csv", "row 2", "300"}, there);
}

TEST_CASE("image gives several pictures one palette, or one each") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const std::string head = "P6 2 2 255\n";
  write_bytes(folder / "a.ppm", head + "\x0a\x0a\x0a\x0a\x0a\x0a\x0c\x0c\x0c\x0c\x0c\x0c");
  write_bytes(folder / "b.ppm", head + "\x0c\x0c\x0c\xc8\xc8\xc8\xc8\xc8\xc8\xc8\xc8\xc8");
  // Together: 11 and 12 are near each other, so one colour is their mean, weighted by pixels.
  done({"image", "a.ppm", "b.ppm", "-k", "2", "--space", "srgb", "--palette-of-all", "-o", "few/", "--palette", "p.txt",
        "--page", "page.html"},
       there);
  CHECK(bytes_of(folder / "p.txt") == "#0b0b0b 0.625000 5\n#c8c8c8 0.375000 3\n");
  CHECK(done({"image", "few/a.png", "-k", "9"}, there).out.find("#0b0b0b         4  100.0 %") != std::string::npos);
  CHECK(done({"image", "few/b.png", "-k", "9"}, there).out.find("#c8c8c8         3   75.0 %") != std::string::npos);
  const std::string page = bytes_of(folder / "page.html");
  CHECK(page.find("2 pictures: 2 colours") != std::string::npos);
  CHECK(page.find("#0b0b0b 62.5 %") != std::string::npos);
  // Each by itself: a.ppm has only two colours.
  const Outcome each = done({"image", "a.ppm", "b.ppm", "-k", "2", "-o", "each", "--page", "each.html"}, there);
  CHECK(done({"image", "each/a.png", "-k", "9"}, there).out.find("#0c0c0c         2   50.0 %") != std::string::npos);
  const std::string table = done({"image", "a.ppm", "b.ppm", "-k", "2"}, there).out;
  CHECK(table.find("a.ppm\ncolor") == 0);
  CHECK(table.find("\nb.ppm\ncolor") != std::string::npos);
  // A given palette has the pixels of all pictures.
  const Outcome given =
      done({"image", "a.ppm", "b.ppm", "--palette-from", "p.txt", "-o", "given", "--palette", "g.txt"}, there);
  CHECK(bytes_of(folder / "g.txt") == bytes_of(folder / "p.txt"));
  CHECK(bytes_of(folder / "given/b.png") == bytes_of(folder / "few/b.png"));
  // One picture in a folder has the name of the picture.
  done({"image", "a.ppm", "-k", "2", "-o", "each/", "-f"}, there);
  // Nothing is read before all names are known to be free.
  refuses(5, {"image", "a.ppm", "b.ppm", "-k", "2", "-o", "few"}, {"few/a.png", "exists", "--force"}, there);
  refuses(5, {"image", "a.ppm", "b.ppm", "-k", "2", "-o", "none/few"}, {"none", "does not exist"}, there);
  refuses(5, {"image", "a.ppm", "b.ppm", "-k", "2", "-o", "p.txt"}, {"p.txt", "folder"}, there);
  refuses(2, {"image", "a.ppm", "b.ppm", "-k", "2", "-o", "few.png"}, {"few.png", "folder for the 2 pictures"}, there);
  write_bytes(folder / "a.png", "");
  refuses(2, {"image", "a.ppm", "a.png", "-k", "2", "-o", "x"}, {"a.ppm", "a.png"}, there);
  refuses(2, {"image", "a.ppm", "b.ppm", "-k", "2", "--palette", "q.txt"}, {"--palette-of-all"}, there);
  refuses(2, {"image", "a.ppm", "b.ppm", "-k", "2", "--labels", "q.h5"}, {"--labels"}, there);
  refuses(2, {"image", "a.ppm", "b.ppm", "-k", "2", "--palette-of-all", "--spatial", "1"}, {"--spatial"}, there);
  CHECK(!std::filesystem::exists(folder / "x"));
  done({"image", "a.ppm", "b.ppm", "--edges", "sobel", "-o", "edges"}, there);
  CHECK(bytes_of(folder / "edges/b.png").substr(1, 3) == "PNG");
}

TEST_CASE("image shows before and after on a page of one file") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "<p>.ppm", stripes(1200, 400));
  done({"image", "<p>.ppm", "-k", "3", "--page", "page.html"}, there);
  const std::string page = bytes_of(folder / "page.html");
  INFO(xml_problem(page));
  CHECK(xml_problem(page).empty());
  CHECK(occurrences(page, "data:image/png;base64,") == 2);
  CHECK(occurrences(page, "http") == occurrences(page, "http://www.w3.org/"));
  for (const char* part : {"&lt;p&gt;.ppm: 3 colours", "1200 x 400 pixels", "3 of 9", "#c90a0a 33.3 %",
                           "Shown as 480 x 160 pixels", "in CIELAB"}) {
    INFO(part);
    CHECK(page.find(part) != std::string::npos);
  }
  refuses(5, {"image", "<p>.ppm", "-k", "3", "--page", "page.html"}, {"page.html", "exists"}, there);
  refuses(5, {"image", "<p>.ppm", "-k", "3", "--page", "page.png"}, {"page.png", ".html"}, there);
}

TEST_CASE("image refuses what it cannot do, before it reads") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  write_bytes(folder / "cut.ppm", stripes(30, 12).substr(0, 500));
  refuses(2, {"image", "p.ppm"}, {"-k, the number of colours"}, there);
  refuses(2, {"image", "p.ppm", "--edges", "sobel"}, {"-o"}, there);
  refuses(2, {"image", "p.ppm", "-k", "2", "--spatial", "1", "--dither", "-o", "o.png"}, {"--dither"}, there);
  refuses(5, {"image", "p.ppm", "-k", "2", "-o", "o.jpg"}, {"o.jpg", ".png"}, there);
  refuses(5, {"image", "p.ppm", "-k", "2", "-f", "-o", "p.ppm"}, {"p.ppm"}, there);
  refuses(3, {"image", "cut.ppm", "-k", "2"}, {"cut.ppm", "30 x 12"}, there);
  refuses(3, {"image", kDigits, "-k", "2"}, {"expected a PNG, JPEG or PNM picture"}, there);
  refuses(3, {"image", "none.png", "-k", "2"}, {"none.png"}, there);
  write_bytes(folder / "large.ppm", stripes(3000, 1000));
  const Outcome large = run_kith({"image", "large.ppm", "-k", "2", "--memory", "100MB"}, there);
  CHECK(large.code != 0);
  CHECK(large.says("large.ppm"));
}
