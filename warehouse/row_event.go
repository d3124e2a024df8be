package warehouse

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
)

// EventRow is a web analytics event. Its site is in the path.
type EventRow struct {
	Time         int64  `parquet:"time,timestamp(millisecond),delta"`
	EventID      string `parquet:"event_id"`
	VisitorID    string `parquet:"visitor_id,dict"`
	VisitorShard int32  `parquet:"visitor_shard,dict"`
	Kind         string `parquet:"kind,dict"`
	Name         string `parquet:"name,dict"`
	Path         string `parquet:"path,dict"`
	Hostname     string `parquet:"hostname,dict"`
	SessionID    string `parquet:"session_id,dict"`
	UserID       string `parquet:"user_id,dict"`
	Referrer     string `parquet:"referrer,dict"`
	Source       string `parquet:"source,dict"`
	Channel      string `parquet:"channel,dict"`
	UTMSource    string `parquet:"utm_source,dict"`
	UTMMedium    string `parquet:"utm_medium,dict"`
	UTMCampaign  string `parquet:"utm_campaign,dict"`
	UTMTerm      string `parquet:"utm_term,dict"`
	UTMContent   string `parquet:"utm_content,dict"`
	EventClient
	Properties   string   `parquet:"properties,optional"`
	Counted      string   `parquet:"counted,optional,dict"`
	Goals        string   `parquet:"goals,optional,dict"`
	Revenue      string   `parquet:"revenue,dict"`
	RevenueValue *float64 `parquet:"revenue_value,optional"`
	EngagedMS    int64    `parquet:"engaged_ms"`
	Scroll       int32    `parquet:"scroll"`
	LCP          *float64 `parquet:"lcp,optional"`
	INP          *float64 `parquet:"inp,optional"`
	CLS          *float64 `parquet:"cls,optional"`
	ZoneMinutes  int32    `parquet:"zone_minutes,dict"`
	Shard        int32    `parquet:"shard,dict"`
	ArrivedAt    *int64   `parquet:"arrived_at,optional,timestamp(millisecond)"`
	ExpiresAt    *int64   `parquet:"expires_at,optional,timestamp(millisecond)"`
	Paid         string   `parquet:"paid,optional,dict"`
	PaidCurrency string   `parquet:"paid_currency,optional,dict"`
	Unconverted  bool     `parquet:"unconverted,optional"`
}

// EventClient has the columns of an analytics.Client: its fields, in the same order.
type EventClient struct {
	Country  string `parquet:"country,dict"`
	Region   string `parquet:"region,dict"`
	City     string `parquet:"city,dict"`
	Browser  string `parquet:"browser,dict"`
	OS       string `parquet:"os,dict"`
	Device   string `parquet:"device,dict"`
	Screen   string `parquet:"screen,dict"`
	Language string `parquet:"language,dict"`
}

// Key orders events by time and ID.
func (r *EventRow) Key() Key { return Key{At: r.Time, ID: r.EventID} }

// Expires returns when the event may be deleted from the table.
func (r *EventRow) Expires() int64 { return orZero(r.ExpiresAt) }

type eventKeys struct {
	Time      int64  `parquet:"time,timestamp(millisecond),delta"`
	EventID   string `parquet:"event_id"`
	ExpiresAt *int64 `parquet:"expires_at,optional,timestamp(millisecond)"`
}

func (r *eventKeys) Key() Key       { return Key{At: r.Time, ID: r.EventID} }
func (r *eventKeys) Expires() int64 { return orZero(r.ExpiresAt) }

// The kinds of events.
const (
	pageView    = "pageview"
	customEvent = "event"
)

// goal is a conversion as written in JSON.
type goal struct {
	Goal    string `json:"goal"`
	Once    bool   `json:"once,omitempty"`
	Value   string `json:"value,omitempty"`
	Count   int64  `json:"count"`
	Revenue string `json:"revenue,omitempty"`
}

// NewEventRow returns the row of an event. expires is when the table may delete the event; the zero
// time means never. Errors: an event ID that is not a ULID.
func NewEventRow(e *analytics.Event, expires time.Time) (*EventRow, error) {
	id, err := ulid.ParseStrict(e.EventID)
	if err != nil {
		return nil, fmt.Errorf("warehouse: event ID %q: %w", e.EventID, err)
	}
	r := &EventRow{
		Time: int64(id.Time()), EventID: e.EventID, VisitorID: e.VisitorID, VisitorShard: int32(e.VisitorShard), Kind: pageView, Name: e.Name,
		Path: e.Path, Hostname: e.Host, SessionID: e.SessionID, UserID: e.UserID, Referrer: e.Referrer, Source: e.Source.Name, Channel: e.Channel,
		UTMSource: e.UTM.Source, UTMMedium: e.Medium, UTMCampaign: e.Campaign, UTMTerm: e.Term, UTMContent: e.Content,
		EventClient: EventClient(e.Client),
		Revenue:     e.Revenue, RevenueValue: float(e.Revenue), EngagedMS: e.EngagedMS, Scroll: int32(e.Engagement.Scroll), CLS: e.CLS,
		ZoneMinutes: int32(e.ZoneMinutes), Shard: int32(e.Shard), ExpiresAt: instant(expires),
		Paid: e.Paid.Amount, PaidCurrency: e.Paid.Currency, Unconverted: e.Paid.Unconverted,
	}
	if e.Name != "" {
		r.Kind = customEvent
	}
	if e.LCP != 0 {
		r.LCP = &e.LCP
	}
	if e.INP != 0 {
		r.INP = &e.INP
	}
	if e.Arrived != 0 {
		r.ArrivedAt = instant(time.Unix(e.Arrived, 0))
	}
	return r, r.lists(e)
}

// lists fills in the columns that hold JSON.
func (r *EventRow) lists(e *analytics.Event) (err error) {
	if r.Properties, err = object(e.Properties); err != nil {
		return err
	}
	if len(e.Counted) > 0 {
		b, err := json.Marshal(e.Counted)
		if err != nil {
			return err
		}
		r.Counted = string(b)
	}
	if len(e.Goals) == 0 {
		return nil
	}
	goals := make([]goal, len(e.Goals))
	for i, g := range e.Goals {
		goals[i] = goal(g)
	}
	b, err := json.Marshal(goals)
	r.Goals = string(b)
	return err
}

// Event returns the event of a row, as the table held it. Errors: ErrDamaged.
func (r *EventRow) Event(site string) (*analytics.Event, error) {
	e := &analytics.Event{
		EventKey:  analytics.EventKey{SiteID: site, Shard: int(r.Shard), EventID: r.EventID},
		VisitorID: r.VisitorID, VisitorShard: int(r.VisitorShard), ZoneMinutes: int(r.ZoneMinutes), Arrived: orZero(r.ArrivedAt) / 1000,
		Name: r.Name, Path: r.Path, Host: r.Hostname, SessionID: r.SessionID, UserID: r.UserID, Revenue: r.Revenue,
		Paid: analytics.Payment{Amount: r.Paid, Currency: r.PaidCurrency, Unconverted: r.Unconverted},
	}
	e.Referrer, e.Source.Name, e.Channel = r.Referrer, r.Source, r.Channel
	e.UTM.Source, e.Medium, e.Campaign = r.UTMSource, r.UTMMedium, r.UTMCampaign
	e.Term, e.Content, e.Client = r.UTMTerm, r.UTMContent, analytics.Client(r.EventClient)
	e.EngagedMS, e.Engagement.Scroll, e.CLS = r.EngagedMS, int(r.Scroll), r.CLS
	if r.LCP != nil {
		e.LCP = *r.LCP
	}
	if r.INP != nil {
		e.INP = *r.INP
	}
	if r.ExpiresAt != nil {
		e.ExpiresAt = time.UnixMilli(*r.ExpiresAt).UTC()
	}
	if err := parseJSON("properties", r.Properties, &e.Properties); err != nil {
		return nil, err
	}
	if err := parseJSON("counted", r.Counted, &e.Counted); err != nil {
		return nil, err
	}
	var goals []goal
	if err := parseJSON("goals", r.Goals, &goals); err != nil {
		return nil, err
	}
	for _, g := range goals {
		e.Goals = append(e.Goals, struct {
			Goal    string
			Once    bool
			Value   string
			Count   int64
			Revenue string
		}(g))
	}
	return e, nil
}
