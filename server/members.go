package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/door"
	"github.com/onefold/onefold/table"
)

// memberBody is what the owners of a site know of who has a role on it.
type memberBody struct {
	personBody
	Role     accounts.Role `json:"role" enum:"viewer,admin,owner"`
	AllSites bool          `json:"allSites" doc:"The role is on all sites: only who looks after accounts can change it."`
	Disabled bool          `json:"disabled"`
}

func describeMember(u *accounts.User, site string) memberBody {
	role := u.Grants.On(site)
	return memberBody{personBody{u.UserID, u.Email, u.Name}, role, u.Grants[accounts.AllSites].Includes(role), u.Disabled}
}

type invitationBody struct {
	ID      string        `json:"id"`
	Email   string        `json:"email"`
	Role    accounts.Role `json:"role" enum:"viewer,admin,owner"`
	Expires time.Time     `json:"expires"`
	Token   string        `json:"token,omitempty" doc:"Told once, when the invitation is made: it is accepted at /invite#TOKEN."`
}

func describeInvitation(i *accounts.Invitation, token string) invitationBody {
	return invitationBody{i.InvitationID, i.Email, i.Role, i.Expires, token}
}

type membersAnswer struct {
	Body struct {
		Members     []memberBody     `json:"members"`
		Invitations []invitationBody `json:"invitations" doc:"Open ones."`
	}
}

type newMemberRequest struct {
	door.SitePath
	Body struct {
		Email string        `json:"email" maxLength:"254"`
		Role  accounts.Role `json:"role" enum:"viewer,admin,owner"`
	}
}

type newMemberAnswer struct {
	Body struct {
		Member     *memberBody     `json:"member,omitempty" doc:"Of somebody who has an account."`
		Invitation *invitationBody `json:"invitation,omitempty" doc:"Of somebody who has none. It holds for a week, and replaces an earlier one."`
	}
}

// MemberPath names a member of, or an invitation to, a site.
type MemberPath struct {
	door.SitePath
	ID string `path:"id" maxLength:"32"`
}

type updateMemberRequest struct {
	MemberPath
	Body struct {
		Role accounts.Role `json:"role" enum:"viewer,admin,owner"`
	}
}

type memberAnswer struct{ Body memberBody }

func (s *Server) memberRoutes(api huma.API) {
	const list, one = "/api/v1/sites/{site}/members", "/api/v1/sites/{site}/members/{id}"
	huma.Register(api, door.Guard(door.ForOwner, huma.Operation{
		OperationID: "members", Method: http.MethodGet, Path: list, Summary: "Who has a role on a site, and who is invited", Tags: []string{"accounts"},
	}), s.members)
	huma.Register(api, door.Guard(door.ForOwner, huma.Operation{
		OperationID: "add-member", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: door.MaxSmallBody,
		Summary: "Give somebody a role on a site", Tags: []string{"accounts"}, Errors: []int{http.StatusConflict},
		Description: "Somebody who has an account has the role at once. Anybody else is invited: the answer has a token, whose link is to be sent to them.",
	}), s.addMember)
	huma.Register(api, door.Guard(door.ForOwner, huma.Operation{
		OperationID: "update-member", Method: http.MethodPatch, Path: one, MaxBodyBytes: door.MaxSmallBody,
		Summary: "Change somebody's role on a site", Tags: []string{"accounts"},
	}), s.updateMember)
	huma.Register(api, door.Guard(door.ForOwner, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Take somebody's role on a site away", Tags: []string{"accounts"},
	}), s.removeMember)
	huma.Register(api, door.Guard(door.ForOwner, huma.Operation{
		OperationID: "revoke-invitation", Method: http.MethodDelete, Path: "/api/v1/sites/{site}/invitations/{id}", DefaultStatus: http.StatusNoContent,
		Summary: "Take an invitation back", Tags: []string{"accounts"},
	}), s.revokeInvitation)
}

func (s *Server) members(ctx context.Context, in *door.SitePath) (*membersAnswer, error) {
	users, err := s.o.Accounts.Members(ctx, in.Site)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	open, err := s.o.Accounts.Invitations(ctx, in.Site)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	answer := new(membersAnswer)
	answer.Body.Members, answer.Body.Invitations = make([]memberBody, len(users)), make([]invitationBody, len(open))
	for i := range users {
		answer.Body.Members[i] = describeMember(&users[i], in.Site)
	}
	for i := range open {
		answer.Body.Invitations[i] = describeInvitation(&open[i], "")
	}
	return answer, nil
}

func (s *Server) addMember(ctx context.Context, in *newMemberRequest) (*newMemberAnswer, error) {
	if _, err := analytics.GetSite(ctx, s.o.Table, in.Site); err != nil {
		return nil, s.door.Error(ctx, err)
	}
	who, answer := door.CallerOf(ctx), new(newMemberAnswer)
	user, err := s.o.Accounts.AddMember(ctx, in.Site, in.Body.Email, in.Body.Role)
	if err == nil {
		member := describeMember(&user, in.Site)
		answer.Body.Member = &member
		s.door.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "member.add", Site: in.Site, Subject: user.UserID})
		return answer, nil
	}
	if !errors.Is(err, table.ErrNotFound) {
		return nil, s.door.Error(ctx, err)
	}
	open, token, err := s.o.Accounts.Invite(ctx, accounts.NewInvitation{Email: in.Body.Email, Site: in.Site, Role: in.Body.Role, Creator: who.User.UserID})
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	invitation := describeInvitation(&open, token)
	answer.Body.Invitation = &invitation
	s.door.Record(ctx, accounts.Entry{Actor: who.Actor, Action: "member.invite", Site: in.Site, Subject: open.InvitationID})
	return answer, nil
}

func (s *Server) updateMember(ctx context.Context, in *updateMemberRequest) (*memberAnswer, error) {
	user, err := s.o.Accounts.SetMember(ctx, in.Site, in.ID, in.Body.Role)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	s.door.Record(ctx, accounts.Entry{Actor: door.CallerOf(ctx).Actor, Action: "member.update", Site: in.Site, Subject: in.ID})
	return &memberAnswer{describeMember(&user, in.Site)}, nil
}

func (s *Server) removeMember(ctx context.Context, in *MemberPath) (*struct{}, error) {
	if _, err := s.o.Accounts.SetMember(ctx, in.Site, in.ID, ""); err != nil {
		return nil, s.door.Error(ctx, err)
	}
	s.door.Record(ctx, accounts.Entry{Actor: door.CallerOf(ctx).Actor, Action: "member.remove", Site: in.Site, Subject: in.ID})
	return nil, nil
}

func (s *Server) revokeInvitation(ctx context.Context, in *MemberPath) (*struct{}, error) {
	if err := s.o.Accounts.RevokeInvitation(ctx, in.Site, in.ID); err != nil {
		return nil, s.door.Error(ctx, err)
	}
	s.door.Record(ctx, accounts.Entry{Actor: door.CallerOf(ctx).Actor, Action: "invitation.revoke", Site: in.Site, Subject: in.ID})
	return nil, nil
}
