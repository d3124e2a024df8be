package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/apisession"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Create an API key and print it. It cannot be shown again."`
	List   keyList   `cmd:"" help:"List the API keys."`
	Rotate keyRotate `cmd:"" help:"Replace the secret of an API key, and print the new key."`
	Revoke keyRevoke `cmd:"" help:"Revoke an API key."`
}

type keyCreate struct {
	Site  string `required:"" help:"Site of the key; or fleet:ID for a fleet of devices, events:main for the event store, * for everything."`
	Scope string `help:"Scope of the key: ${enum}." enum:"ingest,read,write" default:"read"`
	Name  string `help:"Note on the key's purpose."`

	Expires time.Duration `help:"Lifetime of the key, such as 2160h for 90 days (default: no expiry)."`

	Type   []string `help:"For events:main: limit the key to aggregates of this type. Repeat it for several." placeholder:"TYPE"`
	Tenant string   `help:"For events:main: limit the key to aggregates whose IDs begin with the tenant and a slash, as in acme/1042, and give its events this tenant."`

	PersonalData bool `name:"personal-data" help:"For events:main, with scope read or write: let the key see personal fields of events, instead of placeholders."`

	apisession.Flags
}

// keyOutput is the JSON form of a key.
type keyOutput struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Site     string         `json:"site"`
	Scope    accounts.Scope `json:"scope"`
	Created  time.Time      `json:"created"`
	LastUsed string         `json:"lastUsed,omitempty"`
	Expires  time.Time      `json:"expires,omitzero"`
	Creator  string         `json:"creator,omitempty"`
	Token    string         `json:"token,omitempty"`

	PersonalData bool `json:"personalData,omitempty"`
	accounts.Limits
}

func describeKey(k *accounts.Key, token string) keyOutput {
	return keyOutput{k.KeyID, k.Name, k.Site, k.Scope, k.Created, k.LastUsed, k.Expires, k.Creator, token, k.PersonalData, k.Limits}
}

// Run creates the key and prints it.
func (c *keyCreate) Run(ctx context.Context, std streams, g *globals) error {
	if c.Server != "" {
		return c.send(ctx, std, g)
	}
	return g.withStore(ctx, std.err, tuning{}, func(s *store) error {
		if err := s.checkSite(ctx, c.Site); err != nil {
			return err
		}
		made := accounts.NewKey{Name: c.Name, Site: c.Site, Scope: accounts.Scope(c.Scope), PersonalData: c.PersonalData, Limits: accounts.Limits{Types: c.Type, Tenant: c.Tenant}}
		if c.Expires != 0 {
			made.Expires = s.table.Now().UTC().Add(c.Expires)
		}
		k, token, err := s.accounts.AddKey(ctx, made)
		if err == nil {
			err = s.accounts.RecordChange(ctx, accounts.Entry{Actor: byCommand, Action: "key.create", Subject: k.KeyID}, nil, describeKey(&k, ""))
		}
		if err != nil {
			return err
		}
		out := describeKey(&k, token)
		return printKey(std, g, &out)
	})
}

// printKey prints a new token, or as JSON the token with the attributes of its key.
func printKey(std streams, g *globals, k *keyOutput) error {
	if g.JSON {
		return printJSON(std.out, k)
	}
	_, err := fmt.Fprintln(std.out, k.Token)
	return err
}

type keyRotate struct {
	ID      string        `arg:"" help:"Key ID, which is also the part of the key after ofk_."`
	Overlap time.Duration `help:"How long the previous secret still works, at most 168h; with --server, in whole hours." default:"24h"`
	apisession.Flags
}

// Run replaces the secret of the key and prints the new token.
func (c *keyRotate) Run(ctx context.Context, std streams, g *globals) error {
	if c.Server != "" {
		return c.send(ctx, std, g)
	}
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		k, token, err := s.accounts.RotateKey(ctx, c.ID, "", c.Overlap)
		if errors.Is(err, table.ErrNotFound) {
			return noSuchKey(c.ID)
		}
		if err == nil {
			err = s.accounts.Record(ctx, accounts.Entry{Actor: byCommand, Action: "key.rotate", Subject: c.ID, Changes: []accounts.Change{{Field: "token", Hidden: true}}})
		}
		if err != nil {
			return err
		}
		out := describeKey(&k, token)
		return printKey(std, g, &out)
	})
}

func noSuchKey(id string) error {
	return fmt.Errorf("no_such_key: there is no key %s; `onefold key list` lists all keys", id)
}

// checkSite returns an error if the site or fleet does not exist. Otherwise a key would have access
// to a site that somebody else creates later under the same ID. "*" means all sites, and the event
// store always exists.
func (s *store) checkSite(ctx context.Context, id string) error {
	if id == accounts.AllSites || id == accounts.EventStore {
		return nil
	}
	if fleet, ok := accounts.FleetOf(id); ok {
		_, err := telemetry.GetFleet(ctx, s.table, fleet)
		if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
			return fmt.Errorf("no_such_fleet: there is no fleet %q", fleet)
		}
		return err
	}
	_, err := analytics.GetSite(ctx, s.table, id)
	return cmdenv.SiteError(id, err)
}

type keyList struct{ apisession.Flags }

// Run lists the keys.
func (c *keyList) Run(ctx context.Context, std streams, g *globals) error {
	if c.Server != "" {
		return c.send(ctx, std, g)
	}
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		keys, err := s.accounts.Keys(ctx)
		if err != nil {
			return err
		}
		out := make([]keyOutput, len(keys))
		for i := range keys {
			out[i] = describeKey(&keys[i], "")
		}
		return printKeys(std, g, out)
	})
}

func printKeys(std streams, g *globals, keys []keyOutput) error {
	return terminal.List[keyOutput]{JSON: g.JSON, Columns: "KEY\tSITE\tSCOPE\tNAME\tLAST USED\tEXPIRES\tCREATOR", Row: func(k *keyOutput) []any {
		expires := "never"
		if !k.Expires.IsZero() {
			expires = k.Expires.Format(time.DateOnly)
		}
		return []any{k.ID, k.Site, k.Scope, k.Name, cmp.Or(k.LastUsed, "never"), expires, cmp.Or(k.Creator, "command line")}
	}}.Print(std.out, keys)
}

type keyRevoke struct {
	ID string `arg:"" help:"Key ID, which is also the part of the key after ofk_."`
	apisession.Flags
}

// Run revokes the key.
func (c *keyRevoke) Run(ctx context.Context, std streams, g *globals) error {
	if c.Server != "" {
		return c.send(ctx, std)
	}
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		k, err := s.accounts.Key(ctx, c.ID)
		if err == nil {
			err = s.accounts.RevokeKey(ctx, c.ID)
		}
		if errors.Is(err, table.ErrNotFound) {
			return noSuchKey(c.ID)
		}
		if err == nil {
			err = s.accounts.RecordChange(ctx, accounts.Entry{Actor: byCommand, Action: "key.revoke", Subject: c.ID}, describeKey(&k, ""), nil)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "Revoked %s.\n", c.ID)
		return err
	})
}
