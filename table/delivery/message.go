package delivery

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is returned for invalid settings. The error is an *Error.
var ErrInvalid = errors.New("delivery: invalid setting")

// Error names an invalid setting. It wraps ErrInvalid.
type Error struct {
	Code  string // stable code, such as mail_from
	Field string
	What  string // what to use instead
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%s)", e.Field, e.What, e.Code) }

// Unwrap returns ErrInvalid.
func (e *Error) Unwrap() error { return ErrInvalid }

// Urgency says how much a message may disturb people.
type Urgency int

// The urgencies. Calm is for what people asked to be sent regularly.
const (
	Calm Urgency = iota
	Info
	Warning
	Critical
	Recovered // a problem is over
)

// Message is what one attempt sends.
type Message struct {
	ID    string // the same at every attempt; without spaces
	Event string // such as alert.firing
	Title string // one line
	Text  string // plain text; lines end with \n
	HTML  string // for mail, beside Text; "": none
	// Body is the body of a webhook: JSON.
	Body    []byte
	Urgency Urgency
	Link    string // page with more, for channels that have no link of their own; "": none
	// To replaces the recipients of a mail channel. Default: all.
	To []string
	// Unsubscribe is a URL at which recipients of mail stop it: it asks people, and takes a POST as
	// of RFC 8058. "": none.
	Unsubscribe string
}

// kindOfEvent returns the last part of the event, such as firing.
func (m *Message) kindOfEvent() string { return m.Event[strings.LastIndexByte(m.Event, '.')+1:] }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut shortens a text to a size in bytes, without splitting a character.
func cut(s string, size int) string { return strings.ToValidUTF8(s[:min(len(s), size)], "") }
