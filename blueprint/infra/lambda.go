package infra

// Configuration of the event source that passes changes to fold.Worker.Handle. A tumbling window
// makes events name their shard, and a parallelization factor of 1 keeps the changes of a shard in
// order.
const (
	batchRecords  = 10_000 // AWS's maximum: changes that arrive together are written once
	batchSeconds  = 10     // with 1 s, an event needed up to three times as many write units
	windowSeconds = 60
	maxAgeSeconds = 24 * 3600 // as long as the stream keeps changes
	maxRetries    = 10_000    // AWS's maximum: the age ends retries
	memoryMB      = 512
	streamSeconds = 60
	scheduleRate  = "rate(1 minute)" // as often as a server checks: alerts are sent then

	// A shift takes the maximum duration of a function, so that one follows another.
	shiftSeconds    = 15 * 60
	shiftRate       = "rate(15 minutes)"
	shiftMemoryMB   = 1769 // one full CPU
	shiftFoldDelay  = "5s"
	shiftVisitDelay = "2m"
)

// functionNeeds describes a function of the stack.
type functionNeeds struct {
	id, mode string
	role     role
	seconds  int
	memory   int
	why      string
}

func (o *Options) functions() []functionNeeds {
	folds := functionNeeds{"StreamFunction", "stream", worker, streamSeconds, memoryMB, "Folds the table's changes."}
	if o.Shifts {
		folds = functionNeeds{"WorkFunction", "work", worker, shiftSeconds, shiftMemoryMB, "Folds the table's changes, a shift after the other."}
	}
	all := []functionNeeds{folds, {"ScheduleFunction", "schedule", keeper, 15 * 60, memoryMB, "Rolls up, erases and tells what is due."}}
	if o.Ingest != NoIngest {
		all = append(all, functionNeeds{"IngestFunction", "ingest", writer, 10, memoryMB, "Takes facts in."})
	}
	return all
}

// variable is an environment variable of a function. Its value is a text or the ARN of the table's
// stream.
type variable struct {
	name, text string
	stream     bool
}

// variables returns the variables besides the store and the mode.
func (f *functionNeeds) variables() []variable {
	stream := variable{name: "ONEFOLD_STREAM", stream: true}
	switch f.mode {
	case "schedule":
		return []variable{stream}
	case "work":
		return []variable{stream, {name: "ONEFOLD_FOLD_DELAY", text: shiftFoldDelay}, {name: "ONEFOLD_VISIT_DELAY", text: shiftVisitDelay}}
	}
	return nil
}

func (c *cloudFormation) functions() object {
	var all object
	for _, f := range c.o.functions() {
		all = append(all, c.function(&f)...)
	}
	if c.o.Shifts {
		all = append(all, rule("Shifts", shiftRate, "WorkFunction", "work")...)
	} else {
		all = append(all, c.eventSource()...)
	}
	all = append(all, rule("Schedule", scheduleRate, "ScheduleFunction", "schedule")...)
	switch c.o.Ingest {
	case FunctionURL:
		all = append(all,
			entry("IngestUrl", object{entry("Type", "AWS::Lambda::Url"), entry("Properties", object{
				entry("TargetFunctionArn", attribute("IngestFunction", "Arn")), commented("Keys of the API are checked by the function.", "AuthType", "NONE"),
			})}),
			entry("IngestMayBeCalled", object{entry("Type", "AWS::Lambda::Permission"), entry("Properties", object{
				entry("Action", "lambda:InvokeFunctionUrl"), entry("FunctionName", ref("IngestFunction")), entry("Principal", "*"), entry("FunctionUrlAuthType", "NONE"),
			})}),
			commented("Since October 2025 both are needed.", "IngestMayBeInvoked", object{entry("Type", "AWS::Lambda::Permission"), entry("Properties", object{
				entry("Action", "lambda:InvokeFunction"), entry("FunctionName", ref("IngestFunction")), entry("Principal", "*"), entry("InvokedViaFunctionUrl", true),
			})}))
	case HTTPAPI:
		all = append(all,
			entry("IngestApi", object{entry("Type", "AWS::ApiGatewayV2::Api"), entry("Properties", object{
				entry("Name", c.o.TableName+"-ingest"), entry("ProtocolType", "HTTP"), entry("Target", attribute("IngestFunction", "Arn")),
			})}),
			entry("IngestMayBeCalled", permission("IngestFunction", "apigateway.amazonaws.com",
				substitute("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${IngestApi}/*"))))
	}
	return all
}

// rule calls a function periodically.
func rule(id, rate, function, target string) object {
	return object{
		entry(id, object{entry("Type", "AWS::Events::Rule"), entry("Properties", object{
			entry("ScheduleExpression", rate),
			entry("Targets", list{object{entry("Arn", attribute(function, "Arn")), entry("Id", target)}}),
		})}),
		entry(id+"MayCall", permission(function, "events.amazonaws.com", attribute(id, "Arn"))),
	}
}

func permission(of, principal string, source any) object {
	return object{entry("Type", "AWS::Lambda::Permission"), entry("Properties", object{
		entry("Action", "lambda:InvokeFunction"), entry("FunctionName", ref(of)), entry("Principal", principal), entry("SourceArn", source),
	})}
}

// function returns a function with its role, which has only the necessary permissions.
func (c *cloudFormation) function(f *functionNeeds) object {
	var policy list
	for _, st := range roles[f.role](c.s) {
		var resources list
		for _, r := range st.Resource {
			switch {
			case r.Stream:
				resources = append(resources, attribute("Table", "StreamArn"))
			case r.Index != "":
				resources = append(resources, substitute("${Table.Arn}/index/"+r.Index))
			default:
				resources = append(resources, attribute("Table", "Arn"))
			}
		}
		policy = append(policy, statementObject(&st, resources))
	}
	if f.mode == "stream" {
		policy = append(policy, object{entry("Sid", "SendDeadLetters"), entry("Effect", "Allow"), entry("Action", list{"sqs:SendMessage"}), entry("Resource", list{attribute("DeadLetters", "Arn")})})
	}
	policy = append(policy, object{entry("Sid", "WriteLogs"), entry("Effect", "Allow"), entry("Action", list{"logs:CreateLogStream", "logs:PutLogEvents"}), entry("Resource", list{attribute(f.id+"Logs", "Arn")})})
	role := object{entry("Type", "AWS::IAM::Role"), entry("Properties", object{
		entry("AssumeRolePolicyDocument", object{entry("Version", policyVersion), entry("Statement", list{object{
			entry("Effect", "Allow"), entry("Principal", object{entry("Service", list{"lambda.amazonaws.com"})}), entry("Action", list{"sts:AssumeRole"}),
		}})}),
		entry("Policies", list{object{entry("PolicyName", string(f.role)), entry("PolicyDocument", object{entry("Version", policyVersion), entry("Statement", policy)})}}),
	})}
	logs := object{entry("Type", "AWS::Logs::LogGroup"), entry("Properties", object{entry("RetentionInDays", 30)})}
	return object{entry(f.id+"Role", role), entry(f.id+"Logs", logs), commented(f.why, f.id, c.lambda(f))}
}

func (c *cloudFormation) lambda(f *functionNeeds) object {
	variables := object{entry("ONEFOLD_STORE", substitute("dynamodb://${Table}")), entry("ONEFOLD_MODE", f.mode)}
	for _, v := range f.variables() {
		if v.stream {
			variables = append(variables, entry(v.name, attribute("Table", "StreamArn")))
		} else {
			variables = append(variables, entry(v.name, v.text))
		}
	}
	return object{entry("Type", "AWS::Lambda::Function"), entry("Properties", object{
		entry("Runtime", "provided.al2023"), entry("Architectures", list{"arm64"}), entry("Handler", "bootstrap"),
		entry("Code", object{entry("S3Bucket", ref("CodeBucket")), entry("S3Key", ref("CodeKey"))}),
		entry("MemorySize", f.memory), entry("Timeout", f.seconds), entry("Role", attribute(f.id+"Role", "Arn")),
		entry("LoggingConfig", object{entry("LogFormat", "JSON"), entry("LogGroup", ref(f.id+"Logs"))}),
		entry("Environment", object{entry("Variables", variables)}),
	})}
}

func statementObject(st *Statement, resources list) object {
	o := object{commented(st.why, "Sid", st.Sid), entry("Effect", st.Effect), entry("Action", texts(st.Action)), entry("Resource", resources)}
	if len(st.Condition) == 0 {
		return o
	}
	var condition object
	for _, operator := range sortedKeys(st.Condition) {
		var keys object
		for _, key := range sortedKeys(st.Condition[operator]) {
			keys = append(keys, entry(key, texts(st.Condition[operator][key])))
		}
		condition = append(condition, entry(operator, keys))
	}
	return append(o, entry("Condition", condition))
}

// eventSource passes changes of folded entities to the function.
func (c *cloudFormation) eventSource() object {
	return object{
		commented("Batches that could not be folded, to be looked at: the changes are in the stream for a day.", "DeadLetters", object{
			entry("Type", "AWS::SQS::Queue"), entry("Properties", object{entry("MessageRetentionPeriod", 14*24*3600), entry("SqsManagedSseEnabled", true)}),
		}),
		entry("Changes", object{entry("Type", "AWS::Lambda::EventSourceMapping"), entry("Properties", object{
			entry("EventSourceArn", attribute("Table", "StreamArn")), entry("FunctionName", ref("StreamFunction")),
			entry("StartingPosition", "TRIM_HORIZON"), entry("BatchSize", batchRecords), entry("MaximumBatchingWindowInSeconds", batchSeconds),
			commented("Events of a window name their shard, which marks are kept by.", "TumblingWindowInSeconds", windowSeconds),
			commented("The changes of a shard stay in order.", "ParallelizationFactor", 1),
			entry("BisectBatchOnFunctionError", true), entry("FunctionResponseTypes", list{"ReportBatchItemFailures"}),
			entry("MaximumRecordAgeInSeconds", maxAgeSeconds), entry("MaximumRetryAttempts", maxRetries),
			entry("DestinationConfig", object{entry("OnFailure", object{entry("Destination", attribute("DeadLetters", "Arn"))})}),
			entry("FilterCriteria", object{entry("Filters", c.filters())}),
		})}),
	}
}

// filters admit changes of folded entities, by their new or old image.
func (c *cloudFormation) filters() list {
	var all list
	for _, pattern := range c.o.filterPatterns() {
		all = append(all, object{entry("Pattern", pattern)})
	}
	return all
}
