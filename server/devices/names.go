package devices

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/onefold/onefold/table"
)

// names resolves actors to names. IDs are stored, so that a name can change and disappears with its
// account. Use one per request.
type names struct {
	s     *Service
	known map[string]string
}

func (s *Service) names() *names { return &names{s, map[string]string{}} }

// of returns the name of an actor: a person's or a key's name, otherwise its kind.
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
		name, err = map[string]string{"user": "a former user", "key": "a revoked key"}[kind], nil
	}
	if err == nil {
		n.known[actor] = name
	}
	return name, err
}

func (n *names) read(ctx context.Context, kind, id string) (string, error) {
	if kind == "key" {
		key, err := n.s.mw.Accounts.Key(ctx, id)
		return "key " + cmp.Or(key.Name, id), err
	}
	user, err := n.s.mw.Accounts.User(ctx, id)
	return cmp.Or(user.Name, user.Email), err
}
