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
