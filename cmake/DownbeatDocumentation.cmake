# Installation of what people read: license, examples, shell completion and man pages.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/packaging/completions/" DESTINATION "${CMAKE_INSTALL_DATADIR}")

# Man pages come from the headers and from what the programs print as --help. For downbeat(1) Python needs the packages of
# the command, which .venv has.
find_program(DOWNBEAT_PYTHON python3 PATHS "${PROJECT_SOURCE_DIR}/.venv/bin" NO_DEFAULT_PATH)
find_program(DOWNBEAT_PYTHON python3)
set(man_dir "${PROJECT_BINARY_DIR}/man")
if(DOWNBEAT_PYTHON)
    set(man_command "${DOWNBEAT_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/man" --output "${man_dir}" --version ${PROJECT_VERSION})
    file(GLOB man_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/include/*.h" "${PROJECT_SOURCE_DIR}/lib/include/*/*.h"
         "${PROJECT_SOURCE_DIR}/python/downbeat/commands/*.py")
    if(TARGET downbeat-bench)
        list(APPEND man_command --bench "$<TARGET_FILE:downbeat-bench>")
        list(APPEND man_sources downbeat-bench)
    endif()
    # A directory stays empty where nothing can be asked.
    add_custom_command(
        OUTPUT "${man_dir}.stamp"
        COMMAND "${CMAKE_COMMAND}" -E rm -rf "${man_dir}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${man_dir}"
        COMMAND ${man_command}
        COMMAND "${CMAKE_COMMAND}" -E touch "${man_dir}.stamp"
        DEPENDS "${PROJECT_SOURCE_DIR}/tools/man" ${man_sources}
        VERBATIM)
    add_custom_target(man ALL DEPENDS "${man_dir}.stamp")
    install(DIRECTORY "${man_dir}/" DESTINATION "${CMAKE_INSTALL_MANDIR}" OPTIONAL)
else()
    message(STATUS "man pages are left out: no python3")
endif()
