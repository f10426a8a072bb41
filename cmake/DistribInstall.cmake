# SPDX-License-Identifier: Apache-2.0
# Installs the headers and the packages for CMake and pkg-config. Everything is relative to the package, so a prefix may
# be moved.

include(CMakePackageConfigHelpers)
set(distrib_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/distrib)

install(TARGETS distrib_core distrib_record distrib_rpc distrib_tensor distrib_same_bits distrib_distrib EXPORT distribTargets
        FILE_SET HEADERS FILE_SET bodies)
install(EXPORT distribTargets NAMESPACE distrib:: DESTINATION ${distrib_package_dir})

# Headers of optional components belong to no exported target, because the consumer makes those; nor do .proto sources.
file(GLOB_RECURSE optional_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include/distrib
     ${PROJECT_SOURCE_DIR}/include/distrib/*.hpp ${PROJECT_SOURCE_DIR}/include/distrib/*.proto)
list(FILTER optional_headers INCLUDE REGEX "^(${distrib_optional_headers})")
foreach(header IN LISTS optional_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES include/distrib/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/distrib/${folder})
endforeach()

configure_package_config_file(cmake/distribConfig.cmake.in ${PROJECT_BINARY_DIR}/distribConfig.cmake
                              INSTALL_DESTINATION ${distrib_package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/distribConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
set(package_files ${PROJECT_BINARY_DIR}/distribConfig.cmake ${PROJECT_BINARY_DIR}/distribConfigVersion.cmake
                  cmake/Findasio.cmake cmake/DistribComponents.cmake cmake/DistribHttp.cmake cmake/DistribIsal.cmake
                  cmake/DistribCompiled.cmake cmake/DistribKafka.cmake cmake/DistribLibtorch.cmake cmake/DistribTls.cmake)
if(distrib_proto)
  list(APPEND package_files ${distrib_proto})
endif()
install(FILES ${package_files} DESTINATION ${distrib_package_dir})

set(distrib_pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH distrib_prefix_from_pkgconfig /${distrib_pkgconfig_dir} /)
configure_file(cmake/distrib.pc.in ${PROJECT_BINARY_DIR}/distrib.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/distrib.pc DESTINATION ${distrib_pkgconfig_dir})

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/distrib)
