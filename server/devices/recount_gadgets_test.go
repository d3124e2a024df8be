package devices_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// gadget is a device, its behaviour, and everything that it sent.
type gadget struct {
	id      string
	every   int           // steps between two uploads
	paced   time.Duration // interval in its profile; 0: none
	burst   int           // readings in one upload
	lines   bool
	tagged  bool // its readings have tags, as those of lines have
	imports bool
	messy   bool   // sends again, late and with nulls
	timely  bool   // has a clock; otherwise some readings have no time of their own
	faulty  bool   // its readings get retracted
	reboots bool   // restarts its sequence numbers and its counter
	off     [2]int // steps between which it is off
	seq     int64
	session string
	heat    int64
	total   int64 // of its counter, in hundredths

	sent    []*reported
	doubts  []doubt
	ordered map[string][]point // sent by metric, cached
	arrived []time.Time        // arrivals of live readings, each time once
	called  time.Time          // since when it is offline; zero: it is not
}

// reported is a reading as it was sent and stored.
type reported struct {
	at       time.Time
	untimed  bool // it has no time of its own
	sub      int  // nanoseconds after at, of a line
	seq      *int64
	session  string
	measured map[string]string // as it was sent: decimals, booleans or texts, in JSON
	tags     map[string]string
	values   map[string]string // measured, under the names under which it is stored, and tags that are properties
	null     bool
	tie      uint64 // orders readings with equal time and number
}

// nth returns one more than the number of a reading, or 0 if it has none.
func (r *reported) nth() int64 {
	if r.seq == nil {
		return 0
	}
	return *r.seq + 1
}

func (r *reported) place() place { return place{r.at, r.nth(), r.tie} }

// again reports whether another reading is the same: by its time and values, or by its number.
func (r *reported) again(o *reported) bool {
	same := func() bool { return maps.EqualFunc(r.values, o.values, sameValue) }
	switch {
	case (r.seq == nil) != (o.seq == nil):
		return false
	case r.seq == nil:
		return r.at.Equal(o.at) && r.sub == o.sub && same()
	case *r.seq != *o.seq || r.session != o.session:
		return false
	}
	apart := r.at.Sub(o.at).Abs()
	return apart <= 10*time.Minute || apart <= 24*time.Hour && same()
}

// setTie computes the tie as docs/format/readings.md specifies: from a hash of the session, or of
// the values of a reading without a number.
func (r *reported) setTie() {
	r.tie = 0
	var b []byte
	switch {
	case r.seq == nil:
		for _, name := range slices.Sorted(maps.Keys(r.values)) {
			v := r.values[name]
			form := byte(1)
			if v == "true" || v == "false" {
				form = 3
			} else if number(v) == nil {
				form = 2
			}
			b = append(append(append(append(append(b, name...), 0), form), textOf(v)...), 0)
		}
		if r.sub > 0 {
			b = binary.AppendUvarint(b, uint64(r.sub))
		}
	case r.session != "":
		b = []byte(r.session)
	default:
		return
	}
	r.tie = xxhash.Sum64(b) >> 32
}

// kinds are those that profiles name. Other metrics are gauges if they are numbers, otherwise
// states.
var kinds = map[string]telemetry.MetricKind{
	"total": telemetry.Counter, "total{room=hall 1}": telemetry.Counter, "env.total{room=hall 1}": telemetry.Counter,
	"code": telemetry.State, "env.code{room=hall 1}": telemetry.State, "mode": telemetry.State,
}

func kindOf(metric string) telemetry.MetricKind {
	name, _, _ := strings.Cut(strings.TrimPrefix(metric, "env."), "{")
	switch {
	case kinds[metric] != "":
		return kinds[metric]
	case slices.Contains([]string{"mode", "open", "driver", "grade"}, name):
		return telemetry.State
	}
	return telemetry.Gauge
}

// addGadget creates a device. Those of a season are off from one step on.
func (d *days) addGadget(i, season int) {
	d.Helper()
	r := d.random
	g := &gadget{
		id: fmt.Sprint("g", i), every: 1 + r.IntN(3), burst: 1 + r.IntN(5), lines: r.IntN(4) == 0, imports: r.IntN(2) == 0, messy: r.IntN(2) == 0,
		tagged: r.IntN(4) == 0, timely: r.IntN(2) == 0, reboots: r.IntN(2) == 0, faulty: r.IntN(2) == 0, off: [2]int{d.steps, d.steps}, heat: 90,
	}
	switch r.IntN(6) {
	case 0: // never on
		g.off[0] = 0
	case 1, 2: // for a season, with others
		g.off[0] = season
	case 3: // comes back
		g.off[0] = r.IntN(d.steps)
		g.off[1] = g.off[0] + r.IntN(60)
	}
	profile := "gadget"
	if r.IntN(3) == 0 {
		profile, g.paced = "paced", pace
	}
	_, err := telemetry.CreateDevice(d.Context(), d.Table, telemetry.NewDevice{ID: g.id, FleetID: "plant", ProfileID: profile})
	servertest.Must(d.T, err)
	d.gadgets = append(d.gadgets, g)
}

// step runs a device at a time.
func (d *days) step(g *gadget, n int) {
	d.Helper()
	if g.reboots && d.random.IntN(30) == 0 {
		d.reboot(g)
	}
	if g.faulty && len(g.sent) > 0 && d.random.IntN(50) == 0 {
		d.retract(g)
	}
	if len(g.doubts) > 0 && d.random.IntN(30) == 0 {
		d.lift(g)
	}
	on := n < g.off[0] || n >= g.off[1]
	if on && n%g.every == 0 {
		d.send(g, d.measure(g, d.Now(), time.Duration(g.every)*stepOfDay), false)
	}
	if on && g.messy && len(g.sent) > 0 && d.random.IntN(4) == 0 {
		again := *g.sent[d.random.IntN(len(g.sent))]
		moved := again
		d.send(g, []*reported{&again}, false)
		if again.seq != nil { // the clock of a device that sends the same number again was set meanwhile
			moved.untimed = false
			moved.at = moved.at.Add(time.Duration(d.random.Int64N(int64(20*time.Minute))) - 10*time.Minute).Truncate(time.Millisecond)
			d.send(g, []*reported{&moved}, false)
		}
	}
	if on && g.messy && d.random.IntN(6) == 0 {
		d.send(g, d.measure(g, d.Now().Add(-time.Duration(d.random.Int64N(int64(6*time.Hour)))), time.Minute), false)
	}
	if g.imports && d.random.IntN(12) == 0 {
		d.send(g, d.measure(g, d.Now().Add(-time.Duration(d.random.Int64N(int64(20*24*time.Hour)))), 5*time.Hour), true)
	}
}

// reboot restarts a device's sequence numbers, and its counter from zero or from a saved value.
func (d *days) reboot(g *gadget) {
	g.total = d.random.Int64N(g.total + 1)
	if g.seq = 0; d.random.IntN(2) == 0 {
		g.session = fmt.Sprint("boot", d.random.IntN(1000))
	}
}

// measure simulates as many readings as the device sends at once, up to a time.
func (d *days) measure(g *gadget, to time.Time, span time.Duration) (all []*reported) {
	for i := range g.burst {
		at := to.Add(-span * time.Duration(g.burst-1-i) / time.Duration(g.burst)).Truncate(time.Millisecond).UTC()
		at = at.Add(-time.Duration(d.random.IntN(1000)) * time.Millisecond)
		if len(all) > 0 && d.random.IntN(8) == 0 {
			at = all[len(all)-1].at // within one millisecond
		}
		r := &reported{at: at, tags: d.tags(g)}
		if !g.timely && d.random.IntN(4) == 0 {
			r.at, r.untimed = d.Now().UTC(), true
		}
		if d.random.IntN(2) == 0 && !g.lines {
			g.seq++
			seq := g.seq
			r.seq, r.session = &seq, g.session
		}
		d.values(g, r)
		if g.lines && !r.untimed && d.random.IntN(3) == 0 {
			r.sub = d.random.IntN(3)
		}
		r.null = !g.lines && g.messy && d.random.IntN(8) == 0
		all = append(all, r)
	}
	return all
}

// values simulates what a reading measures.
func (d *days) values(g *gadget, r *reported) {
	g.heat = max(80, min(110, g.heat+int64(d.random.IntN(9))-4))
	g.total += d.random.Int64N(500)
	r.measured = map[string]string{
		"temp": fmt.Sprintf("%d.%02d", g.heat, d.random.IntN(100)), "load": []string{"9.5", "10.25", "100", "-3"}[d.random.IntN(4)],
	}
	if d.random.IntN(2) == 0 {
		r.measured["total"] = fmt.Sprintf("%d.%02d", g.total/100, g.total%100)
	}
	if d.random.IntN(3) == 0 {
		r.measured["mode"] = []string{`"idle"`, `"run"`, `"7"`}[d.random.IntN(3)]
		r.measured["code"] = fmt.Sprint(d.random.IntN(3))
	}
	if d.random.IntN(6) == 0 {
		r.measured["open"] = []string{"true", "false"}[d.random.IntN(2)]
	}
}

// tags simulates the tags of a reading.
func (d *days) tags(g *gadget) map[string]string {
	if !g.lines && !g.tagged {
		return nil
	}
	tags := map[string]string{"driver": fmt.Sprint("v", d.random.IntN(3))}
	if d.random.IntN(2) == 0 {
		tags["room"] = []string{"hall 1", "hall 1", "roof"}[d.random.IntN(3)]
	}
	if d.random.IntN(8) == 0 {
		tags["grade"] = []string{"a", "b"}[d.random.IntN(2)]
	}
	return tags
}

// name sets the names under which values are stored: property tags are values of their own, others
// a part of the names.
func (d *days) name(g *gadget, r *reported) {
	var labels []string
	r.values = map[string]string{}
	for _, tag := range slices.Sorted(maps.Keys(r.tags)) {
		if slices.Contains(d.properties, tag) {
			r.values[tag] = strconv.Quote(r.tags[tag])
		} else {
			labels = append(labels, tag+"="+r.tags[tag])
		}
	}
	suffix := ""
	if len(labels) > 0 {
		suffix = "{" + strings.Join(labels, ",") + "}"
	}
	for name, v := range r.measured {
		if g.lines && name == "load" { // a field called value
			name = "env"
		} else if g.lines {
			name = "env." + name
		}
		r.values[name+suffix] = v
	}
}
