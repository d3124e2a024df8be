package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

// Maximum number of characters in policies, without white space. AWS does not raise these limits:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html.
const (
	MaxManagedPolicy  = 6_144
	MaxInlinePolicies = 10_240 // total for a role
)

// ErrPolicyLength is returned for policies that exceed AWS's length limits.
var ErrPolicyLength = errors.New("infra: policy is too long")

// Policy returns the policy of a role as IAM's JSON, for a table's ARN. It may be too long for a
// managed policy; see Policies. Errors: ErrOptions; ErrPolicyLength if it is also too long for an
// inline policy.
func Policy(s *table.Schema, name, tableARN string) ([]byte, error) {
	statements, err := Role(s, name)
	if err != nil {
		return nil, err
	}
	d := PolicyDocument{policyVersion, documented(statements, tableARN)}
	if n := d.length(); n > MaxInlinePolicies {
		return nil, fmt.Errorf("%w: %d characters; a role's inline policies can have at most %d: attach its parts as managed policies", ErrPolicyLength, n, MaxInlinePolicies)
	}
	return d.write()
}

// Policies returns the policy of a role, divided into as few managed policies as possible. A role
// with all parts has the same permissions as with the whole policy. Statements are never divided,
// because a request may name keys that are only allowed together. Errors: ErrOptions;
// ErrPolicyLength if a statement does not fit into any part.
func Policies(s *table.Schema, name, tableARN string) ([][]byte, error) {
	statements, err := Role(s, name)
	if err != nil {
		return nil, err
	}
	parts := []PolicyDocument{{Version: policyVersion}}
	for _, one := range documented(statements, tableARN) {
		alone := PolicyDocument{policyVersion, []documentStatement{one}}
		if n := alone.length(); n > MaxManagedPolicy {
			return nil, fmt.Errorf("%w: statement %s alone has %d characters; a managed policy can have at most %d", ErrPolicyLength, one.Sid, n, MaxManagedPolicy)
		}
		last := &parts[len(parts)-1]
		longer := PolicyDocument{policyVersion, append(slices.Clone(last.Statement), one)}
		if longer.length() > MaxManagedPolicy {
			parts = append(parts, alone)
		} else {
			*last = longer
		}
	}
	written := make([][]byte, len(parts))
	for i := range parts {
		if written[i], err = parts[i].write(); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// documented returns statements for a table's ARN.
func documented(statements []Statement, tableARN string) []documentStatement {
	all := make([]documentStatement, len(statements))
	for i, st := range statements {
		all[i] = documentStatement{Sid: st.Sid, Effect: st.Effect, Action: st.Action, Condition: st.Condition}
		for _, r := range st.Resource {
			all[i].Resource = append(all[i].Resource, r.arn(tableARN, tableARN+"/stream/*"))
		}
	}
	return all
}

func (d *PolicyDocument) write() ([]byte, error) {
	b, err := json.MarshalIndent(d, "", "  ")
	return append(b, '\n'), err
}

// length returns the length of the document as counted by AWS. The document contains no white
// space.
func (d *PolicyDocument) length() int {
	b, _ := json.Marshal(d) // texts are always written
	return len(b)
}

// otherPermissions is the length of the other permissions in a function's inline policy: logs and dead
// letters.
const otherPermissions = 600

// checkRoles rejects functions whose roles would exceed AWS's limits.
func (o *Options) checkRoles(s *table.Schema) error {
	if !o.Functions {
		return nil
	}
	for _, name := range Roles() {
		statements, err := Role(s, name)
		if err != nil {
			return err
		}
		d := PolicyDocument{policyVersion, documented(statements, "arn:aws:dynamodb:ap-southeast-2:123456789012:table/"+o.TableName)}
		if n := d.length() + otherPermissions; n > MaxInlinePolicies {
			return fmt.Errorf("%w: the policy of the %s has about %d characters; a role's inline policies can have at most %d: use a shorter table name, or omit the functions and attach the parts from `onefold infra iam`",
				ErrPolicyLength, name, n, MaxInlinePolicies)
		}
	}
	return nil
}
