package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/dynamo"
)

// CreateTable makes a table. It is usable when the call returns, although the answer says CREATING as DynamoDB's does.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	d, err := checkCreate(in)
	if err != nil {
		return nil, err
	}
	db.control.Lock()
	defer db.control.Unlock()
	if (*db.tables.Load())[d.Name] != nil {
		return nil, errInUse("Table already exists: %s", d.Name)
	}
	now := db.now().UnixMilli()
	d.ID, d.Created, d.UUID = db.takeID(), now, newUUID()
	for i := range d.Indexes {
		d.Indexes[i].ID = db.takeID()
	}
	batch := db.store.NewBatch()
	if spec := in.StreamSpecification; spec != nil && isTrue(spec.StreamEnabled) {
		if err := db.openStream(batch, d, spec.StreamViewType); err != nil {
			return nil, joinClose(err, batch)
		}
	}
	if err := db.putTable(batch, d); err != nil {
		return nil, err
	}
	db.setTable(d.Name, db.newTable(d))
	desc := db.describe((*db.tables.Load())[d.Name])
	desc.TableStatus = types.TableStatusCreating
	return &dynamodb.CreateTableOutput{TableDescription: desc}, nil
}

// takeID returns an id that was never used. The caller holds control and commits with putTable.
func (db *DB) takeID() uint32 {
	id := db.nextID
	db.nextID++
	return id
}

// putTable writes a descriptor and the ids in use, and waits until they are on disk. It closes the batch.
func (db *DB) putTable(batch *pebble.Batch, d *tableDesc) error {
	v, err := d.encode()
	if err != nil {
		return joinClose(err, batch)
	}
	if err := batch.Set(tableKey(d.Name), v, nil); err != nil {
		return joinClose(err, batch)
	}
	return db.commitControl(batch)
}

// commitControl commits a change of descriptors and closes the batch.
func (db *DB) commitControl(batch *pebble.Batch) error {
	err := batch.Set(keyTableID, binary.BigEndian.AppendUint64(nil, uint64(db.nextID)), nil)
	if err == nil {
		err = batch.Commit(db.writeSync())
	}
	if err = joinClose(err, batch); err != nil {
		return fmt.Errorf("engine: change tables: %w", err)
	}
	return nil
}

// openStream adds a new stream to a descriptor and to the batch, and publishes it. The caller holds control.
func (db *DB) openStream(batch *pebble.Batch, d *tableDesc, view types.StreamViewType) error {
	switch view {
	case types.StreamViewTypeKeysOnly, types.StreamViewTypeNewImage, types.StreamViewTypeOldImage, types.StreamViewTypeNewAndOldImages:
	default:
		return dynamo.Validation("One or more parameter values were invalid: StreamViewType is required when StreamEnabled is true")
	}
	now := db.now()
	db.order.Lock()
	first := db.seq + 1
	db.order.Unlock()
	sd := &streamDesc{
		ID: db.takeID(), Table: d.Name, View: view, Created: now.UnixMilli(), Hash: d.Hash, Range: d.Range,
		Label: streamLabel(now, *db.streams.Load(), d.Name), NextID: 1,
	}
	for slot := range db.o.StreamShards {
		sd.Shards = append(sd.Shards, shardDesc{ID: sd.NextID, Slot: slot, First: first, Opened: now.UnixMilli()})
		sd.NextID++
	}
	if err := sd.put(batch); err != nil {
		return err
	}
	d.Stream, d.Latest = sd.ID, sd.ID
	db.setStream(newStream(sd))
	return nil
}

// streamLabel is the time of creation, made later if the table has a stream of that time already.
func streamLabel(now time.Time, streams map[uint32]*stream, table string) string {
	for {
		label := now.UTC().Format("2006-01-02T15:04:05.000")
		taken := false
		for _, st := range streams {
			d := st.desc.Load()
			taken = taken || d.Table == table && d.Label == label
		}
		if !taken {
			return label
		}
		now = now.Add(time.Millisecond)
	}
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// DynamoDB's bounds of a table.
const (
	maxGlobalIndexes = 20
	maxLocalIndexes  = 5
	maxInclude       = 100
	maxIndexName     = 255
	minIndexName     = 3
)

const invalid = "One or more parameter values were invalid: "

// checkCreate checks the request and makes the descriptor, without ids.
func checkCreate(in *dynamodb.CreateTableInput) (*tableDesc, error) {
	if in.TableName == nil {
		return nil, dynamo.Validation("The parameter 'TableName' is required but was not present in the request")
	}
	if err := checkCreateMembers(in); err != nil {
		return nil, err
	}
	d := &tableDesc{Name: *in.TableName, Billing: in.BillingMode, Guarded: isTrue(in.DeletionProtectionEnabled), Class: in.TableClass}
	if err := d.setBilling(in.BillingMode, in.ProvisionedThroughput); err != nil {
		return nil, err
	}
	types, err := attributeTypes(in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}
	if d.Hash, d.Range, err = checkKeySchema(in.KeySchema, types); err != nil {
		return nil, err
	}
	if err := d.addLocal(in, types); err != nil {
		return nil, err
	}
	if err := d.addGlobal(in, types); err != nil {
		return nil, err
	}
	return d, d.checkUsed(types, in)
}

func checkCreateMembers(in *dynamodb.CreateTableInput) error {
	var c constraints
	if len(*in.TableName) < minTableName {
		c.add(*in.TableName, "tableName", "Member must have length greater than or equal to 3")
	}
	for i, a := range in.AttributeDefinitions {
		if a.AttributeName == nil {
			c.addNull(fmt.Sprintf("attributeDefinitions.%d.member.attributeName", i+1))
		}
		checkEnum(&c, fmt.Sprintf("attributeDefinitions.%d.member.attributeType", i+1), a.AttributeType, "B", "N", "S")
	}
	checkEnum(&c, "billingMode", in.BillingMode, "PROVISIONED", "PAY_PER_REQUEST")
	c.checkElements("keySchema", in.KeySchema)
	for i, x := range in.GlobalSecondaryIndexes {
		c.checkIndex(fmt.Sprintf("globalSecondaryIndexes.%d.member", i+1), x.IndexName, x.KeySchema, x.Projection)
	}
	for i, x := range in.LocalSecondaryIndexes {
		c.checkIndex(fmt.Sprintf("localSecondaryIndexes.%d.member", i+1), x.IndexName, x.KeySchema, x.Projection)
	}
	return checkTableName(in.TableName, &c)
}

func (c *constraints) checkElements(member string, ks []types.KeySchemaElement) {
	if ks == nil {
		c.addNull(member)
	}
	for i, k := range ks {
		if k.AttributeName == nil {
			c.addNull(fmt.Sprintf("%s.%d.member.attributeName", member, i+1))
		}
		checkEnum(c, fmt.Sprintf("%s.%d.member.keyType", member, i+1), k.KeyType, "HASH", "RANGE")
	}
}

func (c *constraints) checkIndex(member string, name *string, ks []types.KeySchemaElement, p *types.Projection) {
	switch {
	case name == nil:
		c.addNull(member + ".indexName")
	case len(*name) < minIndexName:
		c.add(*name, member+".indexName", "Member must have length greater than or equal to 3")
	case len(*name) > maxIndexName:
		c.add(*name, member+".indexName", "Member must have length less than or equal to 255")
	case !validName(*name):
		c.add(*name, member+".indexName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	c.checkElements(member+".keySchema", ks)
	if p == nil {
		c.addNull(member + ".projection")
		return
	}
	checkEnum(c, member+".projection.projectionType", p.ProjectionType, "ALL", "INCLUDE", "KEYS_ONLY")
}

// setBilling checks billing mode and throughput together.
func (d *tableDesc) setBilling(mode types.BillingMode, p *types.ProvisionedThroughput) error {
	if mode == types.BillingModePayPerRequest {
		if p != nil && (p.ReadCapacityUnits != nil && *p.ReadCapacityUnits != 0 || p.WriteCapacityUnits != nil && *p.WriteCapacityUnits != 0) {
			return dynamo.Validation(invalid + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
		d.Billing, d.Read, d.Write = mode, 0, 0
		return nil
	}
	if p == nil || p.ReadCapacityUnits == nil || p.WriteCapacityUnits == nil {
		return dynamo.Validation(invalid + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	var c constraints
	if *p.WriteCapacityUnits < 1 {
		c.add(fmt.Sprint(*p.WriteCapacityUnits), "provisionedThroughput.writeCapacityUnits", "Member must have value greater than or equal to 1")
	}
	if *p.ReadCapacityUnits < 1 {
		c.add(fmt.Sprint(*p.ReadCapacityUnits), "provisionedThroughput.readCapacityUnits", "Member must have value greater than or equal to 1")
	}
	d.Billing, d.Read, d.Write = types.BillingModeProvisioned, *p.ReadCapacityUnits, *p.WriteCapacityUnits
	return c.err()
}

// definitions are the types of the attributes that keys may name, in the order given.
type definitions struct {
	names []string
	types map[string]types.ScalarAttributeType
}

func attributeTypes(defs []types.AttributeDefinition) (definitions, error) {
	d := definitions{types: map[string]types.ScalarAttributeType{}}
	for _, a := range defs {
		if _, dup := d.types[*a.AttributeName]; dup {
			return d, dynamo.Validation(invalid+"Duplicate AttributeName in AttributeDefinitions: %s", *a.AttributeName)
		}
		d.names, d.types[*a.AttributeName] = append(d.names, *a.AttributeName), a.AttributeType
	}
	return d, nil
}

// checkKeySchema returns the hash and the range key that a key schema names.
func checkKeySchema(ks []types.KeySchemaElement, defs definitions) (hash, rng keyAttr, err error) {
	if len(ks) == 0 {
		return hash, rng, dynamo.Validation("1 validation error detected: Value '[]' at 'keySchema' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	names := make([]string, len(ks))
	undefined := false
	for i, k := range ks {
		names[i] = *k.AttributeName
		undefined = undefined || defs.types[names[i]] == ""
	}
	switch {
	case len(ks) > len(defs.names):
		return hash, rng, dynamo.Validation("Invalid KeySchema: Some index key attribute have no definition")
	case undefined:
		return hash, rng, dynamo.Validation(invalid+"Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]",
			strings.Join(names, ", "), strings.Join(defs.names, ", "))
	case len(ks) == 2 && names[0] == names[1]:
		return hash, rng, dynamo.Validation("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case ks[0].KeyType != types.KeyTypeHash:
		return hash, rng, dynamo.Validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(ks) > 1 && ks[1].KeyType != types.KeyTypeRange:
		return hash, rng, dynamo.Validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	case len(ks) > 2:
		return hash, rng, dynamo.Validation("1 validation error detected: Value at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2")
	}
	hash = keyAttr{Name: names[0], Type: defs.types[names[0]]}
	if len(ks) > 1 {
		rng = keyAttr{Name: names[1], Type: defs.types[names[1]]}
	}
	return hash, rng, nil
}

func (d *tableDesc) addLocal(in *dynamodb.CreateTableInput, defs definitions) error {
	if in.LocalSecondaryIndexes == nil {
		return nil
	}
	if len(in.LocalSecondaryIndexes) == 0 {
		return dynamo.Validation(invalid + "List of LocalSecondaryIndexes is empty")
	}
	if d.Range.Name == "" {
		return dynamo.Validation(invalid + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	}
	for _, x := range in.LocalSecondaryIndexes {
		if err := d.addIndex(indexDesc{Name: *x.IndexName, Local: true}, x.KeySchema, x.Projection, defs); err != nil {
			return err
		}
		added := d.Indexes[len(d.Indexes)-1]
		if added.Range.Name == "" {
			return dynamo.Validation(invalid+"Index KeySchema does not have a range key for index: %s", added.Name)
		}
		if added.Hash != d.Hash {
			return dynamo.Validation(invalid+"Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s",
				added.Name, added.Hash.Name, d.Hash.Name)
		}
	}
	if len(in.LocalSecondaryIndexes) > maxLocalIndexes {
		return dynamo.Validation(invalid + "Number of LocalSecondaryIndexes exceeds per-table limit of 5")
	}
	return nil
}

func (d *tableDesc) addGlobal(in *dynamodb.CreateTableInput, defs definitions) error {
	if in.GlobalSecondaryIndexes == nil {
		return nil
	}
	if len(in.GlobalSecondaryIndexes) == 0 {
		return dynamo.Validation(invalid + "List of GlobalSecondaryIndexes is empty")
	}
	for _, x := range in.GlobalSecondaryIndexes {
		if err := d.addGlobalIndex(x.IndexName, x.KeySchema, x.Projection, x.ProvisionedThroughput, defs); err != nil {
			return err
		}
	}
	if len(in.GlobalSecondaryIndexes) > maxGlobalIndexes {
		return dynamo.Validation(invalid + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	return nil
}

func (d *tableDesc) addGlobalIndex(name *string, ks []types.KeySchemaElement, p *types.Projection, pt *types.ProvisionedThroughput, defs definitions) error {
	x := indexDesc{Name: *name}
	if pt != nil && pt.ReadCapacityUnits != nil && pt.WriteCapacityUnits != nil {
		if d.Billing == types.BillingModePayPerRequest {
			return dynamo.Validation(invalid+"ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", *name)
		}
		x.Read, x.Write = *pt.ReadCapacityUnits, *pt.WriteCapacityUnits
	}
	return d.addIndex(x, ks, p, defs)
}

// addIndex checks an index and adds it to the descriptor.
func (d *tableDesc) addIndex(x indexDesc, ks []types.KeySchemaElement, p *types.Projection, defs definitions) (err error) {
	if x.Hash, x.Range, err = checkKeySchema(ks, defs); err != nil {
		return err
	}
	switch {
	case p.ProjectionType == "":
		return dynamo.Validation(invalid + "Unknown ProjectionType: null")
	case p.ProjectionType != types.ProjectionTypeInclude && p.NonKeyAttributes != nil:
		return dynamo.Validation(invalid+"ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	case p.ProjectionType == types.ProjectionTypeInclude && len(p.NonKeyAttributes) == 0:
		return dynamo.Validation(invalid + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case len(p.NonKeyAttributes) > maxInclude:
		return dynamo.Validation(invalid + "Number of NonKeyAttributes exceeds the limit of 100")
	case slices.ContainsFunc(d.Indexes, func(y indexDesc) bool { return y.Name == x.Name }):
		return dynamo.Validation(invalid+"Duplicate index name: %s", x.Name)
	}
	x.Projection, x.Include = p.ProjectionType, slices.Clone(p.NonKeyAttributes)
	d.Indexes = append(d.Indexes, x)
	return nil
}

// checkUsed refuses definitions of attributes that no key names.
func (d *tableDesc) checkUsed(defs definitions, in *dynamodb.CreateTableInput) error {
	used := newSchema(nil, d, nil, "").keys
	if len(used) == len(defs.names) {
		return nil
	}
	if in.LocalSecondaryIndexes == nil && in.GlobalSecondaryIndexes == nil {
		return dynamo.Validation(invalid + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	return dynamo.Validation(invalid+"Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]",
		strings.Join(defs.names, ", "), strings.Join(sortedKeys(used), ", "))
}
