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
	Cloudformation cloudFormation `cmd:"" help:"A CloudFormation template: table, indexes, alarms, and functions with their roles if wanted."`
	Terraform      terraform      `cmd:"" help:"The same for Terraform."`
	Iam            iam            `cmd:"" help:"The policy of a role, which may ask the access patterns and no more."`
	Apply          Apply          `cmd:"" help:"Make the table of --store, or bring it to the schema, one update at a time."`
	CreateTable    createTable    `cmd:"" help:"The request that creates the table, for aws dynamodb create-table --cli-input-json."`
}

// stack holds the common flags.
type stack struct {
	Schema string `help:"Which schema: see onefold design." default:"onefold"`
	Table  string `help:"Name of the table; by default that of the schema."`
	Out    string `help:"File to write; by default, standard output." short:"o" type:"path"`
}

// capacity selects the billing mode of the table.
type capacity struct {
	Provisioned bool     `help:"Capacity that is kept ready and follows the load, instead of billing by request."`
	MinRead     int      `help:"Least read units a second, of provisioned capacity."`
	MaxRead     int      `help:"Most read units a second; by request, 0 is no bound."`
	MinWrite    int      `help:"Least write units a second, of provisioned capacity."`
	MaxWrite    int      `help:"Most write units a second; by request, 0 is no bound."`
	Have        []string `help:"Indexes that the table has already: one is added or removed at a time, and --stage says which update is written." placeholder:"INDEX"`
	Stage       int      `help:"With --have: which update is written, from 1. Without it, the updates are listed."`
}

// surroundings are the parts of a stack besides the table.
type surroundings struct {
	Functions  bool   `help:"Add the functions that fold the table's changes, with their event source and roles."`
	Shifts     bool   `help:"With --functions: fold by a function that reads the stream itself, in shifts of a quarter of an hour, in place of one that gets batches. It takes fewer writes and more of the function's time."`
	Ingest     string `help:"Add a function that takes facts in: function-url or http-api." enum:",function-url,http-api" default:""`
	AlarmTopic string `help:"ARN of the SNS topic that alarms go to." placeholder:"ARN"`
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
	Role    string `help:"reader asks the patterns; writer also stores facts, and never changes one; worker also reads changes and writes what is derived; keeper also changes and deletes facts, which erasure does." enum:"reader,writer,worker,keeper" default:"reader"`
	Account string `help:"Account of the table." default:"*"`
	Region  string `help:"Region of the table." default:"*"`
	Inline  bool   `help:"Write it whole, as an inline policy of a role: at most 10,240 characters, where a managed policy has at most 6,144."`
	Part    int    `help:"Of a policy that is too long for one managed policy: which of those is written, from 1. A role needs all."`
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
		return fmt.Errorf("policy_too_long: it takes %d managed policies, each of at most %d characters: write them with --part 1 to %d, or it whole with --inline, as a role's own", len(parts), infra.MaxManagedPolicy, len(parts))
	case c.Part < 0 || c.Part > len(parts):
		return fmt.Errorf("no_such_part: there are %d, not %d", len(parts), c.Part)
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
		_, err := fmt.Fprintln(e.Out, "The table has the indexes of the schema: there is nothing to update.")
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
	fmt.Fprintln(&b, "DynamoDB changes one index in an update. Write each with --stage N, and wait until it is done.")
	_, err := e.Out.Write([]byte(b.String()))
	return err
}
