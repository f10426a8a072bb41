// SPDX-License-Identifier: Apache-2.0
// usage: consumer global|local FIRST SECOND
// Loads both plugins, with symbols visible to each other (global) or not (local). Each plugin then trains, and calls a
// server in the other.
#include "plugin.hpp"

#include "shelf.pb.h"

#include <dlfcn.h>

#include <cstdio>

namespace {

auto load(const char* file, int visible) -> const Plugin* {
  void* const library = ::dlopen(file, RTLD_NOW | visible);
  void* const function = library != nullptr ? ::dlsym(library, "plugin") : nullptr;
  if (function == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
  return function != nullptr ? reinterpret_cast<const Plugin* (*)()>(function)() : nullptr;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc != 4) return 64;
  const int visible = argv[1][0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL;
  const Plugin* const first = load(argv[2], visible);
  const Plugin* const second = load(argv[3], visible);
  if (first == nullptr || second == nullptr) return 1;
  consumer::Shelf shelf;  // the program uses the generated messages too
  shelf.add_examples();
  const bool well = first->messages() && second->messages() && first->serve(second->call) &&
                    second->serve(first->call) && first->train() && second->train() && shelf.examples_size() == 1;
  if (!well) std::fprintf(stderr, "with %s symbols a plugin failed\n", argv[1]);
  return well ? 0 : 1;
}
