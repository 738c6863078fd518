# MPIXHarmonize::mpix-harmonize, the target of the authors' library, mpix-harmonize: the same function from libdownbeat.
include(CMakeFindDependencyMacro)
find_dependency(downbeat PATHS "${CMAKE_CURRENT_LIST_DIR}/../downbeat" NO_DEFAULT_PATH)
if(NOT TARGET MPIXHarmonize::mpix-harmonize)
    add_library(MPIXHarmonize::mpix-harmonize INTERFACE IMPORTED)
    set_target_properties(MPIXHarmonize::mpix-harmonize PROPERTIES INTERFACE_LINK_LIBRARIES downbeat::downbeat)
endif()
