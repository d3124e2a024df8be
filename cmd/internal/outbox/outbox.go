// Package outbox sends the notifications of alerts, and mail about accounts, through the channels
// that flags configure.
package outbox

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Flags configure the sending of notifications.
type Flags struct {
	WebhookPrivate bool   `name:"webhook-private" help:"Allow alert webhooks to private and loopback addresses. Users who can edit a fleet's channels can then make this server call such addresses." env:"ONEFOLD_WEBHOOK_PRIVATE"`
	SMTPAddr       string `name:"smtp" help:"Mail server for alerts and account mail, such as smtp.example.com:587 (STARTTLS) or :465 (TLS) (default: no email)." placeholder:"HOST:PORT" env:"ONEFOLD_SMTP"`
	SMTPFrom       string `name:"smtp-from" help:"Sender address of email." placeholder:"ADDRESS" env:"ONEFOLD_SMTP_FROM"`
	SMTPUser       string `name:"smtp-user" help:"User name at the mail server (default: none)." placeholder:"USER" env:"ONEFOLD_SMTP_USER"`
	SMTPPassword   string `name:"smtp-password" help:"Password at the mail server. Prefer the environment variable." placeholder:"PASSWORD" env:"ONEFOLD_SMTP_PASSWORD"`
	SMTPTLS        bool   `name:"smtp-tls" help:"Use TLS from the start on ports other than 465 too." env:"ONEFOLD_SMTP_TLS"`
	SMTPCA         string `name:"smtp-ca" help:"PEM file of CA certificates for the mail server (default: system roots)." type:"path" placeholder:"FILE" env:"ONEFOLD_SMTP_CA"`
	SMTPPlain      bool   `name:"smtp-plain" help:"Send without TLS if the mail server does not offer it. Not allowed with --smtp-user." env:"ONEFOLD_SMTP_PLAIN"`
}

// deliverEvery is the interval at which the outbox is checked.
const deliverEvery = 2 * time.Second

// Notifier returns a service that sends notifications until its context ends. It returns an error
// for invalid flags.
func (f *Flags) Notifier(t *table.Table, logger *slog.Logger) (func(context.Context) error, error) {
	senders, err := f.Senders()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		ticker := time.NewTicker(deliverEvery)
		defer ticker.Stop()
		for {
			if _, err := alerts.Deliver(ctx, t, senders); err != nil && ctx.Err() == nil {
				logger.Error("sending alert notifications failed", "error", err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
		}
	}, nil
}

// Senders returns the senders of notifications. It returns an error for invalid flags.
func (f *Flags) Senders() (alerts.Senders, error) {
	o := alerts.Options{Private: f.WebhookPrivate}
	if f.SMTPAddr != "" {
		var err error
		if o.Mail, err = f.mail(); err != nil {
			return alerts.Senders{}, fmt.Errorf("--smtp: %w", err)
		}
	}
	senders, err := alerts.NewSenders(o)
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
	send, err := alerts.LetterSender(m)
	if err != nil {
		return nil, fmt.Errorf("--smtp: %w", err)
	}
	return func(ctx context.Context, l server.Letter) error { return send(ctx, alerts.Letter(l)) }, nil
}

// mail returns the configuration of the mail server.
func (f *Flags) mail() (alerts.Mail, error) {
	m := alerts.Mail{Addr: f.SMTPAddr, From: f.SMTPFrom, User: f.SMTPUser, Password: f.SMTPPassword, Plain: f.SMTPPlain, TLS: f.SMTPTLS}
	if f.SMTPCA == "" {
		return m, nil
	}
	text, err := os.ReadFile(f.SMTPCA)
	if m.Roots = x509.NewCertPool(); err == nil && !m.Roots.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%s contains no PEM certificate", f.SMTPCA)
	}
	return m, err
}
