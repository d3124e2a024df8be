package block_test

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/internal/useragent"
)

// event is a web event as a product would store it.
type event struct {
	Site         string
	ID           string
	Visitor      string
	VisitorShard int
	Zone         int
	Name         string
	Path, Host   string
	Session      string
	Source       referral.Source
	Country      string
	Browser      string
	OS           string
	Device       string
	Screen       string
	Language     string
	Properties   map[string]string
	Revenue      string
	EngagedMS    int64
	Scroll       int
	Shift        *float64
	Counted      []string
	Erased       bool
}

var webEvents = block.New('e',
	block.ID(1, func(e *event) *string { return &e.ID }),
	block.Text(2, func(e *event) *string { return &e.Site }),
	block.Text(3, func(e *event) *string { return &e.Visitor }),
	block.Int(4, func(e *event) *int { return &e.VisitorShard }),
	block.Int(5, func(e *event) *int { return &e.Zone }),
	block.Text(6, func(e *event) *string { return &e.Name }),
	block.Text(7, func(e *event) *string { return &e.Path }),
	block.Text(8, func(e *event) *string { return &e.Host }),
	block.Text(9, func(e *event) *string { return &e.Session }),
	block.Text(10, func(e *event) *string { return &e.Source.Referrer }),
	block.Text(11, func(e *event) *string { return &e.Source.Name }),
	block.Text(12, func(e *event) *string { return &e.Source.Channel }),
	block.Text(13, func(e *event) *string { return &e.Source.UTM.Source }),
	block.Text(14, func(e *event) *string { return &e.Source.Medium }),
	block.Text(15, func(e *event) *string { return &e.Source.Campaign }),
	block.Text(16, func(e *event) *string { return &e.Source.Term }),
	block.Text(17, func(e *event) *string { return &e.Source.Content }),
	block.Text(18, func(e *event) *string { return &e.Country }),
	block.Text(19, func(e *event) *string { return &e.Browser }),
	block.Text(20, func(e *event) *string { return &e.OS }),
	block.Text(21, func(e *event) *string { return &e.Device }),
	block.Text(22, func(e *event) *string { return &e.Screen }),
	block.Text(23, func(e *event) *string { return &e.Language }),
	block.TextMap(24, func(e *event) *map[string]string { return &e.Properties }),
	block.Text(25, func(e *event) *string { return &e.Revenue }),
	block.Int(26, func(e *event) *int64 { return &e.EngagedMS }),
	block.Int(27, func(e *event) *int { return &e.Scroll }),
	block.OptionalFloat(28, func(e *event) **float64 { return &e.Shift }),
	block.TextList(29, func(e *event) *[]string { return &e.Counted }),
	block.Bool(30, func(e *event) *bool { return &e.Erased }),
)

// On the busy site, several visits overlap at any time. The visits of the quiet one, which has
// fewer pages, seldom do.
var (
	busy  = traffic.Options{Seed: 1, VisitsPerDay: 20_000}
	quiet = traffic.Options{Seed: 1, VisitsPerDay: 100, Days: 100, Pages: 30}
)

// madeUp returns n events of simulated traffic.
func madeUp(t testing.TB, n int, site traffic.Options) []event {
	t.Helper()
	g, err := traffic.New(site)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := useragent.New(0)
	if err != nil {
		t.Fatal(err)
	}
	var out []event
	for e := range g.Events() {
		if e.At.Hour() < 9 {
			continue // nights are quiet everywhere
		}
		out = append(out, eventOf(parser, &e, len(out)))
		if len(out) == n {
			break
		}
	}
	return out
}

func eventOf(parser *useragent.Parser, e *traffic.Event, number int) event {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(e.At)); err != nil {
		panic(err)
	}
	sum := sha256.Sum256(binary.AppendVarint(nil, int64(number)))
	copy(id[6:], sum[:])
	visitor := sha256.Sum256(binary.AppendVarint([]byte("visitor"), e.Visitor))
	agent := parser.Parse(e.UserAgent)
	page := referral.Address{Host: "example.com", Path: e.Path, Query: e.Query}
	out := event{
		Site: "my-site", ID: id.String(), Zone: 120, Name: e.Name, Path: e.Path, Host: page.Host,
		Visitor:      strings.ToLower(base32.StdEncoding.EncodeToString(visitor[:10])),
		VisitorShard: int(visitor[10] % 16),
		Source:       referral.Of(e.Referrer, page, []string{"example.com"}),
		Country:      e.Country, Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
		Screen: e.Screen, Language: e.Language, Properties: e.Properties, EngagedMS: e.EngagedMS, Scroll: e.Scroll,
	}
	if e.RevenueCents > 0 {
		out.Revenue = "49.00"
	}
	return out
}
