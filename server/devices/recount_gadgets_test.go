package devices_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// gadget is a device, how it behaves, and all that it sent.
type gadget struct {
	id      string
	every   int // steps between two uploads
	burst   int // readings in one
	lines   bool
	imports bool
	messy   bool   // sends again, late and with nulls
	off     [2]int // steps between which it is off
	seq     int64
	heat    int64

	sent    []*reported
	arrived []time.Time // of readings that are a sign of life, each time once
	called  time.Time   // since when it is offline; zero: it is not
}

// reported is a reading as it was sent and stored.
type reported struct {
	at     time.Time
	seq    *int64
	values map[string]string // decimals; others are texts
	null   bool
}

// nth is one more than the number of a reading; 0 if it has none.
func (r *reported) nth() int64 {
	if r.seq == nil {
		return 0
	}
	return *r.seq + 1
}

// again reports whether another reading is the same one: by its time, or by its number within ten minutes of it.
func (r *reported) again(o *reported) bool {
	if r.at.Equal(o.at) && (r.seq == nil) == (o.seq == nil) && (r.seq == nil || *r.seq == *o.seq) {
		return true
	}
	return r.seq != nil && o.seq != nil && *r.seq == *o.seq && r.at.Sub(o.at).Abs() <= 10*time.Minute
}

// step lets a device do what it does at a time.
func (d *days) step(g *gadget, n int) {
	d.Helper()
	on := n < g.off[0] || n >= g.off[1]
	if on && n%g.every == 0 {
		d.send(g, d.measure(g, d.Now(), time.Duration(g.every)*stepOfDay), false)
	}
	if on && g.messy && len(g.sent) > 0 && d.random.IntN(4) == 0 {
		again := g.sent[d.random.IntN(len(g.sent))]
		d.send(g, []*reported{again}, false)
		if again.seq != nil { // the clock of a device that sends the same number again has been set meanwhile
			moved := *again
			moved.at = again.at.Add(time.Duration(d.random.Int64N(int64(20*time.Minute))) - 10*time.Minute).Truncate(time.Millisecond)
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

// measure makes up as many readings as the device sends at once, up to a time.
func (d *days) measure(g *gadget, to time.Time, span time.Duration) (all []*reported) {
	for i := range g.burst {
		at := to.Add(-span * time.Duration(g.burst-1-i) / time.Duration(g.burst)).Truncate(time.Millisecond).UTC()
		at = at.Add(-time.Duration(d.random.IntN(1000)) * time.Millisecond)
		if len(all) > 0 && d.random.IntN(8) == 0 {
			at = all[len(all)-1].at // of one millisecond
		}
		g.heat = max(80, min(110, g.heat+int64(d.random.IntN(9))-4))
		r := &reported{at: at, values: map[string]string{"temp": fmt.Sprintf("%d.%02d", g.heat, d.random.IntN(100))}}
		if g.lines {
			r.values = map[string]string{"env.temp": r.values["temp"]}
		} else if d.random.IntN(3) == 0 {
			r.values["mode"] = []string{"idle", "run"}[d.random.IntN(2)]
		}
		crowded := slices.ContainsFunc(slices.Concat(g.sent, all), func(r *reported) bool { return r.at.Equal(at) })
		if g.lines && crowded {
			continue // a line of the same millisecond replaces nothing, and has no number that would order it
		}
		if !g.lines && (crowded || d.random.IntN(2) == 0) {
			g.seq++
			seq := g.seq
			r.seq = &seq
		}
		r.null = !g.lines && g.messy && d.random.IntN(8) == 0
		all = append(all, r)
	}
	return all
}

// send sends readings, and notes those that are stored.
func (d *days) send(g *gadget, all []*reported, imported bool) {
	d.Helper()
	if len(all) == 0 {
		return
	}
	if g.lines && !imported {
		d.write(g, all)
		return
	}
	body := make([]map[string]any, len(all))
	for i, r := range all {
		values := map[string]any{}
		for name, v := range r.values {
			if values[name] = json.RawMessage(v); name == "mode" {
				values[name] = v
			}
		}
		if r.null {
			values["x"] = nil
		}
		body[i] = map[string]any{"device": g.id, "at": r.at, "values": values}
		if r.seq != nil {
			body[i]["seq"] = *r.seq
		}
	}
	text, err := json.Marshal(body)
	servertest.Must(d.T, err)
	path, key := "/api/readings", d.keys[accounts.Ingest]
	if imported {
		path, key = "/api/v1/fleets/plant/import", d.keys[accounts.Write]
	}
	status, answer := d.Post(path, string(text), bearer(key)...)
	if status != http.StatusAccepted {
		d.Fatalf("%s: %d %s", path, status, answer)
	}
	var became struct{ Outcomes []telemetry.Outcome }
	servertest.Must(d.T, json.Unmarshal([]byte(answer), &became))
	for i, o := range became.Outcomes {
		switch there := slices.ContainsFunc(g.sent, all[i].again); {
		case o.Status == telemetry.Rejected:
			d.Fatalf("%s at %s: %+v", g.id, all[i].at, o)
		case o.Status == telemetry.Duplicate != there:
			d.Fatalf("%s at %s is %s; was there: %v", g.id, all[i].at, o.Status, there)
		case o.Status == telemetry.Stored || o.Status == telemetry.StoredLate:
			d.note(g, all[i], imported)
		}
	}
}

// write sends readings as line protocol.
func (d *days) write(g *gadget, all []*reported) {
	d.Helper()
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "env,device=%s temp=%s %d\n", g.id, r.values["env.temp"], r.at.UnixMilli())
	}
	status, answer := d.Post("/api/v2/write?bucket=plant&precision=ms", b.String(), bearer(d.keys[accounts.Ingest])...)
	if status != http.StatusNoContent {
		d.Fatalf("write: %d %s", status, answer)
	}
	for _, r := range all {
		if !slices.Contains(g.sent, r) {
			d.note(g, r, false)
		}
	}
}

func (d *days) note(g *gadget, r *reported, imported bool) {
	g.sent = append(g.sent, r)
	if now := d.Now(); !imported && now.Sub(r.at) <= time.Hour && !slices.Contains(g.arrived, now) {
		g.arrived = append(g.arrived, now)
	}
}
