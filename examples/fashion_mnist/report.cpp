// SPDX-License-Identifier: Apache-2.0
// Draws the curves of a run from its event files: one page for a browser, with an SVG picture for each tag.
//   report EVENTS_DIR PAGE.html
#include <distrib/summary/event_reader.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Point {
  double step, value;
};

constexpr double width = 640, height = 300, left = 64, right = 16, top = 16, bottom = 36;

auto number(double value) -> std::string {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// Returns the picture of a curve, with five ticks on each axis.
auto picture(const std::string& tag, const std::vector<Point>& curve) -> std::string {
  const auto [low, high] = std::ranges::minmax(curve, {}, &Point::value);
  double bottom_value = low.value, top_value = high.value;
  if (top_value - bottom_value < 1e-9) bottom_value -= 0.5, top_value += 0.5;
  const double last = std::max(1.0, curve.back().step);
  const auto x = [&](double step) { return left + step / last * (width - left - right); };
  const auto y = [&](double value) {
    return height - bottom - (value - bottom_value) / (top_value - bottom_value) * (height - top - bottom);
  };
  std::string svg = "<h2>" + tag + " <small>last: " + number(curve.back().value) +
                    "</small></h2>\n<svg viewBox=\"0 0 " + number(width) + " " + number(height) +
                    "\" role=\"img\" aria-label=\"" + tag + "\">\n";
  for (int i = 0; i <= 4; ++i) {
    const double value = bottom_value + (top_value - bottom_value) * i / 4, step = last * i / 4;
    svg += "<path class=\"grid\" d=\"M" + number(left) + " " + number(y(value)) + "H" + number(width - right) + "\"/>" +
           "<text x=\"" + number(left - 8) + "\" y=\"" + number(y(value) + 4) + "\" class=\"y\">" + number(value) +
           "</text><text x=\"" + number(x(step)) + "\" y=\"" + number(height - 12) + "\" class=\"x\">" + number(step) +
           "</text>\n";
  }
  svg += "<polyline points=\"";
  for (const Point& point : curve) svg += number(x(point.step)) + "," + number(y(point.value)) + " ";
  return svg + "\"/>\n</svg>\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s EVENTS_DIR PAGE.html\n", argv[0]);
    return 64;
  }
  std::map<std::string, std::map<double, double>> curves;  // for each step the newest value
  const distrib::RunEvents run = distrib::read_run(argv[1]);
  for (const distrib::Error& failure : run.failures)  // the curves of the other files are drawn all the same
    std::fprintf(stderr, "warning: %s: %s\n", failure.where.c_str(), failure.code.message().c_str());
  for (const distrib::ScalarEvent& event : run.scalars)
    if (std::isfinite(event.value)) curves[event.tag][static_cast<double>(event.step)] = event.value;

  std::ofstream page{argv[2]};
  page << "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Training curves</title>\n<style>\n"
          "body{font:15px system-ui,sans-serif;max-width:720px;margin:2em auto;color:#223}h2{margin-bottom:0}\n"
          "small{font-weight:normal;color:#667}svg{width:100%}text{font-size:11px;fill:#667}.y{text-anchor:end}\n"
          ".x{text-anchor:middle}.grid{stroke:#dde}polyline{fill:none;stroke:#2563c9;stroke-width:1.6}\n</style>\n";
  for (const auto& [tag, by_step] : curves) {
    std::vector<Point> curve;
    for (const auto& [step, value] : by_step) curve.push_back({step, value});
    page << picture(tag, curve);
  }
  page.close();
  if (!page) throw std::runtime_error(std::string{"cannot write "} + argv[2]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
