package explore

import (
	"context"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// fingerprint identifies the stored content of a range of events: it changes whenever an event of
// the range is stored, changed, erased or expires.
type fingerprint struct {
	Blocks, Bytes uint64
	Hash          uint64 // sum of the hashes of the blocks, so that their order does not matter
}

// fingerprintOf reads the blocks of events without decoding them. Errors: those of the store.
func fingerprintOf(ctx context.Context, t *table.Table, events analytics.EventsIn) (f fingerprint, err error) {
	hash := xxhash.New()
	var shard [8]byte
	for b, err := range events.Blocks(ctx, t) {
		if err != nil {
			return fingerprint{}, err
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
