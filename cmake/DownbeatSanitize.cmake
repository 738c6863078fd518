# Sanitizers for everything in this project. A finding ends the program, so that no test can pass over it.
if(DOWNBEAT_SANITIZE)
    # Unoptimized: nothing is lost before the sanitizers see it, and the C++ compiles in less than half the time.
    add_compile_options(-fsanitize=${DOWNBEAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O0)
    add_link_options(-fsanitize=${DOWNBEAT_SANITIZE})
    if(DOWNBEAT_FUZZ) # counts what an input reaches; clang alone
        add_compile_options(-fsanitize=fuzzer-no-link)
    endif()
    # Environment of the tests. MPI libraries keep memory until the process ends; what they leak is listed in lsan.supp.
    set(DOWNBEAT_SANITIZE_ENVIRONMENT
        "ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0"
        "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
        "UBSAN_OPTIONS=print_stacktrace=1")
endif()
