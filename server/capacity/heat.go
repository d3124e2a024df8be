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
	keys  = 16  // number of busiest keys reported
	steps = 120 // maximum number of values of a curve
)

type heatRequest struct {
	Minutes int     `query:"minutes" minimum:"5" maximum:"1440" default:"60" doc:"Of how long, until now."`
	Share   float64 `query:"share" minimum:"0.01" maximum:"1" default:"0.5" doc:"Keys are hot whose busiest second took more than this of what a partition can."`
}

type heatAnswer struct{ Body heatBody }

type heatBody struct {
	Metered bool          `json:"metered" doc:"The server meters the table. If not, only the service that has it knows."`
	From    time.Time     `json:"from"`
	To      time.Time     `json:"to"`
	Step    int           `json:"step" doc:"Seconds between two values of a curve."`
	Share   float64       `json:"share"`
	Reads   int           `json:"partitionReads" doc:"Units a second that a partition gives."`
	Writes  int           `json:"partitionWrites" doc:"Units a second that a partition gives."`
	Hottest []float64     `json:"hottest" doc:"Of each step, the share of what a partition can that its busiest key took in a second."`
	Keys    []heatKeyBody `json:"keys" doc:"The busiest first."`
}

type heatKeyBody struct {
	Key        string      `json:"key" doc:"Of what may name a person, as the id of a device, user or aggregate may, ~ and a hash stand in its place: the same for the same key until the server starts again. onefold heat, where the table is, names keys that take much."`
	Index      string      `json:"index,omitempty" doc:"Absent: the table's own."`
	At         time.Time   `json:"at" doc:"When it was busiest, to the minute."`
	PeakReads  float64     `json:"peakReads" doc:"Units in its busiest second."`
	PeakWrites float64     `json:"peakWrites" doc:"Units in its busiest second."`
	Share      float64     `json:"share" doc:"Of what a partition can, in its busiest second. Above 1 it would be throttled."`
	Reads      []float64   `json:"reads" doc:"Of each step, units in the busiest second."`
	Writes     []float64   `json:"writes" doc:"Of each step, units in the busiest second."`
	Entities   []string    `json:"entities" doc:"That have such keys."`
	Patterns   []string    `json:"patterns" doc:"That ask or write such keys, those that are declared to be the most frequent first."`
	Hot        bool        `json:"hot"`
	Until      *time.Time  `json:"until,omitempty" doc:"When it was hot last."`
	Fix        string      `json:"fix,omitempty" doc:"Of a hot one."`
	Spread     *spreadBody `json:"spread,omitempty" doc:"Of a hot one among whose kind a site's events are spread."`
}

type spreadBody struct {
	Site    string     `json:"site"`
	Shards  int        `json:"shards" doc:"Partitions that its events go to now."`
	Advised int        `json:"advised" doc:"Partitions at which none should be hot."`
	From    *time.Time `json:"from,omitempty" doc:"When the events go to another number of partitions, or did since the key was hot."`
	Next    int        `json:"next,omitempty" doc:"That number."`
}

func (s *Service) heat(ctx context.Context, in *heatRequest) (*heatAnswer, error) {
	if math.IsNaN(in.Share) { // NaN passes checks of minimum and maximum
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "The share is no number: 0.01 to 1 can be asked for.")
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
			return nil, s.door.Error(ctx, err)
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
	key.Until = &f.Until
	if f.Site == "" {
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
