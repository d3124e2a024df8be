# A session of boto3: tables, items, pages, transactions, errors and the stream. Any surprise ends it with an error.
import sys
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

if "--probe" in sys.argv:
    sys.exit(0)

resource, client, streams = boto3.resource("dynamodb"), boto3.client("dynamodb"), boto3.client("dynamodbstreams")
assert client.list_tables()["TableNames"] == []
table = resource.create_table(
    TableName="Boto",
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in (("pk", "S"), ("sk", "N"), ("g", "S"))],
    GlobalSecondaryIndexes=[{"IndexName": "byG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}],
    BillingMode="PAY_PER_REQUEST",
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
)
table.wait_until_exists()
assert table.creation_date_time.year >= 2024

with table.batch_writer() as batch:
    for i in range(60):
        batch.put_item(Item={"pk": "a", "sk": i, "g": "even" if i % 2 == 0 else "odd", "raw": b"\x00\xff", "tags": {"x", "y"}, "deep": {"l": [1, None, True]}})
item = table.get_item(Key={"pk": "a", "sk": 7}, ConsistentRead=True)["Item"]
assert item["deep"] == {"l": [1, None, True]} and item["tags"] == {"x", "y"} and item["raw"].value == b"\x00\xff" and item["sk"] == Decimal(7), item
pages = list(client.get_paginator("query").paginate(
    TableName="Boto", KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "a"}}, PaginationConfig={"PageSize": 25}))
assert [p["Count"] for p in pages] == [25, 25, 10], [p["Count"] for p in pages]
assert table.query(IndexName="byG", KeyConditionExpression=Key("g").eq("odd"), FilterExpression=Attr("sk").lt(10))["Count"] == 5
assert table.scan(FilterExpression=Attr("none").exists()) ["Count"] == 0
updated = table.update_item(
    Key={"pk": "a", "sk": 1}, UpdateExpression="ADD n :n", ExpressionAttributeValues={":n": Decimal("1.5")}, ReturnValues="UPDATED_NEW", ReturnConsumedCapacity="TOTAL")
assert updated["Attributes"] == {"n": Decimal("1.5")} and isinstance(updated["ConsumedCapacity"]["CapacityUnits"], float), updated

try:
    table.put_item(Item={"pk": "a", "sk": 1}, ConditionExpression=Attr("pk").not_exists())
    raise SystemExit("a condition that does not hold was not refused")
except client.exceptions.ConditionalCheckFailedException as e:
    assert e.response["Error"]["Message"] == "The conditional request failed", e.response
try:
    client.transact_write_items(TransactItems=[
        {"Put": {"TableName": "Boto", "Item": {"pk": {"S": "t"}, "sk": {"N": "1"}}}},
        {"ConditionCheck": {"TableName": "Boto", "Key": {"pk": {"S": "none"}, "sk": {"N": "1"}}, "ConditionExpression": "attribute_exists(pk)"}}])
    raise SystemExit("a transaction that cannot be was not refused")
except client.exceptions.TransactionCanceledException as e:
    assert [r["Code"] for r in e.response["CancellationReasons"]] == ["None", "ConditionalCheckFailed"], e.response
client.transact_write_items(TransactItems=[{"Put": {"TableName": "Boto", "Item": {"pk": {"S": "t"}, "sk": {"N": "1"}}}}])
assert client.transact_get_items(TransactItems=[{"Get": {"TableName": "Boto", "Key": {"pk": {"S": "t"}, "sk": {"N": "1"}}}}])["Responses"][0]["Item"]["pk"]["S"] == "t"
try:
    client.describe_table(TableName="Nowhere")
    raise SystemExit("a table that is not there was described")
except ClientError as e:
    assert e.response["Error"]["Code"] == "ResourceNotFoundException" and e.response["ResponseMetadata"]["HTTPStatusCode"] == 400, e.response

client.update_time_to_live(TableName="Boto", TimeToLiveSpecification={"AttributeName": "ttl", "Enabled": True})
assert client.describe_time_to_live(TableName="Boto")["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"

arn = streams.list_streams(TableName="Boto")["Streams"][0]["StreamArn"]
records = 0
for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    page = streams.get_records(ShardIterator=iterator)
    assert all(r["eventSource"] == "aws:dynamodb" and r["dynamodb"]["ApproximateCreationDateTime"].year >= 2024 for r in page["Records"])
    records += len(page["Records"])
assert records == 62, records
table.delete()
table.wait_until_not_exists()
print("session complete")
