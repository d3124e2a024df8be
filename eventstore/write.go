package eventstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

var (
	headVersion = table.FieldOf(Heads, func(h *Head) *int64 { return &h.Version })
	headState   = table.FieldOf(Heads, func(h *Head) *StreamState { return &h.State })
	headUpdated = table.FieldOf(Heads, func(h *Head) *time.Time { return &h.UpdatedAt })
	headTypes   = table.FieldOf(Heads, func(h *Head) *[]string { return &h.LastTypes })
)

// addTo adds the append to a transaction. The head comes first, because concurrent writers conflict
// on it.
func (a *appending) addTo(tx *table.Tx) {
	version := a.version
	last := version + int64(len(a.events))
	now, types := a.events[0].RecordedAt, a.types()
	if version == 0 {
		Heads.TxCreate(tx, &Head{ID: a.id, Version: last, Shard: table.Shard(a.id.ID, HeadShards), CreatedAt: now, UpdatedAt: now, LastTypes: types, Hash: a.lastHash()})
	} else {
		changes := []table.Change[Head]{headVersion.Set(last), headUpdated.Set(now), headTypes.Set(types), table.If[Head](headVersion.Eq(version)), table.If[Head](headState.Missing())}
		if a.chained {
			changes = append(changes, headHash.Set(a.lastHash()))
		} else {
			changes = append(changes, table.If[Head](headHash.Missing()))
		}
		Heads.TxPatch(tx, a.id, changes...)
	}
	for i := range a.events {
		Events.TxCreate(tx, &a.events[i])
	}
	if a.named {
		Marks.TxCreate(tx, &Mark{MarkKey: MarkKey{a.id, a.commit}, First: version + 1, N: len(a.events), Parts: a.parts, Digest: a.content.digest, Sealed: a.content.sealed})
	}
	for i := range a.claims {
		a.claims[i].addTo(tx, a.id, now)
	}
}

// marks returns the number of operations for the mark.
func (a *appending) marks() int {
	if a.named {
		return 1
	}
	return 0
}

// types returns the distinct types of the events, sorted, for consumers of the head's changes.
func (a *appending) types() []string {
	types := make([]string, len(a.events))
	for i := range a.events {
		types[i] = a.events[i].EventType
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// explain interprets the failure of the append's operation with index at.
func (a *appending) explain(err error, blamed *table.TxError, at int) error {
	switch {
	case at == 0:
		return a.headRefused(blamed)
	case at <= len(a.events) && errors.Is(err, table.ErrExists):
		return fmt.Errorf("%w: %s has version %d, but event %d exists", ErrHole, a.id, a.version, a.events[at-1].Seq)
	case errors.Is(err, table.ErrExists) && blamed.Op == "create "+Marks.Name():
		return errTaken // by the same append: it will be found
	case errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrNotFound):
		return a.claimError(at - 1 - len(a.events) - a.marks())
	}
	return err
}

// tooLarge reports whether the store rejected a transaction or item as too large, which only its
// message says.
func tooLarge(err error) bool {
	return dynamo.Code(err) == dynamo.CodeValidation && strings.Contains(err.Error(), "size") && strings.Contains(err.Error(), "exceed")
}

// headRefused interprets a failed condition on the head.
func (a *appending) headRefused(blamed *table.TxError) error {
	if blamed.Item != nil {
		h, err := Heads.Decode(blamed.Item)
		if err != nil {
			return err
		}
		switch {
		case h.State != Open:
			return a.isClosed(h.State)
		case len(h.Hash) > 0 && !a.chained:
			a.chained = true // another store began a chain: the next attempt continues it
			return errTaken
		}
	}
	if errors.Is(blamed, table.ErrExists) || errors.Is(blamed, table.ErrCondition) || errors.Is(blamed, table.ErrNotFound) {
		return errTaken
	}
	return blamed
}

func taken(err error) error {
	switch {
	case errors.Is(err, table.ErrExists):
		return errTaken
	case errors.Is(err, table.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return err
}
