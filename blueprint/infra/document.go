package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

// How many characters policies may have, white space not counted, which AWS raises for nobody:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html.
const (
	MaxManagedPolicy  = 6_144
	MaxInlinePolicies = 10_240 // those of a role together
)

// ErrPolicyLength is returned for policies that AWS would refuse for their length.
var ErrPolicyLength = errors.New("infra: policy is too long")

// Policy writes the policy of a role as IAM's JSON, for a table's ARN. It may be longer than a managed policy, see Policies.
// Errors: ErrOptions; ErrPolicyLength for one that is too long to be an inline policy, too.
func Policy(s *table.Schema, name, tableARN string) ([]byte, error) {
	statements, err := Role(s, name)
	if err != nil {
		return nil, err
	}
	d := PolicyDocument{policyVersion, documented(statements, tableARN)}
	if n := d.length(); n > MaxInlinePolicies {
		return nil, fmt.Errorf("%w: %d characters, and a role's inline policies have at most %d: attach its parts as managed policies", ErrPolicyLength, n, MaxInlinePolicies)
	}
	return d.write()
}

// Policies writes the policy of a role in as few parts as can be managed policies, one where it fits. A role that has all
// parts may do what the whole says: what one allows is allowed, and what one denies is denied. A statement is never cut: a
// request may name keys that only together are allowed. Errors: ErrOptions; ErrPolicyLength for a statement that no part can
// hold.
func Policies(s *table.Schema, name, tableARN string) ([][]byte, error) {
	statements, err := Role(s, name)
	if err != nil {
		return nil, err
	}
	parts := []PolicyDocument{{Version: policyVersion}}
	for _, one := range documented(statements, tableARN) {
		alone := PolicyDocument{policyVersion, []documentStatement{one}}
		if n := alone.length(); n > MaxManagedPolicy {
			return nil, fmt.Errorf("%w: statement %s alone has %d characters, and a managed policy at most %d", ErrPolicyLength, one.Sid, n, MaxManagedPolicy)
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

// documented are statements about a table's ARN.
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

// length is that of the document as AWS counts it; nothing in it has white space.
func (d *PolicyDocument) length() int {
	b, _ := json.Marshal(d) // texts are always written
	return len(b)
}

// beside is what a function's role has in its inline policy beside what it may do with the table: logs, and dead letters.
const beside = 600

// checkRoles refuses functions whose roles AWS would refuse.
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
		if n := d.length() + beside; n > MaxInlinePolicies {
			return fmt.Errorf("%w: that of the %s has about %d characters, and a role's inline policies at most %d: give the table a shorter name, or leave the functions out and attach the parts that `onefold infra iam` writes",
				ErrPolicyLength, name, n, MaxInlinePolicies)
		}
	}
	return nil
}
