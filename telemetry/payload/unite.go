package payload

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/telemetry"
)

// Unite makes one reading of the lines of a point: lines with the same measurement, tags and time.
// InfluxDB treats them as one point, and Telegraf writes several of its points so. A line without a
// time arrives with the others of the request.
//
// A line with a different value of the same field is a reading of its own, and so is one whose
// values do not fit into one reading, so that no value is lost. A united line has the number of its
// first line; Also has those of the others.
func Unite(lines []Line) []Line {
	united := make([]Line, 0, len(lines))
	first := make(map[string]int, len(lines)) // index in united, by point
	for i := range lines {
		l := &lines[i]
		if l.Err != nil {
			united = append(united, *l)
			continue
		}
		point := l.point()
		if at, there := first[point]; there && united[at].join(l) {
			continue
		}
		first[point] = len(united)
		united = append(united, *l)
	}
	return united
}

// point returns what lines of the same point have in common.
func (l *Line) point() string {
	var b strings.Builder
	part := func(s string) {
		b.WriteString(strconv.Itoa(len(s))) // so that no two different lists of parts are alike
		b.WriteByte(' ')
		b.WriteString(s)
	}
	for _, s := range []string{l.measurement, l.DeviceID, l.Host} {
		part(s)
	}
	if !l.At.IsZero() {
		part(strconv.FormatInt(l.At.UnixNano(), 10))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Tags)) {
		part(name)
		part(l.Tags[name])
	}
	return b.String()
}

// join adds the values of another line of the same point. It returns false, and changes nothing, if
// they cannot be in one reading.
func (l *Line) join(o *Line) bool {
	more := len(o.Values)
	for name, v := range o.Values {
		if have, there := l.Values[name]; there {
			if have != v {
				return false
			}
			more--
		}
	}
	if len(l.Values)+more > telemetry.MaxValues {
		return false
	}
	if more > 0 {
		l.Values = maps.Clone(l.Values)
		maps.Copy(l.Values, o.Values)
	}
	l.Also = append(l.Also, o.Number)
	return true
}
