package partiql

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// position is the start of the next page of a SELECT. A NextToken is: version 1 | digest of the
// request 16 | index of the read 1 | key after which it continues, as an item, or nothing for its
// start.
type position struct {
	read  int
	after item.Item
}

const (
	tokenVersion = 1
	digestBytes  = 16
	tokenHeader  = 1 + digestBytes + 1
)

// digest covers what a NextToken is bound to: the statement and its parameters, but not Limit or
// ConsistentRead.
func digest(src string, params []types.AttributeValue) []byte {
	b := append([]byte(src), 0)
	for _, av := range params {
		b = item.AppendValue(b, av)
	}
	sum := sha256.Sum256(b)
	return sum[:digestBytes]
}

func (p position) token(digest []byte) *string {
	b := append([]byte{tokenVersion}, digest...)
	b = append(b, byte(p.read))
	if p.after != nil {
		b = item.Append(b, p.after)
	}
	text := base64.StdEncoding.EncodeToString(b)
	return &text
}

// parseToken parses a NextToken. Invalid tokens, and tokens of other statements or parameters, are
// different errors.
func parseToken(token *string, digest []byte, reads int) (position, error) {
	if token == nil {
		return position{}, nil
	}
	b, err := base64.StdEncoding.DecodeString(*token)
	if err != nil || len(b) < tokenHeader || b[0] != tokenVersion {
		return position{}, request.Invalid("Invalid NextToken")
	}
	p := position{read: int(b[tokenHeader-1])}
	if string(b[1:1+digestBytes]) != string(digest) || p.read >= reads {
		return position{}, request.Invalid("NextToken does not match request")
	}
	if len(b) > tokenHeader {
		if p.after, err = item.Decode(b[tokenHeader:]); err != nil {
			return position{}, request.Invalid("Invalid NextToken")
		}
	}
	return p, nil
}
