// Mappings of memory that processes share, or that copies what they share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace reactor {

// mmap for such memory: a core file does not contain it. It holds values of all actors of the session, and its address range is as large as the
// store: a crash would take minutes to write what is mostly holes. Children by fork inherit this. A kernel that refuses writes larger core files,
// and nothing else differs. Returns MAP_FAILED as mmap does.
inline void* map_undumped(size_t size, int protection, int flags, int file, uint64_t at = 0) {
  void* p = mmap(nullptr, size, protection, flags, file, off_t(at));
  if (p != MAP_FAILED) madvise(p, size, MADV_DONTDUMP);
  return p;
}

}  // namespace reactor
