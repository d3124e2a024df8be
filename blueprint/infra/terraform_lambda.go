package infra

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

func (t *terraform) functions() {
	for _, f := range t.o.functions() {
		t.function(&f)
	}
	if t.o.Shifts {
		t.rule("work", shiftRate)
	} else {
		set(t.resource("Batches that could not be folded, to be looked at: the changes are in the stream for a day.", "aws_sqs_queue", "dead_letters"),
			"message_retention_seconds", 14*24*3600, "sqs_managed_sse_enabled", true)
		t.eventSource()
	}
	t.rule("schedule", scheduleRate)
	switch t.o.Ingest {
	case FunctionURL:
		set(t.resource("Keys of the API are checked by the function.", "aws_lambda_function_url", "ingest"),
			"function_name", expression("aws_lambda_function.ingest.function_name"), "authorization_type", "NONE")
		set(t.resource("", "aws_lambda_permission", "ingest_url"), "action", "lambda:InvokeFunctionUrl", "function_name", expression("aws_lambda_function.ingest.function_name"),
			"principal", "*", "function_url_auth_type", "NONE")
		set(t.resource("Since October 2025 both are needed.", "aws_lambda_permission", "ingest_invoke"), "action", "lambda:InvokeFunction", "function_name", expression("aws_lambda_function.ingest.function_name"),
			"principal", "*", "invoked_via_function_url", true)
	case HTTPAPI:
		set(t.resource("", "aws_apigatewayv2_api", "ingest"), "name", t.o.TableName+"-ingest", "protocol_type", "HTTP", "target", expression("aws_lambda_function.ingest.arn"))
		t.permission("ingest", "apigateway.amazonaws.com", `"${aws_apigatewayv2_api.ingest.execution_arn}/*"`)
	}
}

// rule calls a function periodically.
func (t *terraform) rule(function, rate string) {
	set(t.resource("", "aws_cloudwatch_event_rule", function), "schedule_expression", rate)
	set(t.resource("", "aws_cloudwatch_event_target", function), "rule", expression("aws_cloudwatch_event_rule."+function+".name"),
		"arn", expression("aws_lambda_function."+function+".arn"))
	t.permission(function, "events.amazonaws.com", "aws_cloudwatch_event_rule."+function+".arn")
}

func (t *terraform) permission(of, principal, source string) {
	set(t.resource("", "aws_lambda_permission", of), "action", "lambda:InvokeFunction", "function_name", expression("aws_lambda_function."+of+".function_name"),
		"principal", principal, "source_arn", expression(source))
}

// function writes a function with its role, which has only the necessary permissions.
func (t *terraform) function(f *functionNeeds) {
	assume := t.block("", "data", "aws_iam_policy_document", f.mode+"_assume").AppendNewBlock("statement", nil).Body()
	set(assume, "actions", []string{"sts:AssumeRole"})
	set(assume.AppendNewBlock("principals", nil).Body(), "type", "Service", "identifiers", []string{"lambda.amazonaws.com"})
	policy := t.block("", "data", "aws_iam_policy_document", f.mode)
	for _, st := range roles[f.role](t.s) {
		t.statement(policy, &st)
	}
	if f.mode == "stream" {
		set(policy.AppendNewBlock("statement", nil).Body(), "sid", "SendDeadLetters", "actions", []string{"sqs:SendMessage"}, "resources", expression("[aws_sqs_queue.dead_letters.arn]"))
	}
	set(policy.AppendNewBlock("statement", nil).Body(), "sid", "WriteLogs", "actions", []string{"logs:CreateLogStream", "logs:PutLogEvents"},
		"resources", expression(`["${aws_cloudwatch_log_group.`+f.mode+`.arn}:*"]`))
	set(t.resource("", "aws_iam_role", f.mode), "assume_role_policy", expression("data.aws_iam_policy_document."+f.mode+"_assume.json"))
	set(t.resource("", "aws_iam_role_policy", f.mode), "role", expression("aws_iam_role."+f.mode+".id"), "policy", expression("data.aws_iam_policy_document."+f.mode+".json"))
	set(t.resource("", "aws_cloudwatch_log_group", f.mode), "retention_in_days", 30)
	b := t.resource(f.why, "aws_lambda_function", f.mode)
	set(b, "function_name", expression(`"${var.table_name}-`+f.mode+`"`), "runtime", "provided.al2023", "architectures", []string{"arm64"}, "handler", "bootstrap",
		"filename", expression("var.function_zip"), "source_code_hash", expression("filebase64sha256(var.function_zip)"),
		"memory_size", f.memory, "timeout", f.seconds, "role", expression("aws_iam_role."+f.mode+".arn"))
	set(b.AppendNewBlock("logging_config", nil).Body(), "log_format", "JSON", "log_group", expression("aws_cloudwatch_log_group."+f.mode+".name"))
	variables := []hclwrite.ObjectAttrTokens{
		{Name: hclwrite.TokensForIdentifier("ONEFOLD_STORE"), Value: expression(`"dynamodb://${` + tableRef + `.name}"`).tokens()},
		{Name: hclwrite.TokensForIdentifier("ONEFOLD_MODE"), Value: hclwrite.TokensForValue(cty.StringVal(f.mode))},
	}
	for _, v := range f.variables() {
		value := hclwrite.TokensForValue(cty.StringVal(v.text))
		if v.stream {
			value = expression(tableRef + ".stream_arn").tokens()
		}
		variables = append(variables, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(v.name), Value: value})
	}
	b.AppendNewBlock("environment", nil).Body().SetAttributeRaw("variables", hclwrite.TokensForObject(variables))
}

func (t *terraform) statement(policy *hclwrite.Body, st *Statement) {
	b := policy.AppendNewBlock("statement", nil).Body()
	resources := ""
	for i, r := range st.Resource {
		if i > 0 {
			resources += ", "
		}
		switch {
		case r.Stream:
			resources += tableRef + ".stream_arn"
		case r.Index != "":
			resources += `"${` + tableRef + `.arn}/index/` + r.Index + `"`
		default:
			resources += tableRef + ".arn"
		}
	}
	set(b, "sid", st.Sid, "effect", st.Effect, "actions", st.Action, "resources", expression("["+resources+"]"))
	for _, operator := range sortedKeys(st.Condition) {
		for _, key := range sortedKeys(st.Condition[operator]) {
			set(b.AppendNewBlock("condition", nil).Body(), "test", operator, "variable", key, "values", st.Condition[operator][key])
		}
	}
}

// eventSource passes changes of folded entities to the function.
func (t *terraform) eventSource() {
	b := t.resource("Events of a window name their shard, which marks are kept by; the changes of a shard stay in order.", "aws_lambda_event_source_mapping", "changes")
	set(b, "event_source_arn", expression(tableRef+".stream_arn"), "function_name", expression("aws_lambda_function.stream.arn"),
		"starting_position", "TRIM_HORIZON", "batch_size", batchRecords, "maximum_batching_window_in_seconds", batchSeconds,
		"tumbling_window_in_seconds", windowSeconds, "parallelization_factor", 1, "bisect_batch_on_function_error", true,
		"function_response_types", []string{"ReportBatchItemFailures"}, "maximum_record_age_in_seconds", maxAgeSeconds, "maximum_retry_attempts", maxRetries)
	failure := b.AppendNewBlock("destination_config", nil).Body().AppendNewBlock("on_failure", nil).Body()
	set(failure, "destination_arn", expression("aws_sqs_queue.dead_letters.arn"))
	filters := b.AppendNewBlock("filter_criteria", nil).Body()
	for _, pattern := range t.o.filterPatterns() {
		set(filters.AppendNewBlock("filter", nil).Body(), "pattern", pattern)
	}
}
