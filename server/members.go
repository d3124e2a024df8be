package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// memberBody is what the owners of a site, fleet or event store see of a person with a role on it.
type memberBody struct {
	ID       string        `json:"id"`
	Email    string        `json:"email"`
	Name     string        `json:"name" audit:"hide"`
	Role     accounts.Role `json:"role" enum:"viewer,admin,owner"`
	AllSites bool          `json:"allSites" doc:"The role is on all sites, all fleets and the event store. Only an owner of all sites can change it."`
	Disabled bool          `json:"disabled"`
}

func describeMember(u *accounts.User, place string) memberBody {
	role := u.Grants.On(place)
	return memberBody{u.UserID, u.Email, u.Name, role, u.Grants[accounts.AllSites].Includes(role), u.Disabled}
}

type invitationBody struct {
	ID      string        `json:"id"`
	Email   string        `json:"email"`
	Role    accounts.Role `json:"role" enum:"viewer,admin,owner"`
	Expires time.Time     `json:"expires"`
	Token   string        `json:"token,omitempty" doc:"Returned once, when the invitation is created. The link is /invite#TOKEN."`
}

func describeInvitation(i *accounts.Invitation, token string) invitationBody {
	return invitationBody{i.InvitationID, i.Email, i.Role, i.Expires, token}
}

type membersAnswer struct {
	Body struct {
		Members     []memberBody     `json:"members"`
		Invitations []invitationBody `json:"invitations" doc:"Invitations that have not been accepted."`
	}
}

type newMemberRequest struct {
	Body struct {
		Email string        `json:"email" maxLength:"254"`
		Role  accounts.Role `json:"role" enum:"viewer,admin,owner"`
	}
}

type newMemberAnswer struct {
	Body struct {
		Member     *memberBody     `json:"member,omitempty" doc:"Set if the person has an account."`
		Invitation *invitationBody `json:"invitation,omitempty" doc:"Set if the person has no account. The invitation is valid for a week and replaces an earlier one."`
	}
}

// MemberPath names a member of a site, fleet or event store, or an invitation to it.
type MemberPath struct {
	ID string `path:"id" maxLength:"32" doc:"ID of the person or invitation."`
}

type updateMemberRequest struct {
	MemberPath
	Body struct {
		Role accounts.Role `json:"role" enum:"viewer,admin,owner"`
	}
}

type memberAnswer struct{ Body memberBody }

// memberRoutes registers the same operations for sites, fleets and the event store.
func (s *Server) memberRoutes(api huma.API) {
	for _, at := range []middleware.Kind{middleware.Sites, middleware.Fleets, middleware.Events} {
		place := at.Noun
		guard := func(op huma.Operation) huma.Operation {
			op.Tags, op.MaxBodyBytes = []string{"accounts"}, middleware.MaxSmallBody
			return at.Guard(middleware.ForOwner, op)
		}
		huma.Register(api, guard(huma.Operation{
			OperationID: "members", Method: http.MethodGet, Path: "/members", Summary: "List the people with a role on " + place + ", and open invitations",
		}), s.members)
		huma.Register(api, guard(huma.Operation{
			OperationID: "add-member", Method: http.MethodPost, Path: "/members", DefaultStatus: http.StatusCreated,
			Summary: "Give a person a role on " + place, Errors: []int{http.StatusConflict},
			Description: "A person with an account gets the role at once. Anyone else is invited: send them the link with the token of the response.",
		}), s.addMember)
		huma.Register(api, guard(huma.Operation{
			OperationID: "update-member", Method: http.MethodPatch, Path: "/members/{id}", Summary: "Change a person's role on " + place,
		}), s.updateMember)
		huma.Register(api, guard(huma.Operation{
			OperationID: "remove-member", Method: http.MethodDelete, Path: "/members/{id}", DefaultStatus: http.StatusNoContent,
			Summary: "Remove a person's role on " + place + " without deleting the account",
		}), s.removeMember)
		huma.Register(api, guard(huma.Operation{
			OperationID: "revoke-invitation", Method: http.MethodDelete, Path: "/invitations/{id}", DefaultStatus: http.StatusNoContent,
			Summary: "Revoke an invitation to " + place + " before it is accepted",
		}), s.revokeInvitation)
	}
}

// checkExists fails with table.ErrNotFound unless the place exists: a site, or a fleet if place is from
// accounts.OfFleet. The event store always exists.
func (s *Server) checkExists(ctx context.Context, place string) error {
	if place == accounts.EventStore {
		return nil
	}
	if fleet, ok := accounts.FleetOf(place); ok {
		_, err := telemetry.GetFleet(ctx, s.o.Table, fleet)
		return err
	}
	_, err := analytics.GetSite(ctx, s.o.Table, place)
	return err
}

// recordOf records a change of a person's role on the place that the request is about.
func (s *Server) recordOf(ctx context.Context, action, subject string, before, after any) {
	who := middleware.CallerOf(ctx)
	s.mw.RecordChange(ctx, accounts.Entry{Actor: who.Actor, Action: action, Site: who.Place, Subject: subject}, before, after)
}

func (s *Server) members(ctx context.Context, _ *struct{}) (*membersAnswer, error) {
	place := middleware.CallerOf(ctx).Place
	users, err := s.o.Accounts.Members(ctx, place)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	open, err := s.o.Accounts.Invitations(ctx, place)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(membersAnswer)
	answer.Body.Members = described(users, func(u *accounts.User) memberBody { return describeMember(u, place) })
	answer.Body.Invitations = described(open, func(i *accounts.Invitation) invitationBody { return describeInvitation(i, "") })
	return answer, nil
}

// described converts all items to their bodies. The result is never nil.
func described[T, B any](items []T, describe func(*T) B) []B {
	bodies := make([]B, len(items))
	for i := range items {
		bodies[i] = describe(&items[i])
	}
	return bodies
}

// addMember gives the role to an existing account, and otherwise creates an invitation. The audit
// record never contains the invitation's token.
func (s *Server) addMember(ctx context.Context, in *newMemberRequest) (*newMemberAnswer, error) {
	who, answer := middleware.CallerOf(ctx), new(newMemberAnswer)
	if err := s.checkExists(ctx, who.Place); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	user, err := s.o.Accounts.AddMember(ctx, who.Place, in.Body.Email, in.Body.Role)
	if err == nil {
		member := describeMember(&user, who.Place)
		answer.Body.Member = &member
		s.recordOf(ctx, "member.add", user.UserID, nil, member)
		return answer, nil
	}
	if !errors.Is(err, table.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	open, token, err := s.o.Accounts.Invite(ctx, accounts.NewInvitation{Email: in.Body.Email, Site: who.Place, Role: in.Body.Role, Creator: who.User.UserID})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	invitation := describeInvitation(&open, token)
	answer.Body.Invitation = &invitation
	s.recordOf(ctx, "member.invite", open.InvitationID, nil, describeInvitation(&open, ""))
	return answer, nil
}

func (s *Server) updateMember(ctx context.Context, in *updateMemberRequest) (*memberAnswer, error) {
	place := middleware.CallerOf(ctx).Place
	before, user, err := s.o.Accounts.SetMember(ctx, place, in.ID, in.Body.Role)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordOf(ctx, "member.update", in.ID, describeMember(&before, place), describeMember(&user, place))
	return &memberAnswer{describeMember(&user, place)}, nil
}

func (s *Server) removeMember(ctx context.Context, in *MemberPath) (*struct{}, error) {
	place := middleware.CallerOf(ctx).Place
	before, _, err := s.o.Accounts.SetMember(ctx, place, in.ID, "")
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordOf(ctx, "member.remove", in.ID, describeMember(&before, place), nil)
	return nil, nil
}

func (s *Server) revokeInvitation(ctx context.Context, in *MemberPath) (*struct{}, error) {
	open, err := s.o.Accounts.RevokeInvitation(ctx, middleware.CallerOf(ctx).Place, in.ID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordOf(ctx, "invitation.revoke", in.ID, describeInvitation(&open, ""), nil)
	return nil, nil
}
