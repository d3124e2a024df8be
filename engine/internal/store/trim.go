package store

import (
	"cmp"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// TrimPoint returns the sequence number after the last record of a shard older than the horizon, in
// milliseconds since 1970, and whether any record remains. start is the first sequence number of
// the shard. Records are in time order as long as the clock does not go back, so it uses binary
// search.
func (s *Store) TrimPoint(stream, shard uint32, start uint64, horizon int64) (first uint64, stays bool, err error) {
	prefix := row.ShardPrefix(stream, shard)
	it, err := s.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: row.UpperBound(prefix)})
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return start, false, damage.Of(it.Error())
	}
	low, high := start, row.RecordSequence(it.Key())+1 // the first record to keep is at or after low, and at or before high
	for low < high {
		mid := low + (high-low)/2
		millis, err := timeAt(it, stream, shard, mid)
		if err != nil {
			return 0, false, err
		}
		if millis < horizon {
			low = row.RecordSequence(it.Key()) + 1
		} else {
			high = mid
		}
	}
	var key [row.RecordKeyLen]byte
	row.PutRecordKey(key[:], stream, shard, low)
	if stays = it.SeekGE(key[:]); !stays && it.Error() != nil {
		return 0, false, damage.Of(it.Error())
	}
	if !it.SeekLT(key[:]) {
		return start, stays, damage.Of(it.Error())
	}
	return row.RecordSequence(it.Key()) + 1, stays, nil
}

// timeAt moves to the first record at or after a sequence number, which must exist, and returns its
// time.
func timeAt(it *pebble.Iterator, stream, shard uint32, seq uint64) (int64, error) {
	var key [row.RecordKeyLen]byte
	row.PutRecordKey(key[:], stream, shard, seq)
	if !it.SeekGE(key[:]) {
		return 0, cmp.Or(damage.Of(it.Error()), row.ErrCorrupt)
	}
	v, err := damage.Value(it)
	if err != nil {
		return 0, err
	}
	r, err := row.ParseRecord(v)
	return r.Millis, err
}
