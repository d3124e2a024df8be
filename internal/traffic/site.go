package traffic

import (
	"fmt"
	"math"
	"strings"
)

// page is one page of the site.
type page struct {
	path, title string
	bytes       int // of its HTML
}

// site is the set of pages.
type site struct {
	pages choice[page]
	entry choice[page] // pages where visits from outside begin: the home page, and pages found by search
}

// fixedPages are on every company's site, most popular first.
var fixedPages = [...]page{
	{"/", "One table, folded", 18_204},
	{"/pricing", "Pricing", 11_930},
	{"/docs/", "Documentation", 22_410},
	{"/blog/", "Blog", 14_022},
	{"/docs/getting-started", "Getting started", 31_877},
	{"/features", "Features", 16_340},
	{"/about", "About us", 9_120},
	{"/docs/api", "API reference", 64_251},
	{"/download", "Download", 8_015},
	{"/contact", "Contact", 6_990},
	{"/changelog", "Changelog", 27_403},
	{"/careers", "Careers", 10_466},
	{"/privacy", "Privacy", 7_771},
	{"/terms", "Terms of service", 12_884},
}

var (
	verbs  = [...]string{"measuring", "scaling", "designing", "debugging", "migrating", "securing", "testing", "understanding", "automating", "comparing", "deploying", "hosting"}
	things = [...]string{"single-table-design", "web-analytics", "event-sourcing", "change-streams", "sensor-data", "dashboards", "access-patterns", "time-series", "session-counting", "privacy", "backups", "hot-partitions"}
	places = [...]string{"in-practice", "without-cookies", "on-one-machine", "at-scale", "for-beginners", "in-production", "step-by-step", "the-hard-parts", "and-what-it-costs", "a-year-later"}
)

func newSite(n int, kind *profile) site {
	var all, entries []weighted[page]
	for i := range n {
		p := kind.pageAt(i)
		// Zipf: the page of rank k is requested 1/k^0.9 times as often as the first.
		weight := 1 / math.Pow(float64(i+1), 0.9)
		all = append(all, weighted[page]{weight, p})
		switch {
		case i == 0:
			weight *= 2.5
		case i < len(kind.fixed):
			weight *= 0.5
		}
		entries = append(entries, weighted[page]{weight, p})
	}
	return site{pages: newChoice(all), entry: newChoice(entries)}
}

// pageAt returns the page with a rank, from 0: the fixed pages first, then articles or products.
func (k *profile) pageAt(i int) page {
	if i < len(k.fixed) {
		return k.fixed[i]
	}
	return k.articles(i - len(k.fixed))
}

// articleAt returns the article with an index, alternating between blog and documentation.
func articleAt(i int) page {
	// A step that is coprime with the number of combinations visits all of them before one repeats.
	const combinations = len(verbs) * len(things) * len(places)
	j := i * 487 % combinations
	a, b, c := verbs[j%len(verbs)], things[j/len(verbs)%len(things)], places[j/len(verbs)/len(things)]
	slug := a + "-" + b + "-" + c
	if round := i / combinations; round > 0 {
		slug = fmt.Sprintf("%s-%d", slug, round+1)
	}
	title := strings.ToUpper(slug[:1]) + strings.ReplaceAll(slug[1:], "-", " ")
	size := 8_000 + i*7919%40_000
	if i%3 == 0 {
		return page{"/docs/" + b + "/" + slug, title, size}
	}
	return page{fmt.Sprintf("/blog/%d/%s", 2021+i%5, slug), title, size}
}
