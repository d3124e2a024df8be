package alerts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/analytics/wording"
	"github.com/onefold/onefold/table/delivery"
)

// summary says in a sentence how an hour looks.
func summary(j *judge, s *Settings, h hour, g *Judgement) string {
	end := j.zone.In(h.end)
	when := "until " + end.Format("15:04 on Monday, 2 January 2006")
	usual := "; " + number(g.Usual) + " are usual."
	if g.ComparedWith == "" {
		usual = "."
	}
	switch s.Kind {
	case Spike, Drop:
		return fmt.Sprintf("%s in the hour %s%s", things(g.Count, "visitor"), when, usual)
	case Silence:
		return fmt.Sprintf("%s in the %d h %s%s", things(g.Count, "page views and events"), s.Hours, when, usual)
	case Goal:
		return fmt.Sprintf("%s of the goal %s in the %d h %s%s", things(g.Count, "conversion"), wording.OneLine(wording.Value(analytics.ByGoal, s.Goal, j.known)), s.Hours, when, usual)
	}
	if g.Count == 0 {
		return "There are too few page loads to judge."
	}
	day := j.zone.In(h.start.Add(-time.Minute)).Format("Monday, 2 January 2006")
	than := "in the four weeks before it was " + s.measure(g.Usual)
	if s.Limit > 0 {
		than = "the limit is " + s.measure(s.Limit)
	}
	text := fmt.Sprintf("%s on %s: %s at the 75th percentile; %s.", strings.ToUpper(s.Vital), day, s.measure(g.Count), than)
	if g.Page != "" {
		text += " Most of the additional slow loads: page " + wording.OneLine(wording.Value("page", g.Page, nil)) + "."
	}
	return text
}

// measure formats a web vital.
func (s *Settings) measure(v float64) string {
	if s.Vital == "cls" {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return wording.Count(int64(v+0.5)) + " ms"
}

// number formats a count or a median, which may be half.
func number(v float64) string {
	if v != float64(int64(v)) {
		return wording.Count(int64(v)) + ".5"
	}
	return wording.Count(int64(v))
}

func things(n float64, name string) string {
	if n != 1 && !strings.HasSuffix(name, "s") {
		name += "s"
	}
	if n == 0 {
		return "No " + name
	}
	return number(n) + " " + name
}

// newsID names the news that an alert fires or has ended.
func (a *Alert) newsID() string {
	at := a.FiredAt
	if a.Status == Resolved {
		at = a.EndedAt
	}
	return at.Format(idTime) + ".alert." + a.RuleID + "." + string(a.Status)
}

// title says in one line what happened.
func (a *Alert) title() string {
	what := cmp.Or(a.RuleName, kindOf(a.Kind).Label) + " on " + a.SiteID
	if a.Status == Resolved {
		what = "Resolved: " + what
	}
	return wording.OneLine(what + ": " + a.Summary)
}

// Render makes the message of an alert. It is a notify.Render.
func Render(n *notify.Notification, links notify.Links) (delivery.Message, error) {
	var a Alert
	if err := json.Unmarshal([]byte(n.Content), &a); err != nil || kindOf(a.Kind) == nil {
		return delivery.Message{}, fmt.Errorf("alerts: the stored alert %s cannot be read: %w", n.NotificationID, err)
	}
	urgency := delivery.Warning
	if a.Status == Resolved {
		urgency = delivery.Recovered
	}
	return delivery.Message{Title: n.Title, Text: a.text(n.SiteID, links), Urgency: urgency, Link: links.Site}, nil
}

// text describes an alert in lines of plain text.
func (a *Alert) text(site string, links notify.Links) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", wording.OneLine(a.Summary))
	if why := a.Cause.Sentence(); why != "" {
		line("%s Compared with the hours from %s.", wording.OneLine(why), a.ComparedWith)
	}
	line("\nSite:    %s\nRule:    %s (%s)\nSince:   %s", site, wording.OneLine(cmp.Or(a.RuleName, a.RuleID)), kindOf(a.Kind).Label, a.Since.Format(time.RFC3339))
	if a.Status == Resolved {
		line("Ended:   %s", a.EndedAt.Format(time.RFC3339))
	}
	settings := ""
	if links.Site != "" {
		settings = links.Site + "/settings/alerts"
	}
	for _, one := range []struct{ label, url string }{{"Open the dashboard", links.Site}, {"Change the alerts", settings}, {"Unsubscribe", links.Unsubscribe}} {
		if one.url != "" {
			line("%s: %s", one.label, one.url)
		}
	}
	return b.String()
}
