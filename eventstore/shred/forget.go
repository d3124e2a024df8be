package shred

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

var (
	subjectFinished   = table.FieldOf(Subjects, func(s *Subject) *time.Time { return &s.Finished })
	subjectAggregates = table.FieldOf(Subjects, func(s *Subject) *int { return &s.Aggregates })
)

// Receipt says what was done to forget a subject.
type Receipt struct {
	Subject    string          `json:"subject"`
	Forgotten  time.Time       `json:"forgottenAt"` // when the key was deleted, the first time
	Finished   time.Time       `json:"finishedAt"`
	Aggregates []eventstore.ID `json:"aggregates"` // that the subject is in
	Snapshots  int             `json:"snapshots"`  // that were deleted now
}

// Forget deletes the key of a subject for good: from now on nobody can read what events have of it, this process at once,
// another within Options.Keep. Snapshots of the aggregates that it is in are deleted, and Options.Remake is called for each.
// It can be repeated, and has to be after an error, to finish. The key item stays without the key, so that the subject is
// not taken for a new one. Errors: table.ErrNotFound for one that no event was about; those of Remake and the store.
func (k *Keeper) Forget(ctx context.Context, subject string) (Receipt, error) {
	r := Receipt{Subject: subject, Aggregates: []eventstore.ID{}}
	s, err := Subjects.Modify(ctx, k.t, SubjectKey{subject}, func(s *Subject) error {
		if s.Wrapped, s.Master = nil, ""; s.Forgotten.IsZero() {
			s.Forgotten = k.t.Now().UTC()
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("shred: forget: %w", err)
	}
	k.keys.Add(subject, &key{forgotten: s.Forgotten})
	r.Forgotten = s.Forgotten
	for link, err := range AggregatesOf.All(ctx, k.t, s.SubjectKey) {
		if err == nil {
			r.Aggregates = append(r.Aggregates, link.ID)
			err = k.derived(ctx, link.ID, &r)
		}
		if err != nil {
			return r, fmt.Errorf("shred: forget: what follows from the deleted key: %w", err)
		}
	}
	r.Finished = k.t.Now().UTC()
	_, err = Subjects.Patch(ctx, k.t, s.SubjectKey, subjectFinished.Set(r.Finished), subjectAggregates.Set(len(r.Aggregates)))
	if err != nil {
		return r, fmt.Errorf("shred: forget: keep the receipt: %w", err)
	}
	return r, nil
}

// derived removes what was derived of an aggregate.
func (k *Keeper) derived(ctx context.Context, id eventstore.ID, r *Receipt) error {
	_, err := eventstore.SnapshotByID.Get(ctx, k.t, eventstore.SnapshotKey{ID: id})
	switch {
	case err == nil:
		r.Snapshots++
	case !errors.Is(err, table.ErrNotFound):
		return fmt.Errorf("snapshot of %s: %w", id, err)
	}
	if err := eventstore.Snapshots.Delete(ctx, k.t, eventstore.SnapshotKey{ID: id}); err != nil {
		return fmt.Errorf("snapshot of %s: %w", id, err)
	}
	if k.o.Remake == nil {
		return nil
	}
	if err := k.o.Remake(id); err != nil {
		return fmt.Errorf("remake %s: %w", id, err)
	}
	return nil
}

// Aggregates are those that a subject is in, to show or to hand out what is known of it.
func (k *Keeper) Aggregates(ctx context.Context, subject string) ([]eventstore.ID, error) {
	links, err := AggregatesOf.Collect(ctx, k.t, SubjectKey{subject})
	if err != nil {
		return nil, fmt.Errorf("shred: aggregates of a subject: %w", err)
	}
	ids := make([]eventstore.ID, len(links))
	for i, link := range links {
		ids[i] = link.ID
	}
	return ids, nil
}
