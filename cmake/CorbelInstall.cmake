# SPDX-License-Identifier: Apache-2.0
# Install rules: libraries, headers, the corbel command, and what find_package(Corbel),
# find_package(TBB) and pkg-config read. Nothing installed holds an absolute path, so that a prefix
# can be moved.
include(CMakePackageConfigHelpers)

set(package_dir "${PROJECT_BINARY_DIR}/package")
set(corbel_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Corbel")
set(tbb_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/TBB")

foreach(target IN ITEMS corbelmalloc corbelmalloc_static corbelmalloc_proxy
                        corbelmalloc_proxy_static corbel_sched corbel_sched_static)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT CorbelTargets)
  endif()
endforeach()
foreach(target IN ITEMS tbbmalloc tbbmalloc_proxy)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT TBBTargets)
  endif()
endforeach()
# Of no target's export: nothing links this library, programs that were compiled for oneTBB load it.
if(TARGET corbel_tbb12)
  install(TARGETS corbel_tbb12 LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/corbel")
endif()
if(WIN32)
  # The same import libraries by the names that linkers for Microsoft's libraries look for, and the
  # scheduler's by the name of oneTBB's. A program that is linked by tbb12 loads corbel.dll.
  foreach(target IN ITEMS corbelmalloc corbelmalloc_proxy corbel_sched tbbmalloc tbbmalloc_proxy)
    if(TARGET ${target})
      install(FILES $<TARGET_LINKER_FILE:${target}> DESTINATION "${CMAKE_INSTALL_LIBDIR}"
              RENAME $<TARGET_FILE_BASE_NAME:${target}>.lib)
    endif()
  endforeach()
  if(TARGET corbel_sched AND TARGET tbbmalloc)
    foreach(name IN ITEMS tbb12.lib libtbb12.dll.a)
      install(FILES $<TARGET_LINKER_FILE:corbel_sched> DESTINATION "${CMAKE_INSTALL_LIBDIR}"
              RENAME ${name})
    endforeach()
  endif()
# What -ltbb finds. A name for linkers alone: a program that is linked by it is compiled with Corbel's
# headers and loads libcorbel.so.1.
elseif(TARGET corbel_sched AND TARGET tbbmalloc)
  file(MAKE_DIRECTORY "${package_dir}")
  file(CREATE_LINK libcorbel.so.1 "${package_dir}/libtbb.so" SYMBOLIC)
  install(FILES "${package_dir}/libtbb.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET corbel_tool)
  install(TARGETS corbel_tool)
endif()

foreach(folder IN ITEMS corbel tbb oneapi)
  if(EXISTS "${PROJECT_SOURCE_DIR}/include/${folder}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/${folder}"
            DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT CorbelTargets NAMESPACE Corbel:: DESTINATION "${corbel_cmake_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/package/CorbelConfig.cmake.in" "${package_dir}/CorbelConfig.cmake"
  INSTALL_DESTINATION "${corbel_cmake_dir}")
write_basic_package_version_file(
  "${package_dir}/CorbelConfigVersion.cmake" VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion)
install(FILES "${package_dir}/CorbelConfig.cmake" "${package_dir}/CorbelConfigVersion.cmake"
        DESTINATION "${corbel_cmake_dir}")

set(corbel_installed_library "${CMAKE_INSTALL_LIBDIR}/libcorbel.so.1")
if(WIN32)
  set(corbel_installed_library "${CMAKE_INSTALL_BINDIR}/corbel.dll")
endif()
if(TARGET tbbmalloc) # which brings the scheduler's names with it
  install(EXPORT TBBTargets NAMESPACE TBB:: DESTINATION "${tbb_cmake_dir}")
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/package/TBBConfig.cmake.in" "${package_dir}/TBBConfig.cmake"
    INSTALL_DESTINATION "${tbb_cmake_dir}")
  write_basic_package_version_file(
    "${package_dir}/TBBConfigVersion.cmake" VERSION ${CORBEL_TBB_VERSION}
    COMPATIBILITY AnyNewerVersion)
  install(FILES "${package_dir}/TBBConfig.cmake" "${package_dir}/TBBConfigVersion.cmake"
          DESTINATION "${tbb_cmake_dir}")
endif()

# corbel_pkg_config(<library> [TARGET target] VERSION v DESCRIPTION text [REQUIRES module]
#                   [LIBS_PRIVATE words] [REPLACES_MALLOC])
# for the library of a target, by default that of the same name.
function(corbel_pkg_config library)
  cmake_parse_arguments(arg "REPLACES_MALLOC" "TARGET;VERSION;DESCRIPTION;REQUIRES;LIBS_PRIVATE" ""
                        ${ARGN})
  if(NOT arg_TARGET)
    set(arg_TARGET ${library})
  endif()
  if(NOT TARGET ${arg_TARGET})
    return()
  endif()
  file(RELATIVE_PATH pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
  set(pc_name "${library}")
  set(pc_description "${arg_DESCRIPTION}")
  set(pc_version "${arg_VERSION}")
  set(pc_requires "${arg_REQUIRES}")
  set(pc_libs "-l${library}")
  set(pc_libs_private "${arg_LIBS_PRIVATE}")
  if(arg_REPLACES_MALLOC)
    # One word, because pkg-config sorts words: the library must stay even where the linker drops
    # those (--as-needed, the default of some distributions) that the program calls nothing of.
    set(pc_libs "-Wl,--undefined=malloc,--push-state,--no-as-needed,-l${library},--pop-state")
    if(WIN32)
      set(pc_libs "-Wl,--undefined=__TBB_malloc_proxy -l${library}")
    endif()
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/package/library.pc.in"
                 "${package_dir}/${library}.pc" @ONLY)
  install(FILES "${package_dir}/${library}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# As corbel_static() has it for CMake.
set(pc_static_allocator "-Wl,--eh-frame-hdr")
set(pc_static_scheduler "-lstdc++ -pthread")
if(WIN32)
  set(pc_static_allocator "-lntdll")
  set(pc_static_scheduler "-lstdc++ -pthread -lntdll")
endif()
corbel_pkg_config(corbelmalloc VERSION ${PROJECT_VERSION} LIBS_PRIVATE ${pc_static_allocator}
                  DESCRIPTION "Scalable memory allocator")
corbel_pkg_config(
  corbelmalloc_proxy VERSION ${PROJECT_VERSION} REQUIRES corbelmalloc REPLACES_MALLOC
  DESCRIPTION "Replaces malloc and operator new by Corbel's allocator")
corbel_pkg_config(tbbmalloc VERSION ${CORBEL_TBB_VERSION} LIBS_PRIVATE ${pc_static_allocator}
                  DESCRIPTION "Corbel's allocator under the names of oneTBB's")
corbel_pkg_config(
  tbbmalloc_proxy VERSION ${CORBEL_TBB_VERSION} REQUIRES tbbmalloc REPLACES_MALLOC
  DESCRIPTION "Replaces malloc and operator new, under the names of oneTBB's")
corbel_pkg_config(corbel TARGET corbel_sched VERSION ${PROJECT_VERSION}
                  LIBS_PRIVATE "${pc_static_scheduler}"
                  DESCRIPTION "Task scheduler and parallel algorithms")
if(TARGET tbbmalloc)
  corbel_pkg_config(tbb TARGET corbel_sched VERSION ${CORBEL_TBB_VERSION}
                    DESCRIPTION "Corbel's scheduler and algorithms under the names of oneTBB's")
endif()
