package devices

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/onefold/onefold/table"
)

// names says for people who did something. What is stored are ids, so that a name can change, and is gone with its account.
// One is for one request.
type names struct {
	s     *Service
	known map[string]string
}

func (s *Service) names() *names { return &names{s, map[string]string{}} }

// of is the name of an actor of the record: a person's, a key's, or what it is.
func (n *names) of(ctx context.Context, actor string) (string, error) {
	kind, id, _ := strings.Cut(actor, ":")
	if kind != "user" && kind != "key" {
		return actor, nil
	}
	if name, ok := n.known[actor]; ok {
		return name, nil
	}
	name, err := n.read(ctx, kind, id)
	if errors.Is(err, table.ErrNotFound) {
		name, err = map[string]string{"user": "somebody who left", "key": "a revoked key"}[kind], nil
	}
	if err == nil {
		n.known[actor] = name
	}
	return name, err
}

func (n *names) read(ctx context.Context, kind, id string) (string, error) {
	if kind == "key" {
		key, err := n.s.door.Accounts.Key(ctx, id)
		return "key " + cmp.Or(key.Name, id), err
	}
	user, err := n.s.door.Accounts.User(ctx, id)
	return cmp.Or(user.Name, user.Email), err
}
