package dynamohttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/dynamo/dynamohttp"
)

// FuzzRequest sends arbitrary requests to the handler over an engine. Every answer must have
// DynamoDB's form and must not be an internal error.
func FuzzRequest(f *testing.F) {
	handler := newHandler(f, open(f), dynamohttp.Options{})
	create := `{"TableName":"Items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],` +
		`"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`
	if w := do(handler, post("DynamoDB_20120810.CreateTable", create)); w.Code != http.StatusOK {
		f.Fatal(w.Body)
	}
	key := `{"pk":{"S":"a"},"sk":{"N":"1"}}`
	for _, seed := range [][2]string{
		{"DynamoDB_20120810.PutItem", `{"TableName":"Items","Item":` + key + `,"ConditionExpression":"attribute_not_exists(pk)","ReturnValues":"ALL_OLD"}`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"Items","Key":` + key + `,"ProjectionExpression":"#a[0].b","ExpressionAttributeNames":{"#a":"a"}}`},
		{"DynamoDB_20120810.UpdateItem", `{"TableName":"Items","Key":` + key + `,"UpdateExpression":"SET a = list_append(if_not_exists(a, :e), :v) ADD n :n","ExpressionAttributeValues":{":e":{"L":[]},":v":{"L":[{"M":{"b":{"BS":["AQ=="]}}}]},":n":{"N":"1e3"}}}`},
		{"DynamoDB_20120810.UpdateItem", `{"TableName":"Items","Key":` + key + `,"AttributeUpdates":{"a":{"Action":"ADD","Value":{"NS":["1","2"]}}},"Expected":{"b":{"Exists":false}}}`},
		{"DynamoDB_20120810.DeleteItem", `{"TableName":"Items","Key":` + key + `}`},
		{"DynamoDB_20120810.Query", `{"TableName":"Items","KeyConditionExpression":"pk = :p AND sk BETWEEN :a AND :b","FilterExpression":"contains(c, :a)","ExpressionAttributeValues":{":p":{"S":"a"},":a":{"N":"1"},":b":{"N":"2"}},"Limit":1,"ExclusiveStartKey":` + key + `}`},
		{"DynamoDB_20120810.Scan", `{"TableName":"Items","Segment":0,"TotalSegments":4,"ScanFilter":{"a":{"ComparisonOperator":"IN","AttributeValueList":[{"S":"a"}]}}}`},
		{"DynamoDB_20120810.BatchGetItem", `{"RequestItems":{"Items":{"Keys":[` + key + `],"AttributesToGet":["a"]}}}`},
		{"DynamoDB_20120810.BatchWriteItem", `{"RequestItems":{"Items":[{"PutRequest":{"Item":` + key + `}},{"DeleteRequest":{"Key":{}}}]}}`},
		{"DynamoDB_20120810.TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"Items","Key":` + key + `,"UpdateExpression":"REMOVE a"}},{"ConditionCheck":{}},null],"ClientRequestToken":"t"}`},
		{"DynamoDB_20120810.TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"Items","Key":` + key + `}}]}`},
		{"DynamoDB_20120810.CreateTable", strings.Replace(create, "Items", "More", 1)},
		{"DynamoDB_20120810.UpdateTable", `{"TableName":"More","GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"abc","KeySchema":[{}],"Projection":{}}},{"Delete":{}},{"Update":null}]}`},
		{"DynamoDB_20120810.UpdateTimeToLive", `{"TableName":"Items","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`},
		{"DynamoDB_20120810.ExecuteStatement", `{"Statement":"SELECT * FROM Items WHERE pk = ?","Parameters":[{"S":"a"}]}`},
		{"DynamoDB_20120810.DescribeEndpoints", `{}`}, {"DynamoDBStreams_20120810.DescribeStream", `{"StreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Items/stream/x","Limit":1}`},
		{"DynamoDBStreams_20120810.GetShardIterator", `{"StreamArn":"a","ShardId":"b","ShardIteratorType":"AT_SEQUENCE_NUMBER","SequenceNumber":"-1"}`},
		{"DynamoDBStreams_20120810.GetRecords", `{"ShardIterator":"x","Limit":1000}`}, {"", ``},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, target string, body []byte) {
		w := do(handler, post(target, string(body)))
		if a := answerOf(t, w); a.status >= http.StatusInternalServerError || a.status != http.StatusOK && (a.code == "" || a.kind == a.code) {
			t.Fatalf("%s %q: %d %s", target, body, a.status, a.body)
		}
	})
}
