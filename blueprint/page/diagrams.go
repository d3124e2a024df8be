package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/blueprint"
)

// hueOf returns the colour of an entity throughout the page. Colours of neighbours differ strongly.
func hueOf(d *blueprint.Design, entity string) int {
	i := slices.IndexFunc(d.Entities, func(e blueprint.Entity) bool { return e.Name == entity })
	if i < 0 {
		return -1
	}
	return (210 + i*137) % 360
}

// relations draws the entities with the variables of their keys.
func relations(d *blueprint.Design) template.HTML {
	g := &diagram{label: "entities and their relations"}
	for i := range d.Entities {
		e := &d.Entities[i]
		var keys []string
		for _, k := range e.Key {
			keys = append(keys, "{"+k.Name+"}")
		}
		g.add(e.Name, e.Name, "entity", hueOf(d, e.Name), keys...)
	}
	for _, r := range d.Relations() {
		l := line{from: r.One, to: r.Many, class: "line", many: r.Kind != blueprint.Extends, one: r.Kind == blueprint.Extends}
		if r.Kind == blueprint.Refers {
			l.class = "line refers"
		}
		g.lines = append(g.lines, l)
	}
	g.rank()
	return g.svg()
}

// overload draws the keys of an index with their entities, and the patterns that use it.
func overload(d *blueprint.Design, index string) template.HTML {
	g := &diagram{label: "what is on index " + index}
	for _, p := range d.Overload(index) {
		key, hue := p.PK+" "+p.SK, hueOf(d, p.Entity)
		class := "key"
		if p.Sparse {
			class = "key sparse"
		}
		g.add("entity "+p.Entity, p.Entity, "entity", hue).column = 0
		g.add("key "+key, p.PK, class, hue, p.SK).column = 1
		g.lines = append(g.lines, line{from: "entity " + p.Entity, to: "key " + key, class: "line"})
		for _, id := range p.Patterns {
			g.add("pattern "+id, id+" "+question(d, id), "pattern", -1).column = 2
			g.lines = append(g.lines, line{from: "key " + key, to: "pattern " + id, class: "line"})
		}
	}
	return g.svg()
}

func question(d *blueprint.Design, id string) string {
	for i := range d.Patterns {
		if d.Patterns[i].ID == id {
			return d.Patterns[i].Question
		}
	}
	return ""
}

// flows draws the folds with the entities they read and write.
func flows(d *blueprint.Design) template.HTML {
	g := &diagram{label: "what reads the change stream"}
	for _, f := range d.Flows {
		for _, from := range f.From {
			g.add(from, from, "entity", hueOf(d, from))
			g.lines = append(g.lines, line{from: from, to: "fold " + f.Name, class: "line"})
		}
		g.add("fold "+f.Name, f.Name, "fold", -1)
		if f.Into != "" {
			g.add(f.Into, f.Into, "entity", hueOf(d, f.Into))
			g.lines = append(g.lines, line{from: "fold " + f.Name, to: f.Into, class: "line"})
		}
	}
	g.rank()
	return g.svg()
}

// Dimensions of the timeline of tiers, in pixels.
const (
	timelineLeft  = 90
	timelineWidth = 620
	timelineRow   = 34
)

// ticks are the labelled times of the timeline.
var ticks = []struct {
	name string
	at   time.Duration
}{
	{"1 hour", time.Hour}, {"1 day", 24 * time.Hour}, {"1 week", 7 * 24 * time.Hour}, {"30 days", 30 * 24 * time.Hour},
	{"90 days", 90 * 24 * time.Hour}, {"1 year", 365 * 24 * time.Hour}, {"3 years", 3 * 365 * 24 * time.Hour},
}

// timeline draws the retention of each tier, on a logarithmic scale because it ranges from days to
// years.
func timeline(t blueprint.Tiers) template.HTML {
	height := len(t.Tiers)*timelineRow + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="timeline" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="how long the tiers of %s are kept">`,
		timelineLeft+timelineWidth+20, height, timelineLeft+timelineWidth+20, height, html.EscapeString(t.Name))
	for _, tick := range ticks {
		x := placeOf(tick.at)
		fmt.Fprintf(&b, `<path class="tick" d="M%d 0V%d"/><text class="tick" x="%d" y="%d">%s</text>`, x, height-24, x, height-8, tick.name)
	}
	for i, tier := range t.Tiers {
		y, end := i*timelineRow+6, timelineLeft+timelineWidth
		class := "bar forever"
		if tier.Keep > 0 {
			class, end = "bar", placeOf(tier.Keep)
		}
		fmt.Fprintf(&b, `<text class="tier" x="%d" y="%d">%s</text>`, timelineLeft-12, y+16, html.EscapeString(tier.Name))
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, class, timelineLeft, y, end-timelineLeft, timelineRow-12)
		fmt.Fprintf(&b, `<text class="keep" x="%d" y="%d">%s</text>`, timelineLeft+10, y+16, html.EscapeString(tier.KeepText()))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // all text in it was escaped
}

// placeOf returns the position of a time between half an hour and five years.
func placeOf(at time.Duration) int {
	const from, to = 30 * time.Minute, 5 * 365 * 24 * time.Hour
	share := math.Log(float64(at)/float64(from)) / math.Log(float64(to)/float64(from))
	return timelineLeft + int(math.Round(min(max(share, 0), 1)*timelineWidth))
}
