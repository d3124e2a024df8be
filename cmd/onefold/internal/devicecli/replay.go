package devicecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

type ruleTest struct {
	Device string `arg:"" help:"Device whose readings are replayed."`
	Rule   string `help:"ID of an existing rule (default: the rule given by the other flags)." placeholder:"ID"`
	From   string `help:"Start, as 2026-05-12, 2026-05-12T14:00 in the fleet's time zone, or with a UTC offset (default: the first reading)."`
	To     string `help:"End, exclusive (default: the last reading)."`
	NoPlot bool   `help:"Do not draw the curve."`
	ruleFields
}

// Run replays the rule.
func (c *ruleTest) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		r, zone, err := c.prepare(ctx, s)
		if err != nil {
			return err
		}
		from, to, err := c.bounds(zone)
		if err != nil {
			return err
		}
		h := history{s, c.Device, from, to, zone}
		did, curve, err := h.replay(ctx, &r)
		switch {
		case errors.Is(err, telemetry.ErrInvalid):
			return fmt.Errorf("invalid: %w", err)
		case err != nil:
			return err
		case env.JSON:
			return terminal.JSON(env.Out, did)
		}
		if r.Over == telemetry.Daily {
			zone = time.UTC // daily aggregates are named by date, without a zone
		}
		if err := printReplay(env.Out, &r, &did, zone); err != nil || c.NoPlot {
			return err
		}
		return plotReplay(env.Out, &r, &did, curve, zone)
	})
}

// prepare returns the rule, and the time zone of the device's fleet.
func (c *ruleTest) prepare(ctx context.Context, s *Store) (r telemetry.Rule, zone *time.Location, err error) {
	d, err := telemetry.GetDevice(ctx, s.Table, c.Device)
	if err != nil {
		return r, nil, explain("device", c.Device, err)
	}
	fleet, err := telemetry.GetFleet(ctx, s.Table, d.FleetID)
	if err != nil {
		return r, nil, explain("fleet", d.FleetID, err)
	}
	if zone, err = time.LoadLocation(fleet.TimeZone); err != nil {
		return r, nil, err
	}
	switch {
	case c.Rule == "":
		r, err = c.rule()
	case c.ruleFields != ruleFields{Severity: c.Severity}:
		err = errors.New("invalid: --rule names an existing rule, the other flags define a new one; use one or the other")
	default:
		r, err = findRule(ctx, s, d.FleetID, c.Rule, "")
	}
	if err == nil && r.NoData {
		err = errors.New("invalid: a rule about silence cannot be replayed")
	}
	return r, zone, err
}

func (c *ruleTest) bounds(zone *time.Location) (from, to time.Time, err error) {
	from = time.UnixMilli(0)
	if c.From != "" {
		if from, err = parseMoment(c.From, zone); err != nil {
			return from, to, fmt.Errorf("invalid_range: --from: %w", err)
		}
	}
	if c.To == "" {
		return from, to, nil
	}
	if to, err = parseMoment(c.To, zone); err != nil {
		return from, to, fmt.Errorf("invalid_range: --to: %w", err)
	}
	if !from.Before(to) {
		return from, to, errors.New("invalid_range: --to must be later than --from")
	}
	return from, to, nil
}

// history is a range of a device's readings.
type history struct {
	store    *Store
	device   string
	from, to time.Time // zero to: open-ended
	zone     *time.Location
}

// sample is one point of a curve.
type sample struct {
	at    time.Time
	value float64
}

// replay runs the rule, and returns the readings as a curve. The curve of a rule over aggregates is
// empty.
func (h *history) replay(ctx context.Context, r *telemetry.Rule) (did alerts.Replayed, curve []sample, err error) {
	if r.Over != "" {
		did, err = alerts.ReplayAggregates(*r, h.device, telemetry.AggregatesByTime.All(ctx, h.store.Table, h.buckets(r.Over)))
		return did, nil, err
	}
	retractions, err := telemetry.RetractionsOfDevice.Collect(ctx, h.store.Table, telemetry.DeviceIn{DeviceID: h.device})
	if err != nil {
		return did, nil, err
	}
	all := (telemetry.ReadingsIn{DeviceID: h.device, From: h.from, To: h.to}).All(ctx, h.store.Table)
	did, err = alerts.Replay(*r, h.device, keep(all, r.Metric, retractions, &curve), retractions)
	return did, curve, err
}

// buckets selects the aggregates of the range. Days are named by the fleet's dates, shorter periods
// by their start in UTC.
func (h *history) buckets(p telemetry.Period) telemetry.AggregatesIn {
	zone, layout := time.UTC, "2006-01-02T15:04:05Z"
	if p == telemetry.Daily {
		zone, layout = h.zone, time.DateOnly
	}
	in := telemetry.AggregatesIn{DeviceID: h.device, Period: p, From: h.from.In(zone).Format(layout)}
	if !h.to.IsZero() {
		in.To = h.to.In(zone).Format(layout)
	}
	return in
}

// keep records the numbers of a metric while the readings pass through.
func keep(all iter.Seq2[telemetry.Reading, error], metric string, retractions []telemetry.Retraction, curve *[]sample) iter.Seq2[telemetry.Reading, error] {
	return func(yield func(telemetry.Reading, error) bool) {
		for r, err := range all {
			if v := r.Values[metric]; err == nil && v.IsNumber() && !telemetry.Retracted(retractions, r.At, metric) {
				number, bad := strconv.ParseFloat(v.String(), 64)
				if bad == nil {
					*curve = append(*curve, sample{r.At, number})
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func printReplay(out io.Writer, r *telemetry.Rule, did *alerts.Replayed, zone *time.Location) error {
	const layout = "2006-01-02 15:04:05"
	fmt.Fprintf(out, "%s\n%s; %s of %s breach.\n", terminal.Printable(alerts.Describe(r)), terminal.Count(len(did.Episodes), "episode"),
		terminal.Grouped(int64(did.Breaching)), terminal.Count(did.Points, "point"))
	if did.Pending.After(time.Time{}) {
		fmt.Fprintf(out, "Breached since %s, not yet long enough for an alert.\n", did.Pending.In(zone).Format(layout))
	}
	if len(did.Episodes) == 0 {
		return nil
	}
	return terminal.List[alerts.Episode]{Columns: "SINCE\tFIRED\tRESOLVED\tPEAK", Row: func(e *alerts.Episode) []any {
		resolved := "open"
		if !e.Resolved.IsZero() {
			resolved = e.Resolved.In(zone).Format(layout)
		}
		return []any{e.Since.In(zone).Format(layout), e.FiredAt.In(zone).Format(layout), resolved, terminal.Printable(e.Peak)}
	}}.Print(out, did.Episodes)
}

// plotReplay draws the readings and the threshold, and below them the times at which the rule
// fired.
func plotReplay(out io.Writer, r *telemetry.Rule, did *alerts.Replayed, curve []sample, zone *time.Location) error {
	if len(curve) == 0 {
		return nil
	}
	from, to := curve[0].at, curve[len(curve)-1].at
	column := func(at time.Time) int {
		return min(max(int(float64(terminal.PlotWidth-1)*float64(at.Sub(from))/float64(max(to.Sub(from), 1))+0.5), 0), terminal.PlotWidth-1)
	}
	worst, level, fired := make([]float64, terminal.PlotWidth), make([]float64, terminal.PlotWidth), []byte(strings.Repeat(" ", terminal.PlotWidth))
	raise, err := strconv.ParseFloat(r.Raise, 64)
	if err != nil {
		return err
	}
	for i := range worst {
		worst[i], level[i] = math.NaN(), raise
	}
	for _, s := range curve {
		at := &worst[column(s.at)]
		if math.IsNaN(*at) || s.value > *at != r.Below {
			*at = s.value
		}
	}
	for i := range did.Episodes {
		e := &did.Episodes[i]
		end := e.Resolved
		if end.IsZero() {
			end = to
		}
		for c := column(e.FiredAt); c <= column(end); c++ {
			fired[c] = '!'
		}
	}
	_, err = fmt.Fprintln(out, terminal.Plot([]string{string(fired), timeAxis(from, to, zone)}, level, worst))
	return err
}
