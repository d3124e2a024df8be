package eventcsv

import (
	"errors"
	"fmt"
	"time"
)

// ErrMalformed is returned for a row that is not as its header says. It is always wrapped with the reason. Reading can go
// on with the next row.
var ErrMalformed = errors.New("eventcsv: malformed row")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Kind says what a row tells of.
type Kind uint8

// The kinds.
const (
	Nothing  Kind = iota // the header, or something that is neither of the two
	PageView             // a page was seen
	Custom               // an event with a name
)

// Event is one row. What the export does not tell is empty.
type Event struct {
	Kind Kind
	ID   string    // the program's own id of the event
	At   time.Time // to the millisecond, UTC
	Name string    // of a custom event

	Host, Path, Query string
	Referrer          string // an address with its scheme

	Visitor, Visit, UserID string // the program's own ids of who it was and of the visit; who it was as the site knows it

	UserAgent             string // in place of the next three, where the program kept it
	Browser, OS, Device   string // by the names that are common
	Screen, Language      string // 1440x900, en-GB
	Country, Region, City string // Region is the country's code, a dash and its own, where it can be told
	Bot                   bool   // the program took it for a request of a bot
}

// earliest and latest bound times: what is beyond is malformed.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// timeOf reads a time in the first layout that fits; one without a zone is UTC.
func timeOf(text string, layouts ...string) (time.Time, error) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil && !at.Before(earliest) && at.Before(latest) {
			return at.UTC().Truncate(time.Millisecond), nil
		}
	}
	return time.Time{}, malformed("the time %.40q is not like %s", text, layouts[0])
}
