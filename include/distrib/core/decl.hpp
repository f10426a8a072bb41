// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the bodies of plain functions are compiled: in every unit (the default), or in the one unit of a program that
// includes <distrib/src.hpp>, of which distrib::compiled is a ready-made library. All units of a program choose the same
// way: a unit that does not define DISTRIB_SEPARATE_COMPILATION has the bodies itself, and then there are two.

#ifdef DISTRIB_SEPARATE_COMPILATION
/// Marks a plain function on its declaration in a header and on its body in an `.ipp`: `inline`, or nothing in programs
/// that define `DISTRIB_SEPARATE_COMPILATION`.
#define DISTRIB_DECL
#else
#define DISTRIB_DECL inline
/// Defined where headers include their bodies.
#define DISTRIB_HEADER_ONLY
#endif
