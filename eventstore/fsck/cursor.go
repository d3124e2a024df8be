package fsck

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// cursor is the position of a check: the last key, whose attributes are all strings.
type cursor struct {
	Key  map[string]string `json:"key,omitempty"`
	Done bool              `json:"done,omitempty"`
}

func (c cursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // impossible for strings
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor parses a cursor; "" is the beginning.
func parseCursor(s string) (c cursor, err error) {
	if s == "" {
		return cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || len(c.Key) == 0 && !c.Done {
		return c, fmt.Errorf("%w: invalid cursor", eventstore.ErrInvalid)
	}
	return c, nil
}

func (c cursor) start() table.Item {
	if len(c.Key) == 0 {
		return nil
	}
	key := table.Item{}
	for name, value := range c.Key {
		key[name] = &types.AttributeValueMemberS{Value: value}
	}
	return key
}

func textOf(key table.Item) map[string]string {
	all := map[string]string{}
	for name := range key {
		all[name] = text(key, name)
	}
	return all
}
