# A session of the aws command line: tables, items, pages, transactions, errors and the stream.
set -eu -o pipefail
if [ "${1:-}" = --probe ]; then
	aws --version
	exit
fi
db() { aws dynamodb --output text "$@"; }

db create-table --table-name Shell --billing-mode PAY_PER_REQUEST --stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE \
	--attribute-definitions AttributeName=pk,AttributeType=S AttributeName=sk,AttributeType=S \
	--key-schema AttributeName=pk,KeyType=HASH AttributeName=sk,KeyType=RANGE --query TableDescription.TableName
db wait table-exists --table-name Shell
for sk in 1 2 3; do
	db put-item --table-name Shell --item "{\"pk\":{\"S\":\"a\"},\"sk\":{\"S\":\"$sk\"},\"n\":{\"N\":\"$sk.50\"}}"
done
test "$(db get-item --table-name Shell --key '{"pk":{"S":"a"},"sk":{"S":"3"}}' --query Item.n.N)" = 3.5
test "$(db query --table-name Shell --key-condition-expression 'pk = :p' --expression-attribute-values '{":p":{"S":"a"}}' --page-size 2 --query 'Items[].sk.S' | wc -w)" -eq 3
refused=$(db put-item --table-name Shell --item '{"pk":{"S":"a"},"sk":{"S":"1"}}' --condition-expression 'attribute_not_exists(pk)' 2>&1) && exit 1
case $refused in *ConditionalCheckFailedException*) ;; *) echo "$refused"; exit 1 ;; esac
db transact-write-items --transact-items '[{"Update":{"TableName":"Shell","Key":{"pk":{"S":"a"},"sk":{"S":"1"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"9"}}}},{"Delete":{"TableName":"Shell","Key":{"pk":{"S":"a"},"sk":{"S":"2"}}}}]'
test "$(db scan --table-name Shell --query Count)" = 2
arn=$(aws dynamodbstreams list-streams --table-name Shell --output text --query 'Streams[0].StreamArn')
shard=$(aws dynamodbstreams describe-stream --stream-arn "$arn" --output text --query 'StreamDescription.Shards[0].ShardId')
iterator=$(aws dynamodbstreams get-shard-iterator --stream-arn "$arn" --shard-id "$shard" --shard-iterator-type TRIM_HORIZON --output text --query ShardIterator)
test "$(aws dynamodbstreams get-records --shard-iterator "$iterator" --output text --query 'length(Records)')" = 5
db delete-table --table-name Shell --query TableDescription.TableStatus
db wait table-not-exists --table-name Shell
echo 'session complete'
