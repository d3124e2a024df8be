package streamsource

import (
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/fold"
)

// manners are how one reads a stream of a service.
//
// DynamoDB lets a stream's shards be read five times a second and DescribeStream be called ten times a second, by all
// readers together, and answers LimitExceeded or ProvisionedThroughputExceeded beyond. Its answer may be empty although
// there is more: "it might take multiple calls to get to a portion of the shard that contains stream records". So one
// empty page is not the end, and it has no figure that says how far behind a reader is. Several empty pages, one after
// the other, with a read's pause between, are taken for the end; see docs/decisions.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
type manners struct {
	emptyPages    int           // in a row that are the tip
	readEvery     time.Duration // of one shard
	describeEvery time.Duration // between pages of DescribeStream
	poll          time.Duration // a worker's pause when nothing came; 0: the worker's own
}

// emulators have ARNs of this account: the embedded engine behind HTTP, DynamoDB Local. Nobody bills or limits their
// readers, and they answer from one place: what is empty is at its end.
const emulators = ":000000000000:"

func mannersFor(streamARN string, exact bool) manners {
	switch {
	case exact:
		return manners{emptyPages: 1}
	case strings.Contains(streamARN, emulators):
		return manners{emptyPages: 1, poll: 100 * time.Millisecond}
	}
	return manners{emptyPages: 4, readEvery: 200 * time.Millisecond, describeEvery: 200 * time.Millisecond, poll: 250 * time.Millisecond}
}

// Pace is how long a worker waits before it asks again when nothing came; 0 leaves that to the worker.
func (s *Source) Pace() time.Duration { return s.manners.poll }

// reading is how a shard was read of late.
type reading struct {
	next  time.Time     // not before
	at    fold.Sequence // where pages were empty
	empty []uint64      // the turns of the last of them, in a row: as many as are the tip
}

// await waits until a shard may be read again.
func (s *Source) await(ctx context.Context, shard string) error {
	if s.manners.readEvery <= 0 {
		return nil
	}
	s.mu.Lock()
	r, now := s.reads[shard], s.clock()
	wait := r.next.Sub(now)
	r.next = now.Add(max(wait, 0) + s.manners.readEvery)
	s.reads[shard] = r
	s.mu.Unlock()
	return s.sleep(ctx, wait)
}

// atTip reports whether what was read says that there was nothing more, and since which turn that was asked: a shard that
// rests has had empty pages for long, which say nothing of what was committed after them. The caller holds mu.
func (s *Source) atTip(r fold.ReadRequest, b *fold.Batch) (tip bool, since uint64) {
	was := s.reads[r.Shard]
	if b.Read > 0 || was.at != r.After {
		was.empty = nil
	}
	if b.Read == 0 {
		was.at, was.empty = r.After, append(was.empty, r.Turn)
		was.empty = was.empty[max(0, len(was.empty)-s.manners.emptyPages):]
	}
	s.reads[r.Shard] = was
	if len(was.empty) < s.manners.emptyPages {
		return false, 0
	}
	return true, was.empty[0]
}
