// kith image: fewer colours in pictures, by k-means; borders of regions, and edges.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "app/commands.h"
#include "app/image/image_outputs.h"
#include "app/image/palette.h"
#include "app/run/freshness.h"
#include "app/run/memory.h"
#include "app/run/points_run.h"
#include "app/run/results.h"
#include "data/io/utf8.h"
#include "data/picture/picture.h"
#include "data/results/other_formats.h"
#include "kernels/cpu/picture/colors.h"
#include "kernels/cpu/picture/edges.h"

namespace kith::app {
namespace {

void declare(OptionSet& set, ImageOptions& options) {
  const Reason sobel = when([&options] { return options.is_sobel(); }, "--edges sobel has no clusters");
  const Reason unwritten = when([&options] { return options.common.output.empty(); }, "there is no --output");
  const Reason given = when([&options] { return !options.palette_from.empty(); }, "--palette-from gives the colours");
  set.positionals({.names = "PICTURE",
                   .help = "PNG, JPEG or PNM files. Colour profiles are ignored: values are taken as sRGB.",
                   .required = "the picture",
                   .input = Input::file},
                  options.pictures);
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
  set.flag({.names = "--palette-of-all",
            .help = "Give several pictures the K colours that suit all their pixels together, in place of K colours "
                    "each. They are read twice, one after another.",
            .stored = Stored::if_changed,
            .no_effect = {sobel, given},
            .refused = {when([&options] { return options.palette_of_all && options.spatial > 0.0; },
                             "--palette-of-all cannot be combined with --spatial, whose regions belong to one "
                             "picture; leave one of them out")}},
           options.palette_of_all);
  set.text(
      {.names = "--palette",
       .value = "FILE",
       .help = "Write the colours and their shares: text, .gpl (GIMP) or .h5; or squares of the colours, .png. They "
               "are printed, too, on a terminal beside a block of each.",
       .no_effect = {sobel},
       .refused = {when([&options] { return !options.has_common_palette() && !options.is_sobel(); },
                        "--palette names one file, but every picture gets its own colours; add "
                        "--palette-of-all, or give one picture")}},
      options.palette);
  set.text({.names = "--palette-from",
            .value = "FILE",
            .help = "Use these colours: text (#rrggbb), .gpl, a picture of squares (.png), or k x 3 values from 0 to "
                    "255 in any file that kith reads.",
            .input = Input::file,
            .stored = Stored::if_changed,
            .no_effect = {sobel}},
           options.palette_from);
  set.text({.names = "--labels",
            .value = "FILE",
            .help = "Write the number of each pixel's colour to this HDF5 file; -1: transparent.",
            .no_effect = {sobel},
            .refused = {when([&options] { return options.has_several(); },
                             "--labels names one file, but there are several pictures; give one picture")}},
           options.labels);
  set.text({.names = "--page",
            .value = "FILE",
            .help = "Write a page (HTML) with the pictures before and after, the colours with their shares, and the "
                    "error in CIELAB.",
            .no_effect = {sobel}},
           options.page);
  set.begin_common();
  add_output_options(set, options.common,
                     "Write the picture to this PNG file, several to this folder as NAME.png; without it, the colours "
                     "are printed.");
  set["--force"].no_effect.clear();
  add_backend_options(set, options.common);
  add_thread_option(set, options.common);
  add_memory_option(set, options.common);
  add_seed_option(set, options.common);
  add_message_options(set, options.common);
  set["--seed"].stored.when = Stored::always;
  set["--seed"].no_effect = {sobel, given};
}

class ImageJob final : public PointsRun {
 public:
  ImageJob(const OptionSet& options, const ImageOptions& image_options)
      : PointsRun(options, image_options.common, {".png"}),
        options_(image_options),
        space_(color_space(image_options)) {
    if (!target.empty()) image_target_ = image_target(target, options_.pictures);
  }

  void open();
  std::string stored_command() const;
  /// Writes each picture before the next one is read.
  void compute();
  void show();

 private:
  /// A picture with the labels and colours that its pixels got.
  struct Reduced {
    data::Picture picture;
    std::vector<PaletteColor> palette;
    std::vector<std::int32_t> labels;  // (n), -1: transparent
  };

  data::OutputOptions other_output(std::vector<std::string> endings) const;
  /// Throws unless the picture and the work with it fit in memory, beside the colours of other pictures.
  data::Picture read(const std::string& file);
  void find_edges(std::size_t i, Threads& threads);
  /// Reads all pictures, and clusters their colours together.
  void cluster_all(Threads& threads);
  /// Clusters the colours of one picture, or takes those of the common palette.
  void reduce(std::size_t i, Threads& threads);
  ColorClusters clusters_of(const Matrix<float>& rows, const std::vector<double>& counts, const std::string& name);
  /// Writes what is wanted of the picture.
  void finish(std::size_t i, Reduced& reduced, const cpu::DistinctColors& distinct, Threads& threads);
  void begin_write();
  void write_labels(const Reduced& reduced);

  const ImageOptions& options_;
  ColorSpace space_;
  ImageTarget image_target_;
  std::vector<Pixel> given_;                   // of --palette-from
  std::optional<data::Picture> first_;         // the only picture, read before the work begins
  cpu::ColorCounts all_colors_;                // of several pictures with one palette
  std::optional<ColorClusters> all_clusters_;  // of these
  std::vector<PaletteColor> common_palette_;   // with the pixels of all pictures
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<ImagePage> page_;
  std::map<std::string, std::set<std::string>> noted_;  // pictures of each note
  std::string tables_;                                  // to print
  std::int64_t pixels_ = 0;
};

data::OutputOptions ImageJob::other_output(std::vector<std::string> endings) const {
  data::OutputOptions options = output;
  options.endings = std::move(endings);
  return options;
}

std::string ImageJob::stored_command() const {
  std::string names;
  for (const std::string& picture : options_.pictures) names += (names.empty() ? "" : " ") + stored_name(picture);
  return set.stored_command({{"PICTURE", names}});
}

data::Picture ImageJob::read(const std::string& file) {
  constexpr std::int64_t kPixelBytes = 76;     // as read and turned, keys, label, a colour, its weight, the output
  constexpr std::int64_t kSpatialBytes = 80;   // five columns and the state of each row
  constexpr std::int64_t kColorBytes = 96;     // of several pictures: while they are merged, and while clustered
  constexpr std::int64_t kTables = 192 << 20;  // of colours
  progress.phase("read", 0);
  data::Picture picture = data::read_picture(file, [&](PictureSize size) {
    require_memory(size.pixels() * (kPixelBytes + (options_.spatial > 0.0 ? kSpatialBytes : 0)) +
                       all_colors_.size() * kColorBytes + kTables,
                   file, common.memory);
  });
  if (!picture.note.empty()) noted_[picture.note].insert(file);
  return picture;
}

void ImageJob::open() {
  if (!target.empty() && !is_checking_freshness()) check_image_target(image_target_, output);
  check_report_file(*this);
  if (!options_.palette.empty()) data::check_output(options_.palette, other_output(palette_endings()));
  if (!options_.labels.empty()) data::check_output(options_.labels, other_output({".h5"}));
  if (!options_.page.empty()) data::check_output(options_.page, other_output({".html", ".htm"}));
  if (!options_.labels.empty() && options_.labels == options_.palette) {
    throw Error(ExitCode::usage,
                fmt::format("--labels {}: --palette names the same file; give another name", options_.labels));
  }
  if (options_.is_sobel() && target.empty()) set.refuse_missing("-o, the picture with the edges,");
  if (!options_.is_sobel() && !options_.palette_from.empty()) given_ = read_palette(options_.palette_from);
  if (!options_.is_sobel() && given_.empty() && options_.colors == 0) set.refuse_missing("-k, the number of colours,");
  if (given_.empty() && !options_.is_sobel()) report.seed = common.seed;
  if (!options_.has_several()) first_ = read(options_.pictures.front());
}

void ImageJob::compute() {
  Threads threads(static_cast<int>(common.threads));
  const std::size_t count = options_.pictures.size();
  if (!options_.page.empty() && !options_.is_sobel()) {
    page_ = std::make_unique<ImagePage>(count, options_.has_common_palette());
  }
  if (options_.has_several() && options_.palette_of_all && given_.empty() && !options_.is_sobel()) {
    cluster_all(threads);
  }
  for (std::size_t i = 0; i < count; ++i) options_.is_sobel() ? find_edges(i, threads) : reduce(i, threads);
  if (!options_.has_several()) return;
  report.points = PointsReport{fmt::format("{} and {} more", options_.pictures.front(), count - 1), pixels_,
                               options_.is_sobel()      ? 1
                               : options_.spatial > 0.0 ? 5
                                                        : 3,
                               "values of pixels", false};
}

void ImageJob::find_edges(std::size_t i, Threads& threads) {
  const data::Picture picture = first_ ? std::move(*first_) : read(options_.pictures[i]);
  progress.phase("edges", 0);
  report.points = PointsReport{options_.pictures[i], picture.size.height, picture.size.width,
                               fmt::format("{} pixels of {} bits", picture.format, picture.bits), false};
  report.backend = "cpu";
  report.threads = threads.count();
  pixels_ += picture.size.pixels();
  std::vector<std::uint8_t> grey(picture.pixels.size()), edges(grey.size());
  cpu::grey_values(picture.pixels, grey, threads);
  cpu::sobel(grey, picture.size, edges, threads);
  begin_write();
  data::PngPicture out{picture.size};
  out.pixels = edges;
  out.channels = 1;
  data::write_png(image_target_.names[i], output, out);
}

ColorClusters ImageJob::clusters_of(const Matrix<float>& rows, const std::vector<double>& counts,
                                    const std::string& name) {
  if (!backend_) {
    const Work iterate{.phase = "iterate",
                       .operation = Operation::iterate,
                       .times = KMeansOptions().max_iterations,
                       .size = options_.colors,
                       .at_most = true};
    backend_ =
        choose_backend(*this, {rows.rows(), rows.columns(), rows.size() * std::int64_t{sizeof(float)}, {iterate}});
  }
  ColorClusters clusters = cluster_colors(rows, counts, given_, options_, name, *backend_, progress);
  const double before = report.inertia.value_or(0.0);
  if (given_.empty() && options_.has_common_palette()) note_iterations(report, clusters.result);
  report.inertia = before + clusters.result.inertia;  // of several pictures: the sum
  return clusters;
}

void ImageJob::cluster_all(Threads& threads) {
  for (const std::string& file : options_.pictures) {
    const data::Picture picture = read(file);
    progress.phase("prepare", 0);
    all_colors_.add(cpu::DistinctColors(picture.pixels, picture.bits, threads).colors());
  }
  if (all_colors_.size() == 0) {
    throw Error(ExitCode::data, fmt::format("{} and {} more: expected a visible pixel, found only transparent ones",
                                            kith::quoted(options_.pictures.front()), options_.pictures.size() - 1));
  }
  const Matrix<float> rows = color_rows(all_colors_, space_, threads);
  all_clusters_ = clusters_of(rows, all_colors_.counts, fmt::format("the {} pictures", options_.pictures.size()));
}

void ImageJob::reduce(std::size_t i, Threads& threads) {
  const std::string& file = options_.pictures[i];
  Reduced reduced{first_ ? std::move(*first_) : read(file), {}, {}};
  const data::Picture& picture = reduced.picture;
  report.points = PointsReport{file, picture.size.height, picture.size.width,
                               fmt::format("{} pixels of {} bits", picture.format, picture.bits), false};
  pixels_ += picture.size.pixels();
  progress.phase("prepare", 0);
  const cpu::DistinctColors distinct(picture.pixels, picture.bits, threads);
  reduced.labels.resize(picture.pixels.size());
  if (all_clusters_) {
    const std::vector<std::int32_t> own = cpu::labels_of(distinct.colors(), all_colors_, all_clusters_->result.labels);
    if (std::ranges::count(own, -1) > 0) {
      throw Error(ExitCode::data, fmt::format("{}: the file changed while kith read it twice; run the command again",
                                              kith::quoted(file)));
    }
    reduced.palette = all_clusters_->palette;
    distinct.spread(own, reduced.labels);
  } else {
    if (distinct.size() == 0) {
      throw Error(ExitCode::data,
                  fmt::format("{}: expected a visible pixel, found only transparent ones", kith::quoted(file)));
    }
    const bool is_spatial = options_.spatial > 0.0;
    ColorClusters clusters =
        is_spatial ? clusters_of(pixel_rows(picture.pixels, picture.size, space_, options_.spatial), {}, file)
                   : clusters_of(color_rows(distinct.colors(), space_, threads), distinct.counts(), file);
    reduced.palette = std::move(clusters.palette);
    progress.phase("assign", 0);
    if (!is_spatial) distinct.spread(clusters.result.labels, reduced.labels);
    for (std::size_t n = 0, row = 0; is_spatial && n < reduced.labels.size(); ++n) {
      reduced.labels[n] = picture.pixels[n].alpha == 0 ? -1 : clusters.result.labels[row++];
    }
  }
  if (options_.dither) {
    progress.phase("dither", 0);
    std::vector<Pixel> colors;
    for (const PaletteColor& entry : reduced.palette) colors.push_back(entry.color);
    cpu::dither(picture.pixels, picture.size, colors, reduced.labels);
  }
  if (options_.dither || all_clusters_) {
    for (PaletteColor& entry : reduced.palette) entry.pixels = 0;
    for (const std::int32_t label : reduced.labels) {
      if (label >= 0) ++reduced.palette[label].pixels;
    }
  }
  finish(i, reduced, distinct, threads);
}

void ImageJob::begin_write() {
  progress.phase("write", 0);
  if (!target.empty()) make_folder(image_target_);
}

void ImageJob::finish(std::size_t i, Reduced& reduced, const cpu::DistinctColors& distinct, Threads& threads) {
  const std::string& file = options_.pictures[i];
  if (common_palette_.empty()) {
    common_palette_ = reduced.palette;
  } else if (options_.has_common_palette()) {
    for (std::size_t c = 0; c < common_palette_.size(); ++c) common_palette_[c].pixels += reduced.palette[c].pixels;
  }
  if (target.empty() && !options_.has_common_palette()) {
    tables_ += fmt::format("{}{}\n{}", tables_.empty() ? "" : "\n", kith::quoted(file), palette_table(reduced.palette));
  }
  std::vector<Pixel> colors;
  for (const PaletteColor& entry : reduced.palette) colors.push_back(entry.color);
  double error = 0.0;
  if (page_ && distinct.size() > 0) {
    progress.phase("draw", 0);
    error = std::sqrt(cpu::mean_squared_error(distinct, reduced.picture.pixels, reduced.labels, colors, threads));
  }
  if (!options_.labels.empty()) write_labels(reduced);
  if (options_.edges == "regions") {
    const std::vector<std::uint8_t> borders = cpu::region_borders(reduced.labels, reduced.picture.size, threads);
    const auto border = static_cast<std::int32_t>(colors.size());
    for (std::size_t n = 0; n < borders.size(); ++n) {
      if (borders[n] != 0 && reduced.labels[n] >= 0) reduced.labels[n] = border;
    }
    colors.push_back({0, 0, 0, 65535});
  }
  if (!target.empty()) {
    begin_write();
    write_reduced(image_target_.names[i], output, reduced.picture, reduced.labels, colors);
  }
  if (!page_) return;
  progress.phase("draw", 0);
  page_->add({file, reduced.picture, distinct.size(), error}, reduced.labels, colors, reduced.palette, threads);
}

void ImageJob::write_labels(const Reduced& reduced) {
  const PictureSize size = reduced.picture.size;
  progress.phase("write", 0);
  data::ResultFile file(options_.labels, other_output({".h5"}));
  write_origin(file, "kith-picture", stored_command());
  file.create_matrix<std::int32_t>("labels", size.height, size.width);
  file.write_rows<std::int32_t>("labels", 0, {reduced.labels.data(), size.height, size.width});
  file.finish();
}

void ImageJob::show() {
  for (const auto& [note, files] : noted_) {
    const std::string more = files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : "";
    progress.warning(fmt::format("{}{}: {}", kith::quoted(*files.begin()), more, note));
  }
  if (options_.is_sobel()) return;
  // A run that writes the picture prints the colours if it is asked for them.
  if (target.empty() || !options_.palette.empty()) {
    print(options_.has_common_palette() ? palette_table(common_palette_) : tables_, Styles::keep);
  }
  if (!options_.palette.empty()) {
    progress.phase("write", 0);
    write_palette(options_.palette, other_output(palette_endings()), stored_command(), common_palette_);
  }
  if (!page_) return;
  progress.phase("write", 0);
  data::write_text_file(options_.page, other_output({".html", ".htm"}), page_->html(common_palette_, stored_command()));
}

}  // namespace

int run_image(const Arguments& arguments) {
  ImageOptions options;
  OptionSet set({.command = "image",
                 .summary = "fewer colours in pictures by k-means; borders of regions, and edges.",
                 .usage = "PICTURE... [-k K] [-o OUT.png] [options]",
                 .examples = {"kith image photo.jpg -k 16 -o few.png",
                              "kith image photo.jpg -k 8 --palette colors.png     # prints the colours, too",
                              "kith image photo.jpg -k 16 -o few.png --page few.html  # before and after",
                              "kith image *.jpg -k 16 --palette-of-all -o few/    # one palette",
                              "kith image photo.jpg -k 30 --spatial 1 --edges regions -o regions.png",
                              "kith image scan.png --edges sobel -o edges.png"},
                 .first = {"-k", "-o", "--edges", "--palette", "--page"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  ImageJob job(set, options);
  job.open();
  const bool has_result = !options.labels.empty() || !options.palette.empty();
  if (!begin(job, {.stored_command = job.stored_command(), .writes_result = has_result})) return 0;
  job.compute();
  end_computation(job);
  job.show();
  begin_write(job);
  return finish(job, "");
}

}  // namespace kith::app
