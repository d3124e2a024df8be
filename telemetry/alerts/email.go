package alerts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
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
var ErrNoTLS = errors.New("alerts: the mail server does not offer STARTTLS")

// mailTimeout limits the time for sending one email.
const mailTimeout = 30 * time.Second

var email = Kind{
	Kind: Email, Label: "Email",
	Fields: []Field{{
		Name: "to", Label: "Recipients", Help: "Email address to notify.", Example: "ops@example.com", Type: "email", Many: true, Required: true,
		list: func(s *Settings) *[]string { return &s.To }, check: checkAddress,
	}},
	open: func(o Options) (send, error) {
		if o.Mail.Addr == "" {
			return nil, nil
		}
		return EmailSender(o.Mail)
	},
}

// EmailSender returns a function that sends notifications as email, over STARTTLS or TLS. The
// Message-ID is derived from the notification's ID, so that duplicates can be recognized. Errors:
// telemetry.ErrInvalid (a *RuleError) for invalid options.
func EmailSender(o Mail) (func(context.Context, *Channel, *Notification, time.Time) error, error) {
	host, from, err := o.check()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c *Channel, n *Notification, now time.Time) error {
		return o.deliver(ctx, host, from.Address, c.To, letter(from, c, n, now))
	}, nil
}

// Letter is a short plain-text email to one person.
type Letter struct {
	ID            string // for the Message-ID; without spaces
	To            string // an email address
	Subject, Text string // lines end with \n
	Date          time.Time
}

// LetterSender returns a function that sends letters. Errors: as EmailSender.
func LetterSender(o Mail) (func(context.Context, Letter) error, error) {
	host, from, err := o.check()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, l Letter) error {
		_, domain, _ := strings.Cut(from.Address, "@")
		head := fmt.Sprintf("From: %s\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMessage-ID: <%s@%s>\r\n%s\r\n\r\n", from.String(), (&mail.Address{Address: l.To}).String(),
			mime.QEncoding.Encode("utf-8", oneLine(l.Subject)), l.Date.UTC().Format(time.RFC1123Z), l.ID, domain, plainText)
		return o.deliver(ctx, host, from.Address, []string{l.To}, []byte(head+strings.ReplaceAll(l.Text, "\n", "\r\n")))
	}, nil
}

// plainText has the headers for the encoding of all emails.
const plainText = "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit"

// check validates the options and parses them.
func (o *Mail) check() (host string, from *mail.Address, err error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil || host == "" {
		return "", nil, &RuleError{Code: "mail_addr", Field: "addr", What: "a host and port such as smtp.example.com:587"}
	}
	from, err = mail.ParseAddress(o.From)
	if err != nil {
		return "", nil, &RuleError{Code: "mail_from", Field: "from", What: "an address such as alerts@example.com"}
	}
	if o.TLS = o.TLS || port == "465"; o.Plain && (o.User != "" || o.TLS) {
		return "", nil, &RuleError{Code: "mail_plain", Field: "plain", What: "a password is not sent without TLS, nor anything on a port that is for TLS"}
	}
	return host, from, nil
}

func (o *Mail) deliver(ctx context.Context, host, from string, to []string, letter []byte) error {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	err := o.send(ctx, host, from, to, letter)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("alerts: mail server %s: %w", o.Addr, ctx.Err())
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
		return fmt.Errorf("alerts: mail server %s: %w", o.Addr, err)
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

// letter formats a notification as an email. Texts from users are encoded in the subject, and
// cannot start a header line.
func letter(from *mail.Address, c *Channel, n *Notification, now time.Time) []byte {
	_, domain, _ := strings.Cut(from.Address, "@")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("From: %s", from.String())
	line("To: %s", strings.Join(c.To, ", "))
	line("Subject: %s", mime.QEncoding.Encode("utf-8", n.subject()))
	line("Date: %s", now.UTC().Format(time.RFC1123Z))
	line("Message-ID: <%s@%s>", n.NotificationID, domain)
	line(plainText + "\r\n")
	b.WriteString(strings.ReplaceAll(n.Alert.text(), "\n", "\r\n"))
	return []byte(b.String())
}

// subject describes a notification in one line, apart from what users put into it.
func (n *Notification) subject() string {
	return fmt.Sprintf("[%s] %s: %s, %s", n.Alert.Severity, n.Event, n.Alert.Message, n.Alert.device())
}

func (a *AlertSnapshot) device() string {
	if a.Device == "" {
		return a.DeviceID
	}
	return a.Device + " (" + a.DeviceID + ")"
}

// text describes an alert in lines of plain text.
func (a *AlertSnapshot) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", oneLine(a.Message))
	line("Device:   %s\nFleet:    %s\nSeverity: %s", oneLine(a.device()), a.FleetID, a.Severity)
	if a.Metric != "" {
		line("Metric:   %s\nValue:    %s (peak: %s)", oneLine(a.Metric), a.Value, a.Peak)
	}
	line("Since:    %s", a.Since.Format(time.RFC3339))
	if a.Resolved != nil {
		line("Resolved: %s", a.Resolved.Format(time.RFC3339))
	}
	line("Alert:    %s", a.AlertID)
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
