package infra

import (
	"github.com/onefold/onefold/table"
)

// CloudFormation returns the stack of a schema as a CloudFormation template in YAML. Errors:
// ErrOptions.
func CloudFormation(s *table.Schema, o Options) ([]byte, error) {
	if err := o.complete(s); err != nil {
		return nil, err
	}
	c := &cloudFormation{s: s, o: &o}
	resources := object{commented("All facts, and all that is derived from them.", "Table", c.table())}
	resources = append(resources, c.scaling()...)
	resources = append(resources, c.alarms()...)
	if o.Functions {
		resources = append(resources, c.functions()...)
	}
	template := object{
		entry("AWSTemplateFormatVersion", "2010-09-09"),
		entry("Description", "The table of "+s.Name()+", made from its schema by onefold infra cloudformation."),
		entry("Parameters", c.parameters()),
		entry("Resources", resources),
		entry("Outputs", c.outputs()),
	}
	return writeYAML(template)
}

type cloudFormation struct {
	s *table.Schema
	o *Options
}

func (c *cloudFormation) parameters() object {
	p := object{entry("TableName", object{entry("Type", "String"), entry("Default", c.o.TableName)})}
	return p.with(c.o.Functions,
		commented("Where the zip of the functions is.", "CodeBucket", object{entry("Type", "String")}),
		entry("CodeKey", object{entry("Type", "String"), entry("Default", "onefold-lambda-arm64.zip")}),
	)
}

func (c *cloudFormation) outputs() object {
	out := object{
		entry("TableName", object{entry("Value", ref("Table"))}),
		entry("TableArn", object{entry("Value", attribute("Table", "Arn"))}),
		entry("StreamArn", object{entry("Value", attribute("Table", "StreamArn"))}),
	}
	switch c.o.Ingest {
	case FunctionURL:
		out = append(out, entry("IngestUrl", object{entry("Value", attribute("IngestUrl", "FunctionUrl"))}))
	case HTTPAPI:
		out = append(out, entry("IngestUrl", object{entry("Value", attribute("IngestApi", "ApiEndpoint"))}))
	}
	return out
}

// table returns the table resource. It is retained when the stack is deleted or an update would
// replace it, because it holds the facts.
func (c *cloudFormation) table() object {
	in := c.o.request(c.s)
	var attributes, indexes list
	for _, a := range in.AttributeDefinitions {
		attributes = append(attributes, object{entry("AttributeName", *a.AttributeName), entry("AttributeType", string(a.AttributeType))})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		index := object{
			entry("IndexName", *x.IndexName), entry("KeySchema", keySchema(*x.IndexName+"pk", *x.IndexName+"sk")),
			entry("Projection", object{entry("ProjectionType", "ALL")}),
			entry("ContributorInsightsSpecification", insights()),
		}
		indexes = append(indexes, append(index, c.throughput()...))
	}
	properties := object{
		entry("TableName", ref("TableName")),
		entry("AttributeDefinitions", attributes),
		entry("KeySchema", keySchema(table.AttrPK, table.AttrSK)),
		entry("BillingMode", c.billing()),
	}
	properties = append(properties, c.throughput()...).with(len(indexes) > 0, entry("GlobalSecondaryIndexes", indexes))
	return object{
		entry("Type", "AWS::DynamoDB::Table"),
		commented("The facts outlive the stack.", "DeletionPolicy", "Retain"),
		entry("UpdateReplacePolicy", "Retain"),
		entry("Properties", append(properties,
			entry("StreamSpecification", object{entry("StreamViewType", "NEW_AND_OLD_IMAGES")}),
			entry("TimeToLiveSpecification", object{entry("AttributeName", table.AttrTTL), entry("Enabled", true)}),
			commented("Any second of the last 35 days can be restored.", "PointInTimeRecoverySpecification", object{entry("PointInTimeRecoveryEnabled", true), entry("RecoveryPeriodInDays", 35)}),
			entry("DeletionProtectionEnabled", true),
			entry("SSESpecification", object{entry("SSEEnabled", true)}),
			commented("Names keys that are throttled. Naming all that are used would be billed for every request.", "ContributorInsightsSpecification", insights()),
		)),
	}
}

func insights() object { return object{entry("Enabled", true), entry("Mode", "THROTTLED_KEYS")} }

func keySchema(pk, sk string) list {
	return list{
		object{entry("AttributeName", pk), entry("KeyType", "HASH")},
		object{entry("AttributeName", sk), entry("KeyType", "RANGE")},
	}
}

func (c *cloudFormation) billing() string {
	if c.o.Provisioned {
		return "PROVISIONED"
	}
	return "PAY_PER_REQUEST"
}

// throughput returns the capacity of the table, which each index gets as well: writes to the table
// are throttled if an index cannot keep up.
func (c *cloudFormation) throughput() object {
	if c.o.Provisioned {
		return object{entry("ProvisionedThroughput", object{entry("ReadCapacityUnits", c.o.Read.Min), entry("WriteCapacityUnits", c.o.Write.Min)})}
	}
	most := object{}.with(c.o.Read.Max > 0, entry("MaxReadRequestUnits", c.o.Read.Max)).with(c.o.Write.Max > 0, entry("MaxWriteRequestUnits", c.o.Write.Max))
	if len(most) == 0 {
		return nil
	}
	return object{entry("OnDemandThroughput", most)}
}

// utilization is the target utilization of provisioned capacity, in percent.
const utilization = 70

// scaling returns the resources that let provisioned capacity follow the load.
func (c *cloudFormation) scaling() object {
	if !c.o.Provisioned {
		return nil
	}
	var all object
	for _, index := range append([]string{""}, c.o.Indexes...) {
		for _, d := range []struct {
			name   string
			bounds Bounds
		}{{"Read", c.o.Read}, {"Write", c.o.Write}} {
			id, kind, place := sid(index)+d.name, "table", "table/${Table}"
			if index != "" {
				kind, place = "index", place+"/index/"+index
			}
			all = append(all,
				entry("Scale"+id, object{entry("Type", "AWS::ApplicationAutoScaling::ScalableTarget"), entry("Properties", object{
					entry("ServiceNamespace", "dynamodb"), entry("ResourceId", substitute(place)),
					entry("ScalableDimension", "dynamodb:"+kind+":"+d.name+"CapacityUnits"),
					entry("MinCapacity", d.bounds.Min), entry("MaxCapacity", d.bounds.Max),
				})}),
				entry("Follow"+id, object{entry("Type", "AWS::ApplicationAutoScaling::ScalingPolicy"), entry("Properties", object{
					entry("PolicyName", "Follow"+id), entry("PolicyType", "TargetTrackingScaling"), entry("ScalingTargetId", ref("Scale"+id)),
					entry("TargetTrackingScalingPolicyConfiguration", object{
						entry("TargetValue", utilization),
						entry("PredefinedMetricSpecification", object{entry("PredefinedMetricType", "DynamoDB"+d.name+"CapacityUtilization")}),
					}),
				})}),
			)
		}
	}
	return all
}
