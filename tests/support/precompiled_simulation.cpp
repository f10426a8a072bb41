// SPDX-License-Identifier: Apache-2.0
// Empty: CMake builds a precompiled header as part of a target, and a target needs a source file.
