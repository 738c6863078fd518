# downbeat-bench needs MPI, and CLI11, fmt, nlohmann-json and netCDF-C: from the system or from CMAKE_PREFIX_PATH, else the
# headers in DOWNBEAT_HEADERS and the library DOWNBEAT_NETCDF_LIBRARY, which `downbeat build` names (docs/install.md).
set(DOWNBEAT_HEADERS "" CACHE PATH "Directory with CLI/, fmt/, nlohmann/ and netcdf.h, where the system has them not")
set(DOWNBEAT_NETCDF_LIBRARY "" CACHE FILEPATH "libnetcdf to link with netcdf.h of DOWNBEAT_HEADERS")
set(missing "")

# A library of headers alone. They are system headers: their warnings are not ours.
function(downbeat_header_library target header)
    if(NOT TARGET ${target} AND DOWNBEAT_HEADERS AND EXISTS "${DOWNBEAT_HEADERS}/${header}")
        add_library(${target} INTERFACE IMPORTED GLOBAL)
        target_include_directories(${target} SYSTEM INTERFACE "${DOWNBEAT_HEADERS}")
    endif()
    if(NOT TARGET ${target})
        list(APPEND missing ${ARGN})
        set(missing "${missing}" PARENT_SCOPE)
    endif()
endfunction()

find_package(CLI11 CONFIG QUIET)
downbeat_header_library(CLI11::CLI11 CLI/CLI.hpp CLI11)
find_package(fmt CONFIG QUIET)
if(NOT TARGET fmt::fmt)
    downbeat_header_library(fmt::fmt fmt/format.h fmt)
    if(TARGET fmt::fmt)
        set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
    endif()
endif()
find_package(nlohmann_json CONFIG QUIET)
downbeat_header_library(nlohmann_json::nlohmann_json nlohmann/json.hpp nlohmann-json)

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(NETCDF QUIET IMPORTED_TARGET GLOBAL netcdf)
endif()
add_library(downbeat::netcdf INTERFACE IMPORTED GLOBAL)
if(NETCDF_FOUND)
    target_link_libraries(downbeat::netcdf INTERFACE PkgConfig::NETCDF)
else()
    # Without a .pc file, e.g. in a module of a cluster; or that of the Python package netCDF4.
    find_path(NETCDF_INCLUDE_DIR netcdf.h HINTS ENV NETCDF_DIR ENV NETCDF_ROOT PATH_SUFFIXES include)
    find_library(NETCDF_LIBRARY netcdf HINTS ENV NETCDF_DIR ENV NETCDF_ROOT PATH_SUFFIXES lib lib64)
    if(NETCDF_INCLUDE_DIR AND NETCDF_LIBRARY)
        target_include_directories(downbeat::netcdf SYSTEM INTERFACE "${NETCDF_INCLUDE_DIR}")
        target_link_libraries(downbeat::netcdf INTERFACE "${NETCDF_LIBRARY}")
    elseif(DOWNBEAT_HEADERS AND EXISTS "${DOWNBEAT_HEADERS}/netcdf.h" AND DOWNBEAT_NETCDF_LIBRARY)
        # The libraries that it needs are beside it.
        get_filename_component(netcdf_dir "${DOWNBEAT_NETCDF_LIBRARY}" DIRECTORY)
        target_include_directories(downbeat::netcdf SYSTEM INTERFACE "${DOWNBEAT_HEADERS}")
        target_link_libraries(downbeat::netcdf INTERFACE "${DOWNBEAT_NETCDF_LIBRARY}")
        target_link_options(downbeat::netcdf INTERFACE "LINKER:-rpath-link,${netcdf_dir}")
    else()
        list(APPEND missing netCDF-C)
    endif()
endif()

if(missing)
    list(JOIN missing ", " names)
    message(FATAL_ERROR "downbeat-bench needs ${names}. Debian: libcli11-dev libfmt-dev nlohmann-json3-dev libnetcdf-dev; "
                        "Spack: cli11 fmt nlohmann-json netcdf-c; conda-forge: cli11 fmt nlohmann_json libnetcdf. "
                        "Without downbeat-bench: -DDOWNBEAT_BUILD_BENCH=OFF")
endif()

# Traces for Vampir; without it a .otf2 file is refused with a message.
if(PKG_CONFIG_FOUND)
    pkg_check_modules(OTF2 QUIET IMPORTED_TARGET GLOBAL otf2>=3.0)
endif()
