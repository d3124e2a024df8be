// Package iamtest enforces IAM policies on a table, for tests. It evaluates the subset of the policy
// language that package infra generates, and refuses everything else, so that no condition is
// ignored. A real IAM is not needed, and none is asked.
//
// Rules: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
// and .../reference_policies_condition-single-vs-multi-valued-context-keys.html
package iamtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrPolicy is returned for a policy that uses more than the supported subset.
var ErrPolicy = errors.New("iamtest: unsupported policy")

// Policy is a set of statements. The zero value allows nothing.
type Policy struct{ statements []statement }

type statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string
}

// Parse reads the policies of a role. Errors: ErrPolicy.
func Parse(documents ...[]byte) (*Policy, error) {
	p := new(Policy)
	for _, b := range documents {
		var d struct {
			Version   string
			Statement []statement
		}
		decoder := json.NewDecoder(bytes.NewReader(b))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
		}
		if d.Version != "2012-10-17" {
			return nil, fmt.Errorf("%w: version %q", ErrPolicy, d.Version)
		}
		for i := range d.Statement {
			if err := d.Statement[i].check(); err != nil {
				return nil, err
			}
		}
		p.statements = append(p.statements, d.Statement...)
	}
	return p, nil
}

func (s *statement) check() error {
	if s.Effect != "Allow" && s.Effect != "Deny" {
		return fmt.Errorf("%w: statement %s has effect %q", ErrPolicy, s.Sid, s.Effect)
	}
	if len(s.Action) == 0 || len(s.Resource) == 0 {
		return fmt.Errorf("%w: statement %s names no action or no resource", ErrPolicy, s.Sid)
	}
	for operator, keys := range s.Condition {
		if operators[operator] == nil {
			return fmt.Errorf("%w: statement %s has the operator %s", ErrPolicy, s.Sid, operator)
		}
		for key := range keys {
			for _, action := range s.Action {
				if !slices.Contains(contextKeys[action], key) {
					return fmt.Errorf("%w: statement %s: requests for %s have no key %s, so the condition would not mean what it says", ErrPolicy, s.Sid, action, key)
				}
			}
		}
	}
	return nil
}

// The condition keys of package infra.
const (
	LeadingKeys        = "dynamodb:LeadingKeys"
	Attributes         = "dynamodb:Attributes"
	EnclosingOperation = "dynamodb:EnclosingOperation"
	Select             = "dynamodb:Select"
)

// contextKeys are the condition keys that AWS documents for each action.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
var contextKeys = map[string][]string{
	"dynamodb:BatchGetItem":       {Attributes, LeadingKeys, Select},
	"dynamodb:BatchWriteItem":     {Attributes, LeadingKeys},
	"dynamodb:ConditionCheckItem": {Attributes, LeadingKeys},
	"dynamodb:DeleteItem":         {Attributes, EnclosingOperation, LeadingKeys},
	"dynamodb:GetItem":            {Attributes, EnclosingOperation, LeadingKeys, Select},
	"dynamodb:PutItem":            {Attributes, EnclosingOperation, LeadingKeys},
	"dynamodb:Query":              {Attributes, LeadingKeys, Select},
	"dynamodb:Scan":               {Attributes, Select},
	"dynamodb:UpdateItem":         {Attributes, EnclosingOperation, LeadingKeys},
}

// operators are the supported condition operators. Each compares the values of a request with the
// patterns of a policy. As with IAM, ForAllValues holds for a request without values.
var operators = map[string]func(values, patterns []string) bool{
	"ForAllValues:StringLike":   all(like),
	"ForAllValues:StringEquals": all(equal),
	"ForAnyValue:StringLike":    some(like),
	"ForAnyValue:StringEquals":  some(equal),
	"StringEquals":              some(equal), // for keys with one value
}

func all(match func(value, pattern string) bool) func(values, patterns []string) bool {
	return func(values, patterns []string) bool {
		for _, v := range values {
			if !slices.ContainsFunc(patterns, func(p string) bool { return match(v, p) }) {
				return false
			}
		}
		return true
	}
}

func some(match func(value, pattern string) bool) func(values, patterns []string) bool {
	return func(values, patterns []string) bool {
		return slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return match(v, p) })
		})
	}
}

func equal(value, pattern string) bool { return value == pattern }

// like matches StringLike's patterns: * is any text, # and / included, and ? is one character.
func like(value, pattern string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			rest := strings.TrimLeft(pattern, "*")
			if rest == "" {
				return true
			}
			for i := range value {
				if like(value[i:], rest) {
					return true
				}
			}
			return false
		case '?':
			if value == "" {
				return false
			}
		default:
			if value == "" || value[0] != pattern[0] {
				return false
			}
		}
		value, pattern = value[1:], pattern[1:]
	}
	return value == ""
}

// Request is what IAM learns of a request: it sees neither sort keys nor values, and no conditions
// of writes beyond the names of their attributes.
type Request struct {
	Action   string              // such as dynamodb:PutItem
	Resource string              // ARN of the table, an index or the stream
	Context  map[string][]string // values by condition key
}

// Allows reports whether the policy permits a request: a statement allows it and none denies it.
func (p *Policy) Allows(r *Request) bool {
	allowed := false
	for i := range p.statements {
		if s := &p.statements[i]; s.applies(r) {
			if s.Effect == "Deny" {
				return false
			}
			allowed = true
		}
	}
	return allowed
}

func (s *statement) applies(r *Request) bool {
	if !slices.Contains(s.Action, r.Action) || !slices.ContainsFunc(s.Resource, func(p string) bool { return like(r.Resource, p) }) {
		return false
	}
	for operator, keys := range s.Condition {
		for key, patterns := range keys {
			if !operators[operator](r.Context[key], patterns) {
				return false
			}
		}
	}
	return true
}
