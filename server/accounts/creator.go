package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/table"
)

// Keys, shares and invitations are valid only while their creator has the rights to create them.
// This is checked at each use. So a key stops working at the moment when its creator is disabled,
// and works again when the rights are restored. Items without a creator were made on the command
// line, which has no roles.

// backing are the attributes of a user that decide it. A process that only takes in facts may read
// no others, above all no password.
var backing = table.Fields{"grants", "disabled"}

// backed rejects what a person created for a site if the person no longer has at least a role on
// it. Errors: ErrDenied.
func (s *Store) backed(ctx context.Context, creator, site string, least Role) error {
	if creator == "" {
		return nil
	}
	u, err := s.backer(ctx, creator)
	if err != nil {
		return denied(err)
	}
	if u.Disabled || !u.Grants.On(site).Includes(least) {
		return ErrDenied
	}
	return nil
}

// backer reads only what backed needs of a user. Errors: table.ErrNotFound.
func (s *Store) backer(ctx context.Context, userID string) (User, error) {
	if !validID(userID) {
		return User{}, fmt.Errorf("accounts: user: %w", table.ErrNotFound)
	}
	key, err := Users.Key(UserKey{userID})
	if err != nil {
		return User{}, err
	}
	name, consistent, projection := s.t.Name(), true, "pk, sk, et, "+strings.Join(backing, ", ")
	out, err := s.t.API().GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: key, ConsistentRead: &consistent, ProjectionExpression: &projection})
	if err != nil {
		return User{}, err
	}
	if len(out.Item) == 0 {
		return User{}, fmt.Errorf("accounts: user: %w", table.ErrNotFound)
	}
	return Users.Decode(out.Item)
}

// Backed reports whether the creator of a key or share could still create it for the site. If not,
// it is rejected when used.
func (s *Store) Backed(ctx context.Context, creator, site string) (bool, error) {
	err := s.backed(ctx, creator, site, Admin)
	if errors.Is(err, ErrDenied) {
		return false, nil
	}
	return err == nil, err
}
