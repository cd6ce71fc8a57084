// --metric haversine, run as a user runs it: places of tables and arrays, distances and radii in km.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "core/numbers/places.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;
using namespace std::string_literals;

namespace {

struct Place {
  double latitude, longitude;
};

/// Places everywhere: some at the poles, on both sides of the date line, opposite to and on each other.
std::vector<Place> places(std::size_t count) {
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  std::vector<Place> all{{90, 0}, {90, 120}, {-90, -5}, {0, 180}, {0, -180}, {10, 179.9}, {10, -179.9}, {0, 0}};
  while (all.size() < count) {
    const double latitude = std::round((share(engine) * 180.0 - 90.0) * 1e4) / 1e4;
    const double longitude = std::round((share(engine) * 360.0 - 180.0) * 1e4) / 1e4;
    all.push_back({latitude, longitude});
    if (all.size() % 9 == 0) all.push_back(all.back());
    if (all.size() % 11 == 0) all.push_back({-latitude, longitude > 0.0 ? longitude - 180.0 : longitude + 180.0});
  }
  return all;
}

/// The haversine formula: R. W. Sinnott: Virtues of the Haversine (1984).
long double haversine(const Place& a, const Place& b) {
  const long double degree = std::acos(-1.0L) / 180.0L;
  const auto half = [&](double from, double to) {
    return std::pow(std::sin((static_cast<long double>(to) - from) * degree / 2.0L), 2);
  };
  const long double h = half(a.latitude, b.latitude) +
                        std::cos(a.latitude * degree) * std::cos(b.latitude * degree) * half(a.longitude, b.longitude);
  return 2.0L * 6371.0088L * std::asin(std::sqrt(std::min(h, 1.0L)));
}

/// A table with a name for each place, the longitude first.
void write_table(const std::string& file, const std::vector<Place>& all,
                 const char* header = "city,Lng,population,LAT") {
  std::ofstream out(file);
  out << header << '\n';
  out.precision(17);
  for (std::size_t i = 0; i < all.size(); ++i) {
    out << "town" << i << ',' << all[i].longitude << ',' << 1000 + 7 * i << ',' << all[i].latitude << '\n';
  }
}

}  // namespace

TEST_CASE("neighbours of places: the nearest on the sphere in km, the same bytes however they are searched") {
  const Scratch folder;
  const std::string table = folder / "places.csv", out = folder / "out.h5";
  const std::vector<Place> all = places(400);
  write_table(table, all);
  done({"knn", table, "--metric", "haversine", "-k", "6", "-q", "-o", out});
  const Matrix<double> rows = matrix(out + ":/neighbors"), distances = matrix(out + ":/distances");
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<long double> others;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (j != i) others.push_back(haversine(all[i], all[j]));
    }
    std::sort(others.begin(), others.end());
    for (std::int64_t place = 0; place < 6; ++place) {
      const auto row = static_cast<std::size_t>(rows(static_cast<std::int64_t>(i), place));
      CHECK(row != i);
      CHECK(std::abs(haversine(all[i], all[row]) - others[static_cast<std::size_t>(place)]) <= 1e-9L);
      CHECK(std::abs(distances(static_cast<std::int64_t>(i), place) - others[static_cast<std::size_t>(place)]) <=
            1e-9L);
    }
  }
  CHECK(rows(0, 0) == 1);  // one pole
  CHECK(distances(0, 0) == 0.0);
  CHECK(rows(3, 0) == 4);  // 180 and -180 degrees
  CHECK(distances(3, 0) == 0.0);
  const std::string bytes = bytes_of(out);
  for (const Words& how : {Words{"--threads", "1"}, Words{"--threads", "3"}, Words{"--block-rows", "7"}}) {
    Words words{"knn", table, "--metric", "haversine", "-k", "6", "-q", "-f", "-o", out};
    words.insert(words.end(), how.begin(), how.end());
    done(words);
    CHECK(bytes_of(out) == bytes);
  }
  for (const std::string& backend : usable_backends()) {
    done({"knn", table, "--metric", "haversine", "-k", "6", "-q", "-f", "-o", out, "--backend", backend});
    CHECK(bytes_of(out) == bytes);
  }
}

TEST_CASE("columns of places are found by their names, or given; what is no place is refused with its row") {
  const Scratch folder;
  const std::string table = folder / "places.csv";
  const std::vector<Place> all = places(30);
  write_table(table, all);
  const auto knn = [&](const std::string& file, const Words& more) {
    Words words{"knn", file, "--metric", "haversine", "-k", "2", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string lines = done(knn(table, {})).out;
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 60);
  CHECK(done(knn(table, {"--columns", "LAT,Lng"})).out == lines);
  CHECK(done(knn(table, {"--columns", "4,2", "--id-column", "city"})).out.starts_with("town0\ttown1\t0\n"));
  refuses(3, knn(table, {"--columns", "Lng,LAT"}),
          {"row 2 (counted from 1) has the latitude 120 degrees",
           "exchange the columns (--columns LATITUDE,LONGITUDE gives their order)"});
  refuses(2, knn(table, {"--columns", "LAT,Lng,population"}), {"expected two columns", "found 3"});
  write_table(folder / "xy.csv", all, "city,x,population,y");
  refuses(2, knn(folder / "xy.csv", {}), {"named as a latitude (lat, latitude, decimallatitude), found none among"});
  CHECK(done(knn(folder / "xy.csv", {"--columns", "y,x"})).out == lines);
  write_table(folder / "two.csv", all, "latitude,lon,population,lat");
  refuses(2, knn(folder / "two.csv", {}), {"found latitude, lat among"});
  write_bytes(folder / "far.csv", "lat,lon\n1,2\n3,4\n5,400\n");
  refuses(3, knn(folder / "far.csv", {}), {"row 3 (counted from 1) has the longitude 400 degrees"});
  // An array of two columns has latitude and longitude in this order; float32 keeps its degrees.
  std::vector<float> degrees;
  for (const Place& place : all) {
    degrees.push_back(static_cast<float>(place.latitude));
    degrees.push_back(static_cast<float>(place.longitude));
  }
  FileMaker(folder / "places.h5").floats("places", {all.size(), 2}, degrees);
  done(knn(folder / "places.h5", {"-o", folder / "out.h5"}));
  const Matrix<double> rows = matrix((folder / "out.h5") + ":/neighbors");
  const Matrix<double> found = matrix((folder / "out.h5") + ":/distances");
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const auto at = [&](std::int64_t row) { return Place{degrees[2 * row], degrees[2 * row + 1]}; };
    const long double distance = haversine(at(i), at(static_cast<std::int64_t>(rows(i, 1))));
    CHECK(std::abs(found(i, 1) - distance) <= 1e-9L);  // float32 would have 1e-4 here
  }
  for (const Words& more : {Words{"--scale", "zscore"}, Words{"--pca", "1"}, Words{"--column-weights", "LAT=2"}}) {
    refuses(2, knn(table, more), {"--metric haversine cannot be combined with"});
  }
  for (const char* command : {"cluster", "sweep"}) {
    refuses(2, {command, table, "-k", "2", "--metric", "haversine"}, {"a mean does not minimise other distances"});
  }
}

TEST_CASE("columns of places may have units and other words in their names, of which the whole name counts first") {
  const Scratch folder;
  const std::string table = folder / "p.csv";
  const std::vector<Place> all = places(12);
  const auto found = [&](const char* header) {
    write_table(table, all, header);
    return run_kith({"knn", table, "--metric", "haversine", "-k", "2", "-q"});
  };
  const std::string lines = found("city,lng,population,lat").out;
  for (const char* header : {"city,Lon_deg,population,Lat_deg", "city,Longitude (deg),population,Latitude (deg)",
                             "city,stop_lon,population,stop_lat", "city,GPS lng,population,GPS lat",
                             "city,decimalLongitude,population,decimalLatitude", "city,lon,parent_lat,lat"}) {
    INFO(header);
    CHECK(found(header).out == lines);
  }
  for (const char* header : {"city,lon_rad,population,lat_rad", "city,lon,population,lat_error",
                             "city,stop_lon,parent_lat,stop_lat", "city,x,population,y"}) {
    INFO(header);
    CHECK(found(header).code == 2);
    CHECK(found(header).says("give --columns LATITUDE,LONGITUDE with the names of yours"));
  }
}

TEST_CASE("angles with minutes are refused, those with a side of the world are signed, and radians are remarked on") {
  const Scratch folder;
  const std::string table = folder / "p.csv";
  const Words knn{"knn", table, "--metric", "haversine", "-k", "1", "-q"};
  for (const char* row : {"48 51 24,2", "\"48°51'24\"\" N\",2", "N 48.85,2"}) {
    write_bytes(table, fmt::format("lat,lon\n{}\n{}\n", row, row));
    refuses(3, knn, {"line 2, column 1 ('lat'): expected degrees as a number", "is -0.1275"});
    Words encoded = knn;
    encoded.insert(encoded.end(), {"--encode", "lat=unit"});
    refuses(3, encoded, {"expected degrees as a number"});
  }
  write_bytes(table, "lat,lon\n48.8566°,2.3522°\n51.5°,-0.12°\n");
  refuses(3, knn, {"--encode lat=unit,lon=unit makes numbers of them"});
  Words encoded = knn;
  encoded.insert(encoded.end(), {"--encode", "unit"});
  CHECK(done(encoded).out.starts_with("0\t1\t342."));
  for (const auto& [sides, numbers] :
       {std::pair{"51.5S,0.12W\n52.5S,1.12W\n", "-51.5,-0.12\n-52.5,-1.12\n"},
        std::pair{"51.5 N,0.12\u00b0E\n0.5 S,1.12\u00b0W\n", "51.5,0.12\n-0.5,-1.12\n"}}) {
    write_bytes(table, "lat,lon\n"s + numbers);
    const std::string plain = done(knn).out;
    write_bytes(table, "lat,lon\n"s + sides);
    refuses(3, knn, {"--encode lat=unit,lon=unit makes numbers of them"});
    CHECK(done(encoded).out == plain);
  }
  const std::string radians = "lat,lon\n0.85,0.04\n-0.6,3.1\n0.9,-0.002\n1.2,2.9\n";
  write_bytes(table, radians);
  CHECK(done(knn).says("as if they were radians; kith takes degrees"));
  write_bytes(table, radians + "1.6,0\n");
  CHECK(!done(knn).says("radians"));
  write_bytes(table, "lat,lon\n0.85,0.04\n-0.6,3.1\n");  // two places may be anywhere
  CHECK(!done(knn).says("radians"));
}

TEST_CASE("a radius in km: pairs whose distance is no farther, and clusters of places") {
  const Scratch folder;
  const std::string table = folder / "places.csv", out = folder / "out.h5", queries = folder / "queries.csv";
  const std::vector<Place> all = places(300);
  write_table(table, all);
  // One place 100 km north of another, and the next float64 of that distance below.
  const std::string lines = done({"knn", table, "--metric", "haversine", "-k", "1", "-q"}).out;
  std::vector<double> nearest;
  std::istringstream words(lines);
  for (double query, row, distance; words >> query >> row >> distance;) nearest.push_back(distance);
  std::sort(nearest.begin(), nearest.end());
  const double radius = nearest[nearest.size() / 2];
  const auto edges = [&](double within) {
    return done({"knn", table, "--metric", "haversine", "--radius", fmt::format("{}", within), "--json", "-q"})
        .json()["edges"]
        .get<int>();
  };
  CHECK(edges(radius) >= edges(std::nextafter(radius, 0.0)) + 1);
  CHECK(edges(30000.0) == 300 * 299);
  CHECK(edges(20015.2) == 300 * 299);
  done({"dbscan", table, "--metric", "haversine", "--radius", "300", "--min-points", "2", "-q", "-o", out});
  // The components of pairs within 300 km are these clusters, since a place and its neighbour are core points.
  const std::string groups = folder / "groups.h5";
  done({"knn", table, "--metric", "haversine", "--radius", "300", "--components", "-q", "-o", groups});
  const std::vector<double> labels = values(out + ":/labels"), components = values(groups + ":/components");
  REQUIRE(labels.size() == 300);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CHECK((components[i] == components[j]) == (labels[i] == labels[j] && labels[i] >= 0));
    }
  }
  // Queries have the columns of the base by their names; kith distances has all pairs.
  write_bytes(queries, "Lng,LAT\n2.3522,48.8566\n-0.1276,51.5072\n");
  const std::string found = done({"distances", queries, "--metric", "haversine", "-q"}).out;
  CHECK(found.starts_with("0\t343.5"));
  const auto line = done({"knn", table, "--queries", queries, "--metric", "haversine", "-k", "1", "--json"});
  CHECK(line.code == 0);
  refuses(2, {"knn", table, "--metric", "haversine", "--radius", "-1"}, {"expected a finite number, 0 or above"});
}
