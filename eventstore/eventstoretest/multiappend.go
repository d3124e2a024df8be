package eventstoretest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// A multi-stream append happens to all aggregates or none, and its error names the one in the way.
func appendAll(w *suite) {
	w.append(order("1"), eventstore.NoStream(), "A")
	commits, err := w.writer().AppendAll(w.ctx, []eventstore.AppendTo{
		to(order("1"), eventstore.Exact(1), "B", "C"), to(order("2"), eventstore.NoStream(), "D"), to(order("3"), eventstore.Any(), "E")})
	w.must(err)
	if len(commits) != 3 || commits[0].First != 2 || commits[0].Version != 3 || commits[1].Version != 1 || commits[1].CommitID != commits[0].CommitID {
		w.Errorf("%+v", commits)
	}
	for i, parts := range [][]eventstore.AppendTo{
		{to(order("2"), eventstore.Exact(1), "X"), to(order("1"), eventstore.Exact(2), "X")},
		{to(order("4"), eventstore.NoStream(), "X"), to(order("1"), eventstore.NoStream(), "X")},
		{to(order("1"), eventstore.Exists(), "X"), to(order("4"), eventstore.Exists(), "X")},
	} {
		_, err := w.writer().AppendAll(w.ctx, parts)
		conflict := (*eventstore.Conflict)(nil)
		if !errors.As(err, &conflict) || conflict.ID != parts[1].ID {
			w.Errorf("append %d: %v", i, err)
		}
	}
	w.must(w.writer().Close(w.ctx, order("3")))
	if _, err := w.writer().AppendAll(w.ctx, []eventstore.AppendTo{to(order("1"), eventstore.Any(), "X"), to(order("3"), eventstore.Any(), "X")}); !errors.Is(err, eventstore.ErrClosed) || !strings.Contains(err.Error(), "order/3") {
		w.Errorf("one is closed: %v", err)
	}
	for id, want := range map[string]string{"1": "1 A 2 B 3 C", "2": "1 D", "3": "1 E", "4": ""} {
		w.wantStream(order(id), want)
	}
}

// A multi-stream append that is repeated with its commit ID returns the first result, in any order
// of parts and whatever was appended since. It cannot be extended.
func appendAllAgain(w *suite) {
	w.append(order("2"), eventstore.NoStream(), "Z")
	parts := []eventstore.AppendTo{to(order("1"), eventstore.NoStream(), "A"), to(order("2"), eventstore.Exact(1), "B", "C")}
	first, err := w.writer().AppendAll(w.ctx, parts, eventstore.CommitID("move"))
	w.must(err)
	w.append(order("1"), eventstore.Any(), "Y")
	w.must(w.writer().Close(w.ctx, order("2")))
	slices.Reverse(parts)
	again, err := w.writer().AppendAll(w.ctx, parts, eventstore.CommitID("move"))
	if err != nil || !again[0].Again || again[0].First != first[1].First || again[1].Version != first[0].Version {
		w.Errorf("%+v, then %+v, %v", first, again, err)
	}
	for name, parts := range map[string][]eventstore.AppendTo{
		"with another": {parts[0], parts[1], to(order("3"), eventstore.Any(), "D")}, "of more events": {to(order("1"), eventstore.Any(), "A", "A"), parts[0]},
		"with another first": {to(order("0"), eventstore.NoStream(), "D"), parts[1]},
	} {
		if _, err := w.writer().AppendAll(w.ctx, parts, eventstore.CommitID("move")); !errors.Is(err, eventstore.ErrCommitReused) && !errors.Is(err, eventstore.ErrClosed) {
			w.Errorf("%s: %v", name, err)
		}
	}
	for id, want := range map[string]string{"0": "", "1": "1 A 2 Y", "2": "1 Z 2 B 3 C", "3": ""} {
		w.wantStream(order(id), want)
	}
}

// A repeated append is recognized even after its stream was closed.
func againAfterClose(w *suite) {
	for i, expected := range []eventstore.Expected{eventstore.Any(), eventstore.NoStream(), eventstore.Exists()} {
		id := order(fmt.Sprint(i))
		_, err := w.writer().Append(w.ctx, id, eventstore.NoStream(), said("A"), eventstore.CommitID("a"))
		w.must(err)
		w.must(w.writer().Close(w.ctx, id))
		if c, err := w.writer().Append(w.ctx, id, expected, said("A"), eventstore.CommitID("a")); err != nil || !c.Again || c.Version != 1 {
			w.Errorf("expecting %s: %+v, %v", expected, c, err)
		}
	}
}

func appendAllRefuses(w *suite) {
	many := make([]eventstore.AppendTo, 50)
	for i := range many {
		many[i] = to(order(fmt.Sprint("m", i)), eventstore.Any(), "A")
	}
	one, two := to(order("1"), eventstore.Any(), "A"), to(order("2"), eventstore.Any(), "A")
	named := two
	named.Options = []eventstore.AppendOption{eventstore.CommitID("other")}
	for name, c := range map[string]struct {
		parts   []eventstore.AppendTo
		options []eventstore.AppendOption
		want    error
	}{
		"nothing": {nil, nil, eventstore.ErrInvalid}, "twice": {[]eventstore.AppendTo{one, one}, nil, eventstore.ErrInvalid},
		"no events": {[]eventstore.AppendTo{one, {ID: order("2")}}, nil, eventstore.ErrInvalid}, "an id": {[]eventstore.AppendTo{one, to(order("a#b"), eventstore.Any(), "A")}, nil, eventstore.ErrInvalid},
		"50 aggregates": {many, nil, eventstore.ErrInvalid}, "49 with a commit id": {many[:49], []eventstore.AppendOption{eventstore.CommitID("c")}, eventstore.ErrTooLarge},
		"two commit ids": {[]eventstore.AppendTo{one, named}, nil, eventstore.ErrInvalid},
		"whose value":    {[]eventstore.AppendTo{one, two}, []eventstore.AppendOption{eventstore.Reserve("email", "a")}, eventstore.ErrInvalid},
	} {
		if _, err := w.writer().AppendAll(w.ctx, c.parts, c.options...); !errors.Is(err, c.want) {
			w.Errorf("%s: %v", name, err)
		}
	}
	w.wantStream(order("1"), "")
	if _, err := w.writer().AppendAll(w.ctx, many[:49]); err != nil {
		w.Errorf("49 aggregates: %v", err)
	}
}

func appendAllReserves(w *suite) {
	taking := func(n, value string) eventstore.AppendTo {
		part := to(order(n), eventstore.NoStream(), "A")
		part.Options = []eventstore.AppendOption{eventstore.Reserve("email", value)}
		return part
	}
	_, err := w.keyed().AppendAll(w.ctx, []eventstore.AppendTo{taking("1", "a"), taking("2", "b")})
	w.must(err)
	if _, err := w.keyed().AppendAll(w.ctx, []eventstore.AppendTo{taking("3", "c"), taking("4", "b")}); !errors.Is(err, eventstore.ErrReserved) {
		w.Errorf("a value that another has: %v", err)
	}
	for value, want := range map[string]string{"a": "order/1", "b": "order/2"} {
		if owner, err := w.keyed().OwnerOf(w.ctx, "email", value); err != nil || owner != want {
			w.Errorf("%s belongs to %q, %v", value, owner, err)
		}
	}
	if _, err := w.keyed().OwnerOf(w.ctx, "email", "c"); !errors.Is(err, table.ErrNotFound) {
		w.Errorf("reserved by an append that did not happen: %v", err)
	}
}
