package delivery

import (
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/webhook"
)

const maxRecipients = 20 // of a mail channel

// ChannelKind is the type of a channel.
type ChannelKind string

// The kinds of channels.
const (
	Webhook ChannelKind = "webhook"
	Email   ChannelKind = "email"
	Slack   ChannelKind = "slack"
	Discord ChannelKind = "discord"
	Teams   ChannelKind = "teams"
	Ntfy    ChannelKind = "ntfy"
)

// Kinds lists all kinds of channels. Flags, API documents, checks, redaction and forms derive from
// it.
var Kinds = []Kind{webhookKind, email, slack, discord, teams, ntfy}

// Kind is a kind of channel: its settings, and how it sends.
type Kind struct {
	Kind   ChannelKind `json:"kind"`
	Label  string      `json:"label"`
	Fields []Field     `json:"fields" doc:"Its settings. The first says where messages go."`

	// signs means that messages are signed with a secret, which each channel gets when it is
	// created.
	signs bool
	// open returns what sends the messages, or nil if the process is not configured for this kind.
	open func(Options) (send, error)
}

// Settings are the settings of channels of any kind. A channel has only those of its own kind.
type Settings struct {
	URL   string   `dynamodbav:"url,omitempty" json:"url,omitempty" audit:"hide"` // what the server calls; often contains a secret
	To    []string `dynamodbav:"to,omitempty" json:"to,omitempty" audit:"hide"`
	Token string   `dynamodbav:"token,omitempty" json:"token,omitempty" audit:"hide"`
	Click string   `dynamodbav:"click,omitempty" json:"click,omitempty"`
}

// Field is a setting of a kind of channel.
type Field struct {
	Name     string `json:"name" doc:"Name of the setting in a channel."`
	Label    string `json:"label"`
	Help     string `json:"help"`
	Example  string `json:"example,omitempty"`
	Type     string `json:"type" enum:"url,email,text"`
	Many     bool   `json:"many,omitempty" doc:"It is a list."`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty" doc:"It is never returned. Omit it to keep the current one."`

	text  func(*Settings) *string   // the setting, unless Many
	list  func(*Settings) *[]string // the setting, if Many
	check func(string) (problem string)
}

// Values returns the values of the setting, at most one unless Many.
func (f *Field) Values(s *Settings) []string {
	if f.Many {
		return *f.list(s)
	}
	if v := *f.text(s); v != "" {
		return []string{v}
	}
	return nil
}

// Set replaces the setting; without values, it is removed.
func (f *Field) Set(s *Settings, values ...string) {
	if f.Many {
		*f.list(s) = values
		return
	}
	*f.text(s) = strings.Join(values, ",")
}

// problem returns what is wrong with the setting, or "".
func (f *Field) problem(s *Settings) string {
	values := f.Values(s)
	switch {
	case len(values) == 0 && !f.Required:
		return ""
	case f.Many && (len(values) == 0 || len(values) > maxRecipients):
		return fmt.Sprintf("give 1 to %d addresses", maxRecipients)
	case len(values) == 0:
		values = []string{""}
	}
	for _, v := range values {
		if p := f.check(v); p != "" {
			return p
		}
	}
	return ""
}

func kindOf(name ChannelKind) *Kind {
	if i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Kind == name }); i >= 0 {
		return &Kinds[i]
	}
	return nil
}

// KindNames returns the names of all kinds, separated by commas.
func KindNames() string {
	names := make([]string, len(Kinds))
	for i := range Kinds {
		names[i] = string(Kinds[i].Kind)
	}
	return strings.Join(names, ", ")
}

// problem returns the first invalid setting and what is wrong with it, or "".
func (k *Kind) problem(s *Settings) (field, what string) {
	rest := *s
	for i := range k.Fields {
		f := &k.Fields[i]
		if what = f.problem(s); what != "" {
			return f.Name, what
		}
		f.Set(&rest)
	}
	for i := range Kinds {
		for j := range Kinds[i].Fields {
			if f := &Kinds[i].Fields[j]; len(f.Values(&rest)) > 0 {
				return f.Name, fmt.Sprintf("omit it: %s channels do not have it", k.Kind)
			}
		}
	}
	return "", ""
}

// Shown returns the settings of a channel of a kind without secrets. The path of the URL is often
// one: only those who may change the channel see it, others see the host.
func (s *Settings) Shown(kind ChannelKind, mayChange bool) Settings {
	var shown Settings
	k := kindOf(kind)
	if k == nil {
		return shown // of a later version, with secrets that this one does not know
	}
	for i := range k.Fields {
		if f := &k.Fields[i]; !f.Secret {
			f.Set(&shown, f.Values(s)...)
		}
	}
	if !mayChange {
		shown.URL = hostOf(shown.URL)
	}
	return shown
}

// Where says where messages of a channel of a kind go.
func (s *Settings) Where(kind ChannelKind) string {
	k := kindOf(kind)
	if k == nil {
		return ""
	}
	return strings.Join(k.Fields[0].Values(s), ", ")
}

// Check validates the settings of a channel. Errors: ErrInvalid (an *Error with the code
// channel_FIELD).
func (s *Settings) Check(kind ChannelKind) error {
	k := kindOf(kind)
	if k == nil {
		return invalid("kind", fmt.Sprintf("use one of: %s", KindNames()))
	}
	if field, what := k.problem(s); what != "" {
		return invalid(field, what)
	}
	return nil
}

func invalid(field, what string) error {
	return &Error{Code: "channel_" + strings.ToLower(field), Field: field, What: what}
}

// Complete makes a checked target ready to be stored, in place of the current one, or of none. It
// copies omitted secrets from the current target if that is of the same kind: a secret of another kind
// is known to another receiver. A secret that is sent to the URL is not copied if the host of the URL
// has changed. A target of a kind that signs gets a signing secret if it has none. Errors: ErrInvalid
// (an *Error).
func (t *Target) Complete(current *Target) error {
	k := kindOf(t.Kind)
	if current != nil {
		if t.Secret == "" && t.Kind == current.Kind {
			t.Secret = current.Secret
		}
		if err := k.keepSecrets(t, current); err != nil {
			return err
		}
	}
	if k.signs && t.Secret == "" {
		t.Secret = webhook.NewSecret()
	}
	return nil
}

func (k *Kind) keepSecrets(t, current *Target) error {
	for i := range k.Fields {
		f := &k.Fields[i]
		had := f.Values(&current.Settings)
		if !f.Secret || t.Kind != current.Kind || len(f.Values(&t.Settings)) > 0 || len(had) == 0 {
			continue
		}
		if hostOf(t.URL) != hostOf(current.URL) {
			return invalid(f.Name, "give it again, because the host of the URL has changed")
		}
		f.Set(&t.Settings, had...)
	}
	return nil
}

// hostOf returns scheme and host of a URL, or "" if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func checkAddress(to string) string {
	if a, err := mail.ParseAddress(to); err != nil || a.Address != to || len(to) > 254 || strings.ContainsAny(to, "\r\n") {
		return "use an address such as ops@example.com"
	}
	return ""
}
