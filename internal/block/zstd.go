package block

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// minCompressed is the minimum size in bytes of columns for which compression is tried.
const minCompressed = 192

var (
	compressors = sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
		if err != nil {
			panic(err) // the options are constant
		}
		return z
	}}
	decompressors = sync.Pool{New: func() any {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(MaxBytes), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err) // the options are constant
		}
		return z
	}}
)

// compress appends the zstd frame of b to dst.
func compress(dst, b []byte) []byte {
	z, _ := compressors.Get().(*zstd.Encoder)
	defer compressors.Put(z)
	return z.EncodeAll(b, dst)
}

var errSize = errors.New("not as many bytes as the head says")

// decompress returns the content of a zstd frame, which must have size bytes. It uses buffer if
// that is large enough.
func decompress(buffer, frame []byte, size int) ([]byte, error) {
	z, _ := decompressors.Get().(*zstd.Decoder)
	defer decompressors.Put(z)
	if cap(buffer) < size {
		buffer = make([]byte, 0, size)
	}
	b, err := z.DecodeAll(frame, buffer[:0:size])
	if err == nil && len(b) != size {
		err = errSize
	}
	return b, err
}
