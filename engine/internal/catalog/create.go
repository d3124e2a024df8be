package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// DynamoDB's limits for tables.
const (
	maxGlobalIndexes = 20
	maxLocalIndexes  = 5
	maxInclude       = 100
	maxIndexName     = 255
	minIndexName     = 3
)

const invalid = "One or more parameter values were invalid: "

// NewTable validates a CreateTable and returns the new table, without IDs, as a Change.
func NewTable(in *dynamodb.CreateTableInput) (*Change, error) {
	if in.TableName == nil {
		return nil, request.Invalid("The parameter 'TableName' is required but was not present in the request")
	}
	if err := checkCreateMembers(in); err != nil {
		return nil, err
	}
	d := &Table{Name: request.TableName(in.TableName)}
	if err := d.set(in); err != nil {
		return nil, err
	}
	defs, err := definitionsOf(in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}
	hash, rng, err := checkKeySchema(in.KeySchema, defs)
	if err != nil {
		return nil, err
	}
	d.Hash = hash[0]
	if len(rng) > 0 {
		d.Range = rng[0]
	}
	if err := d.addLocal(in, defs); err != nil {
		return nil, err
	}
	if err := d.addGlobal(in, defs); err != nil {
		return nil, err
	}
	if err := d.checkUsed(defs, in); err != nil {
		return nil, err
	}
	c := &Change{Table: d}
	if spec := in.StreamSpecification; spec != nil && !request.IsTrue(spec.StreamEnabled) && spec.StreamViewType != "" {
		return nil, request.Invalid(invalid + "Table is being created with a stream disabled, UpdateViewType should not be specified")
	}
	return c, c.openStream(in.StreamSpecification, "Table is being created with a stream enabled, UpdateViewType is required")
}

// set sets everything except keys.
func (d *Table) set(in *dynamodb.CreateTableInput) error {
	d.Guarded = request.IsTrue(in.DeletionProtectionEnabled)
	if err := d.setBilling(in.BillingMode, in.ProvisionedThroughput); err != nil {
		return err
	}
	if err := d.setOnDemand(d.Billing, "table", in.OnDemandThroughput); err != nil {
		return err
	}
	if err := d.setWarm(d.Billing, "table", in.WarmThroughput); err != nil {
		return err
	}
	if err := d.setClass(in.TableClass); err != nil {
		return err
	}
	if err := d.setEncryption(in.SSESpecification); err != nil {
		return err
	}
	return d.AddTags(in.Tags)
}

// setClass sets the table class unless it is "".
func (d *Table) setClass(c types.TableClass) error {
	switch c {
	case "":
	case types.TableClassStandard, types.TableClassStandardInfrequentAccess:
		d.Class = c
	default:
		return request.Invalid("Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].")
	}
	return nil
}

func checkCreateMembers(in *dynamodb.CreateTableInput) error {
	var c request.Members
	if len(*in.TableName) < request.MinTableName {
		c.Add(*in.TableName, "tableName", "Member must have length greater than or equal to 3")
	}
	checkDefinitions(&c, in.AttributeDefinitions)
	request.CheckEnum(&c, "billingMode", in.BillingMode, "PROVISIONED", "PAY_PER_REQUEST")
	checkElements(&c, "keySchema", in.KeySchema)
	for i, x := range in.GlobalSecondaryIndexes {
		checkIndex(&c, fmt.Sprintf("globalSecondaryIndexes.%d.member", i+1), x.IndexName, x.KeySchema, x.Projection)
	}
	for i, x := range in.LocalSecondaryIndexes {
		checkIndex(&c, fmt.Sprintf("localSecondaryIndexes.%d.member", i+1), x.IndexName, x.KeySchema, x.Projection)
	}
	return request.CheckTableName(in.TableName, &c)
}

func checkDefinitions(c *request.Members, defs []types.AttributeDefinition) {
	for i, a := range defs {
		member := fmt.Sprintf("attributeDefinitions.%d.member.", i+1)
		c.Name(a.AttributeName, member+"attributeName")
		if a.AttributeType == "" {
			c.AddNull(member + "attributeType")
		}
		request.CheckEnum(c, member+"attributeType", a.AttributeType, "B", "N", "S")
	}
}

func checkElements(c *request.Members, member string, ks []types.KeySchemaElement) {
	if ks == nil {
		c.AddNull(member)
	}
	for i, k := range ks {
		c.Name(k.AttributeName, fmt.Sprintf("%s.%d.member.attributeName", member, i+1))
		if k.KeyType == "" {
			c.AddNull(fmt.Sprintf("%s.%d.member.keyType", member, i+1))
		}
		request.CheckEnum(c, fmt.Sprintf("%s.%d.member.keyType", member, i+1), k.KeyType, "HASH", "RANGE")
	}
}

// checkIndex records errors in an index definition. member is its place in the request.
func checkIndex(c *request.Members, member string, name *string, ks []types.KeySchemaElement, p *types.Projection) {
	switch {
	case name == nil:
		c.AddNull(member + ".indexName")
	case len(*name) < minIndexName:
		c.Add(*name, member+".indexName", "Member must have length greater than or equal to 3")
	case len(*name) > maxIndexName:
		c.Add(*name, member+".indexName", "Member must have length less than or equal to 255")
	case !request.ValidName(*name):
		c.Add(*name, member+".indexName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	checkElements(c, member+".keySchema", ks)
	if p == nil {
		c.AddNull(member + ".projection")
		return
	}
	request.CheckEnum(c, member+".projection.projectionType", p.ProjectionType, "ALL", "INCLUDE", "KEYS_ONLY")
	for i, name := range p.NonKeyAttributes {
		c.Name(&name, fmt.Sprintf("%s.projection.nonKeyAttributes.%d.member", member, i+1))
	}
}

// setBilling validates billing mode and throughput together.
func (d *Table) setBilling(mode types.BillingMode, p *types.ProvisionedThroughput) error {
	if mode == types.BillingModePayPerRequest {
		if p != nil && (p.ReadCapacityUnits != nil && *p.ReadCapacityUnits != 0 || p.WriteCapacityUnits != nil && *p.WriteCapacityUnits != 0) {
			return request.Invalid(invalid + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
		d.Billing, d.Read, d.Write = mode, 0, 0
		for i := range d.Indexes {
			d.Indexes[i].Read, d.Indexes[i].Write = 0, 0
		}
		return nil
	}
	if p == nil || p.ReadCapacityUnits == nil || p.WriteCapacityUnits == nil {
		return request.Invalid(invalid + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	var c request.Members
	if *p.WriteCapacityUnits < 1 {
		c.Add(fmt.Sprint(*p.WriteCapacityUnits), "provisionedThroughput.writeCapacityUnits", "Member must have value greater than or equal to 1")
	}
	if *p.ReadCapacityUnits < 1 {
		c.Add(fmt.Sprint(*p.ReadCapacityUnits), "provisionedThroughput.readCapacityUnits", "Member must have value greater than or equal to 1")
	}
	d.Billing, d.Read, d.Write = types.BillingModeProvisioned, *p.ReadCapacityUnits, *p.WriteCapacityUnits
	return c.Err()
}

// definitions are the types of attributes that keys may use, in the order given.
type definitions struct {
	names []string
	types map[string]types.ScalarAttributeType
}

// definitionsOf rejects duplicate definitions.
func definitionsOf(defs []types.AttributeDefinition) (definitions, error) {
	d := definitions{types: map[string]types.ScalarAttributeType{}}
	for _, a := range defs {
		if _, dup := d.types[*a.AttributeName]; dup {
			return d, request.Invalid(invalid+"Duplicate AttributeName in AttributeDefinitions: %s", *a.AttributeName)
		}
		d.names, d.types[*a.AttributeName] = append(d.names, *a.AttributeName), a.AttributeType
	}
	return d, nil
}

// checkKeySchema returns the hash and range key in the key schema of a table or local index.
func checkKeySchema(ks []types.KeySchemaElement, defs definitions) (hash, rng Keys, err error) {
	if err := checkKeyNames(ks, defs); err != nil {
		return nil, nil, err
	}
	switch {
	case ks[0].KeyType != types.KeyTypeHash:
		return nil, nil, request.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(ks) > 1 && ks[1].KeyType != types.KeyTypeRange:
		return nil, nil, request.Invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	case len(ks) > 2:
		var c request.Members
		c.Add(describeKeySchema(ks), "keySchema", "Member must have length less than or equal to 2")
		return nil, nil, c.Err()
	}
	hash, rng = splitKeys(ks, defs)
	return hash, rng, nil
}

// checkGlobalKeySchema returns the hash and range keys in the key schema of a global index: up to
// four of the former, followed by up to four of the latter ("Multi-attribute keys pattern" in the
// Developer Guide).
func checkGlobalKeySchema(ks []types.KeySchemaElement, defs definitions) (hash, rng Keys, err error) {
	if err := checkKeyNames(ks, defs); err != nil {
		return nil, nil, err
	}
	if ks[0].KeyType != types.KeyTypeHash {
		return nil, nil, request.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}
	for i, k := range ks[1:] {
		if k.KeyType == types.KeyTypeHash && ks[i].KeyType == types.KeyTypeRange {
			return nil, nil, request.Invalid(invalid + "All HASH key attributes must precede RANGE key attributes in the KeySchema")
		}
	}
	hash, rng = splitKeys(ks, defs)
	if len(hash) > MaxKeyParts {
		return nil, nil, request.Invalid(invalid + "The KeySchema exceeds the maximum allowed number of HASH key attributes")
	}
	if len(rng) > MaxKeyParts {
		return nil, nil, request.Invalid(invalid + "The KeySchema exceeds the maximum allowed number of RANGE key attributes")
	}
	return hash, rng, nil
}

// checkKeyNames rejects a key schema that is empty, repeats attributes, or uses undefined ones.
func checkKeyNames(ks []types.KeySchemaElement, defs definitions) error {
	if len(ks) == 0 {
		return request.Invalid("1 validation error detected: Value '[]' at 'keySchema' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	names := make([]string, len(ks))
	undefined, repeated := false, false
	for i, k := range ks {
		repeated = repeated || slices.Contains(names[:i], *k.AttributeName)
		names[i] = *k.AttributeName
		undefined = undefined || defs.types[names[i]] == ""
	}
	switch {
	case len(ks) > len(defs.names):
		return request.Invalid("Invalid KeySchema: Some index key attribute have no definition")
	case undefined:
		return request.Invalid(invalid+"Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]",
			strings.Join(names, ", "), strings.Join(defs.names, ", "))
	case repeated && len(ks) == 2:
		return request.Invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case repeated:
		return request.Invalid("The KeySchema contains multiple key attributes with the same name")
	}
	return nil
}

func splitKeys(ks []types.KeySchemaElement, defs definitions) (hash, rng Keys) {
	for _, k := range ks {
		key := Key{Name: *k.AttributeName, Type: defs.types[*k.AttributeName]}
		if k.KeyType == types.KeyTypeHash {
			hash = append(hash, key)
		} else {
			rng = append(rng, key)
		}
	}
	return hash, rng
}

// describeKeySchema formats a key schema as in DynamoDB's messages.
func describeKeySchema(ks []types.KeySchemaElement) string {
	elements := make([]string, len(ks))
	for i, k := range ks {
		elements[i] = fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", *k.AttributeName, k.KeyType)
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

func (d *Table) addLocal(in *dynamodb.CreateTableInput, defs definitions) error {
	if in.LocalSecondaryIndexes == nil {
		return nil
	}
	if len(in.LocalSecondaryIndexes) == 0 {
		return request.Invalid(invalid + "List of LocalSecondaryIndexes is empty")
	}
	if d.Range.Name == "" {
		return request.Invalid(invalid + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	}
	for _, x := range in.LocalSecondaryIndexes {
		hash, rng, err := checkKeySchema(x.KeySchema, defs)
		if err != nil {
			return err
		}
		if err := d.addIndex(Index{Name: *x.IndexName, Local: true, Hash: hash, Range: rng}, x.Projection); err != nil {
			return err
		}
		added := d.Indexes[len(d.Indexes)-1]
		if len(added.Range) == 0 {
			return request.Invalid(invalid+"Index KeySchema does not have a range key for index: %s", added.Name)
		}
		if added.Hash[0] != d.Hash {
			return request.Invalid(invalid+"Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s",
				added.Name, added.Hash[0].Name, d.Hash.Name)
		}
	}
	if len(in.LocalSecondaryIndexes) > maxLocalIndexes {
		return request.Invalid(invalid + "Number of LocalSecondaryIndexes exceeds per-table limit of 5")
	}
	return nil
}

func (d *Table) addGlobal(in *dynamodb.CreateTableInput, defs definitions) error {
	if in.GlobalSecondaryIndexes == nil {
		return nil
	}
	if len(in.GlobalSecondaryIndexes) == 0 {
		return request.Invalid(invalid + "List of GlobalSecondaryIndexes is empty")
	}
	for _, x := range in.GlobalSecondaryIndexes {
		if err := d.addGlobalIndex(x, defs); err != nil {
			return err
		}
	}
	if len(in.GlobalSecondaryIndexes) > maxGlobalIndexes {
		return request.Invalid(invalid + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	return nil
}

// addGlobalIndex validates a global index and adds it to the descriptor, without an ID.
func (d *Table) addGlobalIndex(in types.GlobalSecondaryIndex, defs definitions) (err error) {
	x := Index{Name: *in.IndexName}
	if err := x.setProvisioned(d.Billing, x.Name, in.ProvisionedThroughput); err != nil {
		return err
	}
	if err := x.setOnDemand(d.Billing, "index : "+x.Name, in.OnDemandThroughput); err != nil {
		return err
	}
	if err := x.setWarm(d.Billing, "index "+x.Name, in.WarmThroughput); err != nil {
		return err
	}
	if x.Hash, x.Range, err = checkGlobalKeySchema(in.KeySchema, defs); err != nil {
		return err
	}
	return d.addIndex(x, in.Projection)
}

// addIndex validates an index and adds it to the descriptor.
func (d *Table) addIndex(x Index, p *types.Projection) error {
	switch {
	case p.ProjectionType == "":
		return request.Invalid(invalid + "Unknown ProjectionType: null")
	case p.ProjectionType != types.ProjectionTypeInclude && p.NonKeyAttributes != nil:
		return request.Invalid(invalid+"ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	case p.ProjectionType == types.ProjectionTypeInclude && len(p.NonKeyAttributes) == 0:
		return request.Invalid(invalid + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case len(p.NonKeyAttributes) > maxInclude:
		return request.Invalid(invalid + "Number of NonKeyAttributes exceeds the limit of 100")
	case slices.ContainsFunc(d.Indexes, func(y Index) bool { return y.Name == x.Name }):
		return request.Invalid(invalid+"Duplicate index name: %s", x.Name)
	}
	x.Projection, x.Include = p.ProjectionType, slices.Clone(p.NonKeyAttributes)
	d.Indexes = append(d.Indexes, x)
	return nil
}

// checkUsed rejects definitions of attributes that no key uses.
func (d *Table) checkUsed(defs definitions, in *dynamodb.CreateTableInput) error {
	used := d.Keys()
	if len(used) == len(defs.names) {
		return nil
	}
	if in.LocalSecondaryIndexes == nil && in.GlobalSecondaryIndexes == nil {
		return request.Invalid(invalid + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	return request.Invalid(invalid+"Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]",
		strings.Join(defs.names, ", "), strings.Join(slices.Sorted(maps.Keys(used)), ", "))
}
