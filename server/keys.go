package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type keyBody struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Site     string         `json:"site" doc:"The site that the key is for, fleet:ID for a fleet of devices, or events:main for the event store; * is all."`
	Scope    accounts.Scope `json:"scope" enum:"ingest,read,write"`
	Created  time.Time      `json:"created"`
	LastUsed string         `json:"lastUsed,omitempty" doc:"Day of last use, in UTC."`
	Expires  *time.Time     `json:"expires,omitempty" doc:"Default: never."`
	Creator  string         `json:"creator,omitempty" doc:"ID of the user who created or last rotated the key. The key is valid only while that user is an admin of its site. Absent for keys created on the command line."`
	Refused  bool           `json:"refused,omitempty" doc:"The key is rejected, because its creator is disabled, deleted or no longer an admin of the site. Rotate the key to take it over."`
	Former   *time.Time     `json:"formerUntil,omitempty" doc:"When the previous secret stops working after a rotation."`
	Token    string         `json:"token,omitempty" doc:"The secret to send. It is returned once, when the key is created or rotated."`

	PersonalData bool `json:"personalData,omitempty" doc:"The key sees personal fields of events."`
	accounts.Limits
}

func describeKey(k *accounts.Key, token string) keyBody {
	body := keyBody{ID: k.KeyID, Name: k.Name, Site: k.Site, Scope: k.Scope, Created: k.Created, LastUsed: k.LastUsed, Creator: k.Creator, Token: token, PersonalData: k.PersonalData, Limits: k.Limits}
	if !k.Expires.IsZero() {
		body.Expires = &k.Expires
	}
	if k.Previous != nil {
		body.Former = &k.Previous.Until
	}
	return body
}

// defaultOverlap is how long a key's previous secret works after a rotation.
const defaultOverlap = 24 * time.Hour

type keyAnswer struct{ Body keyBody }

type keysAnswer struct {
	Body struct {
		Keys []keyBody `json:"keys"`
	}
}

type newKeyRequest struct {
	Body struct {
		Name  string         `json:"name,omitempty" maxLength:"100"`
		Site  string         `json:"site" minLength:"1" maxLength:"70" doc:"The site that the key is for, fleet:ID for a fleet of devices, or events:main for the event store; * is all."`
		Scope accounts.Scope `json:"scope" enum:"ingest,read,write"`

		Expires time.Time `json:"expires,omitzero" doc:"Default: never."`

		PersonalData bool `json:"personalData,omitempty" doc:"For events:main, with scope read or write: let the key see personal fields of events. Otherwise it gets placeholders."`
		accounts.Limits
	}
}

type rotateKeyRequest struct {
	KeyPath
	Body struct {
		OverlapHours *int `json:"overlapHours,omitempty" minimum:"0" maximum:"168" doc:"How many hours the previous secret keeps working; default 24. A rejected key gets no overlap."`
	}
}

// KeyPath names the key of an operation.
type KeyPath struct {
	ID string `path:"id" maxLength:"32" doc:"ID of the key."`
}

// keyRoutes registers the operations on API keys. Only people create keys, for sites whose settings
// they may change: no key can create another.
func (s *Server) keyRoutes(api huma.API) {
	const list, one = "/api/v1/keys", "/api/v1/keys/{id}"
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "keys", Method: http.MethodGet, Path: list,
		Summary: "List the API keys of sites whose settings the caller may change", Tags: []string{"accounts"},
	}), s.keys)
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "add-key", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create an API key", Tags: []string{"accounts"},
	}), s.addKey)
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "rotate-key", Method: http.MethodPost, Path: one + "/rotation", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Rotate an API key", Tags: []string{"accounts"},
		Description: "The previous secret keeps working for `overlapHours`, so that programs can be updated one after another. The key then belongs to the caller, and no longer depends on its former creator's rights.",
	}), s.rotateKey)
	huma.Register(api, middleware.Guard(middleware.ForPerson, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Revoke an API key", Tags: []string{"accounts"},
	}), s.revokeKey)
}

func (s *Server) keys(ctx context.Context, _ *struct{}) (*keysAnswer, error) {
	keys, err := s.o.Accounts.Keys(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(keysAnswer)
	answer.Body.Keys = []keyBody{}
	for i := range keys {
		if !middleware.CallerOf(ctx).May(middleware.ForWrite, keys[i].Site) {
			continue
		}
		body := describeKey(&keys[i], "")
		backed, err := s.o.Accounts.Backed(ctx, body.Creator, body.Site)
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		body.Refused = !backed
		answer.Body.Keys = append(answer.Body.Keys, body)
	}
	return answer, nil
}

func (s *Server) addKey(ctx context.Context, in *newKeyRequest) (*keyAnswer, error) {
	who := middleware.CallerOf(ctx)
	if err := s.mw.RequirePermission(ctx, who, middleware.ForWrite, in.Body.Site); err != nil {
		return nil, err
	}
	if err := s.checkSite(ctx, in.Body.Site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	key, token, err := s.o.Accounts.AddKey(ctx, accounts.NewKey{
		Name: in.Body.Name, Site: in.Body.Site, Scope: in.Body.Scope, Creator: who.User.UserID, Expires: in.Body.Expires, PersonalData: in.Body.PersonalData, Limits: in.Body.Limits,
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: who.Actor, Action: "key.create", Site: siteOf(key.Site), Subject: key.KeyID}, nil, describeKey(&key, ""))
	return &keyAnswer{describeKey(&key, token)}, nil
}

// siteOf returns the one site that a key is for, or "" for all sites.
func siteOf(site string) string {
	if site == accounts.AllSites {
		return ""
	}
	return site
}

func (s *Server) rotateKey(ctx context.Context, in *rotateKeyRequest) (*keyAnswer, error) {
	key, err := s.ownKey(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	overlap := defaultOverlap
	if in.Body.OverlapHours != nil {
		overlap = time.Duration(*in.Body.OverlapHours) * time.Hour
	}
	who := middleware.CallerOf(ctx)
	before := describeKey(&key, "")
	key, token, err := s.o.Accounts.RotateKey(ctx, key.KeyID, who.User.UserID, overlap)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	e := accounts.Entry{Actor: who.Actor, Action: "key.rotate", Site: siteOf(key.Site), Subject: in.ID}
	e.Hide("token")
	s.mw.RecordChange(ctx, e, before, describeKey(&key, ""))
	return &keyAnswer{describeKey(&key, token)}, nil
}

// ownKey returns a key of a site whose settings the caller may change.
func (s *Server) ownKey(ctx context.Context, id string) (accounts.Key, error) {
	key, err := s.o.Accounts.Key(ctx, id)
	if err != nil {
		return key, s.mw.Error(ctx, err)
	}
	return key, s.mw.RequirePermission(ctx, middleware.CallerOf(ctx), middleware.ForWrite, key.Site)
}

func (s *Server) revokeKey(ctx context.Context, in *KeyPath) (*struct{}, error) {
	key, err := s.ownKey(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.o.Accounts.RevokeKey(ctx, in.ID); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "key.revoke", Site: siteOf(key.Site), Subject: in.ID}, describeKey(&key, ""), nil)
	return nil, nil
}
