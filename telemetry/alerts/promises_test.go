package alerts_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/presence"
)

// TestPromises runs testdata/promises: the promises of docs/guides/telemetry.md and
// telemetry-alerts.md as examples. Each file has a fleet with its own clock. Times are of April 20,
// 2026, unless they have a date, and in the fleet's time zone.
//
//	fleet [zone=ZONE] [at=TIME]   first of each file: the fleet, and the time, default 16:00
//	profile P [metrics=(NAME:KIND:UNIT:MIN:MAX,…)] [every=DURATION] [late=accept|correct|reject]
//	device D… [profile=P]
//	at TIME                       set the clock
//	send D [live] [imported]      a line is a reading: TIME METRIC=VALUE… [seq=N] [session=S]; a TIME
//	                              of "-" is none. With live, each arrives at its own time
//	fold                          fold everything written, apply retractions, roll up days
//	aggregates D 10min|hourly|daily METRIC
//	counts D 10min|hourly|daily   readings of each bucket, with late ones and corrections
//	latest D, readings D
//	verify                        compare the aggregates of all devices with their readings
//	retract D from=TIME to=TIME [metric=M], lift
//	rule R device=D|profile=P [metric=M raise=N] [clear=N] [below] [for=DURATION] [keep=DURATION]
//	     [over=PERIOD function=F] [silence]
//	sweep                         look for silent devices
//	status D
//	alerts D                      of all rules, by their first reading
//	notifications                 in the order of their alerts
func TestPromises(t *testing.T) {
	datadriven.Walk(t, "testdata/promises", func(t *testing.T, path string) {
		p := &promises{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, ok := p.commands()[d.Cmd]
			if !ok {
				d.Fatalf(t, "there is no command %q", d.Cmd)
			}
			if p.world == nil && d.Cmd != "fleet" {
				d.Fatalf(t, "the first command must be fleet")
			}
			return run(args{t, d})
		})
	})
}

// promises is the installation of a file.
type promises struct {
	*world
	zone    *time.Location
	devices []string
	lift    []telemetry.RetractionKey
}

func (p *promises) commands() map[string]func(args) string {
	return map[string]func(args) string{
		"fleet": p.fleet, "profile": p.profile, "device": p.device, "send": p.send, "fold": p.fold,
		"aggregates": p.aggregates, "counts": p.counts, "latest": p.latest, "readings": p.readings, "verify": p.verify,
		"retract": p.retract, "lift": p.lifted, "rule": p.ruleOf, "sweep": p.sweep, "status": p.status,
		"alerts": p.alertsOf, "notifications": p.told,
		"at": func(a args) string {
			p.Set(p.time(a.d.CmdArgs[0].Key))
			return ""
		},
	}
}

func (p *promises) fleet(a args) string {
	zone := a.text("zone", "UTC")
	var err error
	if p.zone, err = time.LoadLocation(zone); err != nil {
		a.d.Fatalf(a.t, "%v", err)
	}
	p.world = &world{World: foldtest.NewWorld(a.t, foldtest.Setup{
		Schema: alerts.Schema, Group: telemetry.FoldGroup, At: p.time(a.text("at", "16:00")), Engine: engine.Options{StreamShards: 3},
		Folds: func(t *table.Table) []*fold.Fold {
			return append(telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)}), alerts.Fold())
		},
	})}
	p.c = telemetry.NewCollector(p.Table, telemetry.CollectorOptions{})
	_, err = telemetry.CreateFleet(p.Ctx, p.Table, telemetry.NewFleet{ID: "plant", TimeZone: zone, TenMinutes: true})
	p.Must(err)
	_, err = alerts.PutChannel(p.Ctx, p.Table, alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: "plant", ChannelID: "ops"}, Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://hooks.example.com/x"},
	})
	p.Must(err)
	return ""
}

func (p *promises) profile(a args) string {
	profile := telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: a.name()}, FleetID: "plant", Every: a.seconds("every")}
	profile.Clock.Late = telemetry.LatePolicy(a.text("late", ""))
	if metrics, ok := a.d.Arg("metrics"); ok {
		for _, m := range metrics.Vals {
			f := append(strings.Split(m, ":"), "", "", "", "")
			profile.Metrics = append(profile.Metrics, telemetry.MetricDef{Name: f[0], Kind: telemetry.MetricKind(f[1]), Unit: f[2], Min: f[3], Max: f[4]})
		}
	}
	_, err := telemetry.PutProfile(p.Ctx, p.Table, profile)
	p.Must(err)
	return ""
}

func (p *promises) device(a args) string {
	for _, arg := range a.d.CmdArgs {
		if arg.Key == "profile" {
			continue
		}
		_, err := telemetry.CreateDevice(p.Ctx, p.Table, telemetry.NewDevice{ID: arg.Key, FleetID: "plant", ProfileID: a.text("profile", "")})
		p.Must(err)
		p.devices = append(p.devices, arg.Key)
	}
	return ""
}

// send prints the outcomes of readings.
func (p *promises) send(a args) (out string) {
	for _, line := range strings.Split(a.d.Input, "\n") {
		in := p.reading(a, line)
		if a.d.HasArg("live") {
			p.Set(in.At)
		}
		sent := in.At
		outcomes, err := p.c.Ingest(p.Ctx, []telemetry.Incoming{in})
		p.Must(err)
		o := outcomes[0]
		out += string(o.Status)
		switch {
		case o.Quarantined:
			out += ", quarantined: " + string(o.Reason)
		case o.Reason != "":
			out += ": " + string(o.Reason)
		case !o.At.Equal(sent):
			out += " as " + p.clock(o.At)
		}
		for _, omitted := range o.Omitted {
			out += fmt.Sprintf(", without %s: %s", omitted.Metric, omitted.Reason)
		}
		out += "\n"
	}
	return out
}

func (p *promises) reading(a args, line string) telemetry.Incoming {
	fields := strings.Fields(line)
	in := telemetry.Incoming{DeviceID: a.name(), Values: telemetry.Values{}, Imported: a.d.HasArg("imported")}
	if fields[0] != "-" {
		in.At = p.time(fields[0])
	}
	for _, f := range fields[1:] {
		name, text, _ := strings.Cut(f, "=")
		switch name {
		case "seq":
			n, err := strconv.ParseInt(text, 10, 64)
			p.Must(err)
			in.Seq = &n
		case "session":
			in.Session = text
		default:
			in.Values[name] = value(text)
		}
	}
	return in
}

func value(s string) telemetry.Value {
	if n, err := telemetry.Number(s); err == nil {
		return n
	}
	if b, err := strconv.ParseBool(s); err == nil {
		return telemetry.Bool(b)
	}
	return telemetry.Text(s)
}

func (p *promises) fold(args) string {
	p.Drain()
	for _, id := range p.devices {
		_, err := telemetry.ApplyRetractions(p.Ctx, p.Table, p.Worker, id)
		p.Must(err)
	}
	p.Drain()
	_, err := telemetry.RollUp(p.Ctx, p.Table)
	p.Must(err)
	p.Drain()
	return ""
}

// aggregates prints the figures of a metric, which are those of a time series: the increase of a
// counter and the duration of a state continue from the bucket before.
func (p *promises) aggregates(a args) string {
	id, period, metric := a.name(), telemetry.Period(a.d.CmdArgs[1].Key), a.d.CmdArgs[2].Key
	s, err := telemetry.ReadSeries(p.Ctx, p.Table, telemetry.SeriesIn{
		DeviceID: id, Metric: metric, Resolution: period, MaxPoints: 10_000, From: p.time("04-15T00:00"), To: p.time("04-25T00:00"),
	})
	p.Must(err)
	var out string
	for _, point := range s.Points {
		if period == telemetry.Daily {
			out += point.At.In(p.zone).Format("01-02")
		} else {
			out += p.clock(point.At)
		}
		out += figuresText(point.Figures)
	}
	return cmp.Or(out, "none\n")
}

func figuresText(f *telemetry.Figures) string {
	out := fmt.Sprintf(": count %d, first %s, last %s", f.Count, f.First, f.Last)
	switch f.Kind {
	case telemetry.Gauge:
		out += fmt.Sprintf(", sum %s, mean %s, min %s, max %s, p50 %s, p90 %s", f.Sum, f.Mean, f.Min, f.Max, f.P50, f.P90)
	case telemetry.Counter:
		out += fmt.Sprintf(", increase %s, resets %d", f.Increase, f.Resets)
	case telemetry.State:
		for _, name := range slices.Sorted(maps.Keys(f.Lasted)) {
			lasted := time.Duration(f.Lasted[name] * float64(time.Second)).String()
			out += fmt.Sprintf(", %s %s", name, strings.Replace(lasted, "m0s", "m", 1))
		}
	}
	return out + "\n"
}

func (p *promises) counts(a args) (out string) {
	all, err := telemetry.AggregatesByTime.Collect(p.Ctx, p.Table, telemetry.AggregatesIn{DeviceID: a.name(), Period: telemetry.Period(a.d.CmdArgs[1].Key)})
	p.Must(err)
	for _, b := range all {
		start := b.Start
		if at, err := time.Parse(time.RFC3339, start); err == nil {
			start = p.clock(at)
		}
		out += fmt.Sprintf("%s: readings %d, late %d, corrections %d\n", start, b.Readings, b.Late, b.Corrections)
	}
	return cmp.Or(out, "none\n")
}

func (p *promises) latest(a args) (out string) {
	s, err := telemetry.ReadStatus(p.Ctx, p.Table, a.name())
	if errors.Is(err, table.ErrNotFound) {
		return "nothing\n"
	}
	p.Must(err)
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		v := s.Values[name]
		out += fmt.Sprintf("%s %s at %s\n", name, v.Value, p.clock(time.UnixMilli(v.At)))
	}
	return out
}

func (p *promises) readings(a args) (out string) {
	for r, err := range (telemetry.ReadingsIn{DeviceID: a.name()}).All(p.Ctx, p.Table) {
		p.Must(err)
		out += p.clock(r.At)
		for _, name := range slices.Sorted(maps.Keys(r.Values)) {
			out += fmt.Sprintf(" %s=%s", name, r.Values[name])
		}
		out += "\n"
	}
	return cmp.Or(out, "none\n")
}

func (p *promises) verify(args) string {
	var items, differ int
	for _, id := range p.devices {
		found, err := telemetry.Verify(p.Ctx, p.Table, p.Worker, id, p.time("04-15T00:00"), p.time("04-25T00:00"))
		p.Must(err)
		items, differ = items+found.Items, differ+found.Count
	}
	return fmt.Sprintf("aggregates %d, different %d\n", items, differ)
}

func (p *promises) retract(a args) string {
	n := telemetry.Retraction{
		RetractionKey: telemetry.RetractionKey{DeviceID: a.name()}, From: p.time(a.text("from", "")), To: p.time(a.text("to", "")),
	}
	if metric := a.text("metric", ""); metric != "" {
		n.Metrics = []string{metric}
	}
	n, err := telemetry.Retract(p.Ctx, p.Table, n)
	p.Must(err)
	p.lift = append(p.lift, n.RetractionKey)
	return ""
}

// lifted lifts all retractions.
func (p *promises) lifted(args) string {
	for _, k := range p.lift {
		p.Must(telemetry.Lift(p.Ctx, p.Table, k))
	}
	p.lift = nil
	return ""
}

func (p *promises) ruleOf(a args) string {
	r := telemetry.Rule{
		RuleKey: telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: a.text("device", ""), RuleID: a.name()}, FleetID: "plant",
		Metric: a.text("metric", ""), Raise: a.text("raise", ""), Clear: a.text("clear", ""), Below: a.d.HasArg("below"),
		For: a.seconds("for"), KeepFor: a.seconds("keep"), Over: telemetry.Period(a.text("over", "")), Function: a.text("function", ""),
		NoData: a.d.HasArg("silence"), Severity: telemetry.Critical,
	}
	if profile := a.text("profile", ""); profile != "" {
		r.Scope, r.ScopeID = telemetry.ForProfile, profile
	}
	_, err := alerts.CreateRule(p.Ctx, p.Table, r)
	p.Must(err)
	return ""
}

func (p *promises) sweep(args) string {
	p.Drain()
	_, err := presence.Sweep(p.Ctx, p.Table, time.Time{})
	p.Must(err)
	p.Must(alerts.Sweep(p.Ctx, p.Table, time.Time{}))
	p.Drain()
	return ""
}

func (p *promises) status(a args) string {
	s, err := telemetry.ReadStatus(p.Ctx, p.Table, a.name())
	if errors.Is(err, table.ErrNotFound) {
		return "never\n"
	}
	p.Must(err)
	d, err := telemetry.GetDevice(p.Ctx, p.Table, a.name())
	p.Must(err)
	var every time.Duration
	if d.ProfileID != "" {
		profile, err := telemetry.ProfileByID.Get(p.Ctx, p.Table, telemetry.ProfileIn{ProfileID: d.ProfileID})
		p.Must(err)
		every = time.Duration(profile.Every) * time.Second
	}
	return string(s.At(p.Now(), every)) + "\n"
}

func (p *promises) alertsOf(a args) string {
	var all []telemetry.Alert
	since := map[string]string{}
	for one, err := range telemetry.AlertsOfDevice.All(p.Ctx, p.Table, telemetry.DeviceIn{DeviceID: a.name()}) {
		p.Must(err)
		all = append(all, one)
		since[one.AlertID] = p.clock(time.UnixMilli(one.Since))
	}
	slices.Reverse(all)
	var out string
	for i := range all {
		out += p.alertText(&all[i], since)
	}
	pending, err := alerts.Pending(p.Ctx, p.Table, a.name())
	p.Must(err)
	for _, rule := range slices.Sorted(maps.Keys(pending)) {
		if !pending[rule].IsZero() {
			out += fmt.Sprintf("%s since %s: pending\n", rule, p.clock(pending[rule]))
		}
	}
	return cmp.Or(out, "none\n")
}

func (p *promises) alertText(a *telemetry.Alert, since map[string]string) string {
	out := fmt.Sprintf("%s since %s: ", a.RuleID, since[a.AlertID])
	if a.Withdrawn {
		return out + "withdrawn\n"
	}
	out += fmt.Sprintf("%s, fired %s", a.State, p.clock(time.UnixMilli(a.Fired)))
	if a.Peak != "" {
		out += ", peak " + a.Peak
	}
	if a.Resolved != 0 {
		out += ", ended " + p.clock(time.UnixMilli(a.Resolved))
	}
	if a.Ended != "" {
		out += ", " + string(a.Ended)
	}
	if a.Replaces != "" {
		out += ", replaces that of " + since[a.Replaces]
	}
	return out + "\n"
}

func (p *promises) told(args) string {
	all := p.notifications()
	slices.Reverse(all)
	var out string
	for _, n := range all {
		out += fmt.Sprintf("%s %s since %s: %s\n", n.Alert.DeviceID, n.Alert.RuleID, p.clock(n.Alert.Since), n.Event)
	}
	return cmp.Or(out, "none\n")
}

// time parses a time in the fleet's zone.
func (p *promises) time(s string) time.Time {
	for prefix, layout := range map[string]string{"2026-04-20T": "2006-01-02T15:04:05", "2026-": "2006-01-02T15:04:05", "": "2006-01-02T15:04:05"} {
		for _, seconds := range []string{"", ":00"} {
			if at, err := time.ParseInLocation(layout, prefix+s+seconds, p.zone); err == nil {
				return at
			}
		}
	}
	panic(fmt.Sprintf("%q is not a time", s))
}

// clock prints a time as time parses it.
func (p *promises) clock(at time.Time) string {
	at = at.In(p.zone)
	out := at.Format("15:04:05.999")
	out = strings.TrimSuffix(out, ":00")
	switch date := at.Format("2006-01-02"); {
	case date == "2026-04-20":
		return out
	case at.Year() == 2026:
		return date[5:] + "T" + out
	default:
		return date + "T" + out
	}
}

// args are the arguments of a command.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) name() string { return a.d.CmdArgs[0].Key }

func (a args) text(key, otherwise string) string {
	arg, ok := a.d.Arg(key)
	if !ok || len(arg.Vals) == 0 {
		return otherwise
	}
	return arg.Vals[0]
}

func (a args) seconds(key string) int {
	d, err := time.ParseDuration(a.text(key, "0s"))
	if err != nil {
		a.d.Fatalf(a.t, "%s: %v", key, err)
	}
	return int(d.Seconds())
}
