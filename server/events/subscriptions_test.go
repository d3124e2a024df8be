package events_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

// Subscriptions of a program are shown, and their parked events are retried or discarded.
func TestSubscriptions(t *testing.T) {
	s := newShop(t)
	const path = "/api/v1/events/subscriptions"
	s.owner.Want(200, `{"head":0,"subscriptions":[]}`, "GET", path, "")
	var mended atomic.Bool
	store, err := eventstore.New(table.New(s.Table.API(), s.Table.Name(), table.Options{}), eventstore.Options{}) // with a clock that runs
	servertest.Must(t, err)
	mails, err := subscription.New(store, subscription.Definition{Name: "mails", Handle: subscription.Each(func(_ context.Context, e *eventstore.FeedEvent) error {
		if e.EventType == "Bad" && !mended.Load() {
			return subscription.Permanent(errors.New("nobody lives there"))
		}
		return nil
	})}, subscription.Options{Poll: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	servertest.Must(t, err)
	s.append("1", `{"events":[{"type":"Sent"},{"type":"Bad"},{"type":"Sent"}]}`)
	s.append("2", `{"events":[{"type":"Bad"}]}`)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mails.Run(ctx) }()
	until := func(want string) {
		t.Helper()
		have := ""
		for end := time.Now().Add(2 * time.Minute); !strings.Contains(have, want); have = s.owner.Want(200, "", "GET", path, "") {
			if time.Sleep(5 * time.Millisecond); time.Now().After(end) {
				t.Fatalf("%s does not come; there is %s", want, have)
			}
		}
	}
	until(`"name":"mails","position":2,"lag":0,"handled":1,"parked":3,`)
	s.owner.Want(200, `{"parked":[{"aggregateType":"order","aggregateId":"1","seq":2,`, "GET", path+"/mails/parked", "")
	s.owner.Want(200, `"type":"Bad","position":1,"partition":0,"reason":"nobody lives there","attempts":1,`, "GET", path+"/mails/parked", "")
	s.owner.Want(200, `{"events":1}`, "POST", path+"/mails/discard", `{"aggregates":[{"type":"order","id":"2"}]}`)
	mended.Store(true)
	s.owner.Want(200, `{"aggregates":1}`, "POST", path+"/mails/retry", "")
	until(`"handled":3,"parked":0,`)
	s.owner.Want(200, `{"parked":[],"more":false}`, "GET", path+"/mails/parked", "")
	s.owner.Want(422, "invalid_request", "POST", path+"/mails/reset", `{"position":3}`)
	s.owner.Want(204, "", "POST", path+"/mails/reset", `{"position":0}`)
	until(`"handled":7,"parked":0,`)
	web := s.Browser()
	web.Want(200, "mails", "GET", path, "", s.keys[accounts.Read]...)
	for action, body := range map[string]string{"retry": "", "discard": `{}`, "reset": `{"position":0}`} {
		web.Want(403, "forbidden", "POST", path+"/mails/"+action, body, s.keys[accounts.Read]...)
		s.owner.Want(404, "no_such_subscription", "POST", path+"/none/"+action, body)
	}
	s.stranger.Want(403, "forbidden", "GET", path+"/mails/parked", "")
	s.owner.Want(404, "no_such_subscription", "GET", path+"/none/parked", "")
	s.owner.Want(204, "", "DELETE", path+"/mails", "")
	s.owner.Want(404, "no_such_subscription", "DELETE", path+"/mails", "")
	if err := <-ended; !errors.Is(err, subscription.ErrNotFound) {
		t.Error(err)
	}
	stop()
	for _, action := range []string{"retry", "discard", "reset", "delete"} {
		s.owner.Want(200, "subscription."+action, "GET", "/api/v1/audit", "")
	}
}
