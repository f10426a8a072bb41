# SPDX-License-Identifier: Apache-2.0
# Toolchain file: builds for aarch64 Linux on another machine, with Debian's cross compiler, and runs what was built under
# qemu. DISTRIB_AARCH64_ROOT, a variable of CMake or of the environment, is a directory that has the libraries as an
# aarch64 machine has them in /; tools/aarch64.sh fills one from Debian's packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT DISTRIB_AARCH64_ROOT)
  if(DEFINED ENV{DISTRIB_AARCH64_ROOT})
    set(DISTRIB_AARCH64_ROOT $ENV{DISTRIB_AARCH64_ROOT})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(DISTRIB_AARCH64_ROOT $ENV{XDG_CACHE_HOME}/distrib/aarch64/root)
  else()
    set(DISTRIB_AARCH64_ROOT $ENV{HOME}/.cache/distrib/aarch64/root)
  endif()
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DISTRIB_AARCH64_ROOT)

set(CMAKE_FIND_ROOT_PATH ${DISTRIB_AARCH64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER) # protoc, python3: of this machine
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR}
    ${DISTRIB_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${DISTRIB_AARCH64_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${DISTRIB_AARCH64_ROOT})

# Debian keeps headers that differ by machine, as OpenSSL's configuration, in a directory of their own.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${DISTRIB_AARCH64_ROOT}/usr/include/aarch64-linux-gnu)
set(aarch64_libraries ${DISTRIB_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,-rpath-link,${aarch64_libraries}")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -E
                                  LD_LIBRARY_PATH=${aarch64_libraries}:/usr/aarch64-linux-gnu/lib)
