package usercli

import (
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/server/accounts"
)

// ResetLink creates a link with which a user sets a new password.
type ResetLink struct {
	Email     string `arg:"" help:"Email address of the user."`
	PublicURL string `name:"public-url" help:"Public URL of the server, which the link begins with (default: the path of the link is printed)." placeholder:"URL" env:"ONEFOLD_PUBLIC_URL"`
}

// resetLinkOutput is the JSON form of a link.
type resetLinkOutput struct {
	Link    string    `json:"link"`
	Expires time.Time `json:"expires"`
}

// Run creates the link and prints it.
func (c *ResetLink) Run(ctx context.Context, env *cmdenv.Env) error {
	return withUser(ctx, env, c.Email, func(a *accounts.Store, u *accounts.User) error {
		user, token, err := a.NewReset(ctx, u.UserID, accounts.ResetByHand)
		if err != nil {
			return err
		}
		link, entry := strings.TrimSuffix(c.PublicURL, "/")+"/reset#"+token, accounts.Entry{Action: "user.reset_link", Subject: u.UserID}
		if env.JSON {
			if err := done(ctx, env, a, entry, ""); err != nil {
				return err
			}
			return terminal.JSON(env.Out, resetLinkOutput{link, user.Reset.Expires})
		}
		return done(ctx, env, a, entry, "%s\nThe link sets a new password for %s once, until %s. It cannot be shown again.\n", link, u.Email, user.Reset.Expires.Format(time.DateTime+" MST"))
	})
}
