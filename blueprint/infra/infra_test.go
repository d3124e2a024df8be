package infra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.yaml.in/yaml/v3"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/infra"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

const topic = "arn:aws:sns:eu-west-1:123456789012:alarms"

// stacks returns all forms of the output.
func stacks() map[string]func(write func(*table.Schema, infra.Options) ([]byte, error)) ([]byte, error) {
	of := func(s *table.Schema, o infra.Options) func(func(*table.Schema, infra.Options) ([]byte, error)) ([]byte, error) {
		return func(write func(*table.Schema, infra.Options) ([]byte, error)) ([]byte, error) { return write(s, o) }
	}
	return map[string]func(func(*table.Schema, infra.Options) ([]byte, error)) ([]byte, error){
		"a table":               of(analytics.Schema, infra.Options{}),
		"bounded":               of(telemetry.Schema, infra.Options{Read: infra.Bounds{Max: 4000}, Write: infra.Bounds{Max: 1000}, AlarmTopic: topic}),
		"provisioned":           of(analytics.Schema, infra.Options{Provisioned: true, Write: infra.Bounds{Min: 10, Max: 400}}),
		"functions":             of(eventstore.Schema, infra.Options{Functions: true}),
		"shifts":                of(telemetry.Schema, infra.Options{Functions: true, Shifts: true}),
		"ingest by URL":         of(analytics.Schema, infra.Options{Functions: true, Ingest: infra.FunctionURL, Sources: []string{"analytics.event"}}),
		"ingest by an HTTP API": of(telemetry.Schema, infra.Options{Functions: true, Ingest: infra.HTTPAPI, AlarmTopic: topic}),
	}
}

// TestCloudFormation checks the templates against AWS's own description of its resources.
func TestCloudFormation(t *testing.T) {
	if os.Getenv("ONEFOLD_TEST_SERVICESPEC") == "" {
		t.Skip("AWS's description of its resources is missing: run `make servicespec` to install it, and set ONEFOLD_TEST_SERVICESPEC=1, as `make test` does")
	}
	for name, stack := range stacks() {
		t.Run(name, func(t *testing.T) {
			b, err := stack(infra.CloudFormation)
			if err != nil {
				t.Fatal(err)
			}
			if findings := validate(t, b); findings != "" {
				t.Errorf("%s\n%s", findings, b)
			}
		})
	}
	wrong := "Resources:\n  Table:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      BillingMode: FREE\n      Colour: red\n"
	if findings := validate(t, []byte(wrong)); !strings.Contains(findings, "Table.Colour: there is no such property") ||
		!strings.Contains(findings, "Table.KeySchema: it is required") {
		t.Errorf("a wrong template: %q", findings)
	}
}

func validate(t *testing.T, template []byte) string {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal(template, &n); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(plain(t, n.Content[0]))
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "validate.mjs")
	node.Dir, node.Stdin, node.Stderr = "servicespec", bytes.NewReader(b), os.Stderr
	out, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// plain converts YAML with CloudFormation's short functions to the form that JSON has.
func plain(t *testing.T, n *yaml.Node) any {
	t.Helper()
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		name := strings.TrimPrefix(n.Tag, "!")
		if name != "Ref" {
			name = "Fn::" + name
		}
		return map[string]any{name: n.Value}
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(t, n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		all := make([]any, len(n.Content))
		for i, c := range n.Content {
			all[i] = plain(t, c)
		}
		return all
	}
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTerraform checks that the configuration is formatted as Terraform formats it, and valid as
// far as Terraform can tell.
func TestTerraform(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is missing: install version 1.5 or later from HashiCorp to check the generated files; set ONEFOLD_TERRAFORM_PLUGINS to a directory with the AWS provider to validate them as well")
	}
	plugins := os.Getenv("ONEFOLD_TERRAFORM_PLUGINS")
	for name, stack := range stacks() {
		t.Run(name, func(t *testing.T) {
			b, err := stack(infra.Terraform)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			config := filepath.Join(dir, "cli.tfrc")
			mirror := "provider_installation {\n  filesystem_mirror {\n    path = \"" + filepath.ToSlash(plugins) + "\"\n  }\n}\n"
			for file, content := range map[string][]byte{"main.tf": b, "cli.tfrc": []byte(mirror)} {
				if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func(args ...string) {
				t.Helper()
				c := exec.CommandContext(t.Context(), terraform, args...)
				c.Dir, c.Env = dir, append(os.Environ(), "TF_CLI_CONFIG_FILE="+config, "CHECKPOINT_DISABLE=1")
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("terraform %s: %v\n%s", args[0], err, out)
				}
			}
			run("fmt", "-check", "-diff", "-no-color")
			if plugins == "" {
				t.Log("ONEFOLD_TERRAFORM_PLUGINS names no directory with the AWS provider: its validate is not run")
				return
			}
			run("init", "-no-color", "-backend=false")
			run("validate", "-no-color")
		})
	}
}

// TestPoliciesAreLeast checks that no policy lets a role scan or access the table as a whole, and
// that every action is limited to keys of the schema's forms.
func TestPoliciesAreLeast(t *testing.T) {
	for _, s := range []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema} {
		for _, role := range infra.Roles() {
			statements, err := infra.Role(s, role)
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range statements {
				for _, action := range st.Action {
					if strings.Contains(action, "*") || strings.Contains(action, "Scan") || strings.Contains(action, "Table") && action != "dynamodb:DescribeTable" {
						t.Errorf("%s %s: %s allows %s", s.Name(), role, st.Sid, action)
					}
				}
				if st.Effect == "Allow" && len(st.Condition) == 0 && st.Sid != "ReadStream" && st.Sid != "Describe" {
					t.Errorf("%s %s: %s has no condition", s.Name(), role, st.Sid)
				}
				for _, keys := range st.Condition["ForAllValues:StringLike"] {
					if slices.Contains(keys, "*") || len(keys) == 0 {
						t.Errorf("%s %s: %s reaches %q", s.Name(), role, st.Sid, keys)
					}
				}
			}
			if writes := slices.ContainsFunc(statements, func(st infra.Statement) bool { return slices.Contains(st.Action, "dynamodb:PutItem") }); writes == (role == "reader") {
				t.Errorf("%s: a %s writes: %t", s.Name(), role, writes)
			}
		}
	}
	if _, err := infra.Role(analytics.Schema, "root"); !errors.Is(err, infra.ErrOptions) {
		t.Errorf("error %v", err)
	}
}

// TestDeterministic checks that the same schema and options produce the same bytes, and that no
// template variable is left in them.
func TestDeterministic(t *testing.T) {
	left := regexp.MustCompile(`#\{|\{[a-z]+[A-Za-z]*(:[^}]*)?\}`)
	for name, stack := range stacks() {
		for _, write := range []func(*table.Schema, infra.Options) ([]byte, error){infra.CloudFormation, infra.Terraform} {
			first, err := stack(write)
			if err != nil {
				t.Fatal(err)
			}
			second, err := stack(write)
			if err != nil || !bytes.Equal(first, second) {
				t.Errorf("%s: it was written differently, or failed: %v", name, err)
			}
			for _, line := range strings.Split(string(first), "\n") {
				if !strings.Contains(line, "${") && left.MatchString(line) && !strings.Contains(line, "Pattern") && !strings.Contains(line, "pattern") {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
	}
}

// TestStages checks that indexes are created and deleted one at a time, and that the new ones exist
// before the old ones are deleted.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		have []string
		want string
	}{
		{[]string{"gsi1"}, "[]"},
		{nil, "[{[gsi1] gsi1 }]"},
		{[]string{"gsi3", "gsi2"}, "[{[gsi1 gsi2 gsi3] gsi1 } {[gsi1 gsi3]  gsi2} {[gsi1]  gsi3}]"},
	} {
		if got := fmt.Sprint(infra.Stages(telemetry.Schema, c.have)); got != c.want {
			t.Errorf("from %v: %s, want %s", c.have, got, c.want)
		}
	}
}

// TestCreateTable checks that the generated request creates the table, both on the engine and on an
// independent implementation.
func TestCreateTable(t *testing.T) {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, o := range map[string]infra.Options{"on-demand": {Write: infra.Bounds{Max: 100}}, "provisioned": {Provisioned: true}} {
		t.Run(name, func(t *testing.T) {
			o.TableName = name
			createTable(t, db, o)
		})
	}
	t.Run("dynalite", func(t *testing.T) {
		client := dynamodb.New(dynamodb.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(dynamotest.StartDynalite(t)),
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
			}),
		})
		createTable(t, client, infra.Options{TableName: "dynalite"})
	})
}

func createTable(t *testing.T, api dynamo.API, o infra.Options) {
	t.Helper()
	b, err := infra.CreateTable(telemetry.Schema, o)
	if err != nil {
		t.Fatal(err)
	}
	var in dynamodb.CreateTableInput
	if err := dynamojson.DecodeInput(b, &in); err != nil {
		t.Fatal(err)
	}
	out, err := api.CreateTable(t.Context(), &in)
	if err != nil {
		t.Fatal(err)
	}
	if d := out.TableDescription; *d.TableName != o.TableName || len(d.GlobalSecondaryIndexes) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]infra.Options{
		"a name":               {TableName: "a#b"},
		"ingest alone":         {Ingest: infra.FunctionURL},
		"shifts of nobody":     {Shifts: true},
		"another way in":       {Functions: true, Ingest: "pigeon"},
		"a topic":              {AlarmTopic: "alarms"},
		"an index":             {Indexes: []string{"a#"}},
		"a least, on demand":   {Read: infra.Bounds{Min: 5}},
		"more least than most": {Provisioned: true, Read: infra.Bounds{Min: 50, Max: 20}},
		"too much":             {Write: infra.Bounds{Max: 50_000}},
		"less than nothing":    {Write: infra.Bounds{Max: -1}},
	} {
		for _, write := range []func(*table.Schema, infra.Options) ([]byte, error){infra.CloudFormation, infra.Terraform} {
			if _, err := write(analytics.Schema, o); !errors.Is(err, infra.ErrOptions) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

// TestPoliciesFit checks that AWS accepts the policies: for any table name, each part fits in a
// managed policy, and all parts together contain the same statements as the whole.
func TestPoliciesFit(t *testing.T) {
	all := table.MustSchema("all", analytics.Schema, telemetry.Schema, eventstore.Schema)
	long := "arn:aws:dynamodb:ap-southeast-2:123456789012:table/" + strings.Repeat("n", 255)
	for _, arn := range []string{"arn:aws:dynamodb:*:*:table/all", long} {
		for _, role := range infra.Roles() {
			whole, err := infra.Policy(all, role, arn)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := infra.Policies(all, role, arn)
			if err != nil || arn != long && len(parts) != 1 || arn == long && role == "worker" && len(parts) < 2 {
				t.Fatalf("%s: %d parts, error %v", role, len(parts), err)
			}
			type document struct{ Statement []any }
			var want, got document
			if err := json.Unmarshal(whole, &want); err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				var compact bytes.Buffer
				var d document
				if err := errors.Join(json.Compact(&compact, part), json.Unmarshal(part, &d)); err != nil || compact.Len() > infra.MaxManagedPolicy {
					t.Errorf("%s: a part has %d characters, error %v", role, compact.Len(), err)
				}
				got.Statement = append(got.Statement, d.Statement...)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the parts do not say what the whole says", role)
			}
		}
	}
}

// TestPoliciesThatAreTooLong checks that a statement that fits in no policy is refused before AWS
// refuses it.
func TestPoliciesThatAreTooLong(t *testing.T) {
	arn := "arn:aws:dynamodb:*:*:table/" + strings.Repeat("n", 6_200)
	if _, err := infra.Policies(analytics.Schema, "reader", arn); !errors.Is(err, infra.ErrPolicyLength) {
		t.Errorf("a statement longer than a policy: %v", err)
	}
	if _, err := infra.Policy(analytics.Schema, "worker", arn); !errors.Is(err, infra.ErrPolicyLength) {
		t.Errorf("a policy longer than a role's: %v", err)
	}
	var all []table.Part
	type Key struct {
		ID string `dynamodbav:"id"`
	}
	type item struct{ Key }
	for i := range 400 {
		all = append(all, table.Define[item, Key](fmt.Sprintf("e%d", i), table.Def[item]{PK: fmt.Sprintf("KIND-OF-ITEM-%d#{id}", i), SK: "X"}))
	}
	if _, err := infra.CloudFormation(table.MustSchema("much", all...), infra.Options{Functions: true}); !errors.Is(err, infra.ErrPolicyLength) {
		t.Errorf("functions whose roles are too long: %v", err)
	}
}

// TestNoLeadingStar checks that no key pattern begins with a star. Such a pattern would give access
// to the partitions of other tenants.
func TestNoLeadingStar(t *testing.T) {
	for _, s := range []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema} {
		for _, st := range slices.Concat(infra.Reading(s), infra.Writing(s), infra.Ingesting(s), infra.Folding(s)) {
			for _, key := range st.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] {
				if strings.HasPrefix(key, "*") {
					t.Errorf("%s: %s lets in the partitions %s of everybody", s.Name(), st.Sid, key)
				}
			}
		}
	}
}
