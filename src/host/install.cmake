# SPDX-License-Identifier: Apache-2.0
# What a user of the library gets: libraries, headers, pkg-config and CMake package files.
include(CMakePackageConfigHelpers)

install(TARGETS doca_gpunetio_host doca_gpunetio_host_static EXPORT gdakiTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES "$<TARGET_FILE_DIR:doca_gpunetio_host>/libdoca_gpunetio.so" DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION ${GDAKI_INCLUDE_ROOT})

set(GDAKI_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/gdaki")
install(EXPORT gdakiTargets NAMESPACE gdaki:: DESTINATION ${GDAKI_PACKAGE_DIR})
configure_package_config_file(gdakiConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/gdakiConfig.cmake"
                              INSTALL_DESTINATION ${GDAKI_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/gdakiConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/gdakiConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/gdakiConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/GdakiCpuKernel.cmake" DESTINATION ${GDAKI_PACKAGE_DIR})

# One content under two names: the project's, and the one that says what is linked.
file(RELATIVE_PATH GDAKI_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/") # files may be moved after the install
foreach(name gdaki doca-gpunetio-host)
  set(GDAKI_PC_NAME ${name})
  configure_file(pkgconfig.in "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
