package export

import (
	"context"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// pass is what was seen of the stream since CatchUp began, or since a comparison with the table ended.
type pass struct {
	since  time.Time
	listed bool            // the shards, since then
	tips   map[string]bool // shards that were read to their tip since then
}

// streamSkew is how far the stream's clock may be behind this one, in whole seconds as it tells times.
const streamSkew = 10 * time.Second

func (x *Exporter) beginPass(since time.Time) {
	x.pass, x.listAt = pass{since: since, tips: map[string]bool{}}, time.Time{}
}

// passed reports whether all was read that the stream had when the pass began: each shard is at its end, was at its tip since, or
// has given a change of well after it. That nothing came is no sign: DynamoDB's answers may be empty in the middle, and those
// of a busy stream never are.
func (x *Exporter) passed() bool {
	if !x.pass.listed || len(x.batch.missed) > 0 {
		return false
	}
	for _, sh := range x.listed {
		if p := x.at[sh.ID]; !p.Done && !x.pass.tips[sh.ID] && !p.At.After(x.pass.since.Add(streamSkew)) {
			return false
		}
	}
	return true
}

// later reports whether what failed is to be asked again after a while: it was throttled, or whoever sends requests gave it up.
func later(err error) bool {
	_, gaveUp := dynamo.GaveUp(err)
	return gaveUp || dynamo.IsThrottle(err)
}

// hold keeps an error of a shard or of the list of shards for which nothing need be read again, and returns all others.
func (x *Exporter) hold(err error) error {
	if !later(err) {
		return err
	}
	x.held = err
	return nil
}

// restMost is the longest pause between turns in which nothing could be read.
const restMost = 30 * time.Second

// rest waits when nothing came, longer each time when that is because nothing could be read.
func (x *Exporter) rest(ctx context.Context) error {
	if x.held == nil {
		x.holds = 0
		return x.o.Sleep(ctx, x.o.Poll)
	}
	if x.holds++; x.holds == 1 {
		x.o.Logger.Warn("warehouse: the stream cannot be read for now; what was read is kept", "error", x.held)
	}
	return x.o.Sleep(ctx, min(x.o.Poll<<min(x.holds, 10), restMost))
}
