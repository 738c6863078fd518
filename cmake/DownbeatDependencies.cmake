# downbeat-bench needs MPI, and CLI11, fmt and nlohmann-json: from the system or from CMAKE_PREFIX_PATH, else the headers in
# DOWNBEAT_HEADERS, which `downbeat build` names (docs/install.md).
set(DOWNBEAT_HEADERS "" CACHE PATH "Directory with CLI/, fmt/ and nlohmann/, where the system has them not")
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
        file(STRINGS "${DOWNBEAT_HEADERS}/fmt/core.h" fmt_9 REGEX "#define FMT_VERSION 9")
        if(fmt_9)
            add_library(downbeat_fmt STATIC "${PROJECT_SOURCE_DIR}/cmake/fmt.cc")
            target_include_directories(downbeat_fmt SYSTEM PRIVATE "${DOWNBEAT_HEADERS}")
            target_link_libraries(fmt::fmt INTERFACE downbeat_fmt)
        else()
            target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
        endif()
    endif()
endif()
find_package(nlohmann_json CONFIG QUIET)
downbeat_header_library(nlohmann_json::nlohmann_json nlohmann/json.hpp nlohmann-json)

if(missing)
    list(JOIN missing ", " names)
    message(FATAL_ERROR "downbeat-bench needs ${names}. Debian: libcli11-dev libfmt-dev nlohmann-json3-dev; "
                        "Spack: cli11 fmt nlohmann-json. "
                        "Without downbeat-bench: -DDOWNBEAT_BUILD_BENCH=OFF")
endif()
