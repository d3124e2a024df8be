"""A session of boto3 with a DynamoDB at the address that is the first argument: what an application does, unchanged."""
import sys
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key

where = dict(endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id=sys.argv[2], aws_secret_access_key=sys.argv[3])
resource = boto3.resource("dynamodb", **where)
client = resource.meta.client
streams = boto3.client("dynamodbstreams", **where)


def same(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


table = resource.create_table(
    TableName="Orders",
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    AttributeDefinitions=[
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "status", "AttributeType": "S"},
    ],
    GlobalSecondaryIndexes=[{
        "IndexName": "by-status",
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }],
    BillingMode="PAY_PER_REQUEST",
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
)
table.wait_until_exists()

rich = {"price": Decimal("12.50"), "photo": b"\x00\xff", "sizes": {1, 2, 3}, "tags": {"a", "b"}, "lines": [1, "two", None, True, {"deep": []}]}
with table.batch_writer() as batch:
    for i in range(120):
        batch.put_item({"pk": "customer", "sk": i, "status": f"s{i % 3}", **rich})

got = table.get_item(Key={"pk": "customer", "sk": 7}, ConsistentRead=True)["Item"]
same("an item", got, {"pk": "customer", "sk": 7, "status": "s1", **{k: v for k, v in rich.items()}})

found, start = [], {}
while True:
    page = table.query(KeyConditionExpression=Key("pk").eq("customer") & Key("sk").between(10, 99), FilterExpression=Attr("status").eq("s1"), Limit=17, **start)
    found += page["Items"]
    if "LastEvaluatedKey" not in page:
        break
    start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
same("a filtered query", [int(i["sk"]) for i in found], list(range(10, 100, 3)))
same("a query of an index", table.query(IndexName="by-status", KeyConditionExpression=Key("status").eq("s2"), Select="COUNT")["Count"], 40)
same("a paged scan", sum(len(p["Items"]) for p in client.get_paginator("scan").paginate(TableName="Orders", PaginationConfig={"PageSize": 7})), 120)

same("an update", table.update_item(
    Key={"pk": "customer", "sk": 1}, UpdateExpression="ADD visits :one SET #l[1] = :v",
    ExpressionAttributeNames={"#l": "lines"}, ExpressionAttributeValues={":one": 1, ":v": "zwei"}, ReturnValues="UPDATED_NEW",
)["Attributes"], {"visits": 1, "lines": ["zwei"]})

try:
    table.put_item(Item={"pk": "customer", "sk": 1}, ConditionExpression=Attr("pk").not_exists())
    sys.exit("a condition that fails was let through")
except client.exceptions.ConditionalCheckFailedException as e:
    same("a failed condition", e.response["Error"]["Message"], "The conditional request failed")

try:
    client.transact_write_items(TransactItems=[
        {"Put": {"TableName": "Orders", "Item": {"pk": "customer", "sk": 500}}},
        {"ConditionCheck": {"TableName": "Orders", "Key": {"pk": "nobody", "sk": 1}, "ConditionExpression": "attribute_exists(pk)"}},
    ])
    sys.exit("a transaction whose check fails was carried out")
except client.exceptions.TransactionCanceledException as e:
    same("reasons", [r["Code"] for r in e.response["CancellationReasons"]], ["None", "ConditionalCheckFailed"])
same("the item of a cancelled transaction", "Item" in table.get_item(Key={"pk": "customer", "sk": 500}), False)

client.transact_write_items(TransactItems=[
    {"Delete": {"TableName": "Orders", "Key": {"pk": "customer", "sk": 0}}},
    {"Put": {"TableName": "Orders", "Item": {"pk": "customer", "sk": 500}}},
])
same("a statement", client.execute_statement(Statement="SELECT sk FROM Orders WHERE pk = ? AND sk > ?", Parameters=["customer", 118])["Items"], [{"sk": 119}, {"sk": 500}])

arn, records = table.latest_stream_arn, []
for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    while iterator:
        page = streams.get_records(ShardIterator=iterator, Limit=50)
        records += page["Records"]
        iterator = page.get("NextShardIterator") if page["Records"] else None
names = [r["eventName"] for r in records]
same("the stream", (names.count("INSERT"), names.count("MODIFY"), names.count("REMOVE")), (121, 1, 1))
same("an old image", records[names.index("REMOVE")]["dynamodb"]["OldImage"]["sk"], {"N": "0"})

table.delete()
table.wait_until_not_exists()
same("the tables", client.list_tables()["TableNames"], [])
