package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/server/internal/door"
)

type keyBody struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Site     string         `json:"site" doc:"The site that it is for, or fleet:ID for a fleet of devices, or events:main for the event store; * is all."`
	Scope    accounts.Scope `json:"scope" enum:"ingest,read,write"`
	Created  time.Time      `json:"created"`
	LastUsed string         `json:"lastUsed,omitempty" doc:"The day, in UTC."`
	Token    string         `json:"token,omitempty" doc:"What to send. It is told once, when the key is made."`
}

func describeKey(k *accounts.Key, token string) keyBody {
	return keyBody{k.KeyID, k.Name, k.Site, k.Scope, k.Created, k.LastUsed, token}
}

type keyAnswer struct{ Body keyBody }

type keysAnswer struct {
	Body struct {
		Keys []keyBody `json:"keys"`
	}
}

type newKeyRequest struct {
	Body struct {
		Name  string         `json:"name,omitempty" maxLength:"100"`
		Site  string         `json:"site" minLength:"1" maxLength:"70" doc:"The site that it is for, or fleet:ID for a fleet of devices, or events:main for the event store; * is all."`
		Scope accounts.Scope `json:"scope" enum:"ingest,read,write"`
	}
}

type keyRequest struct {
	ID string `path:"id" maxLength:"32"`
}

// Keys are made by people, for the sites whose settings they may change: no key makes another.
func (s *Server) keyRoutes(api huma.API) {
	const list, one = "/api/v1/keys", "/api/v1/keys/{id}"
	huma.Register(api, door.Guard(door.ForPerson, huma.Operation{
		OperationID: "keys", Method: http.MethodGet, Path: list,
		Summary: "The API keys of the sites whose settings one may change", Tags: []string{"accounts"},
	}), s.keys)
	huma.Register(api, door.Guard(door.ForPerson, huma.Operation{
		OperationID: "add-key", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: door.MaxSmallBody,
		Summary: "Make an API key", Tags: []string{"accounts"},
	}), s.addKey)
	huma.Register(api, door.Guard(door.ForPerson, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Revoke an API key", Tags: []string{"accounts"},
	}), s.revokeKey)
}

func (s *Server) keys(ctx context.Context, _ *struct{}) (*keysAnswer, error) {
	keys, err := s.o.Accounts.Keys(ctx)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	answer := new(keysAnswer)
	answer.Body.Keys = []keyBody{}
	for i := range keys {
		if door.CallerOf(ctx).May(door.ForWrite, keys[i].Site) {
			answer.Body.Keys = append(answer.Body.Keys, describeKey(&keys[i], ""))
		}
	}
	return answer, nil
}

func (s *Server) addKey(ctx context.Context, in *newKeyRequest) (*keyAnswer, error) {
	who := door.CallerOf(ctx)
	if err := s.door.Permit(ctx, who, door.ForWrite, in.Body.Site); err != nil {
		return nil, err
	}
	if err := s.checkSite(ctx, in.Body.Site); err != nil {
		return nil, s.door.Error(ctx, err)
	}
	key, token, err := s.o.Accounts.AddKey(ctx, accounts.NewKey{
		Name: in.Body.Name, Site: in.Body.Site, Scope: in.Body.Scope, Creator: who.User.UserID,
	})
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	s.door.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "key.create", Site: siteOf(key.Site), Subject: key.KeyID})
	return &keyAnswer{describeKey(&key, token)}, nil
}

// siteOf is the one site that a key is for; "" for all.
func siteOf(site string) string {
	if site == accounts.AllSites {
		return ""
	}
	return site
}

func (s *Server) revokeKey(ctx context.Context, in *keyRequest) (*struct{}, error) {
	key, err := s.o.Accounts.Key(ctx, in.ID)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	if err := s.door.Permit(ctx, door.CallerOf(ctx), door.ForWrite, key.Site); err != nil {
		return nil, err
	}
	if err := s.o.Accounts.RevokeKey(ctx, in.ID); err != nil {
		return nil, s.door.Error(ctx, err)
	}
	s.door.Record(ctx, accounts.Entry{Actor: door.CallerOf(ctx).Actor, Action: "key.revoke", Site: siteOf(key.Site), Subject: in.ID})
	return nil, nil
}
