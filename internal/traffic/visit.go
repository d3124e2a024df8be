package traffic

import "math/rand/v2"

// Times between a visit's steps in milliseconds, and the maximum number of steps.
const (
	meanGap  = 70_000
	minGap   = 2_000
	maxGap   = 19 * 60_000
	maxSteps = 200

	// returnGap is the time after which a person's next activity is another visit by every
	// definition.
	returnGap = 31 * 60_000

	// botRequests is the mean number of pages that a bot requests in a row.
	botRequests = 8
)

// visit is one visit, planned as a whole when it begins.
type visit struct {
	number int64
	bot    bool
	who    person
	from   source
	steps  []step // remaining steps
}

type stepKind uint8

const (
	view    stepKind = iota
	action           // a custom event
	asset            // a request that the browser makes by itself
	leaving          // of a page
)

type step struct {
	at       int64 // milliseconds since 1970
	kind     stepKind
	first    bool // of the visit
	page     page
	previous page
	custom   custom
	luck     uint16 // decides the response
	engaged  int64  // milliseconds before leaving
}

// newVisit plans a visit that begins at the given time. The visitor is set later, when the length
// is known.
func (g *Generator) newVisit(number, at int64) *visit {
	r := g.random(streamVisits, number)
	v := &visit{number: number, bot: r.Float64() < g.botVisits}
	if v.bot {
		g.planBot(v, r, at)
	} else {
		g.planPerson(v, r, at)
	}
	return v
}

func (g *Generator) planPerson(v *visit, r *rand.Rand, at int64) {
	v.from = g.sources.draw(r)
	n := min(geometric(r, g.o.EventsPerVisit), maxSteps)
	v.steps = make([]step, 0, n+1)
	current := g.site.entry.draw(r)
	for i := range n {
		s := step{at: at, first: i == 0, page: current, luck: uint16(r.Uint32())}
		switch {
		case i > 0 && r.Float64() < g.kind.actions:
			s.kind, s.custom = action, g.customs.draw(r)
		case i > 0:
			s.previous = current
			for s.page.path == current.path {
				s.page = g.site.pages.draw(r)
			}
			current = s.page
		}
		v.steps = append(v.steps, s)
		g.planAssets(v, r, s)
		at += min(minGap+int64(r.ExpFloat64()*meanGap), maxGap)
		g.planLeaving(v, s, current, at)
	}
}

// planLeaving adds the step of leaving a page, for the next page or for good, at the given time.
func (g *Generator) planLeaving(v *visit, s step, current page, at int64) {
	if g.o.Engagement {
		v.steps = append(v.steps, step{at: at - 1, kind: leaving, page: current, luck: s.luck, engaged: (at - s.at) * int64(30+s.luck%60) / 100})
	}
}

// planAssets adds the requests for assets of a step, all well before the next step.
func (g *Generator) planAssets(v *visit, r *rand.Rand, s step) {
	n := int(g.assets)
	if r.Float64() < g.assets-float64(n) {
		n++
	}
	s.kind, s.first = asset, false
	for range n {
		s.at += 20 + r.Int64N(minGap/20)
		s.luck = uint16(r.Uint32())
		v.steps = append(v.steps, s)
	}
}

func (g *Generator) planBot(v *visit, r *rand.Rand, at int64) {
	n := min(geometric(r, botRequests), maxSteps)
	v.steps = make([]step, 0, n)
	for i := range n {
		s := step{at: at, first: i == 0, page: g.site.pages.draw(r), luck: uint16(r.Uint32())}
		if i == 0 && n > 1 {
			s.page = page{path: "/robots.txt", bytes: 118}
		}
		v.steps = append(v.steps, s)
		at += 1_000 + r.Int64N(20_000)
	}
	v.who = person{ip: address(int64(r.IntN(400)), false), agent: agent{userAgent: g.bots.draw(r)}}
}

// next returns the time of the next step.
func (v *visit) next() int64 { return v.steps[0].at }

// end returns the time of the last step.
func (v *visit) end() int64 { return v.steps[len(v.steps)-1].at }
