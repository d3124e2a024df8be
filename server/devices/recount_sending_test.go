package devices_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// send sends readings, and notes those that are stored. Readings without a time get the server's.
func (d *days) send(g *gadget, all []*reported, imported bool) {
	d.Helper()
	for _, r := range all {
		if r.untimed {
			r.at = d.Now().UTC().Truncate(time.Millisecond)
		}
	}
	switch {
	case len(all) == 0:
	case g.lines && !imported:
		d.write(g, all)
	default:
		d.post(g, all, imported)
	}
}

// post sends readings as JSON. An imported reading has the names that a line would give it.
func (d *days) post(g *gadget, all []*reported, imported bool) {
	d.Helper()
	body := make([]map[string]any, len(all))
	for i, r := range all {
		body[i] = d.bodyOf(g, r)
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
		d.judge(g, all[i], &o, imported)
	}
}

// bodyOf returns a reading as JSON.
func (d *days) bodyOf(g *gadget, r *reported) map[string]any {
	r.sub = 0 // JSON has milliseconds at most, and no numbers within one
	d.name(g, r)
	values := map[string]any{}
	for name, v := range r.measured {
		if g.lines {
			name = strings.TrimSuffix("env."+name, ".load")
		}
		values[name] = json.RawMessage(v)
	}
	if r.null {
		values["x"] = nil
	}
	body := map[string]any{"device": g.id, "values": values}
	if !r.untimed {
		body["at"] = r.at
	}
	if r.tags != nil {
		body["tags"] = r.tags
	}
	if r.seq != nil {
		body["seq"] = *r.seq
	}
	if r.session != "" {
		body["session"] = r.session
	}
	return body
}

// judge compares the outcome of a reading with the expected one, and notes the reading if it is
// new.
func (d *days) judge(g *gadget, r *reported, o *telemetry.Outcome, imported bool) {
	d.Helper()
	first := g.first(r)
	want := telemetry.Outcome{Status: telemetry.Stored, At: r.at}
	switch {
	case first != nil:
		want.Status, want.At = telemetry.Duplicate, first.at
	case !imported && d.Now().Sub(r.at) > time.Hour:
		want.Status = telemetry.StoredLate
	}
	if o.Status != want.Status || !o.At.Equal(want.At) || len(o.Omitted) > 0 {
		d.Fatalf("%s at %s, number %d of %q, is %+v; want %+v", g.id, r.at, r.nth()-1, r.session, o, want)
	}
	if first == nil {
		d.note(g, r, imported)
	}
}

// first returns the reading that another one repeats: of several with its number, the nearest in
// time; nil if it is new.
func (g *gadget) first(r *reported) (nearest *reported) {
	for _, o := range g.sent {
		if o.again(r) && (nearest == nil || o.at.Sub(r.at).Abs() < nearest.at.Sub(r.at).Abs()) {
			nearest = o
		}
	}
	return nearest
}

// write sends readings as line protocol.
func (d *days) write(g *gadget, all []*reported) {
	d.Helper()
	precise := slices.ContainsFunc(all, func(r *reported) bool { return r.sub > 0 })
	var b strings.Builder
	for _, r := range all {
		d.name(g, r)
		fmt.Fprintf(&b, "env,device=%s", g.id)
		for _, tag := range slices.Sorted(maps.Keys(r.tags)) {
			fmt.Fprintf(&b, ",%s=%s", tag, strings.ReplaceAll(r.tags[tag], " ", `\ `))
		}
		sep := " "
		for _, name := range slices.Sorted(maps.Keys(r.measured)) {
			field := name
			if name == "load" {
				field = "value"
			}
			fmt.Fprint(&b, sep, field, "=", r.measured[name])
			sep = ","
		}
		switch {
		case r.untimed:
		case precise:
			fmt.Fprint(&b, " ", r.at.UnixNano()+int64(r.sub))
		default:
			fmt.Fprint(&b, " ", r.at.UnixMilli())
		}
		b.WriteByte('\n')
	}
	path := "/api/v2/write?bucket=plant"
	if !precise {
		path += "&precision=ms"
	}
	status, answer := d.Post(path, b.String(), bearer(d.keys[accounts.Ingest])...)
	if status != http.StatusNoContent {
		d.Fatalf("write: %d %s", status, answer)
	}
	for _, r := range all {
		if g.first(r) == nil {
			d.note(g, r, false)
		}
	}
}

func (d *days) note(g *gadget, r *reported, imported bool) {
	r.setTie()
	g.sent, g.ordered = append(g.sent, r), nil
	if now := d.Now(); !imported && now.Sub(r.at) <= time.Hour && !slices.Contains(g.arrived, now) {
		g.arrived = append(g.arrived, now)
	}
}

// rename makes one more tag a property. Stored readings keep their names.
func (d *days) rename(tag string) {
	d.Helper()
	d.properties = append(d.properties, tag)
	text, err := json.Marshal(map[string]any{"propertyTags": d.properties})
	servertest.Must(d.T, err)
	d.owner.Want(http.StatusOK, `"propertyTags"`, http.MethodPatch, "/api/v1/fleets/plant", string(text))
}
