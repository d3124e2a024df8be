// Package dynamojson encodes and decodes DynamoDB's JSON: the bodies of its protocol and the lines
// of its exports. It works for all inputs, outputs and values of the SDK, whose types describe
// themselves to a smithy serializer. It is for code that speaks the protocol or handles export
// files.
//
//	line := dynamojson.Append(nil, &types.PutRequest{Item: item}) // {"Item":{"pk":{"S":"a"}}}
//	err := dynamojson.Decode(line, &put)
package dynamojson
