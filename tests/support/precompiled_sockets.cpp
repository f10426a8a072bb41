// SPDX-License-Identifier: Apache-2.0
// Empty: CMake makes a precompiled header in a target, and a target has a unit.
