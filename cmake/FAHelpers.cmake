# Compiler flags, library and tool helpers, and the install rules of the
# CMake package FA.

# Headers dominate the compile time, so every library reuses one precompiled header,
# with those of the dialects in it (a pass compiles in about 2 s with it, 20 s without).
set(FA_PCH_SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/cmake/PrecompiledHeader.cpp)
set(FA_PCH_HEADER ${CMAKE_CURRENT_SOURCE_DIR}/cmake/PrecompiledHeader.h)

function(fa_set_compile_flags target)
  target_compile_options(${target} PRIVATE
    -fno-rtti -fno-exceptions -fvisibility-inlines-hidden
    -Wall -Wextra -Wno-unused-parameter -Wcast-qual -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Lets ccache share objects that were compiled with the precompiled header.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_compile_definitions(${target} PRIVATE
    _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
  foreach(sanitizer ${FA_SANITIZER})
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${sanitizer})
  endforeach()
endfunction()

add_library(FAPrecompiledHeader OBJECT ${FA_PCH_SOURCE})
fa_set_compile_flags(FAPrecompiledHeader)
target_include_directories(FAPrecompiledHeader SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_precompile_headers(FAPrecompiledHeader PRIVATE ${FA_PCH_HEADER})
# Targets of include/: tablegen writes what the dialects' headers include.
add_dependencies(FAPrecompiledHeader
  FAIRIncGen FAInterfacesIncGen FASequenceOpsIncGen FAGPUIRIncGen FAGPUInterfacesIncGen)

# Every library of the project, FA::All to others. Static archives, so a program
# that links it gets only what it refers to.
add_library(FAAll INTERFACE)
add_library(FA::All ALIAS FAAll)
set_target_properties(FAAll PROPERTIES EXPORT_NAME All)
install(TARGETS FAAll EXPORT FATargets)

# fa_compile_alone(sources...)
# Sources that are no part of a unity build, since they have names in common with others.
function(fa_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# fa_add_library(NAME sources... [DEPENDS targets...] [LINK libraries...] [NO_PCH] [NOT_IN_ALL])
# A static library that is installed and exported with the package.
function(fa_add_library name)
  cmake_parse_arguments(ARG "NO_PCH;NOT_IN_ALL" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(FA::${name} ALIAS ${name})
  fa_set_compile_flags(${name})
  if(NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM FAPrecompiledHeader)
  endif()
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(NOT ARG_NOT_IN_ALL)
    target_link_libraries(FAAll INTERFACE ${name})
  endif()
  install(TARGETS ${name} EXPORT FATargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# fa_add_tool(NAME sources... [MAIN function] [LINK libraries...] [NO_INSTALL])
# MAIN is a function of tools/ToolMains.h, for a tool that other programs hold
# too: they link the objects of NAME-sources, which are compiled once. NO_INSTALL
# is for programs that only tests use.
function(fa_add_tool name)
  cmake_parse_arguments(ARG "NO_INSTALL" "MAIN" "LINK" ${ARGN})
  set(sources ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_MAIN)
    add_library(${name}-sources OBJECT ${sources})
    fa_set_compile_flags(${name}-sources)
    target_precompile_headers(${name}-sources REUSE_FROM FAPrecompiledHeader)
    target_compile_definitions(${name}-sources PRIVATE FA_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${name}-sources PRIVATE FAAll)
    set(main ${CMAKE_SOURCE_DIR}/tools/SingleTool.cpp)
    set_source_files_properties(${main} PROPERTIES
      COMPILE_DEFINITIONS FA_TOOL_MAIN=${ARG_MAIN} SKIP_PRECOMPILE_HEADERS ON)
    set(sources $<TARGET_OBJECTS:${name}-sources> ${main})
  endif()
  add_executable(${name} ${sources})
  fa_set_compile_flags(${name})
  # CMake would compile a program with -fPIE, which the header's -fPIC refuses.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM FAPrecompiledHeader)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} EXPORT FATargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  set_property(GLOBAL APPEND PROPERTY FA_TEST_DEPENDS ${name})
endfunction()

# fa_tablegen(OUT_TARGET FILE.td [generator output]...)
# Runs mlir-tblgen once for each pair, into the build tree beside FILE.td.
function(fa_tablegen target file)
  set(LLVM_TARGET_DEFINITIONS ${file})
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs generator output)
    separate_arguments(generator)
    mlir_tablegen(${output} ${generator})
  endwhile()
  add_public_tablegen_target(${target})
  add_dependencies(FAAll ${target})
endfunction()

# fa_add_doc(PAGE.md FILE.td generator)
# Generates a page for the target fa-doc; a page of docs/Reference takes it in by
# a line `[include "PAGE.md"]`.
function(fa_add_doc page file generator)
  set(LLVM_TARGET_DEFINITIONS ${file})
  separate_arguments(generator)
  mlir_tablegen(${page} ${generator})
  get_filename_component(name ${page} NAME_WE)
  add_custom_target(fa-doc-${name} DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${page})
  set_property(GLOBAL APPEND PROPERTY FA_DOC_TARGETS fa-doc-${name})
  set_property(GLOBAL APPEND PROPERTY FA_GENERATED_PAGES ${CMAKE_CURRENT_BINARY_DIR}/${page})
endfunction()

# The target fa-doc-pages puts what tablegen makes into build/docs-generated;
# fa-doc joins it to the pages of docs/Reference, which are committed.
function(fa_add_doc_target)
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
  get_property(pages GLOBAL PROPERTY FA_GENERATED_PAGES)
  get_property(page_targets GLOBAL PROPERTY FA_DOC_TARGETS)
  set(generated ${CMAKE_BINARY_DIR}/docs-generated)
  add_custom_target(fa-doc-pages
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND ${CMAKE_COMMAND} -E copy ${pages} ${generated}
    DEPENDS ${page_targets}
    VERBATIM)
  add_custom_target(fa-doc
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/build_docs.py
      --pages ${CMAKE_SOURCE_DIR}/docs/Reference --generated ${generated}
    COMMENT "Writing the pages of docs/Reference"
    VERBATIM)
  add_dependencies(fa-doc fa-doc-pages)
endfunction()

# Installs headers, generated headers, .td files and the CMake package, and
# makes the build tree usable by find_package(FA) too.
function(fa_install_package)
  include(CMakePackageConfigHelpers)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/fa)
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
  install(DIRECTORY ${CMAKE_BINARY_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE)
  install(EXPORT FATargets NAMESPACE FA:: DESTINATION ${destination})
  export(EXPORT FATargets NAMESPACE FA:: FILE ${CMAKE_BINARY_DIR}/lib/cmake/fa/FATargets.cmake)
  configure_package_config_file(cmake/FAConfig.cmake.in ${CMAKE_BINARY_DIR}/lib/cmake/fa/FAConfig.cmake
    INSTALL_DESTINATION ${destination})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/lib/cmake/fa/FAConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/lib/cmake/fa/FAConfig.cmake
    ${CMAKE_BINARY_DIR}/lib/cmake/fa/FAConfigVersion.cmake DESTINATION ${destination})
endfunction()
