# MPI as SimGrid's SMPI simulates it (docs/simulation.md): MPI::MPI_C and MPI::MPI_CXX, like those of find_package(MPI).
#
# Not by smpicc, which would replace malloc, free and the clocks by its own in every source: the library reads simulated
# time through its own clock.
set(DOWNBEAT_SIMULATED ON)
find_path(SIMGRID_INCLUDE_DIR smpi/mpi.h)
find_library(SIMGRID_LIBRARY simgrid)
find_program(SMPIRUN smpirun)
if(NOT (SIMGRID_INCLUDE_DIR AND SIMGRID_LIBRARY AND SMPIRUN))
    message(FATAL_ERROR "DOWNBEAT_MPI is 'simgrid', but smpi/mpi.h, libsimgrid or smpirun is missing; "
                        "`tools/setup simgrid` installs them, or set CMAKE_PREFIX_PATH to where SimGrid is")
endif()

# smpirun loads a program as a shared object.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(MPI_C_INCLUDE_DIRS "${SIMGRID_INCLUDE_DIR}/smpi")
set(MPI_C_LIBRARIES "${SIMGRID_LIBRARY}")
set(if_executable "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
foreach(lang IN ITEMS C CXX)
    add_library(MPI::MPI_${lang} INTERFACE IMPORTED)
    target_include_directories(MPI::MPI_${lang} SYSTEM INTERFACE "${MPI_C_INCLUDE_DIRS}" "${SIMGRID_INCLUDE_DIR}")
    target_compile_definitions(MPI::MPI_${lang} INTERFACE _DEFAULT_SOURCE) # its header needs useconds_t
    target_link_libraries(MPI::MPI_${lang} INTERFACE "${SIMGRID_LIBRARY}")
    target_compile_options(MPI::MPI_${lang} INTERFACE $<${if_executable}:-fPIC>)
    target_link_options(MPI::MPI_${lang} INTERFACE $<${if_executable}:-shared> $<${if_executable}:LINKER:-z,defs>)
endforeach()
