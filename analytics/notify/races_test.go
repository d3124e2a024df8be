package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// A channel that changes its kind keeps no secret: that of a webhook is known to its receiver, who
// could otherwise make links to unsubscribe, and that of mail is in nobody's hands.
func TestAChannelOfAnotherKindHasAnotherSecret(t *testing.T) {
	tbl := newTable(t)
	hook := delivery.Target{Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://hooks.example.com/x"}}
	mail := delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ada@example.com"}}}
	slack := delivery.Target{Kind: delivery.Slack, Settings: hook.Settings}
	seen := map[string]bool{"": true}
	for _, to := range []delivery.Target{hook, mail, hook, slack, hook} {
		c := put(t, tbl, "c", to)
		switch {
		case to.Kind == delivery.Slack && c.Secret != "":
			t.Errorf("a Slack channel has the secret %q", c.Secret)
		case to.Kind != delivery.Slack && seen[c.Secret]:
			t.Errorf("a channel became %s with the secret %q of another kind, or none", to.Kind, c.Secret)
		case to.Kind == delivery.Webhook && !strings.HasPrefix(c.Secret, "whsec_"):
			t.Errorf("a webhook has the secret %q", c.Secret)
		}
		seen[c.Secret] = true
		if again := put(t, tbl, "c", to); again.Secret != c.Secret {
			t.Errorf("%s: saving it again changed the secret", to.Kind)
		}
	}
}

// Recipients unsubscribe while others do, and while somebody edits the channel: nobody gets mail again.
func TestUnsubscribingRaces(t *testing.T) {
	tbl := newTable(t)
	const n = 8
	mail := delivery.Target{Kind: delivery.Email}
	for i := range n {
		mail.To = append(mail.To, fmt.Sprintf("p%d@example.com", i))
	}
	c := put(t, tbl, "mail", mail)
	var all sync.WaitGroup
	for _, to := range mail.To {
		_, token, _ := strings.Cut(c.UnsubscribeURL("https://x.example", to), "/mail/")
		all.Go(func() {
			for {
				_, err := notify.Unsubscribe(t.Context(), tbl, c.ChannelKey, token)
				if err == nil {
					return
				}
				if !errors.Is(err, table.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 3 {
		all.Go(func() {
			for j := range 10 {
				edited := notify.Channel{ChannelKey: c.ChannelKey, Name: fmt.Sprint(i, j), Target: mail}
				if _, err := notify.PutChannel(t.Context(), tbl, edited); err != nil && !errors.Is(err, table.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := notify.Channels.Get(t.Context(), tbl, c.ChannelKey)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(got.Unsubscribed); !slices.Equal(got.Unsubscribed, mail.To) {
		t.Errorf("unsubscribed: %v, want %v", got.Unsubscribed, mail.To)
	}
}

// interrupted is a table at which somebody else acts just before the next write.
type interrupted struct {
	*engine.DB
	act func()
}

func (i *interrupted) before() {
	if act := i.act; act != nil {
		i.act = nil
		act()
	}
}

func (i *interrupted) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	i.before()
	return i.DB.PutItem(ctx, in, o...)
}

func (i *interrupted) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	i.before()
	return i.DB.UpdateItem(ctx, in, o...)
}

// A recipient unsubscribes after an edit has read the channel and before it is written.
func TestUnsubscribingDuringAnEdit(t *testing.T) {
	api := &interrupted{}
	tbl := newTableOf(t, func(db *engine.DB) dynamo.API { api.DB = db; return api })
	mail := delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ada@example.com", "bob@example.com"}}}
	c := put(t, tbl, "mail", mail)
	unsubscribe := func(to string) {
		_, token, _ := strings.Cut(c.UnsubscribeURL("https://x.example", to), "/mail/")
		if _, err := notify.Unsubscribe(t.Context(), tbl, c.ChannelKey, token); err != nil {
			t.Error(err)
		}
	}
	api.act = func() { unsubscribe("ada@example.com") }
	edited, err := notify.PutChannel(t.Context(), tbl, notify.Channel{ChannelKey: c.ChannelKey, Name: "Team", Target: mail})
	if err != nil || edited.Name != "Team" || !slices.Equal(edited.Unsubscribed, []string{"ada@example.com"}) {
		t.Errorf("%+v: %v", edited, err)
	}
	api.act = func() { unsubscribe("ada@example.com") }
	unsubscribe("bob@example.com")
	got, err := notify.Channels.Get(t.Context(), tbl, c.ChannelKey)
	if err != nil || got.Name != "Team" || !slices.Equal(got.Unsubscribed, []string{"ada@example.com", "bob@example.com"}) {
		t.Errorf("%+v: %v", got, err)
	}
}

// Reports of two sites, of the same time and with the same names, have messages with different IDs:
// mail programs and receivers of webhooks drop a message whose ID they know.
func TestSitesShareNoMessageID(t *testing.T) {
	tbl := newTable(t)
	ids := map[string]string{}
	for _, site := range []string{"shop", "blog", "blog.a"} {
		if site != "shop" {
			if _, err := analytics.CreateSite(t.Context(), tbl, analytics.NewSite{ID: site}); err != nil {
				t.Fatal(err)
			}
		}
		for id, to := range map[string]delivery.Target{
			"a":    {Kind: delivery.Slack, Settings: delivery.Settings{URL: "https://hooks.example.com/x"}},
			"team": {Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ada@example.com"}}},
		} {
			if _, err := notify.PutChannel(t.Context(), tbl, notify.Channel{ChannelKey: notify.ChannelKey{SiteID: site, ChannelID: id}, Target: to}); err != nil {
				t.Fatal(err)
			}
		}
		for id, err := range messageIDs(t.Context(), tbl, site) {
			if err != nil {
				t.Fatal(err)
			}
			if other := ids[id]; other != "" {
				t.Errorf("messages of %s and %s share the ID %s", other, site, id)
			}
			ids[id] = site
		}
	}
	if len(ids) != 6 {
		t.Errorf("%d messages, want 6", len(ids))
	}
}

// messageIDs tells a site's channels something and returns the IDs of the messages.
func messageIDs(ctx context.Context, tbl *table.Table, site string) func(yield func(string, error) bool) {
	return func(yield func(string, error) bool) {
		_, err := notify.Enqueue(ctx, tbl, notify.News{SiteID: site, ID: "20260512T120000Z.report.week", Event: "test.event", Title: "News"})
		if err != nil {
			yield("", err)
			return
		}
		for n, err := range notify.NotificationsOfSite.All(ctx, tbl, notify.NotificationsIn{SiteID: site}) {
			if !yield(n.NotificationID, err) {
				return
			}
		}
	}
}
