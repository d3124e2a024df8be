package digest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"time"

	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/analytics/wording"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table/delivery"
)

// Mail clients show tables with inline styles; they drop style sheets, scripts, SVG, and images unless
// people allow them. So charts are table cells with a height and a background.
//
//go:embed mail.html
var mailText string

var mailTemplate = template.Must(template.New("mail").Parse(mailText))

// Render makes the message of a report. It is a notify.Render.
func Render(n *notify.Notification, links notify.Links) (delivery.Message, error) {
	var c Content
	if err := json.Unmarshal([]byte(n.Content), &c); err != nil || len(c.Figures) == 0 || c.Every == "" {
		return delivery.Message{}, fmt.Errorf("digest: the stored report %s cannot be read: %w", n.NotificationID, err)
	}
	var lines linkLines
	all := linkLines{{"Open the dashboard", dashboard(&c, links.Site)}, {"Change the reports", links.Settings}, {"Unsubscribe", links.Unsubscribe}}
	for _, one := range all {
		if one.URL != "" {
			lines = append(lines, one)
		}
	}
	var page bytes.Buffer
	if err := mailTemplate.Execute(&page, c.view(lines)); err != nil {
		return delivery.Message{}, fmt.Errorf("digest: %w", err)
	}
	return delivery.Message{Title: n.Title, Text: c.text(lines), HTML: page.String(), Urgency: delivery.Calm, Link: dashboard(&c, links.Site)}, nil
}

// dashboard returns the link to the dashboard with the days of the report.
func dashboard(c *Content, site string) string {
	if site == "" {
		return ""
	}
	return site + "?from=" + c.From + "&to=" + c.To
}

// view is what the template shows.
type view struct {
	Content         *Content
	Subject, Days   string
	Before, Because string
	Rows            [][]figureView // figures, three a row
	Bars            []barView
	Most            string
	Lists           []listView
	Links           linkLines
}

type figureView struct{ Label, Text, Change, Color string }

type barView struct {
	Height, Rest int // pixels; their sum is chartHeight
	Label, Title string
}

type listView struct {
	Label, Unit string
	Rows        []rowView
}

type rowView struct {
	Value, Count, Change string
	Width, Rest          int // percent
}

const (
	chartHeight = 80
	rowFigures  = 3
)

// Colors of changes, with enough contrast on white.
var changeColors = map[int]string{1: "#15803d", 0: "#6b7280", -1: "#b91c1c"}

func (c *Content) view(lines linkLines) *view {
	v := &view{Content: c, Subject: c.subject(), Days: daySpan(c.From, c.To), Before: daySpan(c.BeforeFrom, c.BeforeTo), Because: c.Cause.Sentence(), Links: lines}
	for i := range c.Figures {
		f := &c.Figures[i]
		if i%rowFigures == 0 {
			v.Rows = append(v.Rows, nil)
		}
		last := &v.Rows[len(v.Rows)-1]
		*last = append(*last, figureView{f.Label, f.shown(c.Currency), f.change(), changeColors[f.better()]})
	}
	v.bars(c)
	for _, l := range c.Lists {
		one := listView{Label: l.Label, Unit: l.Unit}
		for _, r := range l.Rows {
			width := int(max(1, 100*r.After/max(l.Rows[0].After, 1)))
			one.Rows = append(one.Rows, rowView{r.Value, wording.Count(r.After), changeOf(float64(r.After), float64(r.Before)), width, 100 - width})
		}
		v.Lists = append(v.Lists, one)
	}
	return v
}

func (v *view) bars(c *Content) {
	var most int64
	for _, b := range c.Bars {
		most = max(most, b.Visitors)
	}
	if v.Most = wording.Count(most); most == 0 {
		return
	}
	for i, b := range c.Bars {
		height := int(chartHeight * b.Visitors / most)
		if b.Visitors > 0 {
			height = max(height, 1)
		}
		label, title := c.barLabel(i)
		v.Bars = append(v.Bars, barView{height, chartHeight - height, label, title + ": " + wording.Count(b.Visitors)})
	}
}

// barLabel returns the label under a bar, "" if there is no room for it, and its name.
func (c *Content) barLabel(i int) (label, name string) {
	start := c.Bars[i].Start
	if c.Every == Daily {
		at, err := time.Parse(calendar.HourLayout, start)
		zone, failed := calendar.LoadZone(c.TimeZone)
		if err != nil || failed != nil {
			return "", start
		}
		name = zone.In(at).Format("15:04")
		if i%6 == 0 {
			label = zone.In(at).Format("15")
		}
		return label, name
	}
	day, err := time.Parse(calendar.DayLayout, start)
	switch {
	case err != nil:
		return "", start
	case c.spanDays() <= 7:
		return day.Format("Mon"), day.Format("Mon 2 Jan")
	case i%7 == 0:
		label = day.Format("2")
	}
	return label, day.Format("Mon 2 Jan")
}
