//go:build duckdb && cgo

package duck

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/onefold/onefold/analytics"
)

// eventRow is a row of a file of events, as docs/format/warehouse.md has it.
type eventRow struct {
	Time         int64    `parquet:"time,timestamp(millisecond)"`
	EventID      string   `parquet:"event_id"`
	VisitorID    string   `parquet:"visitor_id"`
	VisitorShard int32    `parquet:"visitor_shard"`
	Kind         string   `parquet:"kind,dict"`
	Name         string   `parquet:"name,dict"`
	Path         string   `parquet:"path,dict"`
	Hostname     string   `parquet:"hostname,dict"`
	SessionID    string   `parquet:"session_id"`
	UserID       string   `parquet:"user_id"`
	Referrer     string   `parquet:"referrer,dict"`
	Source       string   `parquet:"source,dict"`
	Channel      string   `parquet:"channel,dict"`
	UTMSource    string   `parquet:"utm_source,dict"`
	UTMMedium    string   `parquet:"utm_medium,dict"`
	UTMCampaign  string   `parquet:"utm_campaign,dict"`
	UTMTerm      string   `parquet:"utm_term,dict"`
	UTMContent   string   `parquet:"utm_content,dict"`
	Country      string   `parquet:"country,dict"`
	Region       string   `parquet:"region,dict"`
	City         string   `parquet:"city,dict"`
	Browser      string   `parquet:"browser,dict"`
	OS           string   `parquet:"os,dict"`
	Device       string   `parquet:"device,dict"`
	Screen       string   `parquet:"screen,dict"`
	Language     string   `parquet:"language,dict"`
	Properties   *string  `parquet:"properties,optional"`
	Counted      *string  `parquet:"counted,optional"`
	Goals        *string  `parquet:"goals,optional"`
	Revenue      string   `parquet:"revenue"`
	RevenueValue *float64 `parquet:"revenue_value,optional"`
	EngagedMS    int64    `parquet:"engaged_ms"`
	Scroll       int32    `parquet:"scroll"`
	LCP          *float64 `parquet:"lcp,optional"`
	INP          *float64 `parquet:"inp,optional"`
	CLS          *float64 `parquet:"cls,optional"`
	ZoneMinutes  int32    `parquet:"zone_minutes"`
	ArrivedAt    *int64   `parquet:"arrived_at,optional,timestamp(millisecond)"`
	ExpiresAt    *int64   `parquet:"expires_at,optional,timestamp(millisecond)"`
}

type goalJSON struct {
	Goal    string `json:"goal"`
	Once    bool   `json:"once,omitempty"`
	Value   string `json:"value,omitempty"`
	Count   int64  `json:"count"`
	Revenue string `json:"revenue,omitempty"`
}

func rowOf(t testing.TB, e *analytics.Event) eventRow {
	at, err := e.Time()
	if err != nil {
		t.Fatal(err)
	}
	text := func(v any, empty bool) *string {
		if empty {
			return nil
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return new(string(b))
	}
	var goals []goalJSON
	for _, g := range e.Goals {
		goals = append(goals, goalJSON{g.Goal, g.Once, g.Value, g.Count, g.Revenue})
	}
	kind := "event"
	if e.Name == "" {
		kind = "pageview"
	}
	r := eventRow{
		Time: at.UnixMilli(), EventID: e.EventID, VisitorID: e.VisitorID, VisitorShard: int32(e.VisitorShard), Kind: kind, Name: e.Name,
		Path: e.Path, Hostname: e.Host, SessionID: e.SessionID, UserID: e.UserID, Referrer: e.Referrer, Source: e.Source.Name, Channel: e.Channel,
		UTMSource: e.UTM.Source, UTMMedium: e.Medium, UTMCampaign: e.Campaign, UTMTerm: e.Term, UTMContent: e.Content,
		Country: e.Country, Region: e.Region, City: e.City, Browser: e.Browser, OS: e.OS, Device: e.Device, Screen: e.Screen, Language: e.Language,
		Properties: text(e.Properties, len(e.Properties) == 0), Counted: text(e.Counted, len(e.Counted) == 0), Goals: text(goals, len(goals) == 0),
		Revenue: e.Revenue, EngagedMS: e.EngagedMS, Scroll: int32(e.Scroll), CLS: e.CLS, ZoneMinutes: int32(e.ZoneMinutes),
	}
	if v, err := strconv.ParseFloat(e.Revenue, 64); err == nil {
		r.RevenueValue = &v
	}
	return r
}

// writeEvents writes events as the warehouse does: a file for each site and day in UTC, sorted by time.
func writeEvents(t testing.TB, root string, events []analytics.Event) (files []string) {
	t.Helper()
	partitions := map[string][]eventRow{}
	for i := range events {
		row := rowOf(t, &events[i])
		dir := filepath.Join(root, "events", "site="+url.PathEscape(events[i].SiteID), "date="+time.UnixMilli(row.Time).UTC().Format(time.DateOnly))
		partitions[dir] = append(partitions[dir], row)
	}
	for dir, rows := range partitions {
		slices.SortFunc(rows, func(a, b eventRow) int { return strings.Compare(a.EventID, b.EventID) })
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "it's.parquet") // a name that has to be quoted
		if err := parquet.WriteFile(file, rows, parquet.Compression(&parquet.Zstd)); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
