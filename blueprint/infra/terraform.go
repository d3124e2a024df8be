package infra

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/onefold/onefold/table"
)

// Terraform returns the stack of a schema as Terraform configuration, for the AWS provider from
// version 5.100. Errors: ErrOptions.
func Terraform(s *table.Schema, o Options) ([]byte, error) {
	if err := o.complete(s); err != nil {
		return nil, err
	}
	t := &terraform{s: s, o: &o, f: hclwrite.NewEmptyFile()}
	t.comment("The table of " + s.Name() + ", made from its schema by onefold infra terraform.")
	t.head()
	t.table()
	t.scaling()
	t.alarms()
	if o.Functions {
		t.functions()
	}
	t.outputs()
	return hclwrite.Format(t.f.Bytes()), nil
}

type terraform struct {
	s *table.Schema
	o *Options
	f *hclwrite.File
}

func (t *terraform) comment(text string) {
	t.f.Body().AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte("# " + text + "\n")}})
}

// block starts a block, preceded by a comment with the reason for it.
func (t *terraform) block(why, kind string, labels ...string) *hclwrite.Body {
	t.f.Body().AppendNewline()
	if why != "" {
		t.comment(why)
	}
	return t.f.Body().AppendNewBlock(kind, labels).Body()
}

func (t *terraform) resource(why, kind, name string) *hclwrite.Body {
	return t.block(why, "resource", kind, name)
}

// set sets attributes, given as alternating names and values.
func set(b *hclwrite.Body, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case string:
			b.SetAttributeValue(name, cty.StringVal(v))
		case int:
			b.SetAttributeValue(name, cty.NumberIntVal(int64(v)))
		case bool:
			b.SetAttributeValue(name, cty.BoolVal(v))
		case []string:
			b.SetAttributeValue(name, stringList(v))
		case expression:
			b.SetAttributeRaw(name, v.tokens())
		}
	}
}

func stringList(of []string) cty.Value {
	all := make([]cty.Value, len(of))
	for i, s := range of {
		all[i] = cty.StringVal(s)
	}
	if len(all) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	return cty.ListVal(all)
}

// expression is a reference such as aws_dynamodb_table.this.arn, or a call.
type expression string

func (e expression) tokens() hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(e)}}
}

// tableRef is the address of the table resource.
const tableRef = "aws_dynamodb_table.this"

func (t *terraform) head() {
	b := t.block("", "terraform")
	set(b, "required_version", ">= 1.5")
	version := ">= 5.100"
	if t.o.Ingest == FunctionURL {
		version = ">= 6.28" // the first version with invoked_via_function_url
	}
	providers := b.AppendNewBlock("required_providers", nil).Body()
	providers.SetAttributeValue("aws", cty.ObjectVal(map[string]cty.Value{"source": cty.StringVal("hashicorp/aws"), "version": cty.StringVal(version)}))
	set(t.block("", "variable", "table_name"), "type", expression("string"), "default", t.o.TableName)
	if t.o.Functions {
		set(t.block("", "variable", "function_zip"), "type", expression("string"), "description", "Path of onefold-lambda-arm64.zip.")
	}
}

func (t *terraform) table() {
	b := t.resource("All facts, and all that is derived from them.", "aws_dynamodb_table", "this")
	in := t.o.request(t.s)
	mode := "PAY_PER_REQUEST"
	if t.o.Provisioned {
		mode = "PROVISIONED"
	}
	set(b, "name", expression("var.table_name"), "billing_mode", mode, "hash_key", table.AttrPK, "range_key", table.AttrSK,
		"stream_enabled", true, "stream_view_type", "NEW_AND_OLD_IMAGES", "deletion_protection_enabled", true)
	t.throughput(b)
	for _, a := range in.AttributeDefinitions {
		set(b.AppendNewBlock("attribute", nil).Body(), "name", *a.AttributeName, "type", string(a.AttributeType))
	}
	for _, x := range in.GlobalSecondaryIndexes {
		index := b.AppendNewBlock("global_secondary_index", nil).Body()
		set(index, "name", *x.IndexName, "hash_key", *x.IndexName+"pk", "range_key", *x.IndexName+"sk", "projection_type", "ALL")
		t.throughput(index)
	}
	set(b.AppendNewBlock("ttl", nil).Body(), "attribute_name", table.AttrTTL, "enabled", true)
	set(b.AppendNewBlock("point_in_time_recovery", nil).Body(), "enabled", true, "recovery_period_in_days", 35)
	set(b.AppendNewBlock("server_side_encryption", nil).Body(), "enabled", true)
	life := b.AppendNewBlock("lifecycle", nil).Body()
	set(life, "prevent_destroy", true)
	if t.o.Provisioned {
		set(life, "ignore_changes", expression("[read_capacity, write_capacity]"))
	}
}

func (t *terraform) throughput(b *hclwrite.Body) {
	if t.o.Provisioned {
		set(b, "read_capacity", t.o.Read.Min, "write_capacity", t.o.Write.Min)
		return
	}
	if t.o.Read.Max == 0 && t.o.Write.Max == 0 {
		return
	}
	most := b.AppendNewBlock("on_demand_throughput", nil).Body()
	if t.o.Read.Max > 0 {
		set(most, "max_read_request_units", t.o.Read.Max)
	}
	if t.o.Write.Max > 0 {
		set(most, "max_write_request_units", t.o.Write.Max)
	}
}

func (t *terraform) scaling() {
	if !t.o.Provisioned {
		return
	}
	for _, index := range append([]string{""}, t.o.Indexes...) {
		kind, place := "table", `"table/${`+tableRef+`.name}"`
		if index != "" {
			kind, place = "index", `"table/${`+tableRef+`.name}/index/`+index+`"`
		}
		for _, d := range []struct {
			name   string
			bounds Bounds
		}{{"Read", t.o.Read}, {"Write", t.o.Write}} {
			id := strings.TrimPrefix(index+"_"+strings.ToLower(d.name), "_")
			target := t.resource("", "aws_appautoscaling_target", id)
			set(target, "service_namespace", "dynamodb", "resource_id", expression(place), "scalable_dimension", "dynamodb:"+kind+":"+d.name+"CapacityUnits",
				"min_capacity", d.bounds.Min, "max_capacity", d.bounds.Max)
			policy := t.resource("", "aws_appautoscaling_policy", id)
			at := "aws_appautoscaling_target." + id
			set(policy, "name", "follow-"+id, "policy_type", "TargetTrackingScaling", "service_namespace", expression(at+".service_namespace"),
				"resource_id", expression(at+".resource_id"), "scalable_dimension", expression(at+".scalable_dimension"))
			follow := policy.AppendNewBlock("target_tracking_scaling_policy_configuration", nil).Body()
			set(follow, "target_value", utilization)
			set(follow.AppendNewBlock("predefined_metric_specification", nil).Body(), "predefined_metric_type", "DynamoDB"+d.name+"CapacityUtilization")
		}
	}
}

// terraformRefs maps the names of resources in alarms to Terraform expressions.
var terraformRefs = map[string]expression{
	"Table": tableRef + ".name", "StreamFunction": "aws_lambda_function.stream.function_name", "WorkFunction": "aws_lambda_function.work.function_name", "DeadLetters.QueueName": "aws_sqs_queue.dead_letters.name",
}

func (t *terraform) alarms() {
	for _, a := range t.o.alarms() {
		b := t.resource("", "aws_cloudwatch_metric_alarm", snake(a.id))
		set(b, "alarm_name", expression(`"${var.table_name}-`+a.id+`"`), "alarm_description", a.why, "namespace", a.namespace, "metric_name", a.metric)
		var tokens []hclwrite.ObjectAttrTokens
		for _, d := range a.dimensions {
			value := hclwrite.TokensForValue(cty.StringVal(d.text))
			if d.resource != "" {
				value = terraformRefs[d.resource].tokens()
			}
			tokens = append(tokens, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(d.name), Value: value})
		}
		b.SetAttributeRaw("dimensions", hclwrite.TokensForObject(tokens))
		set(b, "statistic", a.statistic, "period", 60, "evaluation_periods", a.minutes, "datapoints_to_alarm", min(a.minutes, 3),
			"threshold", a.threshold, "comparison_operator", "GreaterThanThreshold", "treat_missing_data", a.missing())
		if t.o.AlarmTopic != "" {
			set(b, "alarm_actions", []string{t.o.AlarmTopic}, "ok_actions", []string{t.o.AlarmTopic})
		}
	}
}

// snake converts a name from CamelCase to snake_case, as used by Terraform.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (t *terraform) outputs() {
	set(t.block("", "output", "table_name"), "value", expression(tableRef+".name"))
	set(t.block("", "output", "table_arn"), "value", expression(tableRef+".arn"))
	set(t.block("", "output", "stream_arn"), "value", expression(tableRef+".stream_arn"))
	switch t.o.Ingest {
	case FunctionURL:
		set(t.block("", "output", "ingest_url"), "value", expression("aws_lambda_function_url.ingest.function_url"))
	case HTTPAPI:
		set(t.block("", "output", "ingest_url"), "value", expression("aws_apigatewayv2_api.ingest.api_endpoint"))
	}
}
