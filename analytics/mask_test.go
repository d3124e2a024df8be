package analytics

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/internal/exclude"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// newMaskedSite creates a site with the default detectors and one pattern.
func newMaskedSite(w *world, id string, rules *mask.Rules) Site {
	w.Helper()
	s, err := CreateSite(w.Ctx, w.Table, NewSite{ID: id, Shards: 2, Mask: rules, Domains: []string{"example.com"}, Settings: Settings{CustomProperties: []string{"plan"}}})
	w.Must(err)
	return s
}

// TestMaskedDataIsNowhere sends generated personal data wherever a hit takes text, to a site that
// masks and to one that does not, and looks for it in all events and in the bytes of all items.
func TestMaskedDataIsNowhere(t *testing.T) {
	seeds.Run(t, 4, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, noon)
		rules := mask.Default()
		rules.Paths = []string{"/people/:person/**"}
		sites := map[string]Site{"on": newMaskedSite(w, "on", &rules), "off": newMaskedSite(w, "off", &mask.Rules{})}
		var secrets []string
		var hits []Hit
		for i := range 60 {
			h, secret := drawPersonalHit(r, i)
			hits, secrets = append(hits, h), append(secrets, secret)
		}
		for id := range sites {
			_, err := w.collector.Preview(w.Ctx, id, hits)
			w.Must(err)
			for _, o := range w.ingest(id, hits...) {
				if o.Status != Stored {
					t.Fatalf("%+v", o)
				}
			}
		}
		w.Drain()
		for id, s := range sites {
			events, items := 0, 0
			text := fmt.Sprintf("%+v", dereferenced(w.events(s, noon.Add(-time.Hour), noon.Add(time.Hour))))
			raw := itemsOf(w, id)
			for i, secret := range secrets {
				inEvents, inItems := strings.Contains(text, secret), strings.Contains(raw, secret)
				if id == "on" && (inEvents || inItems) {
					t.Errorf("%s of %+v is stored: in events %v, in items %v", secret, hits[i], inEvents, inItems)
				}
				if inEvents {
					events++
				}
				if inItems {
					items++
				}
			}
			if id == "off" && (events != len(secrets) || items == 0) {
				t.Errorf("without masks, %d of %d are found in events and %d in items: the search is broken", events, len(secrets), items)
			}
		}
	})
}

// drawPersonalHit returns a hit with a secret word somewhere.
func drawPersonalHit(r *rand.Rand, i int) (Hit, string) {
	secret := make([]byte, 12)
	for j := range secret {
		secret[j] = byte('a' + r.IntN(26))
	}
	who := string(secret)
	mail := who + "@mail.example"
	h := Hit{At: noon.Add(-time.Duration(i) * time.Second), URL: "https://example.com/p", Address: fmt.Sprintf("192.0.2.%d", i), UserAgent: "test", Imported: r.IntN(2) == 0}
	switch r.IntN(9) {
	case 0:
		h.URL = "https://example.com/user/" + mail + "/settings"
	case 1:
		h.URL = "/user/" + url.QueryEscape(mail)
	case 2:
		h.URL = "https://example.com/people/" + who + "/cards?x=1"
	case 3:
		h.Referrer = "https://forum.example.net/members/" + mail
	case 4:
		h.URL += "?utm_source=news&utm_content=" + url.QueryEscape(mail)
	case 5:
		h.URL += "?ref=" + mail
	case 6:
		h.Name, h.Properties = "outbound", map[string]string{"url": "https://other.example/people/" + who + "?m=" + mail, "plan": "pro"}
	case 7:
		h.Name, h.Properties = "signup "+mail, map[string]string{"plan": "plan of " + mail}
	case 8:
		h.URL = "https://example.com/" + strings.Repeat("long/", 99) + mail // crosses the length at which paths are cut
	}
	return h, who
}

func dereferenced(events []*Event) (all []Event) {
	for _, e := range events {
		all = append(all, *e)
	}
	return all
}

// itemsOf returns all keys and values of a site's items.
func itemsOf(w *world, site string) string {
	w.Helper()
	var b strings.Builder
	out, err := w.Table.API().Scan(w.Ctx, &dynamodb.ScanInput{TableName: aws.String(w.Table.Name())})
	w.Must(err)
	for _, item := range out.Items {
		var one strings.Builder
		for name, value := range item {
			fmt.Fprintf(&one, "%s=%s\n", name, reflect.ValueOf(value).Elem().FieldByName("Value"))
		}
		if pk := fmt.Sprint(reflect.ValueOf(item[table.AttrPK]).Elem().FieldByName("Value")); pk == "SITE#"+site || strings.HasPrefix(pk, "SITE#"+site+"#") {
			b.WriteString(one.String())
		}
	}
	return b.String()
}

// Goals, breakdowns and realtime figures see masked paths; exclusions see paths as they were sent.
func TestWhatSeesMaskedPaths(t *testing.T) {
	w := newWorld(t, noon)
	s := newMaskedSite(w, "site", nil)
	for _, g := range []Goal{
		{GoalKey: GoalKey{"site", "reset"}, Path: "/user/*/reset/*"},
		{GoalKey: GoalKey{"site", "masked"}, Path: "/user/:email/reset/:token"},
		{GoalKey: GoalKey{"site", "raw"}, Path: `/user/.*@.*`, PathKind: RegexpPath},
	} {
		w.Must(g.Check())
		w.Must(Goals.Put(w.Ctx, w.Table, &g))
	}
	_, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error {
		s.Exclude = exclude.Rules{Paths: []string{"/user/admin@example.com/**", "/:email/**"}}
		return nil
	})
	w.Must(err)
	for path, want := range map[string]Reason{
		"/user/jane@example.com/reset/4f2a7c":  "",
		"/user/admin@example.com/reset/4f2a7c": Excluded,
		"/jane@example.com/a":                  "",
	} {
		if got := w.ingest("site", Hit{URL: path, Address: "192.0.2.1"})[0]; got.Reason != want {
			t.Errorf("%s: %+v, want %q", path, got, want)
		}
	}
	w.Drain()
	events := w.events(s, noon.Add(-time.Minute), noon.Add(time.Minute))
	for _, e := range events {
		if e.Path != "/user/:email/reset/:token" {
			continue
		}
		reached := map[string]bool{}
		for _, c := range e.Goals {
			reached[c.Goal] = true
		}
		if !reached["reset"] || !reached["masked"] || reached["raw"] {
			t.Errorf("goals of %s: %v", e.Path, reached)
		}
	}
	pages := map[string]bool{}
	for _, b := range w.breakdowns(s, ByPage) {
		for page := range b.Values {
			pages[page] = true
		}
	}
	if want := map[string]bool{"/user/:email/reset/:token": true, "/:email/a": true}; !reflect.DeepEqual(pages, want) {
		t.Errorf("pages %v", pages)
	}
}

// New sites mask; a site that was stored without the setting does not, until it is changed. A
// change applies to later events.
func TestMasksOfASite(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	if !reflect.DeepEqual(s.Mask, mask.Default()) {
		t.Errorf("a new site has %+v", s.Mask)
	}
	s.Mask = mask.Rules{}
	w.Must(Sites.Put(w.Ctx, w.Table, &s))
	path := func(at time.Duration) string {
		t.Helper()
		w.collector.Forget("site")
		w.ingest("site", Hit{At: noon.Add(at), URL: "/user/jane@example.com/7", Address: "192.0.2.1", UserAgent: "test"})
		return w.events(s, noon.Add(at), noon.Add(at+time.Millisecond))[0].Path
	}
	if got := path(-3 * time.Second); got != "/user/jane@example.com/7" {
		t.Error(got)
	}
	_, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error {
		s.Mask.Paths = []string{"/user/:who/*"}
		return nil
	})
	w.Must(err)
	if got := path(-2 * time.Second); got != "/user/:who/7" {
		t.Error(got)
	}
	_, err = UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error {
		s.Mask.Paths = []string{"user"}
		return nil
	})
	if e := (*mask.RuleError)(nil); !errors.Is(err, ErrSite) || !errors.As(err, &e) {
		t.Errorf("an invalid pattern: %v", err)
	}
}

// Names of patterns are longer than what they replace, but no text exceeds its limit.
func TestMaskedTextsAreBounded(t *testing.T) {
	w := newWorld(t, noon)
	s := newMaskedSite(w, "site", &mask.Rules{Paths: []string{"/:a_name_of_thirty_two_bytes"}})
	h := Hit{URL: "https://example.com/", Address: "192.0.2.1", Name: strings.Repeat("/é ", maxName/4), Properties: map[string]string{"plan": strings.Repeat("/a ", maxPropertyValue/3)}}
	if o := w.ingest("site", h)[0]; o.Status != Stored {
		t.Fatalf("%+v", o)
	}
	e := w.events(s, noon.Add(-time.Minute), noon.Add(time.Minute))[0]
	if len(e.Name) > maxName || len(e.Properties["plan"]) > maxPropertyValue || !strings.HasPrefix(e.Name, "/:a_name") || !strings.HasPrefix(e.Properties["plan"], "/:a_name") {
		t.Errorf("a name of %d and a property of %d bytes: %+v", len(e.Name), len(e.Properties["plan"]), e)
	}
}
