package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/onefold/onefold/telemetry/alerts"
)

// alertFlags say how people are told of alerts.
type alertFlags struct {
	WebhookPrivate bool   `name:"webhook-private" help:"Let webhooks of alerts be at private and loopback addresses. Whoever may change a fleet's channels can then make this server call them." env:"ONEFOLD_WEBHOOK_PRIVATE"`
	SMTPAddr       string `name:"smtp" help:"Mail server for alerts, such as smtp.example.com:587 (STARTTLS) or :465 (TLS). Default: no email." placeholder:"HOST:PORT" env:"ONEFOLD_SMTP"`
	SMTPFrom       string `name:"smtp-from" help:"Address that email about alerts is from." placeholder:"ADDRESS" env:"ONEFOLD_SMTP_FROM"`
	SMTPUser       string `name:"smtp-user" help:"User at the mail server. Default: none." placeholder:"USER" env:"ONEFOLD_SMTP_USER"`
	SMTPPassword   string `name:"smtp-password" help:"Its password: better in the environment than here." placeholder:"PASSWORD" env:"ONEFOLD_SMTP_PASSWORD"`
	SMTPPlain      bool   `name:"smtp-plain" help:"Send without TLS to a mail server that does not offer it; not with a user." env:"ONEFOLD_SMTP_PLAIN"`
}

// deliverEvery is how often the outbox is looked at.
const deliverEvery = 2 * time.Second

// notifier sends what is to be told of alerts.
func (f *alertFlags) notifier(s *store, logger *slog.Logger) (service, error) {
	senders := alerts.Senders{Webhook: alerts.WebhookSender(f.WebhookPrivate)}
	if f.SMTPAddr != "" {
		var err error
		senders.Email, err = alerts.EmailSender(alerts.Mail{Addr: f.SMTPAddr, From: f.SMTPFrom, User: f.SMTPUser, Password: f.SMTPPassword, Plain: f.SMTPPlain})
		if err != nil {
			return nil, fmt.Errorf("--smtp: %w", err)
		}
	}
	return func(ctx context.Context) error {
		ticker := time.NewTicker(deliverEvery)
		defer ticker.Stop()
		for {
			if _, err := alerts.Deliver(ctx, s.table, senders); err != nil && ctx.Err() == nil {
				logger.Error("telling of alerts failed", "error", err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
		}
	}, nil
}
