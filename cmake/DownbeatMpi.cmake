# Finds the MPI library: MPI::MPI_C and MPI::MPI_CXX. Sets DOWNBEAT_MPI_FAMILY to openmpi or mpich, the name by which
# tools/launch knows its launcher, or to the empty string for a library that is neither.
include(CheckCSourceCompiles)

if(DOWNBEAT_MPI AND NOT DOWNBEAT_MPI MATCHES "^(openmpi|mpich)$")
    message(FATAL_ERROR "DOWNBEAT_MPI is '${DOWNBEAT_MPI}'; valid are openmpi, mpich and the empty string")
endif()

# Debian installs several libraries side by side, each compiler wrapper with its library's name as suffix.
if(DOWNBEAT_MPI)
    foreach(lang_wrapper IN ITEMS "C mpicc" "CXX mpicxx")
        separate_arguments(lang_wrapper)
        list(GET lang_wrapper 0 lang)
        list(GET lang_wrapper 1 wrapper)
        find_program(MPI_${lang}_COMPILER NAMES ${wrapper}.${DOWNBEAT_MPI} ${wrapper})
    endforeach()
endif()

set(MPI_CXX_SKIP_MPICXX ON) # the C++ bindings were removed from MPI 3.0
find_package(MPI 3.1 REQUIRED COMPONENTS C CXX)

function(downbeat_mpi_family result)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
    check_c_source_compiles("
        #include <mpi.h>
        #ifndef OPEN_MPI
        #error
        #endif
        int main(void) { return 0; }" DOWNBEAT_HAVE_OPENMPI)
    check_c_source_compiles("
        #include <mpi.h>
        #ifndef MPICH_VERSION
        #error
        #endif
        int main(void) { return 0; }" DOWNBEAT_HAVE_MPICH)
    if(DOWNBEAT_HAVE_OPENMPI)
        set(${result} openmpi PARENT_SCOPE)
    elseif(DOWNBEAT_HAVE_MPICH)
        set(${result} mpich PARENT_SCOPE)
    else()
        set(${result} "" PARENT_SCOPE)
    endif()
endfunction()
downbeat_mpi_family(DOWNBEAT_MPI_FAMILY)

if(DOWNBEAT_MPI AND NOT DOWNBEAT_MPI STREQUAL DOWNBEAT_MPI_FAMILY)
    message(FATAL_ERROR "DOWNBEAT_MPI is '${DOWNBEAT_MPI}', but ${MPI_C_COMPILER} belongs to another MPI library; "
                        "install ${DOWNBEAT_MPI} or put its mpicc first on the path")
endif()
