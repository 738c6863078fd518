# Installation of libdownbeat, and its CMake package and pkg-config files for the installed tree and the build tree.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/downbeat")

# Writes <set>.cmake, the targets of an export set, for both trees.
function(downbeat_export set)
    install(EXPORT ${set} NAMESPACE downbeat:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/downbeat")
    export(EXPORT ${set} NAMESPACE downbeat:: FILE "${PROJECT_BINARY_DIR}/${set}.cmake")
endfunction()

# Writes <name>.pc of cmake/<name>.pc.in for both trees. Installed: the prefix is found from the place of the file, so that the
# tree can be moved. Build tree: pkg-config takes <name>-uninstalled.pc when it is on PKG_CONFIG_PATH.
function(downbeat_pkg_config name installed_includedir built_includedir)
    set(pc_template "${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in")
    set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
    file(RELATIVE_PATH pc_prefix "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
    string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
    file(RELATIVE_PATH pc_libdir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    cmake_path(ABSOLUTE_PATH installed_includedir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
    file(RELATIVE_PATH pc_includedir "${CMAKE_INSTALL_PREFIX}" "${installed_includedir}")
    set(pc_rpath " -Wl,-rpath,\${libdir}") # so that programs run without LD_LIBRARY_PATH
    set(pc_libdir "\${prefix}/${pc_libdir}")
    set(pc_includedir "\${prefix}/${pc_includedir}")
    configure_file("${pc_template}" "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

    set(pc_prefix "${PROJECT_BINARY_DIR}")
    set(pc_libdir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
    set(pc_includedir "${built_includedir}")
    configure_file("${pc_template}" "${PROJECT_BINARY_DIR}/${name}-uninstalled.pc" @ONLY)
endfunction()

install(DIRECTORY include/ TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS downbeat downbeat_static EXPORT downbeatTargets)
downbeat_export(downbeatTargets)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/downbeatConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/downbeatConfig.cmake" INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
# Before 1.0.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/downbeatConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/downbeatConfig.cmake" "${PROJECT_BINARY_DIR}/downbeatConfigVersion.cmake"
        DESTINATION ${package_dir})

# pkg-config. The library belongs to one MPI library; its flags are written out, so that a plain cc finds that one and
# no other, even if an MPI library ships no .pc file of its own. For C++ they leave out the removed C++ bindings.
set(pc_mpi_cflags ${MPI_C_COMPILE_OPTIONS} -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
foreach(dir IN LISTS MPI_C_INCLUDE_DIRS)
    list(APPEND pc_mpi_cflags "-I${dir}")
endforeach()
set(pc_mpi_libs "${MPI_C_LIBRARIES}")
list(JOIN pc_mpi_cflags " " pc_mpi_cflags)
list(JOIN pc_mpi_libs " " pc_mpi_libs)
set(pc_mpi_libs "${pc_mpi_libs} ${MPI_C_LINK_FLAGS}")
string(STRIP "${pc_mpi_libs}" pc_mpi_libs)
downbeat_pkg_config(downbeat "${CMAKE_INSTALL_INCLUDEDIR}" "${CMAKE_CURRENT_SOURCE_DIR}/include")

# A drop-in for who uses the authors' library (github.com/devreal/mpix-harmonize): its names for pkg-config and CMake.
downbeat_pkg_config(mpix-harmonize "${CMAKE_INSTALL_INCLUDEDIR}" "${CMAKE_CURRENT_SOURCE_DIR}/include")
install(FILES "${PROJECT_SOURCE_DIR}/cmake/mpixharmonize-config.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/mpixharmonize")
