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

# The compiler's warnings, for everything in this project.
# -Wold-style-cast and -Wcast-qual are left out: MPI_COMM_WORLD and similar handles are macros with C casts.
add_compile_options(
    -Wall
    -Wextra
    -Wpedantic
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow>
    -Wconversion
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wdouble-promotion>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wformat=2>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wundef>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wvla>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wwrite-strings>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wnull-dereference>
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wold-style-definition>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
    $<$<AND:$<C_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:C,CXX>>:-Wduplicated-cond>
    $<$<AND:$<C_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:C,CXX>>:-Wlogical-op>)
if(DOWNBEAT_WERROR)
    add_compile_options(-Werror)
endif()

# Sanitizers for everything in this project. A finding ends the program, so that no test can pass over it.
if(DOWNBEAT_SANITIZE)
    # Unoptimized: nothing is lost before the sanitizers see it, and the C++ compiles in less than half the time. With the
    # thread sanitizer, starts would miss their deadlines then.
    set(optimization -O0)
    if(DOWNBEAT_SANITIZE STREQUAL "thread")
        set(optimization -O1)
    endif()
    add_compile_options(-fsanitize=${DOWNBEAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer ${optimization})
    add_link_options(-fsanitize=${DOWNBEAT_SANITIZE})
    if(DOWNBEAT_FUZZ) # counts what an input reaches; clang alone
        add_compile_options(-fsanitize=fuzzer-no-link)
    endif()
    # Environment of the tests. MPI libraries keep memory until the process ends; what they leak is listed in lsan.supp.
    # Races of their own threads are listed in tsan.supp.
    set(DOWNBEAT_SANITIZE_ENVIRONMENT
        "ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0"
        "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
        "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp:print_suppressions=0:ignore_noninstrumented_modules=1:second_deadlock_stack=1"
        "UBSAN_OPTIONS=print_stacktrace=1")
endif()

# Counts of lines and branches, for `make coverage`. Unoptimized, so that a line is what it is in the source.
if(DOWNBEAT_COVERAGE)
    # Threads and ranks count in the same files.
    add_compile_options(--coverage -fprofile-update=atomic -O0)
    add_link_options(--coverage)
endif()

# Programs run under ctest alone where all of this project is instrumented: no test of pytest starts these builds.
set(DOWNBEAT_INSTRUMENTED OFF)
if(DOWNBEAT_SANITIZE OR DOWNBEAT_COVERAGE)
    set(DOWNBEAT_INSTRUMENTED ON)
endif()
