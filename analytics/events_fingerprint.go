package analytics

import (
	"context"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/table"
)

// Fingerprint identifies the stored content of a range of events: it changes whenever an event of
// the range is stored, changed, erased or expires.
type Fingerprint struct {
	Blocks, Bytes uint64
	Hash          uint64 // sum of the hashes of the blocks, so that their order does not matter
}

// Fingerprint reads the blocks of the events without decoding them. Errors: those of the store.
func (in EventsIn) Fingerprint(ctx context.Context, t *table.Table) (f Fingerprint, err error) {
	hash := xxhash.New()
	var shard [8]byte
	for b, err := range in.blocks(ctx, t) {
		if err != nil {
			return Fingerprint{}, err
		}
		hash.Reset()
		binary.BigEndian.PutUint64(shard[:], uint64(b.Shard))
		for _, part := range [][]byte{shard[:], []byte(b.BlockID), b.Body} {
			_, _ = hash.Write(part) // never fails
		}
		f.Blocks++
		f.Bytes += uint64(len(b.Body))
		f.Hash += hash.Sum64()
	}
	return f, nil
}
