package page

import (
	"bytes"
	_ "embed"
	"html"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

//go:embed page.html
var source string

//go:embed style.css
var style string

//go:embed script.js
var script string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) },
	"script": func() template.JS { return template.JS(script) },
	"key":    key, "join": strings.Join, "percent": blueprint.Percent, "lower": strings.ToLower, "anchor": anchor, "number": number,
	"heat": heat, "money": blueprint.Money, "short": short,
}).Parse(source))

// view is the data of the page template.
type view struct {
	*blueprint.Design
	Relations template.HTML
	Flows     template.HTML
	Places    []place // the table, then the indexes
	Timelines []timelineOf
	Expiring  []string
	Reads     int // number of reading patterns
}

// place is the table or an index, with the example rows.
type place struct {
	Index      string
	PK, SK     string
	Partitions []partition
	Overload   template.HTML
}

type partition struct {
	blueprint.Partition
	view *view
}

type timelineOf struct {
	Name    string
	Drawing template.HTML
}

// Write writes the page. The same design results in the same bytes.
func Write(w io.Writer, d *blueprint.Design) error {
	v := &view{Design: d, Relations: relations(d), Flows: flows(d)}
	for _, index := range append([]string{""}, d.Indexes...) {
		p := place{Index: index, PK: index + "pk", SK: index + "sk"}
		for _, of := range d.Partitions(index) {
			p.Partitions = append(p.Partitions, partition{of, v})
		}
		if index != "" {
			p.Overload = overload(d, index)
		}
		v.Places = append(v.Places, p)
	}
	for _, t := range d.Tiers {
		v.Timelines = append(v.Timelines, timelineOf{t.Name, timeline(t)})
	}
	for i := range d.Entities {
		if d.Entities[i].Expires {
			v.Expiring = append(v.Expiring, d.Entities[i].Name)
		}
	}
	for i := range d.Patterns {
		if d.Patterns[i].Units.Read > 0 {
			v.Reads++
		}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Hue returns an entity's colour.
func (v *view) Hue(entity string) int { return hueOf(v.Design, entity) }

// Hue returns the colour of a row's entity.
func (p partition) Hue(entity string) int { return p.view.Hue(entity) }

// Keys returns an entity's keys in an index, or nil if it is not in the index.
func (v *view) Keys(e blueprint.Entity, index string) *table.IndexInfo { return e.Index(index) }

// Text returns a text attribute of a row.
func (p partition) Text(r blueprint.Row, name string) string { return r.Text(name) }

// Attributes returns the attributes of a row that are not keys.
func (p partition) Attributes(r blueprint.Row) []blueprint.Attribute { return r.Attributes() }

var inBraces = regexp.MustCompile(`\{[^}]*\}`)

// key returns a key template with marked variables.
func key(text string) template.HTML {
	return template.HTML(inBraces.ReplaceAllString(html.EscapeString(text), `<var>$0</var>`))
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

func anchor(text string) string { return notWord.ReplaceAllString(strings.ToLower(text), "-") }

func number(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }

// heat returns the colour class for a share of a limit.
func heat(share float64) string {
	switch {
	case share >= 0.8:
		return "hot"
	case share >= 0.2:
		return "warm"
	}
	return "cool"
}

// short returns an entity's name without its product prefix.
func short(name string) string {
	if _, after, ok := strings.Cut(name, "."); ok {
		return after
	}
	return name
}
