// Package useragent tells what sent a request from the User-Agent that it sent: which browser on which system and kind
// of device, or which bot. Statistics are about people, so telling bots apart comes first; a program that does not look
// like a browser is a bot even if nobody has heard of it. It is used wherever requests become page views: live ingest
// and the importer of access logs.
//
// It knows words, not patterns: a user agent is cut into words once, each word is looked up in one table, and of what
// the words say the highest rank wins. So it is fast, cannot be made slow by a hostile input, and is extended by a line
// in a table. Agents are believed, never verified: whoever says it is Chrome on Windows is.
package useragent
