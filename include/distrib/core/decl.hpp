// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decides where the bodies of functions that are not templates are compiled. Default: in every translation unit. With
// DISTRIB_SEPARATE_COMPILATION: only in the one unit of the program that includes <distrib/src.hpp>; the library
// distrib::compiled is such a unit, ready to link. All units of a program must choose the same way: a unit that does
// not define DISTRIB_SEPARATE_COMPILATION compiles the bodies too, and then the program has two copies.

#ifdef DISTRIB_SEPARATE_COMPILATION
/// Marks a function that is not a template, on its declaration in a header and on its body in an `.ipp`. Expands to
/// `inline`, or to nothing in programs that define `DISTRIB_SEPARATE_COMPILATION`.
#define DISTRIB_DECL
#else
#define DISTRIB_DECL inline
/// Defined if headers include the bodies of their functions.
#define DISTRIB_HEADER_ONLY
#endif
