package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type madeAnswer struct {
	Body struct {
		Keys   []keyBody       `json:"keys"`
		Shares []sharedOfPlace `json:"shares"`
	}
}

// sharedOfPlace is a shared view together with its site.
type sharedOfPlace struct {
	Site string `json:"site"`
	Name string `json:"name"`
	ID   string `json:"id"`
}

// madeRoutes registers the operation that lists what stops working when a user is disabled or
// deleted.
func (s *Server) madeRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "user-made", Method: http.MethodGet, Path: "/api/v1/users/{id}/made",
		Summary:     "List the keys and shared views that a user created",
		Description: "They are rejected once the user is disabled, deleted or no longer an admin of their site. To keep using a key, have somebody else rotate it first.",
		Tags:        []string{"accounts"}, Errors: []int{http.StatusNotFound},
	}), s.made)
}

func (s *Server) made(ctx context.Context, in *UserPath) (*madeAnswer, error) {
	if _, err := s.o.Accounts.User(ctx, in.ID); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	keys, err := s.o.Accounts.Keys(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	keys = slices.DeleteFunc(keys, func(k accounts.Key) bool { return k.Creator != in.ID })
	answer := new(madeAnswer)
	answer.Body.Keys = described(keys, func(k *accounts.Key) keyBody { return describeKey(k, "") })
	answer.Body.Shares = []sharedOfPlace{}
	for site, err := range analytics.ListSites(ctx, s.o.Table, "") {
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		shares, err := s.o.Accounts.Shares(ctx, site.SiteID)
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		for i := range shares {
			if shares[i].Creator == in.ID {
				answer.Body.Shares = append(answer.Body.Shares, sharedOfPlace{site.SiteID, shares[i].Name, shares[i].ShareID})
			}
		}
	}
	return answer, nil
}
