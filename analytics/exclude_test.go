package analytics

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/exclude"
)

// TestExcludedHits sends hits that a site's settings exclude, and very similar ones that
// they do not exclude.
func TestExcludedHits(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	_, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error {
		s.Domains = []string{"example.com", "shop.example.org"}
		s.Exclude = exclude.Rules{Addresses: []string{"198.51.100.0/24"}, Paths: []string{"/admin/**"}, Hosts: []string{"staging.example.com"}}
		s.RespectDNT, s.RespectGPC = true, true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hit    Hit
		reason Reason
	}{
		{Hit{URL: "https://www.example.com/"}, ""},
		{Hit{URL: "https://Blog.Example.com:8443/"}, ""},
		{Hit{URL: "/path"}, ""},
		{Hit{URL: "https://example.org/"}, WrongDomain},
		{Hit{URL: "https://notexample.com/"}, WrongDomain},
		{Hit{URL: "https://example.com.evil.test/"}, WrongDomain},
		{Hit{URL: "http://localhost:3000/"}, WrongDomain},
		{Hit{URL: "http://localhost:3000/", Imported: true}, ""},
		{Hit{URL: "https://staging.example.com/"}, Excluded},
		{Hit{URL: "https://example.com/admin/users"}, Excluded},
		{Hit{URL: "https://example.com/administrator"}, ""},
		{Hit{URL: "/", Address: "198.51.100.4"}, Excluded},
		{Hit{URL: "/", Address: "198.51.100.4", Imported: true}, Excluded},
		{Hit{URL: "/", DNT: true}, OptedOut},
		{Hit{URL: "/", GPC: true}, OptedOut},
	} {
		if c.hit.Address == "" {
			c.hit.Address = "192.0.2.1"
		}
		if got := w.ingest("site", c.hit)[0]; got.Reason != c.reason {
			t.Errorf("%+v: %+v, want %q", c.hit, got, c.reason)
		}
	}
	if _, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error {
		s.Exclude.Addresses = []string{"here"}
		return nil
	}); !errors.Is(err, ErrSite) || !errors.Is(err, exclude.ErrRule) {
		t.Errorf("a rule that is none: %v", err)
	}
}

// TestMeasurementsAreBounded stores the measurements of malicious or broken browsers.
func TestMeasurementsAreBounded(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	at := noon.Add(-time.Minute)
	for i, h := range []Hit{
		{Name: EngagementEvent, Engagement: Engagement{EngagedMS: math.MaxInt64, Scroll: -5}, Vitals: Vitals{LCP: 7}},
		{Name: EngagementEvent, Engagement: Engagement{EngagedMS: 1500, Scroll: 101}},
		{Name: VitalsEvent, Vitals: Vitals{LCP: math.Inf(1), INP: math.NaN(), CLS: new(-1.0)}, Engagement: Engagement{Scroll: 7}},
		{Name: VitalsEvent, Vitals: Vitals{LCP: -1, CLS: new(0.0)}},
		{Name: VitalsEvent, Vitals: Vitals{CLS: new(math.Inf(1))}},
		{Name: "buy", Vitals: Vitals{LCP: 7}, Engagement: Engagement{Scroll: 7}},
	} {
		h.At, h.Path, h.Address = at.Add(time.Duration(i)*time.Millisecond), "/", "192.0.2.1"
		w.ingest("site", h)
	}
	want := []Event{
		{Engagement: Engagement{EngagedMS: 86_400_000}}, {Engagement: Engagement{EngagedMS: 1500, Scroll: 100}},
		{Vitals: Vitals{LCP: maxVital}}, {Vitals: Vitals{CLS: new(0.0)}}, {Vitals: Vitals{CLS: new(float64(maxShift))}}, {},
	}
	for i, e := range w.events(s, at, noon) {
		if e.Engagement != want[i].Engagement || !reflect.DeepEqual(e.Vitals, want[i].Vitals) {
			t.Errorf("%d: %+v %+v", i, e.Engagement, e.Vitals)
		}
	}
}
