package eventstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// metered is a store that adds up the capacity units used by appends, on the table and its index.
type metered struct {
	dynamo.API
	write, read float64
}

func (m *metered) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = "TOTAL"
	out, err := m.API.TransactWriteItems(ctx, &asked, o...)
	if err == nil {
		for _, c := range out.ConsumedCapacity {
			m.write += *c.CapacityUnits
		}
	}
	return out, err
}

func (m *metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = "TOTAL"
	out, err := m.API.PutItem(ctx, &asked, o...)
	if err == nil {
		m.write += *out.ConsumedCapacity.CapacityUnits
	}
	return out, err
}

func (m *metered) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = "TOTAL"
	out, err := m.API.GetItem(ctx, &asked, o...)
	if err == nil {
		m.read += *out.ConsumedCapacity.CapacityUnits
	}
	return out, err
}

func (m *metered) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = "TOTAL"
	out, err := m.API.Query(ctx, &asked, o...)
	if err == nil {
		m.read += *out.ConsumedCapacity.CapacityUnits
	}
	return out, err
}

func (m *metered) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = "TOTAL"
	out, err := m.API.BatchGetItem(ctx, &asked, o...)
	if err == nil {
		for _, c := range out.ConsumedCapacity {
			m.read += *c.CapacityUnits
		}
	}
	return out, err
}

// Appends cost what the guide says. Its rows are ways to append, and its columns are 1, 3 and 10
// events of 320 bytes.
func TestAppendsCostWhatTheGuideSays(t *testing.T) {
	rows := guideTable(t, "| append | 1 event | 3 events | 10 events |")
	plain, two := eventstore.Options{}, []string{"course:42", "student:7"}
	unless := eventstore.Unless(eventstore.Query{{Tags: two[:1]}, {Tags: two[1:]}}, eventstore.QueryPosition{})
	for name, c := range map[string]struct {
		o        eventstore.Options
		others   int // number of further aggregates, with one event each
		expected func(version int64) eventstore.Expected
		options  []eventstore.AppendOption
		tags     []string
	}{
		"the first":                           {plain, 0, nil, nil, nil},
		"`Exact`":                             {plain, 0, eventstore.Exact, nil, nil},
		"`Any`":                               {plain, 0, func(int64) eventstore.Expected { return eventstore.Any() }, nil, nil},
		"with a `CommitID`":                   {plain, 0, eventstore.Exact, []eventstore.AppendOption{eventstore.CommitID("c")}, nil},
		"with a `CommitID` and a value":       {plain, 0, eventstore.Exact, []eventstore.AppendOption{eventstore.CommitID("c"), eventstore.Reserve("s", "v")}, nil},
		"and 1 event to another aggregate":    {plain, 1, eventstore.Exact, nil, nil},
		"with two tags":                       {plain, 0, eventstore.Exact, nil, two},
		"with two tags, on condition of them": {plain, 0, eventstore.Exact, []eventstore.AppendOption{unless}, two},
		"on condition of two tags":            {plain, 0, eventstore.Exact, []eventstore.AppendOption{unless}, nil},
		"`PutMode`, each by itself":           {eventstore.Options{PutMode: true}, 0, eventstore.Exact, nil, nil},
	} {
		row, ok := rows[name]
		if !ok || len(row) != 3 {
			t.Errorf("the guide has no row %q", name)
			continue
		}
		for i, n := range []int{1, 3, 10} {
			have := cost(t, c.o, n, c.others, c.expected, c.options, c.tags)
			if want := row[i]; have != want {
				t.Errorf("%s, %d events: %s, the guide says %s", name, n, have, want)
			}
		}
	}
}

// cost returns the capacity units of an append: write units, and read units if there are any.
func cost(t *testing.T, o eventstore.Options, n, others int, expected func(int64) eventstore.Expected, options []eventstore.AppendOption, tags []string) string {
	w := newWorld(t, o)
	m := &metered{API: w.db}
	store, err := eventstore.New(table.New(m, "onefold", table.Options{Clock: w.db.Now}), o)
	w.must(err)
	version := int64(0)
	if expected != nil {
		for i := range 1 + others {
			w.append(order(fmt.Sprint(i)), eventstore.NoStream(), "Placed")
		}
		version = 1
	} else {
		expected = eventstore.Exact
	}
	event := eventstore.NewEvent{Type: "OrderPlaced", Payload: bytes.Repeat([]byte("x"), 320), Envelope: eventstore.Envelope{Tags: tags}}
	if o.PutMode {
		for range n {
			_, err := store.Append(w.ctx, order("0"), expected(version), []eventstore.NewEvent{event})
			w.must(err)
			version++
		}
	} else {
		parts := []eventstore.AppendTo{{ID: order("0"), Expected: expected(version), Options: options}}
		for range n {
			parts[0].Events = append(parts[0].Events, event)
		}
		for i := range others {
			parts = append(parts, eventstore.AppendTo{ID: order(fmt.Sprint(i + 1)), Expected: expected(version), Events: []eventstore.NewEvent{event}})
		}
		if others == 0 {
			_, err = store.Append(w.ctx, parts[0].ID, parts[0].Expected, parts[0].Events, options...)
		} else {
			_, err = store.AppendAll(w.ctx, parts)
		}
		w.must(err)
	}
	if m.read > 0 {
		return fmt.Sprintf("%g + %g read", m.write, m.read)
	}
	return fmt.Sprint(m.write)
}

// guideTable returns the rows of a table in the guide, by their first column.
func guideTable(t *testing.T, header string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/guides/eventstore.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), header+"\n")
	if !found {
		t.Fatalf("the guide has no table %s", header)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(after) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 2 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}
