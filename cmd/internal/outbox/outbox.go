// Package outbox sends the notifications of all products, and mail about accounts, in the way that
// flags configure.
package outbox

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	sitealerts "github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Flags configure the sending of notifications.
type Flags struct {
	PublicURL      string `name:"public-url" help:"Public URL of this server, such as https://onefold.example.com. Messages link to it, passkeys are bound to its host name, and an OpenID provider redirects to it (default: none, without links, passkeys and OpenID)." placeholder:"URL" env:"ONEFOLD_PUBLIC_URL"`
	WebhookPrivate bool   `name:"webhook-private" help:"Allow webhooks to private and loopback addresses. Users who can edit the channels of a site or fleet can then make this server call such addresses." env:"ONEFOLD_WEBHOOK_PRIVATE"`
	SMTPAddr       string `name:"smtp" help:"Mail server for reports, alerts and account mail, such as smtp.example.com:587 (STARTTLS) or :465 (TLS) (default: no email)." placeholder:"HOST:PORT" env:"ONEFOLD_SMTP"`
	SMTPFrom       string `name:"smtp-from" help:"Sender address of email." placeholder:"ADDRESS" env:"ONEFOLD_SMTP_FROM"`
	SMTPUser       string `name:"smtp-user" help:"User name at the mail server (default: none)." placeholder:"USER" env:"ONEFOLD_SMTP_USER"`
	SMTPPassword   string `name:"smtp-password" help:"Password at the mail server. Prefer the environment variable." placeholder:"PASSWORD" env:"ONEFOLD_SMTP_PASSWORD"`
	SMTPTLS        bool   `name:"smtp-tls" help:"Use TLS from the start on ports other than 465 too." env:"ONEFOLD_SMTP_TLS"`
	SMTPCA         string `name:"smtp-ca" help:"PEM file of CA certificates for the mail server (default: system roots)." type:"path" placeholder:"FILE" env:"ONEFOLD_SMTP_CA"`
	SMTPPlain      bool   `name:"smtp-plain" help:"Send without TLS if the mail server does not offer it. Not allowed with --smtp-user." env:"ONEFOLD_SMTP_PLAIN"`
}

// deliverEvery is the interval at which the outboxes are checked.
const deliverEvery = 2 * time.Second

// Outboxes are the stored messages of all products.
type Outboxes []outbox

type outbox struct {
	of      string
	deliver func(context.Context, *table.Table) (sent int, err error)
}

// Outboxes returns what sends the messages of all products, and counts attempts in counts. It returns an
// error for invalid flags.
func (f *Flags) Outboxes(counts *Counts) (Outboxes, error) {
	senders, err := f.Senders()
	if err != nil {
		return nil, err
	}
	sites := notify.NewOutbox(notify.Options{
		Senders: senders, BaseURL: f.PublicURL, Counts: &counts.sites,
		Renders: notify.Renders{"report": digest.Render, "alert": sitealerts.Render},
	})
	return Outboxes{{"devices", alerts.NewOutbox(senders, &counts.devices).Deliver}, {"sites", sites.Deliver}}, nil
}

// Deliver sends what is due, and returns how many messages were sent. A product whose messages
// cannot be read does not keep others from sending theirs.
func (o Outboxes) Deliver(ctx context.Context, t *table.Table) (sent int, err error) {
	for _, one := range o {
		n, failed := one.deliver(ctx, t)
		sent, err = sent+n, errors.Join(err, failed)
	}
	return sent, err
}

// Notifier returns a service that sends messages until its context ends, and counts attempts in counts.
// It returns an error for invalid flags.
func (f *Flags) Notifier(t *table.Table, counts *Counts, logger *slog.Logger) (func(context.Context) error, error) {
	all, err := f.Outboxes(counts)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		var running sync.WaitGroup
		for _, one := range all { // in parallel: a slow receiver of one delays no other
			running.Go(func() { one.run(ctx, t, logger) })
		}
		running.Wait()
		return ctx.Err()
	}, nil
}

func (o *outbox) run(ctx context.Context, t *table.Table, logger *slog.Logger) {
	ticker := time.NewTicker(deliverEvery)
	defer ticker.Stop()
	for {
		if _, err := o.deliver(ctx, t); err != nil && ctx.Err() == nil {
			logger.Error("sending notifications failed", "of", o.of, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Senders returns the senders of messages. It returns an error for invalid flags.
func (f *Flags) Senders() (delivery.Senders, error) {
	o := delivery.Options{Private: f.WebhookPrivate}
	if f.SMTPAddr != "" {
		var err error
		if o.Mail, err = f.mail(); err != nil {
			return delivery.Senders{}, fmt.Errorf("--smtp: %w", err)
		}
	}
	senders, err := delivery.NewSenders(o)
	if err != nil {
		err = fmt.Errorf("--smtp: %w", err)
	}
	return senders, err
}

// Letters returns a function that sends account mail, or nil if no mail server is set. It returns
// an error for invalid flags.
func (f *Flags) Letters() (func(context.Context, server.Letter) error, error) {
	if f.SMTPAddr == "" {
		return nil, nil
	}
	m, err := f.mail()
	if err != nil {
		return nil, fmt.Errorf("--smtp: %w", err)
	}
	send, err := m.Sender()
	if err != nil {
		return nil, fmt.Errorf("--smtp: %w", err)
	}
	return func(ctx context.Context, l server.Letter) error {
		return send(ctx, []string{l.To}, &delivery.Message{ID: l.ID, Title: l.Subject, Text: l.Text}, l.Date)
	}, nil
}

// Mailers returns Letters and Senders.
func (f *Flags) Mailers() (letters func(context.Context, server.Letter) error, senders delivery.Senders, err error) {
	if letters, err = f.Letters(); err == nil {
		senders, err = f.Senders()
	}
	return letters, senders, err
}

// mail returns the configuration of the mail server.
func (f *Flags) mail() (delivery.Mail, error) {
	m := delivery.Mail{Addr: f.SMTPAddr, From: f.SMTPFrom, User: f.SMTPUser, Password: f.SMTPPassword, Plain: f.SMTPPlain, TLS: f.SMTPTLS}
	if f.SMTPCA == "" {
		return m, nil
	}
	text, err := os.ReadFile(f.SMTPCA)
	if m.Roots = x509.NewCertPool(); err == nil && !m.Roots.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%s contains no PEM certificate", f.SMTPCA)
	}
	return m, err
}
