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
	subjectRemade     = table.FieldOf(Subjects, func(s *Subject) *time.Time { return &s.Remade })
	subjectFinished   = table.FieldOf(Subjects, func(s *Subject) *time.Time { return &s.Finished })
	reservedFor       = table.FieldOf(eventstore.Reservations, func(r *eventstore.Reservation) *string { return &r.Subject })
	subjectAggregates = table.FieldOf(Subjects, func(s *Subject) *int { return &s.Aggregates })
)

// Receipt records what was done to erase a subject.
type Receipt struct {
	Subject    string          `json:"subject"`
	Erased     time.Time       `json:"forgottenAt"`         // first deletion of the key
	Remade     time.Time       `json:"remadeAt"`            // first completion of remaking or deleting derived data
	Remains    time.Time       `json:"remainsUntil"`        // until when the change stream has earlier states of read models
	Finished   time.Time       `json:"finishedAt,omitzero"` // zero before that; to get a receipt with it, call Erase again afterwards
	Aggregates []eventstore.ID `json:"aggregates"`          // aggregates that the subject is in
	Snapshots  int             `json:"snapshots"`           // deleted by this call
	Released   int             `json:"released"`            // values reserved with eventstore.ReserveFor that this call released
}

// Erase permanently deletes the key of a subject. From then on its personal data in events is
// unreadable: at once in this process, within Options.Keep in others. Erase deletes the snapshots
// of the aggregates that the subject is in, and calls Options.Remake for each aggregate. It can be
// repeated, and must be after an error. Read models are not sealed, and the change stream has their
// earlier states for a day; until then Finished is zero in the receipt. The key item stays without
// the key, so that the subject is not mistaken for a new one. Errors: table.ErrNotFound if no event
// was about the subject; those of Remake and the store.
func (k *KeyStore) Erase(ctx context.Context, subject string) (Receipt, error) {
	r := Receipt{Subject: subject, Aggregates: []eventstore.ID{}}
	s, err := Subjects.Modify(ctx, k.t, SubjectKey{subject}, func(s *Subject) error {
		if s.Wrapped, s.Master = nil, ""; s.Erased.IsZero() {
			s.Erased = k.now()
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("shred: erase: %w", err)
	}
	k.keys.Add(subject, &key{erased: s.Erased})
	r.Erased = s.Erased
	for link, err := range AggregatesOf.All(ctx, k.t, s.SubjectKey) {
		if err == nil {
			r.Aggregates = append(r.Aggregates, link.ID)
			err = k.derived(ctx, link.ID, &r)
		}
		if err != nil {
			return r, fmt.Errorf("shred: erase: clean up after deleting the key: %w", err)
		}
	}
	if err := k.release(ctx, subject, &r); err != nil {
		return r, fmt.Errorf("shred: erase: release values: %w", err)
	}
	if r.sign(&s, k.now()); err == nil {
		_, err = Subjects.Patch(ctx, k.t, s.SubjectKey, subjectRemade.Set(r.Remade), subjectFinished.Set(r.Finished), subjectAggregates.Set(len(r.Aggregates)))
	}
	if err != nil {
		return r, fmt.Errorf("shred: erase: keep the receipt: %w", err)
	}
	return r, nil
}

// now returns the time as it is stored, so that every receipt has the same.
func (k *KeyStore) now() time.Time { return k.t.Now().UTC().Truncate(time.Millisecond) }

// streamKeeps is how long the change stream keeps earlier states of items.
const streamKeeps = 24 * time.Hour

// sign sets the times of a completed erasure.
func (r *Receipt) sign(s *Subject, now time.Time) {
	if r.Remade = s.Remade; r.Remade.IsZero() {
		r.Remade = now
	}
	r.Remains = r.Remade.Add(streamKeeps)
	if r.Finished = s.Finished; r.Finished.IsZero() && !now.Before(r.Remains) {
		r.Finished = now
	}
}

// release releases the reserved values about a subject.
func (k *KeyStore) release(ctx context.Context, subject string, r *Receipt) error {
	for value, err := range eventstore.ReservationsOf.All(ctx, k.t, eventstore.SubjectIn{Subject: subject}) {
		if err != nil {
			return err
		}
		err = eventstore.Reservations.Delete(ctx, k.t, value.ReservationKey, reservedFor.Eq(subject))
		switch {
		case err == nil:
			r.Released++
		case !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrNotFound): // otherwise it belongs to somebody else by now
			return err
		}
		if err := eventstore.PersonalReservations.Delete(ctx, k.t, value.PersonalReservationKey); err != nil {
			return err
		}
	}
	return nil
}

// derived removes what was derived from an aggregate.
func (k *KeyStore) derived(ctx context.Context, id eventstore.ID, r *Receipt) error {
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
	for past, err := range eventstore.PastSnapshotsBackwards.All(ctx, k.t, eventstore.PastSnapshotsIn{ID: id, From: 1, To: eventstore.EndOfStream}) {
		if err == nil {
			r.Snapshots++
			err = eventstore.PastSnapshots.Delete(ctx, k.t, past.PastSnapshotKey)
		}
		if err != nil {
			return fmt.Errorf("snapshots of the past of %s: %w", id, err)
		}
	}
	if k.o.Remake == nil {
		return nil
	}
	if err := k.o.Remake(id); err != nil {
		return fmt.Errorf("rebuild %s: %w", id, err)
	}
	return nil
}

// Aggregates returns the aggregates that a subject is in, for example to answer an access request.
func (k *KeyStore) Aggregates(ctx context.Context, subject string) ([]eventstore.ID, error) {
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
