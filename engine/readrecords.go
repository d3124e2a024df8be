package engine

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/item"
)

var _ dynamo.RecordReader = (*DB)(nil)

// ReadRecords implements dynamo.RecordReader: GetRecords for a reader in the same process, which wants the changes of
// few entities and is spared the decoding of all others.
func (db *DB) ReadRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, attribute string, wanted func(string) bool) (*dynamo.RecordPage, error) {
	page := &dynamo.RecordPage{}
	var last uint64
	var at int64
	next, err := db.readRecords(ctx, in, func(_ *stream, seq uint64, v []byte) error {
		r, err := parseRecord(v)
		if err != nil {
			return err
		}
		page.Read++
		last, at = seq, r.millis
		keep, err := r.wanted(attribute, wanted)
		if err != nil || !keep {
			return err
		}
		record, err := r.record(seq)
		page.Records = append(page.Records, record)
		return err
	})
	if err != nil {
		return nil, err
	}
	page.Next = next
	if page.Read > 0 {
		page.Last, page.At = sequenceText(last), recordTime(at)
	}
	return page, nil
}

// wanted reports whether an image has an attribute with a wanted value.
func (r *record) wanted(attribute string, wanted func(string) bool) (bool, error) {
	for _, row := range [][]byte{r.new, r.old} {
		if row == nil {
			continue
		}
		_, b, err := splitRow(row)
		if err != nil {
			return false, err
		}
		value, ok, err := item.LookupString(b, attribute)
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if ok && wanted(string(value)) {
			return true, nil
		}
	}
	return false, nil
}

// record decodes the images.
func (r *record) record(seq uint64) (dynamo.Record, error) {
	out := dynamo.Record{
		Sequence: sequenceText(seq), At: recordTime(r.millis),
		Event: eventName(r.flags), Expired: r.flags&recordService != 0,
	}
	var err error
	if out.Old, err = decodeRow(r.old); err != nil {
		return out, err
	}
	out.New, err = decodeRow(r.new)
	return out, err
}
