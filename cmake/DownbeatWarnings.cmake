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
