package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

type userBody struct {
	PersonBody
	Disabled bool            `json:"disabled"`
	Created  time.Time       `json:"created"`
	Roles    accounts.Grants `json:"roles" doc:"viewer, admin or owner by site ID, or by fleet:ID for fleets; * stands for all."`
}

func describeUser(u *accounts.User) userBody {
	roles := u.Grants
	if roles == nil {
		roles = accounts.Grants{}
	}
	return userBody{PersonBody{u.UserID, u.Email, u.Name}, u.Disabled, u.Created, roles}
}

type userAnswer struct{ Body userBody }

type usersAnswer struct {
	Body struct {
		Users []userBody `json:"users"`
	}
}

type newUserRequest struct {
	Body struct {
		Email    string          `json:"email" maxLength:"254"`
		Name     string          `json:"name,omitempty" maxLength:"100"`
		Password string          `json:"password" maxLength:"256" doc:"At least 10 characters. The person must change it at the first login."`
		Roles    accounts.Grants `json:"roles,omitempty" maxProperties:"200"`
	}
}

// UserPath names the user of an operation.
type UserPath struct {
	ID string `path:"id" maxLength:"32" doc:"ID of the user."`
}

type updateUserRequest struct {
	UserPath
	Body struct {
		Name     *string          `json:"name,omitempty" maxLength:"100"`
		Disabled *bool            `json:"disabled,omitempty"`
		Roles    *accounts.Grants `json:"roles,omitempty" doc:"All of the user's roles. Roles that are not listed are removed."`
		Password *string          `json:"password,omitempty" maxLength:"256" doc:"The person must change it at the next login."`
	}
}

func (s *Server) userRoutes(api huma.API) {
	const list, one = "/api/v1/users", "/api/v1/users/{id}"
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "users", Method: http.MethodGet, Path: list, Summary: "List all users", Tags: []string{"accounts"},
	}), s.users)
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "add-user", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a user", Description: "Repeating the request within ten minutes returns the same response.", Tags: []string{"accounts"}, Errors: []int{http.StatusConflict},
	}), s.addUser)
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "update-user", Method: http.MethodPatch, Path: one, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Change a user's name, roles or password, or disable the user", Tags: []string{"accounts"}, Errors: []int{http.StatusConflict},
	}), s.updateUser)
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "delete-user", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a user", Tags: []string{"accounts"}, Errors: []int{http.StatusConflict},
	}), s.deleteUser)
}

func (s *Server) users(ctx context.Context, _ *struct{}) (*usersAnswer, error) {
	users, err := s.o.Accounts.Users(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(usersAnswer)
	answer.Body.Users = described(users, describeUser)
	return answer, nil
}

func (s *Server) addUser(ctx context.Context, in *newUserRequest) (*userAnswer, error) {
	n := accounts.NewUser{Email: in.Body.Email, Name: in.Body.Name, Password: in.Body.Password, Grants: in.Body.Roles, Temporary: true}
	if err := s.checkRoles(ctx, n.Grants, nil); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	user, err := s.o.Accounts.AddUser(ctx, n)
	if errors.Is(err, accounts.ErrEmailTaken) {
		if user, err = s.o.Accounts.AddedBefore(ctx, n); err == nil {
			return &userAnswer{describeUser(&user)}, nil
		}
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "user.create", Subject: user.UserID}, nil, describeUser(&user))
	return &userAnswer{describeUser(&user)}, nil
}

// checkRoles rejects roles on sites that do not exist. Roles that the user already has are
// accepted: the person who later creates such a site should know who has a role on it.
func (s *Server) checkRoles(ctx context.Context, roles, before accounts.Grants) error {
	for site := range roles {
		if _, had := before[site]; had {
			continue
		}
		if err := s.checkSite(ctx, site); err != nil {
			return err
		}
	}
	return nil
}

// checkSite rejects a site or fleet that does not exist or is being deleted. All sites ("*") and
// the event store always exist.
func (s *Server) checkSite(ctx context.Context, site string) error {
	if site == accounts.AllSites {
		return nil
	}
	err := s.checkExists(ctx, site)
	if !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrKeyValue) {
		return err
	}
	if fleet, ok := accounts.FleetOf(site); ok {
		return middleware.Problem(http.StatusUnprocessableEntity, "unknown_fleet", "There is no fleet "+strconv.Quote(fleet)+".")
	}
	return middleware.Problem(http.StatusUnprocessableEntity, "unknown_site", "There is no site "+strconv.Quote(site)+".")
}

// updateUser makes all changes or none. A new password also ends the user's sessions.
func (s *Server) updateUser(ctx context.Context, in *updateUserRequest) (*userAnswer, error) {
	if in.Body.Roles != nil {
		before, err := s.o.Accounts.User(ctx, in.ID)
		if err == nil {
			err = s.checkRoles(ctx, *in.Body.Roles, before.Grants)
		}
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	var before accounts.User
	change := func(u *accounts.User) {
		before = *u
		before.Grants = maps.Clone(u.Grants)
		if in.Body.Name != nil {
			u.Name = *in.Body.Name
		}
		if in.Body.Disabled != nil {
			u.Disabled = *in.Body.Disabled
		}
		if in.Body.Roles != nil {
			u.Grants = *in.Body.Roles
		}
	}
	var user accounts.User
	var err error
	if in.Body.Password != nil {
		user, err = s.o.Accounts.UpdateUserAndPassword(ctx, in.ID, *in.Body.Password, change)
	} else {
		user, err = s.o.Accounts.UpdateUser(ctx, in.ID, change)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	e := accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "user.update", Subject: in.ID}
	if in.Body.Password != nil {
		e.Hide("password")
	}
	s.mw.RecordChange(ctx, e, describeUser(&before), describeUser(&user))
	if in.Body.Password != nil {
		s.notices.notify(&user, "New password of your onefold account", "An owner of this onefold installation set a new password for your account "+user.Email+".")
	}
	return &userAnswer{describeUser(&user)}, nil
}

func (s *Server) deleteUser(ctx context.Context, in *UserPath) (*struct{}, error) {
	user, err := s.o.Accounts.User(ctx, in.ID)
	if err == nil {
		err = s.o.Accounts.DeleteUser(ctx, in.ID)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "user.delete", Subject: in.ID}, describeUser(&user), nil)
	return nil, nil
}
