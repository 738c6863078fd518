# Finds the MPI library: MPI::MPI_C and MPI::MPI_CXX. DOWNBEAT_MPI names one of the libraries below (docs/install.md);
# where it is empty, the library that CMake finds is taken. With DOWNBEAT_MPI_ABI programs are built for the standard ABI,
# and run under every library that has it. `simgrid` is a simulator, not a library (DownbeatSimgrid.cmake).
include(CheckCSourceCompiles)

# For the wheel (packaging/wheel): nothing is linked with an MPI library. The program that the user starts loads one, then
# what is built here, in which a function that the library lacks is missed only when it is called.
set(DOWNBEAT_MPI_HEADERS "" CACHE PATH "Directory of mpi.h, to build for any MPI library of its ABI")
if(DOWNBEAT_MPI_HEADERS)
    foreach(lang IN ITEMS C CXX)
        add_library(MPI::MPI_${lang} INTERFACE IMPORTED)
        target_include_directories(MPI::MPI_${lang} SYSTEM INTERFACE "${DOWNBEAT_MPI_HEADERS}")
        target_link_options(MPI::MPI_${lang} INTERFACE LINKER:-z,undefs LINKER:-z,lazy)
    endforeach()
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    return()
endif()

# How mpi.h identifies each library; openmpi and mpich are the system's, of any version.
set(downbeat_mpis openmpi mpich openmpi5 mpich5 intelmpi simgrid)
set(is_openmpi "defined OPEN_MPI")
set(is_mpich "defined MPICH_VERSION && !defined I_MPI_VERSION")
set(is_openmpi5 "defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5")
set(is_mpich5 "defined MPICH_VERSION && !defined I_MPI_VERSION && MPICH_NUMVERSION >= 50000000")
set(is_intelmpi "defined I_MPI_VERSION")
set(is_abi "defined MPI_ABI_VERSION")

if(DOWNBEAT_MPI AND NOT DOWNBEAT_MPI IN_LIST downbeat_mpis)
    list(JOIN downbeat_mpis ", " valid)
    message(FATAL_ERROR "DOWNBEAT_MPI is '${DOWNBEAT_MPI}'; valid are ${valid} and the empty string")
endif()
set(DOWNBEAT_SIMULATED OFF)
if(DOWNBEAT_MPI STREQUAL "simgrid")
    include(DownbeatSimgrid)
    return()
endif()

# Forgets what was found, so that the next configuration looks again; MPI_HOME is the user's.
macro(downbeat_forget_mpi)
    get_cmake_property(cached CACHE_VARIABLES)
    list(FILTER cached INCLUDE REGEX "^(MPI_|DOWNBEAT_MPI_MATCHES|DOWNBEAT_MPI_FOUND)")
    list(REMOVE_ITEM cached MPI_HOME)
    foreach(name IN LISTS cached)
        unset(${name} CACHE)
    endforeach()
endmacro()

# Debian installs several libraries side by side, each compiler wrapper with its library's name as suffix; those that
# tools/setup fetches are in .mpi. A place that the user gives goes first, a plain wrapper on the path comes last.
if(DOWNBEAT_MPI OR DOWNBEAT_MPI_ABI)
    set(places ${MPI_HOME} $ENV{MPI_HOME} "${PROJECT_SOURCE_DIR}/.mpi/${DOWNBEAT_MPI}")
    list(TRANSFORM places APPEND /bin)
    foreach(lang_wrapper IN ITEMS "C mpicc" "CXX mpicxx")
        separate_arguments(lang_wrapper)
        list(GET lang_wrapper 0 lang)
        list(GET lang_wrapper 1 wrapper)
        if(DOWNBEAT_MPI_ABI)
            string(APPEND wrapper _abi)
        endif()
        find_program(found_${lang} ${wrapper} PATHS ${places} NO_DEFAULT_PATH NO_CACHE)
        find_program(found_${lang} NAMES ${wrapper}.${DOWNBEAT_MPI} ${wrapper} NO_CACHE)
    endforeach()
    # An earlier configuration may have seen another library, or this one elsewhere. A wrapper that the user names stays.
    set(gone OFF)
    get_cmake_property(cached CACHE_VARIABLES)
    list(FILTER cached INCLUDE REGEX "^MPI_.*(LIBRARY|_COMPILER|HEADER_DIR)$")
    foreach(name IN LISTS cached)
        if(IS_ABSOLUTE "${${name}}" AND NOT EXISTS "${${name}}")
            set(gone ON)
        endif()
    endforeach()
    if("${MPI_C_COMPILER}" STREQUAL "${DOWNBEAT_MPI_FOUND}" AND (gone OR NOT "${found_C}" STREQUAL "${MPI_C_COMPILER}"))
        downbeat_forget_mpi()
    endif()
    foreach(lang IN ITEMS C CXX)
        if(found_${lang} AND NOT MPI_${lang}_COMPILER)
            set(MPI_${lang}_COMPILER "${found_${lang}}" CACHE FILEPATH "MPI compiler for ${lang}")
            set(DOWNBEAT_MPI_FOUND "${found_C}" CACHE INTERNAL "MPI_C_COMPILER, if the user has not named it")
        endif()
    endforeach()
    if(NOT MPI_C_COMPILER OR NOT MPI_CXX_COMPILER)
        downbeat_forget_mpi()
        message(FATAL_ERROR "DOWNBEAT_MPI is '${DOWNBEAT_MPI}', and no compiler wrapper of it was found; "
                            "`tools/setup ${DOWNBEAT_MPI}` installs it, or set MPI_HOME to where it is")
    endif()
endif()

set(MPI_CXX_SKIP_MPICXX ON) # the C++ bindings were removed from MPI 3.0
find_package(MPI 3.1 REQUIRED COMPONENTS C CXX)

# Whether MPI's header is that of a library.
function(downbeat_check_mpi name result)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
    check_c_source_compiles("
        #include <mpi.h>
        #if !(${is_${name}})
        #error
        #endif
        int main(void) { return 0; }" ${result})
endfunction()

if(DOWNBEAT_MPI_ABI)
    downbeat_check_mpi(abi DOWNBEAT_MPI_MATCHES_ABI)
    if(NOT DOWNBEAT_MPI_MATCHES_ABI)
        message(FATAL_ERROR "DOWNBEAT_MPI_ABI is on, but ${MPI_C_COMPILER} has not the header of the standard ABI")
    endif()
elseif(DOWNBEAT_MPI)
    downbeat_check_mpi(${DOWNBEAT_MPI} DOWNBEAT_MPI_MATCHES)
    if(NOT DOWNBEAT_MPI_MATCHES)
        set(compiler "${MPI_C_COMPILER}")
        downbeat_forget_mpi()
        message(FATAL_ERROR "DOWNBEAT_MPI is '${DOWNBEAT_MPI}', but ${compiler} belongs to another MPI library; "
                            "`tools/setup ${DOWNBEAT_MPI}` installs it, or set MPI_HOME to where it is")
    endif()
endif()
