// Declares the options of kith image.
#include "app/image/image_options.h"

namespace kith::app {

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
  set["--seed"].stored = Stored::always;
  set["--seed"].no_effect = {sobel, given};
}

ColorSpace color_space(const ImageOptions& options) {
  return options.space == "lab" ? ColorSpace::lab : options.space == "linear" ? ColorSpace::linear : ColorSpace::srgb;
}

}  // namespace kith::app
