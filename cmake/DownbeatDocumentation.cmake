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
    if(TARGET downbeat-bench)
        list(APPEND man_command --bench "$<TARGET_FILE:downbeat-bench>")
    endif()
    list(JOIN man_command "\" \"" man_command)
    # A directory stays empty where nothing can be asked.
    install(CODE "file(REMOVE_RECURSE \"${man_dir}\")
        file(MAKE_DIRECTORY \"${man_dir}\")
        execute_process(COMMAND \"${man_command}\" COMMAND_ERROR_IS_FATAL ANY)")
    install(DIRECTORY "${man_dir}/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
else()
    install(CODE "message(\"man pages are left out: no python3\")")
endif()
