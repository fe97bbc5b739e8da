// The tags of an encoded value's stream, and the sizes at which a value is laid out in another way. For the codec's own files.
#pragma once
#include "codec/codec.h"
#include "python/numpy.h"

namespace reactor {

enum ItemTag : uint8_t {
  None = 'N',
  True_ = 'T',
  False_ = 'F',
  Int = 'i',
  Float = 'd',
  Str = 's',
  Bytes = 'b',
  Tuple = 't',
  List = 'l',
  Dict = 'e',
  BigBytes = 'B',
  SmallArray = 'a',
  Array = 'A',
  Scalar = 'S',
  Ref = 'R',
  Dep = 'V',
  Pickle = 'P',
  BigPickle = 'Q'
};

// How an array's elements lie. One that is no whole piece of memory is copied, and its reader gets a copy of its own, which it may write to.
enum class ArrayOrder : uint8_t { C, Fortran, Copied };

constexpr size_t kView = 4096;      // buffers from this size on are read as views of shared memory
constexpr size_t kInStream = 1024;  // arrays up to this size lie in the stream
constexpr size_t kBuffered = 4096;  // bytes and pickles from this size on are buffers of their own: copied once
constexpr size_t kShared = 256;     // strings and bytes from this size on are worth sending once

}  // namespace reactor
