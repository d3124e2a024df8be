package eventcsv

import (
	"errors"
	"fmt"
	"time"
)

// ErrMalformed is returned for a row that does not fit its header. It is always wrapped with the
// reason. Reading can continue with the next row.
var ErrMalformed = errors.New("eventcsv: malformed row")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Kind is the kind of a row.
type Kind uint8

// The kinds.
const (
	Nothing  Kind = iota // the header, or neither of the others
	PageView             // a page view
	Custom               // a custom event
)

// Event is one row. Fields that the export does not have are empty.
type Event struct {
	Kind Kind
	ID   string    // the program's own ID of the event
	At   time.Time // to the millisecond, in UTC
	Name string    // of a custom event

	Host, Path, Query string
	Referrer          string // a URL with scheme

	Visitor, Visit, UserID string // the program's IDs of the visitor and the visit, and the site's ID of the user

	UserAgent             string // replaces the next three fields, if the program stored it
	Browser, OS, Device   string // common names
	Screen, Language      string // 1440x900, en-GB
	Country, Region, City string // Region is the country's code, a dash and its own code, if known
	Bot                   bool   // the program classified the request as a bot's
}

// earliest and latest are the limits of times; times beyond are malformed.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// timeOf parses a time with the first layout that fits. Times without a zone are taken as UTC.
func timeOf(text string, layouts ...string) (time.Time, error) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil && !at.Before(earliest) && at.Before(latest) {
			return at.UTC().Truncate(time.Millisecond), nil
		}
	}
	return time.Time{}, malformed("the time %.40q is not like %s", text, layouts[0])
}
