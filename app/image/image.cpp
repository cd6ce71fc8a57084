// kith image: fewer colours in a picture, by k-means; borders of regions, and edges.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/commands.h"
#include "app/image/palette_file.h"
#include "app/run/memory.h"
#include "app/run/points_job.h"
#include "app/run/results.h"
#include "core/color_space.h"
#include "core/quoted.h"
#include "data/picture/picture.h"
#include "kernels/cpu/picture/distinct_colors.h"
#include "kernels/cpu/picture/dither.h"
#include "kernels/cpu/picture/edges.h"

namespace kith::app {
namespace {

struct ImageOptions {
  std::string picture;
  std::int64_t colors = 0;
  std::string space = "lab";
  bool dither = false;
  double spatial = 0.0;
  std::string edges = "none";
  std::string palette, palette_from, labels;
  CommonOptions common;

  bool is_sobel() const { return edges == "sobel"; }
};

void declare(OptionSet& set, ImageOptions& options) {
  const Reason sobel = when([&options] { return options.is_sobel(); }, "--edges sobel has no clusters");
  const Reason unwritten = when([&options] { return options.common.output.empty(); }, "there is no --output");
  const Reason given = when([&options] { return !options.palette_from.empty(); }, "--palette-from gives the colours");
  set.positional({.names = "PICTURE",
                  .help = "A PNG, JPEG or PNM file. Colour profiles are ignored: values are taken as sRGB.",
                  .required = "the picture",
                  .input = Input::file},
                 options.picture);
  set.integer({.names = "-k,--colors",
               .value = "K",
               .help = "Number of colours.",
               .shown_default = "the number of colours in --palette-from",
               .stored = Stored::always,
               .no_effect = {sobel, given}},
              {1, 65536}, options.colors);
  set.choice({.names = "--space",
              .value = "NAME",
              .help = "Space of the distances: lab (CIELAB, as people see them), linear (light) or srgb.",
              .stored = Stored::always,
              .no_effect = {sobel}},
             {"lab", "linear", "srgb"}, options.space);
  set.flag({.names = "--dither",
            .help = "Mix colours of neighbouring pixels (Floyd-Steinberg), in place of flat areas.",
            .stored = Stored::if_changed,
            .no_effect = {sobel, unwritten}},
           options.dither);
  set.number({.names = "--spatial",
              .value = "W",
              .help = "Add the position to the colour, so that clusters are regions: the longer side counts as W times "
                      "the distance from black to white.",
              .stored = Stored::if_changed,
              .no_effect = {sobel},
              .refused = {when([&options] { return !(options.spatial >= 0.0 && options.spatial <= 1e6); },
                               "--spatial: expected a number from 0 to 1000000"),
                          when([&options] { return options.spatial > 0.0 && !options.palette_from.empty(); },
                               "--spatial cannot be combined with --palette-from, whose colours have no position; "
                               "leave one of them out"),
                          when([&options] { return options.spatial > 0.0 && options.dither; },
                               "--spatial cannot be combined with --dither, which breaks regions up; leave one of "
                               "them out")}},
             options.spatial);
  set.choice({.names = "--edges",
              .value = "KIND",
              .help = "Draw the borders between regions of equal colour in black (regions), or the Sobel magnitude of "
                      "the picture in place of its colours (sobel).",
              .stored = Stored::if_changed,
              .no_effect = {unwritten}},
             {"none", "regions", "sobel"}, options.edges);
  set.text({.names = "--palette",
            .value = "FILE",
            .help = "Write the colours and their shares: text, .gpl (GIMP) or .h5.",
            .no_effect = {sobel}},
           options.palette);
  set.text(
      {.names = "--palette-from",
       .value = "FILE",
       .help = "Use these colours: text (#rrggbb), .gpl, or k x 3 values from 0 to 255 in any file that kith reads.",
       .input = Input::file,
       .stored = Stored::if_changed,
       .no_effect = {sobel}},
      options.palette_from);
  set.text({.names = "--labels",
            .value = "FILE",
            .help = "Write the number of each pixel's colour to this HDF5 file; -1: transparent.",
            .no_effect = {sobel}},
           options.labels);
  set.begin_common();
  add_output_options(set, options.common, "Write the picture to this PNG file; without it, the colours are printed.");
  set["--force"].no_effect.clear();
  add_backend_options(set, options.common);
  add_thread_option(set, options.common);
  add_memory_option(set, options.common);
  add_seed_option(set, options.common);
  add_message_options(set, options.common);
  set["--seed"].stored = Stored::always;
  set["--seed"].no_effect = {sobel, given};
}

ColorSpace space_of(const std::string& name) {
  return name == "lab" ? ColorSpace::lab : name == "linear" ? ColorSpace::linear : ColorSpace::srgb;
}

class ImageJob final : public PointsJob {
 public:
  ImageJob(OptionSet& set, ImageOptions& options)
      : PointsJob(set, options.common), options_(options), space_(space_of(options.space)) {
    output.endings = {".png"};
  }

 private:
  void open() override;
  std::int64_t bytes() const override { return 0; }  // there is no source; open() requires the memory
  void compute() override;
  void show() override;
  void write() override;
  bool writes_result() const override { return !options_.labels.empty() || !options_.palette.empty(); }
  std::string stored_command() const override {
    return set.stored_command({{"PICTURE", stored_name(options_.picture)}});
  }

  /// Throws unless the picture and the work with it fit in memory.
  void require(PictureSize size) const;
  data::OutputOptions other_output(std::vector<std::string> endings) const;
  void cluster(cpu::Threads& threads);
  /// The rows to cluster: distinct colours, or all visible pixels with their positions.
  Matrix<float> rows(cpu::Threads& threads) const;
  /// Orders colours and labels by the number of pixels.
  void order_palette(std::span<std::int32_t> labels);
  void count_pixels();

  ImageOptions& options_;
  ColorSpace space_;
  std::vector<Pixel> given_;  // of --palette-from
  data::Picture picture_;
  std::optional<cpu::DistinctColors> distinct_;
  std::vector<PaletteColor> palette_;
  std::vector<std::int32_t> labels_;  // (n)
  std::vector<std::uint8_t> sobel_;   // (n)
};

data::OutputOptions ImageJob::other_output(std::vector<std::string> endings) const {
  data::OutputOptions options = output;
  options.endings = std::move(endings);
  return options;
}

void ImageJob::require(PictureSize size) const {
  constexpr std::int64_t kPixelBytes = 64;     // as read and turned, keys, label, a colour and its weight, the output
  constexpr std::int64_t kSpatialBytes = 80;   // five columns and the state of each row
  constexpr std::int64_t kTables = 128 << 20;  // of colours
  require_memory(size.pixels() * (kPixelBytes + (options_.spatial > 0.0 ? kSpatialBytes : 0)) + kTables,
                 options_.picture, common.memory);
}

void ImageJob::open() {
  if (!target.empty() && !target.ends_with(".png")) {
    throw Error(ExitCode::output, fmt::format("{}: expected a name that ends with .png, the format of the picture that "
                                              "kith writes; give another name",
                                              target));
  }
  if (!options_.palette.empty()) data::check_output(options_.palette, other_output(palette_endings()));
  if (!options_.labels.empty()) data::check_output(options_.labels, other_output({".h5"}));
  if (!options_.labels.empty() && options_.labels == options_.palette) {
    throw Error(ExitCode::usage,
                fmt::format("--labels {}: --palette names the same file; give another name", options_.labels));
  }
  if (options_.is_sobel() && target.empty()) set.refuse_missing("-o, the picture with the edges,");
  if (!options_.is_sobel() && !options_.palette_from.empty()) given_ = read_palette(options_.palette_from);
  if (!options_.is_sobel() && given_.empty() && options_.colors == 0) set.refuse_missing("-k, the number of colours,");
  if (given_.empty() && !options_.is_sobel()) report.seed = common.seed;
  progress.phase("read", 0);
  picture_ = data::read_picture(options_.picture, [this](PictureSize size) { require(size); });
}

void ImageJob::compute() {
  cpu::Threads threads(static_cast<int>(common.threads));
  report.points = PointsReport{options_.picture, picture_.size.height, picture_.size.width,
                               fmt::format("{} pixels of {} bits", picture_.format, picture_.bits), false};
  labels_.resize(picture_.pixels.size());
  if (options_.is_sobel()) {
    progress.phase("edges", 0);
    report.backend = "cpu";
    report.threads = threads.count();
    std::vector<std::uint8_t> grey(picture_.pixels.size());
    cpu::grey_values(picture_.pixels, grey, threads);
    sobel_.resize(grey.size());
    return cpu::sobel(grey, picture_.size, sobel_, threads);
  }
  progress.phase("prepare", 0);
  distinct_.emplace(picture_.pixels, picture_.bits, threads);
  if (distinct_->size() == 0) {
    throw Error(ExitCode::data, fmt::format("{}: expected a visible pixel, found only transparent ones",
                                            kith::quoted(options_.picture)));
  }
  cluster(threads);
  if (options_.dither) {
    progress.phase("dither", 0);
    std::vector<Pixel> colors;
    for (const PaletteColor& entry : palette_) colors.push_back(entry.color);
    cpu::dither(picture_.pixels, picture_.size, colors, labels_);
    count_pixels();
  }
}

Matrix<float> ImageJob::rows(cpu::Threads& threads) const {
  constexpr std::int64_t kTaskRows = 4096;
  const ColorConverter convert(space_);
  const auto put = [&](const Pixel& pixel, std::span<float> row) {
    const Color color = convert(pixel);
    for (int j = 0; j < 3; ++j) row[j] = static_cast<float>(color[j]);
  };
  if (options_.spatial == 0.0) {
    Matrix<float> out(distinct_->size(), 3);
    threads.run((out.rows() + kTaskRows - 1) / kTaskRows, [&](std::int64_t task, int) {
      const std::int64_t last = std::min((task + 1) * kTaskRows, out.rows());
      for (std::int64_t i = task * kTaskRows; i < last; ++i) put(distinct_->color(i), out.row(i));
    });
    return out;
  }
  const auto [width, height] = picture_.size;
  const double unit = options_.spatial * lightness_range(space_) / static_cast<double>(std::max(width, height));
  Matrix<float> out(distinct_->pixels(), 5);
  for (std::int64_t i = 0, row = 0; i < picture_.size.pixels(); ++i) {
    if (picture_.pixels[i].alpha == 0) continue;
    put(picture_.pixels[i], out.row(row));
    out(row, 3) = static_cast<float>(unit * static_cast<double>(i % width));
    out(row++, 4) = static_cast<float>(unit * static_cast<double>(i / width));
  }
  return out;
}

void ImageJob::cluster(cpu::Threads& threads) {
  const Matrix<float> points = rows(threads);
  std::int64_t clusters = given_.empty() ? options_.colors : std::ssize(given_);
  if (given_.empty() && clusters > points.rows()) {
    progress.warning(
        fmt::format("{} has {} colours, fewer than -k {}; all are kept", options_.picture, points.rows(), clusters));
    clusters = points.rows();
  }
  const auto backend = choose_backend(*this);
  const bool is_spatial = options_.spatial > 0.0;
  const Weights weights = is_spatial ? equal_weights(points.rows()) : checked_weights(distinct_->counts(), "pixels");
  const auto block = backend->hold({.values = points.view(), .weights = weights.rows});
  const DataPlan plan = make_plan(*block, weights);
  block->prepare(plan);
  KMeansResult result;
  if (given_.empty()) {
    result = kmeans(*block, plan, {.clusters = clusters, .seed = static_cast<std::uint64_t>(common.seed)}, progress);
    note_iterations(report, result);
  } else {
    const ColorConverter convert(space_);
    Matrix<double> centroids(clusters, 3);
    for (std::int64_t c = 0; c < clusters; ++c) {
      const Color color = convert(given_[c]);
      std::copy(color.begin(), color.end(), centroids.row(c).begin());
    }
    result = assign_only(*block, plan, std::as_const(centroids).view(), progress);
  }
  report.inertia = result.inertia;
  for (std::int64_t c = 0; c < clusters; ++c) {
    if (!given_.empty()) {
      palette_.push_back({given_[c]});
    } else {
      const auto centroid = std::as_const(result.centroids).row(c);
      palette_.push_back({to_pixel({centroid[0], centroid[1], centroid[2]}, space_)});
    }
  }
  for (std::size_t i = 0; i < result.labels.size(); ++i) {
    palette_[result.labels[i]].pixels += is_spatial ? 1 : static_cast<std::int64_t>(distinct_->counts()[i]);
  }
  if (given_.empty()) order_palette(result.labels);
  progress.phase("assign", 0);
  if (!is_spatial) return distinct_->spread(result.labels, labels_);
  for (std::size_t i = 0, row = 0; i < labels_.size(); ++i) {
    labels_[i] = picture_.pixels[i].alpha == 0 ? -1 : result.labels[row++];
  }
}

void ImageJob::order_palette(std::span<std::int32_t> labels) {
  std::vector<std::int32_t> order(palette_.size()), place(palette_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](std::int32_t a, std::int32_t b) { return palette_[a].pixels > palette_[b].pixels; });
  std::vector<PaletteColor> ordered;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::int32_t>(i);
    ordered.push_back(palette_[order[i]]);
  }
  palette_ = std::move(ordered);
  for (std::int32_t& label : labels) label = place[label];
}

void ImageJob::count_pixels() {
  for (PaletteColor& entry : palette_) entry.pixels = 0;
  for (const std::int32_t label : labels_) {
    if (label >= 0) ++palette_[label].pixels;
  }
}

void ImageJob::show() {
  if (target.empty()) print(palette_table(palette_));
  if (options_.is_sobel()) return;
  if (!options_.palette.empty() || !options_.labels.empty()) progress.phase("write", 0);
  const std::string command = stored_command();
  if (!options_.palette.empty()) {
    write_palette(options_.palette, other_output(palette_endings()), command, palette_);
  }
  if (options_.labels.empty()) return;
  data::ResultFile file(options_.labels, other_output({".h5"}));
  write_origin(file, "kith-picture", command);
  file.create_matrix<std::int32_t>("labels", picture_.size.height, picture_.size.width);
  file.write_rows<std::int32_t>("labels", 0, {labels_.data(), picture_.size.height, picture_.size.width});
  file.finish();
}

void ImageJob::write() {
  data::PngPicture out{picture_.size};
  if (options_.is_sobel()) {
    out.pixels = sobel_;
    out.channels = 1;
    return data::write_png(target, output, out);
  }
  for (const PaletteColor& entry : palette_) out.palette.push_back(entry.color);
  const auto border = static_cast<std::int32_t>(out.palette.size());
  if (options_.edges == "regions") {
    cpu::Threads threads(static_cast<int>(common.threads));
    const std::vector<std::uint8_t> borders = cpu::region_borders(labels_, picture_.size, threads);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (borders[i] != 0 && labels_[i] >= 0) labels_[i] = border;
    }
    out.palette.push_back({0, 0, 0, 65535});
  }
  bool has_clear = false, has_partial = false;
  for (const Pixel& pixel : picture_.has_alpha ? std::span<const Pixel>(picture_.pixels) : std::span<const Pixel>()) {
    has_clear = has_clear || pixel.alpha == 0;
    has_partial = has_partial || (pixel.alpha != 0 && pixel.alpha != 65535);
  }
  const auto clear = static_cast<std::uint8_t>(out.palette.size());
  std::vector<std::uint8_t> values;
  if (!has_partial && out.palette.size() + (has_clear ? 1 : 0) <= 256) {
    if (has_clear) out.palette.push_back({0, 0, 0, 0});
    values.resize(labels_.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = labels_[i] < 0 ? clear : static_cast<std::uint8_t>(labels_[i]);
    }
    out.indices = values;
  } else {
    const std::vector<Pixel> colors = std::exchange(out.palette, {});
    out.channels = has_clear || has_partial ? 4 : 3;
    values.reserve(labels_.size() * static_cast<std::size_t>(out.channels));
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const Pixel color = labels_[i] < 0 ? Pixel{0, 0, 0, 0} : colors[labels_[i]];
      for (const std::uint16_t value : {color.red, color.green, color.blue}) {
        values.push_back(static_cast<std::uint8_t>(value >> 8));
      }
      if (out.channels == 4) values.push_back(static_cast<std::uint8_t>(picture_.pixels[i].alpha >> 8));
    }
    out.pixels = values;
  }
  data::write_png(target, output, out);
}

}  // namespace

int run_image(const Arguments& arguments) {
  ImageOptions options;
  OptionSet set({.command = "image",
                 .summary = "fewer colours in a picture by k-means; borders of regions, and edges.",
                 .usage = "PICTURE [-k K] [-o OUT.png] [options]",
                 .examples = {"kith image photo.jpg -k 16 -o few.png",
                              "kith image photo.jpg -k 8 --palette colors.gpl     # prints the colours, too",
                              "kith image photo.jpg -k 30 --spatial 1 --edges regions -o regions.png",
                              "kith image scan.png --edges sobel -o edges.png"}});
  declare(set, options);
  return set.parse(arguments) ? ImageJob(set, options).run() : 0;
}

}  // namespace kith::app
