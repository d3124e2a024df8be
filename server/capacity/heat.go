package capacity

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

const (
	keys    = 16  // number of busiest keys reported
	steps   = 120 // maximum number of values of a curve
	lasting = 2   // number of minutes from which a key needs a remedy: retries absorb a peak within one
)

type heatRequest struct {
	Minutes int     `query:"minutes" minimum:"5" maximum:"1440" default:"60" doc:"Length of the range, which ends now."`
	Share   float64 `query:"share" minimum:"0.01" maximum:"1" default:"0.5" doc:"A key is hot if its busiest second used more than this share of a partition's limit."`
}

type heatAnswer struct{ Body heatBody }

type heatBody struct {
	Metered bool          `json:"metered" doc:"The server meters the table. If false, only the table's service has the figures."`
	From    time.Time     `json:"from"`
	To      time.Time     `json:"to"`
	Step    int           `json:"step" doc:"Seconds between two values of a curve."`
	Share   float64       `json:"share"`
	Reads   int           `json:"partitionReads" doc:"Read units per second that a partition supports."`
	Writes  int           `json:"partitionWrites" doc:"Write units per second that a partition supports."`
	Hottest []float64     `json:"hottest" doc:"For each step, the highest share of a partition's limit that a key used in a second."`
	Keys    []heatKeyBody `json:"keys" doc:"Busiest first."`
}

type heatKeyBody struct {
	Key        string      `json:"key" doc:"The partition key. Parts that may identify a person, such as IDs of devices, users or aggregates, are replaced by ~ and a hash, which stays the same until the server restarts. On the server's machine, onefold heat names busy keys."`
	Index      string      `json:"index,omitempty" doc:"Absent for the table itself."`
	At         time.Time   `json:"at" doc:"Minute of the highest load."`
	PeakReads  float64     `json:"peakReads" doc:"Read units in the busiest second."`
	PeakWrites float64     `json:"peakWrites" doc:"Write units in the busiest second."`
	Share      float64     `json:"share" doc:"Share of a partition's limit in the busiest second. Above 1, DynamoDB would throttle it."`
	Reads      []float64   `json:"reads" doc:"Read units in the busiest second of each step."`
	Writes     []float64   `json:"writes" doc:"Write units in the busiest second of each step."`
	Entities   []string    `json:"entities" doc:"Entities with such keys."`
	Patterns   []string    `json:"patterns" doc:"Access patterns that read or write such keys, those with the highest declared frequency first."`
	Hot        bool        `json:"hot"`
	Brief      bool        `json:"brief,omitempty" doc:"The key was hot in one minute only. Requests that DynamoDB throttles so briefly succeed when they are retried, so there is nothing to do unless it recurs."`
	Until      *time.Time  `json:"until,omitempty" doc:"When the key was last hot."`
	Fix        string      `json:"fix,omitempty" doc:"Remedy for a hot key."`
	Spread     *spreadBody `json:"spread,omitempty" doc:"For a hot key of a site's events, which can be spread."`
}

type spreadBody struct {
	Site    string     `json:"site"`
	Shards  int        `json:"shards" doc:"Current number of partitions of the site's events."`
	Advised int        `json:"advised" doc:"Number of partitions at which no key should be hot."`
	From    *time.Time `json:"from,omitempty" doc:"When another number of partitions takes effect, or took effect after the key was hot."`
	Next    int        `json:"next,omitempty" doc:"That number of partitions."`
}

func (s *Service) heat(ctx context.Context, in *heatRequest) (*heatAnswer, error) {
	if math.IsNaN(in.Share) { // NaN passes checks of minimum and maximum
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "The share must be a number from 0.01 to 1.")
	}
	to := s.table.Now().UTC()
	b := heatBody{Metered: s.o.Uses != nil, From: to.Add(-time.Duration(in.Minutes) * time.Minute), To: to, Share: in.Share,
		Reads: blueprint.PartitionReads, Writes: blueprint.PartitionWrites, Hottest: []float64{}, Keys: []heatKeyBody{}}
	b.Step = max(60, (in.Minutes*60+steps-1)/steps)
	if !b.Metered {
		return &heatAnswer{b}, nil
	}
	uses := s.o.Uses(b.From)
	b.Hottest = b.curve(uses, func(u *heat.Use) float64 { return u.Share() })
	for _, f := range heat.Busiest(s.o.Schema, uses, in.Share, keys) {
		key, err := s.describe(ctx, &b, &f, uses)
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		b.Keys = append(b.Keys, key)
	}
	return &heatAnswer{b}, nil
}

// curve returns the maximum of each step.
func (b *heatBody) curve(uses []heat.Use, of func(*heat.Use) float64) []float64 {
	step := time.Duration(b.Step) * time.Second
	values := make([]float64, b.To.Sub(b.From)/step+1)
	for i := range uses {
		at := int(uses[i].At.Sub(b.From) / step)
		if at >= 0 && at < len(values) {
			values[at] = max(values[at], of(&uses[i]))
		}
	}
	return values
}

func (s *Service) describe(ctx context.Context, b *heatBody, f *heat.Finding, uses []heat.Use) (heatKeyBody, error) {
	own := slices.DeleteFunc(slices.Clone(uses), func(u heat.Use) bool { return u.Key != f.Key || u.Index != f.Index })
	key := heatKeyBody{
		Key: s.keys.Name(f.Key), Index: f.Index, At: f.At, PeakReads: f.PeakReads, PeakWrites: f.PeakWrites, Share: f.Share,
		Reads:    b.curve(own, func(u *heat.Use) float64 { return u.PeakReads }),
		Writes:   b.curve(own, func(u *heat.Use) float64 { return u.PeakWrites }),
		Entities: append([]string{}, f.Entities...), Patterns: append([]string{}, f.Patterns...), Fix: f.Fix,
	}
	if key.Hot = f.Times > 0; !key.Hot {
		return key, nil
	}
	key.Until, key.Brief = &f.Until, f.Periods < lasting
	if !f.Spreadable() {
		return key, nil
	}
	site, err := analytics.GetSite(ctx, s.table, f.Site)
	if errors.Is(err, analytics.ErrUnknownSite) || errors.Is(err, table.ErrNotFound) {
		return key, nil
	}
	if err != nil {
		return key, err
	}
	key.Spread = spread(&site, f, b.To)
	return key, nil
}

// spread returns the current and the advised number of partitions of a site's events. If the number
// was raised since the key was hot, it returns that change instead.
func spread(site *analytics.Site, f *heat.Finding, now time.Time) *spreadBody {
	at := &spreadBody{Site: site.SiteID, Shards: site.Sharding.At(now)}
	at.Advised = min(table.MaxShards, max(site.Sharding.At(f.At)*f.Times, site.Sharding.At(f.Until)*2)) // the events may already have been spread, but not enough
	for i := range site.Sharding {
		step := &site.Sharding[i]
		if step.From.After(f.Until) && (at.From == nil || !step.From.After(now)) {
			at.From, at.Next = &step.From, step.N
		}
	}
	return at
}
