package engine

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/row"
)

var _ dynamo.RecordReader = (*DB)(nil)

// ReadRecords implements dynamo.RecordReader: GetRecords for readers in the same process that want
// only some entities. It does not decode other records.
func (db *DB) ReadRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, attribute string, wanted func(string) bool) (*dynamo.RecordPage, error) {
	page := &dynamo.RecordPage{}
	var last uint64
	var at int64
	next, err := db.readRecords(ctx, in, func(_ *stream, seq uint64, v []byte) error {
		r, err := row.ParseRecord(v)
		if err != nil {
			return err
		}
		page.Read++
		last, at = seq, r.Millis
		keep, err := isWanted(&r, attribute, wanted)
		if err != nil || !keep {
			return err
		}
		record, err := decodeRecord(&r, seq)
		page.Records = append(page.Records, record)
		return err
	})
	if err != nil {
		return nil, err
	}
	page.Next = next
	if page.Read > 0 {
		page.Last, page.At = catalog.SequenceText(last), recordTime(at)
	}
	return page, nil
}

// isWanted reports whether an image of the record has the attribute with a wanted value.
func isWanted(r *row.Record, attribute string, wanted func(string) bool) (bool, error) {
	for _, image := range [][]byte{r.New, r.Old} {
		if image == nil {
			continue
		}
		_, b, err := row.Split(image)
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

// decodeRecord decodes the images.
func decodeRecord(r *row.Record, seq uint64) (dynamo.Record, error) {
	out := dynamo.Record{
		Sequence: catalog.SequenceText(seq), At: recordTime(r.Millis),
		Event: r.EventName(), Expired: r.Flags&row.Service != 0,
	}
	var err error
	if out.Old, err = row.Decode(r.Old); err != nil {
		return out, err
	}
	out.New, err = row.Decode(r.New)
	return out, err
}
