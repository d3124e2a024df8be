package foldsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Watched counts the observations of lags.
type Watched struct {
	Looks  int // observations: one after each step of each run
	Known  int // of Looks: all lags were known
	Behind int // of Known: changes were waiting to be folded
}

// look compares the lags reported by the overview and by each worker with the age of the oldest
// change that is not folded. A reported lag may be too long, but never too short.
func (s *simulation) look() {
	if s.broken != nil {
		return
	}
	t := table.New(&client{p: &process{world: s.World, outside: true}}, "sim", table.Options{Clock: s.Now, CursorKey: []byte("sim")})
	o, err := fold.Read(context.Background(), t, group)
	if err != nil {
		s.broken = err
		return
	}
	oldest, all := s.oldest()
	for _, sh := range o.Shards {
		s.expect("the overview", sh.ID, sh.Mark, oldest)
	}
	for _, p := range s.processes {
		if p.worker == nil {
			continue
		}
		for _, sh := range p.worker.Status().Shards {
			s.expect(p.name, sh.ID, sh.Mark, oldest)
		}
	}
	s.Watch.Looks++
	if !o.Known {
		return
	}
	s.Watch.Known++
	if all.IsZero() {
		return
	}
	s.Watch.Behind++
	if age := s.now.Sub(all); o.Lag() < age && s.broken == nil {
		s.broken = fmt.Errorf("the overview shows a lag of %s, while a change waits that is %s old: %+v", o.Lag(), age, o.Shards)
	}
}

// expect fails the run if the watermark of a shard is after its oldest change that is not folded.
func (s *simulation) expect(who, shard string, mark time.Time, oldest map[string]time.Time) {
	if at, waits := oldest[shard]; waits && mark.After(at) && s.broken == nil {
		s.broken = fmt.Errorf("%s says that %s is folded up to %s, while a change of %s waits", who, shard, mark.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
	}
}

// oldest returns the commit time of the oldest change that is not durably folded, for each shard
// and overall.
func (s *simulation) oldest() (of map[string]time.Time, all time.Time) {
	var read []string
	for _, f := range s.Folds {
		read = append(read, f.From()...)
	}
	of = make(map[string]time.Time)
	for _, sh := range s.shards {
		position := fold.Sequence(s.checkpoint(sh).Position)
		for i, c := range sh.changes {
			wanted := slices.Contains(read, stringOf(c.New[table.AttrEntity])) || slices.Contains(read, stringOf(c.Old[table.AttrEntity]))
			if c.Expired || !wanted || c.Seq.Compare(position) <= 0 {
				continue
			}
			at := sh.times[i]
			of[sh.id] = at
			if all.IsZero() || at.Before(all) {
				all = at
			}
			break
		}
	}
	return of, all
}
