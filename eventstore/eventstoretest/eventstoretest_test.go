package eventstoretest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The suite passes on the in-memory engine, called directly and through DynamoDB's protocol.
func TestConformance(t *testing.T) {
	t.Parallel()
	called := func(t *testing.T) *table.Table { return eventstoretest.New(t, eventstore.Options{}).Table }
	for name, c := range map[string]struct {
		open   func(t *testing.T) *table.Table
		o      eventstore.Options
		others []eventstore.Options
	}{
		"called": {called, eventstore.Options{}, nil},
		"through a client": {func(t *testing.T) *table.Table {
			s := eventstoretest.New(t, eventstore.Options{})
			return table.New(s.DB.Client(), s.Table.Name(), table.Options{Clock: s.DB.Now})
		}, eventstore.Options{}, nil},
		"short pages":                 {called, eventstore.Options{PageBytes: 300}, []eventstore.Options{{PageBytes: 1}, {PageBytes: 1000}}},
		"short pages, one by one":     {called, eventstore.Options{PageBytes: 300, PutMode: true}, []eventstore.Options{{PageBytes: 1, PutMode: true}, {PageBytes: 1000, PutMode: true}}},
		"short pages in chains":       {called, eventstore.Options{PageBytes: 1, Chain: true}, nil},
		"one by one":                  {called, eventstore.Options{PutMode: true}, nil},
		"a chain of hashes":           {called, eventstore.Options{Chain: true}, nil},
		"other writers":               {called, eventstore.Options{}, []eventstore.Options{{TypeShards: 4}, {Chain: true}, {}}},
		"one by one, by more writers": {called, eventstore.Options{PutMode: true}, []eventstore.Options{{PutMode: true, Chain: true}, {PutMode: true, TypeShards: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others []eventstoretest.Writer
			for _, o := range c.others {
				others = append(others, eventstoretest.With(o))
			}
			eventstoretest.Conformance(t, c.open, eventstoretest.With(c.o), others...)
		})
	}
}

// anybody has credentials that nothing verifies.
var anybody = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
})

// The suite passes on another DynamoDB implementation, except for what needs transactions.
func TestDynalite(t *testing.T) {
	t.Parallel()
	endpoint := dynamotest.StartDynalite(t)
	tables := 0
	eventstoretest.Conformance(t, func(t *testing.T) *table.Table {
		connections := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(connections.CloseIdleConnections)
		client := dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: anybody, BaseEndpoint: &endpoint, HTTPClient: connections})
		tables++
		name := fmt.Sprint("onefold", tables)
		in := eventstore.Schema.CreateTableInput(name)
		in.StreamSpecification = nil // not supported by Dynalite
		if _, err := client.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		ready := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second })
		if err := ready.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
			t.Fatal(err)
		}
		return table.New(client, name, table.Options{})
	}, eventstoretest.With(eventstore.Options{PutMode: true}))
}

// Opened and Deposited are events of accounts.
type (
	Opened    struct{ Owner string }
	Deposited struct{ Cents int }
)

var errClosed = errors.New("the account is not open")

func accounts() eventstoretest.Spec[int] {
	r := registry.New(registry.Options{})
	registry.Register[Opened](r, "Opened", 1)
	registry.Register[Deposited](r, "Deposited", 1)
	balance := registry.Fold(r, 1,
		registry.On(func(n int, _ Opened) (int, error) { return n, nil }),
		registry.On(func(n int, e Deposited) (int, error) { return n + e.Cents, nil }))
	return eventstoretest.Spec[int]{Registry: r, Fold: balance}
}

func deposit(cents int) func(eventstore.Loaded[int]) ([]eventstore.NewEvent, error) {
	return func(at eventstore.Loaded[int]) ([]eventstore.NewEvent, error) {
		switch {
		case at.Version == 0:
			return nil, errClosed
		case cents == 0:
			return nil, nil
		}
		return []eventstore.NewEvent{{Type: "Deposited", Payload: fmt.Appendf(nil, `{ "Cents": %d }`, cents)}}, nil
	}
}

func TestSpec(t *testing.T) {
	a := accounts()
	a.Given(t, Opened{"Ada"}, Deposited{5}).When(deposit(7)).Then(Deposited{7}).ThenState(12)
	a.Given(t, Opened{"Ada"}).When(deposit(0)).Then().ThenState(0)
	a.Given(t).When(deposit(7)).ThenError(errClosed)
	a.Given(t, eventstore.NewEvent{Type: "Opened", Payload: []byte("{}")}).When(deposit(7)).Then(eventstore.NewEvent{Type: "Deposited", Payload: []byte(`{"Cents":7}`)})
}

// complaints is a test that records its failures.
type complaints struct {
	list    []string
	cleanup []func()
}

func (c *complaints) Helper()                      {}
func (c *complaints) Errorf(f string, args ...any) { c.list = append(c.list, fmt.Sprintf(f, args...)) }
func (c *complaints) Fatalf(f string, args ...any) { c.Errorf(f, args...) }
func (c *complaints) Cleanup(f func())             { c.cleanup = append(c.cleanup, f) }

// A spec that fails reports what happened and what should have happened.
func TestFailingSpec(t *testing.T) {
	a := accounts()
	for want, spec := range map[string]func(enginetest.T){
		`then: Deposited "{ \"Cents\": 7 }"; want Deposited "{\"Cents\":8}"`: func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(7)).Then(Deposited{8}) },
		`then: Deposited "{ \"Cents\": 7 }"; want nothing`:                   func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(7)).Then() },
		`then: nothing; want Deposited`:                                      func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(0)).Then(Deposited{8}) },
		`then: Deposited "{ \"Cents\": 7 }"; want Opened`:                    func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(7)).Then(Opened{}) },
		`then: the account is not open; want Deposited`:                      func(t enginetest.T) { a.Given(t).When(deposit(7)).Then(Deposited{7}) },
		`then: the error is <nil>; want the account is not open`:             func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(0)).ThenError(errClosed) },
		`then: 2 Deposited happened; want the error`:                         func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(7)).ThenError(nil) },
		`then: the state is 7, <nil>; want 8`:                                func(t enginetest.T) { a.Given(t, Opened{}).When(deposit(7)).ThenState(8) },
		`event 0, a int: registry: unknown type`:                             func(t enginetest.T) { a.Given(t, 7) },
	} {
		c := &complaints{}
		spec(c)
		for _, f := range c.cleanup {
			f()
		}
		if !strings.Contains(strings.Join(c.list, "\n"), want) {
			t.Errorf("%q; want %q", c.list, want)
		}
	}
}

// Faults are values: an append without a response happened once.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]enginetest.Fault{
		"lost before": eventstoretest.LoseBefore(1), "lost after": eventstoretest.LoseAfter(1), "throttled": eventstoretest.Throttle(1), "collided": eventstoretest.Collide(1),
	} {
		s := eventstoretest.New(t, eventstore.Options{}, fault)
		id := eventstore.ID{Type: "account", ID: "1"}
		began := s.DB.Now()
		s.Advance(time.Hour)
		c, err := s.Append(context.Background(), id, eventstore.NoStream(), []eventstore.NewEvent{{Type: "Opened"}})
		if err != nil || c.Version != 1 || s.DB.Hits() != 1 || s.StreamText(id) != "1 Opened" {
			t.Errorf("%s: %+v, %v, %d hits: %s", name, c, err, s.DB.Hits(), s.StreamText(id))
		}
		if h, err := s.Head(context.Background(), id); err != nil || !h.CreatedAt.Equal(began.Add(time.Hour)) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}
