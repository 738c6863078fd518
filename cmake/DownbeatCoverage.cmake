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
