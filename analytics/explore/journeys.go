package explore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
)

// Direction is the direction of a journey.
type Direction string

// The directions.
const (
	Forward Direction = "forward" // pages after Page
	Back    Direction = "back"    // pages before Page
)

// Names for the ends of journeys.
const (
	Exit  = "(exit)"  // no later page
	Entry = "(entry)" // no earlier page
)

const (
	maxJourneySteps = 5
	pagesOfLevel    = 8 // further pages of a level are counted as analytics.Other
)

// JourneysIn selects the journeys from or to a page.
type JourneysIn struct {
	Range
	Filters   []Filter
	Page      string
	Direction Direction // default Forward
	Steps     int       // 1 to 5; default 3
}

// Journeys are the paths of visits from or to a page, starting at each visit's first view of the
// page. Consecutive views of one page count once.
type Journeys struct {
	Levels [][]PageVisits // the page itself, then the pages one step away, and so on; most visits first
	Links  []Link
	Source Source
	Notes  []string
}

// PageVisits counts the visits that were on a page at a step. Page is Exit or Entry for visits that
// ended, and analytics.Other for pages beyond the top eight.
type PageVisits struct {
	Page   string
	Visits int64
}

// Link counts visits that went from a page of one level to a page of the next. Both are given as
// [level, index].
type Link struct {
	From, To [2]int
	Visits   int64
}

// Journeys returns the journeys of the selected visits. Errors: ErrQuestion, ErrTooMuch, ErrGone,
// table.ErrNotFound.
func (x *Explorer) Journeys(ctx context.Context, in JourneysIn) (Journeys, error) {
	in.Direction, in.Steps = cmp.Or(in.Direction, Forward), cmp.Or(in.Steps, 3)
	switch {
	case in.Page == "" || len(in.Page) > maxValueBytes:
		return Journeys{}, fmt.Errorf("%w: journeys need a page: give a path of at most %d bytes", ErrQuestion, maxValueBytes)
	case in.Direction != Forward && in.Direction != Back:
		return Journeys{}, fmt.Errorf("%w: direction %q: want forward or back", ErrQuestion, in.Direction)
	case in.Steps < 1 || in.Steps > maxJourneySteps:
		return Journeys{}, fmt.Errorf("%w: %d steps: want 1 to %d", ErrQuestion, in.Steps, maxJourneySteps)
	}
	s, err := x.scan(ctx, in.Range, in.Filters)
	if err != nil {
		return Journeys{}, err
	}
	w := walker{in: in, most: x.o.Values, ways: map[string]int64{}}
	err = s.each(ctx, func(_ string, d *columns) error {
		for _, v := range d.chosen(s.conditions) {
			w.walk(pagesOf(d, v))
		}
		return ctx.Err()
	})
	if err != nil {
		return Journeys{}, err
	}
	out := w.journeys()
	out.Source, out.Notes = s.source(), append(append([]string{}, s.notes()...), w.notes()...)
	return out, nil
}

// walker counts journeys.
type walker struct {
	in   JourneysIn
	most int
	left int64            // visits whose journey was not counted, because there are too many distinct ones
	ways map[string]int64 // visits by pages, each terminated by a 0 byte, which paths cannot contain
}

// walk counts the journey of a visit with these pages.
func (w *walker) walk(pages []string) {
	first := slices.Index(pages, w.in.Page)
	if first < 0 {
		return
	}
	end, way := Exit, pages[first:]
	if w.in.Direction == Back {
		end, way = Entry, pages[:first+1]
		slices.Reverse(way)
	}
	if len(way) <= w.in.Steps {
		way = append(slices.Clone(way), end)
	}
	key := strings.Join(way[:min(len(way), w.in.Steps+1)], "\x00") + "\x00"
	if _, known := w.ways[key]; !known && len(w.ways) >= w.most {
		w.left++
		return
	}
	w.ways[key]++
}

// pagesOf returns the pages of a visit in order, without consecutive repetitions.
func pagesOf(d *columns, v int) []string {
	var pages []string
	for e, end := d.events(v); e < end; e++ {
		if path := d.path.text(e); d.name.at(e) == 0 && (len(pages) == 0 || pages[len(pages)-1] != path) {
			pages = append(pages, strings.ReplaceAll(path, "\x00", ""))
		}
	}
	return pages
}

func (w *walker) notes() []string {
	if w.left == 0 {
		return nil
	}
	return []string{fmt.Sprintf("There are more than %d different paths; %d visits are omitted.", w.most, w.left)}
}

// journeys builds the levels and links of the counted journeys.
func (w *walker) journeys() Journeys {
	totals := make([]map[string]int64, w.in.Steps+1)
	for i := range totals {
		totals[i] = map[string]int64{}
	}
	for way, n := range w.ways {
		for i, page := range splitWay(way) {
			totals[i][page] += n
		}
	}
	var out Journeys
	places := make([]map[string]int, len(totals))
	for i := range totals {
		var level []PageVisits
		level, places[i] = rankPages(totals[i])
		if len(level) > 0 {
			out.Levels = append(out.Levels, level)
		}
	}
	links := map[Link]int64{}
	for way, n := range w.ways {
		pages := splitWay(way)
		for i := range pages[1:] {
			links[Link{From: [2]int{i, places[i][pages[i]]}, To: [2]int{i + 1, places[i+1][pages[i+1]]}}] += n
		}
	}
	for link, n := range links {
		link.Visits = n
		out.Links = append(out.Links, link)
	}
	slices.SortFunc(out.Links, func(a, b Link) int {
		return cmp.Or(slices.Compare(a.From[:], b.From[:]), slices.Compare(a.To[:], b.To[:]))
	})
	return out
}

func splitWay(way string) []string { return strings.Split(strings.TrimSuffix(way, "\x00"), "\x00") }

// rankPages returns the pages of a level, most visits first, and the index of each page among them.
func rankPages(totals map[string]int64) ([]PageVisits, map[string]int) {
	all := make([]PageVisits, 0, len(totals))
	for page, n := range totals {
		all = append(all, PageVisits{page, n})
	}
	slices.SortFunc(all, func(a, b PageVisits) int {
		return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Page, b.Page))
	})
	places := make(map[string]int, len(all))
	shown := all[:min(pagesOfLevel, len(all))]
	for i, p := range all {
		if places[p.Page] = min(i, pagesOfLevel); i == pagesOfLevel {
			shown = append(slices.Clone(shown), PageVisits{Page: analytics.Other})
		}
		if i >= pagesOfLevel {
			shown[pagesOfLevel].Visits += p.Visits
		}
	}
	return shown, places
}
