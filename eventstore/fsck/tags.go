package fsck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// tagged checks an item of a tag's list: with the head, the whole list; with the first entry, that
// there is a head. A condition on a tag relies on both, see eventstore.Unless.
func (c *checker) tagged(ctx context.Context, it table.Item) error {
	head, first := text(it, table.AttrEntity) == eventstore.TagHeads.Name(), text(it, table.AttrSK) == fmt.Sprintf("ENTRY#%012d", 1)
	if !head && !first {
		return nil
	}
	tag, _ := strings.CutPrefix(text(it, table.AttrPK), "TAG#")
	h, err := eventstore.TagHeads.Get(ctx, c.t, eventstore.TagKey{Tag: tag})
	switch {
	case errors.Is(err, table.ErrNotFound) && first:
		return c.report(Finding{Kind: TagHole, Item: keysOf(it), Detail: fmt.Sprintf("the tag %q has a list without a head", tag)})
	case errors.Is(err, table.ErrNotFound): // the head was erased since
		return nil
	case err != nil:
		return storeError(ctx, err)
	case head:
		return c.tagList(ctx, &h)
	}
	return nil
}

// tagList checks that the list has each number up to that in the head, which was read before, and that
// its events exist and have the tag.
func (c *checker) tagList(ctx context.Context, h *eventstore.TagHead) error {
	next := int64(1)
	for entry, err := range eventstore.EventsOfTag.All(ctx, c.t, eventstore.TagIn{TagKey: h.TagKey, From: 1, To: eventstore.EndOfStream}) {
		if err != nil {
			return storeError(ctx, err)
		}
		if entry.N > next && next <= h.N {
			if err := c.tagHole(h, next, min(entry.N-1, h.N)); err != nil {
				return err
			}
		}
		next = entry.N + 1
		for i := range entry.Events {
			if err := c.taggedEvent(ctx, &entry, &entry.Events[i]); err != nil {
				return err
			}
		}
	}
	if next <= h.N {
		return c.tagHole(h, next, h.N)
	}
	return nil
}

func (c *checker) tagHole(h *eventstore.TagHead, from, to int64) error {
	return c.report(Finding{
		Kind: TagHole, Item: "TAG#" + h.Tag, Detail: fmt.Sprintf("the list of the tag %q lacks the appends %d to %d of %d: queries miss their events", h.Tag, from, to, h.N),
	})
}

// taggedEvent checks that an event of a list exists and has the tag, unless it was truncated.
func (c *checker) taggedEvent(ctx context.Context, entry *eventstore.TagEntry, t *eventstore.TaggedEvent) error {
	if !c.wanted(t.Type) {
		return nil
	}
	f := Finding{Kind: TagStale, ID: t.ID, Item: fmt.Sprintf("TAG#%s ENTRY#%012d", entry.Tag, entry.N), Detail: fmt.Sprintf("event %d of %s is in the list of the tag %q, but does not exist", t.Seq, t.ID, entry.Tag)}
	for e, err := range c.s.Read(ctx, t.ID, eventstore.From(t.Seq), eventstore.To(t.Seq), eventstore.AsStored()) {
		switch {
		case errors.Is(err, eventstore.ErrHole) || errors.Is(err, eventstore.ErrPage) || errors.Is(err, eventstore.ErrTruncated):
			return nil // reported with its aggregate, or truncated
		case err != nil:
			return storeError(ctx, err)
		case slices.Contains(e.Tags, entry.Tag) && e.EventType == t.EventType:
			return nil
		}
		f.Detail = fmt.Sprintf("event %d of %s is in the list of the tag %q as %s, but is %s with the tags %q", t.Seq, t.ID, entry.Tag, t.EventType, e.EventType, e.Tags)
	}
	return c.report(f)
}
