package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/table"
)

// Letter is an email to a person about the person's account.
type Letter struct {
	ID            string // for its Message-ID
	To            string
	Subject, Text string
	Date          time.Time
}

// Of mail about accounts. It waits in memory: what it tells of is in the record as well.
const (
	maxNotices    = 100 // that wait to be sent; more are left out
	noticeTries   = 3
	noticePause   = 20 * time.Second // before the second try; before the third, twice as long
	slowedNoticed = 24 * time.Hour   // an account's owner is told at most once in so long that attempts are slowed down
)

// notices tells people by email what happens to their accounts. Whoever caused it does not wait for the mail, and does not learn by
// how long an answer takes whether an address has an account. Without a way to send, it does nothing.
type notices struct {
	send     func(context.Context, Letter) error // nil: nobody is told
	accounts *accounts.Store
	url      string // of the server; "": unknown
	clock    func() time.Time
	logger   *slog.Logger
	work     *background.Work
	waiting  chan prepare
	pause    func(context.Context, time.Duration) error
}

// prepare makes a letter, or none for nobody or for those who were told already.
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

// run sends one letter after another.
func (n *notices) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			if left := len(n.waiting); left > 0 {
				n.logger.Warn("mail about accounts was not sent: the server stops", "letters", left)
			}
			return
		case made := <-n.waiting:
			l, err := made(ctx)
			if err == nil && l != nil {
				err = n.try(ctx, *l)
			}
			if err != nil {
				n.logger.Error("mail about an account was not sent", "error", err)
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
		n.logger.Warn("mail about an account was left out: too much of it waits")
	}
}

// Close stops sending, and waits for the letter that is under way.
func (n *notices) Close() { n.work.Close() }

// tell sends a letter to a user: what happened, and what to do if it was somebody else.
func (n *notices) tell(u *accounts.User, subject, happened string) {
	l := n.letter(u.Email, subject, happened, changePassword)
	n.enqueue(func(context.Context) (*Letter, error) { return &l, nil })
}

// What to do if it was somebody else, under Account, Security.
const (
	changePassword = "If it was not, change your password, which ends all other sessions, and check your\nauthenticator app, passkeys and sessions"
	beReady        = "If it was not, nobody got in by it. Make sure that you use your password nowhere else,\nand add a passkey"
)

func (n *notices) letter(to, subject, happened, advice string) Letter {
	where := " under Account, Security"
	if n.url != "" {
		where += ":\n" + strings.TrimSuffix(n.url, "/") + "/account/security"
	} else {
		where += "."
	}
	now := n.clock().UTC()
	text := happened + "\n\nTime: " + now.Format("2 January 2006, 15:04 UTC") + "\n\nIf this was you, there is nothing to do.\n\n" + advice + where + "\n"
	return Letter{ID: rand.Text(), To: to, Subject: subject, Text: text, Date: now}
}

// loggedIn tells of a login with a browser that nobody had logged in with before.
func (n *notices) loggedIn(u *accounts.User, on accounts.Device) {
	with := on.Browser
	if with == "" {
		with = "an unknown browser"
	}
	if on.System != "" {
		with += " on " + on.System
	}
	n.tell(u, "New login to onefold", fmt.Sprintf("Somebody logged in to your onefold account %s from a browser\nthat was not used before: %s.", u.Email, with))
}

// passwordsSlowed tells whoever has an address, if somebody has, that attempts at the password are slowed down.
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
			"Somebody tries wrong passwords for your onefold account "+u.Email+".\nFurther attempts have to wait up to a minute each. Browsers that you have logged in with,\nand passkeys, are not slowed down.", beReady)
	})
}

// codesSlowed tells somebody whose password is known to whoever guesses codes.
func (n *notices) codesSlowed(u accounts.User) {
	n.enqueue(func(ctx context.Context) (*Letter, error) {
		return n.oncePerDay(ctx, &u, "codes", "Wrong codes for your onefold account",
			"Somebody entered your right password for "+u.Email+", then wrong codes.\nIf it was not you, your password is known to somebody else.", changePassword)
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
