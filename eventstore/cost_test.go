package eventstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

func (m *metered) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = "TOTAL"
	out, err := m.API.UpdateItem(ctx, &asked, o...)
	if key, _ := in.Key["pk"].(*types.AttributeValueMemberS); err == nil && key.Value != "EVENT_STORE" { // a store asks for the rules once in three seconds
		m.write += *out.ConsumedCapacity.CapacityUnits
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
	plain, put := eventstore.Options{}, eventstore.Options{PutMode: true}
	two := []string{"course:42", "student:7"}
	unless := eventstore.Unless(eventstore.Query{{Tags: two[:1]}, {Tags: two[1:]}}, eventstore.QueryPosition{})
	any := func(int64) eventstore.Expected { return eventstore.Any() }
	for name, c := range map[string]appendCost{
		"the first":                           {},
		"`Exact`":                             {o: plain, before: 1, expected: eventstore.Exact},
		"`Exact`, average of 100 appends":     {o: plain, before: 1, expected: eventstore.Exact, times: 100},
		"the same with `PageBytes: 4096`":     {o: eventstore.Options{PageBytes: 4096}, before: 1, expected: eventstore.Exact, times: 100},
		"`Any`":                               {o: plain, before: 1, expected: any},
		"with a `CommitID`":                   {o: plain, before: 1, expected: eventstore.Exact, options: []eventstore.AppendOption{eventstore.CommitID("c")}},
		"with a `CommitID` and a value":       {o: plain, before: 1, expected: eventstore.Exact, options: []eventstore.AppendOption{eventstore.CommitID("c"), eventstore.Reserve("s", "v")}},
		"and 1 event to another aggregate":    {o: plain, before: 1, others: 1, expected: eventstore.Exact},
		"with two tags":                       {o: plain, before: 1, expected: eventstore.Exact, tags: two},
		"with two tags, on condition of them": {o: plain, before: 1, expected: eventstore.Exact, options: []eventstore.AppendOption{unless}, tags: two},
		"on condition of two tags":            {o: plain, before: 1, expected: eventstore.Exact, options: []eventstore.AppendOption{unless}},
		"`PutMode`":                           {o: put, before: 1, expected: eventstore.Exact},
		"`PutMode`, average of 100 appends":   {o: put, before: 1, expected: eventstore.Exact, times: 100},
	} {
		row, ok := rows[name]
		if !ok || len(row) != 3 {
			t.Errorf("the guide has no row %q", name)
			continue
		}
		for i, n := range []int{1, 3, 10} {
			have := c.of(t, n)
			if want := row[i]; have != want {
				t.Errorf("%s, %d events: %s, the guide says %s", name, n, have, want)
			}
		}
	}
}

// appendCost is a way to append.
type appendCost struct {
	o        eventstore.Options
	before   int // events of the aggregates before
	others   int // further aggregates, with one event each
	times    int // appends, of which the average is reported; 0: one
	expected func(version int64) eventstore.Expected
	options  []eventstore.AppendOption
	tags     []string
}

// of returns the capacity units of an append of n events: write units, and read units if there are
// any.
func (c appendCost) of(t *testing.T, n int) string {
	w := newWorld(t, c.o)
	m := &metered{API: w.db}
	store, err := eventstore.New(table.New(m, "onefold", table.Options{Clock: w.db.Now}), c.o)
	w.must(err)
	for i := range c.before * (1 + c.others) {
		_, err := store.Append(w.ctx, order(fmt.Sprint(i)), eventstore.NoStream(), said("Placed"))
		w.must(err)
	}
	expected := c.expected
	if expected == nil {
		expected = eventstore.Exact
	}
	m.read, m.write = 0, 0
	event := eventstore.NewEvent{Type: "OrderPlaced", Payload: bytes.Repeat([]byte("x"), 320), Envelope: eventstore.Envelope{Tags: c.tags}}
	version := int64(c.before)
	for range max(c.times, 1) {
		parts := []eventstore.AppendTo{{ID: order("0"), Expected: expected(version), Options: c.options}}
		for range n {
			parts[0].Events = append(parts[0].Events, event)
		}
		for i := range c.others {
			parts = append(parts, eventstore.AppendTo{ID: order(fmt.Sprint(i + 1)), Expected: expected(version), Events: []eventstore.NewEvent{event}})
		}
		if c.others == 0 {
			_, err = store.Append(w.ctx, parts[0].ID, parts[0].Expected, parts[0].Events, c.options...)
		} else {
			_, err = store.AppendAll(w.ctx, parts)
		}
		w.must(err)
		version += int64(n)
	}
	if c.times > 0 {
		return fmt.Sprintf("%.1f + %.1f read", m.write/float64(c.times), m.read/float64(c.times))
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
