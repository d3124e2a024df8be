package digest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics/wording"
	"github.com/onefold/onefold/internal/calendar"
)

// subject says in one line what the report is about, and its most important number.
func (c *Content) subject() string {
	adjective := strings.ToUpper(string(c.Every[:1])) + string(c.Every[1:])
	f := &c.Figures[0]
	return fmt.Sprintf("%s report for %s: %s visitors%s", adjective, c.SiteName, f.shown(""), f.inBrackets())
}

func (f *Figure) inBrackets() string {
	if change := f.change(); change != "" {
		return " (" + change + ")"
	}
	return ""
}

// shown returns the figure as people read it.
func (f *Figure) shown(currency string) string {
	switch f.Metric {
	case "bounce_rate":
		return fmt.Sprintf("%.0f %%", 100*f.After)
	case "visit_duration":
		return duration(f.After)
	case "total_revenue":
		return strings.TrimSpace(f.Text + " " + currency)
	}
	return wording.Count(int64(f.After))
}

// change returns the relative change, such as +12 %, or "" if there was nothing before.
func (f *Figure) change() string { return changeOf(f.After, f.Before) }

// unchanged is a change of less than half a percent.
const unchanged = "±0 %"

func changeOf(after, before float64) string {
	if before == 0 {
		return ""
	}
	percent := math.Round(100 * (after - before) / before)
	switch {
	case percent == 0:
		return unchanged
	case percent < 0:
		return "−" + wording.Count(int64(-percent)) + " %"
	}
	return "+" + wording.Count(int64(percent)) + " %"
}

// better reports whether a change is good, bad or neither: +1, -1 or 0.
func (f *Figure) better() int {
	sign := 0
	switch {
	case f.change() == unchanged:
	case f.After > f.Before:
		sign = 1
	case f.After < f.Before:
		sign = -1
	}
	if f.Metric == "bounce_rate" {
		return -sign
	}
	return sign
}

func duration(seconds float64) string {
	s := int64(math.Round(seconds))
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

// daySpan formats the days from and to, both included. The range omits a month or year that both
// days share, as in 16–22 November 2026. One day has its weekday.
func daySpan(from, to string) string {
	a, errA := time.Parse(calendar.DayLayout, from)
	b, errB := time.Parse(calendar.DayLayout, to)
	const day, month, year = "2", "2 January", "2 January 2006"
	switch {
	case errA != nil || errB != nil:
		return from + " to " + to
	case from == to:
		return a.Format("Monday, " + year)
	case a.Year() != b.Year():
		return a.Format(year) + " – " + b.Format(year)
	case a.Month() != b.Month():
		return a.Format(month) + " – " + b.Format(year)
	}
	return a.Format(day) + "–" + b.Format(year)
}

// text returns the report as plain text.
func (c *Content) text(l linkLines) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s\n%s, compared with %s", wording.OneLine(c.SiteName), daySpan(c.From, c.To), daySpan(c.BeforeFrom, c.BeforeTo))
	line("")
	for i := range c.Figures {
		f := &c.Figures[i]
		line("%-16s %12s  %s", f.Label, f.shown(c.Currency), f.change())
	}
	if why := c.Cause.Sentence(); why != "" {
		line("\n%s", wording.OneLine(why))
	}
	for _, list := range c.Lists {
		line("\n%s (%s)", list.Label, strings.ToLower(list.Unit))
		for _, r := range list.Rows {
			line("%9s  %-7s %s", wording.Count(r.After), changeOf(float64(r.After), float64(r.Before)), wording.OneLine(r.Value))
		}
	}
	if c.Note != "" {
		line("\n%s", wording.OneLine(c.Note))
	}
	line("")
	for _, one := range l {
		line("%s: %s", one.Label, one.URL)
	}
	return b.String()
}

// linkLines are the links at the end of a report.
type linkLines []struct{ Label, URL string }
