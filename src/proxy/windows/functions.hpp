// SPDX-License-Identifier: Apache-2.0
// The functions of C and C++ run-time libraries that are replaced, by the names under which
// Microsoft's libraries, and those of the same names in Wine, export them. What a library lacks is
// passed over.
//
// A debug function has the arguments of the one that it stands for, then others, which a function
// that does not know them ignores: the caller removes all arguments from the stack. So both have
// one replacement. The _base functions are what ucrtbase's own code calls, the _crt functions what
// that of the libraries before it calls. _strdup and its kind call one of all these.
#pragma once

#include <cstddef>

namespace corbel::proxy {

// each(constant, exported name, replacement, whether it takes a block)
#define CORBEL_REPLACED_FUNCTIONS(each)                                                            \
  /* Those that the replacements of the others call, too, come first. */                           \
  each(kFree, "free", free_, true) each(kMsize, "_msize", msize_, true) each(                      \
      kAlignedFree, "_aligned_free", aligned_free_,                                                \
      true) each(kAlignedMsize, "_aligned_msize", aligned_msize_,                                  \
                 true) each(kAlignedMsizeDbg, "_aligned_msize_dbg", aligned_msize_,                \
                            true) each(kMalloc, "malloc", malloc_, false) each(kCalloc, "calloc",  \
                                                                               calloc_, false)     \
      each(kRealloc, "realloc", realloc_, true) each(kExpand, "_expand", expand_, true) each(      \
          kRecalloc, "_recalloc", recalloc_,                                                       \
          true) each(kMallocBase, "_malloc_base", malloc_,                                         \
                     false) each(kCallocBase, "_calloc_base", calloc_,                             \
                                 false) each(kReallocBase, "_realloc_base", realloc_, true)        \
          each(kFreeBase, "_free_base", free_, true) each(kMsizeBase, "_msize_base", msize_, true) \
              each(kExpandBase, "_expand_base", expand_, true) each(                               \
                  kRecallocBase, "_recalloc_base",                                                 \
                  recalloc_, true) each(kMallocCrt, "_malloc_crt", malloc_, false)                 \
                  each(kCallocCrt, "_calloc_crt", calloc_,                                         \
                       false) each(kReallocCrt, "_realloc_crt", realloc_, true)                    \
                      each(kRecallocCrt, "_recalloc_crt", recalloc_,                               \
                           true) each(kAlignedMalloc, "_aligned_malloc", aligned_malloc_, false)   \
                          each(kAlignedRealloc, "_aligned_realloc", aligned_realloc_, true) each(  \
                              kAlignedRecalloc, "_aligned_recalloc", aligned_recalloc_,            \
                              true) each(kOffsetMalloc, "_aligned_offset_malloc", offset_malloc_,  \
                                         false) each(kOffsetRealloc, "_aligned_offset_realloc",    \
                                                     offset_realloc_, true)                        \
                              each(kOffsetRecalloc, "_aligned_offset_recalloc", offset_recalloc_,  \
                                   true) each(kMallocDbg, "_malloc_dbg", malloc_, false)           \
                                  each(kCallocDbg, "_calloc_dbg", calloc_, false)                  \
                                      each(kReallocDbg, "_realloc_dbg", realloc_dbg_, true) each(  \
                                          kRecallocDbg, "_recalloc_dbg", recalloc_dbg_,            \
                                          true) each(kFreeDbg, "_free_dbg", free_dbg_, true)       \
                                          each(kMsizeDbg, "_msize_dbg", msize_dbg_, true) each(    \
                                              kExpandDbg, "_expand_dbg", expand_dbg_,              \
                                              true) each(kAlignedMallocDbg, "_aligned_malloc_dbg", \
                                                         aligned_malloc_,                          \
                                                         false) each(kAlignedReallocDbg,           \
                                                                     "_aligned_realloc_dbg",       \
                                                                     aligned_realloc_, true)       \
                                              each(kAlignedRecallocDbg, "_aligned_recalloc_dbg",   \
                                                   aligned_recalloc_, true)                        \
                                                  each(kAlignedFreeDbg, "_aligned_free_dbg",       \
                                                       aligned_free_,                              \
                                                       true) each(kOffsetMallocDbg,                \
                                                                  "_aligned_offset_malloc_dbg",    \
                                                                  offset_malloc_, false)           \
                                                      each(kOffsetReallocDbg,                      \
                                                           "_aligned_offset_realloc_dbg",          \
                                                           offset_realloc_, true)                  \
                                                          each(kOffsetRecallocDbg,                 \
                                                               "_aligned_offset_recalloc_dbg",     \
                                                               offset_recalloc_,                   \
                                                               true) /* operator new and new[] */  \
      each(kNew, "??2@YAPEAX_K@Z", new_, false) each(kNewArray, "??_U@YAPEAX_K@Z", new_, false)    \
          each(kNewDbg, "??2@YAPEAX_KHPEBDH@Z", new_, false) each(                                 \
              kNewArrayDbg, "??_U@YAPEAX_KHPEBDH@Z", new_, false)                                  \
              each(kNewNothrow, "??2@YAPEAX_KAEBUnothrow_t@std@@@Z", new_nothrow_, false) each(    \
                  kNewArrayNothrow, "??_U@YAPEAX_KAEBUnothrow_t@std@@@Z", new_nothrow_, false)     \
                  each(kNewAligned, "??2@YAPEAX_KW4align_val_t@std@@@Z", new_aligned_, false)      \
                      each(kNewArrayAligned, "??_U@YAPEAX_KW4align_val_t@std@@@Z", new_aligned_,   \
                           false) each(kNewAlignedNothrow,                                         \
                                       "??2@YAPEAX_KW4align_val_t@std@@AEBUnothrow_t@1@@Z",        \
                                       new_aligned_nothrow_, false)                                \
                          each(kNewArrayAlignedNothrow,                                            \
                               "??_U@YAPEAX_KW4align_val_t@std@@AEBUnothrow_t@1@@Z",               \
                               new_aligned_nothrow_, false) /* operator delete and delete[] */     \
      each(kDelete, "??3@YAXPEAX@Z", free_, true)                                                  \
          each(kDeleteArray, "??_V@YAXPEAX@Z", free_, true) each(                                  \
              kDeleteSized, "??3@YAXPEAX_K@Z", free_, true) each(kDeleteArraySized,                \
                                                                 "??_V@YAXPEAX_K@Z", free_, true)  \
              each(kDeleteNothrow, "??3@YAXPEAXAEBUnothrow_t@std@@@Z", free_, true) each(          \
                  kDeleteArrayNothrow, "??_V@YAXPEAXAEBUnothrow_t@std@@@Z", free_, true)           \
                  each(kDeleteDbg, "??3@YAXPEAXHPEBDH@Z", free_, true)                             \
                      each(kDeleteArrayDbg, "??_V@YAXPEAXHPEBDH@Z", free_, true) each(             \
                          kDeleteAligned, "??3@YAXPEAXW4align_val_t@std@@@Z", aligned_free_, true) \
                          each(kDeleteArrayAligned, "??_V@YAXPEAXW4align_val_t@std@@@Z",           \
                               aligned_free_, true)                                                \
                              each(kDeleteSizedAligned, "??3@YAXPEAX_KW4align_val_t@std@@@Z",      \
                                   aligned_free_, true)                                            \
                                  each(kDeleteArraySizedAligned,                                   \
                                       "??_V@YAXPEAX_KW4align_val_t@std@@@Z", aligned_free_, true)

enum Function : unsigned {
#define CORBEL_FUNCTION(constant, name, replacement, takes_block) constant,
  CORBEL_REPLACED_FUNCTIONS(CORBEL_FUNCTION)
#undef CORBEL_FUNCTION
      kFunctionCount
};

struct FunctionInfo {
  const char* name;
  bool takes_block;
};
extern const FunctionInfo kFunctionInfo[kFunctionCount];

}  // namespace corbel::proxy
