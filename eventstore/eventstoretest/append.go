package eventstoretest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

func expectedVersions(w *suite) {
	for i, c := range []struct {
		expected eventstore.Expected
		fine     bool
	}{
		{eventstore.Exists(), false}, {eventstore.Exact(3), false}, {eventstore.NoStream(), true},
		{eventstore.NoStream(), false}, {eventstore.Exact(0), false}, {eventstore.Exact(2), false}, {eventstore.Exact(1), true},
		{eventstore.Exists(), true}, {eventstore.Any(), true}, {eventstore.Exact(3), false}, {eventstore.Exact(4), true},
	} {
		_, err := w.writer().Append(w.ctx, order("1"), c.expected, said("E"))
		if conflict := errors.Is(err, eventstore.ErrConflict); conflict == c.fine || !conflict && err != nil {
			w.Errorf("append %d, expecting %s: %v", i, c.expected, err)
		}
	}
	w.wantStream(order("1"), "1 E 2 E 3 E 4 E 5 E")
	w.append(order("2"), eventstore.Any(), "E")
	w.wantStream(order("2"), "1 E")
}

// A conflict has the events that came in between, or shows that the stream is shorter than
// expected.
func conflictHasEventsSince(w *suite) {
	id := order("1")
	for _, name := range []string{"Placed", "Paid", "Shipped"} {
		w.append(id, eventstore.Any(), name)
	}
	for _, c := range []struct {
		expected eventstore.Expected
		since    []string
	}{
		{eventstore.NoStream(), []string{"Placed", "Paid", "Shipped"}}, {eventstore.Exact(2), []string{"Shipped"}}, {eventstore.Exact(9), nil},
	} {
		_, err := w.writer().Append(w.ctx, id, c.expected, said("X"))
		conflict := (*eventstore.Conflict)(nil)
		if !errors.As(err, &conflict) || conflict.Actual != 3 || !slices.Equal(typesOf(conflict.Since), c.since) {
			w.Errorf("%s: %v, %+v", c.expected, err, conflict)
		}
	}
}

// An append that is repeated with its commit ID returns the first result, whatever version it
// expects and whatever was appended since.
func commitIDs(w *suite) {
	id := order("1")
	w.append(id, eventstore.Any(), "Placed")
	first, err := w.writer().Append(w.ctx, id, eventstore.Exact(1), said("Paid"), eventstore.CommitID("pay"))
	w.must(err)
	for range 20 {
		w.append(id, eventstore.Any(), "Noted")
	}
	for _, expected := range []eventstore.Expected{eventstore.Exact(1), eventstore.Exact(22), eventstore.Any(), eventstore.Exists()} {
		c, err := w.writer().Append(w.ctx, id, expected, said("Paid"), eventstore.CommitID("pay"))
		if err != nil || !c.Again || c.First != first.First || c.Version != 2 {
			w.Errorf("%s: %+v, %v", expected, c, err)
		}
	}
	if strings.Count(w.streamText(id), "Paid") != 1 {
		w.Errorf("story: %s", w.streamText(id))
	}
}

func commitIDOfAnotherAppend(w *suite) {
	_, err := w.writer().Append(w.ctx, order("1"), eventstore.NoStream(), said("A", "B"), eventstore.CommitID("c"))
	w.must(err)
	_, err = w.writer().Append(w.ctx, order("1"), eventstore.Any(), said("A"), eventstore.CommitID("c"))
	if !errors.Is(err, eventstore.ErrCommitReused) {
		w.Errorf("another append with the same id: %v", err)
	}
	_, err = w.writer().Append(w.ctx, order("2"), eventstore.Any(), said("A"), eventstore.CommitID("c")) // of another stream
	w.must(err)
}

// An append is all or none, of 1 to 98 events.
func manyEventsInOneAppend(w *suite) {
	c, err := w.writer().Append(w.ctx, order("1"), eventstore.NoStream(), said(slices.Repeat([]string{"E"}, 98)...))
	if err != nil || c.First != 1 || c.Version != 98 {
		w.Fatalf("%+v, %v", c, err)
	}
	if _, err := w.writer().Append(w.ctx, order("1"), eventstore.Any(), said(slices.Repeat([]string{"E"}, 100)...)); !errors.Is(err, eventstore.ErrTooLarge) {
		w.Errorf("99 events: %v", err)
	}
	large := said("A", "B")
	large[1].Payload = bytes.Repeat([]byte("x"), 400<<10)
	if _, err := w.writer().Append(w.ctx, order("2"), eventstore.NoStream(), large); !errors.Is(err, eventstore.ErrTooLarge) {
		w.Errorf("an event of more than 400 KB: %v", err)
	}
	var huge []eventstore.NewEvent
	for range 12 {
		huge = append(huge, eventstore.NewEvent{Type: "E", Payload: bytes.Repeat([]byte("x"), 380<<10)})
	}
	if _, err := w.writer().Append(w.ctx, order("2"), eventstore.NoStream(), huge); !errors.Is(err, eventstore.ErrTooLarge) {
		w.Errorf("more than 4 MB: %v", err)
	}
	w.wantStream(order("2"), "")
	for range 9 {
		if _, err := w.writer().Append(w.ctx, order("2"), eventstore.Any(), huge[:9]); err != nil {
			w.Fatal(err)
		}
	}
	if n := strings.Count(w.streamText(order("2")), "E"); n != 81 {
		w.Errorf("%d of 81 events of 30 MB are read", n)
	}
}

func itemOfExactly400KB(w *suite) {
	e := said("E")
	size := func(n int) error {
		e[0].Payload = bytes.Repeat([]byte("x"), n)
		_, err := w.stores[0].Append(w.ctx, order(fmt.Sprint(n)), eventstore.NoStream(), e)
		return err
	}
	least, most := 390<<10, 400<<10 // the first is stored, the second is not
	for most-least > 1 {
		if n := (least + most) / 2; size(n) == nil {
			least = n
		} else {
			most = n
		}
	}
	if err := size(most); !errors.Is(err, eventstore.ErrTooLarge) {
		w.Errorf("a payload of %d bytes: %v", most, err)
	}
	w.wantStream(order(fmt.Sprint(most)), "")
	w.wantStream(order(fmt.Sprint(least)), "1 E")
}

func closedStreams(w *suite) {
	w.append(order("1"), eventstore.NoStream(), "A")
	w.must(w.writer().Close(w.ctx, order("1")))
	for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.Exact(1), eventstore.Exists(), eventstore.NoStream()} {
		if _, err := w.writer().Append(w.ctx, order("1"), expected, said("B")); !errors.Is(err, eventstore.ErrClosed) {
			w.Errorf("%s: %v", expected, err)
		}
	}
	w.wantStream(order("1"), "1 A")
	w.must(w.writer().Close(w.ctx, order("1")))
	w.must(w.writer().Delete(w.ctx, order("1")))
	w.must(w.writer().Delete(w.ctx, order("1")))
	if err := w.writer().Close(w.ctx, order("1")); !errors.Is(err, eventstore.ErrClosed) {
		w.Errorf("closing a deleted stream: %v", err)
	}
	if err := w.writer().Close(w.ctx, order("none")); !errors.Is(err, table.ErrNotFound) {
		w.Errorf("closing no stream: %v", err)
	}
}

func reservations(w *suite) {
	email := eventstore.Reserve("email", "a#b@example.org")
	_, err := w.keyed().Append(w.ctx, order("1"), eventstore.NoStream(), said("A"), email)
	w.must(err)
	if _, err := w.keyed().Append(w.ctx, order("2"), eventstore.NoStream(), said("A"), email); !errors.Is(err, eventstore.ErrReserved) {
		w.Errorf("a value that is taken: %v", err)
	}
	w.wantStream(order("2"), "")
	_, err = w.keyed().Append(w.ctx, order("1"), eventstore.Exact(1), said("B"), email) // it already has the value
	w.must(err)
	if owner, err := w.keyed().OwnerOf(w.ctx, "email", "a#b@example.org"); err != nil || owner != "order/1" {
		w.Errorf("owner: %q, %v", owner, err)
	}
	if _, err := w.keyed().Append(w.ctx, order("2"), eventstore.Any(), said("A"), eventstore.Release("email", "a#b@example.org")); !errors.Is(err, eventstore.ErrReserved) {
		w.Errorf("releasing another's value: %v", err)
	}
	_, err = w.keyed().Append(w.ctx, order("1"), eventstore.Any(), said("C"), eventstore.Release("email", "a#b@example.org"))
	w.must(err)
	_, err = w.keyed().Append(w.ctx, order("2"), eventstore.NoStream(), said("A"), email)
	w.must(err)
}

// The head has the event types of the last append.
func headHasTypesOfLastAppend(w *suite) {
	for i, types := range [][]string{{"Placed"}, {"Paid", "Noted", "Paid"}, {"Shipped"}} {
		w.append(order("1"), eventstore.Any(), types...)
		slices.Sort(types)
		if h, err := w.writer().Head(w.ctx, order("1")); err != nil || !slices.Equal(h.LastTypes, slices.Compact(types)) {
			w.Errorf("append %d: %+v, %v", i, h, err)
		}
	}
}

func invalidNames(w *suite) {
	for _, id := range []eventstore.ID{{}, {Type: "order", ID: ""}, {Type: "", ID: "1"}, {Type: "order", ID: "a#b"}, {Type: "o#", ID: "1"}, {Type: "order", ID: strings.Repeat("x", 257)}, {Type: "order", ID: "\xff"}} {
		if _, err := w.writer().Append(w.ctx, id, eventstore.Any(), said("A")); !errors.Is(err, eventstore.ErrInvalid) {
			w.Errorf("%+v: %v", id, err)
		}
	}
	for _, name := range []string{"", "a#b", strings.Repeat("x", 129)} {
		if _, err := w.writer().Append(w.ctx, order("1"), eventstore.Any(), said(name)); !errors.Is(err, eventstore.ErrInvalid) {
			w.Errorf("type %q: %v", name, err)
		}
	}
	if _, err := w.writer().Append(w.ctx, order("1"), eventstore.Any(), nil); !errors.Is(err, eventstore.ErrInvalid) {
		w.Errorf("no events: %v", err)
	}
	// Another case or type is another stream.
	w.append(order("a"), eventstore.NoStream(), "A")
	w.append(order("A"), eventstore.NoStream(), "B")
	w.append(eventstore.ID{Type: "Order", ID: "a"}, eventstore.NoStream(), "C")
	w.wantStream(order("a"), "1 A")
}
