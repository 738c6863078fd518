# The compiler's warnings, for everything in this project.
# -Wold-style-cast and -Wcast-qual are left out: MPI_COMM_WORLD and the like are macros with C casts.
add_compile_options(
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wdouble-promotion
    -Wformat=2
    -Wundef
    -Wvla
    -Wwrite-strings
    -Wnull-dereference
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wold-style-definition>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
    $<$<C_COMPILER_ID:GNU>:-Wduplicated-cond>
    $<$<C_COMPILER_ID:GNU>:-Wlogical-op>)
if(DOWNBEAT_WERROR)
    add_compile_options(-Werror)
endif()
