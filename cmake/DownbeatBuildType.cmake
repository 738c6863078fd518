# Default build type, when Downbeat is not component of another project.
if(PROJECT_IS_TOP_LEVEL)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
    endif()
    # CMake's own flags add -DNDEBUG, which would turn the assertions of the tests into nothing. Lines and functions are
    # enough for a backtrace; all of -g takes half as long again to compile, and four times the space.
    set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
endif()
