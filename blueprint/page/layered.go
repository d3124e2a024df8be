package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"
)

// diagram consists of boxes in columns, and lines between them from left to right.
type diagram struct {
	label string // for screen readers
	nodes []*node
	lines []line
}

type node struct {
	id      string
	title   string
	details []string
	class   string
	hue     int // of the entity; -1 for none

	column     int
	x, y, w, h int
}

type line struct {
	from, to string
	class    string
	many     bool // it ends in a crow's foot: many
	one      bool // it ends in a bar: at most one
}

// Dimensions of diagrams, in pixels. Text is monospaced, so that its width is known without a font.
const (
	charWidth  = 7
	rowHeight  = 17
	boxPadding = 10
	boxGap     = 14
	columnGap  = 84
	margin     = 6
)

func (g *diagram) node(id string) *node {
	for _, n := range g.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// add returns the node with an ID, which it creates if necessary.
func (g *diagram) add(id, title, class string, hue int, details ...string) *node {
	if n := g.node(id); n != nil {
		return n
	}
	n := &node{id: id, title: title, class: class, hue: hue, details: details}
	g.nodes = append(g.nodes, n)
	return n
}

// rank puts each node one column after the last node that leads to it. Lines that close a cycle are
// ignored.
func (g *diagram) rank() {
	for range g.nodes {
		moved := false
		for _, l := range g.lines {
			from, to := g.node(l.from), g.node(l.to)
			if from != to && to.column <= from.column && from.column+1 < len(g.nodes) && !g.leads(l.to, l.from) {
				to.column, moved = from.column+1, true
			}
		}
		if !moved {
			return
		}
	}
}

// leads reports whether there is a path from one node to another.
func (g *diagram) leads(from, to string) bool {
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, l := range g.lines {
			if l.from == at && !seen[l.to] {
				seen[l.to] = true
				next = append(next, l.to)
			}
		}
	}
	return from != to && seen[to]
}

// columns returns the nodes by column, with related nodes at similar heights where possible.
func (g *diagram) columns() [][]*node {
	var all [][]*node
	for _, n := range g.nodes {
		for len(all) <= n.column {
			all = append(all, nil)
		}
		all[n.column] = append(all[n.column], n)
	}
	for range 4 {
		layOut(all)
		for i, column := range all {
			if i > 0 {
				slices.SortStableFunc(column, func(a, b *node) int { return cmp.Compare(g.pull(a, true), g.pull(b, true)) })
			}
		}
		layOut(all)
		for i := len(all) - 2; i >= 0; i-- {
			slices.SortStableFunc(all[i], func(a, b *node) int { return cmp.Compare(g.pull(a, false), g.pull(b, false)) })
		}
	}
	layOut(all)
	return all
}

// pull returns the average height of the nodes before or after a node, or its own height if there
// are none.
func (g *diagram) pull(n *node, before bool) int {
	sum, count := 0, 0
	for _, l := range g.lines {
		other := ""
		if before && l.to == n.id {
			other = l.from
		} else if !before && l.from == n.id {
			other = l.to
		}
		if o := g.node(other); o != nil {
			sum, count = sum+o.y+o.h/2, count+1
		}
	}
	if count == 0 {
		return n.y + n.h/2
	}
	return sum / count
}

// layOut sets the boxes of all nodes. Columns are centred relative to the tallest.
func layOut(columns [][]*node) {
	tallest := 0
	for _, column := range columns {
		tallest = max(tallest, heightOf(column))
	}
	x := margin
	for _, column := range columns {
		w, y := 0, margin+(tallest-heightOf(column))/2
		for _, n := range column {
			w = max(w, n.width())
		}
		for _, n := range column {
			n.x, n.y, n.w, n.h = x, y, w, n.height()
			y += n.h + boxGap
		}
		x += w + columnGap
	}
}

func heightOf(column []*node) int {
	h := -boxGap
	for _, n := range column {
		h += n.height() + boxGap
	}
	return max(h, 0)
}

func (n *node) width() int {
	w := utf8.RuneCountInString(n.title)
	for _, d := range n.details {
		w = max(w, utf8.RuneCountInString(d))
	}
	return w*charWidth + 2*boxPadding
}

func (n *node) height() int { return (1+len(n.details))*rowHeight + boxPadding }

// svg draws the diagram; the result is empty if it has no nodes.
func (g *diagram) svg() template.HTML {
	if len(g.nodes) == 0 {
		return ""
	}
	w, h := 0, 0
	for _, column := range g.columns() {
		for _, n := range column {
			w, h = max(w, n.x+n.w+margin), max(h, n.y+n.h+margin)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="diagram" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`, w, h, w, h, html.EscapeString(g.label))
	for _, l := range g.lines {
		g.drawLine(&b, &l)
	}
	for _, n := range g.nodes {
		n.draw(&b)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // all text in it was escaped
}

func (n *node) draw(b *strings.Builder) {
	style := ""
	if n.hue >= 0 {
		style = fmt.Sprintf(` style="--hue:%d"`, n.hue)
	}
	fmt.Fprintf(b, `<g class="box %s"%s><rect x="%d" y="%d" width="%d" height="%d" rx="6"/>`, n.class, style, n.x, n.y, n.w, n.h)
	y := n.y + boxPadding/2 + 12
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`, n.x+boxPadding, y, html.EscapeString(n.title))
	for _, d := range n.details {
		y += rowHeight
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`, n.x+boxPadding, y, html.EscapeString(d))
	}
	b.WriteString("</g>")
}

// drawLine draws a line from the right side of a box to the left side of another, or to its right
// side if that box is not after the first.
func (g *diagram) drawLine(b *strings.Builder, l *line) {
	from, to := g.node(l.from), g.node(l.to)
	x1, y1, x2, y2 := from.x+from.w, from.y+from.h/2, to.x, to.y+to.h/2
	bend := max((x2-x1)/2, 30)
	if to.column <= from.column {
		x2 = to.x + to.w
		fmt.Fprintf(b, `<path class="%s" d="M%d %dC%d %d %d %d %d %d"/>`, l.class, x1, y1, max(x1, x2)+40, y1, max(x1, x2)+40, y2, x2, y2)
		return
	}
	fmt.Fprintf(b, `<path class="%s" d="M%d %dC%d %d %d %d %d %d"/>`, l.class, x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
	switch {
	case l.many:
		fmt.Fprintf(b, `<path class="end" d="M%d %dL%d %dM%d %dL%d %d"/>`, x2-10, y2, x2, y2-5, x2-10, y2, x2, y2+5)
	case l.one:
		fmt.Fprintf(b, `<path class="end" d="M%d %dL%d %d"/>`, x2-6, y2-5, x2-6, y2+5)
	default:
		fmt.Fprintf(b, `<path class="end" d="M%d %dL%d %dL%d %d"/>`, x2-7, y2-4, x2, y2, x2-7, y2+4)
	}
}
