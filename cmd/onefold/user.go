package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/usercli"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

type userCommands struct {
	Add     userAdd     `cmd:"" help:"Create a user. The password is read from standard input."`
	List    userList    `cmd:"" help:"List the users."`
	Passwd  userPasswd  `cmd:"" help:"Set a user's password, read from standard input, and end the user's sessions."`
	Disable userDisable `cmd:"" help:"Disable a user's login and end the user's sessions."`
	Enable  userEnable  `cmd:"" help:"Enable a disabled user's login."`

	Sessions     usercli.Sessions     `cmd:"" help:"List or end a user's sessions."`
	ResetLink    usercli.ResetLink    `cmd:"" help:"Create a link with which a user sets a new password, once and within 24 hours."`
	ResetFactors usercli.ResetFactors `cmd:"" help:"Remove a user's authenticator app and passkeys after their loss, and end the user's sessions."`
}

// byCommand is the actor in audit entries of commands.
const byCommand = "command"

type userAdd struct {
	Email     string            `arg:"" help:"Email address of the user."`
	Name      string            `help:"Name of the user."`
	Owner     bool              `help:"Make the user an owner of all sites, who manages accounts."`
	Temporary bool              `help:"Require the user to change the password at the first login."`
	Role      map[string]string `help:"Role on a site: SITE=viewer, SITE=admin or SITE=owner; * means all sites. Repeat for more." mapsep:","`
}

// userOutput is the JSON form of a user.
type userOutput struct {
	ID       string          `json:"id"`
	Email    string          `json:"email"`
	Name     string          `json:"name" audit:"hide"`
	Disabled bool            `json:"disabled"`
	Roles    accounts.Grants `json:"roles"`
	Created  time.Time       `json:"created"`
}

func describeUser(u *accounts.User) userOutput {
	return userOutput{u.UserID, u.Email, u.Name, u.Disabled, u.Grants, u.Created}
}

// Run creates the user.
func (c *userAdd) Run(ctx context.Context, std streams, g *globals) error {
	n := accounts.NewUser{Email: c.Email, Name: c.Name, Grants: accounts.Grants{}, Temporary: c.Temporary}
	for site, role := range c.Role {
		n.Grants[site] = accounts.Role(role)
	}
	if c.Owner {
		n.Grants[accounts.AllSites] = accounts.Owner
	}
	var err error
	if n.Password, err = readPassword(std); err != nil {
		return err
	}
	return g.withStore(ctx, std.err, tuning{}, func(s *store) error {
		for site := range n.Grants {
			if err := s.checkSite(ctx, site); err != nil {
				return err
			}
		}
		u, err := s.accounts.AddUser(ctx, n)
		if err == nil {
			err = s.accounts.RecordChange(ctx, accounts.Entry{Actor: byCommand, Action: "user.create", Subject: u.UserID}, nil, describeUser(&u))
		}
		if err != nil {
			return err
		}
		if g.JSON {
			return printJSON(std.out, describeUser(&u))
		}
		_, err = fmt.Fprintf(std.out, "Added %s (%s).\n", u.Email, roles(u.Grants))
		return err
	})
}

// readPassword reads one line of standard input. All users of a machine can see the arguments of a
// command, so a password must not be one.
func readPassword(std streams) (string, error) {
	fmt.Fprint(std.err, "password: ")
	line, err := bufio.NewReader(io.LimitReader(std.in, 4096)).ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", fmt.Errorf("no_password: give the password on standard input, on one line (%w)", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func roles(g accounts.Grants) string {
	if len(g) == 0 {
		return "no role"
	}
	var list []string
	for _, site := range slices.Sorted(maps.Keys(g)) {
		list = append(list, fmt.Sprintf("%s of %s", g[site], strings.ReplaceAll(site, accounts.AllSites, "all sites")))
	}
	return strings.Join(list, ", ")
}

type userList struct{}

// Run lists the users.
func (c *userList) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		users, err := s.accounts.Users(ctx)
		if err != nil {
			return err
		}
		out := make([]userOutput, len(users))
		for i := range users {
			out[i] = describeUser(&users[i])
		}
		return terminal.List[userOutput]{JSON: g.JSON, Columns: "USER\tNAME\tROLES\tSTATE", Row: func(u *userOutput) []any {
			state := "active"
			if u.Disabled {
				state = "disabled"
			}
			return []any{u.Email, u.Name, roles(u.Roles), state}
		}}.Print(std.out, out)
	})
}

type userPasswd struct {
	Email string `arg:"" help:"Email address of the user."`
}

// Run sets the password.
func (c *userPasswd) Run(ctx context.Context, std streams, g *globals) error {
	password, err := readPassword(std)
	if err != nil {
		return err
	}
	return changeUser(ctx, std, g, c.Email, "user.password", func(s *store, u accounts.User, e *accounts.Entry) error {
		e.Hide("password")
		return s.accounts.SetPassword(ctx, u.UserID, password)
	})
}

type userDisable struct {
	Email string `arg:"" help:"Email address of the user."`
}

// Run disables the user.
func (c *userDisable) Run(ctx context.Context, std streams, g *globals) error {
	return setDisabled(ctx, std, g, c.Email, true)
}

type userEnable struct {
	Email string `arg:"" help:"Email address of the user."`
}

// Run enables the user.
func (c *userEnable) Run(ctx context.Context, std streams, g *globals) error {
	return setDisabled(ctx, std, g, c.Email, false)
}

func setDisabled(ctx context.Context, std streams, g *globals, email string, disabled bool) error {
	return changeUser(ctx, std, g, email, "user.update", func(s *store, u accounts.User, e *accounts.Entry) error {
		after, err := s.accounts.UpdateUser(ctx, u.UserID, func(u *accounts.User) { u.Disabled = disabled })
		return errors.Join(err, e.Change(describeUser(&u), describeUser(&after)))
	})
}

// changeUser finds a user by email address, changes the user and records the change.
func changeUser(ctx context.Context, std streams, g *globals, email, action string, change func(*store, accounts.User, *accounts.Entry) error) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		u, err := s.accounts.UserByEmail(ctx, email)
		if errors.Is(err, table.ErrNotFound) {
			return fmt.Errorf("no_such_user: there is no user with the address %s; `onefold user list` lists all users", email)
		}
		if err == nil {
			e := accounts.Entry{Actor: byCommand, Action: action, Subject: u.UserID}
			if err = change(s, u, &e); err == nil {
				err = s.accounts.Record(ctx, e)
			}
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "Changed %s.\n", u.Email)
		return err
	})
}
