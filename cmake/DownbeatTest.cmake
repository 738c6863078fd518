# downbeat_add_mpi_test(NAME name TARGET target RANKS 2 3 ... [BRIEF 5 ...] [ARGS arg ...] [ENV KEY=VALUE ...]
#                       [TIMEOUT seconds])
#
# Adds one test per number of ranks, name-np2, name-np3, ..., started through tools/launch, which ends every rank after
# TIMEOUT (300 s by default). Those with one or two ranks, and with the numbers of BRIEF, have the label `brief`: what runs
# under every MPI library and under sanitizers; the others have the label `many`. Tests run one at a time: ranks that share
# cores with another test would measure it.
function(downbeat_add_mpi_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TARGET;TIMEOUT" "RANKS;BRIEF;ARGS;ENV")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_TARGET OR NOT arg_RANKS)
        message(FATAL_ERROR "downbeat_add_mpi_test needs NAME, TARGET and RANKS, and knows BRIEF, ARGS, ENV and TIMEOUT; "
                            "got: ${ARGV}")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300)
    endif()
    math(EXPR ctest_timeout "${arg_TIMEOUT} + 20") # tools/launch has ended the ranks by then
    set(launch "${PROJECT_SOURCE_DIR}/tools/launch")
    foreach(ranks IN LISTS arg_RANKS)
        set(test "${arg_NAME}-np${ranks}")
        add_test(NAME ${test} COMMAND ${launch} -n ${ranks} --timeout ${arg_TIMEOUT} $<TARGET_FILE:${arg_TARGET}>
                                      ${arg_ARGS})
        set(labels mpi)
        if(ranks LESS_EQUAL 2 OR ranks IN_LIST arg_BRIEF)
            list(APPEND labels brief)
        else()
            list(APPEND labels many)
        endif()
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON TIMEOUT ${ctest_timeout} LABELS "${labels}"
                                                ENVIRONMENT "${DOWNBEAT_SANITIZE_ENVIRONMENT};${arg_ENV}")
    endforeach()
endfunction()
