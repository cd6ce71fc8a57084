// kith image: colours, palettes, labels, edges, and what is refused.
#include <zlib.h>

#include <chrono>

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

std::string big_endian(std::size_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string chunk(const std::string& type, const std::string& bytes) {
  const std::string summed = type + bytes;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size()));
  return big_endian(bytes.size()) + summed + big_endian(sum);
}

/// A PNG with a palette of red, green and blue, of 4 x 2 pixels whose numbers have `depth` bits.
std::string indexed_png(int depth, std::string rows) {
  std::string packed(100, '\0');
  uLongf size = packed.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                   rows.size()) == Z_OK);
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(4) + big_endian(2) + static_cast<char>(depth) + std::string("\3\0\0\0", 4)) +
         chunk("PLTE", std::string("\xff\0\0\0\xff\0\0\0\xff", 9)) + chunk("IDAT", packed) + chunk("IEND", "");
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
  done({"image", "p.ppm", "--palette-from", "c.txt", "-o", "x.png", "--palette", "squares.png"}, there);
  done({"image", "p.ppm", "--palette-from", "squares.png", "-o", "e.png"}, there);
  for (const char* other : {"b.png", "c.png", "d.png", "e.png"})
    CHECK(bytes_of(folder / "a.png") == bytes_of(folder / other));
  CHECK(stored(folder / "c.h5:/counts") == std::vector<double>{120, 120, 120});
  write_bytes(folder / "bad.txt", "#c80a0a\nred\n");
  refuses(3, {"image", "p.ppm", "--palette-from", "bad.txt"}, {"bad.txt: line 2", "found 'red'"}, there);
  write_bytes(folder / "bad.csv", "r,g,b\n1,2,3\n1,2,300\n");
  refuses(3, {"image", "p.ppm", "--palette-from", "bad.csv"}, {"bad.csv", "row 2", "300"}, there);
}

TEST_CASE("image writes squares of its colours, and prints the colours in the same run as the picture") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  const Words words{"image", "p.ppm", "-k", "3", "--space", "srgb", "-f", "-o", "o.png"};
  CHECK(done(words, there).out.empty());
  const Outcome run = done(plus(words, {"--palette", "s.png"}), there);
  for (const char* color : {"#c90a0a       120   33.3 %", "#0ac90a       120", "#0a0ac9       120"}) {
    CHECK(run.out.find(color) != std::string::npos);
  }
  CHECK(run.out.find('\033') == std::string::npos);  // this is no terminal
  CHECK(done(plus(words, {"-q", "--palette", "s.png"}), there).out.empty());
  // Three squares of these colours and of equal size.
  const Outcome squares = done({"image", "s.png", "-k", "9"}, there);
  CHECK(squares.says("s.png, 64 x 192"));
  for (const char* color : {"#c90a0a      4096", "#0ac90a      4096", "#0a0ac9      4096"}) {
    CHECK(squares.out.find(color) != std::string::npos);
  }
  // Ten squares in two lines; six places are transparent.
  std::string many = "P6 10 1 255\n";
  for (int i = 0; i < 10; ++i) many += {static_cast<char>(10 * i), 0, 0};
  write_bytes(folder / "m.ppm", many);
  done({"image", "m.ppm", "-k", "10", "--palette", "m.png"}, there);
  CHECK(done({"image", "m.png", "-k", "99"}, there).says("m.png, 128 x 512"));
  CHECK(done({"image", "m.png", "-k", "99"}, there).says("has 10 colours"));
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

TEST_CASE("numbers of PNM pictures have any length, and no value is above the largest one") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  const auto palette = [&](const std::string& bytes) {
    write_bytes(folder / "p.pnm", bytes);
    done({"image", "p.pnm", "-k", "9", "-f", "--palette", "p.txt"}, there);
    const std::string text = bytes_of(folder / "p.txt");
    return text.substr(text.find('#', text.find('\n')));
  };
  const std::string expected = palette("P2 3 1 255 1 2 3");
  CHECK(palette("P2\n3 1\n255\n0000000001 0000000002 0000000003\n") == expected);
  CHECK(palette("P2 0000000003 00000000000000000000001 000000000255 1 2 3 ") == expected);
  CHECK(palette("P2 # a comment\r3 1 255 1#2\n2 # 4 5\n3 # the end") == expected);
  CHECK(palette("P5 0000000000003 1 0000000255\n\1\2\3") == expected);
  for (const auto& [bytes, said] :
       {std::pair{"P2 1 1 255 4294967297", "expected a value of at most 255, found 4294967297"},
        std::pair{"P2 1 1 255 0000000256", "expected a value of at most 255, found 0000000256"},
        std::pair{"P3 1 1 15 1 2 16", "expected a value of at most 15, found 16"},
        std::pair{"P2 1 1 65536 1", "expected a largest value of at most 65535, found 65536"},
        std::pair{"P2 1 1 4294967551 1", "found 4294967551"},
        std::pair{"P2 4294967297 1 255 1", "expected a width of at most 2147483647, found 4294967297"},
        std::pair{"P5 1 18446744073709551617 255\n1", "found 18446744073709551617"}}) {
    INFO(bytes);
    write_bytes(folder / "p.pnm", bytes);
    refuses(3, {"image", "p.pnm", "-k", "1"}, {"p.pnm: expected an undamaged PNM picture", said}, there);
  }
  for (const std::string bytes : {"P5 1 1 255\nab", "P2 1 1 255 97 P2 1 1 255 98"}) {
    write_bytes(folder / "p.pnm", bytes);
    CHECK(done({"image", "p.pnm", "-k", "1"}, there).says("more follows the first picture of the file"));
  }
}

TEST_CASE("a pixel beyond the palette of a PNG picture is refused by its row and column") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const auto& [depth, good, bad] :
       {std::tuple{8, std::string("\0\0\1\2\0\0\2\1\0\0", 10), std::string("\0\0\1\2\0\0\2\3\0\0", 10)},
        std::tuple{4, std::string("\0\x01\x20\0\x21\0", 6), std::string("\0\x01\x20\0\x23\0", 6)},
        std::tuple{2, std::string("\0\x18\0\x90", 4), std::string("\0\x18\0\xb0", 4)}}) {
    INFO(depth << " bits");
    write_bytes(folder / "p.png", indexed_png(depth, good));
    const std::string colors = done({"image", "p.png", "-k", "3"}, there).out;
    for (const char* color : {"#ff0000         4", "#00ff00         2", "#0000ff         2"}) {
      CHECK(colors.find(color) != std::string::npos);
    }
    write_bytes(folder / "p.png", indexed_png(depth, bad));
    refuses(
        3, {"image", "p.png", "-k", "3"},
        {"p.png: row 2, column 2 (counted from 1): expected one of the 3 colours of the palette, found the number 3"},
        there);
  }
}

TEST_CASE("more clusters than colours are the colours, without a seeding") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string many = "P6 200 200 255\n";
  for (int i = 0; i < 40000; ++i) {
    many += {static_cast<char>(i % 251), static_cast<char>(i / 251), static_cast<char>(i % 7)};
  }
  write_bytes(folder / "p.ppm", many);
  for (const char* space : {"lab", "srgb"}) {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome run = done({"image", "p.ppm", "-k", "65536", "--space", space, "-f", "-o", "o.png"}, there);
    CHECK(run.says("p.ppm has 40000 colours, fewer than -k 65536; all are kept"));
    // A seeding of 40000 of as many colours takes many times as long, on any machine.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    done({"image", "o.png", "-k", "65536", "-f", "-o", "again.png"}, there);
    CHECK(bytes_of(folder / "again.png") == bytes_of(folder / "o.png"));
  }
}
