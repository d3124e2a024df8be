package devices_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/onefold/onefold/server/servertest"
)

// doubt is a retraction: a time range in which a device measured wrongly.
type doubt struct {
	id       string
	from, to time.Time
	metrics  []string // none: all
}

// void reports whether a value of a time does not count.
func (g *gadget) void(metric string, at time.Time) bool {
	return slices.ContainsFunc(g.doubts, func(x doubt) bool {
		return !at.Before(x.from) && at.Before(x.to) && (len(x.metrics) == 0 || slices.Contains(x.metrics, metric))
	})
}

func (d *days) devicePath(g *gadget) string { return "/api/v1/fleets/plant/devices/" + g.id }

// retract retracts readings of a device: of a while around one of them, including readings that may
// still arrive.
func (d *days) retract(g *gadget) {
	d.Helper()
	around := g.sent[d.random.IntN(len(g.sent))].at
	x := doubt{from: around.Add(-time.Duration(d.random.Int64N(int64(3 * time.Hour)))).Truncate(time.Millisecond)}
	if d.random.IntN(3) == 0 {
		x.from = around
	}
	x.to = x.from.Add(time.Millisecond + time.Duration(d.random.Int64N(int64(6*time.Hour)))).Truncate(time.Millisecond)
	if all := g.metrics(); d.random.IntN(2) == 0 {
		x.metrics = []string{all[d.random.IntN(len(all))], "temp"}
	}
	body, err := json.Marshal(map[string]any{"from": x.from, "to": x.to, "metrics": x.metrics})
	servertest.Must(d.T, err)
	answer := d.owner.Want(http.StatusCreated, `"id"`, http.MethodPost, d.devicePath(g)+"/retractions", string(body))
	x.id = field(d.T, answer, "id")
	g.doubts, d.doubted = append(g.doubts, x), true
}

// lift undoes a retraction.
func (d *days) lift(g *gadget) {
	d.Helper()
	i := d.random.IntN(len(g.doubts))
	d.owner.Want(http.StatusNoContent, "", http.MethodDelete, d.devicePath(g)+"/retractions/"+g.doubts[i].id, "")
	g.doubts, d.doubted = slices.Delete(g.doubts, i, i+1), true
}

// compareRetractions compares the list. A retraction that was undone disappears once everything is
// recomputed.
func (d *days) compareRetractions(g *gadget) {
	d.Helper()
	var list struct {
		Retractions []struct {
			ID       string
			From, To time.Time
			Metrics  []string
			Applied  time.Time
		}
	}
	d.answer("/devices/"+g.id+"/retractions", &list)
	left := slices.Clone(g.doubts)
	for _, r := range list.Retractions {
		i := slices.IndexFunc(left, func(x doubt) bool { return x.id == r.ID })
		if i < 0 || !left[i].from.Equal(r.From) || !left[i].to.Equal(r.To) || !slices.Equal(left[i].metrics, r.Metrics) || r.Applied.IsZero() {
			d.Errorf("%s: retractions are %+v, want %+v", g.id, list.Retractions, g.doubts)
			return
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		d.Errorf("%s: retractions are %+v, want %+v", g.id, list.Retractions, g.doubts)
	}
}
