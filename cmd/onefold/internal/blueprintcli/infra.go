package blueprintcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/infra"
	"github.com/onefold/onefold/table"
)

// Infra writes definitions of the table for AWS.
type Infra struct {
	Cloudformation cloudFormation `cmd:"" help:"Write a CloudFormation template: table, indexes, alarms, and optionally functions with their roles."`
	Terraform      terraform      `cmd:"" help:"Write the same for Terraform."`
	Iam            iam            `cmd:"" help:"Write the IAM policy of a role, which allows the access patterns and nothing else."`
	Apply          Apply          `cmd:"" help:"Create the table of --store, or update it to the schema, one update at a time."`
	CreateTable    createTable    `cmd:"" help:"Write the request that creates the table, for aws dynamodb create-table --cli-input-json."`
}

// stack holds the common flags.
type stack struct {
	Schema string `help:"Schema, as in onefold design." default:"onefold"`
	Table  string `help:"Table name (default: that of the schema)."`
	Out    string `help:"Output file (default: standard output)." short:"o" type:"path"`
}

// capacity selects the billing mode of the table.
type capacity struct {
	Provisioned bool     `help:"Use provisioned capacity with auto scaling instead of on-demand billing."`
	MinRead     int      `help:"Minimum read units per second of provisioned capacity."`
	MaxRead     int      `help:"Maximum read units per second; on demand, 0 means no limit."`
	MinWrite    int      `help:"Minimum write units per second of provisioned capacity."`
	MaxWrite    int      `help:"Maximum write units per second; on demand, 0 means no limit."`
	Have        []string `help:"Index that the table already has. One index is added or removed per update; --stage selects the update." placeholder:"INDEX"`
	Stage       int      `help:"Update to write, from 1, with --have (default: list the updates)."`
}

// surroundings are the parts of a stack besides the table.
type surroundings struct {
	Functions  bool   `help:"Add the functions that fold the table's changes, with their event source and roles."`
	Shifts     bool   `help:"Fold in shifts of 15 minutes, with --functions: the function reads the stream itself instead of receiving batches. Needs fewer writes and more function time."`
	Ingest     string `help:"Endpoint of an additional ingest function: function-url or http-api." enum:",function-url,http-api" default:""`
	AlarmTopic string `help:"ARN of the SNS topic for alarms." placeholder:"ARN"`
}

type cloudFormation struct {
	stack        `embed:""`
	capacity     `embed:""`
	surroundings `embed:""`
}

type terraform struct {
	stack        `embed:""`
	capacity     `embed:""`
	surroundings `embed:""`
}

type createTable struct {
	stack    `embed:""`
	capacity `embed:""`
}

type iam struct {
	stack   `embed:""`
	Role    string `help:"Role: reader runs the access patterns, except those for credentials; writer stores facts and reads what that needs; worker reads as a reader, also the change stream, and writes derived items; keeper reads and writes everything." enum:"reader,writer,worker,keeper" default:"reader"`
	Account string `help:"AWS account of the table." default:"*"`
	Region  string `help:"AWS Region of the table." default:"*"`
	Inline  bool   `help:"Write the whole policy as an inline policy of a role, at most 10,240 characters instead of 6,144 for a managed policy."`
	Part    int    `help:"Part to write, from 1, of a policy that needs several managed policies. A role needs all parts."`
}

// Run writes the template.
func (c *cloudFormation) Run(e *Env) error {
	return c.write(e, &c.capacity, &c.surroundings, infra.CloudFormation)
}

// Run writes the configuration.
func (c *terraform) Run(e *Env) error {
	return c.write(e, &c.capacity, &c.surroundings, infra.Terraform)
}

// Run writes the request.
func (c *createTable) Run(e *Env) error {
	return c.write(e, &c.capacity, &surroundings{}, infra.CreateTable)
}

// Run writes the policy.
func (c *iam) Run(e *Env) error {
	s, err := e.schema(c.Schema)
	if err != nil {
		return err
	}
	name := c.Table
	if name == "" {
		name = s.Name()
	}
	arn := fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", c.Region, c.Account, name)
	if c.Inline {
		b, err := infra.Policy(s, c.Role, arn)
		if err != nil {
			return err
		}
		return c.out(e, b)
	}
	parts, err := infra.Policies(s, c.Role, arn)
	switch {
	case err != nil:
		return err
	case c.Part == 0 && len(parts) > 1:
		return fmt.Errorf("policy_too_long: %d managed policies are needed, each of at most %d characters: write them with --part 1 to %d, or write one inline policy with --inline", len(parts), infra.MaxManagedPolicy, len(parts))
	case c.Part < 0 || c.Part > len(parts):
		return fmt.Errorf("no_such_part: there are %d parts, not %d", len(parts), c.Part)
	}
	return c.out(e, parts[max(c.Part-1, 0)])
}

func (s *stack) write(e *Env, c *capacity, more *surroundings, form func(*table.Schema, infra.Options) ([]byte, error)) error {
	schema, err := e.schema(s.Schema)
	if err != nil {
		return err
	}
	o := infra.Options{
		TableName: s.Table, Provisioned: c.Provisioned,
		Read: infra.Bounds{Min: c.MinRead, Max: c.MaxRead}, Write: infra.Bounds{Min: c.MinWrite, Max: c.MaxWrite},
		Functions: more.Functions, Shifts: more.Shifts, Ingest: infra.Ingest(more.Ingest), AlarmTopic: more.AlarmTopic,
		Sources: e.sources(schema),
	}
	if len(c.Have) > 0 {
		stages := infra.Stages(schema, c.Have)
		if c.Stage == 0 {
			return listStages(e, stages)
		}
		if c.Stage < 1 || c.Stage > len(stages) {
			return fmt.Errorf("no_such_stage: there are %d updates, not %d", len(stages), c.Stage)
		}
		o.Indexes = stages[c.Stage-1].Indexes
	}
	b, err := form(schema, o)
	if err != nil {
		return err
	}
	return s.out(e, b)
}

// sources returns the entities whose changes a fold reads. The event source filters out all others.
func (e *Env) sources(s *table.Schema) (names []string) {
	for _, entity := range s.Entities() {
		if slices.ContainsFunc(e.Flows, func(f blueprint.Flow) bool { return slices.Contains(f.From, entity.Name) }) {
			names = append(names, entity.Name)
		}
	}
	return names
}

func (s *stack) out(e *Env, b []byte) error {
	if s.Out != "" {
		return writeFile(s.Out, b)
	}
	_, err := e.Out.Write(b)
	return err
}

func listStages(e *Env, stages []infra.Stage) error {
	if len(stages) == 0 {
		_, err := fmt.Fprintln(e.Out, "The table has all indexes of the schema; nothing to update.")
		return err
	}
	var b strings.Builder
	for i, st := range stages {
		what := "add index " + st.Adds
		if st.Removes != "" {
			what = "remove index " + st.Removes
		}
		fmt.Fprintf(&b, "%d. %s; the table then has %s\n", i+1, what, strings.Join(st.Indexes, ", "))
	}
	fmt.Fprintln(&b, "DynamoDB changes one index per update. Write each update with --stage N, and wait until it is complete.")
	_, err := e.Out.Write([]byte(b.String()))
	return err
}
