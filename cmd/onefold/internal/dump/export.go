package dump

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
)

// Export writes the items of a table as lines {"Item":{…}} in no particular order. Writes to the
// table during an export may or may not be included; unlike a backup, an export is not a snapshot.
type Export struct {
	API      dynamo.API
	Table    string
	Segments int               // parallel scans, at least 1
	Progress func(items int64) // called at intervals with the number of items written; may be nil
}

// Run writes all items to w and returns their number.
func (e *Export) Run(ctx context.Context, w io.Writer) (int64, error) {
	group, ctx := errgroup.WithContext(ctx)
	pages := make(chan page)
	scans, scanning := errgroup.WithContext(ctx)
	for segment := range e.Segments {
		scans.Go(func() error { return e.scan(scanning, int32(segment), pages) })
	}
	group.Go(func() error { defer close(pages); return scans.Wait() })
	var items int64
	group.Go(func() error {
		for p := range pages {
			if _, err := w.Write(p.lines); err != nil {
				return fmt.Errorf("export: write: %w", err)
			}
			if items += int64(p.items); e.Progress != nil {
				e.Progress(items)
			}
		}
		return nil
	})
	err := group.Wait()
	return items, err
}

// page holds the lines of a page.
type page struct {
	lines []byte
	items int
}

func (e *Export) scan(ctx context.Context, segment int32, pages chan<- page) error {
	total, consistent := int32(e.Segments), true
	in := &dynamodb.ScanInput{TableName: &e.Table, Segment: &segment, TotalSegments: &total, ConsistentRead: &consistent}
	for {
		out, err := e.API.Scan(ctx, in)
		if err != nil {
			return fmt.Errorf("export %s: %w", e.Table, err)
		}
		p := page{items: len(out.Items)}
		for _, it := range out.Items {
			p.lines = append(dynamojson.AppendOrdered(p.lines, &types.PutRequest{Item: it}), '\n')
		}
		select {
		case pages <- p:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return nil
		}
	}
}
