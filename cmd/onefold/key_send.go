package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/onefold/internal/apisession"
	"github.com/onefold/onefold/server/accounts"
)

// The commands for keys on a running server, as a person who logs in for one command. The server
// records who that was.

const keysPath = "/api/v1/keys"

// newKeyBody is the body of a request for a new key.
type newKeyBody struct {
	Name    string         `json:"name,omitempty"`
	Site    string         `json:"site"`
	Scope   accounts.Scope `json:"scope"`
	Expires time.Time      `json:"expires,omitzero"`

	PersonalData bool `json:"personalData,omitempty"`
	accounts.Limits
}

// asPerson runs work in a session on the server.
func asPerson(ctx context.Context, std streams, f *apisession.Flags, work func(*apisession.Session) error) error {
	session, err := f.Open(ctx, func() (string, error) { return readPassword(std) })
	if err != nil {
		return err
	}
	return errors.Join(work(session), session.Close(ctx))
}

func (c *keyCreate) send(ctx context.Context, std streams, g *globals) error {
	made := newKeyBody{Name: c.Name, Site: c.Site, Scope: accounts.Scope(c.Scope), PersonalData: c.PersonalData, Limits: accounts.Limits{Types: c.Type, Tenant: c.Tenant}}
	if c.Expires != 0 {
		made.Expires = time.Now().UTC().Add(c.Expires)
	}
	return asPerson(ctx, std, &c.Flags, func(s *apisession.Session) error {
		var k keyOutput
		if err := s.Call(ctx, http.MethodPost, keysPath, made, &k); err != nil {
			return err
		}
		return printKey(std, g, &k)
	})
}

func (c *keyRotate) send(ctx context.Context, std streams, g *globals) error {
	if c.Overlap%time.Hour != 0 {
		return fmt.Errorf("bad_overlap: --overlap %s: use whole hours with --server", c.Overlap)
	}
	return asPerson(ctx, std, &c.Flags, func(s *apisession.Session) error {
		var k keyOutput
		body := map[string]int{"overlapHours": int(c.Overlap / time.Hour)}
		if err := s.Call(ctx, http.MethodPost, keysPath+"/"+url.PathEscape(c.ID)+"/rotation", body, &k); err != nil {
			return aboutKey(c.ID, err)
		}
		return printKey(std, g, &k)
	})
}

func (c *keyList) send(ctx context.Context, std streams, g *globals) error {
	return asPerson(ctx, std, &c.Flags, func(s *apisession.Session) error {
		var found struct{ Keys []keyOutput }
		if err := s.Call(ctx, http.MethodGet, keysPath, nil, &found); err != nil {
			return err
		}
		return printKeys(std, g, found.Keys)
	})
}

func (c *keyRevoke) send(ctx context.Context, std streams) error {
	return asPerson(ctx, std, &c.Flags, func(s *apisession.Session) error {
		if err := s.Call(ctx, http.MethodDelete, keysPath+"/"+url.PathEscape(c.ID), nil, nil); err != nil {
			return aboutKey(c.ID, err)
		}
		_, err := fmt.Fprintf(std.out, "Revoked %s.\n", c.ID)
		return err
	})
}

// aboutKey names the key in a response that there is none, as the commands on a local table do.
func aboutKey(id string, err error) error {
	if logimport.Code(err) == "not_found" {
		return noSuchKey(id)
	}
	return err
}
