package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/onefold/onefold/table"
)

// Documents say these in the same words, in whatever form they are.

// KeyCondition is what of the table or an index a pattern asks, in words of the templates; for a write, its condition.
func (p *Pattern) KeyCondition() string {
	if p.Operation != "Query" && p.Operation != "GetItem" {
		return p.Condition
	}
	pk := table.AttrPK
	if p.Index != "" {
		pk = p.Index + "pk"
	}
	text := pk + " = " + p.PK
	if p.Condition != "" {
		text += " and " + p.Condition
	}
	return text
}

// Consistency is how a pattern reads; empty for a write.
func (p *Pattern) Consistency() string {
	switch {
	case p.Units.Read == 0:
		return ""
	case p.Consistent:
		return "consistent"
	}
	return "eventual"
}

// Code is where the pattern is defined, below the project: package/file:line.
func (p *Pattern) Code() string {
	if parts := strings.SplitN(p.Source, "/", 4); len(parts) == 4 && strings.Contains(parts[0], ".") {
		return parts[3]
	}
	return p.Source
}

// String is such as "2 read" or "6 write".
func (u Units) String() string {
	switch {
	case u.Read > 0 && u.Write > 0:
		return number(u.Read) + " read, " + number(u.Write) + " write"
	case u.Write > 0:
		return number(u.Write) + " write"
	}
	return number(u.Read) + " read"
}

// Money is an amount of dollars.
func Money(f float64) string {
	switch {
	case f == 0:
		return "$0"
	case f < 0.01:
		return "< $0.01"
	}
	return "$" + strconv.FormatFloat(f, 'f', 2, 64)
}

// Moved is how many items of how many bytes a call reads or writes.
func (u Units) Moved() string { return fmt.Sprintf("%d × %d B", u.Items, u.Bytes/max(u.Items, 1)) }

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// Percent is a share as people read it.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.0001:
		return "< 0.01 %"
	case share >= 0.1:
		return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(100*share, 'g', 2, 64) + " %"
}

// KeepText is a time for which something is kept.
func (t Tier) KeepText() string { return keepText(t.Keep) }

// BucketText is the time that an item covers.
func (t Tier) BucketText() string {
	if t.Bucket == 0 {
		return "single facts"
	}
	return keepText(t.Bucket)
}

// Attribute is one of an item, as people read it.
type Attribute struct{ Name, Value string }

// shown is how many characters of a value a document shows.
const shown = 40

// Attributes are those of the row that are no keys, sorted; long values are shortened.
func (r *Row) Attributes() []Attribute {
	var all []Attribute
	for _, name := range sortedNames(r.Item) {
		text := valueText(r.Item[name])
		if runes := []rune(text); len(runes) > shown {
			text = string(runes[:shown]) + "…"
		}
		all = append(all, Attribute{name, strings.ReplaceAll(text, "`", "'")})
	}
	return all
}

// JSON is the row in the API's JSON, attributes sorted.
func (r *Row) JSON() []byte { return itemJSON(r.Item) }

// Text is a text attribute of the row, such as a key; empty when there is none.
func (r *Row) Text(name string) string { return textOf(r.Item, name) }

// Text is the request in the API's JSON, a line an attribute.
func (c *Call) Text() string { return indented(c.Request) }

// ItemTexts are the items that came back, as Call.Text.
func (x *Execution) ItemTexts() []string {
	var all []string
	for _, it := range x.Items {
		all = append(all, indented(itemJSON(it)))
	}
	return all
}

// Summary says what an execution took: requests, units, items.
func (x *Execution) Summary() string {
	text := plural(len(x.Calls), "request") + ", " + Units{Read: x.Read, Write: x.Write}.String()
	if x.Write == 0 {
		text += "; " + plural(len(x.Items), "item")
	}
	return text + "."
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// oneValue is an attribute's value that json.Indent has broken into three lines.
var oneValue = regexp.MustCompile(`\{\s*("(?:S|N|B|BOOL|NULL)": (?:"(?:[^"\\]|\\.)*"|true|false))\s*\}`)

func indented(b []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return string(b)
	}
	return oneValue.ReplaceAllString(out.String(), "{$1}")
}
