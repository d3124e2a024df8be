package foldsim

import (
	"github.com/onefold/onefold/fold"
)

// spawnHandle starts a process that delivers batches like a Lambda event source: in order per
// shard, parents first, again after a failure, sometimes divided differently, and sometimes again
// although they were handled.
func (s *simulation) spawnHandle(o fold.Options) *process {
	return s.spawn(s.name(), func(p *process) error {
		worker, err := newWorker(p, s.Folds, o)
		if err != nil {
			return err
		}
		for !s.quieting {
			if err := p.giveWay(); err != nil {
				return err
			}
			sh := s.shards[s.Rand.IntN(len(s.shards))]
			if sh.trimmed || !s.delivered(sh.parent) {
				continue
			}
			s.deliver(p, worker, sh)
		}
		return nil
	})
}

// delivered reports whether a shard was delivered completely, or no longer exists.
func (s *simulation) delivered(id string) bool {
	sh := s.shard(id)
	return sh == nil || sh.trimmed || s.cursor(id).done
}

func (s *simulation) cursor(id string) *cursor {
	if s.cursors[id] == nil {
		s.cursors[id] = &cursor{}
	}
	return s.cursors[id]
}

func (s *simulation) deliver(p *process, worker *fold.Worker, sh *shard) {
	c := s.cursor(sh.id)
	after := c.after
	b := s.page(sh, fold.ReadRequest{Shard: sh.id, After: after, Max: 1 + s.Rand.IntN(12)})
	if _, err := worker.Handle(p.ctx, b.Changes); err != nil {
		return
	}
	if s.Rand.IntN(8) == 0 {
		return // the event source did not get the response, and will deliver again
	}
	if b.Last.Compare(c.after) > 0 {
		c.after = b.Last
	}
	c.done = c.done || b.End
}
