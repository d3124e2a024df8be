package streamsource

import (
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/fold"
)

// streamLimits are the rate limits and polling rules for a stream.
//
// DynamoDB allows five reads a second of each shard and ten DescribeStream calls a second, shared
// by all readers. Beyond that it returns LimitExceeded or ProvisionedThroughputExceeded. A read may
// return nothing although there is more: "it might take multiple calls to get to a portion of the
// shard that contains stream records". So a single empty page is not the end of the shard, and no
// figure in the response shows how far behind a reader is. Several consecutive empty pages, with
// the pause between reads, are taken as the end; see docs/decisions.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
type streamLimits struct {
	emptyPages    int           // consecutive empty pages that count as the tip
	readEvery     time.Duration // minimum interval between reads of a shard
	describeEvery time.Duration // pause between pages of DescribeStream
	poll          time.Duration // a worker's pause after an empty read; 0 means the worker's default
}

// emulators identifies ARNs of the embedded engine behind HTTP and of DynamoDB Local. They have no
// rate limits or charges. Because they respond from a single place, an empty page is the end.
const emulators = ":000000000000:"

func limitsFor(streamARN string, exact bool) streamLimits {
	switch {
	case exact:
		return streamLimits{emptyPages: 1}
	case strings.Contains(streamARN, emulators):
		return streamLimits{emptyPages: 1, poll: 100 * time.Millisecond}
	}
	return streamLimits{emptyPages: 4, readEvery: 200 * time.Millisecond, describeEvery: 200 * time.Millisecond, poll: 250 * time.Millisecond}
}

// Pace implements fold.Pacer.
func (s *Source) Pace() time.Duration { return s.limits.poll }

// readHistory is the recent history of reads of a shard.
type readHistory struct {
	next  time.Time     // earliest time of the next read
	at    fold.Sequence // position of the empty pages
	empty []uint64      // turns of the latest consecutive empty pages, at most emptyPages
}

// await waits until a shard may be read again. It reserves the slot before sleeping, so that
// concurrent readers queue up.
func (s *Source) await(ctx context.Context, shard string) error {
	if s.limits.readEvery <= 0 {
		return nil
	}
	s.mu.Lock()
	r, now := s.reads[shard], s.clock()
	wait := r.next.Sub(now)
	r.next = now.Add(max(wait, 0) + s.limits.readEvery)
	s.reads[shard] = r
	s.mu.Unlock()
	return s.sleep(ctx, wait)
}

// atTip reports whether reads show that there was nothing more, and since which turn that is based
// on. A turn is needed because a quiet shard may have had empty pages for long, which do not
// exclude changes committed after them. The caller must hold mu.
func (s *Source) atTip(r fold.ReadRequest, b *fold.Batch) (tip bool, since uint64) {
	was := s.reads[r.Shard]
	if b.Read > 0 || was.at != r.After {
		was.empty = nil
	}
	if b.Read == 0 {
		was.at, was.empty = r.After, append(was.empty, r.Turn)
		was.empty = was.empty[max(0, len(was.empty)-s.limits.emptyPages):]
	}
	s.reads[r.Shard] = was
	if len(was.empty) < s.limits.emptyPages {
		return false, 0
	}
	return true, was.empty[0]
}
