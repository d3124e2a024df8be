package infra

import "strings"

// alarm is an alarm of the stack.
type alarm struct {
	id, why           string
	namespace, metric string
	statistic         string
	dimensions        []dimension
	threshold         int  // the alarm is raised above this value
	minutes           int  // duration
	silence           bool // missing data raises the alarm as well
}

// missing returns how to treat missing data.
func (a *alarm) missing() string {
	if a.silence {
		return "breaching"
	}
	return "notBreaching"
}

// dimension is a dimension of a metric. Its value is a text or the name of a resource.
type dimension struct{ name, text, resource string }

// The stream keeps changes for 24 hours, so half of that remains to react.
const streamAlarmHours = 12

// alarms returns the alarms of the stack.
func (o *Options) alarms() []alarm {
	var all []alarm
	table := dimension{name: "TableName", resource: "Table"}
	for _, index := range append([]string{""}, o.Indexes...) {
		dimensions := []dimension{table}
		if index != "" {
			dimensions = append(dimensions, dimension{name: "GlobalSecondaryIndexName", text: index})
		}
		for _, what := range []string{"Read", "Write"} {
			all = append(all, alarm{
				id: what + "Throttles" + sid(index), why: what + "s are refused: a key is hot, or a bound is reached. `onefold heat` tells which.",
				namespace: "AWS/DynamoDB", metric: what + "ThrottleEvents", statistic: "Sum", dimensions: dimensions, threshold: 0, minutes: 5,
			})
		}
	}
	if !o.Functions {
		return all
	}
	if o.Shifts {
		return append(all, shiftAlarms(table)...)
	}
	function := []dimension{{name: "FunctionName", resource: "StreamFunction"}}
	return append(all,
		alarm{
			id: "StreamAge", why: "The oldest change that is not folded is half as old as the stream remembers.",
			namespace: "AWS/Lambda", metric: "IteratorAge", statistic: "Maximum", dimensions: function, threshold: streamAlarmHours * 3600 * 1000, minutes: 5,
		},
		alarm{
			id: "StreamErrors", why: "Folding fails again and again.",
			namespace: "AWS/Lambda", metric: "Errors", statistic: "Sum", dimensions: function, threshold: 0, minutes: 15,
		},
		alarm{
			id: "DeadLetters", why: "Batches were given up: `onefold rebuild` makes what they touch.",
			namespace: "AWS/SQS", metric: "ApproximateNumberOfMessagesVisible", statistic: "Maximum",
			dimensions: []dimension{{name: "QueueName", resource: "DeadLetters.QueueName"}}, threshold: 0, minutes: 5,
		},
	)
}

// shiftAlarms returns the alarms of a function that works in shifts. It reports its own lag, and
// nothing if it does not run.
func shiftAlarms(table dimension) []alarm {
	return []alarm{
		{
			id: "StreamAge", why: "The oldest change that is not folded is half as old as the stream remembers, or nothing folds.", silence: true,
			namespace: "onefold", metric: "age", statistic: "Maximum", dimensions: []dimension{{name: "table", resource: table.resource}, {name: "mode", text: "work"}},
			threshold: streamAlarmHours * 3600 * 1000, minutes: 5,
		},
		{
			id: "StreamErrors", why: "Folding fails again and again.", namespace: "AWS/Lambda", metric: "Errors", statistic: "Sum",
			dimensions: []dimension{{name: "FunctionName", resource: "WorkFunction"}}, threshold: 0, minutes: 60,
		},
	}
}

func (c *cloudFormation) alarms() object {
	var all object
	for _, a := range c.o.alarms() {
		var dimensions list
		for _, d := range a.dimensions {
			value := any(d.text)
			if name, of, ok := strings.Cut(d.resource, "."); ok {
				value = attribute(name, of)
			} else if d.resource != "" {
				value = ref(d.resource)
			}
			dimensions = append(dimensions, object{entry("Name", d.name), entry("Value", value)})
		}
		properties := object{
			entry("AlarmDescription", a.why), entry("Namespace", a.namespace), entry("MetricName", a.metric), entry("Dimensions", dimensions),
			entry("Statistic", a.statistic), entry("Period", 60), entry("EvaluationPeriods", a.minutes), entry("DatapointsToAlarm", min(a.minutes, 3)),
			entry("Threshold", a.threshold), entry("ComparisonOperator", "GreaterThanThreshold"), entry("TreatMissingData", a.missing()),
		}.with(c.o.AlarmTopic != "", entry("AlarmActions", list{c.o.AlarmTopic}), entry("OKActions", list{c.o.AlarmTopic}))
		all = append(all, entry("Alarm"+a.id, object{entry("Type", "AWS::CloudWatch::Alarm"), entry("Properties", properties)}))
	}
	return all
}
