// SPDX-License-Identifier: Apache-2.0
#pragma once

/// 1 if the test program runs with this sanitizer, otherwise 0. For tests that count memory, or that a sanitizer makes
/// very slow. g++ defines macros for it, clang has features.
#if defined(__has_feature)
#define DISTRIB_TEST_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#define DISTRIB_TEST_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#if defined(__SANITIZE_ADDRESS__)
#define DISTRIB_TEST_ADDRESS_SANITIZER 1
#else
#define DISTRIB_TEST_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__)
#define DISTRIB_TEST_THREAD_SANITIZER 1
#else
#define DISTRIB_TEST_THREAD_SANITIZER 0
#endif
#endif

/// 1 if the test program was built for another processor and runs under qemu, which takes ten to fifty times as long.
/// The CMake preset aarch64 says so, and tests/consumer/aarch64.sh.
#if !defined(DISTRIB_TEST_EMULATED)
#define DISTRIB_TEST_EMULATED 0
#endif
