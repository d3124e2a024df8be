package delivery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"
)

// Mail configures the mail server. It is an option of the process, so that the password is not
// stored in the table.
type Mail struct {
	Addr     string // host:port, such as smtp.example.com:587
	From     string // such as Onefold <alerts@example.com>
	User     string // "": no authentication
	Password string
	Plain    bool           // allow unencrypted connections if the server does not offer STARTTLS; never with User
	TLS      bool           // TLS from the start; implied by port 465
	Roots    *x509.CertPool // CAs for the server; nil: system roots
}

// ErrNoTLS is returned when a mail server does not offer STARTTLS.
var ErrNoTLS = errors.New("delivery: the mail server does not offer STARTTLS")

// mailTimeout limits the time for sending one email.
const mailTimeout = 30 * time.Second

var email = Kind{
	Kind: Email, Label: "Email",
	Fields: []Field{{
		Name: "to", Label: "Recipients", Help: "Email addresses to notify.", Example: "ops@example.com", Type: "email", Many: true, Required: true,
		list: func(s *Settings) *[]string { return &s.To }, check: checkAddress,
	}},
	open: mailSender,
}

// Sender returns a function that sends messages to addresses, over STARTTLS or TLS. Errors:
// ErrInvalid (an *Error) for invalid options.
func (o Mail) Sender() (func(ctx context.Context, to []string, m *Message, now time.Time) error, error) {
	host, from, err := o.check()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, to []string, m *Message, now time.Time) error {
		letter, err := letter(from, to, m, now)
		if err != nil {
			return err
		}
		return o.deliver(ctx, host, from.Address, to, letter)
	}, nil
}

func mailSender(o Options) (send, error) {
	if o.Mail.Addr == "" {
		return nil, nil
	}
	post, err := o.Mail.Sender()
	return func(ctx context.Context, to *Target, m *Message, now time.Time) error {
		recipients := to.To
		if len(m.To) > 0 {
			recipients = m.To
		}
		return post(ctx, recipients, m, now)
	}, err
}

// check validates the options and parses them.
func (o *Mail) check() (host string, from *mail.Address, err error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil || host == "" {
		return "", nil, &Error{Code: "mail_addr", Field: "addr", What: "a host and port such as smtp.example.com:587"}
	}
	from, err = mail.ParseAddress(o.From)
	if err != nil {
		return "", nil, &Error{Code: "mail_from", Field: "from", What: "an address such as alerts@example.com"}
	}
	if o.TLS = o.TLS || port == "465"; o.Plain && (o.User != "" || o.TLS) {
		return "", nil, &Error{Code: "mail_plain", Field: "plain", What: "a password is not sent without TLS, nor anything on a port that is for TLS"}
	}
	return host, from, nil
}

func (o *Mail) deliver(ctx context.Context, host, from string, to []string, letter []byte) error {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	err := o.send(ctx, host, from, to, letter)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("delivery: mail server %s: %w", o.Addr, ctx.Err())
	}
	return err
}

func (o *Mail) send(ctx context.Context, host, from string, to []string, letter []byte) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.Addr)
	if err != nil {
		return err // the error names the address
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // makes I/O in progress fail
	defer stop()
	err = o.talk(conn, host, from, to, letter)
	switch {
	case errors.Is(err, ErrNoTLS):
		return fmt.Errorf("%w: %s", ErrNoTLS, o.Addr)
	case err != nil:
		return fmt.Errorf("delivery: mail server %s: %w", o.Addr, err)
	}
	return nil
}

func (o *Mail) talk(conn net.Conn, host, from string, to []string, letter []byte) error {
	trust := &tls.Config{ServerName: host, RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	if o.TLS {
		encrypted := tls.Client(conn, trust)
		if err := encrypted.Handshake(); err != nil {
			return err
		}
		conn = encrypted
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if err := o.login(client, host, trust); err != nil {
		return err
	}
	return post(client, from, to, letter)
}

func (o *Mail) login(c *smtp.Client, host string, trust *tls.Config) error {
	if !o.TLS {
		if ok, _ := c.Extension("STARTTLS"); ok {
			if err := c.StartTLS(trust); err != nil {
				return fmt.Errorf("STARTTLS: %w", err)
			}
		} else if !o.Plain {
			return ErrNoTLS
		}
	}
	if o.User == "" {
		return nil
	}
	auth, err := o.auth(c, host)
	if err == nil {
		err = c.Auth(auth)
	}
	if err != nil {
		return fmt.Errorf("log in as %q: %w", o.User, err)
	}
	return nil
}

// auth chooses an authentication mechanism of the server. Both send the password, so the connection
// must be encrypted.
func (o *Mail) auth(c *smtp.Client, host string) (smtp.Auth, error) {
	_, offered := c.Extension("AUTH")
	for _, one := range strings.Fields(strings.ToUpper(offered)) {
		switch one {
		case "PLAIN":
			return smtp.PlainAuth("", o.User, o.Password, host), nil
		case "LOGIN":
			return &loginAuth{o.User, o.Password}, nil
		}
	}
	return nil, fmt.Errorf("the server offers AUTH %q, but PLAIN or LOGIN is needed", offered)
}

// loginAuth is AUTH LOGIN, a nonstandard mechanism that is the only one of some servers: the server
// asks for the user, then for the password.
type loginAuth struct{ user, password string }

func (a *loginAuth) Start(s *smtp.ServerInfo) (string, []byte, error) {
	if !s.TLS {
		return "", nil, ErrNoTLS
	}
	return "LOGIN", nil, nil
}

func (a *loginAuth) Next(asked []byte, more bool) ([]byte, error) {
	question := strings.ToLower(string(asked))
	switch {
	case !more:
		return nil, nil
	case strings.HasPrefix(question, "user"):
		return []byte(a.user), nil
	case strings.HasPrefix(question, "pass"):
		return []byte(a.password), nil
	}
	return nil, fmt.Errorf("the server asks for %.40q, not for a user name or password", asked)
}

func post(c *smtp.Client, from string, to []string, letter []byte) error {
	if err := c.Mail(from); err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	for _, one := range to {
		if err := c.Rcpt(one); err != nil {
			return fmt.Errorf("to %s: %w", one, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(letter); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.Quit() //nolint:errcheck // the letter is accepted
	return nil
}
