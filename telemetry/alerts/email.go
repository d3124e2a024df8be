package alerts

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"
)

// Mail says by which server email leaves. It is an option of the process: its password is in no table.
type Mail struct {
	Addr     string // host:port, such as smtp.example.com:587
	From     string // such as Onefold <alerts@example.com>
	User     string // "": no authentication
	Password string
	Plain    bool // send without TLS to a server that does not offer STARTTLS; never with a User
}

// ErrNoTLS is returned when a mail server offers no STARTTLS.
var ErrNoTLS = errors.New("alerts: the mail server does not offer STARTTLS")

// EmailSender sends notifications as email, over STARTTLS, or TLS from the start on port 465. The Message-ID is made of the
// notification's id, so one that comes twice can be told. Errors: telemetry.ErrInvalid (a *RuleError) for options that
// cannot work.
func EmailSender(o Mail) (func(context.Context, *Channel, *Notification, time.Time) error, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil || host == "" {
		return nil, &RuleError{Code: "mail_addr", Field: "addr", What: "a host and port such as smtp.example.com:587"}
	}
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, &RuleError{Code: "mail_from", Field: "from", What: "an address such as alerts@example.com"}
	}
	if o.Plain && o.User != "" {
		return nil, &RuleError{Code: "mail_plain", Field: "plain", What: "a password is not sent without TLS"}
	}
	return func(ctx context.Context, c *Channel, n *Notification, now time.Time) error {
		ctx, cancel := context.WithTimeout(ctx, 3*sendTimeout)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.Addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		stop := context.AfterFunc(ctx, func() { conn.Close() }) // whatever is under way then fails
		defer stop()
		if port == "465" {
			conn = tls.Client(conn, &tls.Config{ServerName: host})
		}
		client, err := smtp.NewClient(conn, host)
		if err != nil {
			return err
		}
		if err := o.login(client, host, port == "465"); err != nil {
			return err
		}
		return post(client, from.Address, c.To, letter(from, c, n, now))
	}, nil
}

func (o *Mail) login(c *smtp.Client, host string, encrypted bool) error {
	if !encrypted {
		if ok, _ := c.Extension("STARTTLS"); ok {
			if err := c.StartTLS(&tls.Config{ServerName: host}); err != nil {
				return err
			}
		} else if !o.Plain {
			return ErrNoTLS
		}
	}
	if o.User == "" {
		return nil
	}
	return c.Auth(smtp.PlainAuth("", o.User, o.Password, host))
}

func post(c *smtp.Client, from string, to []string, letter []byte) error {
	if err := c.Mail(from); err != nil {
		return err
	}
	for _, one := range to {
		if err := c.Rcpt(one); err != nil {
			return err
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

// letter is a notification as text. What people named is encoded in the subject and cannot begin a header.
func letter(from *mail.Address, c *Channel, n *Notification, now time.Time) []byte {
	a := &n.Alert
	device := a.DeviceID
	if a.Device != "" {
		device = a.Device + " (" + a.DeviceID + ")"
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("From: %s", from.String())
	line("To: %s", strings.Join(c.To, ", "))
	line("Subject: %s", mime.QEncoding.Encode("utf-8", fmt.Sprintf("[%s] %s: %s, %s", a.Severity, n.Event, a.Message, device)))
	line("Date: %s", now.UTC().Format(time.RFC1123Z))
	line("Message-ID: <%s@%s>", n.NotificationID, domain)
	line("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n")
	line("%s", oneLine(a.Message))
	line("Device:   %s\r\nFleet:    %s\r\nSeverity: %s", oneLine(device), a.FleetID, a.Severity)
	if a.Metric != "" {
		line("Metric:   %s\r\nValue:    %s (worst: %s)", oneLine(a.Metric), a.Value, a.Peak)
	}
	line("Since:    %s", a.Since.Format(time.RFC3339))
	if a.Resolved != nil {
		line("Resolved: %s", a.Resolved.Format(time.RFC3339))
	}
	line("Alert:    %s", a.AlertID)
	return []byte(b.String())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
