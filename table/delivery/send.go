package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/internal/webhook"
)

// ErrPrivate is returned for a target with a private or loopback address.
var ErrPrivate = webhook.ErrPrivate

// Options configure how a process sends messages. The zero value sends no mail, and calls only
// public addresses.
type Options struct {
	Private bool // call private and loopback addresses, too
	Mail    Mail // the mail server; none without Addr
}

// Target says where a message goes.
type Target struct {
	Kind ChannelKind `dynamodbav:"kind" json:"kind"`
	Settings
	// Secret is the key of signatures. It is stored in plain text, because every message needs it.
	Secret string `dynamodbav:"secret,omitempty" json:"-" audit:"hide"`
}

// send makes one attempt to send a message.
type send func(ctx context.Context, to *Target, m *Message, now time.Time) error

// Senders sends messages by kind of channel. An attempt of a kind that is not configured fails; the
// zero value has none. It is safe for concurrent use.
type Senders struct {
	by map[ChannelKind]send
}

// NewSenders returns senders of all kinds for which the options suffice. Errors: ErrInvalid (an
// *Error) for invalid options.
func NewSenders(o Options) (Senders, error) {
	s := Senders{by: map[ChannelKind]send{}}
	for i := range Kinds {
		one, err := Kinds[i].open(o)
		if err != nil {
			return s, err
		}
		s.by[Kinds[i].Kind] = one
	}
	return s, nil
}

// Send makes one attempt. Errors do not contain the URL, which is often a secret: ErrPrivate,
// webhook.StatusError, those of the network and of mail servers.
func (s *Senders) Send(ctx context.Context, to Target, m *Message, now time.Time) error {
	send := s.by[to.Kind]
	if send == nil {
		return fmt.Errorf("this server is not configured to send notifications by %s", to.Kind)
	}
	return send(ctx, &to, m, now)
}

// CheckPublic rejects a target whose URL has a private or loopback address. Names other than
// localhost are not resolved; their addresses are checked at each call. Errors: ErrInvalid (an
// *Error).
func CheckPublic(s *Settings) error {
	if webhook.IsPrivate(s.URL) {
		return &Error{Code: "channel_url_private", Field: "url", What: "a private or loopback address, which this server does not call unless it was started with --webhook-private"}
	}
	return nil
}
