package process_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/process"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// A bank transfers money between accounts. Transfers of more than 100 wait five minutes for an approval. If
// the recipient's account is closed, the money goes back.
type (
	Started struct {
		ID, From, To string
		Amount       int
	}
	Approved struct{ ID string }
	Finished struct{ ID, Why string } // Why "": it succeeded
	Opened   struct{ Balance int }
	Closed   struct{}
	Moved    struct { // Amount is negative for a withdrawal
		Transfer string
		Amount   int
	}
)

// The commands of the process.
type (
	Move struct {
		Account, Transfer string
		Amount            int
	}
	Finish Finished
)

var errPoor, errClosed = errors.New("insufficient funds"), errors.New("the account is closed")

type account struct {
	balance int
	closed  bool
}

// transferring is the state of the process.
type transferring struct {
	Started
	Phase  string // withdraw, deposit or refund: what was asked for
	Reason string // of a refund
}

// react is the process of a transfer.
func react(s transferring, m *process.Message) (transferring, process.Reaction, error) {
	move := func(phase, account string, amount int, r process.Reaction) (transferring, process.Reaction, error) {
		s.Phase, r.Commands = phase, append(r.Commands, Move{account, s.ID, amount})
		return s, r, nil
	}
	end := func(why string) (transferring, process.Reaction, error) {
		return s, process.Reaction{Commands: []any{Finish{s.ID, why}}, End: true}, nil
	}
	switch e := m.Data.(type) {
	case Started:
		if s.Started = e; e.Amount > 100 {
			return s, process.Reaction{Set: []process.Deadline{{Name: "approval", At: m.At.Add(5 * time.Minute)}}}, nil
		}
		return move("withdraw", s.From, -s.Amount, process.Reaction{})
	case Approved:
		if s.Phase != "" {
			return s, process.Reaction{}, nil
		}
		return move("withdraw", s.From, -s.Amount, process.Reaction{Cancel: []string{"approval"}})
	case Moved:
		switch s.Phase {
		case "withdraw":
			return move("deposit", s.To, s.Amount, process.Reaction{})
		case "refund":
			return end(s.Reason)
		}
		return end("")
	case Move: // refused
		if s.Phase == "withdraw" {
			return end(m.Refused)
		}
		s.Reason = m.Refused
		return move("refund", s.From, s.Amount, process.Reaction{})
	}
	if m.Deadline == "approval" {
		return end("not approved")
	}
	return s, process.Reaction{}, nil
}

// bank is an event store with accounts, transfers and the process between them, in a synctest bubble.
type bank struct {
	testing.TB
	db    *engine.DB
	reg   *registry.Registry
	table *table.Table
	store *eventstore.Store
}

// inBank runs a test in a bank with a worker that writes its feed.
func inBank(t *testing.T, test func(*bank)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
		if err != nil {
			t.Fatal(err)
		}
		b := &bank{TB: t, db: db, table: table.New(db, "onefold", table.Options{}), reg: registry.New(registry.Options{})}
		b.must(table.MustSchema("test", eventstore.Schema, subscription.Schema, process.Schema).Ensure(t.Context(), db, "onefold"))
		registry.Register[Started](b.reg, "Started", 1)
		registry.Register[Approved](b.reg, "Approved", 1)
		registry.Register[Finished](b.reg, "Finished", 1)
		registry.Register[Opened](b.reg, "Opened", 1)
		registry.Register[Closed](b.reg, "Closed", 1)
		registry.Register[Moved](b.reg, "Moved", 1)
		registry.Register[Move](b.reg, "Move", 1)
		registry.Register[Finish](b.reg, "Finish", 1)
		b.must(b.reg.Check())
		b.store, err = eventstore.New(b.table, eventstore.Options{})
		b.must(err)
		source, err := streamsource.OfTable(t.Context(), db, db, "onefold")
		b.must(err)
		worker, err := fold.NewWorker(b.table, source, eventstore.Folds(), fold.Options{Logger: slog.New(slog.DiscardHandler), Poll: 400 * time.Millisecond})
		b.must(err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- worker.Run(ctx) }()
		test(b)
		stop()
		b.must(errors.Join(<-ended, db.Close()))
	})
}

func (b *bank) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func id(kind, id string) eventstore.ID { return eventstore.ID{Type: kind, ID: id} }

// append appends typed events to a stream.
func (b *bank) append(to eventstore.ID, values ...any) {
	b.Helper()
	events, err := b.reg.EncodeAll(eventstore.Envelope{Actor: "ada", Tenant: "t1"}, values...)
	b.must(err)
	_, err = b.store.Append(b.Context(), to, eventstore.Any(), events)
	b.must(err)
}

// process returns the process on a store, which may be that of a process that crashes.
func (b *bank) process(s *eventstore.Store, around ...func(again func() error, err error) error) *process.Manager[transferring] {
	b.Helper()
	accounts := &registry.Decider[account, Move]{Store: s, Registry: b.reg, Type: "account",
		Fold: registry.Fold(b.reg, 1,
			registry.On(func(_ account, e Opened) (account, error) { return account{balance: e.Balance}, nil }),
			registry.On(func(a account, _ Closed) (account, error) { a.closed = true; return a, nil }),
			registry.On(func(a account, e Moved) (account, error) { a.balance += e.Amount; return a, nil })),
		Decide: func(a account, c Move) ([]any, error) {
			switch {
			case a.closed:
				return nil, process.Refused(errClosed)
			case a.balance+c.Amount < 0:
				return nil, process.Refused(errPoor)
			}
			return []any{Moved{c.Transfer, c.Amount}}, nil
		}}
	transfers := &registry.Decider[struct{}, Finish]{Store: s, Registry: b.reg, Type: "transfer", Fold: registry.Fold[struct{}](b.reg, 1),
		Decide: func(_ struct{}, c Finish) ([]any, error) { return []any{Finished(c)}, nil }}
	m, err := process.New(s, process.Definition[transferring]{
		Name: "transfers", Registry: b.reg, Partitions: 2, React: react,
		Only: []eventstore.FeedOption{eventstore.OfAggregateType("transfer", "account")},
		Key: func(m *process.Message) string {
			switch e := m.Data.(type) {
			case Started:
				return e.ID
			case Approved:
				return e.ID
			case Moved:
				return e.Transfer
			}
			return ""
		},
		Handle: func(ctx context.Context, command any, options ...eventstore.AppendOption) (err error) {
			switch c := command.(type) {
			case Move:
				move := func() error {
					_, err := accounts.Handle(ctx, c.Account, c, options...)
					return err
				}
				if err = move(); len(around) > 0 { // the test repeats it, as a process does that was paused
					err = around[0](move, err)
				}
			case Finish:
				_, err = transfers.Handle(ctx, c.ID, c, options...)
			default:
				err = fmt.Errorf("unknown command %T", c)
			}
			return err
		},
	}, subscription.Options{Logger: slog.New(slog.DiscardHandler), Delay: func(int) time.Duration { return 100 * time.Millisecond }, Attempts: 50, Poll: 400 * time.Millisecond,
		Lease: lease.Options{For: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)}})
	b.must(err)
	return m
}

func running(ctx context.Context, m *process.Manager[transferring]) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// story returns the events of a stream.
func (b *bank) story(id eventstore.ID) string {
	b.Helper()
	var all []string
	for e, err := range b.reg.Read(b.Context(), b.store, id) {
		b.must(err)
		all = append(all, fmt.Sprintf("%+v", e.Data))
	}
	return strings.Join(all, " ")
}

// reactions returns the reactions of an instance.
func (b *bank) reactions(name string) string {
	var all []string
	for e, err := range b.store.Read(b.Context(), id("process.transfers", name)) {
		if err != nil {
			return err.Error()
		}
		all = append(all, fmt.Sprintf("%s %s %s", e.RecordedAt.Format(time.TimeOnly), e.CommitID, e.Payload))
	}
	return strings.Join(all, "\n")
}

func (b *bank) isStory(of eventstore.ID, want string) {
	b.Helper()
	if have := b.story(of); have != want {
		b.Errorf("%s is\n%s, want\n%s", of, have, want)
	}
}

// balance returns the money of an account.
func (b *bank) balance(of string) (n int) {
	b.Helper()
	for e, err := range b.reg.Read(b.Context(), b.store, id("account", of)) {
		b.must(err)
		switch e := e.Data.(type) {
		case Opened:
			n = e.Balance
		case Moved:
			n += e.Amount
		}
	}
	return n
}

func TestTransfers(t *testing.T) {
	inBank(t, func(b *bank) {
		b.append(id("account", "a"), Opened{1000})
		b.append(id("account", "b"), Opened{0})
		b.append(id("account", "c"), Opened{0}, Closed{})
		m := b.process(b.store)
		stop := running(b.Context(), m)
		b.append(id("transfer", "1"), Started{"1", "a", "b", 10})
		b.append(id("transfer", "2"), Started{"2", "b", "a", 50}) // after 1 or before it, there is too little
		b.append(id("transfer", "3"), Started{"3", "a", "c", 20})
		b.append(id("transfer", "4"), Started{"4", "a", "b", 400})
		b.append(id("transfer", "5"), Started{"5", "a", "b", 500})
		time.Sleep(2 * time.Minute)
		b.append(id("transfer", "5"), Approved{"5"})
		time.Sleep(2 * time.Minute)
		b.isStory(id("transfer", "1"), "{ID:1 From:a To:b Amount:10} {ID:1 Why:}")
		b.isStory(id("transfer", "2"), "{ID:2 From:b To:a Amount:50} {ID:2 Why:insufficient funds}")
		b.isStory(id("transfer", "3"), "{ID:3 From:a To:c Amount:20} {ID:3 Why:the account is closed}")
		b.isStory(id("transfer", "4"), "{ID:4 From:a To:b Amount:400}")
		b.isStory(id("transfer", "5"), "{ID:5 From:a To:b Amount:500} {ID:5} {ID:5 Why:}")
		b.must(stop())
		time.Sleep(10 * time.Minute) // the deadline passes while nothing runs
		b.isStory(id("transfer", "4"), "{ID:4 From:a To:b Amount:400}")
		m = b.process(b.store)
		stop = running(b.Context(), m)
		time.Sleep(time.Minute)
		b.append(id("transfer", "4"), Approved{"4"})
		time.Sleep(time.Minute)
		b.isStory(id("transfer", "4"), "{ID:4 From:a To:b Amount:400} {ID:4 Why:not approved} {ID:4}")
		if have := []int{b.balance("a"), b.balance("b"), b.balance("c")}; !slices.Equal(have, []int{490, 510, 0}) {
			b.Errorf("balances %v", have)
		}
		state, ended, ok, err := m.State(b.Context(), "3")
		if err != nil || !ok || !ended || state.Reason != "the account is closed" {
			b.Errorf("%+v, %t, %t, %v", state, ended, ok, err)
		}
		if _, _, ok, err := m.State(b.Context(), "9"); ok || err != nil {
			b.Errorf("an unknown instance: %t, %v", ok, err)
		}
		for d, err := range process.DueBefore.All(b.Context(), b.table, process.DueIn{Process: "transfers", To: 1 << 49}) {
			b.Errorf("a deadline is left: %+v, %v", d, err)
		}
		b.must(stop())
		b.causes()
	})
}

// causes checks that everything a transfer caused belongs to its conversation and actor.
func (b *bank) causes() {
	conversation := ""
	for e, err := range b.store.Read(b.Context(), id("transfer", "3")) {
		b.must(err)
		if e.Seq == 1 {
			conversation = e.EventID
			continue
		}
		if e.Correlation != conversation || e.Causation == "" || e.Actor != "ada" || e.Tenant != "t1" {
			b.Errorf("%s has the envelope %+v, want the conversation %s", e.EventType, e.Envelope, conversation)
		}
	}
}

// What is wrong with a definition or a reaction is said, and costs one event.
func TestFaults(t *testing.T) {
	inBank(t, func(b *bank) {
		type some struct{ N int }
		good := process.Definition[some]{Name: "p", Registry: b.reg, Key: func(*process.Message) string { return "k" },
			React:  func(s some, _ *process.Message) (some, process.Reaction, error) { return s, process.Reaction{}, nil },
			Handle: func(context.Context, any, ...eventstore.AppendOption) error { return nil }}
		for what, change := range map[string]func(*process.Definition[some]){
			"no name": func(d *process.Definition[some]) { d.Name = "" }, "a slash": func(d *process.Definition[some]) { d.Name = "a/b" },
			"a long name": func(d *process.Definition[some]) { d.Name = strings.Repeat("x", 41) }, "no key": func(d *process.Definition[some]) { d.Key = nil },
			"no reactions": func(d *process.Definition[some]) { d.React = nil }, "no handler": func(d *process.Definition[some]) { d.Handle = nil },
			"no registry": func(d *process.Definition[some]) { d.Registry = nil }, "partitions": func(d *process.Definition[some]) { d.Partitions = 65 },
		} {
			d := good
			change(&d)
			if _, err := process.New(b.store, d, subscription.Options{}); !errors.Is(err, process.ErrDefinition) {
				b.Errorf("%s: %v", what, err)
			}
		}
		n := 0
		for what, r := range map[string]process.Reaction{
			"an unregistered command": {Commands: []any{some{}}}, "a deadline without a name": {Set: []process.Deadline{{At: time.Now()}}},
			"a deadline without a time": {Set: []process.Deadline{{Name: "d"}}}, "a # in a deadline": {Set: []process.Deadline{{Name: "#", At: time.Now()}}},
			"endless refusals": {Commands: []any{Move{}}}, "a # in the key": {End: true},
		} {
			n++
			d := good
			d.Name = fmt.Sprint("p", n)
			d.React = func(s some, _ *process.Message) (some, process.Reaction, error) { return s, r, nil }
			d.Handle = func(context.Context, any, ...eventstore.AppendOption) error { return process.Refused(errPoor) }
			if what == "a # in the key" {
				d.Key = func(*process.Message) string { return "#" }
			}
			m, err := process.New(b.store, d, subscription.Options{Logger: slog.New(slog.DiscardHandler)})
			b.must(err)
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error)
			go func() { ended <- m.Run(ctx) }()
			b.append(id("other", "1"), Opened{n})
			time.Sleep(time.Minute)
			stop()
			b.must(<-ended)
			parked, err := subscription.ParkedOf.First(b.Context(), b.table, subscription.Key{Name: "process." + d.Name})
			if err != nil || parked.Attempts != 1 || !strings.HasPrefix(parked.Reason, "process: ") {
				b.Errorf("%s: parked %+v, %v", what, parked, err)
			}
		}
	})
}

// mortal is an API that ends working at some write: the process has crashed.
type mortal struct {
	dynamo.API
	mu   sync.Mutex
	left int
}

func (m *mortal) dies() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errors.New("the process has crashed")
	}
	m.left--
	return nil
}

func (m *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.PutItem(ctx, in, o...)
}

func (m *mortal) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.UpdateItem(ctx, in, o...)
}

func (m *mortal) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.DeleteItem(ctx, in, o...)
}

func (m *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.TransactWriteItems(ctx, in, o...)
}

// However often processes crash, between any two writes, or run beside each other: no money is lost or
// made, and every transfer ends once, with the money in the right place.
func TestCrashes(t *testing.T) {
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		inBank(t, func(b *bank) {
			r := rand.New(rand.NewPCG(seed, 2))
			accounts := []string{"a", "b", "c", "d"}
			for _, a := range accounts {
				b.append(id("account", a), Opened{300})
			}
			b.append(id("account", "d"), Closed{})
			transfers := map[string]Started{}
			for range 15 {
				store, err := eventstore.New(table.New(&mortal{API: b.db, left: r.IntN(80)}, "onefold", table.Options{}), eventstore.Options{})
				b.must(err)
				stop := running(b.Context(), b.process(store))
				for range r.IntN(4) {
					name := fmt.Sprint(len(transfers))
					at := r.Perm(4)
					tr := Started{name, accounts[at[0]], accounts[at[1]], 1 + r.IntN(200)}
					transfers[name] = tr
					b.append(id("transfer", name), tr)
					if r.IntN(3) == 0 {
						b.append(id("transfer", name), Approved{name})
					}
					time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				}
				if r.IntN(3) == 0 {
					time.Sleep(time.Duration(r.IntN(400)) * time.Second)
				}
				if r.IntN(3) > 0 {
					_ = stop() // the error of a crash
				} else {
					defer stop() //nolint:errcheck // likewise
				}
			}
			stop := running(b.Context(), b.process(b.store))
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			total, moved := 0, map[string]int{}
			for _, a := range accounts {
				total += b.balance(a)
				if b.balance(a) < 0 {
					b.Errorf("account %s has %d", a, b.balance(a))
				}
				for e, err := range b.reg.Read(b.Context(), b.store, id("account", a)) {
					b.must(err)
					if e, ok := e.Data.(Moved); ok {
						moved[a+e.Transfer] += e.Amount
					}
				}
			}
			if total != 1200 {
				b.Errorf("the accounts have %d", total)
			}
			for name, tr := range transfers {
				ends, why := 0, ""
				for e, err := range b.reg.Read(b.Context(), b.store, id("transfer", name)) {
					b.must(err)
					if e, ok := e.Data.(Finished); ok {
						ends, why = ends+1, e.Why
					}
				}
				want := 0
				if why == "" {
					want = tr.Amount
				}
				if ends != 1 || moved[tr.From+name] != -want || moved[tr.To+name] != want {
					b.Errorf("transfer %+v has ended %d times (%q): %d and %d moved\n%s", tr, ends, why, moved[tr.From+name], moved[tr.To+name], b.reactions(name))
				}
			}
			st, err := subscription.Get(b.Context(), b.store, "process.transfers")
			if err != nil || st.Lag() != 0 || st.Parked() != 0 {
				b.Errorf("%+v, %v", st, err)
			}
			b.must(stop())
		})
	})
}
