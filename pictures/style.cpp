// The style sheet of all pictures: fonts, lines, and colours for light and dark backgrounds.
//
// The cluster colours come from M. Okabe, K. Ito: Color Universal Design (2008) and are distinguishable with any colour
// blindness. They are made darker or lighter until their contrast with the background is 3 to 1; grey replaces black.
// The colours of the heat map range from blue to orange.
#include "pictures/svg.h"

namespace kith::pictures {

const std::string& style() {
  static const std::string text = R"(.kith text{font:14px system-ui,sans-serif;fill:#1c1f23}
.kith .small{font-size:12px}
.kith .soft{fill:#565c64}
.kith .end{text-anchor:end}
.kith .middle{text-anchor:middle}
.kith .halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round;font-weight:700}
.kith .paper{fill:#fff}
.kith .grid{stroke:#dfe3e8;stroke-width:1;fill:none}
.kith .axis{stroke:#8b929b;stroke-width:1;fill:none}
.kith .outline{stroke:#8b929b;stroke-width:1}
.kith .mark{stroke:#1c1f23;stroke-width:1.5;fill:none;stroke-dasharray:4 3}
.kith .curve{fill:none;stroke-width:2;stroke-linejoin:round}
.kith .dots{fill:none;stroke-width:3.6;stroke-linecap:round}
.kith .cells{shape-rendering:crispEdges}
.kith .pixels{image-rendering:pixelated}
.kith .o0{fill-opacity:.28}
.kith .o1{fill-opacity:.46}
.kith .o2{fill-opacity:.64}
.kith .o3{fill-opacity:.82}
.c0{fill:#0072b2}.c1{fill:#c68000}.c2{fill:#008a65}.c3{fill:#b9568f}
.c4{fill:#2e93d0}.c5{fill:#d55e00}.c6{fill:#978c00}.c7{fill:#6e6e6e}
.s0{stroke:#0072b2}.s1{stroke:#c68000}.s2{stroke:#008a65}.s3{stroke:#b9568f}
.s4{stroke:#2e93d0}.s5{stroke:#d55e00}.s6{stroke:#978c00}.s7{stroke:#6e6e6e}
.h0{fill:#0b4f8a}.h1{fill:#2f7dbd}.h2{fill:#79b0dc}.h3{fill:#c0dbef}.h4{fill:#f0f1f2}
.h5{fill:#f8d5a8}.h6{fill:#eba54e}.h7{fill:#c96f10}.h8{fill:#8a4500}
@media (prefers-color-scheme:dark){
.kith text{fill:#e8eaed}
.kith .soft{fill:#adb4bc}
.kith .halo{stroke:#15181c}
.kith .paper{fill:#15181c}
.kith .grid{stroke:#2f353c}
.kith .axis{stroke:#767e88}
.kith .outline{stroke:#767e88}
.kith .mark{stroke:#e8eaed}
.c0{fill:#3f8fd2}.c1{fill:#e69f00}.c2{fill:#22b58a}.c3{fill:#dc8fbb}
.c4{fill:#93d3f8}.c5{fill:#f0803c}.c6{fill:#f0e442}.c7{fill:#a5a5a5}
.s0{stroke:#3f8fd2}.s1{stroke:#e69f00}.s2{stroke:#22b58a}.s3{stroke:#dc8fbb}
.s4{stroke:#93d3f8}.s5{stroke:#f0803c}.s6{stroke:#f0e442}.s7{stroke:#a5a5a5}
.h0{fill:#9fd3ff}.h1{fill:#5aa6e6}.h2{fill:#3377b0}.h3{fill:#294d6c}.h4{fill:#2a2f36}
.h5{fill:#61451f}.h6{fill:#a86a17}.h7{fill:#e59a35}.h8{fill:#ffcf87}
}
)";
  return text;
}

}  // namespace kith::pictures
