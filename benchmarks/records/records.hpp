// SPDX-License-Identifier: Apache-2.0
// The record types that several benchmarks use.
#pragma once

#include <distrib/example/feature.hpp>
#include <distrib/example/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// A row of the Criteo data set: 13 numbers, 26 categories and a label, 40 features.
struct Click {
  float i1 = 0, i2 = 0, i3 = 0, i4 = 0, i5 = 0, i6 = 0, i7 = 0, i8 = 0, i9 = 0, i10 = 0, i11 = 0, i12 = 0, i13 = 0;
  std::int64_t c1 = 0, c2 = 0, c3 = 0, c4 = 0, c5 = 0, c6 = 0, c7 = 0, c8 = 0, c9 = 0, c10 = 0, c11 = 0, c12 = 0,
               c13 = 0, c14 = 0, c15 = 0, c16 = 0, c17 = 0, c18 = 0, c19 = 0, c20 = 0, c21 = 0, c22 = 0, c23 = 0,
               c24 = 0, c25 = 0, c26 = 0, label = 0;
};

inline constexpr auto clicks = distrib::schema<Click>(
    distrib::feature("I1", &Click::i1), distrib::feature("I2", &Click::i2), distrib::feature("I3", &Click::i3),
    distrib::feature("I4", &Click::i4), distrib::feature("I5", &Click::i5), distrib::feature("I6", &Click::i6),
    distrib::feature("I7", &Click::i7), distrib::feature("I8", &Click::i8), distrib::feature("I9", &Click::i9),
    distrib::feature("I10", &Click::i10), distrib::feature("I11", &Click::i11), distrib::feature("I12", &Click::i12),
    distrib::feature("I13", &Click::i13), distrib::feature("C1", &Click::c1), distrib::feature("C2", &Click::c2),
    distrib::feature("C3", &Click::c3), distrib::feature("C4", &Click::c4), distrib::feature("C5", &Click::c5),
    distrib::feature("C6", &Click::c6), distrib::feature("C7", &Click::c7), distrib::feature("C8", &Click::c8),
    distrib::feature("C9", &Click::c9), distrib::feature("C10", &Click::c10), distrib::feature("C11", &Click::c11),
    distrib::feature("C12", &Click::c12), distrib::feature("C13", &Click::c13), distrib::feature("C14", &Click::c14),
    distrib::feature("C15", &Click::c15), distrib::feature("C16", &Click::c16), distrib::feature("C17", &Click::c17),
    distrib::feature("C18", &Click::c18), distrib::feature("C19", &Click::c19), distrib::feature("C20", &Click::c20),
    distrib::feature("C21", &Click::c21), distrib::feature("C22", &Click::c22), distrib::feature("C23", &Click::c23),
    distrib::feature("C24", &Click::c24), distrib::feature("C25", &Click::c25), distrib::feature("C26", &Click::c26),
    distrib::feature("label", &Click::label));

/// An image and its label, as in Fashion-MNIST.
struct Picture {
  std::span<const std::byte> image;
  std::int64_t label = 0;
};
inline constexpr auto pictures =
    distrib::schema<Picture>(distrib::feature("image", &Picture::image), distrib::feature("label", &Picture::label));
