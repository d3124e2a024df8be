# A session of the AWS command line with a DynamoDB at the address that is the first argument.
set -eu
export AWS_ACCESS_KEY_ID=$2 AWS_SECRET_ACCESS_KEY=$3 AWS_DEFAULT_REGION=us-east-1 AWS_PAGER= AWS_CONFIG_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
db() { aws dynamodb --endpoint-url "$endpoint" --output json "$@"; }
streams() { aws dynamodbstreams --endpoint-url "$endpoint" --output text "$@"; }
endpoint=$1

same() { # what, got, want
  [ "$2" = "$3" ] || { echo "$1: got «$2», want «$3»" >&2; exit 1; }
}

db create-table --table-name Music --billing-mode PAY_PER_REQUEST \
  --attribute-definitions AttributeName=Artist,AttributeType=S AttributeName=SongTitle,AttributeType=S \
  --key-schema AttributeName=Artist,KeyType=HASH AttributeName=SongTitle,KeyType=RANGE \
  --stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE >/dev/null
db wait table-exists --table-name Music

for song in one two three; do
  db put-item --table-name Music --item "{\"Artist\":{\"S\":\"Acme\"},\"SongTitle\":{\"S\":\"$song\"},\"Plays\":{\"N\":\"1\"}}"
done
same "a paged query" "$(db query --table-name Music --page-size 1 --key-condition-expression 'Artist = :a' \
  --expression-attribute-values '{":a":{"S":"Acme"}}' --query 'Items[].SongTitle.S' --output text | xargs)" "one three two"
same "an update" "$(db update-item --table-name Music --key '{"Artist":{"S":"Acme"},"SongTitle":{"S":"one"}}' --update-expression 'ADD Plays :n' \
  --expression-attribute-values '{":n":{"N":"41"}}' --return-values ALL_NEW --query 'Attributes.Plays.N' --output text)" "42"

if error=$(db put-item --table-name Music --item '{"Artist":{"S":"Acme"},"SongTitle":{"S":"one"}}' --condition-expression 'attribute_not_exists(Artist)' 2>&1); then
  echo "a condition that fails was let through" >&2; exit 1
fi
case $error in *"(ConditionalCheckFailedException) when calling the PutItem operation: The conditional request failed"*) ;; *) echo "$error" >&2; exit 1;; esac

db transact-write-items --transact-items '[
  {"Delete":{"TableName":"Music","Key":{"Artist":{"S":"Acme"},"SongTitle":{"S":"two"}}}},
  {"Put":{"TableName":"Music","Item":{"Artist":{"S":"Acme"},"SongTitle":{"S":"four"}}}}]'
same "the songs" "$(db execute-statement --statement "SELECT SongTitle FROM Music WHERE Artist = 'Acme'" --query 'Items[].SongTitle.S' --output text)" "four	one	three"
same "a count" "$(db scan --table-name Music --select COUNT --query Count --output text)" "3"

stream=$(streams list-streams --table-name Music --query 'Streams[0].StreamArn')
shard=$(streams describe-stream --stream-arn "$stream" --query 'StreamDescription.Shards[0].ShardId')
iterator=$(streams get-shard-iterator --stream-arn "$stream" --shard-id "$shard" --shard-iterator-type TRIM_HORIZON --query ShardIterator)
same "the stream" "$(streams get-records --shard-iterator "$iterator" --query 'Records[].eventName')" "INSERT	INSERT	INSERT	MODIFY	REMOVE	INSERT"

db delete-table --table-name Music >/dev/null
db wait table-not-exists --table-name Music
same "the tables" "$(db list-tables --query 'length(TableNames)' --output text)" "0"
