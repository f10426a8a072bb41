# SPDX-License-Identifier: Apache-2.0
# An overlay port: it installs the checkout that it lies in. Nothing is compiled, and no dependency is looked for.
set(VCPKG_BUILD_TYPE release)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DDISTRIB_COMPONENTS=core
        -DDISTRIB_INSTALL=ON
        -DDISTRIB_BUILD_TESTS=OFF
        -DDISTRIB_BUILD_EXAMPLES=OFF
        -DDISTRIB_BUILD_BENCHMARKS=OFF
        -DDISTRIB_BUILD_TOOLS=OFF
        -DDISTRIB_BUILD_DOCS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/distrib)
file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/lib/pkgconfig") # it names libraries, so vcpkg wants it there
file(RENAME "${CURRENT_PACKAGES_DIR}/share/pkgconfig/distrib.pc" "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/distrib.pc")
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/share/cmake"
    "${CURRENT_PACKAGES_DIR}/share/licenses"
    "${CURRENT_PACKAGES_DIR}/share/pkgconfig"
)
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
