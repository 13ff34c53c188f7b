// SPDX-License-Identifier: Apache-2.0
#include "program/loaded_object.hpp"

#include "program/library.hpp"

namespace corbel::cli {

bool object_is_corbel(const LoadedObject& object) {
  if (object.image.soname().rfind("libcorbelmalloc", 0) == 0) return true;
  return object.image.find("malloc").has_value() && file_is_corbel(object.real_path);
}

}  // namespace corbel::cli
