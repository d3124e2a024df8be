package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/table"
)

// Letter is an email to a person about that person's account.
type Letter struct {
	ID            string // for its Message-ID header
	To            string
	Subject, Text string
	Date          time.Time
}

// Limits of mail about accounts. Letters wait in memory and are lost on a stop; the audit record
// has what they report.
const (
	maxNotices    = 100 // waiting letters; further ones are dropped
	noticeTries   = 3
	noticePause   = 20 * time.Second // before the first retry; doubled before the second
	slowedNoticed = 24 * time.Hour   // at most one email per account, kind and day about rate-limited attempts
)

// notices emails people about changes to their accounts. Requests do not wait for the mail, so that
// the response time does not reveal whether an address has an account. Without send, it does
// nothing.
type notices struct {
	send     func(context.Context, Letter) error // nil: no mail is sent
	accounts *accounts.Store
	url      string // of the server; "" if unknown
	clock    func() time.Time
	logger   *slog.Logger
	work     *background.Work
	waiting  chan prepare
	pause    func(context.Context, time.Duration) error
}

// prepare builds a letter. It returns nil if there is no recipient or the recipient was already
// notified.
type prepare func(context.Context) (*Letter, error)

func newNotices(o *Options) *notices {
	n := &notices{
		send: o.Mail, accounts: o.Accounts, url: o.PublicURL, clock: o.Clock, logger: o.Logger,
		work: background.New(), waiting: make(chan prepare, maxNotices), pause: backoff.For,
	}
	if n.send != nil {
		n.work.Start(n.run)
	}
	return n
}

// run sends the letters one after another.
func (n *notices) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			if left := len(n.waiting); left > 0 {
				n.logger.Warn("server stops: mail about accounts was not sent", "letters", left)
			}
			return
		case made := <-n.waiting:
			l, err := made(ctx)
			if err == nil && l != nil {
				err = n.try(ctx, *l)
			}
			if err != nil {
				n.logger.Error("sending mail about an account failed", "error", err)
			}
		}
	}
}

func (n *notices) try(ctx context.Context, l Letter) error {
	var err error
	for i := range noticeTries {
		if i > 0 {
			if waited := n.pause(ctx, noticePause<<(i-1)); waited != nil {
				return errors.Join(err, waited)
			}
		}
		if err = n.send(ctx, l); err == nil {
			return nil
		}
	}
	return err
}

func (n *notices) enqueue(made prepare) {
	if n.send == nil {
		return
	}
	select {
	case n.waiting <- made:
	default:
		n.logger.Warn("mail about an account was dropped: too many letters are waiting")
	}
}

// Close stops sending and waits for the letter being sent.
func (n *notices) Close() { n.work.Close() }

// notify sends a letter to a user that says what happened, and what to do if somebody else did it.
func (n *notices) notify(u *accounts.User, subject, happened string) {
	l := n.letter(u.Email, subject, happened, changePassword)
	n.enqueue(func(context.Context) (*Letter, error) { return &l, nil })
}

// Advice in case somebody else did it. Both texts continue with where: Account, Security.
const (
	changePassword = "If it was not you, change your password, which ends all other sessions, and check your\nauthenticator app, passkeys and sessions"
	beReady        = "If it was not you, nobody has logged in. Make sure that you use your password nowhere else,\nand add a passkey"
)

func (n *notices) letter(to, subject, happened, advice string) Letter {
	where := " under Account, Security"
	if n.url != "" {
		where += ":\n" + strings.TrimSuffix(n.url, "/") + "/account/security"
	} else {
		where += "."
	}
	now := n.clock().UTC()
	text := happened + "\n\nTime: " + now.Format("2 January 2006, 15:04 UTC") + "\n\nIf this was you, you do not need to do anything.\n\n" + advice + where + "\n"
	return Letter{ID: rand.Text(), To: to, Subject: subject, Text: text, Date: now}
}

// loggedIn notifies a user of a login with a browser that the user had not used before.
func (n *notices) loggedIn(u *accounts.User, on accounts.Device) {
	with := on.Browser
	if with == "" {
		with = "an unknown browser"
	}
	if on.System != "" {
		with += " on " + on.System
	}
	n.notify(u, "New login to onefold", fmt.Sprintf("Someone logged in to your onefold account %s from a browser\nthat was not used before: %s.", u.Email, with))
}

// passwordsSlowed notifies the user with an address, if there is one, that attempts at the password
// are rate-limited.
func (n *notices) passwordsSlowed(email string) {
	n.enqueue(func(ctx context.Context) (*Letter, error) {
		u, err := n.accounts.UserByEmail(ctx, email)
		if errors.Is(err, table.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return n.oncePerDay(ctx, &u, "passwords", "Wrong passwords for your onefold account",
			"Someone is trying wrong passwords for your onefold account "+u.Email+".\nFurther attempts now have to wait for up to a minute each. Passkeys, and browsers that you\nhave logged in with before, do not have to wait.", beReady)
	})
}

// codesSlowed notifies a user that somebody who knows the password is guessing codes.
func (n *notices) codesSlowed(u accounts.User) {
	n.enqueue(func(ctx context.Context) (*Letter, error) {
		return n.oncePerDay(ctx, &u, "codes", "Wrong codes for your onefold account",
			"Someone entered the correct password for "+u.Email+", then wrong codes.\nIf it was not you, someone else knows your password.", changePassword)
	})
}

func (n *notices) oncePerDay(ctx context.Context, u *accounts.User, kind, subject, happened, advice string) (*Letter, error) {
	first, err := n.accounts.FirstNotice(ctx, u.UserID, kind, slowedNoticed)
	if err != nil || !first || u.Disabled {
		return nil, err
	}
	l := n.letter(u.Email, subject, happened, advice)
	return &l, nil
}
