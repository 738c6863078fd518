# ccache, where it is installed: the build trees of several MPI libraries share what does not see mpi.h.
if(PROJECT_IS_TOP_LEVEL)
    find_program(CCACHE ccache)
    if(CCACHE)
        # The directory of the tree is part of the debugging information alone.
        set(launcher "${CMAKE_COMMAND}" -E env CCACHE_NOHASHDIR=1 "${CCACHE}")
        set(CMAKE_C_COMPILER_LAUNCHER "${launcher}" CACHE STRING "Starts the C compiler")
        set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}" CACHE STRING "Starts the C++ compiler")
    endif()
endif()
