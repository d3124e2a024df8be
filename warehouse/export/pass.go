package export

import (
	"context"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// pass records what was seen of the stream since CatchUp began, or since a comparison with the
// table ended.
type pass struct {
	since  time.Time
	listed bool            // whether the shards were listed since then
	tips   map[string]bool // shards that were read to their tip since then
}

// streamSkew is how far the stream's clock may be behind this one. The stream gives times in whole
// seconds.
const streamSkew = 10 * time.Second

func (x *Exporter) beginPass(since time.Time) {
	x.pass, x.listAt = pass{since: since, tips: map[string]bool{}}, time.Time{}
}

// passed reports whether everything was read that the stream had when the pass began. This is the
// case if each shard has ended, was read to its tip, or has returned a change made well after the
// beginning. An empty answer proves nothing, because DynamoDB may return empty answers in the
// middle of a shard. And answers from a busy stream are never empty.
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

// later reports whether a failed request should be tried again later, because it was throttled, or
// because the HTTP client gave up.
func later(err error) bool {
	_, gaveUp := dynamo.GaveUp(err)
	return gaveUp || dynamo.IsThrottle(err)
}

// hold keeps an error of a shard, or of the list of shards, that does not require reading anything
// again. It returns all other errors.
func (x *Exporter) hold(err error) error {
	if !later(err) {
		return err
	}
	x.held = err
	return nil
}

// restMost is the longest pause between turns in which nothing could be read.
const restMost = 30 * time.Second

// rest waits after a turn that read nothing. If nothing could be read, it waits longer each time.
func (x *Exporter) rest(ctx context.Context) error {
	if x.held == nil {
		x.holds = 0
		return x.o.Sleep(ctx, x.o.Poll)
	}
	if x.holds++; x.holds == 1 {
		x.o.Logger.Warn("warehouse: cannot read the stream; exporting what was read before", "error", x.held)
	}
	return x.o.Sleep(ctx, min(x.o.Poll<<min(x.holds, 10), restMost))
}
