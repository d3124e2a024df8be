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

// Texts used in the same form in all document formats.

// KeyCondition returns the key condition of a pattern, written with templates or, for a write, its
// condition.
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

// Consistency returns the consistency of reads, or "" for a write.
func (p *Pattern) Consistency() string {
	switch {
	case p.Units.Read == 0:
		return ""
	case p.Consistent:
		return "consistent"
	}
	return "eventual"
}

// Code returns where the pattern is defined, relative to the project: package/file:line.
func (p *Pattern) Code() string {
	if parts := strings.SplitN(p.Source, "/", 4); len(parts) == 4 && strings.Contains(parts[0], ".") {
		return parts[3]
	}
	return p.Source
}

// String formats units, such as "2 read" or "6 write".
func (u Units) String() string {
	switch {
	case u.Read > 0 && u.Write > 0:
		return number(u.Read) + " read, " + number(u.Write) + " write"
	case u.Write > 0:
		return number(u.Write) + " write"
	}
	return number(u.Read) + " read"
}

// Money formats an amount in dollars.
func Money(f float64) string {
	switch {
	case f == 0:
		return "$0"
	case f < 0.01:
		return "< $0.01"
	}
	return "$" + strconv.FormatFloat(f, 'f', 2, 64)
}

// Moved formats the number and size of the items that a call reads or writes.
func (u Units) Moved() string { return fmt.Sprintf("%d × %d B", u.Items, u.Bytes/max(u.Items, 1)) }

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// Percent formats a share as a percentage.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.0001:
		return "< 0.01 %"
	case share >= 0.1:
		return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(100*share, 'g', 2, 64) + " %"
}

// KeepText formats the retention of the tier.
func (t Tier) KeepText() string { return keepText(t.Keep) }

// BucketText formats the time span of an item.
func (t Tier) BucketText() string {
	if t.Bucket == 0 {
		return "single facts"
	}
	return keepText(t.Bucket)
}

// Attribute is an attribute of an item, formatted for readers.
type Attribute struct{ Name, Value string }

// shown is the maximum number of characters of a value in documents.
const shown = 40

// Attributes returns the attributes of the row that are not keys, sorted. Long values are
// shortened.
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

// JSON returns the row in the API's JSON, with sorted attributes.
func (r *Row) JSON() []byte { return itemJSON(r.Item) }

// Text returns a text attribute of the row, such as a key, or "" if there is none.
func (r *Row) Text(name string) string { return textOf(r.Item, name) }

// Text returns the request in the API's JSON, with one attribute per line.
func (c *Call) Text() string { return indented(c.Request) }

// ItemTexts returns the items in the response in the format of Call.Text.
func (x *Execution) ItemTexts() []string {
	var all []string
	for _, it := range x.Items {
		all = append(all, indented(itemJSON(it)))
	}
	return all
}

// Summary returns the number of requests, units and items of an execution.
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

// oneValue matches an attribute value that json.Indent has broken into three lines.
var oneValue = regexp.MustCompile(`\{\s*("(?:S|N|B|BOOL|NULL)": (?:"(?:[^"\\]|\\.)*"|true|false))\s*\}`)

func indented(b []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return string(b)
	}
	return oneValue.ReplaceAllString(out.String(), "{$1}")
}
