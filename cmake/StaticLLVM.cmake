# LLVM, MLIR and this project linked into one program or library.
#
# The packages' CMake targets name the shared libraries, and two copies of MLIR
# in one process do not work, so archives are linked by their paths. Only the
# linker reads most of them: a program gets what it refers to.
file(GLOB mlir_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a)
list(FILTER mlir_archives EXCLUDE REGEX "MLIRCAPI|MLIR[A-Za-z]*Test|Tblgen")
file(GLOB llvm_archives ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER llvm_archives EXCLUDE REGEX
  "libLLVM(AArch64|AMDGPU|ARM|AVR|BPF|Hexagon|Lanai|LoongArch|M68k|MSP430|Mips|PowerPC|RISCV|SPIRV|Sparc|SystemZ|VE|WebAssembly|XCore|Xtensa)")
find_package(OpenMP REQUIRED COMPONENTS CXX)
# LLVM's support library compresses with these. Of the second there is no archive
# without its development package, so a bundle brings it, like OpenMP's runtime.
find_library(FA_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
find_library(FA_ZSTD_LIBRARY NAMES libzstd.so.1 REQUIRED)

# What a folder that is moved to another machine needs beside it.
set(FA_BUNDLE_LIBRARIES ${FA_ZSTD_LIBRARY} ${OpenMP_CXX_LIBRARIES})

# fa_link_statically(TARGET)
# Links the libraries of FA::All that exist so far, with all that they use.
function(fa_link_statically target)
  get_target_property(fa_libraries FAAll INTERFACE_LINK_LIBRARIES)
  # CMake marks the folders of targets in this list.
  list(FILTER fa_libraries INCLUDE REGEX "^FA[A-Za-z]+$")
  set(fa_archives)
  foreach(library ${fa_libraries})
    list(APPEND fa_archives $<TARGET_FILE:${library}>)
  endforeach()
  list(REMOVE_DUPLICATES fa_archives)
  add_dependencies(${target} ${fa_libraries})
  target_link_libraries(${target} PRIVATE
    ${fa_archives} ${mlir_archives} ${llvm_archives}
    ${OpenMP_CXX_LIBRARIES}
    ${FA_ZLIB_ARCHIVE} ${FA_ZSTD_LIBRARY} ${CMAKE_DL_LIBS} m)
  target_link_options(${target} PRIVATE
    -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,-s)
endfunction()
