package demo

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
)

// vitals returns generated Web Vitals for a page that was left, or false for a browser that does
// not measure them. Each page has its own speed, phones are slower, and a few loads are much slower
// than the others.
func (d *Site) vitals(left *analytics.Hit) (analytics.Hit, bool) {
	if left.Name != analytics.EngagementEvent || left.Browser != "Chrome" && left.Browser != "Edge" {
		return analytics.Hit{}, false
	}
	page, id := fnv.New64a(), fnv.New64a()
	page.Write([]byte(left.URL)) // a hash never returns an error
	id.Write([]byte(left.EventID))
	random := rand.New(rand.NewPCG(id.Sum64(), d.seed))
	slow := 0.7 + float64(page.Sum64()%80)/100
	if left.Device != "desktop" {
		slow *= 1.5
	}
	spread := func(middle, by float64) float64 { return middle * slow * math.Exp(by*random.NormFloat64()) }
	h := *left
	h.EventID = ulid.MustNew(ulid.MustParse(left.EventID).Time(), ulid.DefaultEntropy()).String()
	h.Name, h.Engagement = analytics.VitalsEvent, analytics.Engagement{}
	h.Vitals = analytics.Vitals{LCP: math.Round(spread(1500, 0.45)), CLS: new(0.0)}
	if random.IntN(3) > 0 {
		h.Vitals.INP = 8 * math.Round(spread(110, 0.6)/8) // browsers round it to multiples of 8
	}
	if random.IntN(2) == 0 {
		h.Vitals.CLS = new(math.Round(spread(0.05, 0.9)*1e4) / 1e4)
	}
	return h, true
}
