# The library downbeat_bench_mpi: sources of the rooms that need MPI, compiled for the MPI library of this tree.

add_library(downbeat_bench_mpi STATIC ${mpi_sources})
# Many instances of templates, none of which is timed: the compiler takes half as long. A precompiled header is for one
# level of optimization, the others'.
set(untimed src/operations/elements.cc src/run/algorithm_choices.cc src/run/requested_operations.cc src/run/options.cc)
set_source_files_properties(${untimed} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
# GCC 12 sees a null pointer in std::vector<std::string> as CLI11's headers use it.
set_source_files_properties(src/run/command_line.cc PROPERTIES COMPILE_OPTIONS "-O1;-Wno-null-dereference"
                                                           SKIP_PRECOMPILE_HEADERS ON)
target_include_directories(downbeat_bench_mpi PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/include")
if(DOWNBEAT_PRECOMPILE)
    # They compile in two thirds of the time.
    target_precompile_headers(downbeat_bench_mpi PRIVATE ${BENCH_PRECOMPILED} <mpi.h>)
endif()
target_link_libraries(downbeat_bench_mpi PUBLIC downbeat_bench_core downbeat::downbeat MPI::MPI_CXX
                      PRIVATE CLI11::CLI11 ${CMAKE_DL_LIBS})
