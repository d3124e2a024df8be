package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

var (
	headVersion = table.FieldOf(Heads, func(h *Head) *int64 { return &h.Version })
	headFirst   = table.FieldOf(Heads, func(h *Head) *int64 { return &h.First })
	headBytes   = table.FieldOf(Heads, func(h *Head) *int { return &h.Bytes })
	headRecords = table.FieldOf(Heads, func(h *Head) *[]Record { return &h.Records })
)

// Trim deletes the events of an aggregate below Head.FirstKept, which a truncation has set: whole
// pages, and the beginning of the page at the boundary. It returns the number of deleted events. It
// may be repeated, also after a crash, and readers are not disturbed. Errors: table.ErrNotFound,
// ErrPage, ErrBusy, those of the store.
func (s *Store) Trim(ctx context.Context, id ID) (deleted int64, err error) {
	h, err := s.trimHead(ctx, id, &deleted)
	if err == nil && h.FirstKept > 1 {
		err = s.trimPages(ctx, &h, &deleted)
	}
	if err != nil {
		return deleted, fmt.Errorf("eventstore: delete truncated events of %s: %w", shorten(id.String()), err)
	}
	return deleted, nil
}

// trimHead shortens the open page.
func (s *Store) trimHead(ctx context.Context, id ID, deleted *int64) (Head, error) {
	for try := range maxTries {
		h, err := Heads.Get(ctx, s.t, id)
		if err != nil || h.First >= h.FirstKept {
			return h, err
		}
		records, size, err := kept(id, h.Records, h.FirstKept)
		if err != nil {
			return h, err
		}
		_, err = Heads.Patch(ctx, s.t, id, headRecords.Set(records), headFirst.Set(h.FirstKept), headBytes.Set(size),
			table.If[Head](headVersion.Eq(h.Version)), table.If[Head](headFirst.Eq(h.First)))
		if !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrNotFound) {
			s.tips.Remove(id)
			*deleted += h.FirstKept - h.First
			return h, err
		}
		if err := s.sleep(ctx, retryDelay(try)); err != nil {
			return h, err
		}
	}
	return Head{}, ErrBusy
}

// trimPages deletes closed pages, and rewrites the one at the boundary under its new first number
// before that.
func (s *Store) trimPages(ctx context.Context, h *Head, deleted *int64) error {
	for p, err := range PagesFrom.All(ctx, s.t, PagesIn{h.ID, 1, h.FirstKept}) {
		if err != nil {
			return err
		}
		if p.Last >= h.FirstKept {
			records, _, err := kept(h.ID, p.Records, h.FirstKept)
			if err != nil {
				return err
			}
			rest := Page{PageKey: PageKey{h.ID, h.FirstKept}, Last: p.Last, Records: records}
			if err := Pages.Put(ctx, s.t, &rest, longer(&rest)); err != nil && !errors.Is(err, table.ErrCondition) {
				return err
			}
		}
		if err := Pages.Delete(ctx, s.t, p.PageKey); err != nil {
			return err
		}
		*deleted += min(p.Last, h.FirstKept-1) - p.First + 1
	}
	return nil
}

// kept returns records without the events before a number, and their size.
func kept(id ID, records []Record, from int64) (all []Record, size int, err error) {
	for _, r := range records {
		r, err := r.From(id, from)
		if err != nil {
			return nil, 0, err
		}
		if r != nil {
			all, size = append(all, r), size+len(r)
		}
	}
	return all, size, nil
}
