// Package dynamojson reads and writes DynamoDB's JSON: the bodies of its protocol and the lines of its exports. It knows
// no shape by name: the SDK's types describe themselves to a smithy serializer, so every input, output and value of the
// SDK goes through the same two functions. Who speaks the protocol or handles export files may use it.
//
//	line := dynamojson.Append(nil, &types.PutRequest{Item: item}) // {"Item":{"pk":{"S":"a"}}}
//	err := dynamojson.Decode(line, &put)
package dynamojson
