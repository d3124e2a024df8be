package eventstoretest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/eventstore"
)

func oneToAHundredEvents(w *suite) {
	for n := 1; n <= 100; n++ {
		for _, named := range []bool{false, true} {
			id, most := order(fmt.Sprint(n, named)), 98
			var options []eventstore.AppendOption
			if named {
				options, most = append(options, eventstore.CommitID("c")), 97
			}
			c, err := w.writer().Append(w.ctx, id, eventstore.NoStream(), said(slices.Repeat([]string{"E"}, n)...), options...)
			if fine := n <= most; fine != (err == nil) || fine && c.Version != int64(n) || !fine && !errors.Is(err, eventstore.ErrTooLarge) {
				w.Errorf("%d events, with an id: %v: %+v, %v", n, named, c, err)
			}
		}
	}
}

// An aggregate that is larger than a page is read completely, from any event on and backwards.
func threeMegabytes(w *suite) {
	for i := range 12 {
		_, err := w.writer().Append(w.ctx, order("1"), eventstore.Exact(int64(i)), []eventstore.NewEvent{{Type: fmt.Sprint("E", i%5), Payload: bytes.Repeat([]byte("x"), 300<<10)}})
		w.must(err)
	}
	for name, c := range map[string]struct {
		options     []eventstore.ReadOption
		n           int
		first, last int64
	}{
		"all": {nil, 12, 1, 12}, "backwards": {[]eventstore.ReadOption{eventstore.Backwards()}, 12, 12, 1},
		"from 3": {[]eventstore.ReadOption{eventstore.From(3)}, 10, 3, 12}, "to 11": {[]eventstore.ReadOption{eventstore.To(11)}, 11, 1, 11},
	} {
		events, size := w.events(order("1"), c.options...), 0
		for _, e := range events {
			size += len(e.Payload)
		}
		if len(events) != c.n || events[0].Seq != c.first || events[c.n-1].Seq != c.last || size != c.n*300<<10 {
			w.Errorf("%s: %d events of %d bytes", name, len(events), size)
		}
	}
	if at, err := eventstore.Load(w.ctx, w.writer(), order("1"), tally); err != nil || at.Version != 12 || at.State["E1"] != 3 {
		w.Errorf("%+v, %v", at, err)
	}
}

// Nothing is lost at the end of a page of a query: four pages of a stream with total sizes around 1
// MB, and two more events.
func pagesOfExactly1MB(w *suite) {
	const page = 1 << 20
	append1 := func(id eventstore.ID, i, n int) {
		_, err := w.writer().Append(w.ctx, id, eventstore.Exact(int64(i)), []eventstore.NewEvent{{Type: "E", Payload: bytes.Repeat([]byte("x"), n)}})
		w.must(err)
	}
	id, sample := order("size"), page/4-1000
	append1(id, 0, sample)
	append1(id, 1, 1)
	first, err := eventstore.Pages.Get(w.ctx, w.table, eventstore.PageKey{ID: id, First: 1})
	w.must(err)
	item, err := eventstore.Pages.Encode(&first)
	w.must(err)
	over := sizeOf(item) - sample
	for off := -6; off <= 6; off++ {
		id := order(fmt.Sprintf("%+04d", off)) // as long as "size"
		for i := range 6 {
			n := page/4 - over
			if i == 3 {
				n += off
			}
			append1(id, i, n)
		}
		w.wantStream(id, "1 E 2 E 3 E 4 E 5 E 6 E")
		w.wantStream(id, "6 E 5 E 4 E 3 E 2 E 1 E", eventstore.Backwards())
	}
}

// sizeOf returns the size of an item of texts, small numbers and one list of binaries by DynamoDB's
// rules, with an error of up to a byte per number.
func sizeOf(item map[string]types.AttributeValue) (n int) {
	for name, av := range item {
		switch av := av.(type) {
		case *types.AttributeValueMemberS:
			n += len(av.Value)
		case *types.AttributeValueMemberL:
			n += 3
			for _, b := range av.Value {
				n += 1 + len(b.(*types.AttributeValueMemberB).Value)
			}
		default:
			n += 2
		}
		n += len(name)
	}
	return n
}

// A conflict carries at most a thousand events, but the next decision is based on all of them.
func conflictWithMuch(w *suite) {
	for range 11 {
		w.append(order("1"), eventstore.Any(), slices.Repeat([]string{"E"}, 98)...)
	}
	_, err := w.writer().Append(w.ctx, order("1"), eventstore.Exact(1), said("X"))
	conflict := (*eventstore.Conflict)(nil)
	if !errors.As(err, &conflict) || conflict.Actual != 11*98 || len(conflict.Since) != 1000 || conflict.Since[0].Seq != 2 {
		w.Fatalf("%v", err)
	}
	tries := 0
	at, err := eventstore.Transact(w.ctx, w.writer(), order("1"), tally, func(at eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
		if tries++; tries == 1 {
			for range 11 {
				w.append(order("1"), eventstore.Any(), slices.Repeat([]string{"E"}, 98)...)
			}
		}
		return said(fmt.Sprint("Seen", at.State["E"])), nil
	})
	if err != nil || at.Version != 22*98+1 || at.State[fmt.Sprint("Seen", 22*98)] != 1 {
		w.Errorf("version %d, %v", at.Version, err)
	}
}

// Names are case-sensitive, and may contain what people write.
func validNames(w *suite) {
	ids := []eventstore.ID{
		{Type: "order", ID: "a"}, {Type: "order", ID: "A"}, {Type: "Order", ID: "a"}, {Type: "order", ID: "a "}, {Type: "order", ID: "a/b"}, {Type: "order/a", ID: "b"}, {Type: "order", ID: "é"}, {Type: "order", ID: "e\u0301"},
		{Type: "order", ID: "00"}, {Type: "order", ID: "0"}, {Type: "order", ID: "a\x00"}, {Type: "order", ID: strings.Repeat("x", 256)}, {Type: strings.Repeat("y", 64), ID: "a"}, {Type: "order", ID: "{id}"},
	}
	for i, id := range ids {
		for range i%3 + 1 {
			w.append(id, eventstore.Any(), fmt.Sprint("E", i))
		}
	}
	for i, id := range ids {
		for _, e := range w.events(id) {
			if e.ID != id || e.EventType != fmt.Sprint("E", i) {
				w.Errorf("%q has an event of %q", id, e.ID)
			}
		}
		if h, err := w.writer().Head(w.ctx, id); err != nil || h.Version != int64(i%3+1) {
			w.Errorf("%q: %+v, %v", id, h, err)
		}
	}
}
